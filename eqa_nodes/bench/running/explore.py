"""Compares exploration policies on the same questions: means with intervals, and paired differences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from eqa_nodes.bench.metrics.formulas import MeanInterval, paired_difference, shown, summary
from eqa_nodes.bench.metrics.scores import RESAMPLES
from eqa_nodes.bench.metrics.values import value_of
from eqa_nodes.bench.running.trials import Trial

BASELINES, WHOLE = ("frontier", "express-frontier", "fine-eqa"), "best"
# Our own policy with a part switched off: {name of the arm: parameters of the explorer}.
ABLATIONS: Mapping[str, Mapping[str, object]] = {
    "best, no rooms": {"params.best.rooms": False},
    "best, no looks": {"params.best.looks": False},
    "best, no second look": {"params.best.confirm": False},
    "best, straight lines": {"params.best.straight": True},
    "best, no keeping": {"params.best.switch": 1.0},
}


class MetricColumn(NamedTuple):
    """A figure of the table: heading, factor, digits, and the value of one trial (None: not in the mean)."""

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
PAIRED = ("E_path %", "EXPRESS C %", "C %")


class ArmRow(NamedTuple):
    """One arm: its figures in the order of COLUMNS, and how its questions ended."""

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
    """Return a row for each noise and arm, in the order in which they come."""
    return [_row(group) for group in _by_arm(trials).values()]


def pairs(trials: Sequence[Trial]) -> list[ArmComparison]:
    """Return every policy against the baselines, and every ablation against the whole, under the same noise."""
    arms = _by_arm(trials)
    return [_pair(arms[noise, name], arms[noise, other]) for noise, name in arms
            for other in ((WHOLE,) if name in ABLATIONS else BASELINES) if other != name and (noise, other) in arms]


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

    There is none of one question, or where every question has the same values.
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


def tables(trials: Sequence[Trial]) -> str:
    """Return all figures as Markdown."""
    parts = []
    for noise in dict.fromkeys(t.noise for t in trials):
        rows = [r for r in arm_rows(trials) if r.noise == noise]
        parts.append(f"### Noise: {noise}\n\n{_means(rows)}")
        found = [p for p in pairs(trials) if p.noise == noise]
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
