"""Runs many short episodes in process under several settings, to compare exploration policies."""

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
from eqa_nodes.core.storage.json_lines import LineWriter, read_lines
from eqa_nodes.core.types.floor import GridMap
from eqa_nodes.core.types.questions import Limits, Support, WeighedAnswer
from eqa_nodes.core.types.samples import EpisodeResult, Sample
from sim_bridge.registry import Truth

if TYPE_CHECKING:
    from eqa_nodes.runners.in_process import InProcessRunner
from eqa_nodes.bench.metrics.formulas import MeanInterval, paired_difference, shown, summary
from eqa_nodes.bench.metrics.scores import RESAMPLES
from eqa_nodes.bench.metrics.values import value_of

TRIALS = "trials.jsonl"
_MEMORY = Path("/dev/shm")  # if it exists, no disk access is needed: these memories are temporary
RIGHT = 4.0  # mark from which an answer counts as right
_NOISE = "memory.perception.noise."
NOISE: Mapping[str, Mapping[str, float]] = {
    "none": {}, "moderate": {f"{_NOISE}miss": 0.2, f"{_NOISE}confuse": 0.1, f"{_NOISE}range_m": 4.5},
    "heavy": {f"{_NOISE}miss": 0.4, f"{_NOISE}confuse": 0.25, f"{_NOISE}range_m": 3.5},
    "severe": {f"{_NOISE}miss": 0.5, f"{_NOISE}confuse": 0.5, f"{_NOISE}range_m": 3.5}}


