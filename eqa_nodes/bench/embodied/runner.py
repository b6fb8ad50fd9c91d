"""Tasks as episodes of a benchmark run, with the manifest, resuming, scoring and report of other data sets."""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from pathlib import Path

from PIL import Image

from eqa_nodes.bench.embodied.loop import MAX_STEPS, StepLog, TaskAgent, TaskOutcome, WorldWithFacts, run_task
from eqa_nodes.bench.embodied.runner import ModelAgent
from eqa_nodes.bench.embodied.tasks import Task, record_of, task_in
from eqa_nodes.core.model import Usage
from eqa_nodes.core.storage.codec import write_bytes, write_json
from eqa_nodes.core.types.questions import Answer, Receipt
from eqa_nodes.core.types.samples import EpisodeResult, Sample
from eqa_nodes.core.types.trace import EpisodeTrace, TraceDecision
from eqa_nodes.core.types.views import Frame


class TaskRunner:
    """Does tasks in a world and keeps each one's result files. Implements EpisodeRunner.

    results: gets trajNNNN/ with task.json, NNNNa.json a step and, where images is set, NNNN.png of what was seen; None:
    nothing is written. privileged: components of the agent that know what a robot does not.
    """

    def __init__(self, world: WorldWithFacts, agent: TaskAgent, results: Path | None = None, *,
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
    """Write the result files of one task as EmbodiedEval names them, and return their folder. Raises OSError."""
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
    """Return the episode for the report: a pose and a decision a step."""
    stamps = [frame.stamp_ns for frame in outcome.frames]
    poses = list(zip(stamps, outcome.poses, strict=True))
    decisions = [TraceDecision(stamps[log.step], outcome.poses[log.step], outcome.poses[log.step + 1],
                               f"{log.action or log.action_error}: {log.feedback}") for log in outcome.steps]
    return EpisodeTrace(sample.question, poses, decisions, answer=answer)
