"""What workers of another process ask with in tests: it notes every question, and dies on demand."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from eqa_nodes.bench.running.crew import Opening
from eqa_nodes.bench.running.runner import EpisodeResult
from eqa_nodes.bench.samples import Sample
from eqa_nodes.core.errors import BudgetSpent, ConfigError, ModelError
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Answer, Receipt
from tests.unit.synthetic_run import trace

NOTES = "asked.txt"


class NotingRunner:
    """Answers by what a question's id says: "fails", "crashes", "kills" its process, "kills-once", else a cup.

    budget: questions that are answered before it is spent, 0 = no limit.
    """

    def __init__(self, notes: Path, seconds: float, number: int, budget: int = 0) -> None:
        self._notes, self._seconds, self._number = notes, seconds, number
        self._budget, self._answered = budget, 0

    def run(self, sample: Sample) -> EpisodeResult:
        note(self._notes / NOTES, f"{sample.id} {self._number} {os.getpid()}\n")
        time.sleep(self._seconds)
        if self._budget and self._answered >= self._budget:
            raise BudgetSpent(f"the budget of {self._budget} model calls is spent")
        self._answered += 1
        kind = sample.id.rpartition("-")[0]
        if kind == "kills" or (kind == "kills-once" and times(self._notes, sample.id) == 1):
            os.kill(os.getpid(), signal.SIGKILL)
        if kind == "fails":
            raise ModelError("the endpoint refuses")
        if kind == "crashes":
            raise ZeroDivisionError("division by zero")
        answer = Answer(f"a cup in {sample.scene}", 0.9, receipt=Receipt(4, 1.5, time.monotonic(), 3, 100, 20))
        return EpisodeResult(sample.id, answer, Pose2(1, 2, 0), trace(sample.question, answer))

    def blind(self, sample: Sample) -> Answer:
        return Answer("a mug", 0.1, receipt=Receipt(calls=1, tokens_in=10))

    def close(self) -> None:
        note(self._notes / NOTES, f"closed {self._number} {os.getpid()}\n")


def note(path: Path, line: str) -> None:
    """Append a line; several processes may at once."""
    with path.open("a") as file:
        file.write(line)


def noted(notes: Path) -> list[str]:
    """Return the ids that were asked, in order."""
    lines = (notes / NOTES).read_text().splitlines() if (notes / NOTES).exists() else []
    return [line.split()[0] for line in lines if not line.startswith("closed")]


def pids(notes: Path) -> set[int]:
    """Return the processes that were asked."""
    return {int(line.split()[2]) for line in (notes / NOTES).read_text().splitlines()}


def times(notes: Path, sample_id: str) -> int:
    """Return how often a question was asked."""
    return noted(notes).count(sample_id)


def open_noting(notes: Path, seconds: float, budget: int, number: int) -> NotingRunner:
    """Open a worker's runner."""
    return NotingRunner(notes, seconds, number, budget)


def noting(notes: Path, seconds: float = 0.0, budget: int = 0) -> Opening:
    """Return what opens workers that note what they are asked."""
    return partial(open_noting, notes, seconds, budget)


def open_refusing(number: int) -> NotingRunner:
    """Refuse, as a chain does whose settings are wrong."""
    raise ConfigError("no model is named")


def open_dying(number: int) -> NotingRunner:
    """Die before anything is asked."""
    os._exit(7)


def questions(ids: Sequence[str]) -> list[Sample]:
    """Return samples of these ids."""
    return [Sample(name, f"What is {name}?", "a cup", scene=f"house:{n % 2}", start=Pose2(0, 0, 0), target=(1.0, 2.0),
                   reference_steps=4, reference_metres=1.0) for n, name in enumerate(ids)]
