"""`eqa report`: the page of a scored run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from eqa_nodes.cli.options import argument


@dataclass(frozen=True, kw_only=True)
class WriteReport:
    """Writes report.html into the run directory."""

    out: Path = argument("run directory", metavar="RUN")

    def run(self) -> int:
        """Write the page."""
        write(self.out)
        return 0


def write(out: Path) -> None:
    """Write the report of a run, and print where it is."""
    from rich.console import Console

    from eqa_nodes.bench.report.page import write_report

    Console().print(f"report: {write_report(out)}", soft_wrap=True)
