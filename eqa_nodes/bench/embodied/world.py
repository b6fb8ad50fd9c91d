"""The world of a task in a simulator that can reset to a pose; handling of objects depends on the simulator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.errors import SimulatorError
from eqa_nodes.core.types.floor import Action
from eqa_nodes.core.types.geometry import Point, Pose2
from eqa_nodes.core.types.robot import CameraModel
from eqa_nodes.core.types.views import Frame
from sim_bridge.registry import SimulatorPool
from sim_bridge.robots import ROBOTS
from sim_bridge.simulator import EpisodeSetup, HandlingSimulator, Simulator, Step

ROBOT = ROBOTS["embodied-eval"]
CAMERA = ROBOT.camera


class Done(NamedTuple):
    """Result of handling an object, with the reason of a failure."""

    done: bool
    why: str = ""


class SimulatedWorld:
    """A world in one of this project's simulators, with the facts that only predicates may know. Raises EqaError."""

    def __init__(self, camera: CameraModel = CAMERA) -> None:
        self._pool = SimulatorPool()
        self._simulator: Simulator | None = None
        self._step: Step | None = None
        self._scene = ""
        self._robot = replace(ROBOT, camera=camera)

    def begin(self, scene: str, pose: Pose2, height_m: float = 0.0) -> Frame:
        """Reset to a pose in a scene. Raises UnknownScene, BadPose."""
        self._simulator, self._scene = self._pool.get(scene), scene
        self._step = self._simulator.reset(EpisodeSetup(scene, start=pose, robot=self._robot, start_height_m=height_m))
        return self._step.frame

    def stand(self, pose: Pose2, look_deg: float, height_m: float = 0.0) -> Frame:
        """Place the agent at a pose; a simulator without this ability is reset there, which undoes handling."""
        simulator = self._open()
        if isinstance(simulator, HandlingSimulator):
            self._step = simulator.place_robot(pose, look_deg)
            return self.see()
        self._step = simulator.reset(EpisodeSetup(self._scene, start=pose, robot=self._robot, start_height_m=height_m))
        for _ in range(round(abs(look_deg) / ROBOT.look_deg)):
            self._step = simulator.act(Action.LOOK_UP if look_deg > 0 else Action.LOOK_DOWN)
        return self.see()

    def path_length(self, a: Point, b: Point) -> float:
        """Return the shortest drivable distance in metres."""
        return self._open().geodesic(a, b)

    def handle(self, action: str, obj: int) -> Done:
        """Handle an object if the simulator supports it."""
        simulator = self._handling()
        if simulator is None:
            return Done(False, "nothing can be handled in this simulator")
        handled = simulator.handle(action, obj)
        self._step = handled.step
        return Done(handled.done, handled.message)

    def see(self) -> Frame:
        """Return the current view of the agent."""
        if self._step is None:
            raise SimulatorError("the world has no task: call begin first")
        return self._step.frame

    def position(self, obj: int) -> tuple[float, float, float]:
        """Return the centre of an object. Raises SimulatorError if the simulator does not know it."""
        simulator = self._handling()
        if simulator is None:
            raise SimulatorError(f"the simulator of {self._scene!r} does not know the positions of objects")
        return simulator.position_of(obj)

    def attributes(self, obj: int) -> Mapping[str, str]:
        """Return the known attributes of an object. Raises SimulatorError for an unknown one."""
        labels = self._open().labels()
        if obj not in labels:
            raise SimulatorError(f"there is no object {obj} in {self._scene!r}")
        return labels[obj].attributes

    def support(self, obj: int) -> int:
        """Return the id of the object that supports or contains this one, 0 = none."""
        simulator = self._handling()
        return 0 if simulator is None else simulator.support_of(obj)

    def share(self, obj: int) -> float:
        """Return the share of the image that shows the object."""
        labels = self.see().labels
        return 0.0 if labels is None else float(np.count_nonzero(labels == obj)) / labels.size

    def held(self) -> int:
        """Return the id of the object that the agent holds, 0 = none."""
        simulator = self._handling()
        return 0 if simulator is None else simulator.held()

    def close(self) -> None:
        """Release the simulators; a second call does nothing."""
        self._pool.close()
        self._simulator = self._step = None

    def _open(self) -> Simulator:
        if self._simulator is None:
            raise SimulatorError("the world has no task: call begin first")
        return self._simulator

    def _handling(self) -> HandlingSimulator | None:
        simulator = self._open()
        return simulator if isinstance(simulator, HandlingSimulator) else None
