"""What the parts of the chain promise each other. The same protocols are met in process and over topics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, cast

from eqa_nodes.core.types.advice import DecisionReply, DecisionRequest
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
        """Turn once on the spot and see what is there, as far as the allowance goes."""

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
        """Return the next goal, or a decision without one when nothing is left to explore.

        The robot is on the map.
        """

    def confirm(self, situation: Situation) -> Decision:
        """An answer is at hand: return where to look again before it is given, or no goal to let it stand.

        Asked again after each such drive, until it returns no goal or the answer no longer stands.
        """


class Explorer(Protocol):
    """A policy with the newest map at hand."""

    def options(self, question: Question, assessments: Sequence[ViewAssessment]) -> Sequence[Option] | None:
        """Return where the policy could go on the map of the last observation; None where it lists no options."""

    def decide(self, question: Question, assessments: Sequence[ViewAssessment], regions: Sequence[RankedRegion],
               advice: Sequence[WeighedOption] = ()) -> Decision:
        """Decide on the map of the last observation (raises StaleData when that does not come).

        advice: the options listed last as the model weighs them; empty where no model was asked.
        """

    def confirm(self, question: Question, assessments: Sequence[ViewAssessment],
                regions: Sequence[RankedRegion]) -> Decision:
        """Decide before an answer is given; no goal = the answer is accepted."""


class ViewMemory(Protocol):
    """Remembers views; what it has acknowledged survives a crash."""

    def recall(self, query: RecallQuery) -> list[Recalled]:
        """Return the best matches, best first."""

    def recollect(self, question: str) -> Recollection | None:
        """Return memory's own answer to a question about the past; None for other questions."""

    def since(self, keyframe_id: int) -> list[Keyframe]:
        """Return the keyframes of this episode with a larger id, oldest first."""

    def keep(self) -> None:
        """Remember what is in view now as a keyframe, also where it shows nothing new."""


class Answerer(Protocol):
    """Judges views and answers. Raises ModelError (BudgetSpent) when the model fails."""

    def spent(self) -> Receipt:
        """Return calls and tokens since this answerer was made (failed calls too), and what is privileged in it."""

    def why_unanswerable(self, question: Question) -> str:
        """Return why this question can never be answered, whatever is seen; "" where it may be. Asks no model.

        Asked before anything moves.
        """

    def regions(self, question: Question) -> list[RankedRegion]:
        """Return the kinds of room where the answer may be found, the likeliest first."""

    def assess(self, question: Question, views: Sequence[Keyframe]) -> list[ViewAssessment]:
        """Judge views in one batched call: is the object asked about there, is it enough?"""

    def answer(self, question: Question, items: Sequence[Recalled]) -> Answer:
        """Answer from remembered views; no items = the blind guess."""


class Adviser(Answerer, Protocol):
    """An answerer that decides with the policy: it sees the options and says where to go, in the call that answers.

    It has the attribute `advises`, True; see `adviser_of`.
    """

    def advise(self, question: Question, brief: DecisionRequest) -> DecisionReply:
        """Answer from the brief's pictures, and weigh its options, in one call."""


def adviser_of(answerer: Answerer) -> Adviser | None:
    """Return the answerer where it takes briefs, None where it judges views one by one."""
    return cast(Adviser, answerer) if getattr(answerer, "advises", False) else None


class Odometry(Protocol):
    """Counts what was driven in this episode."""

    def travelled(self) -> Travelled:
        """Return the counts up to the last finished action."""

    def last(self) -> tuple[int, Pose2]:
        """Return stamp and pose of the last observation."""


class Person(Protocol):
    """Who may be asked something while a question is worked on."""

    def ask(self, inquiry: Inquiry, announce: Callable[[], None], canceled: Callable[[], bool]) -> int:
        """Announce an inquiry and wait for the reply: the number of an option, NO_REPLY at its deadline."""


class Nobody:
    """Nobody is there, as in a benchmark: no inquiry gets a reply. Implements Person."""

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
