"""Agreement between judges and people, and the dependence of a judge on its settings."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

from eqa_nodes.bench.judges.base import Judge, JudgeOptions
from eqa_nodes.bench.judges.cached import MARKS, CachedJudge, CachedMark, read_marks
from eqa_nodes.bench.judges.marking import mark_run, marks_at_once, open_judge
from eqa_nodes.bench.judges.prompts import CRITERIA, ROLES
from eqa_nodes.bench.metrics.formulas import openeqa_c
from eqa_nodes.bench.metrics.question_score import mark_answer
from eqa_nodes.bench.metrics.scores import SCORES, read_scores
from eqa_nodes.bench.running.predictions import read_predictions
from eqa_nodes.bench.running.runner import SAMPLES
from eqa_nodes.bench.samples import dataset_hash, read_samples
from eqa_nodes.core.components import JUDGES
from eqa_nodes.core.errors import ConfigError, StorageError, unknown
from eqa_nodes.core.storage.codec import loads, write_json
from eqa_nodes.core.types.questions import Answer
from eqa_nodes.core.types.samples import Sample

Marks = Mapping[str, float]  # by question id
RESAMPLES = 9999  # as in the supplement of OpenEQA, L
_BLOCK = 1 << 21  # number of values resampled at once


class Agreement(NamedTuple):
    """n: questions that both marked; left_out: questions that only one marked. rho None: fewer than two distinct marks.

    low, high: 95 % percentile interval over questions, None if all draws have the same rho. equal: share of equal
    marks, rounded to integers. confusion: [mark of a - 1][mark of b - 1] -> number of questions.
    """

    n: int
    left_out: int
    rho: float | None
    low: float | None
    high: float | None
    equal: float
    mean_a: float
    mean_b: float
    confusion: tuple[tuple[int, ...], ...]


def agreement(a: Marks, b: Marks, seed: int = 0, resamples: int = RESAMPLES) -> Agreement:
    """Compare two judges on the questions that both marked. Raises ConfigError if there are none."""
    both = sorted(a.keys() & b.keys())
    if not both:
        raise ConfigError("no question has both marks: do they belong to the same run?")
    x, y = (np.array([marks[i] for i in both], np.float64) for marks in (a, b))
    rho = _finite(float(spearman(x[None], y[None])[0]))
    low, high = (None, None) if rho is None else _interval(x, y, seed, resamples)
    whole = np.rint(x).astype(int).clip(1, 5), np.rint(y).astype(int).clip(1, 5)
    table = np.zeros((5, 5), int)
    np.add.at(table, (whole[0] - 1, whole[1] - 1), 1)
    return Agreement(len(both), len(a.keys() ^ b.keys()), rho, low, high, float(np.trace(table)) / len(both),
                     float(x.mean()), float(y.mean()), tuple(tuple(int(n) for n in row) for row in table))


def rho_of(a: Marks, b: Marks) -> float | None:
    """Return Spearman's rho over the questions that both marked; None if one has fewer than two distinct marks."""
    both = sorted(a.keys() & b.keys())
    if not both:
        return None
    x, y = (np.array([[marks[i] for i in both]], np.float64) for marks in (a, b))
    return _finite(float(spearman(x, y)[0]))


def against_others(people: Mapping[str, Marks], seed: int = 0, resamples: int = RESAMPLES) -> dict[str, Agreement]:
    """Compare each person with the mean mark of the others for each question (OpenEQA, supplement, L).

    Raises ConfigError if a person has no marked question in common with the others.
    """
    return {name: agreement(own, _pooled([marks for other, marks in people.items() if other != name]), seed, resamples)
            for name, own in people.items()}


def _pooled(marks: Sequence[Marks]) -> Marks:
    """Return the mean mark of each question."""
    given = {name: [own[name] for own in marks if name in own] for own in marks for name in own}
    return {name: sum(values) / len(values) for name, values in given.items()}


