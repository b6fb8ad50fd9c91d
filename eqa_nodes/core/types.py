"""The values that travel through the chain, from a camera frame to an answer.

Stamps are integer nanoseconds of the clock in use (simulated or wall). Lengths are metres, angles radians, frames those
of REP 105.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.errors import ErrorCode
from eqa_nodes.core.geometry import Pose2, Transform, pose2_of


class Intrinsics(NamedTuple):
    """Pinhole camera: image size in pixels, focal lengths and principal point in pixels (pixel centres at +0.5)."""

    width: int
    height: int
    fx: float
    fy: float
    cx: float
    cy: float


@dataclass(frozen=True, eq=False)
class Frame:
    """One observation of the robot: images and the pose they were taken at.

    rgb: (H, W, 3) uint8; depth_m: (H, W) float32, metres along the optical axis, 0 = no return;
    labels: (H, W) uint16 instance ids, 0 = nothing, or None where nothing labels (privileged where a simulator does).
    """

    stamp_ns: int
    rgb: np.ndarray
    depth_m: np.ndarray
    intrinsics: Intrinsics
    map_from_base: Transform
    base_from_camera: Transform
    labels: np.ndarray | None = None

    @property
    def pose(self) -> Pose2:
        """Pose of the base on the floor, map frame."""
        return pose2_of(self.map_from_base)

    def map_from_camera(self) -> np.ndarray:
        """Return the (4, 4) pose of the optical frame in the map."""
        return self.map_from_base.matrix() @ self.base_from_camera.matrix()


class Scan(NamedTuple):
    """What a planar scanner sees: ranges in its frame (x forward, z up), one of each direction counter-clockwise.

    ranges_m: (n,) float32, metres; by REP 117 inf = nothing within the range, -inf = nearer than it can measure.
    first_rad, step_rad: direction of the first, and from one to the next, radians.
    """

    ranges_m: np.ndarray
    first_rad: float
    step_rad: float
    min_range_m: float
    max_range_m: float


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


class Label(NamedTuple):
    """What a simulator knows of one labelled instance (privileged), or what a detector makes of one (detected)."""

    instance: int
    kind: str
    room: str
    attributes: dict[str, str]  # colour, material, state ("on"), support ("desk"), relation ("on", "in", "above")
    detected: bool = False


class Sighting(NamedTuple):
    """One labelled instance as seen in one keyframe; position and size in metres, map frame, from depth."""

    label: Label
    pixels: int
    bbox: tuple[int, int, int, int]  # left, top, right, bottom in pixels
    centre: tuple[float, float, float]
    size: tuple[float, float, float]


class Place(NamedTuple):
    """Floor in view where the robot could stand: pixel (u, v) of the image, and x, y in metres, map frame."""

    u: int
    v: int
    x: float
    y: float


@dataclass(frozen=True)
class Keyframe:
    """A view worth remembering. jpeg is the canonical image: encoded once, stored and shown as it is."""

    id: int
    stamp_ns: int
    map_from_base: Transform
    jpeg: bytes
    sightings: tuple[Sighting, ...] = ()
    caption: str = ""
    region: str = ""
    places: tuple[Place, ...] = ()

    @property
    def pose(self) -> Pose2:
        """Pose of the base on the floor, map frame."""
        return pose2_of(self.map_from_base)

    @property
    def privileged(self) -> bool:
        """Say whether a simulator's labels tell what is in view."""
        return any(not s.label.detected for s in self.sightings)


class Recalled(NamedTuple):
    """A keyframe that memory returns for a query, with its score (higher is better) and why."""

    keyframe: Keyframe
    score: float
    why: str


class RecallQuery(NamedTuple):
    """What to look for in memory. Conditions combine; an empty text, near or window does not restrict.

    A time that the text names ("yesterday evening", "last time") is the window where none is given; a room that it
    names as a place ("near the kitchen") counts as one more reason.
    """

    text: str = ""
    limit: int = 12
    after_ns: int = 0
    before_ns: int = 0  # 0 = now
    near: tuple[float, float, float] | None = None  # x, y, radius in metres, map frame
    now_ns: int = 0  # what "yesterday" counts from; 0 = the newest stamp


class MemoryObject(NamedTuple):
    """One thing as memory knows it, put together from many views.

    low, high: corners of its box, metres, map frame (of the session it was last seen in: here False means that no
    transform from there to this session's map is known); times: looks in which it was seen; gone_ns: stamp of the look
    that found its place empty, 0 = it was there when last looked; keyframe_id, bbox: its best view.
    """

    id: int
    kind: str
    room: str
    attributes: dict[str, str]  # at its last sighting: colour, material, state, support, relation
    low: tuple[float, float, float]
    high: tuple[float, float, float]
    times: int
    first_ns: int
    last_ns: int
    gone_ns: int
    keyframe_id: int
    bbox: tuple[int, int, int, int]
    here: bool = True

    @property
    def centre(self) -> tuple[float, float, float]:
        """Return the middle of its box."""
        (x, y, z), (u, v, w) = self.low, self.high
        return (x + u) / 2, (y + v) / 2, (z + w) / 2


