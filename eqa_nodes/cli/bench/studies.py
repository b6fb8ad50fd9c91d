"""`eqa bench agree, robustness, mix, mark-page`: studies of judges and of the people who mark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

from eqa_nodes.cli.bench.score import JudgeChoice, marking_bar
from eqa_nodes.cli.groups import names_of
from eqa_nodes.cli.options import FILE, FOLDER, argument, flag, from_zero, group, listed, option

if TYPE_CHECKING:
    from rich.table import Table

    from eqa_nodes.bench.metrics.agreement import Agreement, Marks, Variant

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
        from eqa_nodes.cli.bench.results import wide_console
        from eqa_nodes.core.errors import ConfigError
        from eqa_nodes.core.storage.codec import write_json

        marks = self._on_run(self.out) if self.out is not None else self._on_pairs()
        if len(marks) < 2:
            raise ConfigError("agreement is between two: name judges (--judges offline,llm-match) or marks (--marks "
                              "CSV)")
        pairs = {pair: agreement(marks[pair[0]], marks[pair[1]], self.seed) for pair in combinations(marks, 2)}
        console = wide_console()
        console.print(table(("a", "b", "n", "rho [95 %]", "equal %", "mean a", "mean b", "one alone"),
                            [(*pair, *_cells(same), str(same.left_out)) for pair, same in pairs.items()]))
        people = {name: marks[name] for name in map(str, self.marks) if name in marks}
        if len(people) > 2:
            console.print(table(("person", "n", "rho to the others pooled [95 %]", "mean", "others' mean"), [
                (name, str(same.n), rho(same.rho, same.low, same.high), f"{same.mean_a:.2f}", f"{same.mean_b:.2f}")
                for name, same in against_others(people, self.seed).items()]))
        for (a, b), same in pairs.items():
            console.print(confusion(a, b, same.confusion))
        by_run = {run: {pair: agreement(own[pair[0]], own[pair[1]], self.seed) for pair in _pairs_of(own)}
                  for run, own in self._sources(marks).items()}
        if by_run:
            console.print(table(("run", "a", "b", "n", "rho [95 %]", "equal %", "mean a", "mean b"), [
                (run, *pair, *_cells(same)) for run, own in by_run.items() for pair, same in own.items()]))
        if self.json is not None:
            write_json(self.json, {"pairs": _records(pairs),
                                   "runs": {run: _records(own) for run, own in by_run.items()}})
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
        from eqa_nodes.bench.judges.marking import marks_at_once, open_judge
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


def _cells(same: Agreement) -> tuple[str, ...]:
    return (str(same.n), rho(same.rho, same.low, same.high), f"{100 * same.equal:.1f}", f"{same.mean_a:.2f}",
            f"{same.mean_b:.2f}")


def _records(pairs: Mapping[tuple[str, str], Agreement]) -> list[dict[str, object]]:
    return [{"a": a, "b": b, **same._asdict()} for (a, b), same in pairs.items()]


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """Return a table whose text columns are aligned to the left."""
    from eqa_nodes.bench.report.text_tables import terminal_table

    left = [k for k, heading in enumerate(headings) if k == 0 or heading in ("a", "b", "value")]
    return terminal_table(headings, rows, left=left, wrapped=range(len(headings)), gap=2)


def rho(value: float | None, low: float | None, high: float | None) -> str:
    """Return a correlation with its interval as text."""
    if value is None:
        return "–"
    return f"{value:.3f}" + ("" if low is None or high is None else f" [{low:.3f}, {high:.3f}]")


def confusion(a: str, b: str, counted: Sequence[Sequence[int]]) -> Table:
    """Return the marks 1 to 5 of two side by side: rows of a, columns of b."""
    return table((f"{a} \\ {b}", *"12345"),
                 [(str(mark), *(str(n) if n else "·" for n in row)) for mark, row in enumerate(counted, 1)])


@dataclass(frozen=True, kw_only=True)
class Robustness:
    """Marks a run's answers under other settings of the judge, changing one at a time, and compares each with the base:
    mean mark, Spearman's rho. The same command resumes after a kill.
    """

    out: Path = argument("run directory", metavar="RUN")
    judge: str = option("llm-match", "llm-match or eac", complete=listed("JUDGES"))
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
        from eqa_nodes.bench.judges.marking import marks_at_once
        from eqa_nodes.bench.metrics.agreement import sweep
        from eqa_nodes.cli.bench.results import wide_console
        from eqa_nodes.core.errors import ConfigError

        if marks_at_once(self.judge):
            raise ConfigError(f"{self.judge} has no role, criterion, temperature or model to vary: use llm-match")
        console = wide_console()
        with marking_bar(console) as say:
            rows = sweep(self.out, self.judge, self.how.options(), self.vary, models=self.models,
                         threads=self.how.settings.judge_threads, limit=self.questions, seed=self.seed, progress=say)
        console.print(table(("varied", "value", "n", "unscored", "C %", "rho to base [95 %]", "equal %"), [
            (row.axis, row.value, str(row.marked), str(row.unscored), _percent(row.c), rho(row.rho, row.low, row.high),
             _percent(row.equal)) for row in rows]))
        for axis in dict.fromkeys(row.axis for row in rows[1:]) if self.matrices else ():
            console.print(_correlations(axis, rows))
        for row in rows if self.matrices else ():
            if row.confusion:
                console.print(confusion("base", f"{row.axis} {row.value}".strip(), row.confusion))
        return 0


def _correlations(axis: str, rows: Sequence[Variant]) -> Table:
    """Return rho of each two settings of an axis, the base among them, as OpenEQA's tables 6 and 8 to 10 print it."""
    shown = {k: row.value or "base" for k, row in enumerate(rows) if row.axis in ("base", axis)}
    return table((axis, *shown.values()), [(name, *(rho(rows[k].rhos[j], None, None) for j in shown))
                                           for k, name in shown.items()])


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f}"


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
