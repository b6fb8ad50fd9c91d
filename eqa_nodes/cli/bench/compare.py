"""`eqa bench compare`: what differs between two scored runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from eqa_nodes.cli.groups import names_of
from eqa_nodes.cli.options import FILE, argument, flag, option


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
        from eqa_nodes.bench.report.compare_tables import ComparisonTable, markdown
        from eqa_nodes.cli.bench.tables import print_table
        from eqa_nodes.core.storage.codec import write_bytes, write_json

        found = compare(self.a, self.b, metrics=self.metrics, any_judge=self.any_judge)
        print_table(ComparisonTable(found))
        if self.markdown:
            write_bytes(self.markdown, markdown(found).encode())
        if self.json:
            write_json(self.json, found)
        return 0
