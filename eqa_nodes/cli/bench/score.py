"""`eqa bench score`: pass 2 of a benchmark."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from eqa_nodes.cli import names
from eqa_nodes.cli.bench.judging import JudgeChoice, marking_bar
from eqa_nodes.cli.options import argument, flag, group, option

if TYPE_CHECKING:
    from eqa_nodes.bench.judges.base import Judge


@dataclass(frozen=True, kw_only=True)
class Score:
    """Marks the answers of a run and prints the table of its scores."""

    out: Path = argument("run directory", metavar="RUN")
    judge: str = option("offline", "offline: rules over words; choices: the right option; llm-match, eac: a model, see "
                        "below; its key comes from EQA_VLM_API_KEY", complete=names.judges)
    retry_unscored: bool = flag("ask the model again for answers that have no mark")
    how: JudgeChoice = group(JudgeChoice)

    def run(self) -> int:
        """Mark and print the table."""
        from eqa_nodes.cli.bench.tables import print_scores

        with self._judging() as judge:
            print_scores(self.out, judge)
        return 0

    @contextmanager
    def _judging(self) -> Iterator[Judge]:
        """Give the judge; one that is a model has marked the run before, and keeps its marks."""
        from rich.console import Console

        from eqa_nodes.bench.judges.cached import MARKS, CachedJudge
        from eqa_nodes.bench.judges.marking import mark_run
        from eqa_nodes.bench.judges.opening import marks_at_once, open_judge

        judge, console = open_judge(self.judge, self.how.options()), Console()
        if marks_at_once(self.judge):
            yield judge
            return
        with CachedJudge(judge, self.out / MARKS, self.retry_unscored) as cached:
            with marking_bar(console) as say:
                marked = mark_run(self.out, cached, self.how.settings.judge_threads, 0,
                                  lambda *done: say(cached.name, *done))
            for note in dict.fromkeys(q.note for q in marked if q.unscored):
                console.print(f"unscored: {note}", style="yellow", markup=False, soft_wrap=True)
            console.print(f"{cached.asked} answers marked, the others were before: {self.out / MARKS}",
                          markup=False, soft_wrap=True)
            yield cached
