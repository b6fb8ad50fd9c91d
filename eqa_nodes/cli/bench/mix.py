"""`eqa bench mix`: answers of several runs in one, for a study of judges."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from eqa_nodes.cli.limits import from_zero
from eqa_nodes.cli.options import FOLDER, argument, option


@dataclass(frozen=True, kw_only=True)
class Mix:
    """Draws answers of several runs into one run directory, as many of each, under ids that do not tell the agent. The
    result is marked and compared as any run: eqa bench score, mark-page --blind, agree, robustness.
    """

    runs: tuple[Path, ...] = argument("run directories", nargs="+", metavar="RUN")
    out: Path = option(Path(), "output folder", required=True, metavar="DIR", writes=FOLDER)
    questions: int = option(300, "how many answers, 0 = all (default: 300, as in OpenEQA's study)", type=from_zero,
                            metavar="N")
    seed: int = option(0, "seed of the draw (default: 0)")

    def run(self) -> int:
        """Draw and write."""
        from rich.console import Console

        from eqa_nodes.bench.mixing import mix
        from eqa_nodes.core.errors import ConfigError

        named = {folder.name or str(folder): folder for folder in self.runs}
        if len(named) < len(self.runs):
            named = {str(folder): folder for folder in self.runs}
        if len(named) < len(self.runs):
            raise ConfigError("a run directory is named twice")
        counts = mix(named, self.out, self.questions, self.seed)
        Console().print("; ".join(f"{n} answers of {name}" for name, n in sorted(counts.items())) + f": {self.out}\n"
                        f"next: eqa bench mark-page {self.out} --blind", soft_wrap=True, markup=False, highlight=False)
        return 0
