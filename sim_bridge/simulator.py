"""The Simulator protocol: a robot in a world, not an oracle."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

from eqa_nodes.core.errors import SimulatorError
from eqa_nodes.core.types.floor import Action
from eqa_nodes.core.types.geometry import Point, Pose2, Transform, wrap
from eqa_nodes.core.types.robot import RobotModel
from eqa_nodes.core.types.samples import Sample
from eqa_nodes.core.types.views import Frame, Label

VERBS = ("pick", "place", "open", "close", "switch_on", "switch_off")  # what can be done with objects
MAX_LOOK_DEG = 60.0  # the camera turns so far up or down from its mount


def height_of(point: Point) -> float:
    """Return the height of the floor that a point lies on, metres; 0 when it has none."""
    return point[2] if len(point) > 2 else 0.0


@dataclass(frozen=True)
class EpisodeSetup:
    """Where an episode takes place. start None: the scene's own start pose for this seed.

    start_height_m: the start stands on the floor that is nearest to this height.
    """

    scene: str
    id: str = ""
    start: Pose2 | None = None
    seed: int = 0
    robot: RobotModel = RobotModel()
    start_height_m: float = 0.0

    @classmethod
    def of(cls, sample: Sample, robot: RobotModel) -> EpisodeSetup:
        """Return where a simulated robot begins to answer a question."""
        return cls(sample.scene, sample.id, sample.start, sample.seed, robot, sample.start_height_m or 0.0)


@dataclass(frozen=True, eq=False)
class Step:
    """Result of one action: what the robot sees now, and whether something stopped it."""

    frame: Frame
    collided: bool
    steps: int  # counted actions since reset
    metres: float  # driven since reset


class Simulator(Protocol):
    """A world that advances only by atomic actions. ROS axes, metres. Stamps never go back, also over resets."""

    def reset(self, episode: EpisodeSetup) -> Step:
        """Place the robot. Raises UnknownScene, or BadPose for a start inside something or off the floor."""

    def act(self, action: Action) -> Step:
        """Carry out one action; OBSERVE renders again without counting."""

    def labels(self) -> Mapping[int, Label]:
        """Privileged: what the ids in Frame.labels are, now (states can change). Empty where the world has none."""

    def geodesic(self, a: Point, b: Point) -> float:
        """Privileged, scorer only: shortest drivable distance on the floor plans in metres; inf when there is none."""

    def shortest_path(self, a: Point, b: Point) -> list[tuple[float, float]]:
        """Privileged, scorer and generator of histories only: points x, y, metres, along the shortest drivable path.

        Both ends are included, straight lines lie between. Empty where there is no path, or not on one floor.
        """

    def close(self) -> None:
        """Release everything; a second call does nothing."""


class DriveResult(NamedTuple):
    """Where a drive by velocities ended: stamp, pose of the base, whether something stopped it, metres since reset."""

    stamp_ns: int
    map_from_base: Transform
    collided: bool
    metres: float


def arc(forward_m_s: float, turn_rad_s: float, seconds: float) -> tuple[float, float]:
    """Return metres and radians of a drive. Raises SimulatorError for what is not finite or would turn time back."""
    if not all(map(math.isfinite, (forward_m_s, turn_rad_s, seconds))) or seconds < 0:
        raise SimulatorError(f"cannot drive at {forward_m_s} m/s and {turn_rad_s} rad/s for {seconds} s: expected "
                             "finite velocities, and a time that does not go back")
    return forward_m_s * seconds, turn_rad_s * seconds


def turned(yaw: float, look_deg: float, action: Action, robot: RobotModel) -> tuple[float, float]:
    """Return heading and tilt of the camera after an action; only turns and looks change them."""
    turn = {Action.TURN_LEFT: 1, Action.TURN_RIGHT: -1}.get(action, 0)
    look = {Action.LOOK_UP: 1, Action.LOOK_DOWN: -1}.get(action, 0)
    return wrap(yaw + turn * robot.turn_rad), min(MAX_LOOK_DEG, max(-MAX_LOOK_DEG, look_deg + look * robot.look_deg))


@runtime_checkable
class Driving(Simulator, Protocol):
    """A simulator in which the robot also takes velocities, as a base controller does."""

    def drive(self, forward_m_s: float, turn_rad_s: float, seconds: float) -> DriveResult:
        """Keep these velocities for so long; the stamps advance by as much. Nothing is rendered: OBSERVE shows it.

        Raises SimulatorError before a reset, and for what is not finite or would turn time back.
        """


@runtime_checkable
class Viewing(Simulator, Protocol):
    """A simulator whose camera can be put anywhere, as recordings of others are rendered again."""

    def view(self, map_from_base: Transform) -> Frame:
        """Return what the robot's camera would see if its base were there, also off the floor; the robot stays.

        The time of one action passes. Raises SimulatorError before a reset, BadPose for what is no pose.
        """


class HandlingResult(NamedTuple):
    """How handling an object ended. step: what the robot sees now; message: why not, where it was not done."""

    done: bool
    message: str
    step: Step


@runtime_checkable
class HandlingSimulator(Simulator, Protocol):
    """A simulator in which objects can be handled. What was changed stays so until the next reset."""

    def place_robot(self, pose: Pose2, look_deg: float = 0.0) -> Step:
        """Put the robot somewhere at once, looking up by look_deg: viewpoints of a navigation graph. Raises BadPose."""

    def handle(self, verb: str, instance: int) -> HandlingResult:
        """Do one of VERBS with an object (place: put what is held on it); one counted action.

        The object must be in view and within reach, and only one can be held. Raises SimulatorError for an unknown verb
        or object.
        """

    def held(self) -> int:
        """Return the instance that the robot holds, 0 = none."""

    def position_of(self, instance: int) -> tuple[float, float, float]:
        """Privileged: return the middle of an object, metres, map frame. Raises SimulatorError for an unknown one."""

    def support_of(self, instance: int) -> int:
        """Privileged: return what an object stands on or lies in, 0 = nothing. Raises SimulatorError."""