def spearman(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return (B,) Spearman's rho of the rows of two (B, n) arrays; ties share their mean rank; NaN for constant rows.

    Computed as Pearson's correlation of the ranks, which is exact for ties.
    """
    rx, ry = (rankdata(values, axis=1) - (values.shape[1] + 1) / 2 for values in (x, y))
    with np.errstate(invalid="ignore", divide="ignore"):
        rho = (rx * ry).sum(axis=1) / np.sqrt((rx * rx).sum(axis=1) * (ry * ry).sum(axis=1))
    clipped: np.ndarray = rho.clip(-1.0, 1.0)
    return clipped


def _interval(x: np.ndarray, y: np.ndarray, seed: int, resamples: int) -> tuple[float | None, float | None]:
    """Bootstrap over questions; a draw without two distinct marks has no rho and is left out."""
    rng = np.random.default_rng(seed)
    rows, rhos = max(1, _BLOCK // x.size), []
    for at in range(0, resamples, rows):
        drawn = rng.integers(0, x.size, (min(rows, resamples - at), x.size))
        rhos.append(spearman(x[drawn], y[drawn]))
    found = np.concatenate(rhos)
    found = found[np.isfinite(found)]
    low, high = np.percentile(found, [2.5, 97.5]) if found.size else (np.nan, np.nan)
    if low == high:  # at full agreement every draw agrees, which gives no certainty about other questions
        return None, None
    return _finite(float(low)), _finite(float(high))


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None


class HumanMark(NamedTuple):
    """An answer that a person marked, with its question and reference."""

    sample: Sample
    answer: str
    mark: float


def marks_of(name: str, run: Path) -> Marks:
    """Return the marks of a run's answers: by an offline judge, by a judge whose marks the run has kept (given by the
    beginning of its name or version), or from a file: scores.json, OpenEQA's {id: mark}, or a CSV of people.

    Raises ConfigError for a judge without marks, StorageError for an unreadable file.
    """
    if marks_at_once(name):
        return _marks_now(open_judge(name), run)
    if Path(name).is_file():
        return human_marks(Path(name), run) if name.endswith(".csv") else _marks_in(Path(name))
    kept = read_marks(run / MARKS)
    found = {k.version: k.judge for k in kept if k.judge.startswith(name) or k.version.startswith(name)}
    if len(found) != 1:
        known = {k.version: k.judge for k in kept}
        there = ", ".join(sorted(f"{judge} [{version[:12]}]" for version, judge in known.items()))
        raise ConfigError(f"{'several judges begin' if found else 'no judge begins'} with {name!r}: "
                          f"{run} has marks of {there or 'none'}; at once work "
                          f"{', '.join(filter(marks_at_once, JUDGES))}")
    return _marks_kept([k for k in kept if k.version in found], run)


def human_marks(path: Path, run: Path | None = None) -> Marks:
    """Read a CSV with the columns id and mark, as written by the marking page; empty marks are skipped.

    If there is a column answer, marks of answers that the run does not have (any more) are left out.
    Raises StorageError that names the line.
    """
    answers = {} if run is None else {i: p.answer.text for i, p in read_predictions(run).predictions.items()}
    marks = {}
    for number, row in _rows(path, ("id", "mark")):
        stale = run is not None and row.get("answer") is not None and answers.get(row["id"]) != row["answer"]
        if row["mark"].strip() and not stale:
            marks[row["id"]] = _mark(path, number, row["mark"])
    return marks


def read_pairs(path: Path) -> list[HumanMark]:
    """Read a CSV with the columns question, reference, answer and mark. Raises StorageError that names the line."""
    return [HumanMark(Sample(f"{number}", row["question"], row["reference"]), row["answer"],
                      _mark(path, number, row["mark"]))
            for number, row in _rows(path, ("question", "reference", "answer", "mark"))]


def marks_on_pairs(judge: Judge, pairs: Sequence[HumanMark]) -> Marks:
    """Return a judge's marks of the pairs, without unscored pairs."""
    marked = {p.sample.id: mark_answer(judge, p.sample, Answer(p.answer)).sigma for p in pairs}
    return {i: sigma for i, sigma in marked.items() if sigma is not None}


def _rows(path: Path, columns: Sequence[str]) -> list[tuple[int, dict[str, str]]]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file, restval="")
            if missing := [c for c in columns if c not in (reader.fieldnames or ())]:
                raise StorageError(f"{path} has no column {missing[0]!r}: it needs {', '.join(columns)}")
            return [(reader.line_num, row) for row in reader]
    except (OSError, ValueError, csv.Error) as error:
        raise StorageError(f"cannot read {path}: {error}") from error


def _mark(path: Path, number: int, text: str) -> float:
    try:
        mark = float(text)
    except ValueError:
        mark = 0.0
    if not 1 <= mark <= 5:
        raise StorageError(f"{path}, line {number}: the mark {text!r} is not a number from 1 to 5")
    return mark


def _marks_now(judge: Judge, run: Path) -> Marks:
    predictions = read_predictions(run).predictions
    samples = [s for s in read_samples(run / SAMPLES) if s.id in predictions and not predictions[s.id].failed]
    marked = {s.id: mark_answer(judge, s, predictions[s.id].answer).sigma for s in samples}
    return {i: sigma for i, sigma in marked.items() if sigma is not None}


def _marks_in(path: Path) -> Marks:
    if path.name == SCORES:
        return {q.id: q.sigma for q in read_scores(path.parent).questions if q.sigma is not None}
    try:
        return {str(i): float(mark) for i, mark in loads(path.read_text(encoding="utf-8")).items()}
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise StorageError(f"{path} is not a scores file {{question id: mark}}: {error}") from error


