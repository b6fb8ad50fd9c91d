"""Runs many short episodes in process, on all processors: the same questions under several settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import groupby
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from eqa_nodes.bench.judges.offline import OfflineJudge
from eqa_nodes.bench.metrics.formulas import openeqa_c
from eqa_nodes.bench.metrics.question_score import QuestionScore, question_score
from eqa_nodes.bench.running.predictions import HOPELESS, Prediction
from eqa_nodes.bench.running.workers import one_thread_each
from eqa_nodes.config.graph import merged
from eqa_nodes.core.errors import ConfigError, EqaError, unknown
from eqa_nodes.core.model import counted
from eqa_nodes.core.storage.json_lines import LineWriter, read_lines
from eqa_nodes.core.types.floor import GridMap
from eqa_nodes.core.types.questions import Limits, Support, WeighedAnswer
from eqa_nodes.core.types.samples import EpisodeResult, Sample
from sim_bridge.registry import Truth

if TYPE_CHECKING:
    from eqa_nodes.runners.in_process import InProcessRunner

TRIALS = "trials.jsonl"
_MEMORY = Path("/dev/shm")  # where there is one, nothing waits for a disk: these memories are thrown away
RIGHT = 4.0  # marks from here on count as right
_NOISE = "memory.perception.noise."
NOISE: Mapping[str, Mapping[str, float]] = {
    "none": {}, "moderate": {f"{_NOISE}miss": 0.2, f"{_NOISE}confuse": 0.1, f"{_NOISE}range_m": 4.5},
    "heavy": {f"{_NOISE}miss": 0.4, f"{_NOISE}confuse": 0.25, f"{_NOISE}range_m": 3.5},
    "severe": {f"{_NOISE}miss": 0.5, f"{_NOISE}confuse": 0.5, f"{_NOISE}range_m": 3.5}}


class Arm(NamedTuple):
    """A setting of the chain: what is compared. parameters: {node: {dotted name: value}}, JSON values only."""

    name: str
    noise: str
    parameters: Mapping[str, Mapping[str, Any]]


class GradedAnswer(NamedTuple):
    """A weighed answer and whether it was right."""

    text: str
    support: Support
    right: bool


@dataclass(frozen=True)
class Trial:
    """What became of one question under one arm. text "": no answer; floor_m2: floor that was explored.

    calls: of a model; where none was asked, batches that one would have been asked: the rooms once, the first look,
    views after each drive, answers. images: that were shown to it.
    """

    question: str
    house: str
    arm: str
    noise: str
    weighed: tuple[GradedAnswer, ...]
    text: str
    score: QuestionScore
    floor_m2: float = 0.0
    calls: int = 0
    images: int = 0

    @property
    def mark(self) -> float:
        """The judge's mark, 1..5; a failed question has the lowest."""
        return 1.0 if self.score.sigma is None else self.score.sigma

    @property
    def answered(self) -> bool:
        """Whether an answer was given; partial results of a failed question do not count."""
        return bool(self.text) and not self.score.error

    @property
    def right(self) -> bool:
        """Whether the answer given is right."""
        return self.mark >= RIGHT

    @property
    def correctness(self) -> float:
        """C of OpenEQA, 0..1."""
        return openeqa_c(self.mark)


class _Task(NamedTuple):
    sample: Sample
    arm: Arm
    limits: Limits


def noise_of(name: str) -> dict[str, float]:
    """Return the memory node's parameters of a noise preset. Raises ConfigError."""
    if name not in NOISE:
        raise ConfigError(unknown("noise", name, NOISE))
    return dict(NOISE[name])


def run_trials(samples: Sequence[Sample], arms: Sequence[Arm], out: Path, limits: Limits, workers: int = 2,
               progress: Callable[[int], None] = lambda done: None) -> list[Trial]:
    """Ask every question under every arm, house by house on `workers` processes; return the trials in their order.

    What `out` already holds is not asked again: each trial is on the disk when it has ended. progress: hears how many
    there are after each.
    Raises ConfigError for fewer than one worker, EqaError when each of the first HOPELESS episodes fails, and what an
    episode raises.
    """
    if workers < 1:
        raise ConfigError(f"episodes need at least one worker process, got {workers}")
    have = {(t.arm, t.question): t for t in read_trials(out)}
    tasks = [_Task(sample, arm, limits) for _, group in groupby(samples, key=lambda s: s.scene)
             for house in (list(group),) for arm in arms for sample in house if (arm.name, sample.id) not in have]
    progress(len(have))
    first: list[Trial] = []
    if tasks:
        with (LineWriter(out / TRIALS) as lines, one_thread_each(),
              get_context("spawn").Pool(min(workers, len(tasks))) as pool):
            for trial in pool.imap_unordered(_carry_out, tasks):
                lines.append(trial)
                have[trial.arm, trial.question] = trial
                progress(len(have))
                first += [trial] * (len(first) < HOPELESS)
                if len(first) == HOPELESS and all(one.score.status == "failed" for one in first):
                    raise EqaError(f"each of the first {HOPELESS} episodes failed, the last one with "
                                   f"{first[-1].score.error}: {first[-1].score.note}")
    return [have[arm.name, sample.id] for arm in arms for sample in samples]


def read_trials(out: Path) -> list[Trial]:
    """Return the trials that a directory holds; a half-written last line is left out. Raises StorageError."""
    return read_lines(out / TRIALS, Trial, "run the trial").values


def _carry_out(task: _Task) -> Trial:
    from eqa_nodes.runners.in_process import InProcessRunner

    with TemporaryDirectory(dir=_MEMORY if _MEMORY.is_dir() else None) as folder:
        parameters = merged(None, task.arm.parameters, {"memory": {"folder": folder}})
        with closing(InProcessRunner(parameters, task.limits)) as runner:
            return _asked(runner, task.sample, task.arm)


def _asked(runner: InProcessRunner, sample: Sample, arm: Arm) -> Trial:
    with counted() as spent:
        result = runner.run(sample)
    return _trial(result, sample, arm, sum(one.images for one in spent))


def _trial(result: EpisodeResult, sample: Sample, arm: Arm, images: int) -> Trial:
    answer, trace = result.answer, result.trace
    assert trace is not None
    text = "" if answer.abstained else answer.text
    weighed = tuple(_judged(sample, w) for _, w in trace.weighed)
    with closing(Truth()) as truth:
        score = question_score(sample, Prediction(sample.id, answer, result.final_pose), OfflineJudge(), truth)
    score = replace(score, seconds=0.0)  # the same episode is the same trial, however fast the machine
    return Trial(sample.id, sample.scene, arm.name, arm.noise, weighed, text, score, _explored_m2(trace.grid),
                 answer.receipt.calls or 2 + len(trace.decisions) + len(trace.weighed), images)


def _explored_m2(grid: GridMap | None) -> float:
    if grid is None:
        return 0.0
    return round(int(np.count_nonzero(grid.explored & (grid.cells == 0))) * grid.resolution_m ** 2, 2)


def _judged(sample: Sample, weighed: WeighedAnswer) -> GradedAnswer:
    return GradedAnswer(weighed.text, weighed.support, mark_of(sample, weighed.text) >= RIGHT)


def mark_of(sample: Sample, text: str) -> float:
    """Return the offline judge's mark, 1..5."""
    mark = OfflineJudge().judge(sample, text).sigma
    assert mark is not None, "the offline judge marks everything"
    return mark
