"""The runner that carries out tasks with an agent and stores their results."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from eqa_nodes.bench.embodied.agents import ModelAgent
from eqa_nodes.bench.embodied.loop import MAX_STEPS, StepLog, TaskAgent, TaskOutcome, run_task
from eqa_nodes.bench.embodied.results import write_result
from eqa_nodes.bench.embodied.tasks import task_in
from eqa_nodes.bench.embodied.world import SimulatedWorld
from eqa_nodes.core.memory.keyframes import small_jpeg
from eqa_nodes.core.types.costs import Usage
from eqa_nodes.core.types.questions import Answer, Receipt
from eqa_nodes.core.types.samples import EpisodeResult, Sample
from eqa_nodes.core.types.trace import EpisodeTrace, Moment, TraceDecision


class TaskRunner:
    """Does tasks in a world and writes the result files of each. Implements EpisodeRunner.

    results: folder of the result files (results.write_result), None: nothing is written; images: whether views are
    among them. strict: an unusable reply ends the task. privileged: components of the agent that use knowledge a robot
    does not have.
    """

    def __init__(self, world: SimulatedWorld, agent: TaskAgent, results: Path | None = None, *,
                 max_steps: int = MAX_STEPS, images: bool = False, strict: bool = False,
                 privileged: tuple[str, ...] = (),
                 close: Callable[[], None] = lambda: None,
                 listener: Callable[[str], None] = lambda text: None) -> None:
        self._world, self._agent, self._results, self._max_steps = world, agent, results, max_steps
        self._images, self._strict = images, strict
        self._privileged, self._close, self._listener = privileged, close, listener

    def run(self, sample: Sample) -> EpisodeResult:
        """Do one task. Raises EqaError."""
        task, began, before = task_in(sample), time.monotonic(), self._usage()
        outcome = run_task(task, self._world, self._agent, sample.seed, self._max_steps, self._said, self._strict)
        spent = self._usage() - before
        if self._results is not None:
            write_result(self._results, task, outcome, self._images)
        receipt = Receipt(len(outcome.steps), outcome.metres, time.monotonic() - began, spent.calls,
                          spent.tokens_in, spent.tokens_out, self._privileged, spent.money)
        silent = bool(sample.answer) and not outcome.answer
        text = outcome.answer or ("" if sample.answer else "done" if outcome.done else "not done")
        answer = Answer(text, float(bool(outcome.answer)), silent, receipt=receipt, message=_summary(outcome))
        return EpisodeResult(sample.id, answer, outcome.poses[-1], _trace(sample, outcome, answer),
                             predicates=outcome.predicates, counts=outcome.counts)

    def blind(self, sample: Sample) -> Answer:
        """Do nothing: a task cannot be done without the world."""
        return Answer(abstained=True, message="a task has no blind answer")

    def close(self) -> None:
        """Release everything; a second call does nothing."""
        self._close()

    def _usage(self) -> Usage:
        return self._agent.backend.usage if isinstance(self._agent, ModelAgent) else Usage()

    def _said(self, log: StepLog) -> None:
        self._listener(f"step {log.step + 1}: {log.action or log.unusable} - {log.feedback}")


def _summary(outcome: TaskOutcome) -> str:
    wasted = [log for log in outcome.steps if log.unusable]
    text = f"{sum(outcome.predicates)} of {len(outcome.predicates)} predicates after {len(outcome.steps)} steps"
    return text + (f"; {len(wasted)} wasted, the first: {wasted[0].unusable}" if wasted else "")


def _trace(sample: Sample, outcome: TaskOutcome, answer: Answer) -> EpisodeTrace:
    """Return the episode for the report: one pose, one view and one decision per step."""
    stamps = [frame.stamp_ns for frame in outcome.frames]
    poses = list(zip(stamps, outcome.poses, strict=True))
    decisions = [TraceDecision(stamps[log.step], outcome.poses[log.step], outcome.poses[log.step + 1],
                               f"{log.action or log.unusable}: {log.feedback}") for log in outcome.steps]
    moments = [Moment(frame.stamp_ns, small_jpeg(frame.rgb)) for frame in outcome.frames]
    return EpisodeTrace(sample.question, poses, decisions, answer=answer, view=moments[-1].view, moments=moments)
