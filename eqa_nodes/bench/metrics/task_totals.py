"""Totals of tasks by family, with the rounding and the means of EmbodiedEval's metrics.py, and by required steps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from eqa_nodes.bench.metrics.question_score import QuestionScore
from eqa_nodes.bench.metrics.values import METRICS

ALL = "all"
NO_MATCH, OUT_OF_RANGE = "no option match", "option out of range"
BIN_STEPS = 4  # width of the groups by required steps


class TaskTotals(NamedTuple):
    """Totals of a family, or of all; shares in per cent, None = no task has a value.

    spl: in steps, over tasks whose required steps are known; interactions per 100 tasks: interaction_rate; accuracy of
    interactions: share of those that succeeded, of all tasks the mean of the families weighted by their tasks;
    no_match, out_of_range: tasks that ended with such a reply.
    """

    family: str
    tasks: int
    succ: float
    gcs: float
    spl: float | None
    interaction_rate: float
    interaction_accuracy: float
    no_match: float
    out_of_range: float
    steps: float


def task_totals(questions: Iterable[QuestionScore]) -> list[TaskTotals]:
    """Return the totals of each family in the order of names, then of all; without tasks that failed with an error."""
    done = [q for q in questions if q.predicates and q.status != "failed"]
    families = [_of_family(name, [q for q in done if q.category == name])
                for name in sorted({q.category for q in done})]
    return [*families, _of_all(families, done)] if families else []


def _of_family(name: str, tasks: Sequence[QuestionScore]) -> TaskTotals:
    lengths = [value for q in tasks if (value := METRICS["task_spl"](q)) is not None]
    counts = [q.counts for q in tasks if q.counts is not None]
    interactions = sum(c.interactions for c in counts)
    return TaskTotals(
        name, len(tasks), _percent(sum(_value(q, "succ") for q in tasks), len(tasks)),
        _percent(sum(_value(q, "gcs") for q in tasks), len(tasks)),
        _percent(sum(lengths), len(lengths)) if lengths else None,
        _percent(interactions, len(tasks)), _percent(sum(c.succeeded for c in counts), interactions),
        _percent(sum(c.ended_by == NO_MATCH for c in counts), len(tasks)),
        _percent(sum(c.ended_by == OUT_OF_RANGE for c in counts), len(tasks)),
        round(sum(q.steps for q in tasks) / len(tasks), 2))


def _of_all(families: Sequence[TaskTotals], tasks: Sequence[QuestionScore]) -> TaskTotals:
    """Return the means over families weighted by their tasks, which the published scorer takes of rounded values."""
    def mean(of: Sequence[tuple[float, int]]) -> float:
        return sum(value * n for value, n in of) / sum(n for _, n in of)

    whole = {name: mean([(getattr(f, name), f.tasks) for f in families])
             for name in ("succ", "gcs", "interaction_accuracy", "no_match", "out_of_range", "steps")}
    lengths = [(f.spl, f.tasks) for f in families if f.spl is not None]
    interactions = sum(q.counts.interactions for q in tasks if q.counts is not None)
    return TaskTotals(ALL, len(tasks), spl=mean(lengths) if lengths else None,
                      interaction_rate=_percent(interactions, len(tasks)), **whole)


class StepBin(NamedTuple):
    """Tasks that need from first to last steps, and how many of them were done."""

    first: int
    last: int
    tasks: int
    done: int


def by_required_steps(questions: Iterable[QuestionScore]) -> list[StepBin]:
    """Return success by required steps, in groups of BIN_STEPS (EmbodiedEval, figure 5)."""
    tasks = [q for q in questions if q.predicates and q.status != "failed" and q.reference_steps]
    bins = sorted({(int(q.reference_steps or 1) - 1) // BIN_STEPS for q in tasks})
    found = []
    for number in bins:
        held = [q for q in tasks if (int(q.reference_steps or 1) - 1) // BIN_STEPS == number]
        found.append(StepBin(number * BIN_STEPS + 1, (number + 1) * BIN_STEPS, len(held),
                             sum(_value(q, "succ") == 1 for q in held)))
    return found


def _value(q: QuestionScore, name: str) -> float:
    value = METRICS[name](q)
    assert value is not None  # it has predicates
    return value


def _percent(part: float, whole: int) -> float:
    return round(part / whole * 100, 2) if whole else 0.0
