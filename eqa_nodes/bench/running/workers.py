"""Distributes the questions of one run over processes of this machine, and replaces processes that die.

Only the parent writes predictions; a worker ends with its parent.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from multiprocessing import connection, get_context, parent_process
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import NamedTuple

from eqa_nodes.bench.running.predictions import Prediction
from eqa_nodes.bench.running.runner import AskSettings, QuestionTask, ask, failure, out_of_budget
from eqa_nodes.core.errors import ConfigError, EqaError, NodeLost
from eqa_nodes.core.types.samples import EpisodeRunner

Opening = Callable[[int], EpisodeRunner]  # opens the runner of a worker, given its number; must be picklable
TRIES = 2  # attempts for a question whose worker dies
STOP_DEADLINE_S = 10.0  # time for workers to end their graphs


class Lost(NamedTuple):
    """A worker that ended without an answer. why: reason in one line."""

    why: str


class WorkerRefused(NamedTuple):
    """A worker that cannot start, because of settings or missing requirements. why: reason in one line."""

    why: str


class ProcessEngine:
    """Gives each worker a question, and the next one when it has finished. Implements Engine.

    A worker keeps to its scene while that has questions, because a scene takes long to open, and then takes one that
    no other is in. A worker that dies is replaced and its question is asked once more; if that worker dies, too, the
    question fails (NODE_LOST). A worker with a spent budget gets no more questions. Raises ConfigError for fewer than
    one worker, NodeLost if workers die and none gives an answer, EqaError if one cannot start.
    """

    def __init__(self, opening: Opening, workers: int) -> None:
        if workers < 1:
            raise ConfigError(f"a run needs at least one worker, got {workers}")
        self._opening, self._workers = opening, workers

    def ask_all(self, tasks: Sequence[QuestionTask], asking: AskSettings) -> Generator[Prediction, None, None]:
        """Run every task and yield predictions as they arrive."""
        waiting, busy, deaths = list(tasks), dict[int, QuestionTask](), Counter[int]()
        in_a_row, most = 0, TRIES * self._workers
        spent: Prediction | None = None
        pool = WorkerPool(self._opening, asking)
        try:
            for number in range(min(self._workers, len(tasks))):
                pool.start(number)
                pool.give(number, busy.setdefault(number, _next_task(waiting, "", busy)))
            while busy:
                number, result = pool.next()
                if isinstance(result, WorkerRefused):
                    raise EqaError(f"worker {number + 1} cannot begin: {result.why}")
                task = busy.pop(number, None)
                if task is None:
                    continue  # it ended while idle
                in_a_row = in_a_row + 1 if isinstance(result, Lost) else 0
                if isinstance(result, Prediction) and out_of_budget(result):
                    waiting.insert(0, task)  # this worker's share of the budget is spent; another may have some left
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
                        waiting.insert(0, task)
                    else:
                        yield Prediction(task.sample.id, failure(NodeLost(f"{TRIES} workers ended while they asked "
                                                                          f"this question: {result.why}")))
                if waiting:
                    if isinstance(result, Lost):
                        pool.start(number)
                    pool.give(number, busy.setdefault(number, _next_task(waiting, task.sample.scene, busy)))
            if spent is not None and waiting:
                yield spent
        finally:
            pool.close()


def _next_task(waiting: list[QuestionTask], scene: str, busy: Mapping[int, QuestionTask]) -> QuestionTask:
    """Take the next question for a worker whose last one was in `scene`."""
    others = {task.sample.scene for task in busy.values()}
    place = min(range(len(waiting)), key=lambda k: (waiting[k].sample.scene != scene,
                                                    waiting[k].sample.scene in others, k))
    return waiting.pop(place)


class _WorkerProcess(NamedTuple):
    process: BaseProcess
    pipe: Connection


class WorkerPool:
    """Spawned processes by number, 0, 1, ..; each has at most one task, and uses the runner that `opening` opens."""

    def __init__(self, opening: Opening, asking: AskSettings) -> None:
        self._opening, self._asking = opening, asking
        self._context = get_context("spawn")
        self._workers: dict[int, _WorkerProcess] = {}

    def start(self, number: int) -> None:
        """Start a worker or replace a dead one; it accepts its first task when it is ready."""
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_work, args=(theirs, self._opening, self._asking, number),
                                        name=f"worker-{number + 1}")
        with one_thread_each():
            process.start()
        theirs.close()  # so that the pipe ends with the worker
        self._workers[number] = _WorkerProcess(process, ours)

    def give(self, number: int, task: QuestionTask) -> None:
        """Send a task."""
        with suppress(OSError):  # a dead worker: `next` finds the end of its pipe
            self._workers[number].pipe.send(task)

    def next(self) -> tuple[int, Prediction | Lost | WorkerRefused]:
        """Wait for an answer or the death of a worker; an answer sent before the death counts."""
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
        """End the workers; those still running at the deadline are killed."""
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
    """Limit processes that are started in this context to one thread each, because they share the processors."""
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
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles it and closes the pipe
    threading.Thread(target=_end_with_parent, daemon=True).start()
    os.environ["EQA_WORKER"] = str(number)  # simulators choose the GPU of their process by it
    with suppress(EOFError, BrokenPipeError):  # the parent has no more tasks, or does not need the answers any more
        _serve(pipe, opening, asking, number)


def _serve(pipe: Connection, opening: Opening, asking: AskSettings, number: int) -> None:
    """Run the tasks that arrive through the pipe."""
    try:
        runner = opening(number)
    except EqaError as error:
        pipe.recv()  # a task arrives before anything else
        pipe.send(WorkerRefused(f"{type(error).__name__}: {error}"))
        return
    with closing(runner):
        while True:
            pipe.send(ask(pipe.recv(), runner, asking))


def _end_with_parent() -> None:
    """End immediately when the parent dies, because the answer could not be stored."""
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)
