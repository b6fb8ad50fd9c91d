"""Progress and end of a run, and whether it makes sense to continue after failures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from eqa_nodes.bench.running.predictions import Prediction
from eqa_nodes.core.errors import ErrorCode

HOPELESS = 3  # questions: when the first so many of a sitting fail, the others would as well
# What is wrong with one question, and says nothing of the next.
_OF_THE_QUESTION = (ErrorCode.BAD_QUESTION, ErrorCode.BAD_POSE, ErrorCode.UNKNOWN_SCENE, ErrorCode.CANCELED)


class RunProgress(NamedTuple):
    """Progress after each question. note: one line for the user, may be empty.

    before: at the start of a resumed run, what earlier sittings asked.
    """

    done: int
    total: int
    failed: int
    prediction: Prediction | None
    note: str = ""
    before: tuple[Prediction, ...] = ()


class RunSummary(NamedTuple):
    """How pass 1 ended. unexpected: number of errors that are faults of the program.

    spent: why it ended before all were asked, "" = it did not; the questions that are left were not asked.
    hopeless: what the first questions of this sitting failed with, when none of them had an answer and it ended
    because of that; "" = it did not. reason: the message of the last question that failed.
    """

    total: int
    asked: int
    resumed: int
    failed: int
    unexpected: int
    dropped: str
    spent: str = ""
    hopeless: str = ""
    reason: str = ""

    @property
    def all_failed(self) -> bool:
        """Whether there is no answer at all."""
        return 0 < self.failed == self.asked + self.resumed

    @property
    def exit_code(self) -> int:
        """0, 2 when the model's budget ended it, or 1 when the program itself failed somewhere or nothing was answered.
        """
        return 1 if self.unexpected or self.all_failed or self.hopeless else 2 if self.spent else 0

    @property
    def complaint(self) -> str:
        """Return one line on a run that gave no answers, "" for any other."""
        left = self.total - self.asked - self.resumed
        again = "--retry-failed asks the failed ones again"
        if self.hopeless:
            return (f"ended: each of the first {HOPELESS} questions failed: {self.hopeless}. {left} questions are "
                    f"left: the same line goes on with them, and with {again}")
        return f"every question failed, the last one with: {self.reason}. The same line with {again}" * self.all_failed


class Count:
    """Counts predictions without storing them, and notifies the listener."""

    def __init__(self, total: int, listener: Callable[[RunProgress], None]) -> None:
        self._total, self._listener = total, listener
        self.done = self.failed = self.unexpected = 0
        self.refused: set[str] = set()  # by the preflight: they are not asked
        self.reason = self.hopeless = ""
        self._first: list[bool] = []  # of this sitting: whether each failed for a reason that is not its own

    def resume(self, before: Sequence[Prediction], dropped: str) -> None:
        """Add the predictions of earlier sessions, and report them."""
        for prediction in before:
            self._count(prediction)
        if before or dropped:
            self._listener(RunProgress(self.done, self._total, self.failed, None, _resume_note(len(before), dropped),
                                       tuple(before)))

    def add(self, prediction: Prediction) -> None:
        """Count a question that has ended."""
        self._count(prediction)
        if prediction.id not in self.refused and len(self._first) < HOPELESS:
            self._first.append(prediction.failed and prediction.answer.error not in _OF_THE_QUESTION)
            if len(self._first) == HOPELESS and all(self._first):
                self.hopeless = prediction.answer.message
        self._listener(RunProgress(self.done, self._total, self.failed, prediction, prediction.note))

    def _count(self, prediction: Prediction) -> None:
        self.done += 1
        self.failed += prediction.failed
        self.unexpected += bool(prediction.traceback)
        if prediction.failed:
            self.reason = prediction.answer.message


def _resume_note(resumed: int, dropped: str) -> str:
    note = f"resumed: {resumed} questions were answered before"
    return note + (f"; dropped a half-written last line ({len(dropped)} characters)" if dropped else "")