class Recollection(NamedTuple):
    """What memory itself says to a question about the past ("When did you last see ...?"), with its proof.

    verify: it says where something is now, so that it is worth looking when it is long ago.
    """

    text: str
    confidence: float
    evidence: tuple[Evidence, ...]
    verify: bool = False


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


class Join(NamedTuple):
    """Stairs (or a lift) that the robot has taken: where it left one floor and entered another.

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


class Decision(NamedTuple):
    """Where to go next and why; goal None: nothing left to explore. explored: share of the mapped free space, 0..1.

    candidates: what was weighed; marks: what the policy holds of places, to be shown: label "value" (semantic value of
    the floor there, 0..1) or the name of a region (weight: how much it promises). look_around: turn once at the goal.
    """

    goal: Pose2 | None
    reason: str
    candidates: tuple[Candidate, ...] = ()
    explored: float = 0.0
    marks: tuple[Candidate, ...] = ()
    look_around: bool = False


class NavCode(Enum):
    """How a drive ended."""

    SUCCEEDED = "succeeded"
    BLOCKED = "blocked"
    UNREACHABLE = "unreachable"
    CANCELED = "canceled"
    TIMEOUT = "timeout"
    FAILED = "failed"


class NavResult(NamedTuple):
    """Outcome of a drive; the message says what a person would want to know."""

    code: NavCode
    message: str = ""


class Limits(NamedTuple):
    """What a question may cost; 0 = no limit. Checked before every leg and every model call."""

    steps: int = 0
    metres: float = 0.0
    seconds: float = 0.0
    calls: int = 0


class Question(NamedTuple):
    """What is asked. choices: the options of a multiple-choice benchmark, else empty."""

    text: str
    id: str = ""
    choices: tuple[str, ...] = ()
    may_explore: bool = True
    limits: Limits = Limits()
    force_guess: bool = False
    seed: int = 0


class ViewAssessment(NamedTuple):
    """What the answerer thinks of one keyframe for the question; all numbers in 0..1.

    worth: is it worth to explore on from what this view shows (the global semantic value of EXPRESS-Bench)?
    places: the keyframe's places; weight: the local semantic value, they sum to 1; label: the region there, "" unknown.
    target: where the thing asked about stands, map frame, metres; None where this view does not show it.
    says: what this view alone answers, "" for nothing.
    """

    keyframe_id: int
    stamp_ns: int
    relevance: float  # is the thing asked about, or a hint to it, in view?
    enough: float  # confidence that this view answers the question
    region: str = ""
    note: str = ""
    pose: Pose2 = Pose2(0.0, 0.0, 0.0)  # where the view was taken
    worth: float = 0.0
    places: tuple[Candidate, ...] = ()
    target: tuple[float, float] | None = None
    says: str = ""
    z: float = 0.0  # height of the base when the view was taken, map frame, metres


class RankedRegion(NamedTuple):
    """A kind of room, and how likely the answer is found there, 0..1."""

    name: str
    weight: float


class Situation(NamedTuple):
    """What a policy decides on: all of it of the same observation. regions: best first."""

    question: Question
    pose: Pose2
    grid: GridMap
    frontiers: Sequence[Frontier]
    assessments: Sequence[ViewAssessment] = ()
    regions: Sequence[RankedRegion] = ()


class Evidence(NamedTuple):
    """What proves an answer: a remembered view, where and when it was taken.

    frame: which image of a recording it is, from 0; offset_ns: how far into the bag; -1 where it is of none.
    """

    keyframe_id: int
    stamp_ns: int
    pose: Pose2
    note: str = ""
    frame: int = -1
    offset_ns: int = -1


@dataclass
class Receipt:
    """What an answer cost. privileged: components that used simulator facts a robot does not have.

    money: for the model, in the currency of its prices; 0.0 where no prices are known.
    """

    steps: int = 0
    metres: float = 0.0
    seconds: float = 0.0
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    privileged: tuple[str, ...] = ()
    money: float = 0.0


@dataclass
class Answer:
    """The end of a question: a text with evidence, an abstention, or a named error."""

    text: str = ""
    confidence: float = 0.0
    abstained: bool = False
    evidence: tuple[Evidence, ...] = ()
    receipt: Receipt = field(default_factory=Receipt)
    error: ErrorCode = ErrorCode.NONE
    message: str = ""
