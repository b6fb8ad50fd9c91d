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

MAX_EVIDENCE = 3  # maximum number of views given as evidence of an answer
FAR_M = 6.0  # an object farther away than this counts as unseen
NOWHERE_M = 0.05  # distance that odometry may report for a robot at rest


class Limits(NamedTuple):
    """What a question may cost; 0 = no limit. All limits are hard: enforced within a drive and within a model's turn.

    seconds: wall time of work on it, without waiting; area: polygon that the robot does not leave and outside of which
    it gets no goal; calls, tokens, money: costs of the model, whose last call is reserved for the answer; poses: number
    of poses as in HM-EQA, at most 3 m apart, including the start and the end of each drive.
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
        """Return the limits for a manifest: the first four always, the others only if they are set."""
        said: dict[str, Any] = {"steps": self.steps, "metres": self.metres, "seconds": self.seconds,
                                "calls": self.calls}
        rare = {"area": [list(corner) for corner in self.area], "tokens": self.tokens, "money": self.money,
                "poses": self.poses}
        return {**said, **{name: value for name, value in rare.items() if value}}


class Question(NamedTuple):
    """A question. choices: the options of a multiple-choice benchmark, else empty. instruction: directions to the place
    that it is about ("Walk through the hallway and enter the kitchen."), "" = none.

    show: drive to the best evidence after the answer, unless may_explore is False. account: charged for the calls of a
    model; None: no limit, and costs are not counted.
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
    instruction: str = ""


class ViewAssessment(NamedTuple):
    """The answerer's assessment of one keyframe for the question; all scores in 0..1.

    worth: whether exploring on from this view is worthwhile (the global semantic value of EXPRESS-Bench).
    places: the keyframe's places; weight: local semantic value, sums to 1; label: the region there, "" unknown.
    target: x, y of the object asked about, map frame, metres; None if this view does not show it;
    target_z: its height, if a model pointed at it in the picture.
    says: answer from this view alone, "" if none.
    """

    keyframe_id: int
    stamp_ns: int
    relevance: float  # whether the object asked about, or a hint to it, is in view
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
    """A kind of room, and the probability that the answer is found there, 0..1."""

    name: str
    weight: float


class Situation(NamedTuple):
    """The input of a policy's decision, all from the same observation.

    regions: best first; advice: the options of the policy with a model's weights; empty if no model was asked.
    """

    question: Question
    pose: Pose2
    grid: GridMap
    frontiers: Sequence[Frontier]
    assessments: Sequence[ViewAssessment] = ()
    regions: Sequence[RankedRegion] = ()
    advice: Sequence[WeighedOption] = ()


class Evidence(NamedTuple):
    """Evidence of an answer: a remembered view, with the place and time it was taken.

    frame: index of the image in a recording, from 0; offset_ns: time since the start of the bag; -1 if not recorded.
    """

    keyframe_id: int
    stamp_ns: int
    pose: Pose2
    note: str = ""
    frame: int = -1
    offset_ns: int = -1


