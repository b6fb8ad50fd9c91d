"""The file of pass 1, one JSON line per question, durable before the next question is asked; progress of a run."""

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
from eqa_nodes.core.types.samples import TaskCounts

PREDICTIONS = "predictions.jsonl"


@dataclass(frozen=True)
class Prediction:
    """The result of one question. trace and bag: paths relative to the run directory, "" = none.

    traceback: traceback of an unexpected error, "" = none. blind: the answer without any view, None if it was not asked
    for. note: remark for the reader on how the answer was obtained, "" = none.
    predicates: which goal predicates of a task were true at the end, in the task's order; () = it has none. target_m:
    published distance from the last position to the target, metres; None: the scorer measures it.
    succeeded: published success of the task; None: it succeeded if all its predicates are true. endless:
    the path counts as infinite, because the published results have lengths but none for this question.
    counts: interactions and unusable replies of a task, None = it is none, or they are not known.
    recalled: number of images from the past that the answerer got, None if the data set does not count them.
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
    counts: TaskCounts | None = None
    recalled: int | None = None

    @property
    def failed(self) -> bool:
        """Return whether the question ended in an error instead of an answer or an abstention."""
        return self.answer.error is not ErrorCode.NONE


class LoadedPredictions(NamedTuple):
    """Predictions by question id (the last line of an id counts), and an incomplete last line that was dropped."""

    predictions: dict[str, Prediction]
    dropped: str


def read_predictions(out: Path) -> LoadedPredictions:
    """Read all predictions, none if the file is missing. Raises StorageError for a broken line before the last."""
    found = read_lines(out / PREDICTIONS, Prediction, "ask")
    return LoadedPredictions({prediction.id: prediction for prediction in found.values}, found.dropped)


def _id_of(line: bytes) -> str:
    return str(loads(line)["id"])


class PredictionWriter:
    """Appends predictions. Only one process at a time can be the writer (StorageError for a second one)."""

    def __init__(self, out: Path) -> None:
        self._path = out / PREDICTIONS
        self._lines = LineWriter(self._path)
        try:
            self.before = read_predictions(out)._replace(dropped=self._lines.dropped)
        except StorageError:
            self._lines.close()
            raise

    def append(self, prediction: Prediction) -> None:
        """Write one line durably. Raises StorageError; ValueError for values that JSON cannot represent."""
        self._lines.append(prediction)

    def put_in_order(self, ids: Sequence[str]) -> None:
        """Rewrite the file at the end of a run, one line for each question, in the order of `ids`.

        A crash leaves either the old or the new file; both contain every answer.
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


HOPELESS = 3  # if this many first questions of a session fail, the others would fail, too
# Errors that concern a single question and do not predict the next one.
_OF_THE_QUESTION = (ErrorCode.BAD_QUESTION, ErrorCode.BAD_POSE, ErrorCode.UNKNOWN_SCENE, ErrorCode.CANCELED)


class RunProgress(NamedTuple):
    """Progress after each question. note: one line for the user, may be empty.

    before: at the start of a resumed run, the predictions of earlier sessions.
    """

    done: int
    total: int
    failed: int
    prediction: Prediction | None
    note: str = ""
    before: tuple[Prediction, ...] = ()


class RunSummary(NamedTuple):
    """How pass 1 ended. unexpected: number of errors caused by bugs.

    spent: message if the budget ended the run early, "" = it did not; the remaining questions were not asked.
    hopeless: error of the first questions of this session if the run ended because all of them failed, "" = it did
    not. reason: error message of the last failed question.
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
        """Return whether there is no answer at all."""
        return 0 < self.failed == self.asked + self.resumed

    @property
    def exit_code(self) -> int:
        """Return 0, 2 if the model's budget ended the run, or 1 after an unexpected error or without any answer.
        """
        return 1 if self.unexpected or self.all_failed or self.hopeless else 2 if self.spent else 0

    @property
    def complaint(self) -> str:
        """Return one line on a run that gave no answers, "" for any other."""
        left = self.total - self.asked - self.resumed
        again = "--retry-failed asks the failed ones again"
        if self.hopeless:
            return (f"ended: each of the first {HOPELESS} questions failed: {self.hopeless}. {left} questions are "
                    f"left: the same command asks them, and with {again}")
        return (f"every question failed, the last one with: {self.reason}. The same command with {again}"
                if self.all_failed else "")


class Count:
    """Counts predictions without storing them, and notifies a listener."""

    def __init__(self, total: int, listener: Callable[[RunProgress], None]) -> None:
        self._total, self._listener = total, listener
        self.done = self.failed = self.unexpected = 0
        self.refused: set[str] = set()  # refused by the preflight, so not asked
        self.reason = self.hopeless = ""
        self._first: list[bool] = []  # first questions of this session: whether each failed for a general reason

    def resume(self, before: Sequence[Prediction], dropped: str) -> None:
        """Add the predictions of earlier sessions, and report them."""
        for prediction in before:
            self._count(prediction)
        if before or dropped:
            self._listener(RunProgress(self.done, self._total, self.failed, None, _resume_note(len(before), dropped),
                                       tuple(before)))

    def add(self, prediction: Prediction) -> None:
        """Count a finished question."""
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
