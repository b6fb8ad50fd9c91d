"""`eqa bench agree`: how far judges and people agree."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

from eqa_nodes.cli.bench.judging import JudgeChoice
from eqa_nodes.cli.groups import names_of
from eqa_nodes.cli.options import FILE, argument, group, option

if TYPE_CHECKING:
    from rich.table import Table

    from eqa_nodes.bench.metrics.agreement import Marks


@dataclass(frozen=True, kw_only=True)
class Agree:
    """Compares judges with each other and with people: Spearman's rho with its 95 % bootstrap interval over questions,
    the share of equal marks, and the marks side by side.
    """

    out: Path | None = argument("run directory; without it --marks holds pairs: question, reference, answer, mark",
                                nargs="?", default=None, metavar="RUN")
    judges: tuple[str, ...] = option((), "offline, choices, the beginning of the name or version of a judge whose "
                                     "marks the run has kept, or a scores file (default: none)", type=names_of,
                                     metavar="A,B")
    marks: tuple[Path, ...] = option((), "marks of people, one file each (default: none)", metavar="CSV")
    seed: int = option(0, "seed of the bootstrap (default: 0)")
    json: Path | None = option(None, "output file with all figures and matrices (default: not written)",
                               metavar="FILE", writes=FILE)
    how: JudgeChoice = group(JudgeChoice)

    def run(self) -> int:
        """Print how far each two of the judges and people agree."""
        from eqa_nodes.bench.metrics.agreement import against_others, agreement
        from eqa_nodes.cli.bench.tables import wide_console
        from eqa_nodes.core.errors import ConfigError
        from eqa_nodes.core.storage.codec import write_json

        marks = self._on_run(self.out) if self.out is not None else self._on_pairs()
        if len(marks) < 2:
            raise ConfigError("agreement is between two: name judges (--judges offline,llm-match) or marks (--marks "
                              "CSV)")
        pairs = {pair: agreement(marks[pair[0]], marks[pair[1]], self.seed) for pair in combinations(marks, 2)}
        printed = table("a", "b", "n", "rho [95 %]", "equal %", "mean a", "mean b", "one alone")
        for (a, b), same in pairs.items():
            printed.add_row(a, b, str(same.n), rho(same.rho, same.low, same.high), f"{100 * same.equal:.1f}",
                            f"{same.mean_a:.2f}", f"{same.mean_b:.2f}", str(same.left_out))
        console = wide_console()
        console.print(printed)
        people = {name: marks[name] for name in map(str, self.marks) if name in marks}
        if len(people) > 2:
            pooled = table("person", "n", "rho to the others pooled [95 %]", "mean", "others' mean")
            for name, same in against_others(people, self.seed).items():
                pooled.add_row(name, str(same.n), rho(same.rho, same.low, same.high), f"{same.mean_a:.2f}",
                               f"{same.mean_b:.2f}")
            console.print(pooled)
        for (a, b), same in pairs.items():
            console.print(confusion(a, b, same.confusion))
        sources = self._sources(marks)
        if sources:
            console.print(_by_source(sources, self.seed))
        if self.json is not None:
            write_json(self.json, {"pairs": [{"a": a, "b": b, **same._asdict()} for (a, b), same in pairs.items()],
                                   "runs": {run: [{"a": a, "b": b, **agreement(x[a], x[b], self.seed)._asdict()}
                                                  for a, b in _pairs_of(x)] for run, x in sources.items()}})
        return 0

    def _sources(self, marks: dict[str, Marks]) -> dict[str, dict[str, Marks]]:
        """Return the marks by the run that answers of a mixed run come from; empty for any other run."""
        from eqa_nodes.bench.mixing import read_sources

        known = read_sources(self.out) if self.out is not None else {}
        return {run: {judge: {i: mark for i, mark in own.items() if known[i].run == run}
                      for judge, own in marks.items()}
                for run in sorted({source.run for source in known.values()})}

    def _on_run(self, out: Path) -> dict[str, Marks]:
        from eqa_nodes.bench.metrics.agreement import human_marks, marks_of

        judges = {name: marks_of(name, out) for name in self.judges}
        return {**judges, **{str(path): human_marks(path, out) for path in self.marks}}

    def _on_pairs(self) -> dict[str, Marks]:
        """Let judges mark the pairs of one CSV; what a model gives is kept beside it."""
        from eqa_nodes.bench.judges.cached import MARKS, CachedJudge
        from eqa_nodes.bench.judges.opening import marks_at_once, open_judge
        from eqa_nodes.bench.metrics.agreement import marks_on_pairs, read_pairs
        from eqa_nodes.core.errors import ConfigError

        if len(self.marks) != 1:
            raise ConfigError("without a RUN give one CSV of pairs: --marks pairs.csv")
        path = self.marks[0]
        pairs = read_pairs(path)
        marks: dict[str, Marks] = {path.name: {p.sample.id: p.mark for p in pairs}}
        for name in self.judges:
            judge = open_judge(name, self.how.options())
            kept = judge if marks_at_once(name) else CachedJudge(judge, path.with_suffix(f".{MARKS}"))
            with closing(kept):
                marks[name] = marks_on_pairs(kept, pairs)
        return marks


def _pairs_of(marks: dict[str, Marks]) -> list[tuple[str, str]]:
    """Return each two judges that have marked something in common."""
    return [(a, b) for a, b in combinations(marks, 2) if marks[a].keys() & marks[b].keys()]


def _by_source(sources: dict[str, dict[str, Marks]], seed: int) -> Table:
    """Return how far each two agree on the answers of each mixed run."""
    from eqa_nodes.bench.metrics.agreement import agreement

    printed = table("run", "a", "b", "n", "rho [95 %]", "equal %", "mean a", "mean b")
    for run, marks in sources.items():
        for a, b in _pairs_of(marks):
            same = agreement(marks[a], marks[b], seed)
            printed.add_row(run, a, b, str(same.n), rho(same.rho, same.low, same.high), f"{100 * same.equal:.1f}",
                            f"{same.mean_a:.2f}", f"{same.mean_b:.2f}")
    return printed


def table(first: str, *others: str) -> Table:
    """Return an empty table with these headings."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    made = Table(box=SIMPLE_HEAD)
    made.add_column(first)
    for heading in others:
        made.add_column(heading, justify="left" if heading in ("b", "value") else "right")
    return made


def rho(value: float | None, low: float | None, high: float | None) -> str:
    """Return a correlation with its interval as text."""
    if value is None:
        return "–"
    return f"{value:.3f}" + ("" if low is None or high is None else f" [{low:.3f}, {high:.3f}]")


def confusion(a: str, b: str, counted: Sequence[Sequence[int]]) -> Table:
    """Return the marks 1 to 5 of two side by side: rows of a, columns of b."""
    counts = table(f"{a} \\ {b}", *(str(mark) for mark in range(1, 6)))
    for mark, row in enumerate(counted, 1):
        counts.add_row(str(mark), *(str(n) if n else "·" for n in row))
    return counts
