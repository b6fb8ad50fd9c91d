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

MAX_LOOK_DEG = 60.0  # the camera tilts at most this far up or down from its mount


def height_of(point: Point) -> float:
    """Return the height of the floor that a point lies on, metres; 0 if the point has no height."""
    return point[2] if len(point) > 2 else 0.0


class SceneEdit(NamedTuple):
    """Changes to a scene that is read from a file. Only `mesh:` scenes can be edited.

    hidden: paths of nodes that are left out with everything below them, such as "flat/doors/door 3"; scale: along x, y
    and z of the map; offset: metres, map frame, added after scaling.
    """

    hidden: tuple[str, ...] = ()
    scale: tuple[float, float, float] = (1.0, 1.0, 1.0)
    offset: tuple[float, float, float] = (0.0, 0.0, 0.0)


AS_STORED = SceneEdit()


@dataclass(frozen=True)
class EpisodeSetup:
    """Scene, robot and start of an episode. start: start pose, None = the scene's own one for this seed.

    start_height_m: height that selects the floor of the start; the nearest floor is used. clock_ns: the simulator's
    clock is set to this time first, unless it is later already; 0 = it runs on, from 0 in a new simulator.
    """

    scene: str
    id: str = ""
    start: Pose2 | None = None
    seed: int = 0
    robot: RobotModel = RobotModel()
    start_height_m: float = 0.0
    clock_ns: int = 0
    edit: SceneEdit = AS_STORED

    @classmethod
    def of(cls, sample: Sample, robot: RobotModel, clock_ns: int = 0) -> EpisodeSetup:
        """Return the setup in which a simulated robot answers a question."""
        return cls(sample.scene, sample.id, sample.start, sample.seed, robot, sample.start_height_m or 0.0, clock_ns)


def check_edit(episode: EpisodeSetup, edits: bool = False) -> None:
    """Raise SimulatorError if an episode changes its scene and the simulator cannot do so."""
    if episode.edit != AS_STORED and not edits:
        raise SimulatorError(f"the scene {episode.scene!r} cannot be changed, only mesh: scenes can: leave out hidden "
                             "nodes, scale and offset, or open its file with mesh:")


@dataclass(frozen=True, eq=False)
class Step:
    """Result of one action: the current camera frame, and whether the robot collided."""

    frame: Frame
    collided: bool
    steps: int  # actions counted since reset
    metres: float  # distance driven since reset


class Simulator(Protocol):
    """A world that advances only by atomic actions. ROS axes, metres. Stamps never go back, not even at a reset."""

    def reset(self, episode: EpisodeSetup) -> Step:
        """Place the robot. Raises UnknownScene, or BadPose for a start inside something or off the floor."""

    def act(self, action: Action) -> Step:
        """Carry out one action; OBSERVE renders again without counting."""

    def labels(self) -> Mapping[int, Label]:
        """Privileged: return what the ids in Frame.labels mean now (states can change). Empty if the world has none."""

    def geodesic(self, a: Point, b: Point) -> float:
        """Privileged, scorer only: return the shortest drivable distance on the floor plans, metres; inf if none."""

    def shortest_path(self, a: Point, b: Point) -> list[tuple[float, float]]:
        """Privileged, scorer and history generator only: return points x, y, metres, of the shortest drivable path.

        Straight lines join them, both ends included. Empty if there is no path, or none that stays on one floor.
        """

    def close(self) -> None:
        """Release everything; a second call does nothing."""


def begin_episode(simulator: Simulator, episode: EpisodeSetup) -> Step:
    """Reset a simulator. Raises what its reset raises, and SimulatorError if it does not set its clock."""
    first = simulator.reset(episode)
    if first.frame.stamp_ns < episode.clock_ns:
        raise SimulatorError(f"the simulator of {episode.scene!r} does not set its clock to EpisodeSetup.clock_ns, as "
                             "docs/extending.md asks: leave out the date and time at which its clock starts")
    return first


class DriveResult(NamedTuple):
    """Result of a drive by velocities: stamp, pose of the base, whether it collided, metres driven since reset."""

    stamp_ns: int
    map_from_base: Transform
    collided: bool
    metres: float


def arc(forward_m_s: float, turn_rad_s: float, seconds: float) -> tuple[float, float]:
    """Return metres and radians of a drive. Raises SimulatorError if an input is not finite or seconds are negative."""
    if not all(map(math.isfinite, (forward_m_s, turn_rad_s, seconds))) or seconds < 0:
        raise SimulatorError(f"cannot drive at {forward_m_s} m/s and {turn_rad_s} rad/s for {seconds} s: expected "
                             "finite velocities, and a time that does not go back")
    return forward_m_s * seconds, turn_rad_s * seconds


def turned(yaw: float, look_deg: float, action: Action, robot: RobotModel) -> tuple[float, float]:
    """Return heading (rad) and camera tilt (deg) after an action; only turns and looks change them."""
    turn = {Action.TURN_LEFT: 1, Action.TURN_RIGHT: -1}.get(action, 0)
    look = {Action.LOOK_UP: 1, Action.LOOK_DOWN: -1}.get(action, 0)
    return wrap(yaw + turn * robot.turn_rad), min(MAX_LOOK_DEG, max(-MAX_LOOK_DEG, look_deg + look * robot.look_deg))


@runtime_checkable
class Driving(Simulator, Protocol):
    """A simulator whose robot also accepts velocity commands, like a base controller."""

    def drive(self, forward_m_s: float, turn_rad_s: float, seconds: float) -> DriveResult:
        """Keep these velocities for `seconds`; stamps advance by the same. Nothing is rendered until the next OBSERVE.

        Raises SimulatorError before a reset, and if an input is not finite or seconds are negative.
        """


@runtime_checkable
class Viewing(Simulator, Protocol):
    """A simulator whose camera can be placed anywhere, to render recorded trajectories again."""

    def view(self, map_from_base: Transform) -> Frame:
        """Return what the robot's camera would see from this base pose, also off the floor; the robot does not move.

        The time of one action passes. Raises SimulatorError before a reset, BadPose for an invalid pose.
        """


@runtime_checkable
class StraightDrives(Simulator, Protocol):
    """A simulator that finds out cheaply whether two points are joined by a straight drive."""

    def straight(self, a: Point, b: Point) -> bool:
        """Privileged: return whether the robot can drive straight from a to b; ends may be slightly off the floor."""


class HandlingResult(NamedTuple):
    """Result of handling an object. step: state after the action; message: what is said, or why it was not done."""

    done: bool
    message: str
    step: Step


@runtime_checkable
class HandlingSimulator(Simulator, Protocol):
    """A simulator in which objects can be handled. Changes last until the next reset."""

    def place_robot(self, pose: Pose2, look_deg: float = 0.0) -> Step:
        """Teleport the robot, for example to a node of a navigation graph, and tilt its camera up. Raises BadPose."""

    def handle(self, verb: str, instance: int) -> HandlingResult:
        """Apply an action, such as "pick", to an object (place: put the held object on it); one counted action.

        The object must be in view and within reach, and only one can be held. Raises SimulatorError for an unknown
        action or object. The message of a result is what is said after it, or the reason why it was not done.
        """

    def held(self) -> int:
        """Return the instance id of the held object, 0 = none."""

    def position_of(self, instance: int) -> tuple[float, float, float]:
        """Privileged: return the centre of an object, metres, map frame. Raises SimulatorError for an unknown one."""

    def support_of(self, instance: int) -> int:
        """Privileged: return the instance that an object stands on or lies in, 0 = none. Raises SimulatorError."""
