"""Opens simulators by the prefix of a scene name, and queries their privileged ground truth."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from eqa_nodes.core.components import SIMULATORS
from eqa_nodes.core.errors import UnknownScene, did_you_mean
from eqa_nodes.core.registry import is_class
from eqa_nodes.core.types.geometry import Point, Pose2
from eqa_nodes.core.types.robot import CameraModel, RobotModel
from sim_bridge.robots import DEFAULT, ROBOTS
from sim_bridge.simulator import EpisodeSetup

if TYPE_CHECKING:
    from sim_bridge.simulator import Simulator


_CLASS_SCENE = re.compile(r"([A-Za-z_][\w.]*:[A-Za-z_][\w.]*):")


def open_simulator(scene: str) -> Simulator:
    """Return a simulator for scenes of this kind ("house:7"), not yet reset. Raises UnknownScene for another prefix."""
    name = simulator_of(scene)
    if not has_simulator(scene):
        known, meant = ", ".join(f"{one}:<scene>" for one in SIMULATORS), did_you_mean(name, SIMULATORS)
        raise UnknownScene(f"unknown scene {scene!r}{meant}: known are {known}, and package.module:Class:<scene>")
    simulator: Simulator = SIMULATORS.make(name)
    return simulator


def simulator_of(scene: str) -> str:
    """Return the prefix of a scene name, which selects its simulator; "" if there is none.

    The prefix is a registered name ("house" of "house:7"), or "module:Class" if its first part is not a registered name
    ("maze:Maze" of "maze:Maze:3").
    """
    prefix, colon, _ = scene.partition(":")
    if prefix not in SIMULATORS and (named := _CLASS_SCENE.match(scene)):
        return named[1]
    return prefix if colon else ""


def has_simulator(scene: str) -> bool:
    """Return whether a simulator exists for scenes of this kind. Does not check that this scene exists."""
    name = simulator_of(scene)
    return name in SIMULATORS or is_class(name)


def check_simulator(scene: str) -> None:
    """Raise UnknownScene or SimulatorError if the simulator knows, without loading the scene, that it cannot open it.

    A simulator that supports this check has a static method `check_scene(scene)`.
    """
    name = simulator_of(scene)
    if name in SIMULATORS and (check := getattr(SIMULATORS[name], "check_scene", None)):
        check(scene)


@lru_cache(maxsize=8)
def sample_questions(scene: str) -> tuple[str, ...]:
    """Return a few example questions about a scene, without answers; empty if its simulator has none.

    A simulator that has some defines a static method `sample_questions(scene)`.
    """
    name = simulator_of(scene)
    ask = getattr(SIMULATORS[name], "sample_questions", None) if name in SIMULATORS else None
    return tuple(ask(scene)) if ask is not None else ()


def usual_detector(scene: str) -> str:
    """Return the name of the detector in the package that was trained on scenes like this one, "" = none.

    A simulator that has one defines a static method `usual_detector(scene)`. Raises UnknownScene.
    """
    name = simulator_of(scene)
    ask = getattr(SIMULATORS[name], "usual_detector", None) if name in SIMULATORS else None
    return str(ask(scene)) if ask is not None else ""


def known_actions() -> tuple[str, ...]:
    """Return the names of the actions on objects and people that any built-in simulator can carry out."""
    from sim_bridge.house.actions import ACTIONS

    return tuple(ACTIONS)


def is_scan(scene: str) -> bool:
    """Return whether a scene is a scan: it is stored in files, and any simulator of scans can open it."""
    name = simulator_of(scene)
    return name in SIMULATORS and SIMULATORS.traits(name).scans


def file_name_of(scene: str) -> str:
    """Return a scene's name as a file or a folder may be called: "house-3"."""
    return re.sub(r"[^\w.-]+", "-", scene)


class SimulatorPool:
    """Keeps one simulator of each kind, so that a new scene does not restart it and time stamps never go back."""

    def __init__(self) -> None:
        self._open: dict[str, Simulator] = {}

    def get(self, scene: str) -> Simulator:
        """Return the simulator for this scene, not yet reset. Raises UnknownScene."""
        prefix = simulator_of(scene)
        if prefix not in self._open:
            self._open[prefix] = open_simulator(scene)
        return self._open[prefix]

    def close(self) -> None:
        """Close all simulators; a second call does nothing."""
        while self._open:
            self._open.popitem()[1].close()


_BLIND = CameraModel(width=16, height=12, color=False)  # measuring needs no images


class Truth:
    """Computes ground truth in simulators of its own. Raises UnknownScene.

    robot: robot of the run, whose shortest paths are measured. The last scene stays open, so measure all questions of
    one scene in sequence.
    """

    def __init__(self, robot: RobotModel = ROBOTS[DEFAULT]) -> None:
        self._pool, self._robot = SimulatorPool(), replace(robot, camera=_BLIND)
        self._scene = ""

    def geodesic(self, scene: str, a: Point, b: Point) -> float:
        """Return the shortest drivable distance in metres, inf if there is no path."""
        simulator = self._pool.get(scene)
        if scene != self._scene:
            simulator.reset(EpisodeSetup(scene, robot=self._robot))
            self._scene = scene
        return simulator.geodesic(a, b)

    def grounding(self, scene: str, targets: Sequence[int], pose: Pose2) -> float | None:
        """Return how well the view from a pose supports an answer about the targets (instance ids): 0, 0.5 or 1.

        Replaces the grounding score delta of EXPRESS-Bench, for which a model looks at the last view. 1: every target
        is visible and one fills the view as much as a reference view must; 0.5: any target is visible. None if the
        scene is not a built-in house, or the question names no targets.
        """
        from sim_bridge.house.questions.grounding import SEEN_PIXELS, VIEW_PIXELS
        from sim_bridge.house.world import GLANCE, PREFIX, world_of

        if not (scene.startswith(PREFIX) and targets):
            return None
        scale = 640 * 480 / (GLANCE.width * GLANCE.height)
        seen = world_of(scene).visible_pixels(pose)
        pixels = [seen.get(target, 0) * scale for target in targets]
        if min(pixels) >= SEEN_PIXELS and max(pixels) >= VIEW_PIXELS:
            return 1.0
        return 0.5 if max(pixels) >= SEEN_PIXELS else 0.0

    def close(self) -> None:
        """Release the simulators."""
        self._pool.close()
