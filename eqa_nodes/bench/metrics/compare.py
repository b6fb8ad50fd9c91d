"""Comparison of two runs, paired by question: differences with intervals and significance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from eqa_nodes.bench.metrics.formulas import MeanInterval, paired_difference
from eqa_nodes.bench.metrics.intervals import holm, sign_flip_p
from eqa_nodes.bench.metrics.question_score import QuestionScore
from eqa_nodes.bench.metrics.scores import SCORES, Scores, read_scores
from eqa_nodes.bench.metrics.values import BOUNDED, METRICS, value_of
from eqa_nodes.bench.running.manifest import RunManifest, answered_by, commit_of, differing_settings, read_manifest
from eqa_nodes.bench.running.runner import SAMPLES
from eqa_nodes.bench.samples import read_samples
from eqa_nodes.core.errors import ConfigError, StorageError, unknown
from eqa_nodes.core.storage.codec import dumps
from eqa_nodes.core.types.samples import ALLOWED_POSES, Sample

LEVEL = 0.05  # adjusted p below which a difference counts as significant
OF_CATEGORIES = ("openeqa_c", "openeqa_e_metres", "express_c", "hm_eqa_accuracy", "succ")  # if they have values


@dataclass(frozen=True)
class Difference:
    """One metric over the questions that both runs have a value for; a, b: means; difference: of a - b.

    p: p value of the sign-flip test; adjusted: by Holm over the rows of its block (all questions, or the
    categories); rows that are proportional to each other count as one.
    """

    metric: str
    category: str
    a: float
    b: float
    difference: MeanInterval
    p: float
    adjusted: float

    @property
    def differs(self) -> bool:
        """Return whether the difference is significant."""
        return self.adjusted < LEVEL


@dataclass(frozen=True)
class ComparedRun:
    """One of the two runs. answerer: with the name of its model; asked: number of questions with a score.

    Only the common questions count in `without`.

    without: {"failed" | "abstained" | "unscored": ids that are so in this run but not in the other}.
    """

    run: str
    answerer: str
    judge: str
    dataset: str
    asked: int
    without: Mapping[str, tuple[str, ...]]
    privileged: tuple[str, ...] = ()


@dataclass(frozen=True)
class Comparison:
    """A comparison of two runs. common: questions that both asked with the same truth; notes: texts for the reader."""

    a: ComparedRun
    b: ComparedRun
    common: int
    both: Mapping[str, int]
    differences: tuple[Difference, ...]
    categories: tuple[Difference, ...]
    notes: tuple[str, ...]


class ScoredRun:
    """A run directory with its scores. Raises StorageError for one that is not scored yet."""

    def __init__(self, out: Path) -> None:
        if not (out / SCORES).exists():
            raise StorageError(f"{out} is not scored yet: eqa bench score {out}")
        self.out, self.scores, self.manifest = out, read_scores(out), read_manifest(out)
        self.samples = {s.id: s for s in read_samples(out / SAMPLES)}
        self.questions = {q.id: q for q in self.scores.questions}


def compare(a: Path, b: Path, *, metrics: Sequence[str] = (), any_judge: bool = False, seed: int = 0,
            resamples: int = 10_000) -> Comparison:
    """Compare two scored runs. metrics: names (default: all that both have values for and that differ anywhere).

    Raises ConfigError for runs without a common question, for different judges unless any_judge, and for an unknown
    metric; StorageError for a run that is not scored.
    """
    for name in metrics:
        if name not in METRICS:
            raise ConfigError(unknown("metric", name, METRICS))
    one, two = ScoredRun(a), ScoredRun(b)
    notes = _judges(one.scores, two.scores, any_judge)
    common, of_dataset = _common(one, two)
    notes += of_dataset + _settings(one.manifest, two.manifest)
    if not common:
        raise ConfigError(f"{a} and {b} have no scored question in common: nothing can be paired")
    pairs = [(one.questions[name], two.questions[name]) for name in common]
    names = list(metrics or METRICS)
    categories = sorted({q.category for q, _ in pairs if q.category})
    whole = _block(pairs, names, [""], seed, resamples, keep_equal=bool(metrics))
    parts = _block(pairs, [n for n in names if n in (metrics or OF_CATEGORIES)], categories, seed, resamples,
                   keep_equal=bool(metrics)) if len(categories) > 1 else ()
    states = {state: [(name, _is(one.questions[name], state), _is(two.questions[name], state)) for name in common]
              for state in ("failed", "abstained", "unscored")}
    return Comparison(_side(one, states, 0), _side(two, states, 1), len(common),
                      {state: sum(x and y for _, x, y in rows) for state, rows in states.items()},
                      whole, parts, tuple(notes))


def _judges(a: Scores, b: Scores, any_judge: bool) -> list[str]:
    if (a.judge, a.judge_sha256) == (b.judge, b.judge_sha256):
        return []
    which = f"{a.judge} ({a.judge_sha256[:12]}) and {b.judge} ({b.judge_sha256[:12]})"
    if not any_judge:
        raise ConfigError(f"the runs were marked by different judges, {which}: score both with one judge (eqa bench "
                          "score asks no question again), or say --any-judge")
    return [f"marked by different judges, {which}: a difference of marks may be one of judges"]


def _common(one: ScoredRun, two: ScoredRun) -> tuple[list[str], list[str]]:
    """Return the ids of questions that both have scored with the same truth, and notes on the other questions."""
    ids = [name for name in one.questions if name in two.questions]
    if one.manifest.dataset_sha256 == two.manifest.dataset_sha256:
        scored = len(ids)
        left = len(one.samples) - scored
        return ids, [f"{left} of {len(one.samples)} questions are not scored in both runs"] if left else []
    same = [name for name in ids if _truth(one.samples[name]) == _truth(two.samples[name])]
    notes = [f"different selections of questions ({len(one.samples)} of {one.manifest.dataset} and {len(two.samples)} "
             f"of {two.manifest.dataset}): compared are the {len(same)} that both asked"]
    if len(same) < len(ids):
        notes.append(f"{len(ids) - len(same)} questions have one id and another text, scene or truth: left out")
    return same, notes


def _truth(sample: Sample) -> str:
    """Return what identifies a question, without the allowed poses, which depend on files beside the data set."""
    metadata = {name: value for name, value in sample.metadata.items() if name != ALLOWED_POSES}
    return dumps(replace(sample, metadata=metadata))


def _settings(a: RunManifest, b: RunManifest) -> list[str]:
    differ = [name for name in ("task", "seed") if getattr(a, name) != getattr(b, name)]
    notes = [f"the runs have another {', '.join(differ)}"] if differ else []
    notes += [f"{name}: {one} in A, {two} in B" for name, one, two in differing_settings(a, b)]
    if a.commit != b.commit:
        notes.append(f"commit: {commit_of(a)} in A, {commit_of(b)} in B")
    return notes


def _block(pairs: Sequence[tuple[QuestionScore, QuestionScore]], names: Sequence[str], categories: Sequence[str],
           seed: int, resamples: int, keep_equal: bool) -> tuple[Difference, ...]:
    """Return every metric in every category ("" = all), p values adjusted for all of them together."""
    found = []
    for category in categories:
        chosen = [(x, y) for x, y in pairs if category in ("", x.category)]
        for name in names:
            values = [(u, v) for x, y in chosen
                      if (u := value_of(x, name)) is not None and (v := value_of(y, name)) is not None]
            if values and (keep_equal or any(u != v for u, v in values)):
                found.append((name, category, np.array(values, np.float64)))
    # Values that differ only by rounding (metres summed in another order) count as equal.
    which, tested = _tests([np.where(np.isclose(v[:, 0], v[:, 1], rtol=1e-12, atol=0.0), 0.0, v[:, 0] - v[:, 1])
                            for _, _, v in found])
    ps = [sign_flip_p(differences, seed) for differences in tested]
    adjusted = holm(ps)
    return tuple(Difference(name, category, float(v[:, 0].mean()), float(v[:, 1].mean()),
                            paired_difference(v[:, 0].tolist(), v[:, 1].tolist(), seed, resamples,
                                              share=name in BOUNDED), ps[k], adjusted[k])
                 for (name, category, v), k in zip(found, which, strict=True))


def _tests(rows: Sequence[np.ndarray]) -> tuple[list[int], list[np.ndarray]]:
    """Return the index of each row's test, and the tests: proportional rows (C and C*) share a test."""
    which, tested = list[int](), list[np.ndarray]()
    for row in rows:
        unit = row / (np.abs(row).max() or 1.0)
        same = [k for k, other in enumerate(tested) if other.shape == unit.shape and np.allclose(other, unit)]
        which.append(same[0] if same else len(tested))
        if not same:
            tested.append(unit)
    return which, tested


def _is(q: QuestionScore, state: str) -> bool:
    return q.unscored if state == "unscored" else q.status == state


def _side(run: ScoredRun, states: Mapping[str, Sequence[tuple[str, bool, bool]]], which: int) -> ComparedRun:
    only = {state: tuple(row[0] for row in rows if row[1 + which] and not row[2 - which])
            for state, rows in states.items()}
    return ComparedRun(str(run.out), answered_by(run.manifest), run.scores.judge, run.scores.dataset,
                       len(run.questions), only, run.scores.privileged)
