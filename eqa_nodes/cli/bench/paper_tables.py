"""`eqa bench table`: runs as rows of the tables of the papers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from eqa_nodes.cli.groups import names_of
from eqa_nodes.cli.options import FOLDER, argument, flag, option


@dataclass(frozen=True, kw_only=True)
class PaperTables:
    """Prints scored runs as rows of tables 2 to 5 of OpenEQA (3 to 5: of its supplement) or 2 to 4 of EXPRESS-Bench,
    with standard errors, below the published rows. Footnotes say what is not comparable, and why.
    """

    runs: tuple[str, ...] = argument("scored run directories; NAME=RUN names a row, and runs of one name fill one row "
                                     "(EM-EQA and A-EQA)", nargs="+", metavar="[NAME=]RUN")
    tables: tuple[str, ...] = option((), "numbers of the tables, such as 2,5 (default: all)", type=names_of,
                                     metavar="N,..")
    no_published: bool = flag("leave the published rows out")
    ambiguous: Path | None = option(None, "JSON file {question_id: true or false}: which questions have several right "
                                    "answers; their share is stated below the tables (default: what the data set says)",
                                    metavar="FILE")
    out: Path | None = option(None, "folder for table-N.md, table-N.tex and table-N.csv (default: not written)",
                              metavar="DIR", writes=FOLDER)

    def run(self) -> int:
        """Print the tables; write them where that was asked for."""
        from eqa_nodes.bench.report.paper_formats import TerminalTable, write_tables
        from eqa_nodes.bench.report.paper_tables import paper_tables, read_ambiguous, read_runs
        from eqa_nodes.cli.bench.tables import wide_console

        marks = None if self.ambiguous is None else read_ambiguous(self.ambiguous)
        found = paper_tables(read_runs(self.runs), self.tables, not self.no_published, marks)
        console = wide_console()
        for table in found:
            console.print(TerminalTable(table))
        if self.out is not None:
            files = write_tables(found, self.out)
            console.print(f"{len(files)} files in {self.out}", markup=False, soft_wrap=True)
        return 0
