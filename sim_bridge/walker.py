"""The state of a robot simulated in this process: pose, camera tilt, counters, and clock."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.errors import SimulatorError
from eqa_nodes.core.types.floor import Action
from eqa_nodes.core.types.geometry import Pose2, Transform, camera_mount, wrap
from eqa_nodes.core.types.robot import CameraModel, RobotModel
from eqa_nodes.core.types.views import Frame
from sim_bridge.rays import Image
from sim_bridge.simulator import MAX_LOOK_DEG, DriveResult, EpisodeSetup, Step, arc, check_edit, turned

SUBSTEP_M, SUBSTEP_RAD = 0.01, 0.1  # maximum length of a straight piece of a path, maximum turn of a piece of an arc

At = tuple[float, float, float]  # x, y, height of the floor; metres, map frame
Hop = Callable[[At, float, float], At]  # (from, dx, dy) -> end point: the target, a slide along the obstacle, or `from`


class MoveResult(NamedTuple):
    """Result of a straight drive: end point, metres driven, and whether the robot collided."""

    at: At
    metres: float
    collided: bool


def advance(hop: Hop, at: At, yaw: float, metres: float, short_m: float = SUBSTEP_M / 2) -> MoveResult:
    """Drive `metres` along yaw in small hops until one is blocked; a drive that ends over short_m away has collided."""
    hops = max(1, round(metres / SUBSTEP_M))
    length = metres / hops
    goal = (at[0] + metres * math.cos(yaw), at[1] + metres * math.sin(yaw))
    driven = 0.0
    for _ in range(hops):
        there = hop(at, length * math.cos(yaw), length * math.sin(yaw))
        driven += math.hypot(there[0] - at[0], there[1] - at[1])
        if there[:2] == at[:2]:
            break
        at = there
    return MoveResult(at, driven, math.hypot(goal[0] - at[0], goal[1] - at[1]) > short_m)


class Walker(ABC):
    """One robot in one world at a time. Implements most methods of Driving and Viewing of sim_bridge.simulator.

    A world adds labels, geodesic and shortest_path, and the four abstract methods at the end.
    """

    edits = False  # whether it carries out SceneEdit
    short_m = SUBSTEP_M / 2  # an atomic drive that ends farther from its target has collided

    def __init__(self) -> None:
        self._robot = RobotModel()
        self._stamp_ns = 0
        self._step: Step | None = None
        self._driven = False  # since the last image, which is then out of date
        self._pose = Pose2(0.0, 0.0, 0.0)
        self._height_m = 0.0
        self._look_deg = 0.0

    def reset(self, episode: EpisodeSetup) -> Step:
        """Place the robot. Raises UnknownScene, or BadPose for a start inside something or off the floor."""
        check_edit(episode, self.edits)
        pose, self._height_m = self._enter(episode)
        self._stamp_ns = max(self._stamp_ns, episode.clock_ns)
        self._robot, self._pose, self._look_deg = episode.robot, Pose2(*map(float, pose)), 0.0
        return self._shown(False, 0, 0.0)

    def act(self, action: Action) -> Step:
        """Carry out one action; OBSERVE returns the last frame uncounted. Raises SimulatorError before a reset."""
        step, action = self._now(), Action(action)
        if action == Action.OBSERVE:
            return replace(step, collided=False)
        metres, collided = self._carry_out(action)
        return self._shown(collided, step.steps + 1, step.metres + metres)

    def place_robot(self, pose: Pose2, look_deg: float = 0.0) -> Step:
        """Teleport the robot. Raises BadPose, and SimulatorError before a reset."""
        step = self._now()
        self._height_m = self._stand(pose)
        self._pose, self._look_deg = Pose2(*map(float, pose)), min(MAX_LOOK_DEG, max(-MAX_LOOK_DEG, look_deg))
        return self._shown(False, step.steps, step.metres)

    def view(self, map_from_base: Transform) -> Frame:
        """Return what the camera would see from this base pose; the robot stays. Raises SimulatorError, BadPose."""
        self._begun()
        self._pass()
        return self._seen(map_from_base, 0.0)

    def drive(self, forward_m_s: float, turn_rad_s: float, seconds: float) -> DriveResult:
        """Keep these velocities for `seconds`, along an arc; nothing is rendered until the next OBSERVE.

        Raises SimulatorError before a reset, and if an input is not finite or seconds are negative.
        """
        step = self._begun()
        metres, collided = self._along_arc(*arc(forward_m_s, turn_rad_s, seconds))
        self._stamp_ns += round(seconds * 1e9)
        self._time_passes(seconds)
        self._step = replace(step, metres=step.metres + metres)
        self._driven = True
        return DriveResult(self._stamp_ns, self._pose.transform(self._height_m), collided, self._step.metres)

    def close(self) -> None:
        """Forget the episode; a second call does nothing."""
        self._step = None

    def _along_arc(self, metres: float, turn_rad: float) -> tuple[float, bool]:
        """Drive an arc of this length (negative: backwards) and turn; return metres driven and whether it collided."""
        pieces = max(1, math.ceil(abs(metres) / SUBSTEP_M), math.ceil(abs(turn_rad) / SUBSTEP_RAD))
        half = turn_rad / pieces / 2
        chord = metres / pieces * (math.sin(half) / half if half else 1.0)
        yaw, driven, lost = self._pose.yaw, 0.0, 0.0
        at: At = (self._pose.x, self._pose.y, self._height_m)
        for piece in range(pieces if chord else 0):
            heading = yaw + (2 * piece + 1) * half
            dx, dy = chord * math.cos(heading), chord * math.sin(heading)
            there = self._hop(at, dx, dy)
            driven += math.hypot(there[0] - at[0], there[1] - at[1])
            lost += math.hypot(at[0] + dx - there[0], at[1] + dy - there[1])
            if not turn_rad and there[:2] == at[:2]:
                break
            at = there
        self._pose, self._height_m = Pose2(at[0], at[1], wrap(yaw + turn_rad)), at[2]
        return driven, lost > min(SUBSTEP_M, abs(metres)) / 2

    def _carry_out(self, action: Action) -> tuple[float, bool]:
        """Apply an action to the robot; return metres driven and whether it collided."""
        x, y, yaw = self._pose
        if action == Action.MOVE_FORWARD:
            (x, y, self._height_m), metres, collided = advance(self._hop, (x, y, self._height_m), yaw,
                                                               self._robot.move_m, self.short_m)
            self._pose = Pose2(x, y, yaw)
            return metres, collided
        yaw, self._look_deg = turned(yaw, self._look_deg, action, self._robot)
        self._pose = Pose2(x, y, yaw)
        return 0.0, False

    def _now(self) -> Step:
        """Return the last step, with a new image after a drive. Raises SimulatorError before a reset."""
        step = self._begun()
        if self._driven:
            self._step, self._driven = replace(step, frame=self._frame()), False
        return self._begun()

    def _begun(self) -> Step:
        if self._step is None:
            raise SimulatorError("the simulator has no episode: call reset first")
        return self._step

    def _shown(self, collided: bool, steps: int, metres: float) -> Step:
        """Advance the time by one action, render, and return the new step."""
        self._pass()
        self._step, self._driven = Step(self._frame(), collided, steps, metres), False
        return self._step

    def _pass(self) -> None:
        """Advance the time by one action."""
        self._stamp_ns += max(1, round(self._robot.step_s * 1e9))
        self._time_passes(self._robot.step_s)

    def _frame(self) -> Frame:
        return self._seen(self._pose.transform(self._height_m), self._look_deg)

    def _seen(self, base: Transform, look_deg: float) -> Frame:
        """Return what the camera sees from a base pose in the map, tilted up by look_deg."""
        camera = self._robot.camera
        mount: Transform = camera_mount(camera.height_m, math.radians(camera.tilt_down_deg - look_deg))
        image = self._image(camera, base.matrix() @ mount.matrix())
        for array in image:
            array.setflags(write=False)
        return Frame(self._stamp_ns, image.rgb, image.depth_m, camera.intrinsics, base, mount, image.labels)

    def _time_passes(self, seconds: float) -> None:  # noqa: B027 - most worlds are static
        """Advance everything that moves without the robot."""

    @abstractmethod
    def _enter(self, episode: EpisodeSetup) -> tuple[Pose2, float]:
        """Open the world of an episode; return the start and the height of its floor.

        Raises UnknownScene or BadPose; the state is then unchanged.
        """

    @abstractmethod
    def _stand(self, pose: Pose2) -> float:
        """Return the height of the floor at a pose of this world. Raises BadPose if the robot cannot stand there."""

    @abstractmethod
    def _hop(self, at: At, dx: float, dy: float) -> At:
        """Return the end of a hop of at most a centimetre (see Hop); RobotModel.slide says whether it slides."""

    @abstractmethod
    def _image(self, camera: CameraModel, map_from_camera: np.ndarray) -> Image:
        """Return what a camera at `map_from_camera` (4, 4), optical axes, sees."""
