"""OpenEQA's two agent signatures (supplement D) as a Python API, and all named agents as such functions.

    def my_em(question: str, history: HistoryArrays) -> str | Answer
    def my_active(question: str, state: Environment) -> tuple[str | Answer, int]     # answer, timesteps

A function with either signature is benchmarked by its name: `eqa bench run --agent my_package.my_module:my_active`,
with `--task em` for the first. An empty answer is an abstention.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from eqa_nodes.config.named_agents import agent_of, is_function
from eqa_nodes.config.run import RunConfig
from eqa_nodes.core.components import ANSWERERS
from eqa_nodes.core.errors import ConfigError, LimitReached
from eqa_nodes.core.types.floor import Action
from eqa_nodes.core.types.geometry import Point
from eqa_nodes.core.types.questions import Answer
from eqa_nodes.core.types.samples import Sample
from eqa_nodes.core.types.views import Label
from eqa_nodes.models.config import ModelConfig
from eqa_nodes.recordings.arrays import ArraysHistory, HistoryArrays, arrays_of
from eqa_nodes.runners.function import ActiveFunction, EmFunction, Environment, load_function
from eqa_nodes.runners.history import HistoryRunner, HistorySource
from eqa_nodes.runners.in_process import InProcessRunner
from eqa_nodes.runners.opening import selection_of
from sim_bridge.registry import SimulatorPool
from sim_bridge.simulator import EpisodeSetup, Simulator, Step

__all__ = ["Action", "ActiveFunction", "Answer", "EmFunction", "Environment", "HistoryArrays", "LimitReached",
           "active_agent", "arrays_of", "em_agent", "load_function"]


def em_agent(name: str, model: ModelConfig = ModelConfig(), force_guess: bool = False,
             cache: Path | None = None) -> EmFunction:
    """Return a named agent as a function of question and history.

    cache: folder for data computed from histories and for captions, None = a temporary one. Raises ConfigError for an
    unknown name; the function raises it for arrays without labels if the agent needs labels.
    """
    config = RunConfig(agent=_named(name), model=model)
    scratch = TemporaryDirectory(prefix="eqa-") if cache is None else None
    folder = Path(scratch.name) if scratch is not None else Path(str(cache))
    sources: dict[str, HistorySource] = {}
    runner = HistoryRunner(lambda sample: sources[sample.id], config.settings.answerer, selection_of(config), folder,
                           force_guess)

    def answered(question: str, history: HistoryArrays) -> Answer:
        assert scratch is None or folder.exists()  # the folder exists as long as this function
        sources["question"] = HistorySource("arrays", {"arrays": history.digest()}, lambda: ArraysHistory(history))
        return runner.run(Sample("question", question, "")).answer

    return answered


def active_agent(name: str, model: ModelConfig = ModelConfig(), force_guess: bool = False) -> ActiveFunction:
    """Return a named agent as a function of question and initial state; everything runs in this process.

    Raises ConfigError for an unknown name, and for agents that need labels, which an environment does not have.
    """
    agent = agent_of(_named(name))
    if ANSWERERS.traits(agent.answerer).labels:
        raise ConfigError(f"the agent {name!r} needs labels, which an environment does not provide: run it with "
                          f"`eqa bench run --agent {name}`")

    def answered(question: str, state: Environment) -> tuple[Answer, int]:
        with TemporaryDirectory(prefix="eqa-") as folder:
            config = RunConfig(agent=name, model=model, body=state.robot, folder=Path(folder))
            runner = InProcessRunner(config.parameters, state.limits, force_guess, pool=_ThisPlace(state))
            return runner.run(Sample("question", question, "", scene="environment")).answer, state.steps

    return answered


def _named(name: str) -> str:
    if is_function(name) or not name:
        raise ConfigError(f"{name!r} is not a named agent: `eqa bench run --agent` takes functions")
    return name


class _ThisPlace(SimulatorPool):
    """A pool that provides one environment instead of simulators."""

    def __init__(self, state: Environment) -> None:
        super().__init__()
        self._state = state

    def get(self, scene: str) -> Simulator:
        """Return the environment, whatever the scene."""
        return _Within(self._state)


class _Within:
    """An environment as a simulator without privileged information."""

    def __init__(self, state: Environment) -> None:
        self._state = state

    def reset(self, episode: EpisodeSetup) -> Step:
        """Begin at the robot's current pose."""
        return self._step(False)

    def act(self, action: Action) -> Step:
        """Execute one action; once a limit is reached the robot stands still, and the agent ends its leg."""
        try:
            self._state.act(action)
        except LimitReached:
            return self._step(True)
        return self._step(False)

    def labels(self) -> Mapping[int, Label]:
        """Return an empty table."""
        return {}

    def geodesic(self, a: Point, b: Point) -> float:
        """Return inf: a robot does not know the distance."""
        return math.inf

    def shortest_path(self, a: Point, b: Point) -> list[tuple[float, float]]:
        """Return an empty path: a robot does not know the path."""
        return []

    def close(self) -> None:
        """Do nothing: the owner of the environment closes it."""

    def _step(self, stopped: bool) -> Step:
        state = self._state
        return Step(state.observation, stopped or state.collided, state.steps, state.metres)
