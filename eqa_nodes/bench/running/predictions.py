"""The file of pass 1: one JSON line a question, durable before the next question is asked."""

from __future__ import annotations

from collections.abc import Sequence
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
