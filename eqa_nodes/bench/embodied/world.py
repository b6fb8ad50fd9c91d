"""The world of a task in a simulator that can reset to a pose; handling of objects depends on the simulator."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.errors import SimulatorError
from eqa_nodes.core.types.floor import Action
from eqa_nodes.core.types.geometry import Point, Pose2, Transform, quat_multiply
from eqa_nodes.core.types.robot import CameraModel
from eqa_nodes.core.types.views import Frame
from sim_bridge.registry import SimulatorPool
from sim_bridge.robots import ROBOTS
from sim_bridge.simulator import (
    AS_STORED,
    EpisodeSetup,
    HandlingSimulator,
    SceneEdit,
    Simulator,
    StraightDrives,
    Viewing,
)

ROBOT = ROBOTS["embodied-eval"]
CAMERA = ROBOT.camera


class Done(NamedTuple):
    """Result of handling an object or of talking to a person. message: what is said, or the reason of a failure."""

    done: bool
    message: str = ""


class SimulatedWorld:
    """A world in one of this project's simulators, with the facts that only predicates may know. Raises EqaError."""

    def __init__(self, camera: CameraModel = CAMERA) -> None:
        self._pool = SimulatorPool()
        self._simulator: Simulator | None = None
        self._frame: Frame | None = None
        self._setup = EpisodeSetup("")
        self._floating = False
        self._robot = replace(ROBOT, camera=camera)

    def open(self, scene: str, edit: SceneEdit = AS_STORED) -> None:
        """Open a scene for an agent that is a floating camera, placed by `stand`: its points may be off the free floor.

        Raises UnknownScene, and SimulatorError for a simulator whose camera cannot be placed anywhere.
        """
        simulator = self._pool.get(scene)
        if not isinstance(simulator, Viewing):
            raise SimulatorError(f"the simulator of {scene!r} cannot place its camera anywhere, which a task needs "
                                 "whose graph follows from the scene: use mesh")
        self._setup = EpisodeSetup(scene, robot=self._robot, edit=edit)
        self._simulator, self._floating = simulator, True
        self._frame = simulator.reset(self._setup).frame

    def begin(self, scene: str, pose: Pose2, height_m: float = 0.0) -> Frame:
        """Reset to a pose in a scene. Raises UnknownScene, BadPose."""
        self._simulator, self._floating = self._pool.get(scene), False
        self._setup = EpisodeSetup(scene, start=pose, robot=self._robot, start_height_m=height_m)
        self._frame = self._simulator.reset(self._setup).frame
        return self._frame

    def stand(self, pose: Pose2, look_deg: float, height_m: float = 0.0) -> Frame:
        """Place the agent at a pose; a simulator without this ability is reset there, which undoes handling."""
        simulator = self._open()
        if self._floating and isinstance(simulator, Viewing):
            self._frame = simulator.view(_base_of(pose, look_deg, height_m, self._robot.camera))
        elif isinstance(simulator, HandlingSimulator):
            self._frame = simulator.place_robot(pose, look_deg).frame
        else:
            self._frame = simulator.reset(replace(self._setup, start=pose, start_height_m=height_m)).frame
            for _ in range(round(abs(look_deg) / ROBOT.look_deg)):
                self._frame = simulator.act(Action.LOOK_UP if look_deg > 0 else Action.LOOK_DOWN).frame
        return self._frame

    def straight(self, a: Point, b: Point) -> bool:
        """Return whether a straight drive joins two points."""
        simulator = self._open()
        if isinstance(simulator, StraightDrives):
            return simulator.straight(a, b)
        return len(simulator.shortest_path(a, b)) == 2

    def path_length(self, a: Point, b: Point) -> float:
        """Return the shortest drivable distance in metres."""
        return self._open().geodesic(a, b)

    def handle(self, action: str, obj: int) -> Done:
        """Handle an object if the simulator supports it."""
        simulator = self._handling()
        if simulator is None:
            return Done(False, "nothing can be handled in this simulator")
        handled = simulator.handle(action, obj)
        self._frame = handled.step.frame
        return Done(handled.done, handled.message)

    def see(self) -> Frame:
        """Return the current view of the agent."""
        if self._frame is None:
            raise SimulatorError("the world has no task: call begin first")
        return self._frame

    def position(self, obj: int) -> tuple[float, float, float]:
        """Return the centre of an object. Raises SimulatorError if the simulator does not know it."""
        simulator = self._handling()
        if simulator is None:
            raise SimulatorError(f"the simulator of {self._setup.scene!r} does not know the positions of objects")
        return simulator.position_of(obj)

    def attributes(self, obj: int) -> Mapping[str, str]:
        """Return the known attributes of an object. Raises SimulatorError for an unknown one."""
        labels = self._open().labels()
        if obj not in labels:
            raise SimulatorError(f"there is no object {obj} in {self._setup.scene!r}")
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
        self._simulator = self._frame = None

    def _open(self) -> Simulator:
        if self._simulator is None:
            raise SimulatorError("the world has no task: call begin first")
        return self._simulator

    def _handling(self) -> HandlingSimulator | None:
        simulator = self._open()
        return simulator if isinstance(simulator, HandlingSimulator) else None


def _base_of(pose: Pose2, look_deg: float, height_m: float, camera: CameraModel) -> Transform:
    """Return the pose of a base that tilts its camera up by look_deg without moving it, in the map frame."""
    up, half = math.radians(look_deg), pose.yaw / 2
    turned = quat_multiply((0.0, 0.0, math.sin(half), math.cos(half)), (0.0, -math.sin(up / 2), 0.0, math.cos(up / 2)))
    back = -camera.height_m * math.sin(-up)  # of the base under the tilted camera, along the heading
    return Transform((pose.x + back * math.cos(pose.yaw), pose.y + back * math.sin(pose.yaw),
                      height_m + camera.height_m * (1 - math.cos(up))), turned)
