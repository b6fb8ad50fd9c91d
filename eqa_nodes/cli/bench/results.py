"""`eqa bench compare, leaderboard, table, export`: what scored runs are compared and published with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from eqa_nodes.cli.groups import names_of
from eqa_nodes.cli.options import FILE, FOLDER, argument, flag, option

if TYPE_CHECKING:
    from rich.console import Console

    from eqa_nodes.bench.judges.base import Judge

WIDTH = 150  # columns of a table that goes to a file


def wide_console() -> Console:
    """Return a console that gives tables room where they go to a file."""
    from rich.console import Console

    console = Console()
    if not console.is_terminal:
        console.width = WIDTH
    return console


def print_scores(out: Path, judge: Judge, failed: str = "", blind: Judge | None = None,
                 confidence: Judge | None = None) -> None:
    """Score a run and print its table. failed: "" = left out; it, blind, confidence: as in score_run."""
    from contextlib import closing

    from eqa_nodes.bench.metrics.scores import score_run
    from eqa_nodes.bench.metrics.values import LEAVE_OUT
    from eqa_nodes.bench.report.tables import score_table
    from eqa_nodes.bench.running.manifest import read_manifest
    from eqa_nodes.config.graph import settings
    from eqa_nodes.config.nodes import BridgeSettings
    from sim_bridge.registry import Truth
    from sim_bridge.robots import DEFAULT, ROBOTS

    nodes = read_manifest(out).config.get("nodes")
    robot = settings(BridgeSettings, nodes).robot if isinstance(nodes, dict) else ROBOTS[DEFAULT]
    with closing(Truth(robot)) as truth:
        scores = score_run(out, judge, truth, failed=failed or LEAVE_OUT, blind=blind, confidence=confidence)
    console = wide_console()
    console.print(score_table(scores, read_manifest(out), console.width))
    if judge.name == "proved":
        from eqa_nodes.bench.report.proved_table import proved_answers, proved_table

        console.print(proved_table(proved_answers(out)))


@dataclass(frozen=True, kw_only=True)
class Compare:
    """Pairs two scored runs by question: means, differences with 95 % intervals, a sign-flip test with Holm's
    correction, by category, and who failed where.
    """

    a: Path = argument("run directory", metavar="A")
    b: Path = argument("another one, scored by the same judge", metavar="B")
    metrics: tuple[str, ...] = option((), "metrics to compare (default: all that differ)", type=names_of,
                                      metavar="NAME,..")
    any_judge: bool = flag("compare even if the judges differ")
    markdown: Path | None = option(None, "file for the tables in Markdown (default: not written)", metavar="FILE",
                                   writes=FILE)
    json: Path | None = option(None, "file for everything in JSON (default: not written)", metavar="FILE", writes=FILE)

    def run(self) -> int:
        """Print what differs between two scored runs; write it where that was asked for."""
        from eqa_nodes.bench.metrics.compare import compare
        from eqa_nodes.bench.report.tables import comparison_markdown, comparison_tables
        from eqa_nodes.core.storage.codec import write_bytes, write_json

        found = compare(self.a, self.b, metrics=self.metrics, any_judge=self.any_judge)
        wide_console().print(comparison_tables(found))
        if self.markdown:
            write_bytes(self.markdown, comparison_markdown(found).encode())
        if self.json:
            write_json(self.json, found)
        return 0


@dataclass(frozen=True, kw_only=True)
class Leaderboard:
    """Writes a page with one row for each scored run, which sorts by any column: agent, policy, model, commit, the
    settings that differ, marks and costs with 95 % intervals, and a link to the run's report.
    """

    runs: tuple[Path, ...] = argument("scored run directories", nargs="+", metavar="RUN")
    out: Path = option(Path("leaderboard.html"), "file for the page", metavar="FILE", writes=FILE)

    def run(self) -> int:
        """Write the page, and print where it is."""
        from rich.console import Console

        from eqa_nodes.bench.report.leaderboard import write_leaderboard

        boards = write_leaderboard(self.runs, self.out)
        console = Console()
        if len(boards) > 1:
            console.print(f"{len(boards)} tables: runs with other questions or another judge cannot be compared",
                          markup=False, soft_wrap=True)
        console.print(f"written: {self.out}", markup=False, soft_wrap=True)
        return 0


@dataclass(frozen=True, kw_only=True)
class PaperTables:
    """Prints scored runs as rows of tables 2 to 5 of OpenEQA (3 to 5: of its supplement), 2 to 4 of EXPRESS-Bench, 2, 3
    and 5 to 8 of ExploraQA (3 and 8: of trained policies), or 2 of EmbodiedEval, with standard errors, below the
    published rows. Footnotes say what is not comparable, and why.
    """

    runs: tuple[str, ...] = argument("scored run directories; NAME=RUN names a row, and runs of one name fill one row "
                                     "(EM-EQA and A-EQA)", nargs="+", metavar="[NAME=]RUN")
    tables: tuple[str, ...] = option((), "numbers of the tables, such as 2,5 (default: all)", type=names_of,
                                     metavar="N,..")
    out: Path | None = option(None, "folder for table-N.md and table-N.csv (default: not written)",
                              metavar="DIR", writes=FOLDER)

    def run(self) -> int:
        """Print the tables; write them where that was asked for."""
        from eqa_nodes.bench.report.paper_tables import paper_tables, paper_terminal, read_runs, write_tables

        found = paper_tables(read_runs(self.runs), self.tables)
        console = wide_console()
        for table in found:
            console.print(paper_terminal(table))
        if self.out is not None:
            files = write_tables(found, self.out)
            console.print(f"{len(files)} files in {self.out}", markup=False, soft_wrap=True)
        return 0


@dataclass(frozen=True, kw_only=True)
class Export:
    """Writes a scored run as the result folder of 3D-Mem or EXPRESS-Bench, for their own scorers."""

    run_folder: Path = argument("scored run directory", metavar="RUN")
    folder: Path = argument("folder for the files", metavar="DIR", writes=FOLDER)
    to: str = option("3d-mem", "3d-mem: answers and path lengths, as Pred-EQA writes them, too; express: results.pkl "
                     "of EXPRESS-Bench with marks and groundings", choices=("3d-mem", "express"))

    def run(self) -> int:
        """Write the files and say what they do not hold."""
        from rich.console import Console

        from eqa_nodes.bench.published_writing import write_form

        console = Console()
        written = write_form(self.run_folder, self.folder, self.to)
        for file in written.files:
            console.print(str(file), markup=False, soft_wrap=True)
        if written.left_out:
            console.print(f"{len(written.left_out)} questions are not in them, such as {written.left_out[0]}: they "
                          "failed, or have no whole mark with a grounding", style="yellow", markup=False,
                          soft_wrap=True)
        return 0
