"""Tables of papers as Markdown, LaTeX and CSV, and for the terminal."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table as RichTable
from rich.text import Text

from eqa_nodes.bench.report.paper_tables import PaperRow, PaperTable
from eqa_nodes.core.storage.codec import write_bytes

_LATEX = {"\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "_": r"\_", "#": r"\#", "$": r"\$", "{": r"\{",
          "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$", "–": "--"}


ABOUT = ("questions", "judge", "answerer", "privileged")  # columns of a CSV


def _marks(row: PaperRow) -> str:
    return ",".join(str(number) for number in row.notes)


def markdown(table: PaperTable) -> str:
    """Return the table with its footnotes."""
    heads = ("", *table.headings)
    rule = ("---", *["---:"] * len(table.headings))
    names = [f"**{row.name}**" if row.own else row.name for row in table.rows]
    lines = [heads, rule, *((name + (f" [{_marks(row)}]" if row.notes else ""), *(cell.text for cell in row.cells))
                            for name, row in zip(names, table.rows, strict=True))]
    return (f"Table {table.number}. {table.title}\n\n"
            + "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)
            + "\n" + "".join(f"{number}. {note}\n" for number, note in enumerate(table.notes, 1)))


def latex(table: PaperTable) -> str:
    r"""Return the table for the package booktabs, in a table environment."""
    width = len(table.headings) + 1
    lines = [" & ".join(["", *map(_latex, table.headings)]) + r" \\", r"\midrule"]
    for k, row in enumerate(table.rows):
        if k and row.own and not table.rows[k - 1].own:
            lines.append(r"\midrule")
        name = _latex(row.name) + (f"$^{{{_marks(row)}}}$" if row.notes else "")
        lines.append(" & ".join([name, *(_latex(cell.text) for cell in row.cells)]) + r" \\")
    notes = [rf"\multicolumn{{{width}}}{{p{{\linewidth}}}}{{\footnotesize $^{{{number}}}$ {_latex(note)}}} \\"
             for number, note in enumerate(table.notes, 1)]
    return "\n".join([r"\begin{table}", rf"\caption{{{_latex(table.title)}}}",
                      rf"\begin{{tabular}}{{l{'r' * (width - 1)}}}", r"\toprule", *lines, r"\bottomrule", *notes,
                      r"\end{tabular}", r"\end{table}", ""])


def _latex(text: str) -> str:
    return "".join(_LATEX.get(letter, letter) for letter in text)


def comma_separated(table: PaperTable) -> str:
    """Return the unrounded values as CSV: for each column value, standard error and n; then the footnotes."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["row", "own", *ABOUT, *(f"{heading}{part}" for heading in table.headings
                                     for part in ("", " standard error", " n")), "footnotes"])
    for row in table.rows:
        cells = [value for cell in row.cells
                 for value in ("" if cell.value is None else f"{cell.value:.9g}",
                               "" if cell.error is None else f"{cell.error:.6g}", cell.n or "")]
        about = [row.about.get(name, "") for name in ABOUT]
        notes = " | ".join(table.notes[number - 1] for number in row.notes)
        writer.writerow([row.name, int(row.own), *about, *cells, notes])
    return file.getvalue()


FORMATS: dict[str, Callable[[PaperTable], str]] = {".md": markdown, ".tex": latex, ".csv": comma_separated}


def write_tables(tables: list[PaperTable], folder: Path) -> list[Path]:
    """Write each table in every format (table-2.md etc.), and return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for table in tables:
        for ending, form in FORMATS.items():
            written.append(folder / f"table-{table.number}{ending}")
            write_bytes(written[-1], form(table).encode())
    return written


class TerminalTable:
    """A table for the terminal: own rows in bold, then the footnotes."""

    def __init__(self, table: PaperTable) -> None:
        self._table = table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        printed = RichTable(title=f"Table {self._table.number}. {self._table.title}", box=SIMPLE_HEAD,
                            padding=(0, 1, 0, 0), title_justify="left")
        printed.add_column("", no_wrap=True)
        for heading in self._table.headings:
            printed.add_column(heading, justify="right", vertical="bottom")
        for row in self._table.rows:
            printed.add_row(Text(row.name + (f" [{_marks(row)}]" if row.notes else "")),
                            *(cell.text for cell in row.cells), style="bold" if row.own else "")
        yield printed
        yield from self._notes()

    def _notes(self) -> Iterator[Text]:
        for number, note in enumerate(self._table.notes, 1):
            yield Text(f" [{number}] {note}", style="dim")
