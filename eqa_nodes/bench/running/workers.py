"""Workers as processes of this machine. The parent alone writes predictions; a worker ends with its parent."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from multiprocessing import connection, get_context, parent_process
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import NamedTuple

from eqa_nodes.bench.running.crew import CrewEngine, Lost, Opening, WorkerRefused
from eqa_nodes.bench.running.predictions import Prediction
from eqa_nodes.bench.running.runner import Asking, QuestionTask, ask
from eqa_nodes.core.errors import EqaError

STOP_DEADLINE_S = 10.0  # for workers to end their graphs


class _WorkerProcess(NamedTuple):
    process: BaseProcess
    pipe: Connection


class Processes:
    """Spawned processes, each with what `opening` opens for its number. Implements Crew."""

    def __init__(self, opening: Opening, asking: Asking) -> None:
        self._opening, self._asking = opening, asking
        self._context = get_context("spawn")
        self._workers: dict[int, _WorkerProcess] = {}

    def hire(self, number: int) -> None:
        """Start a process; it takes its first task when it is ready."""
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


def process_engine(opening: Opening, workers: int) -> CrewEngine:
    """Return an engine of `workers` processes on this machine. Raises ConfigError for fewer than one."""
    return CrewEngine(partial(Processes, opening), workers)


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


def _work(pipe: Connection, opening: Opening, asking: Asking, number: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears it, and closes the pipe
    threading.Thread(target=_end_with_parent, daemon=True).start()
    os.environ["EQA_WORKER"] = str(number)  # simulators with processes of their own take turns with the GPUs by it
    with suppress(EOFError, BrokenPipeError):  # the parent has no more tasks, or no more use for answers
        _serve(pipe, opening, asking, number)


def _serve(pipe: Connection, opening: Opening, asking: Asking, number: int) -> None:
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
