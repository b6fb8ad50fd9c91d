"""The score table, described once: for the terminal, as markdown, as JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from rich.table import Table

from eqa_nodes.bench.metrics import Summary
from eqa_nodes.bench.scores import Row, Scores


class Column(NamedTuple):
    """A heading and how to fill it from a row; None shows as a dash."""

    heading: str
    cell: Callable[[Row], str]


def _percent(name: str, interval: bool = False) -> Callable[[Row], str]:
    def cell(row: Row) -> str:
        s = row.metrics[name]
        if s.mean is None or s.low is None or s.high is None:
            return "–"
        return f"{100 * s.mean:.1f}" + (f" [{100 * s.low:.1f}, {100 * s.high:.1f}]" if interval else "")

    return cell


def _mean(name: str, digits: int) -> Callable[[Row], str]:
    return lambda row: "–" if row.metrics[name].mean is None else f"{row.metrics[name].mean:.{digits}f}"


def _scored(row: Row) -> str:
    return f"{row.metrics['openeqa_c'].n}/{row.questions}"


COLUMNS = (
    Column("questions", lambda row: row.name),
    Column("n", _scored),
    Column("C % [95 %]", _percent("openeqa_c", interval=True)),
    Column("blind C %", _percent("blind_c")),
    Column("E % steps", _percent("openeqa_e_steps")),
    Column("E % metres", _percent("openeqa_e_metres")),
    Column("steps", _mean("steps", 1)),
    Column("metres", _mean("metres", 1)),
    Column("seconds", _mean("seconds", 1)),
    Column("calls", _mean("calls", 1)),
    Column("abstained", lambda row: str(row.abstained)),
    Column("unscored", lambda row: str(row.unscored)),
    Column("failed", lambda row: str(row.failed)),
)


def rich_table(scores: Scores) -> Table:
    """Return the table for a terminal."""
    table = Table(title=f"{scores.dataset or 'questions'}, judge {scores.judge}", caption="\n".join(footnotes(scores)),
                  caption_justify="left")
    for column in COLUMNS:
        table.add_column(column.heading, justify="left" if column is COLUMNS[0] else "right", no_wrap=True)
    for row in scores.rows:
        table.add_row(*(column.cell(row) for column in COLUMNS), style="bold" if row.name == "all" else "")
    return table


def markdown_table(scores: Scores) -> str:
    """Return the same table as markdown, with its footnotes."""
    lines = ["| " + " | ".join(c.heading for c in COLUMNS) + " |", "|---|" + "---:|" * (len(COLUMNS) - 1)]
    lines += ["| " + " | ".join(c.cell(row) for c in COLUMNS) + " |" for row in scores.rows]
    return "\n".join([*lines, "", *footnotes(scores)]) + "\n"


def json_table(scores: Scores) -> list[dict[str, str]]:
    """Return the same table as rows of heading -> text; the numbers in full are in scores.json."""
    return [{column.heading: column.cell(row) for column in COLUMNS} for row in scores.rows]


def footnotes(scores: Scores) -> list[str]:
    """Return what a reader must know to read the table: who judged, what is missing, what was privileged."""
    row = scores.rows[0]
    notes = [f"judge: {scores.judge} (sha256 {scores.judge_sha256[:12]}); n: questions in the mean of C / asked"]
    gain = row.metrics["gain_over_blind"]
    if gain.mean is not None:
        notes.append(f"C above blind: {_points(gain)}, the same {gain.n} questions for both")
    if row.failed:
        notes.append(f"{row.failed} failed questions are in no mean; with mark 1 for each, C is "
                     f"{_percent('openeqa_c_failed_lowest')(row)}")
    if row.missing:
        notes.append(f"{row.missing} questions have not been asked yet")
    if scores.privileged:
        notes.append(f"privileged: {', '.join(scores.privileged)} (knows what a robot in the world would not)")
    return notes


def _points(s: Summary) -> str:
    assert s.mean is not None
    assert s.low is not None
    assert s.high is not None
    return f"{100 * s.mean:+.1f} [{100 * s.low:+.1f}, {100 * s.high:+.1f}]"
