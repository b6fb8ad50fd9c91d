"""Workers as actors of a Ray cluster, whose machines share the run directory. Ray is imported on demand."""

from __future__ import annotations

import importlib.util
from functools import partial
from typing import Any

from eqa_nodes.bench.running.crew import CrewEngine, Lost, Opening, WorkerRefused
from eqa_nodes.bench.running.manifest import MANIFEST
from eqa_nodes.bench.running.predictions import Prediction
from eqa_nodes.bench.running.runner import Asking, QuestionTask, ask
from eqa_nodes.core.errors import EqaError, MissingExtra, StorageError
from eqa_nodes.core.types.samples import EpisodeRunner


class Actors:
    """Ray actors, each with what `opening` opens for its number. Implements Crew.

    address: of the cluster; "" = the one that RAY_ADDRESS names, else one on this machine.
    """

    def __init__(self, opening: Opening, address: str, asking: Asking) -> None:
        import ray

        self._ray, self._opening = ray, opening
        self._asking = asking._replace(out=asking.out.resolve())
        self._started = not ray.is_initialized()
        if self._started:
            ray.init(address=address or None, log_to_driver=False, include_dashboard=False)
        self._actors: dict[int, Any] = {}
        self._asked: dict[Any, int] = {}

    def hire(self, number: int) -> None:
        """Begin an actor; it takes its first task when it is ready."""
        actor = self._ray.remote(num_cpus=1, max_restarts=0)(_RayWorker)
        self._actors[number] = actor.remote(self._opening, self._asking, number)

    def give(self, number: int, task: QuestionTask) -> None:
        """Send a task."""
        self._asked[self._actors[number].ask.remote(task)] = number

    def next(self) -> tuple[int, Prediction | Lost | WorkerRefused]:
        """Wait for an answer or a death."""
        (ready, *_), _ = self._ray.wait(list(self._asked), num_returns=1)
        number = self._asked.pop(ready)
        try:
            result: Prediction | WorkerRefused = self._ray.get(ready)
        except self._ray.exceptions.RayError as error:
            del self._actors[number]
            return number, Lost(f"{type(error).__name__}: {str(error).splitlines()[0]}")
        return number, result

    def close(self) -> None:
        """End the actors, and the connection if it was begun here."""
        idle = [a for number, a in self._actors.items() if number not in self._asked.values()]
        self._ray.get([actor.close.remote() for actor in idle])
        for actor in self._actors.values():
            self._ray.kill(actor)
        self._actors.clear()
        if self._started:
            self._ray.shutdown()
            self._started = False


class _RayWorker:
    """One actor. What it cannot open it says with its first answer."""

    def __init__(self, opening: Opening, asking: Asking, number: int) -> None:
        self._asking = asking
        self._runner: EpisodeRunner | None = None
        try:
            if not (asking.out / MANIFEST).exists():
                raise StorageError(f"{asking.out} is not there on this machine of the cluster: put the run directory "
                                   "on storage that all machines share")
            self._runner = opening(number)
        except EqaError as error:
            self._refusal = WorkerRefused(f"{type(error).__name__}: {error}")

    def ask(self, task: QuestionTask) -> Prediction | WorkerRefused:
        """Ask one question."""
        return self._refusal if self._runner is None else ask(task, self._runner, self._asking)

    def close(self) -> None:
        """Release the resources."""
        if self._runner is not None:
            self._runner.close()


def ray_engine(opening: Opening, workers: int, address: str = "") -> CrewEngine:
    """Return an engine of `workers` actors. Raises MissingExtra without Ray, ConfigError for fewer than one worker."""
    if importlib.util.find_spec("ray") is None:
        raise MissingExtra("ray", "ray")
    return CrewEngine(partial(Actors, opening, address), workers)
