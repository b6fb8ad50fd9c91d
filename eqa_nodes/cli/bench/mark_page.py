"""`eqa bench mark-page`: a page for people who mark."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from eqa_nodes.cli.options import FILE, argument, flag, option


@dataclass(frozen=True, kw_only=True)
class MarkPage:
    """Writes one page for people who mark a run's answers, on a computer or a phone, offline; it gives a CSV that
    `eqa bench agree RUN --marks` reads.
    """

    out: Path = argument("run directory", metavar="RUN")
    blind: bool = flag("hide the agent, the run and the confidence")
    questions: int = option(0, "how many questions, drawn at random; 0 = all (default: 0)", metavar="N")
    seed: int = option(0, "seed of the order and the draw (default: 0)")
    page: Path | None = option(None, "output file (default: mark.html in the run directory)", metavar="FILE",
                               writes=FILE)

    def run(self) -> int:
        """Write the page."""
        from rich.console import Console

        from eqa_nodes.bench.report.marking import write_marking_page

        page = write_marking_page(self.out, self.page, blind=self.blind, limit=self.questions, seed=self.seed)
        Console().print(f"page: {page}\nthen: eqa bench agree {self.out} --judges offline --marks marks.csv",
                        markup=False, soft_wrap=True)
        return 0
