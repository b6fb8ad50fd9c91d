"""Questions with their limits and costs, assessments of views, queries to memory, and answers with evidence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from eqa_nodes.core.errors import ErrorCode
from eqa_nodes.core.types.costs import CallAccount, Usage
from eqa_nodes.core.types.floor import Area, Candidate, Frontier, GridMap, WeighedOption
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.views import Keyframe

MAX_EVIDENCE = 3  # views that prove an answer, at most
FAR_M = 6.0  # a thing farther away than this is as good as unseen
NOWHERE_M = 0.05  # a robot that stands still may be measured to move so far


class Limits(NamedTuple):
    """What a question may cost; 0 = no limit. All of them are hard: they hold inside a drive and inside a model's turn.

    seconds: wall time while it is worked on, not while it waits; area: the robot does not leave it, and no goal outside
    it is driven to; calls, tokens, money: of the model, the last call is kept for the answer; poses: as HM-EQA counts
    them, up to 3 m apart, the start and the end of each drive included.
    """

    steps: int = 0
    metres: float = 0.0
    seconds: float = 0.0
    calls: int = 0
    area: Area = ()
    tokens: int = 0
    money: float = 0.0
    poses: int = 0

    def as_json(self) -> dict[str, Any]:
        """Return what a manifest says of them; the first four always, the others only where they limit."""
        said: dict[str, Any] = {"steps": self.steps, "metres": self.metres, "seconds": self.seconds,
                                "calls": self.calls}
        rare = {"area": [list(corner) for corner in self.area], "tokens": self.tokens, "money": self.money,
                "poses": self.poses}
        return {**said, **{name: value for name, value in rare.items() if value}}


class Question(NamedTuple):
    """What is asked. choices: the options of a multiple-choice benchmark, else empty.

    show: drive to the best evidence after the answer; not where may_explore is False. account: pays for the calls of a
    model; None: there is no limit, and nobody counts.
    """

    text: str
    id: str = ""
    choices: tuple[str, ...] = ()
    may_explore: bool = True
    limits: Limits = Limits()
    force_guess: bool = False
    seed: int = 0
    show: bool = False
    account: CallAccount | None = None


class ViewAssessment(NamedTuple):
    """What the answerer thinks of one keyframe for the question; all numbers in 0..1.

    worth: is it worth to explore on from what this view shows (the global semantic value of EXPRESS-Bench)?
    places: the keyframe's places; weight: the local semantic value, they sum to 1; label: the region there, "" unknown.
    target: where the object asked about stands, map frame, metres; None where this view does not show it;
    target_z: its height there, where a model pointed at it in the picture.
    says: what this view alone answers, "" for nothing.
    """

    keyframe_id: int
    stamp_ns: int
    relevance: float  # is the object asked about, or a hint to it, in view?
    enough: float  # confidence that this view answers the question
    region: str = ""
    note: str = ""
    pose: Pose2 = Pose2(0.0, 0.0, 0.0)  # where the view was taken
    worth: float = 0.0
    places: tuple[Candidate, ...] = ()
    target: tuple[float, float] | None = None
    says: str = ""
    z: float = 0.0  # height of the base when the view was taken, map frame, metres
    target_z: float = 0.0


class RankedRegion(NamedTuple):
    """A kind of room, and how likely the answer is found there, 0..1."""

    name: str
    weight: float


class Situation(NamedTuple):
    """What a policy decides on: all of it of the same observation.

    regions: best first; advice: the options that the policy listed, as a model weighs them; empty where none was asked.
    """

    question: Question
    pose: Pose2
    grid: GridMap
    frontiers: Sequence[Frontier]
    assessments: Sequence[ViewAssessment] = ()
    regions: Sequence[RankedRegion] = ()
    advice: Sequence[WeighedOption] = ()


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


class RoleCost(NamedTuple):
    """What one model cost in one role (core/answerers/roles.py)."""

    role: str
    model: str
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    money: float = 0.0

    def __str__(self) -> str:
        return f"{self.role} by {self.model}"


@dataclass
class Receipt:
    """What an answer cost. privileged: components that used simulator facts a robot does not have.

    money: for the model, in the currency of its prices; 0.0 where no prices are known; limit: the limit that ended the
    search, in words, "" where none did; roles: calls, tokens and money by the role and the model that was asked.
    """

    steps: int = 0
    metres: float = 0.0
    seconds: float = 0.0
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    privileged: tuple[str, ...] = ()
    money: float = 0.0
    limit: str = ""
    roles: tuple[RoleCost, ...] = ()

    @property
    def moved(self) -> bool:
        """Whether the robot moved: not for an answer from memory, and never for one from a recording."""
        return self.steps > 0 or self.metres > NOWHERE_M

    def way(self) -> str:
        """Return how far the robot went, in words; "" where it did not move. Where Nav2 drives no steps are counted."""
        if not self.moved:
            return ""
        return f"{self.steps} step{'s' * (self.steps != 1)}, " * (self.steps > 0) + f"{self.metres:.1f} m"

    def model_since(self, before: Receipt) -> Receipt:
        """Return what the model cost since an earlier count of the same: nothing of steps, metres and seconds."""
        return Receipt(calls=self.calls - before.calls, tokens_in=self.tokens_in - before.tokens_in,
                       tokens_out=self.tokens_out - before.tokens_out, privileged=self.privileged,
                       money=self.money - before.money, roles=_added(self.roles, before.roles, -1))

    def with_model(self, more: Receipt) -> Receipt:
        """Return this receipt with what the model cost besides."""
        return replace(self, calls=self.calls + more.calls, tokens_in=self.tokens_in + more.tokens_in,
                       tokens_out=self.tokens_out + more.tokens_out, privileged=more.privileged or self.privileged,
                       money=self.money + more.money, roles=_added(self.roles, more.roles, 1))


def charge(account: CallAccount, paid: Receipt) -> None:
    """Charge an account with what a receipt says that a model was paid, by role."""
    rest = Usage(paid.calls, paid.tokens_in, paid.tokens_out, paid.money)
    for cost in paid.roles:
        usage = Usage(cost.calls, cost.tokens_in, cost.tokens_out, cost.money)
        account.charge(usage, cost.role, cost.model)
        rest -= usage
    if rest.calls or rest.tokens_in or rest.tokens_out:  # of answerers that know no roles
        account.charge(rest)


def receipt_of(account: CallAccount, privileged: tuple[str, ...] = ()) -> Receipt:
    """Return what an account has paid."""
    paid = account.total
    return Receipt(calls=paid.calls, tokens_in=paid.tokens_in, tokens_out=paid.tokens_out, privileged=privileged,
                   money=paid.money, roles=tuple(
                       RoleCost(role, model, one.calls, one.tokens_in, one.tokens_out, one.money)
                       for (role, model), one in account.by_role.items() if one.calls and role))


def _added(roles: Sequence[RoleCost], others: Sequence[RoleCost], sign: int) -> tuple[RoleCost, ...]:
    """Return the costs with the others added or, by sign -1, taken away; without what then cost no call."""
    found = {one[:2]: one for one in roles}
    for other in others:
        known = found.get(other[:2], RoleCost(*other[:2]))
        found[other[:2]] = RoleCost(*other[:2], known.calls + sign * other.calls,
                                    known.tokens_in + sign * other.tokens_in,
                                    known.tokens_out + sign * other.tokens_out, known.money + sign * other.money)
    return tuple(one for one in found.values() if one.calls)


@dataclass
class Answer:
    """The end of a question: a text with evidence, an abstention, or a named error.

    shown: the robot stands where the best evidence was seen from, and faces it; where that was asked for and is False,
    the message says why.
    """

    text: str = ""
    confidence: float = 0.0
    abstained: bool = False
    evidence: tuple[Evidence, ...] = ()
    receipt: Receipt = field(default_factory=Receipt)
    error: ErrorCode = ErrorCode.NONE
    message: str = ""
    shown: bool = False

    def saying(self, *more: str) -> Answer:
        """Return the answer with more in its message; empty texts add nothing."""
        return replace(self, message="; ".join(filter(None, (self.message, *more))))


class Support(NamedTuple):
    """What speaks for an answer.

    confidence: the answerer's own, 0..1; looks: places from which a view says the same; agreement: share of what views
    say, each as sure as it is, that is the same, 0..1; nearest_m: distance to the thing in the nearest such view.
    """

    confidence: float
    looks: int
    agreement: float
    nearest_m: float

    def features(self) -> tuple[float, ...]:
        """Return what the regression weighs, as FEATURES names it; the distance in shares of 6 m."""
        p = min(0.99, max(0.01, self.confidence))
        return 1.0, math.log(p / (1 - p)), math.log1p(self.looks), self.agreement, min(self.nearest_m, FAR_M) / FAR_M


class WeighedAnswer(NamedTuple):
    """An answer that was considered, with what supports it (its confidence: the answerer's own)."""

    text: str
    support: Support
    sure: float


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


class MemoryObject(NamedTuple):
    """One object as memory knows it, put together from many views.

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
