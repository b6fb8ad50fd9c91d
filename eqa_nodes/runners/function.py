"""A user's functions as agents in a benchmark, with the signatures that OpenEQA defines (supplement D)."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from typing import Any

from eqa_nodes.core.answerers.common import check_question
from eqa_nodes.core.components import AGENTS
from eqa_nodes.core.errors import ConfigError, LimitReached
from eqa_nodes.core.ledger import check_limits, metres_left
from eqa_nodes.core.protocols import Answerer
from eqa_nodes.core.types.floor import Action
from eqa_nodes.core.types.questions import Answer, Limits
from eqa_nodes.core.types.robot import RobotModel
from eqa_nodes.core.types.samples import EpisodeResult, Sample
from eqa_nodes.core.types.trace import EpisodeTrace
from eqa_nodes.core.types.views import Frame
from eqa_nodes.recordings.arrays import HistoryArrays, arrays_of
from eqa_nodes.runners.history import HistorySource
from sim_bridge.registry import SimulatorPool
from sim_bridge.simulator import EpisodeSetup, Step, begin_episode


class Environment:
    """The environment of an A-EQA question: a robot that sees and moves, without privileged information.

    observation: the current Frame with rgb, depth_m, poses in the map frame and stamp, without labels; collided:
    whether an obstacle stopped the last action; steps, metres: distance so far; robot: its body and its actions;
    limits: limits of the question, 0 = no limit.
    """

    def __init__(self, first: Step, act: Callable[[Action], Step], robot: RobotModel,
                 limits: Limits = Limits()) -> None:
        check_limits(limits)
        self.robot, self.limits = robot, limits
        self._carry_out, self._began_s = act, time.monotonic()
        self._show(first)

    def act(self, action: Action) -> Frame:
        """Execute one action and return the new observation. Raises LimitReached once a limit is reached."""
        if action is not Action.OBSERVE and (self.spent() or self._too_far(action)):
            raise LimitReached(f"the question may cost no more than {self.limits}, and {self.steps} steps and "
                               f"{self.metres:.2f} m are behind it: answer from what is known")
        self._show(self._carry_out(Action(action)))
        return self.observation

    def spent(self) -> bool:
        """Return whether a limit of steps, metres or seconds is reached, after which no action is executed."""
        so_far = (self.steps, self.metres, time.monotonic() - self._began_s)
        used_up = any(limit and value >= limit for limit, value in zip(self.limits[:3], so_far, strict=True))
        return used_up or self.metres >= metres_left(self.limits, 0.0, 1)

    def _too_far(self, action: Action) -> bool:
        ahead_m = self.robot.move_m if action is Action.MOVE_FORWARD else 0.0
        return metres_left(self.limits, 0.0, 1) < self.metres + ahead_m - 1e-6

    def _show(self, step: Step) -> None:
        self.observation: Frame = replace(step.frame, labels=None)
        self.collided, self.steps, self.metres = step.collided, step.steps, step.metres


EmFunction = Callable[[str, HistoryArrays], "str | Answer"]  # question, history -> answer
ActiveFunction = Callable[[str, Environment], "tuple[str | Answer, int]"]  # question, state -> answer, timesteps


def load_function(name: str) -> Callable[..., Any]:
    """Return the function named "package.module:function", also from the working directory, or a registered one.

    Raises ConfigError.
    """
    if name in AGENTS:
        registered: Callable[..., Any] = AGENTS[name]
        return registered
    module, _, attribute = name.partition(":")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        found: Callable[..., Any] = getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(f"the agent {name!r} cannot be loaded: {error}; expected package.module:function, installed "
                          "or in the working directory") from error
    if not callable(found):
        raise ConfigError(f"the agent {name!r} is a {type(found).__name__}: expected a function")
    return found


class _FunctionRunner:
    """The common part of both runners. An exception of the function is not caught here: it fails the question."""

    def __init__(self, answerer: Answerer, force_guess: bool) -> None:
        self._answerer, self._force_guess = answerer, force_guess

    def blind(self, sample: Sample) -> Answer:
        """Answer without any view, with the answerer."""
        return self._answerer.answer(sample.as_question(force_guess=True), ())

    def _given(self, sample: Sample, said: object) -> Answer:
        """Convert a function's result to an answer, without evidence, which would need images. "" is an abstention."""
        if isinstance(said, str):
            answer = Answer(said.strip(), abstained=not said.strip())
        elif isinstance(said, Answer):
            answer = replace(said, evidence=(), abstained=said.abstained or not said.text)
        else:
            raise ConfigError(f"the function returned {said!r:.80} for an answer: expected a str or an Answer")
        if answer.abstained and self._force_guess:
            return replace(self.blind(sample), message="forced guess: the function did not answer")
        return answer


