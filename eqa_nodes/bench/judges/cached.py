"""Cache of paid marks: one JSON line each in the run directory. No mark is paid twice, even after a kill."""

from __future__ import annotations

import hashlib
import threading
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from eqa_nodes.bench.judges.base import Judge, JudgeMark
from eqa_nodes.bench.samples import dataset_hash
from eqa_nodes.core.errors import StorageError
from eqa_nodes.core.storage.json_lines import LineWriter, read_lines
from eqa_nodes.core.types.samples import Sample

MARKS = "marks.jsonl"


@dataclass(frozen=True)
class CachedMark:
    """One mark. sample: hash of the question with its truth; view: sha256 of the image that was shown, "" = none."""

    judge: str
    version: str
    id: str
    sample: str
    answer: str
    view: str
    sigma: float | None
    delta: float | None
    note: str

    @property
    def key(self) -> tuple[str, ...]:
        """Return the values that determine a mark."""
        return self.version, self.sample, self.answer, self.view


def read_marks(path: Path) -> list[CachedMark]:
    """Read a file of marks; a missing file is empty, and a half-written last line is left out. Raises StorageError."""
    return read_lines(path, CachedMark, "mark").values


class CachedJudge:
    """A judge with a cache. Use with `with`; safe from several threads; only one process at a time may write a file.

    Failures are not stored: the next run asks again, this one does not. again: also repeat unscored answers. asked:
    number of new marks; reused: number of marks of earlier runs that were needed.
    """

    def __init__(self, judge: Judge, path: Path, again: bool = False) -> None:
        """Raises StorageError for a broken file, or one that another process is writing."""
        self._judge, self._lock = judge, threading.Lock()
        self.name, self.version, self.sees = judge.name, judge.version, judge.sees
        self.asked = 0
        self._reused = set[tuple[str, ...]]()
        self._failed: dict[tuple[str, ...], Exception] = {}
        try:
            self._lines = LineWriter(path)
        except StorageError:
            judge.close()
            raise
        try:
            kept = read_marks(path)
        except StorageError:
            self.close()
            raise
        self._kept = {k.key: k for k in kept if not (again and k.sigma is None)}
        self._before = set(self._kept)

    @property
    def reused(self) -> int:
        """Return how many marks of earlier runs were needed."""
        return len(self._reused)

    def judge(self, sample: Sample, answer_text: str, view: bytes | None = None) -> JudgeMark:
        """Return the mark that is kept, else ask for it and keep it."""
        shown = hashlib.sha256(view).hexdigest() if self.sees and view is not None else ""
        key = (self.version, dataset_hash((sample,)), answer_text, shown)
        with self._lock:
            if (known := self._kept.get(key)) is not None:
                self._reused |= self._before & {key}
                return JudgeMark(known.sigma, known.delta, known.note)
            if (failure := self._failed.get(key)) is not None:
                raise failure
        try:
            mark = self._judge.judge(sample, answer_text, view)
        except Exception as error:
            with self._lock:
                self._failed[key] = error
            raise
        self._keep(CachedMark(self.name, self.version, sample.id, key[1], answer_text, shown, *mark))
        return mark

    def close(self) -> None:
        """Release the judge and the file."""
        self._judge.close()
        self._lines.close()

    def __enter__(self) -> CachedJudge:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()

    def _keep(self, kept: CachedMark) -> None:
        with self._lock:
            self.asked += 1
            self._kept[kept.key] = kept
            self._lines.append(kept)
