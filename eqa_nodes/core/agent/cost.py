"""What a question has cost so far, and whether that is as much as it may."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TypeVar

from eqa_nodes.core.agent.limits import in_words, left, metres_left, poses_of
from eqa_nodes.core.agent.spending import CallBudget
from eqa_nodes.core.protocols import Answerer, Odometry, adviser_of
from eqa_nodes.core.types.advice import Advice, Brief
from eqa_nodes.core.types.floor import Allowance, Travelled
from eqa_nodes.core.types.questions import Answer, Limits, Question, RankedRegion, Receipt, ViewAssessment
from eqa_nodes.core.types.remembered import Recalled
from eqa_nodes.core.types.views import Keyframe

T = TypeVar("T")


KEPT = 1  # of the model's calls: the last one is for the answer


class CostTracker:
    """Counts from where the question began. travelled: as last asked for by `update`, since then; poses: of the drives
    so far and the start, as HM-EQA counts them.

    Before that it may be worked on without moving (`apart`): that time and its calls count, what is driven meanwhile,
    for another question, does not.
    """

    def __init__(self, odometry: Odometry, answerer: Answerer) -> None:
        self._odometry, self._answerer = odometry, answerer
        self._spent_before = answerer.spent()
        self._apart_s = 0.0
        self._dearest = Receipt()  # the most that one turn of the model took
        self._began_s: float | None = None
        self._at_start: Travelled | None = None
        self.travelled, self.poses = Travelled(0, 0.0), 1

    def begin(self) -> None:
        """Count steps, metres and seconds from here. Raises EqaError when the odometry does not answer."""
        self._began_s = time.monotonic()
        self._at_start = self._odometry.travelled()

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Count the time of what is done for the question before it begins."""
        began_s = time.monotonic()
        try:
            yield
        finally:
            self._apart_s += time.monotonic() - began_s

    def update(self) -> Travelled:
        """Return steps and metres so far. Raises EqaError when the odometry does not answer."""
        if self._at_start is not None:
            now, start = self._odometry.travelled(), self._at_start
            self.travelled = Travelled(now.steps - start.steps, now.metres - start.metres)
        return self.travelled

    def receipt(self, privileged: tuple[str, ...] = ()) -> Receipt:
        """Return the receipt by the last update. privileged: what the answer rests on; empty = the answerer's own."""
        spent = self._answerer.spent().model_since(self._spent_before)
        worked_s = self._apart_s + (time.monotonic() - self._began_s if self._began_s is not None else 0.0)
        return replace(spent, steps=self.travelled.steps, metres=self.travelled.metres, seconds=worked_s,
                       privileged=privileged or spent.privileged)

    def reached(self, limits: Limits) -> str:
        """Return the limit that is reached now, in words, "" where none is. The model's last call is not to be had."""
        self.update()
        spent = self.receipt()
        so_far = {"steps": spent.steps, "metres": spent.metres, "seconds": spent.seconds,
                  "calls": spent.calls + KEPT if spent.calls else 0, "tokens": spent.tokens_in + spent.tokens_out,
                  "money": spent.money, "poses": self.poses}
        names = (name for name, value in so_far.items() if 0 < getattr(limits, name) <= value)
        return next((in_words(limits, name) for name in names), "")

    def allowance(self, limits: Limits) -> Allowance:
        """Return what a drive that begins now may use. Raises EqaError when the odometry does not answer."""
        self.update()
        spent = self.receipt()
        return Allowance(left(limits.steps, spent.steps), metres_left(limits, spent.metres, self.poses),
                         left(limits.seconds, spent.seconds), limits.area)

    @contextmanager
    def drive(self) -> Iterator[None]:
        """Count the poses of the drive inside."""
        before = self.update().metres
        yield
        self.poses += poses_of(self.update().metres - before)

    def purse(self, limits: Limits, keep: bool) -> CallBudget:
        """Return what the model's next turn may cost. keep: leave enough for the answer, as far as that is known."""
        spent, kept = self.receipt(), self._dearest if keep else Receipt()
        return CallBudget(left(limits.calls, spent.calls + KEPT * keep),
                          left(limits.tokens, spent.tokens_in + spent.tokens_out + kept.tokens_in + kept.tokens_out),
                          left(limits.money, spent.money + kept.money))

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Note what the model's turn inside costs: the answer may cost as much."""
        before = self._answerer.spent()
        try:
            yield
        finally:
            now, most = self._answerer.spent().model_since(before), self._dearest
            self._dearest = Receipt(tokens_in=max(most.tokens_in, now.tokens_in),
                                    tokens_out=max(most.tokens_out, now.tokens_out), money=max(most.money, now.money))


class MeteredAnswerer:
    """An answerer that several questions share, as one of them sees it: `spent` is what its own calls cost.

    Implements Answerer. turn: the same for all of them; one call at a time, or nobody could say whose cost is whose.
    """

    def __init__(self, answerer: Answerer, turn: threading.Lock) -> None:
        self._answerer, self._turn = answerer, turn
        nothing = Receipt()
        self._spans: list[tuple[Receipt, Receipt]] = [(nothing, nothing)]  # spent before and after

    def spent(self) -> Receipt:
        """Return what this question's calls cost."""
        spent = Receipt()
        for before, after in self._spans:
            spent = spent.with_model(after.model_since(before))
        return replace(spent, privileged=self._answerer.spent().privileged)

    def objection(self, question: Question) -> str:
        """Return what the shared answerer objects to; that costs nothing."""
        return self._answerer.objection(question)

    def regions(self, question: Question) -> list[RankedRegion]:
        """Return the regions of the shared answerer."""
        return self._paid(lambda: self._answerer.regions(question))

    def assess(self, question: Question, views: Sequence[Keyframe]) -> list[ViewAssessment]:
        """Let the shared answerer judge."""
        return self._paid(lambda: self._answerer.assess(question, views))

    @property
    def advises(self) -> bool:
        """Whether the shared answerer takes briefs."""
        return adviser_of(self._answerer) is not None

    def advise(self, question: Question, brief: Brief) -> Advice:
        """Let the shared answerer advise. Raises TypeError for one that takes no briefs."""
        adviser = adviser_of(self._answerer)
        if adviser is None:
            raise TypeError("the shared answerer takes no briefs")
        return self._paid(lambda: adviser.advise(question, brief))

    def answer(self, question: Question, items: Sequence[Recalled]) -> Answer:
        """Let the shared answerer answer."""
        return self._paid(lambda: self._answerer.answer(question, items))

    def _paid(self, call: Callable[[], T]) -> T:
        with self._turn:
            before = self._answerer.spent()
            try:
                return call()
            finally:  # failed calls cost too
                self._put(before, self._answerer.spent())

    def _put(self, before: Receipt, after: Receipt) -> None:
        """Add a span; one that follows on the last, as alone they all do, joins it: money is not rounded twice."""
        first, last = self._spans[-1]
        self._spans = ([*self._spans[:-1], (first, after)] if last == before else [*self._spans, (before, after)])
