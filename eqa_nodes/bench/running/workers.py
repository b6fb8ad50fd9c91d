"""Distributes the questions of one run over processes of this machine, and replaces those that die.

The parent alone writes predictions; a worker ends with its parent.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from multiprocessing import connection, get_context, parent_process
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import NamedTuple

from eqa_nodes.bench.running.predictions import Prediction
from eqa_nodes.bench.running.runner import AskSettings, QuestionTask, ask, failure, out_of_budget
from eqa_nodes.core.errors import ConfigError, EqaError, NodeLost
from eqa_nodes.core.types.samples import EpisodeRunner

Opening = Callable[[int], EpisodeRunner]  # opens what a worker asks with, given its number; must be picklable
TRIES = 2  # of a question whose worker dies
STOP_DEADLINE_S = 10.0  # for workers to end their graphs


class Lost(NamedTuple):
    """A worker ended without an answer. why: one line."""

    why: str


class WorkerRefused(NamedTuple):
    """A worker cannot begin at all: settings, or something that is missing. why: one line."""

    why: str


class ProcessEngine:
    """Gives each worker a question, and the next one when it is done. Implements Engine.

    A worker that dies is replaced and its question asked once more; when that worker dies as well the question has
    failed (NODE_LOST). A worker whose budget is spent gets no more. Raises ConfigError for fewer than one worker,
    NodeLost when workers die and none gives an answer, EqaError when one cannot begin.
    """

    def __init__(self, opening: Opening, workers: int) -> None:
        if workers < 1:
            raise ConfigError(f"a run needs at least one worker, got {workers}")
        self._opening, self._workers = opening, workers

    def ask_all(self, tasks: Sequence[QuestionTask], asking: AskSettings) -> Generator[Prediction, None, None]:
        """Run every task and yield predictions as they arrive."""
        waiting, busy, deaths = deque(tasks), dict[int, QuestionTask](), Counter[int]()
        in_a_row, most = 0, TRIES * self._workers
        spent: Prediction | None = None
        pool = WorkerPool(self._opening, asking)
        try:
            for number in range(min(self._workers, len(tasks))):
                pool.start(number)
                pool.give(number, busy.setdefault(number, waiting.popleft()))
            while busy:
                number, result = pool.next()
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
                        pool.start(number)
                    pool.give(number, busy.setdefault(number, waiting.popleft()))
            if spent is not None and waiting:
                yield spent
        finally:
            pool.close()


class _WorkerProcess(NamedTuple):
    process: BaseProcess
    pipe: Connection


class WorkerPool:
    """Spawned processes by number, 0, 1, ..; each has at most one task, and asks with what `opening` opens for it."""

    def __init__(self, opening: Opening, asking: AskSettings) -> None:
        self._opening, self._asking = opening, asking
        self._context = get_context("spawn")
        self._workers: dict[int, _WorkerProcess] = {}

    def start(self, number: int) -> None:
        """Start a worker, or replace a dead one; it takes its first task when it is ready."""
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_work, args=(theirs, self._opening, self._asking, number),
                                        name=f"worker-{number + 1}")
        with one_thread_each():
            process.start()
        theirs.close()  # so that its death is the end of the pipe
        self._workers[number] = _WorkerProcess(process, ours)

    def give(self, number: int, task: QuestionTask) -> None:
        """Send a task."""
        with suppress(OSError):  # it is dead, and `next` finds the end of its pipe
            self._workers[number].pipe.send(task)

    def next(self) -> tuple[int, Prediction | Lost | WorkerRefused]:
        """Wait for an answer or the death of a worker; an answer before the death counts."""
        ready = connection.wait([worker.pipe for worker in self._workers.values()])
        number, worker = next((n, w) for n, w in self._workers.items() if w.pipe in ready)
        try:
            result: Prediction | WorkerRefused = worker.pipe.recv()
        except (EOFError, OSError):
            self._workers.pop(number).pipe.close()
            worker.process.join(STOP_DEADLINE_S)
            return number, Lost(f"the process ended with code {worker.process.exitcode}")
        return number, result

    def close(self) -> None:
        """Let the workers end; those that do not are killed at the deadline."""
        for worker in self._workers.values():
            worker.pipe.close()
        end = time.monotonic() + STOP_DEADLINE_S
        for worker in self._workers.values():
            worker.process.join(max(0.0, end - time.monotonic()))
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()
        self._workers.clear()


@contextmanager
def one_thread_each() -> Iterator[None]:
    """Let processes that start in here compute with one thread each: they share the processors already."""
    name = "NUMBA_NUM_THREADS"
    before = os.environ.get(name)
    os.environ[name] = "1"
    try:
        yield
    finally:
        os.environ.pop(name)
        if before is not None:
            os.environ[name] = before


def _work(pipe: Connection, opening: Opening, asking: AskSettings, number: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears it, and closes the pipe
    threading.Thread(target=_end_with_parent, daemon=True).start()
    os.environ["EQA_WORKER"] = str(number)  # simulators with processes of their own take turns with the GPUs by it
    with suppress(EOFError, BrokenPipeError):  # the parent has no more tasks, or no more use for answers
        _serve(pipe, opening, asking, number)


def _serve(pipe: Connection, opening: Opening, asking: AskSettings, number: int) -> None:
    """Run the tasks that arrive through the pipe."""
    try:
        runner = opening(number)
    except EqaError as error:
        pipe.recv()  # a task comes before anything else
        pipe.send(WorkerRefused(f"{type(error).__name__}: {error}"))
        return
    with closing(runner):
        while True:
            pipe.send(ask(pipe.recv(), runner, asking))


def _end_with_parent() -> None:
    """End at once when the parent dies, because the answer could not be stored."""
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)
