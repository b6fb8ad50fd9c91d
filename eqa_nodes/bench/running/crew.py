"""Distributes the questions of one run over several workers, and replaces workers that die."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Generator, Sequence
from typing import NamedTuple, Protocol

from eqa_nodes.bench.running.predictions import Prediction
from eqa_nodes.bench.running.runner import Asking, QuestionTask, failure, out_of_budget
from eqa_nodes.core.errors import ConfigError, EqaError, NodeLost
from eqa_nodes.core.types.samples import EpisodeRunner

Opening = Callable[[int], EpisodeRunner]  # opens what a worker asks with, given its number; must be picklable
TRIES = 2  # of a question whose worker dies


class Lost(NamedTuple):
    """A worker ended without an answer. why: one line."""

    why: str


class WorkerRefused(NamedTuple):
    """A worker cannot begin at all: settings, or something that is missing. why: one line."""

    why: str


class Crew(Protocol):
    """Workers by number, 0, 1, ..; each has at most one task."""

    def hire(self, number: int) -> None:
        """Start a worker, or restart a dead one."""

    def give(self, number: int, task: QuestionTask) -> None:
        """Give an idle worker a task; if it dies, `next` reports that."""

    def next(self) -> tuple[int, Prediction | Lost | WorkerRefused]:
        """Wait for the next worker that is done with its task."""

    def close(self) -> None:
        """End all workers; a second call does nothing."""


class CrewEngine:
    """Gives each worker a question, and the next one when it is done. Implements Engine.

    recruit: opens the crew for a run. A worker that dies is replaced and its question asked once more; when that
    worker dies as well the question has failed (NODE_LOST). A worker whose budget is spent gets no more. Raises
    NodeLost when workers die and none gives an answer, EqaError when one cannot begin.
    """

    def __init__(self, recruit: Callable[[Asking], Crew], workers: int) -> None:
        if workers < 1:
            raise ConfigError(f"a run needs at least one worker, got {workers}")
        self._recruit, self._workers = recruit, workers

    def ask_all(self, tasks: Sequence[QuestionTask], asking: Asking) -> Generator[Prediction, None, None]:
        """Run every task and yield predictions as they arrive."""
        waiting, busy, deaths = deque(tasks), dict[int, QuestionTask](), Counter[int]()
        in_a_row, most = 0, TRIES * self._workers
        spent: Prediction | None = None
        crew = self._recruit(asking)
        try:
            for number in range(min(self._workers, len(tasks))):
                crew.hire(number)
                crew.give(number, busy.setdefault(number, waiting.popleft()))
            while busy:
                number, result = crew.next()
                if isinstance(result, WorkerRefused):
                    raise EqaError(f"worker {number + 1} cannot begin: {result.why}")
                task = busy.pop(number, None)
                if task is None:
                    continue  # it ended when it had nothing to do
                in_a_row = in_a_row + 1 if isinstance(result, Lost) else 0
                if isinstance(result, Prediction) and out_of_budget(result):
                    waiting.appendleft(task)  # its worker's share is spent; another one may have some left
                    spent = result
                    continue
                if isinstance(result, Prediction):
                    yield result
                elif in_a_row > most:
                    raise NodeLost(f"{in_a_row} workers in a row ended without an answer; the last one: {result.why}. "
                                   "The answers so far are stored: run the same command again to continue")
                else:
                    deaths[task.place] += 1
                    if deaths[task.place] < TRIES:
                        waiting.appendleft(task)
                    else:
                        yield Prediction(task.sample.id, failure(NodeLost(f"{TRIES} workers ended while they asked "
                                                                          f"this question: {result.why}")))
                if waiting:
                    if isinstance(result, Lost):
                        crew.hire(number)
                    crew.give(number, busy.setdefault(number, waiting.popleft()))
            if spent is not None and waiting:
                yield spent
        finally:
            crew.close()
