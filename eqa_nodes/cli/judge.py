"""`eqa bench agree`, `eqa bench robustness`, `eqa bench mark-page`, and who marks in `eqa bench score`."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from itertools import combinations
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from eqa_nodes.bench.judges import JUDGES, Judge, JudgeOptions, open_judge
from eqa_nodes.bench.judges.cached import MARKS, CachedJudge
from eqa_nodes.bench.judges.marking import mark_run
from eqa_nodes.bench.metrics.agreement import (
    Agreement,
    Marks,
    agreement,
    human_marks,
    marks_of,
    marks_on_pairs,
    read_pairs,
)
from eqa_nodes.bench.metrics.robustness import sweep
from eqa_nodes.bench.report.marking import write_marking_page
from eqa_nodes.cli.model import model_of
from eqa_nodes.core.errors import ConfigError


@contextmanager
def judging(arguments: argparse.Namespace) -> Iterator[Judge]:
    """Give the judge that the options name; one that is a model has marked the run before, and keeps its marks."""
    if arguments.judge in JUDGES:
        yield open_judge(arguments.judge, options_of(arguments))
        return
    judge = open_judge(arguments.judge, options_of(arguments))
    console = Console()
    with CachedJudge(judge, arguments.out / MARKS, arguments.retry_unscored) as cached:
        with _bar(console) as say:
            marked = mark_run(arguments.out, cached, _threads(arguments), 0, lambda *done: say(cached.name, *done))
        for note in dict.fromkeys(q.note for q in marked if q.unscored):
            console.print(f"unscored: {note}", style="yellow", markup=False, soft_wrap=True)
        console.print(f"{cached.asked} answers marked, the others were before: {arguments.out / MARKS}",
                      markup=False, soft_wrap=True)
        yield cached


def options_of(arguments: argparse.Namespace) -> JudgeOptions:
    """Return what the options of a judge say."""
    return JudgeOptions(arguments.until_last_full_stop, arguments.extra_answers, arguments.judge_prompt,
                        arguments.judge_prompt_extra, model=model_of(arguments, "judge"))


def agree(arguments: argparse.Namespace) -> int:
    """Print how far each two of the judges and people agree."""
    marks = _marks_on_run(arguments) if arguments.out is not None else _marks_on_pairs(arguments)
    if len(marks) < 2:
        raise ConfigError("agreement is between two: name judges (--judges offline,llm-match) or marks (--marks CSV)")
    pairs = {pair: agreement(marks[pair[0]], marks[pair[1]], arguments.seed) for pair in combinations(marks, 2)}
    table = _table("a", "b", "n", "rho [95 %]", "equal %", "mean a", "mean b", "one alone")
    for (a, b), same in pairs.items():
        table.add_row(a, b, str(same.n), _rho(same.rho, same.low, same.high), f"{100 * same.equal:.1f}",
                      f"{same.mean_a:.2f}", f"{same.mean_b:.2f}", str(same.left_out))
    console = _console()
    console.print(table)
    for (a, b), same in pairs.items():
        console.print(_confusion(a, b, same))
    return 0


def robustness(arguments: argparse.Namespace) -> int:
    """Mark under every variant and print the table."""
    if arguments.judge in JUDGES:
        raise ConfigError(f"{arguments.judge} has no role, criterion, temperature or model to vary: use llm-match")
    console = _console()
    with _bar(console) as say:
        rows = sweep(arguments.out, arguments.judge, options_of(arguments), arguments.vary, models=arguments.models,
                     threads=_threads(arguments), limit=arguments.questions, seed=arguments.seed, progress=say)
    table = _table("varied", "value", "n", "unscored", "C %", "rho to base [95 %]", "equal %")
    for row in rows:
        table.add_row(row.axis, row.value, str(row.marked), str(row.unscored),
                      "–" if row.c is None else f"{100 * row.c:.1f}", _rho(row.rho, row.low, row.high),
                      "–" if row.equal is None else f"{100 * row.equal:.1f}")
    console.print(table)
    return 0


def mark_page(arguments: argparse.Namespace) -> int:
    """Write the page."""
    page = write_marking_page(arguments.out, arguments.page, blind=arguments.blind, limit=arguments.questions,
                              seed=arguments.seed)
    Console().print(f"page: {page}\nthen: eqa bench agree {arguments.out} --judges offline --marks marks.csv",
                    markup=False, soft_wrap=True)
    return 0


def _marks_on_run(arguments: argparse.Namespace) -> dict[str, Marks]:
    judges = {name: marks_of(name, arguments.out) for name in arguments.judges}
    return {**judges, **{str(path): human_marks(path, arguments.out) for path in arguments.marks}}


def _marks_on_pairs(arguments: argparse.Namespace) -> dict[str, Marks]:
    """Let judges mark the pairs of one CSV; what a model gives is kept beside it."""
    if len(arguments.marks) != 1:
        raise ConfigError("without a RUN give one CSV of pairs: --marks pairs.csv")
    path: Path = arguments.marks[0]
    pairs = read_pairs(path)
    marks: dict[str, Marks] = {path.name: {p.sample.id: p.mark for p in pairs}}
    for name in arguments.judges:
        judge = open_judge(name, options_of(arguments))
        kept = judge if name in JUDGES else CachedJudge(judge, path.with_suffix(f".{MARKS}"))
        with closing(kept):
            marks[name] = marks_on_pairs(kept, pairs)
    return marks


def _threads(arguments: argparse.Namespace) -> int:
    if arguments.judge_threads < 1:
        raise ConfigError(f"--judge-threads is {arguments.judge_threads}: at least 1 is needed")
    return int(arguments.judge_threads)


def _confusion(a: str, b: str, same: Agreement) -> Table:
    table = _table(f"{a} \\ {b}", *(str(mark) for mark in range(1, 6)))
    for mark, row in enumerate(same.confusion, 1):
        table.add_row(str(mark), *(str(n) if n else "·" for n in row))
    return table


def _rho(rho: float | None, low: float | None, high: float | None) -> str:
    if rho is None:
        return "–"
    return f"{rho:.3f}" + ("" if low is None or high is None else f" [{low:.3f}, {high:.3f}]")


def _table(first: str, *others: str) -> Table:
    table = Table(box=SIMPLE_HEAD)
    table.add_column(first)
    for heading in others:
        table.add_column(heading, justify="left" if heading in ("b", "value") else "right")
    return table


def _console() -> Console:
    console = Console()
    if not console.is_terminal:
        console.width = 150  # of a table that goes to a file
    return console


@contextmanager
def _bar(console: Console) -> Iterator[Callable[[str, int, int], None]]:
    with Progress(BarColumn(20), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn(),
                  TextColumn("{task.description}", markup=False), console=console) as progress:
        task = progress.add_task("marking", total=None)
        yield lambda what, done, total: progress.update(task, description=what[:80], completed=done, total=total)
