"""A comparison of two runs as a table for the terminal, and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from eqa_nodes.bench.metrics.compare import LEVEL, Comparison, Difference
from eqa_nodes.bench.metrics.formulas import shown
from eqa_nodes.bench.metrics.values import SHARES

HEADINGS = ("metric", "A", "B", "A - B [95 %]", "n", "p", "p, Holm")
_NAMED = 5  # maximum number of questions named in a line


def cells(row: Difference) -> tuple[str, ...]:
    """Return the cells of a row of the table. Shares are percentages, their differences percentage points."""
    factor, digits = (100, 1) if row.metric in SHARES else (1, 2)
    name = f"{row.metric}, {row.category}" if row.category else row.metric
    return (name + (" %" if factor == 100 else ""), f"{factor * row.a:.{digits}f}", f"{factor * row.b:.{digits}f}",
            shown(row.difference, factor, digits, "+"), str(row.difference.n), _p(row.p),
            _p(row.adjusted) + (" *" if row.differs else ""))


def footnotes(found: Comparison) -> Iterator[str]:
    """Yield notes for the reader: runs, questions, failures, and how p was computed."""
    for letter, side in (("A", found.a), ("B", found.b)):
        privileged = f"; privileged: {', '.join(side.privileged)}" if side.privileged else ""
        yield f"{letter}: {side.run}, {side.dataset or 'questions'}, {side.answerer}, judge {side.judge}{privileged}"
    yield f"{found.common} questions in both"
    yield from found.notes
    for state, both in found.both.items():
        only = [f"{len(side.without[state])} only in {letter}{_some(side.without[state])}"
                for letter, side in (("A", found.a), ("B", found.b)) if side.without[state]]
        if both or only:
            yield f"{state}: " + ", ".join([f"{both} in both", *only])
    yield ("intervals: paired bootstrap, or Newcombe's where all values are 0 or 1; p: sign-flip test of the paired "
           f"differences; * below {LEVEL:g} after Holm's correction for the rows of its table; metrics equal "
           "everywhere are left out")


def markdown(found: Comparison) -> str:
    """Return both tables and the footnotes."""
    parts = [_markdown(found.differences), _markdown(found.categories) if found.categories else "",
             "".join(f"- {note}\n" for note in footnotes(found))]
    return "\n".join(part for part in parts if part)


class ComparisonTable:
    """The tables for a terminal, then the footnotes."""

    def __init__(self, found: Comparison) -> None:
        self._found = found

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for rows in (self._found.differences, self._found.categories):
            if rows:
                yield self._table(rows)
        for note in footnotes(self._found):
            yield Text(f" {note}", style="dim")

    def _table(self, rows: Sequence[Difference]) -> Table:
        table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
        for heading in HEADINGS:
            table.add_column(heading, justify="left" if heading == HEADINGS[0] else "right",
                             no_wrap=heading != HEADINGS[0])
        for row in rows:
            table.add_row(*cells(row), style="bold" if row.differs else "")
        return table


def _markdown(rows: Sequence[Difference]) -> str:
    rule = ["---", *["---:"] * (len(HEADINGS) - 1)]
    return "".join("| " + " | ".join(line) + " |\n" for line in (HEADINGS, rule, *map(cells, rows)))


def _p(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _some(ids: Sequence[str]) -> str:
    named = ", ".join(ids[:_NAMED])
    return f" ({named}{', ..' if len(ids) > _NAMED else ''})"
