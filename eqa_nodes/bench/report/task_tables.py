"""The score tables of tasks: by family, and by required steps."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from eqa_nodes.bench.metrics.formulas import shown
from eqa_nodes.bench.metrics.scores import Row, Scores
from eqa_nodes.bench.metrics.task_totals import StepBin, TaskTotals, by_required_steps, task_totals
from eqa_nodes.bench.report.text_tables import terminal_table

HEADINGS = ("family", "n", "Succ. %\n[95 %]", "GcS %", "SPL %", "no\noption %", "out of\nrange %", "inter-\nactions %",
            "of them\ndone %", "steps", "metres", "seconds", "calls", "failed")
NOTES = (
    "Succ.: all predicates true; GcS: share of them; SPL: Succ. by required steps / steps; rounded and weighted as by "
    "EmbodiedEval's metrics.py",
    "no option, out of range: tasks that ended with such a reply; interactions: per 100 tasks")


def is_of_tasks(scores: Scores) -> bool:
    """Return whether a run carried out tasks."""
    return bool(scores.rows[0].metrics["succ"].n)


def task_tables(scores: Scores, title: str) -> list[Table]:
    """Return the tables for the terminal."""
    whole, *families = task_cells(scores)
    tables = [terminal_table(HEADINGS, [*families, whole], title=title, bold=[len(families)])]
    if bins := by_required_steps(scores.questions):
        tables.append(terminal_table(("required steps", *(f"{b.first}-{b.last}" for b in bins)), _of_bins(bins)))
    return tables


def task_cells(scores: Scores) -> list[list[str]]:
    """Return the cells below HEADINGS, those of all tasks first."""
    rows = {row.name: row for row in scores.rows}
    totals = task_totals(scores.questions)  # one family has no row of its own
    return [_cells(each, rows.get(each.family, scores.rows[0])) for each in (totals[-1:] + totals[:-1])]


def _cells(totals: TaskTotals, row: Row) -> list[str]:
    spl = "–" if totals.spl is None else f"{totals.spl:.2f}"
    return [totals.family, str(totals.tasks), shown(row.metrics["succ"], 100, 2), f"{totals.gcs:.2f}", spl,
            f"{totals.no_match:.2f}", f"{totals.out_of_range:.2f}", f"{totals.interaction_rate:.2f}",
            f"{totals.interaction_accuracy:.2f}",
            *(_mean(row, each) for each in ("steps", "metres", "seconds", "calls")), str(row.failed)]


def _mean(row: Row, name: str) -> str:
    mean = row.metrics[name].mean
    return "–" if mean is None else f"{mean:.1f}"


def _of_bins(bins: Sequence[StepBin]) -> list[list[str]]:
    return [["tasks", *(str(b.tasks) for b in bins)],
            ["Succ. %", *(f"{100 * b.done / b.tasks:.2f}" for b in bins)]]
