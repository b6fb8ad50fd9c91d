"""`eqa report`: the page of a scored run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from eqa_nodes.cli.options import argument, flag


@dataclass(frozen=True, kw_only=True)
class WriteReport:
    """Writes report.html into the run directory."""

    out: Path = argument("run directory", metavar="RUN")
    scan: bool = flag("also show the place of each episode in three dimensions, put together from the depth images of "
                      "its bag, or else from the coarse depth of the remembered views; needs the extra map3d")

    def run(self) -> int:
        """Write the page."""
        write(self.out, self.scan)
        return 0


def write(out: Path, scan: bool = False) -> None:
    """Write the report of a run, and print where it is."""
    from rich.console import Console

    from eqa_nodes.bench.report.page import write_report

    Console().print(f"report: {write_report(out, scan)}", soft_wrap=True)