class Arm(NamedTuple):
    """A configuration to compare. parameters: {node: {dotted name: value}}, JSON values only."""

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
    """The result of one question under one arm. text: "" = no answer; floor_m2: explored floor area.

    calls: number of model calls; without a model, the batches that it would have received: the rooms once, the first
    look, views after each drive, answers. images: number of images in them.
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
        """The judge's mark, 1..5; 1 for a failed question."""
        return 1.0 if self.score.sigma is None else self.score.sigma

    @property
    def answered(self) -> bool:
        """Return whether an answer was given; partial results of a failed question do not count."""
        return bool(self.text) and not self.score.error

    @property
    def right(self) -> bool:
        """Return whether the given answer is right."""
        return self.mark >= RIGHT

    @property
    def correctness(self) -> float:
        """OpenEQA's C, 0..1."""
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
    """Ask every question under every arm, house by house on `workers` processes; return the trials in order.

    Trials that are already in `out` are not repeated: each is on the disk when it ends. progress: receives the number
    of trials after each.
    Raises ConfigError for fewer than one worker, EqaError if all of the first HOPELESS episodes fail, and the errors of
    an episode.
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
    """Read the trials of a directory; an incomplete last line is left out. Raises StorageError."""
    return read_lines(out / TRIALS, Trial, "run the trial").values


def _carry_out(task: _Task) -> Trial:
    from eqa_nodes.runners.in_process import InProcessRunner

    with TemporaryDirectory(dir=_MEMORY if _MEMORY.is_dir() else None) as folder:
        parameters = merged(None, task.arm.parameters, {"memory": {"folder": folder}})
        with closing(InProcessRunner(parameters, task.limits)) as runner:
            return _asked(runner, task.sample, task.arm)


def _asked(runner: InProcessRunner, sample: Sample, arm: Arm) -> Trial:
    result = runner.run(sample)
    images = sum(len(call.pictures) for call in result.trace.calls) if result.trace is not None else 0
    return _trial(result, sample, arm, images)


def _trial(result: EpisodeResult, sample: Sample, arm: Arm, images: int) -> Trial:
    answer, trace = result.answer, result.trace
    assert trace is not None
    text = "" if answer.abstained else answer.text
    weighed = tuple(_judged(sample, w) for _, w in trace.weighed)
    with closing(Truth()) as truth:
        score = question_score(sample, Prediction(sample.id, answer, result.final_pose), OfflineJudge(), truth)
    score = replace(score, seconds=0.0)  # trials do not depend on the speed of the machine
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


BASELINES, WHOLE = ("frontier", "express-frontier", "fine-eqa"), "best"
# Our own policy with one part disabled: {name of the arm: parameters of the explorer}.
ABLATIONS: Mapping[str, Mapping[str, object]] = {
    "best, not learned": {"params.best.learned": 0.0},
    "best, no rooms": {"params.best.rooms": False},
    "best, no looks": {"params.best.looks": False},
    "best, no second look": {"params.best.confirm": False},
    "best, straight lines": {"params.best.straight": True},
    "best, no keeping": {"params.best.switch": 1.0},
}


class MetricColumn(NamedTuple):
    """A column of the table: heading, factor, digits, and the value of one trial (None = excluded from the mean)."""

    heading: str
    factor: float
    digits: int
    of: Callable[[Trial], float | None]


def _metric(name: str) -> Callable[[Trial], float | None]:
    return lambda trial: value_of(trial.score, name)


COLUMNS = (
    MetricColumn("C %", 100, 1, _metric("openeqa_c")), MetricColumn("C* %", 100, 1, _metric("express_c_star")),
    MetricColumn("EXPRESS C %", 100, 1, _metric("express_c")),
    MetricColumn("E steps %", 100, 1, _metric("openeqa_e_steps")),
    MetricColumn("E_path %", 100, 1, _metric("express_e_path")), MetricColumn("d_T m", 1, 2, _metric("express_d_t")),
    MetricColumn("ACE %", 100, 1, _metric("ace")), MetricColumn("NPL %", 100, 1, _metric("npl")),
    MetricColumn("WCE %", 100, 1, _metric("wce")), MetricColumn("steps", 1, 0, _metric("steps")),
    MetricColumn("metres", 1, 1, _metric("metres")), MetricColumn("explored m2", 1, 0, lambda trial: trial.floor_m2),
    MetricColumn("calls", 1, 1, lambda trial: float(trial.calls)),
    MetricColumn("images", 1, 1, lambda trial: float(trial.images)),
    MetricColumn("tokens", 1, 0, lambda trial: float(trial.score.tokens)))
PAIRED = ("E_path %", "EXPRESS C %", "C %", "E steps %")


class ArmRow(NamedTuple):
    """One arm: its values in the order of COLUMNS, and how its questions ended."""

    noise: str
    name: str
    figures: tuple[MeanInterval, ...]
    questions: int
    abstained: int
    failed: int
    unreachable: int
    limited: int


class ArmComparison(NamedTuple):
    """One arm against another on the same questions: differences by PAIRED, and the ratio of the means of E_path."""

    noise: str
    name: str
    against: str
    differences: tuple[MeanInterval, ...]
    ratio: MeanInterval


def arm_rows(trials: Sequence[Trial]) -> list[ArmRow]:
    """Return a row for each noise and arm, in the order of their first trial."""
    return [_row(group) for group in _by_arm(trials).values()]


def pairs(trials: Sequence[Trial], against: Sequence[str] = BASELINES) -> list[ArmComparison]:
    """Compare every policy with some, and every ablation with the whole policy, under the same noise."""
    arms = _by_arm(trials)
    return [_pair(arms[noise, name], arms[noise, other]) for noise, name in arms
            for other in ((WHOLE,) if name in ABLATIONS else against) if other != name and (noise, other) in arms]


def _by_arm(trials: Sequence[Trial]) -> dict[tuple[str, str], list[Trial]]:
    arms: dict[tuple[str, str], list[Trial]] = {}
    for trial in trials:
        arms.setdefault((trial.noise, arm_name(trial)), []).append(trial)
    return {key: sorted(group, key=lambda t: t.question) for key, group in arms.items()}


def arm_name(trial: Trial) -> str:
    """Return the name of a trial's arm without its noise."""
    return trial.arm.removesuffix(f" ({trial.noise})")


