"""The protocols between the agent and its parts, implemented both in process and over topics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, cast

from eqa_nodes.core.types.calls import DecisionReply, DecisionRequest
from eqa_nodes.core.types.floor import Allowance, Decision, NavResult, Option, Travelled, WeighedOption
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.inquiries import NO_REPLY, Inquiry
from eqa_nodes.core.types.questions import (
    Answer,
    Question,
    RankedRegion,
    Recalled,
    RecallQuery,
    Receipt,
    Recollection,
    Situation,
    ViewAssessment,
)
from eqa_nodes.core.types.views import Keyframe


class Navigator(Protocol):
    """Moves the robot. Every call ends by its deadline; failures are codes, not exceptions."""

    def go_to(self, goal: Pose2, deadline_s: float, allowance: Allowance) -> NavResult:
        """Drive to the goal (map frame) and observe on the way, without exceeding the allowance by a step."""

    def look_around(self, deadline_s: float, allowance: Allowance) -> NavResult:
        """Turn once on the spot and observe, within the allowance."""

    def cancel(self) -> None:
        """End the running drive at the next safe moment; it returns CANCELED."""


class Policy(Protocol):
    """Chooses where to look next. Pure: the same arguments and the same seed give the same decision.

    A policy may also have `options(situation)`, which returns the places worth going to (Option) before it decides, so
    that a model can weigh them: `decide` then gets them back with the model's weights.
    """

    def reset(self, seed: int) -> None:
        """Begin a new question."""

    def decide(self, situation: Situation) -> Decision:
        """Return the next goal, or a decision without a goal if nothing is left to explore.

        The robot's position is on the map.
        """

    def confirm(self, situation: Situation) -> Decision:
        """Return where to look again before an answer is given, or no goal to accept the answer.

        Called again after each such drive, until it returns no goal or the answer no longer holds.
        """


class Explorer(Protocol):
    """A policy together with the newest map."""

    def options(self, question: Question, assessments: Sequence[ViewAssessment]) -> Sequence[Option] | None:
        """Return where the policy could go on the map of the last observation; None if it lists no options."""

    def decide(self, question: Question, assessments: Sequence[ViewAssessment], regions: Sequence[RankedRegion],
               advice: Sequence[WeighedOption] = ()) -> Decision:
        """Decide on the map of the last observation. Raises StaleData if that map does not arrive.

        advice: the options listed last with the model's weights; empty if no model was asked.
        """

    def confirm(self, question: Question, assessments: Sequence[ViewAssessment],
                regions: Sequence[RankedRegion]) -> Decision:
        """Decide where to look again before an answer is given; no goal = the answer is accepted."""


class ViewMemory(Protocol):
    """Stores views; what it has acknowledged survives a crash."""

    def recall(self, query: RecallQuery) -> list[Recalled]:
        """Return the best matches, best first."""

    def recollect(self, question: str) -> Recollection | None:
        """Return memory's own answer to a question about the past; None for other questions."""

    def since(self, keyframe_id: int) -> list[Keyframe]:
        """Return the keyframes of this episode with a larger id, oldest first."""

    def keep(self) -> None:
        """Store the current view as a keyframe, even if it shows nothing new."""


class Answerer(Protocol):
    """Judges views and answers. Raises ModelError (BudgetSpent) if the model fails."""

    def spent(self) -> Receipt:
        """Return calls and tokens since this answerer was created, failed calls included, and its privileged sources.
        """

    def why_unanswerable(self, question: Question) -> str:
        """Return why this question can never be answered, whatever is seen; "" if it may be. Makes no model call.

        Called before the robot moves.
        """

    def regions(self, question: Question) -> list[RankedRegion]:
        """Return the kinds of room where the answer may be found, the likeliest first."""

    def assess(self, question: Question, views: Sequence[Keyframe]) -> list[ViewAssessment]:
        """Judge views in one batched call: how relevant each is, and how likely it is enough to answer."""

    def answer(self, question: Question, items: Sequence[Recalled]) -> Answer:
        """Answer from remembered views; no items = the blind guess."""


class Adviser(Answerer, Protocol):
    """An answerer that decides with the policy: it sees the options and weighs them in the call that answers.

    It has the attribute `advises`, True; see `adviser_of`.
    """

    def advise(self, question: Question, brief: DecisionRequest) -> DecisionReply:
        """Answer from the pictures of a request and weigh its options, in one call."""


def adviser_of(answerer: Answerer) -> Adviser | None:
    """Return the answerer if it takes decision requests, None if it judges views one by one."""
    return cast(Adviser, answerer) if getattr(answerer, "advises", False) else None


class Odometry(Protocol):
    """Counts steps and metres driven in this episode."""

    def travelled(self) -> Travelled:
        """Return the counts up to the last finished action."""

    def last(self) -> tuple[int, Pose2]:
        """Return stamp and pose of the last observation."""


class Person(Protocol):
    """A person who may be asked something while a question is worked on."""

    def ask(self, inquiry: Inquiry, announce: Callable[[], None], canceled: Callable[[], bool]) -> int:
        """Announce an inquiry and wait for the reply: the number of an option, or NO_REPLY at its deadline."""


class Nobody:
    """The absence of a person, as in a benchmark: no inquiry gets a reply. Implements Person."""

    def ask(self, inquiry: Inquiry, announce: Callable[[], None], canceled: Callable[[], bool]) -> int:
        """Return at once."""
        announce()
        return NO_REPLY


NOBODY = Nobody()


class Ports(NamedTuple):
    """What the agent is connected to."""

    navigator: Navigator
    explorer: Explorer
    memory: ViewMemory
    answerer: Answerer
    odometry: Odometry
    person: Person = NOBODY
