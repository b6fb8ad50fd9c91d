"""`eqa bench leaderboard`: scored runs on one page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from eqa_nodes.cli.options import FILE, argument, option


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
