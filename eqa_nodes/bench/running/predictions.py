"""The file of pass 1, one JSON line a question, durable before the next question is asked; and how far a run is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from eqa_nodes.core.errors import ErrorCode, StorageError
from eqa_nodes.core.storage.codec import loads, write_bytes
from eqa_nodes.core.storage.json_lines import LineWriter, read_lines
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Answer

PREDICTIONS = "predictions.jsonl"


@dataclass(frozen=True)
class Prediction:
    """What became of one question. trace and bag: paths relative to the run directory, "" = none.

    traceback: where an error came from that nobody raised on purpose, "" = none. blind: the answer without having seen
    anything, None where it was not asked for. note: what a person should know of how it came about, "" = nothing.
    predicates: which goal predicates of a task were true at the end, in the task's order; () = it has none. target_m:
    distance from the last position to the target in metres, as somebody published it; None: the scorer measures it.
    succeeded: whether the task was done, as somebody published it; None: when all its predicates are true. endless:
    the path counts as infinite, since published results have lengths and none of this one.
    """

    id: str
    answer: Answer
    final_pose: Pose2 | None = None
    trace: str = ""
    bag: str = ""
    traceback: str = ""
    blind: Answer | None = None
    note: str = ""
    predicates: tuple[bool, ...] = ()
    target_m: float | None = None
    succeeded: bool | None = None
    endless: bool = False

    @property
    def failed(self) -> bool:
        """Whether the question ended in an error instead of an answer or an abstention."""
        return self.answer.error is not ErrorCode.NONE


class LoadedPredictions(NamedTuple):
    """Predictions by question id (the last line of an id counts), and the half-written last line that was dropped."""

    predictions: dict[str, Prediction]
    dropped: str


def read_predictions(out: Path) -> LoadedPredictions:
    """Read all predictions; a missing file means none. Raises StorageError for a broken line before the last."""
    found = read_lines(out / PREDICTIONS, Prediction, "ask")
    return LoadedPredictions({prediction.id: prediction for prediction in found.values}, found.dropped)


def _id_of(line: bytes) -> str:
    return str(loads(line)["id"])


class PredictionWriter:
    """Appends predictions; only one process at a time may (StorageError for the second)."""

    def __init__(self, out: Path) -> None:
        self._path = out / PREDICTIONS
        self._lines = LineWriter(self._path)
        try:
            self.before = read_predictions(out)._replace(dropped=self._lines.dropped)
        except StorageError:
            self._lines.close()
            raise

    def append(self, prediction: Prediction) -> None:
        """Write one line durably. Raises StorageError, and ValueError for values that are not JSON."""
        self._lines.append(prediction)

    def put_in_order(self, ids: Sequence[str]) -> None:
        """Rewrite the file at the end of a run, one line for each question, in the order of `ids`.

        A crash leaves the old file or the new one; both hold every answer.
        """
        path = self._path
        lines = {_id_of(line): line for line in path.read_bytes().splitlines(keepends=True)}
        order = [name for name in ids if name in lines]
        if list(lines) != order or sum(map(len, lines.values())) != path.stat().st_size:
            write_bytes(path, b"".join(lines[name] for name in order))

    def __enter__(self) -> PredictionWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._lines.close()


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
