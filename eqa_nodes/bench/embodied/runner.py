"""Agents that execute EmbodiedEval tasks, and the runner that stores their results."""

from __future__ import annotations

import io
import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from importlib import resources
from pathlib import Path

import numpy as np
from PIL import Image

from eqa_nodes.bench.embodied.loop import (
    MAX_STEPS,
    Pick,
    StepLog,
    TaskAgent,
    TaskOutcome,
    Turn,
    run_task,
    texts_of,
)
from eqa_nodes.bench.embodied.tasks import Task, record_of, task_in
from eqa_nodes.bench.embodied.world import SimulatedWorld
from eqa_nodes.core.errors import ConfigError, ModelError, unknown
from eqa_nodes.core.memory.keyframes import jpeg_of
from eqa_nodes.core.model import Backend, Message, ask_json
from eqa_nodes.core.storage.codec import write_bytes, write_json
from eqa_nodes.core.types.costs import Usage
from eqa_nodes.core.types.questions import Answer, Receipt
from eqa_nodes.core.types.samples import EpisodeResult, Sample
from eqa_nodes.core.types.trace import EpisodeTrace, TraceDecision
from eqa_nodes.core.types.views import Frame
from eqa_nodes.models import open_model
from eqa_nodes.models.config import ModelConfig

JPEG_QUALITY = 90
MAX_IMAGES = 8  # maximum of the history that a model is shown, besides the current view
MAX_TOKENS = 512
_WRONG_FORM = "wrong form"  # beginning of the ModelError after a second unusable reply


class RandomAgent:
    """Picks options uniformly at random (the paper's random agent), depending on the seed and the task."""

    def begin(self, task: Task, seed: int) -> None:
        """Begin a task."""
        self._rng = np.random.default_rng([seed, task.index])

    def act(self, turn: Turn) -> Pick:
        """Pick one of the options."""
        return Pick(int(self._rng.integers(len(turn.options))))


class ScriptedAgent:
    """Picks options by text from a script per task index, or from the task's own expert plan.

    If the option is not on the menu or the script has ended, it picks nothing.
    """

    def __init__(self, scripts: Mapping[int, Sequence[str]] | None = None) -> None:
        self._scripts = scripts

    def begin(self, task: Task, seed: int) -> None:
        """Begin a task. Raises ConfigError for a task without a script."""
        script = task.expert if self._scripts is None else self._scripts.get(task.index, ())
        if not script:
            raise ConfigError(f"task {task.index} has no script: the oracle needs tasks that say how they are done")
        self._left = list(script)

    def act(self, turn: Turn) -> Pick:
        """Pick the next option of the script."""
        wanted = self._left.pop(0) if self._left else ""
        if wanted in turn.options:
            return Pick(turn.options.index(wanted), wanted)
        return Pick(None, wanted, error="the script has ended" if not wanted else f"{wanted!r} is not on the menu")


class ModelAgent:
    """Asks a model at each step; an invalid reply is requested once more, then the step is wasted."""

    def __init__(self, backend: Backend, max_images: int = MAX_IMAGES) -> None:
        self.backend, self._max_images = backend, max_images
        self._rules = resources.files("eqa_nodes.prompts").joinpath("task.txt").read_text(encoding="utf-8")

    def begin(self, task: Task, seed: int) -> None:
        """Begin a task."""
        self._seed, self._images = seed, list[bytes]()

    def act(self, turn: Turn) -> Pick:
        """Ask the model. Raises ModelError (BudgetSpent) when it fails."""
        self._images.append(jpeg_of(turn.image, JPEG_QUALITY))

        def read(reply: dict[str, object]) -> Pick:
            number = _number(reply.get("option"), turn.options)
            if number is None or not 1 <= number <= len(turn.options):
                raise ValueError(f'"option" must be a number from 1 to {len(turn.options)}, not '
                                 f'{reply.get("option")!r:.40}')
            return Pick(number - 1, json.dumps(reply, ensure_ascii=False), str(reply.get("thought", "")))

        try:
            return ask_json(self.backend, self._messages(turn), read, MAX_TOKENS, self._seed)
        except ModelError as error:
            if not str(error).startswith(_WRONG_FORM):
                raise
            return Pick(None, error=f"no option match: {error}")

    def _messages(self, turn: Turn) -> list[Message]:
        steps = [f"{i}. {json.dumps(action or '(nothing)')} -> {feedback}"
                 for i, (action, feedback) in enumerate(turn.history, start=1)]
        before = self._images[:-1][-self._max_images:] if self._max_images else []
        parts: list[str | bytes] = [f"The task: {json.dumps(turn.task, ensure_ascii=False)}",
                                    "What was done so far:\n" + ("\n".join(steps) or "nothing yet")]
        if before:
            parts += ["What was seen before the last steps, oldest first:", *before]
        parts += ["What is seen now:", self._images[-1], "The options:\n" + "\n".join(texts_of(turn)),
                  f"{turn.steps_left} steps are left."]
        return [Message("system", (self._rules,)), Message("user", tuple(parts))]