def _row(group: Sequence[Trial]) -> ArmRow:
    figures = tuple(summary([c.of(t) for t in group], 0, RESAMPLES, share=c.factor == 100)
                    for c in COLUMNS)
    first = group[0]
    return ArmRow(first.noise, arm_name(first), figures, len(group), sum(t.score.status == "abstained" for t in group),
                  sum(t.score.status == "failed" for t in group), sum(t.score.reachable is False for t in group),
                  sum(bool(t.score.limit) for t in group))


def _pair(a: Sequence[Trial], b: Sequence[Trial]) -> ArmComparison:
    columns = [c for heading in PAIRED for c in COLUMNS if c.heading == heading]
    values = [([c.of(t) for t in a], [c.of(t) for t in b]) for c in columns]
    return ArmComparison(a[0].noise, arm_name(a[0]), arm_name(b[0]),
                         tuple(paired_difference(x, y, 0, RESAMPLES, share=True) for x, y in values),
                         ratio_of_means(*values[0]))


def ratio_of_means(a: Sequence[float | None], b: Sequence[float | None], seed: int = 0) -> MeanInterval:
    """Return mean(a) / mean(b) over the questions that both have a value for, with its 95 % bootstrap interval.

    There is no interval for one question, or if all questions have the same values.
    """
    both = np.array([(x, y) for x, y in zip(a, b, strict=True) if x is not None and y is not None])
    excluded = len(a) - len(both)
    if not len(both) or both[:, 1].mean() <= 0:
        return MeanInterval(None, None, None, len(both), excluded)
    mean = float(both[:, 0].mean() / both[:, 1].mean())
    if (both == both[0]).all():
        return MeanInterval(mean, None, None, len(both), excluded)
    drawn = both[np.random.default_rng(seed).integers(0, len(both), (RESAMPLES, len(both)))].mean(axis=1)
    low, high = np.percentile(drawn[:, 0] / np.maximum(drawn[:, 1], 1e-9), [2.5, 97.5])
    return MeanInterval(mean, float(low), float(high), len(both), excluded)


def tables(trials: Sequence[Trial], against: Sequence[str] = BASELINES) -> str:
    """Return all tables as Markdown. against: the arms that the others are compared with."""
    parts = []
    for noise in dict.fromkeys(t.noise for t in trials):
        rows = [r for r in arm_rows(trials) if r.noise == noise]
        parts.append(f"### Noise: {noise}\n\n{_means(rows)}")
        found = [p for p in pairs(trials, against) if p.noise == noise]
        if found:
            parts.append(_differences(found))
    return "\n".join(parts)


def _means(rows: Sequence[ArmRow]) -> str:
    heads = ["policy", *(c.heading for c in COLUMNS), "n", "abstained", "failed", "unreachable",
             "ended by a limit"]
    lines = [[r.name, *(_cell(s, c) for s, c in zip(r.figures, COLUMNS, strict=True)), str(r.questions),
              str(r.abstained), str(r.failed), str(r.unreachable), str(r.limited)] for r in rows]
    return _markdown(heads, lines)


def _differences(found: Sequence[ArmComparison]) -> str:
    heads = ["policy", "against", "E_path, times", *(f"{heading.removesuffix(' %')}, points" for heading in PAIRED)]
    return _markdown(heads, [[p.name, p.against, shown(p.ratio, 1, 2), *(shown(s, 100, 1) for s in p.differences)]
                             for p in found])


def _cell(s: MeanInterval, column: MetricColumn) -> str:
    with_interval = column.heading in PAIRED
    return shown(s if with_interval else s._replace(low=None, high=None), column.factor, column.digits)


def _markdown(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rule = ["---", *["---:"] * (len(heads) - 1)]
    return "".join("| " + " | ".join(line) + " |\n" for line in (heads, rule, *lines))
