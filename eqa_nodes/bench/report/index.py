"""The first part of report.html: one row for each episode, bars by category, costs, and failures by kind."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from typing import NamedTuple

from eqa_nodes.bench.metrics.question_score import QuestionScore
from eqa_nodes.bench.metrics.scores import Scores
from eqa_nodes.bench.running.predictions import Prediction
from eqa_nodes.core.types.samples import Sample

_ANSWER = 60  # characters of an answer in the list


class EpisodeRow(NamedTuple):
    """An episode in the list. href: of its page or its place on this one; text: what a search looks through."""

    number: int
    question: str
    answer: str
    category: str
    status: str
    mark: str
    seconds: float
    metres: float
    steps: int
    calls: int
    tokens: int
    money: float
    text: str
    href: str
    error: str
    message: str
    privileged: tuple[str, ...] = ()


class Bar(NamedTuple):
    """A row of the score table as a bar, all in per cent; e, blind: None where there is none."""

    name: str
    n: int
    c: float
    low: float
    high: float
    e: float | None
    blind: float | None
    title: str


class CostRow(NamedTuple):
    """What all questions together, and one of them, took."""

    name: str
    total: str
    mean: str
    median: str
    most: str


class Failures(NamedTuple):
    """Episodes that ended in one kind of error, and what the first of them says."""

    name: str
    message: str
    lines: tuple[EpisodeRow, ...]


def mark_of(prediction: Prediction, score: QuestionScore | None) -> str:
    """Return the mark as a class of the page: 1..5, failed, unscored or unmarked (not scored yet)."""
    if prediction.failed:
        return "failed"
    if score is None:
        return "unmarked"
    return "unscored" if score.sigma is None else f"{score.sigma:.0f}"


def episode_row(number: int, sample: Sample, prediction: Prediction, score: QuestionScore | None,
                href: str) -> EpisodeRow:
    """Return the row of an episode in the index."""
    answer, mark = prediction.answer, mark_of(prediction, score)
    status = mark if mark in ("failed", "unscored") else "abstained" if answer.abstained else "answered"
    text = " ".join((sample.id, sample.scene, sample.question, sample.answer, answer.text, answer.message)).lower()
    short = answer.text if len(answer.text) <= _ANSWER else answer.text[:_ANSWER - 2] + " …"
    r = answer.receipt
    return EpisodeRow(number, sample.question, short, sample.category, status, mark, r.seconds, r.metres, r.steps,
                      r.calls,
                      r.tokens_in + r.tokens_out, r.money, text, href, answer.error.name if prediction.failed else "",
                      answer.message, r.privileged)


def bars_of(scores: Scores) -> list[Bar]:
    """Return a bar for each category, and for all; none where nothing has a mark."""
    bars = []
    for row in scores.rows:
        c, e, blind = (row.metrics[name] for name in ("openeqa_c", "openeqa_e_metres", "blind_c"))
        if c.mean is not None and c.low is not None and c.high is not None:
            interval = f", 95 % {100 * c.low:.1f} to {100 * c.high:.1f}" if c.n > 1 else ""
            title = f"{row.name}: C {100 * c.mean:.1f} %{interval}, n {c.n}"
            bars.append(Bar(row.name, c.n, 100 * c.mean, 100 * c.low, 100 * c.high, _percent(e.mean),
                            _percent(blind.mean), title))
    return bars


def costs_of(lines: Sequence[EpisodeRow]) -> list[CostRow]:
    """Return the costs; zero costs are left out, such as calls where no model was used."""
    kinds: tuple[tuple[str, int, Callable[[EpisodeRow], float]], ...] = (
        ("model calls", 0, lambda x: x.calls), ("tokens", 0, lambda x: x.tokens),
        ("money, by the model's prices", 4, lambda x: x.money), ("seconds", 1, lambda x: x.seconds),
        ("metres", 1, lambda x: x.metres), ("steps", 0, lambda x: x.steps))
    rows = []
    for name, digits, of in kinds:
        values = [of(line) for line in lines]
        if any(values) or (values and name == "seconds"):
            cells = (sum(values), statistics.fmean(values), statistics.median(values), max(values))
            rows.append(CostRow(name, *(f"{value:,.{digits if k in (0, 3) else max(1, digits)}f}"
                                        for k, value in enumerate(cells))))
    return rows


def failures_of(lines: Sequence[EpisodeRow]) -> list[Failures]:
    """Return the kinds of errors, the most frequent first."""
    kinds: dict[str, list[EpisodeRow]] = {}
    for line in lines:
        if line.error:
            kinds.setdefault(line.error, []).append(line)
    found = [Failures(name, group[0].message, tuple(group)) for name, group in kinds.items()]
    return sorted(found, key=lambda kind: (-len(kind.lines), kind.name))


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share
