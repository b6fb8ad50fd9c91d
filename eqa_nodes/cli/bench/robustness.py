"""`eqa bench robustness`: how much a judge depends on its settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from eqa_nodes.cli import names
from eqa_nodes.cli.bench.judging import JudgeChoice, marking_bar
from eqa_nodes.cli.groups import names_of
from eqa_nodes.cli.options import argument, flag, group, option

if TYPE_CHECKING:
    from rich.table import Table

    from eqa_nodes.bench.metrics.robustness import Variant


@dataclass(frozen=True, kw_only=True)
class Robustness:
    """Marks a run's answers under other settings of the judge, changing one at a time, and compares each with the base:
    mean mark, Spearman's rho. The same command resumes after a kill.
    """

    out: Path = argument("run directory", metavar="RUN")
    judge: str = option("llm-match", "llm-match or eac", complete=names.judges)
    vary: tuple[str, ...] = option(("role", "criterion", "temperature"), "settings to vary: role, criterion, "
                                   "temperature, seed, model", type=names_of, metavar="AXIS,..")
    models: tuple[str, ...] = option((), "models to compare, for the axis model (default: none)", type=names_of,
                                     metavar="M,..")
    questions: int = option(0, "how many questions, from the first; 0 = all (default: 0)", metavar="N")
    seed: int = option(0, "seed of the bootstrap (default: 0)")
    matrices: bool = flag("print the correlations of each two settings, and the marks of each beside the base's")
    how: JudgeChoice = group(JudgeChoice)

    def run(self) -> int:
        """Mark under every variant and print the table."""
        from eqa_nodes.bench.judges.opening import marks_at_once
        from eqa_nodes.bench.metrics.robustness import sweep
        from eqa_nodes.cli.bench.agree import confusion, rho, table
        from eqa_nodes.cli.bench.tables import wide_console
        from eqa_nodes.core.errors import ConfigError

        if marks_at_once(self.judge):
            raise ConfigError(f"{self.judge} has no role, criterion, temperature or model to vary: use llm-match")
        console = wide_console()
        with marking_bar(console) as say:
            rows = sweep(self.out, self.judge, self.how.options(), self.vary, models=self.models,
                         threads=self.how.settings.judge_threads, limit=self.questions, seed=self.seed, progress=say)
        printed = table("varied", "value", "n", "unscored", "C %", "rho to base [95 %]", "equal %")
        for row in rows:
            printed.add_row(row.axis, row.value, str(row.marked), str(row.unscored),
                            "–" if row.c is None else f"{100 * row.c:.1f}", rho(row.rho, row.low, row.high),
                            "–" if row.equal is None else f"{100 * row.equal:.1f}")
        console.print(printed)
        for axis in dict.fromkeys(row.axis for row in rows[1:]) if self.matrices else ():
            console.print(_correlations(axis, rows))
        for row in rows if self.matrices else ():
            if row.confusion:
                console.print(confusion("base", f"{row.axis} {row.value}".strip(), row.confusion))
        return 0


def _correlations(axis: str, rows: Sequence[Variant]) -> Table:
    """Return rho of each two settings of an axis, the base among them, as OpenEQA's tables 6 and 8 to 10 print it."""
    from eqa_nodes.cli.bench.agree import rho, table

    shown = [k for k, row in enumerate(rows) if row.axis in ("base", axis)]
    printed = table(axis, *(rows[k].value or "base" for k in shown))
    for k in shown:
        printed.add_row(rows[k].value or "base", *(rho(rows[k].rhos[j], None, None) for j in shown))
    return printed