def _marks_kept(kept: Sequence[CachedMark], run: Path) -> Marks:
    """Return the kept marks of the run's answers; an abstention was marked as no answer."""
    sigma = {(k.sample, k.answer): k.sigma for k in kept if k.sigma is not None}
    predictions = read_predictions(run).predictions
    keys = {s.id: (dataset_hash((s,)), "" if p.answer.abstained else p.answer.text)
            for s in read_samples(run / SAMPLES) if (p := predictions.get(s.id)) is not None and not p.failed}
    return {i: found for i, key in keys.items() if (found := sigma.get(key)) is not None}


ROBUSTNESS = "robustness.json"
TEMPERATURES = (0.01, 0.1, 0.2, 0.3)  # table 10
SEEDS = (1, 2, 3)  # seeds of the model's sampling besides the base's; only used above temperature 0
AXES = ("role", "criterion", "temperature", "seed", "model")


@dataclass(frozen=True)
class Variant:
    """One setting of the judge on the same answers. c: mean of (sigma - 1) / 4, None if nothing was marked.

    rho, low, high, equal: against the base judge; None if too few answers were marked or all marks are equal.
    confusion: [mark of the base - 1][mark of this setting - 1] -> number of answers; () for the base itself. rhos: rho
    with each setting of the study in order, the base first.
    """

    axis: str
    value: str
    judge: str
    version: str
    marked: int
    unscored: int
    c: float | None
    rho: float | None = None
    low: float | None = None
    high: float | None = None
    equal: float | None = None
    confusion: tuple[tuple[int, ...], ...] = ()
    rhos: tuple[float | None, ...] = ()


def variants(base: JudgeOptions, axes: Sequence[str],
             models: Sequence[str] = ()) -> list[tuple[str, str, JudgeOptions]]:
    """Return axis, value and options: the base first, then the other values of each axis, one changed at a time.

    models: values of the axis model. Raises ConfigError for an unknown axis, or the axis model without models.
    """
    found = [("base", "", base)]
    for axis in axes:
        if axis == "role":
            found += [(axis, v, replace(base, role=v)) for v in ROLES]
        elif axis == "criterion":
            found += [(axis, v, replace(base, criterion=v)) for v in CRITERIA]
        elif axis == "temperature":
            found += [(axis, f"{t:g}", replace(base, model=replace(base.model, temperature=t))) for t in TEMPERATURES]
        elif axis == "seed":
            found += [(axis, f"{s}", replace(base, model=replace(base.model, seed=s))) for s in SEEDS]
        elif axis == "model":
            if not models:
                raise ConfigError("which models? Name them: --models gpt-4o,gpt-4o-mini")
            found += [(axis, m, replace(base, model=replace(base.model, model=m))) for m in models]
        else:
            raise ConfigError(unknown("axis", axis, AXES))
    return [v for v in found if v[0] == "base" or v[2] != base]


def sweep(run: Path, judge: str, base: JudgeOptions, axes: Sequence[str], *, models: Sequence[str] = (),
          threads: int = 8, limit: int = 0, seed: int = 0,
          progress: Callable[[str, int, int], None] = lambda variant, done, total: None,
          open_named: Callable[[str, JudgeOptions], Judge] = open_judge) -> list[Variant]:
    """Mark the first `limit` answers of a run (0 = all) under every variant, and write robustness.json.

    Marks are kept as by `bench score`: no call is paid twice, and the sweep can be resumed after a kill. A budget
    applies to each variant. Raises ConfigError, StorageError.
    """
    rows: list[Variant] = []
    kept: list[Marks] = []
    for axis, value, options in variants(base, axes, models):
        what = f"{axis} {value}".strip()
        with CachedJudge(open_named(judge, options), run / MARKS) as cached:
            marked = mark_run(run, cached, threads, limit, partial(progress, what))
        scored = [q for q in marked if q.status != "failed"]
        marks = {q.id: q.sigma for q in scored if q.sigma is not None}
        c = sum(openeqa_c(sigma) for sigma in marks.values()) / len(marks) if marks else None
        row = Variant(axis, value, cached.name, cached.version, len(marks), len(scored) - len(marks), c)
        kept.append(marks)
        if rows and marks.keys() & kept[0].keys():
            same = agreement(kept[0], marks, seed)
            row = replace(row, rho=same.rho, low=same.low, high=same.high, equal=same.equal,
                          confusion=same.confusion)
        rows.append(row)
    rows = [replace(row, rhos=tuple(rho_of(own, other) for other in kept)) for row, own in zip(rows, kept, strict=True)]
    write_json(run / ROBUSTNESS, rows)
    return rows