class EmFunctionRunner(_FunctionRunner):
    """Asks a function about episode histories. Implements EpisodeRunner. k: evenly spaced frames, 0 = all.

    The arrays of the last history are kept, since questions about one history are consecutive.
    """

    def __init__(self, function: EmFunction, source_of: Callable[[Sample], HistorySource], k: int, answerer: Answerer,
                 force_guess: bool = False, listener: Callable[[str], None] = lambda text: None) -> None:
        super().__init__(answerer, force_guess)
        self._function, self._source_of, self._k, self._listener = function, source_of, k, listener
        self._read: tuple[object, HistoryArrays] | None = None

    def run(self, sample: Sample) -> EpisodeResult:
        """Answer one question. The receipt's seconds are the run time of the function."""
        check_question(sample.question)
        source = self._source_of(sample)
        if self._read is None or self._read[0] != source.identity:
            self._read = None  # two histories at once may not fit in memory
            self._listener(f"{source.name}: reading")
            self._read = source.identity, arrays_of(source.open(), self._k)
        self._listener("answering")
        began = time.monotonic()
        answer = self._given(sample, self._function(asked(sample), self._read[1]))
        receipt = replace(answer.receipt, steps=0, metres=0.0, seconds=time.monotonic() - began)
        answer = replace(answer, receipt=receipt)
        return EpisodeResult(sample.id, answer, None, EpisodeTrace(sample.question, answer=answer))

    def close(self) -> None:
        """Release the arrays."""
        self._read = None


class ActiveFunctionRunner(_FunctionRunner):
    """Lets a function drive a simulated robot. Implements EpisodeRunner.

    Steps and metres are the simulator's: if the function reports another number of timesteps, the message notes it.
    """

    def __init__(self, function: ActiveFunction, robot: RobotModel, answerer: Answerer, limits: Limits = Limits(),
                 force_guess: bool = False, clock_ns: int = 0) -> None:
        super().__init__(answerer, force_guess)
        self._function, self._robot, self._limits, self._clock_ns = function, robot, limits, clock_ns
        self._pool = SimulatorPool()

    def run(self, sample: Sample) -> EpisodeResult:
        """Run one episode."""
        check_question(sample.question)
        simulator, trace = self._pool.get(sample.scene), EpisodeTrace(sample.question)
        last = begin_episode(simulator, EpisodeSetup.of(sample, self._robot, self._clock_ns))
        trace.poses.append((last.frame.stamp_ns, last.frame.pose))

        def act(action: Action) -> Step:
            nonlocal last
            last = simulator.act(action)
            trace.poses.append((last.frame.stamp_ns, last.frame.pose))
            return last

        began = time.monotonic()
        said = self._function(asked(sample), Environment(last, act, self._robot, sample.limited(self._limits)))
        if not isinstance(said, tuple) or len(said) != 2:
            raise ConfigError(f"the function returned {said!r:.80}: expected (answer, timesteps)")
        answer = self._given(sample, said[0])
        note = "" if said[1] == last.steps else (f"the function reports {said[1]!r:.20} timesteps; {last.steps} were "
                                                 "counted")
        receipt = replace(answer.receipt, steps=last.steps, metres=last.metres, seconds=time.monotonic() - began)
        trace.answer = replace(answer, receipt=receipt, message="; ".join(filter(None, (answer.message, note))))
        return EpisodeResult(sample.id, trace.answer, last.frame.pose, trace)

    def close(self) -> None:
        """Release the simulators."""
        self._pool.close()


def asked(sample: Sample) -> str:
    """Return the question for a function, followed by its options if it has any: "... A) red B) grey"."""
    options = (f"{chr(ord('A') + i)}) {choice}" for i, choice in enumerate(sample.choices))
    return " ".join((sample.question, *options))