class RoleCost(NamedTuple):
    """The cost of one model in one role (core/answerers/asker.py)."""

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
    """The costs of an answer. privileged: components that used simulator facts a robot does not have.

    money: cost of the model in the currency of its prices, 0.0 if no prices are known; limit: the limit that ended the
    search, in words, "" if none did; roles: calls, tokens and money by role and model.
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
        """Whether the robot moved: False for an answer from memory or from a recording."""
        return self.steps > 0 or self.metres > NOWHERE_M

    def way(self) -> str:
        """Return how far the robot drove, in words; "" if it did not move. With Nav2 no steps are counted."""
        if not self.moved:
            return ""
        return f"{self.steps} step{'s' * (self.steps != 1)}, " * (self.steps > 0) + f"{self.metres:.1f} m"

    def model_since(self, before: Receipt) -> Receipt:
        """Return what the model cost since an earlier receipt, without steps, metres and seconds."""
        return Receipt(calls=self.calls - before.calls, tokens_in=self.tokens_in - before.tokens_in,
                       tokens_out=self.tokens_out - before.tokens_out, privileged=self.privileged,
                       money=self.money - before.money, roles=_added(self.roles, before.roles, -1))

    def with_model(self, more: Receipt) -> Receipt:
        """Return this receipt with further costs of the model added."""
        return replace(self, calls=self.calls + more.calls, tokens_in=self.tokens_in + more.tokens_in,
                       tokens_out=self.tokens_out + more.tokens_out, privileged=more.privileged or self.privileged,
                       money=self.money + more.money, roles=_added(self.roles, more.roles, 1))


def charge(account: CallAccount, paid: Receipt) -> None:
    """Charge an account, by role, with the model costs of a receipt."""
    rest = Usage(paid.calls, paid.tokens_in, paid.tokens_out, paid.money)
    for cost in paid.roles:
        usage = Usage(cost.calls, cost.tokens_in, cost.tokens_out, cost.money)
        account.charge(usage, cost.role, cost.model)
        rest -= usage
    if rest.calls or rest.tokens_in or rest.tokens_out:  # costs of answerers without roles
        account.charge(rest)


def receipt_of(account: CallAccount, privileged: tuple[str, ...] = ()) -> Receipt:
    """Return the receipt of an account."""
    paid = account.total
    return Receipt(calls=paid.calls, tokens_in=paid.tokens_in, tokens_out=paid.tokens_out, privileged=privileged,
                   money=paid.money, roles=tuple(
                       RoleCost(role, model, one.calls, one.tokens_in, one.tokens_out, one.money)
                       for (role, model), one in account.by_role.items() if one.calls and role))


def _added(roles: Sequence[RoleCost], others: Sequence[RoleCost], sign: int) -> tuple[RoleCost, ...]:
    """Return the costs with the others added or, with sign -1, subtracted, without roles left with no call."""
    found = {one[:2]: one for one in roles}
    for other in others:
        known = found.get(other[:2], RoleCost(*other[:2]))
        found[other[:2]] = RoleCost(*other[:2], known.calls + sign * other.calls,
                                    known.tokens_in + sign * other.tokens_in,
                                    known.tokens_out + sign * other.tokens_out, known.money + sign * other.money)
    return tuple(one for one in found.values() if one.calls)


@dataclass
class Answer:
    """The result of a question: a text with evidence, an abstention, or a named error.

    shown: whether the robot stands where the best evidence was seen from, and faces it; if that was requested and is
    False, the message says why. understood: how the question was read, in words; "" if the parser did not understand
    it.
    """

    text: str = ""
    confidence: float = 0.0
    abstained: bool = False
    evidence: tuple[Evidence, ...] = ()
    receipt: Receipt = field(default_factory=Receipt)
    error: ErrorCode = ErrorCode.NONE
    message: str = ""
    shown: bool = False
    understood: str = ""

    def saying(self, *more: str) -> Answer:
        """Return the answer with texts added to its message; empty ones are ignored."""
        return replace(self, message="; ".join(filter(None, (self.message, *more))))


class Support(NamedTuple):
    """The support of an answer.

    confidence: the answerer's own, 0..1; looks: number of places from which a view agrees; agreement: share of the
    views' answers that agree, weighted by confidence, 0..1; nearest_m: distance to the object in the nearest such view.
    """

    confidence: float
    looks: int
    agreement: float
    nearest_m: float

    def features(self) -> tuple[float, ...]:
        """Return the inputs of the regression, named in FEATURES; the distance is divided by 6 m."""
        p = min(0.99, max(0.01, self.confidence))
        return 1.0, math.log(p / (1 - p)), math.log1p(self.looks), self.agreement, min(self.nearest_m, FAR_M) / FAR_M


class WeighedAnswer(NamedTuple):
    """An answer that was considered, with its support (whose confidence is the answerer's own)."""

    text: str
    support: Support
    sure: float


class Recalled(NamedTuple):
    """A keyframe that memory returns for a query, with its score (higher is better) and the reason."""

    keyframe: Keyframe
    score: float
    why: str


class RecallQuery(NamedTuple):
    """A query to memory. Conditions combine; an empty text, near or window does not restrict.

    If no window is given, a time in the text ("yesterday evening", "last time") is the window; a room that the text
    names as a place ("near the kitchen") raises the score of views there.
    """

    text: str = ""
    limit: int = 12
    after_ns: int = 0
    before_ns: int = 0  # 0 = now
    near: tuple[float, float, float] | None = None  # x, y, radius in metres, map frame


class MemoryObject(NamedTuple):
    """One object in memory, merged from many views.

    low, high: corners of its box, metres, map frame (of the session it was last seen in; here False means that no
    transform from there to this session's map is known); times: number of looks in which it was seen; gone_ns: stamp of
    the look that found its place empty, 0 = present at the last look; keyframe_id, bbox: its best view.
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
        """Return the centre of its box."""
        (x, y, z), (u, v, w) = self.low, self.high
        return (x + u) / 2, (y + v) / 2, (z + w) / 2


class Recollection(NamedTuple):
    """Memory's own answer to a question about the past ("When did you last see ...?"), with its evidence.

    confidence: 0 for what memory does not know; then text says why ("I did not look then"). verify: whether it names a
    present location, so that an old observation is worth confirming.
    """

    text: str
    confidence: float
    evidence: tuple[Evidence, ...]
    verify: bool = False

    @property
    def known(self) -> bool:
        """Whether it is an answer, and not the reason why there is none."""
        return self.confidence > 0.0
