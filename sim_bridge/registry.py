"""Simulators by the prefix of a scene name, imported when first used."""

from __future__ import annotations

import re
from collections.abc import Callable

from eqa_nodes.core.errors import UnknownScene
from sim_bridge.simulator import Simulator


def _habitat() -> Simulator:
    from sim_bridge.habitat.simulator import HabitatSimulator

    return HabitatSimulator()


def _house() -> Simulator:
    from sim_bridge.house.simulator import HouseSimulator

    return HouseSimulator()


def _mesh() -> Simulator:
    from sim_bridge.mesh.simulator import MeshSimulator

    return MeshSimulator()


def _toy() -> Simulator:
    from sim_bridge.toy.simulator import GridWorld

    return GridWorld()


SIMULATORS: dict[str, Callable[[], Simulator]] = {"habitat": _habitat, "house": _house, "mesh": _mesh, "toy": _toy}


def open_simulator(scene: str) -> Simulator:
    """Return a simulator for scenes of this kind ("house:7"), not yet reset. Raises UnknownScene for another prefix."""
    prefix = simulator_of(scene)
    if prefix not in SIMULATORS:
        known = ", ".join(f"{name}:<scene>" for name in sorted(SIMULATORS))
        raise UnknownScene(f"unknown scene {scene!r}: known are {known}")
    return SIMULATORS[prefix]()


def simulator_of(scene: str) -> str:
    """Return the prefix of a scene name, which says what opens it; "" where there is none."""
    prefix, colon, _ = scene.partition(":")
    return prefix if colon else ""


def file_name_of(scene: str) -> str:
    """Return a scene's name as a file or a folder may be called: "house-3"."""
    return re.sub(r"[^\w.-]+", "-", scene)


class SimulatorPool:
    """Keeps one simulator of each kind, so that changing the scene does not start it anew and stamps never go back."""

    def __init__(self) -> None:
        self._open: dict[str, Simulator] = {}

    def get(self, scene: str) -> Simulator:
        """Return the simulator for this scene, not yet reset. Raises UnknownScene."""
        prefix = simulator_of(scene)
        if prefix not in self._open:
            self._open[prefix] = open_simulator(scene)
        return self._open[prefix]

    def close(self) -> None:
        """Close all; a second call does nothing."""
        while self._open:
            self._open.popitem()[1].close()
