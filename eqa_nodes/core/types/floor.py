"""Where the robot can go: the map of a floor, places worth going to, what was driven and how a drive ended."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.types.geometry import Pose2

_MARK = "; runner-up: "


class Action(IntEnum):
    """Atomic actions; the numbers stand in eqa_interfaces/srv/Act. OBSERVE moves nothing and is not counted."""

    OBSERVE = 0
    MOVE_FORWARD = 1
    TURN_LEFT = 2
    TURN_RIGHT = 3
    LOOK_UP = 4
    LOOK_DOWN = 5


class Travelled(NamedTuple):
    """What was driven since the episode began: counted atomic actions (0 on a robot) and metres."""

    steps: int
    metres: float


@dataclass(frozen=True, eq=False)
class GridMap:
    """2D projection of the voxel map, map frame.

    cells: (rows along y, columns along x) int8: -1 unknown, 0 free, 100 occupied (as nav_msgs/OccupancyGrid);
    explored: same shape, bool: seen well enough that looking again is not exploration;
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
        """Return the share of the free cells that is explored, 0..1."""
        free = self.cells == 0
        return float(np.count_nonzero(self.explored & free) / max(int(np.count_nonzero(free)), 1))


class Staircase(NamedTuple):
    """Stairs or a lift that the robot has used: where it left one floor and entered another.

    Points x, y and height of the floor, map frame, metres; the lower end first.
    """

    low: tuple[float, float, float]
    high: tuple[float, float, float]


class Frontier(NamedTuple):
    """A border between explored free space and the unknown: a place to look from, map frame."""

    x: float
    y: float
    heading: float  # towards the unknown, radians
    length_m: float


class Candidate(NamedTuple):
    """A place with a weight and what it is: one that a policy considered, or one that an answerer valued; map frame."""

    x: float
    y: float
    weight: float
    label: str


CLOSER = "a closer look at"  # how the kind of an option begins that looks at something again
LOOK_ROUND = "a look round from where the robot stands"  # the kind of an option that goes nowhere
STAIRS = "stairs"  # how the kind of an option begins that leads to another floor
POINTED = "a place that the model points at"  # the kind of an option that a model adds


class Option(NamedTuple):
    """A place where the robot could go next, map frame. Its number in a brief is its position there, from 1.

    kind: frontier (unknown space behind it) | doorway (a narrow frontier or passage) | floor (seen, not visited), or
    what is there, in words: LOOK_ROUND, POINTED, "a closer look at the bowl". heading: where it looks to, radians.
    distance_m: length of the path, metres; of a place that a model points at, as the crow flies from the picture.
    room: the kind of room that the map believes it leads into, "" unknown. value: what the policy itself expects, 0..1.
    """

    x: float
    y: float
    heading: float
    kind: str
    distance_m: float
    room: str = ""
    value: float = 0.0


class WeighedOption(NamedTuple):
    """An option as a model weighs it: how likely going there leads to the answer, 0..1, and the room it sees there."""

    option: Option
    weight: float
    room: str = ""


class Decision(NamedTuple):
    """Where to go next and why; goal None: nothing left to explore. explored: share of the mapped free space, 0..1.

    candidates: what was weighed; where the reason names a runner-up (core/policies/steering.py), the chosen place is
    the first of them and the runner-up the second. marks: what the policy holds of places, to be shown: label "value"
    (semantic value of the floor there, 0..1) or the name of a region (weight: how much it promises). look_around: turn
    once at the goal.
    """

    goal: Pose2 | None
    reason: str
    candidates: tuple[Candidate, ...] = ()
    explored: float = 0.0
    marks: tuple[Candidate, ...] = ()
    look_around: bool = False


class NavCode(Enum):
    """How a drive ended. OUT_OF_*: the question's limit allows no more of it; the value names the limit."""

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
        """Return the name of the limit that ended the drive, "" where none did."""
        return self.value if self.name.startswith("OUT_OF_") else ""


class NavResult(NamedTuple):
    """Outcome of a drive; the message explains it to a person."""

    code: NavCode
    message: str = ""


Area = tuple[tuple[float, float], ...]  # corners x, y of a polygon on the floor, map frame, metres; () = anywhere


class Allowance(NamedTuple):
    """What one drive may still use of its question's limits; inf = no limit.

    seconds: of the wall clock, from the moment the drive begins; area: where the robot has to stay; permitted: a person
    has allowed this drive.
    """

    steps: float = math.inf
    metres: float = math.inf
    seconds: float = math.inf
    area: Area = ()
    permitted: bool = False


FREE = Allowance()


def joined(reason: str, runner_up: str) -> str:
    """Return a reason with its runner-up in words; the reason alone for ""."""
    return f"{reason}{_MARK}{runner_up}" if runner_up else reason


def parted(reason: str) -> tuple[str, str]:
    """Return a reason without its runner-up, and the runner-up in words, "" where none is named."""
    own, _, second = reason.partition(_MARK)
    return own, second
