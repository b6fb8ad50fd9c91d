"""Where the robot can go: the map of a floor, goals, options and decisions, and the results of drives."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.types.geometry import Pose2

_MARK = "; runner-up: "


class Action(IntEnum):
    """Atomic actions, numbered as in eqa_interfaces/srv/Act. OBSERVE moves nothing and is not counted."""

    OBSERVE = 0
    MOVE_FORWARD = 1
    TURN_LEFT = 2
    TURN_RIGHT = 3
    LOOK_UP = 4
    LOOK_DOWN = 5


class Travelled(NamedTuple):
    """Motion since the episode began: number of atomic actions (0 on a robot) and metres."""

    steps: int
    metres: float


@dataclass(frozen=True, eq=False)
class GridMap:
    """2D projection of the voxel map, map frame.

    cells: (rows along y, columns along x) int8: -1 unknown, 0 free, 100 occupied (as nav_msgs/OccupancyGrid);
    explored: same shape, bool: seen well enough that looking again does not count as exploration;
    origin: map coordinates in metres of the outer corner of cell [0, 0];
    z: height of the floor, map frame, metres.
    """

    stamp_ns: int
    resolution_m: float
    origin: tuple[float, float]
    cells: np.ndarray
    explored: np.ndarray
    z: float = 0.0

    def explored_share(self) -> float:
        """Return the explored share of the free cells, 0..1."""
        free = self.cells == 0
        return float(np.count_nonzero(self.explored & free) / max(int(np.count_nonzero(free)), 1))


class Staircase(NamedTuple):
    """Stairs or a lift that the robot has used, given by the points where it left one floor and entered another.

    low, high: x, y and height of the floor at the lower and the upper end, map frame, metres.
    """

    low: tuple[float, float, float]
    high: tuple[float, float, float]


class Frontier(NamedTuple):
    """A frontier between explored free space and the unknown: a place to look from, map frame."""

    x: float
    y: float
    heading: float  # towards the unknown, radians
    length_m: float


class Candidate(NamedTuple):
    """A place with a weight and a label, considered by a policy or valued by an answerer; map frame."""

    x: float
    y: float
    weight: float
    label: str


CLOSER = "a closer look at"  # beginning of the kind of an option to look at something again
LOOK_ROUND = "a look round from where the robot stands"  # kind of an option without a drive
STAIRS = "stairs"  # beginning of the kind of an option that leads to another floor
ZOOM = "a part of a picture, enlarged"  # kind of an entry by which a model asks to be shown that before it decides
POINTED = "a place that the model points at"  # kind of an option that a model adds


class Option(NamedTuple):
    """A place where the robot could go next, map frame. Its number in a request is its position there, from 1.

    kind: frontier (unknown space behind it) | doorway (a narrow frontier or passage) | floor (seen, not visited), or a
    description: LOOK_ROUND, POINTED, "a closer look at the bowl". heading: viewing direction, radians.
    distance_m: length of the path, metres; for a place that a model points at, straight-line distance from the camera.
    room: kind of room that it leads into according to the map, "" unknown. value: the policy's own estimate, 0..1,
    negative where a model weighed the place before and chose others. z: height of what is to be seen there above the
    floor, metres.
    """

    x: float
    y: float
    heading: float
    kind: str
    distance_m: float
    room: str = ""
    value: float = 0.0
    z: float = 0.0

    @property
    def passed_over(self) -> bool:
        """Whether a model weighed the place before and chose others: it is listed last."""
        return self.value < 0.0


class WeighedOption(NamedTuple):
    """An option weighed by a model. weight: probability that going there leads to the answer; room: room seen there."""

    option: Option
    weight: float
    room: str = ""


class Decision(NamedTuple):
    """Where to go next and why; goal None: nothing left to explore. explored: explored share of the free space, 0..1.

    candidates: the places considered; if the reason names a runner-up (core/policies/steering.py), the chosen place is
    the first of them and the runner-up the second. marks: the policy's values of places, for display: label "value"
    (semantic value of the floor there, 0..1) or the name of a region (weight: its value). look_around: turn once at the
    goal.
    """

    goal: Pose2 | None
    reason: str
    candidates: tuple[Candidate, ...] = ()
    explored: float = 0.0
    marks: tuple[Candidate, ...] = ()
    look_around: bool = False


class NavCode(Enum):
    """How a drive ended. OUT_OF_*: a limit of the question is used up; the value names the limit."""

    SUCCEEDED = "succeeded"
    BLOCKED = "blocked"
    UNREACHABLE = "unreachable"
    CANCELED = "canceled"
    TIMEOUT = "timeout"
    FAILED = "failed"
    NOT_ALLOWED = "not allowed"
    OUT_OF_STEPS = "steps"
    OUT_OF_METRES = "metres"
    OUT_OF_SECONDS = "seconds"
    OUT_OF_POSES = "poses"

    @property
    def limit(self) -> str:
        """Return the name of the limit that ended the drive, "" if none did."""
        return self.value if self.name.startswith("OUT_OF_") else ""


class NavResult(NamedTuple):
    """Result of a drive; the message explains it to a person."""

    code: NavCode
    message: str = ""


Area = tuple[tuple[float, float], ...]  # corners x, y of a polygon on the floor, map frame, metres; () = anywhere


class Allowance(NamedTuple):
    """The remaining limits of a question for one drive; inf = no limit.

    seconds: wall-clock time from the beginning of the drive; area: polygon that the robot must not leave; permitted:
    whether a person has allowed this drive.
    """

    steps: float = math.inf
    metres: float = math.inf
    seconds: float = math.inf
    area: Area = ()
    permitted: bool = False


FREE = Allowance()


def joined(reason: str, runner_up: str) -> str:
    """Return a reason with its runner-up in words; the reason alone if that is ""."""
    return f"{reason}{_MARK}{runner_up}" if runner_up else reason


def parted(reason: str) -> tuple[str, str]:
    """Return a reason without its runner-up, and the runner-up in words, "" if none is named."""
    own, _, second = reason.partition(_MARK)
    return own, second


_STAIRS = ("stairs", "staircase", "stairwell", "stairway")  # names that views give to stairs


def shows_stairs(name: str) -> bool:
    """Return whether a name that a view gives to a place means stairs."""
    return any(name.lower().endswith(word) for word in _STAIRS)