def _number(said: object, options: Sequence[str]) -> int | None:
    """Parse the number of an option in the ways models write it: 3, 3.0, "3", "[3]", "[3] turn left", or its text."""
    if isinstance(said, float) and said.is_integer():
        return int(said)
    if not isinstance(said, str):
        return said if type(said) is int else None
    named = [number for number, text in enumerate(options, start=1) if said.strip().casefold() == text.casefold()]
    if len(named) == 1:
        return named[0]
    match = re.fullmatch(r"\s*\[?([0-9]{1,4})\]?[.):]?\s*(.*)", said, re.S)
    number = int(match[1]) if match else 0
    fits = match is not None and match[2].strip() in ("", *options[number - 1:number])
    return number if fits else None


def _model(config: ModelConfig) -> TaskAgent:
    return ModelAgent(open_model(config))


AGENTS: dict[str, Callable[[ModelConfig], TaskAgent]] = {
    "random": lambda config: RandomAgent(), "oracle": lambda config: ScriptedAgent(), "model": _model}


def make_agent(name: str, model: ModelConfig = ModelConfig()) -> TaskAgent:
    """Return an agent: random, oracle (follows the task's expert plan), model. Raises ConfigError."""
    if name not in AGENTS:
        raise ConfigError(unknown("agent of tasks", name, AGENTS))
    return AGENTS[name](model)


class TaskRunner:
    """Does tasks in a world and writes the result files of each. Implements EpisodeRunner.

    results: folder for trajNNNN/ with task.json, one NNNNa.json per step and, if images is set, NNNN.png of each view;
    None: nothing is written. privileged: components of the agent that use knowledge a robot does not have.
    """

    def __init__(self, world: SimulatedWorld, agent: TaskAgent, results: Path | None = None, *,
                 max_steps: int = MAX_STEPS, images: bool = False, privileged: tuple[str, ...] = (),
                 close: Callable[[], None] = lambda: None,
                 listener: Callable[[str], None] = lambda text: None) -> None:
        self._world, self._agent, self._results, self._max_steps = world, agent, results, max_steps
        self._images, self._privileged, self._close, self._listener = images, privileged, close, listener

    def run(self, sample: Sample) -> EpisodeResult:
        """Do one task. Raises EqaError."""
        task, began, before = task_in(sample), time.monotonic(), self._usage()
        outcome = run_task(task, self._world, self._agent, sample.seed, self._max_steps, self._said)
        spent = self._usage() - before
        if self._results is not None:
            write_result(self._results, task, outcome, self._images)
        receipt = Receipt(len(outcome.steps), outcome.metres, time.monotonic() - began, spent.calls,
                          spent.tokens_in, spent.tokens_out, self._privileged, spent.money)
        silent = bool(sample.answer) and not outcome.answer
        text = outcome.answer or ("" if sample.answer else "done" if outcome.done else "not done")
        answer = Answer(text, float(bool(outcome.answer)), silent, receipt=receipt, message=_summary(outcome))
        return EpisodeResult(sample.id, answer, outcome.poses[-1], _trace(sample, outcome, answer),
                             predicates=outcome.predicates)

    def blind(self, sample: Sample) -> Answer:
        """Do nothing: a task cannot be done without the world."""
        return Answer(abstained=True, message="a task has no blind answer")

    def close(self) -> None:
        """Release everything; a second call does nothing."""
        self._close()

    def _usage(self) -> Usage:
        return self._agent.backend.usage if isinstance(self._agent, ModelAgent) else Usage()

    def _said(self, log: StepLog) -> None:
        self._listener(f"step {log.step + 1}: {log.action or log.action_error} - {log.feedback}")


def write_result(results: Path, task: Task, outcome: TaskOutcome, images: bool = False) -> Path:
    """Write the result files of one task with EmbodiedEval's names, and return their folder. Raises OSError."""
    folder = results / f"traj{task.index:04d}"
    write_json(folder / "task.json", {"task": task.text, "scene": {"task_instance": record_of(task)}})
    for log in outcome.steps:
        write_json(folder / f"{log.step:04d}a.json", log)
    for number, frame in enumerate(outcome.frames if images else ()):
        write_bytes(folder / f"{number:04d}.png", _png(frame))
    ended = "success" if outcome.done else "failed"
    write_json(folder / "result.json", {"result": ended, "steps_taken": len(outcome.steps)})
    return folder


def _png(frame: Frame) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(frame.rgb).save(buffer, "PNG")
    return buffer.getvalue()


def _summary(outcome: TaskOutcome) -> str:
    wasted = [log for log in outcome.steps if log.action_error]
    text = f"{sum(outcome.predicates)} of {len(outcome.predicates)} predicates after {len(outcome.steps)} steps"
    return text + (f"; {len(wasted)} wasted, the first: {wasted[0].action_error}" if wasted else "")


def _trace(sample: Sample, outcome: TaskOutcome, answer: Answer) -> EpisodeTrace:
    """Return the episode for the report: one pose and one decision per step."""
    stamps = [frame.stamp_ns for frame in outcome.frames]
    poses = list(zip(stamps, outcome.poses, strict=True))
    decisions = [TraceDecision(stamps[log.step], outcome.poses[log.step], outcome.poses[log.step + 1],
                               f"{log.action or log.action_error}: {log.feedback}") for log in outcome.steps]
    return EpisodeTrace(sample.question, poses, decisions, answer=answer)
