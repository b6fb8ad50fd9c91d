"""Tables as text: for the terminal, and as Markdown."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text


def terminal_table(headings: Sequence[str], rows: Iterable[Sequence[str]], *, title: str = "",
                   bold: Collection[int] = (), left: Collection[int] = (0,), wrapped: Collection[int] = (),
                   first_width: int | None = None, gap: int = 1) -> Table:
    """Return a table for the terminal.

    bold: indices of rows. left, wrapped: indices of columns: those aligned to the left, and those whose cells may have
    several lines. first_width: minimum width of the first column, characters. gap: spaces between columns, 1 or 2.
    """
    table = Table(title=title or None, box=SIMPLE_HEAD, padding=(0, 1, 0, gap - 1), title_justify="left")
    for index, heading in enumerate(headings):
        table.add_column(heading, justify="left" if index in left else "right", no_wrap=index not in wrapped,
                         min_width=None if index else first_width, vertical="bottom")
    for index, row in enumerate(rows):
        table.add_row(*map(Text, row), style="bold" if index in bold else "")
    return table


def notes_below(notes: Iterable[str]) -> list[Text]:
    """Return the notes below a table."""
    return [Text(f" {note}", style="dim") for note in notes]


def markdown_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table as Markdown; all columns but the first are aligned to the right."""
    rule = ["---", *["---:"] * (len(headings) - 1)]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n"
                   for line in (headings, rule, *rows))
