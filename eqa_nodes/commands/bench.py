"""`eqa demo`, `eqa bench run`, `eqa bench score`, `eqa report`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from eqa_nodes.bench.datasets import open_dataset
from eqa_nodes.bench.judges import Judge, open_judge
from eqa_nodes.bench.report import write_report
from eqa_nodes.bench.runner import EpisodeRunner, run_benchmark
from eqa_nodes.bench.runner import Progress as Asked
from eqa_nodes.bench.samples import ACTIVE, EM, Sample, check_runnable
from eqa_nodes.bench.scores import score_run
from eqa_nodes.bench.tables import rich_table
from eqa_nodes.commands.chain import limits_of, open_runner, parameters_of, run_folder
from eqa_nodes.commands.em import benchmark_sources, check_histories, open_history_runner
from eqa_nodes.commands.judge import judging
from eqa_nodes.core.agent import Progress as Searching
from sim_bridge.truth import Truth

TABLE_WIDTH = 150  # columns of a table that goes to a file


def demo(arguments: argparse.Namespace) -> int:
    """Run a few questions of the built-in houses, score them and write the report."""
    out = run_folder(arguments)
    arguments.dataset, arguments.data, arguments.split, arguments.retry_failed = "house", None, "test", False
    arguments.task = ACTIVE
    code = _run(arguments, out)
    _score(out, open_judge())
    _report(out)
    return code


def run(arguments: argparse.Namespace) -> int:
    """Pass 1: ask."""
    out = run_folder(arguments)
    code = _run(arguments, out)
    Console().print(f"next: eqa bench score {out}", soft_wrap=True)
    return code


def score(arguments: argparse.Namespace) -> int:
    """Pass 2: mark and print the table."""
    with judging(arguments) as judge:
        _score(arguments.out, judge)
    return 0


def report(arguments: argparse.Namespace) -> int:
    """Write report.html."""
    _report(arguments.out)
    return 0


def _run(arguments: argparse.Namespace, out: Path) -> int:
    console = Console()
    with console.status("choosing questions"):
        samples = open_dataset(arguments.dataset, folder=arguments.data, split=arguments.split,
                               limit=arguments.questions, seed=arguments.seed, task=arguments.task)
        preflight = _preflight(console, arguments, samples)
    with _Bar(console, samples) as bar, closing(_runner(arguments, out, bar)) as runner:
        summary = run_benchmark(samples, runner, out, bar.asked, dataset=arguments.dataset, seed=arguments.seed,
                                model=arguments.agent or arguments.answerer, config=_config(arguments, out),
                                retry_failed=arguments.retry_failed, task=arguments.task, preflight=preflight)
    console.print(f"{summary.asked} asked, {summary.resumed} asked before, {summary.failed} failed: {out}",
                  soft_wrap=True)
    return summary.exit_code


def _preflight(console: Console, arguments: argparse.Namespace, samples: list[Sample]) -> Callable[[Sample], object]:
    """Return what finds fault with a question before any is asked. Raises ConfigError when none can be asked."""
    if arguments.task != EM:
        check_runnable(samples)
        return lambda sample: None
    arguments.source_of = benchmark_sources(arguments)
    if line := check_histories(samples, arguments.source_of):
        console.print(line, soft_wrap=True, markup=False, style="yellow")
    source_of: Callable[[Sample], object] = arguments.source_of
    return source_of


def _runner(arguments: argparse.Namespace, out: Path, bar: _Bar) -> EpisodeRunner:
    if arguments.task == EM:
        return open_history_runner(arguments, arguments.source_of, bar.say)
    bar.say(f"starting the chain ({arguments.through})")
    return open_runner(arguments, out, bar.searching)


def _config(arguments: argparse.Namespace, out: Path) -> dict[str, object]:
    """Return what decides the results of a run; where it is written does not."""
    nodes = {node: {name: value for name, value in values.items() if name != "folder"}
             for node, values in parameters_of(arguments, out).items()}
    config = {"nodes": nodes, "limits": limits_of(arguments)._asdict(), "force_guess": arguments.force_guess}
    if arguments.agent:
        config["agent"] = arguments.agent
    return {**config, "frames": arguments.frames, "k": arguments.k} if arguments.task == EM else config


def _score(out: Path, judge: Judge) -> None:
    with closing(Truth()) as truth:
        scores = score_run(out, judge, truth)
    console = Console()
    if not console.is_terminal:
        console.width = TABLE_WIDTH
    console.print(rich_table(scores))


def _report(out: Path) -> None:
    Console().print(f"report: {write_report(out)}", soft_wrap=True)


class _Bar:
    """One line that says how far the run is and what the robot is doing; one line for each question that has ended."""

    def __init__(self, console: Console, samples: list[Sample]) -> None:
        self._console = console
        self._samples = {sample.id: sample for sample in samples}
        self._progress = Progress(SpinnerColumn(), BarColumn(20), MofNCompleteColumn(), TimeElapsedColumn(),
                                  TextColumn("{task.description}"), console=console)
        self._task = self._progress.add_task("", total=len(samples))

    def __enter__(self) -> _Bar:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def say(self, text: str) -> None:
        """Show what is going on."""
        self._progress.update(self._task, description=text[:100])

    def searching(self, now: Searching) -> None:
        """Show what the agent is doing."""
        self.say(f"{now.phase}, {now.steps} steps, {now.metres:.1f} m. {now.reason}")

    def asked(self, now: Asked) -> None:
        """Show a question that has ended."""
        self._progress.update(self._task, completed=now.done)
        if now.note:
            self._console.print(now.note)
        if now.prediction is not None:
            self._console.print(self._line(now.prediction), soft_wrap=True, highlight=False)

    def _line(self, prediction: Any) -> str:
        sample, answer = self._samples[prediction.id], prediction.answer
        said = f"[red]{answer.error.name}[/red] {answer.message}" if answer.error else answer.text or "I don't know"
        return f"[bold]{sample.question}[/bold] {said}  [dim](reference: {sample.answer})[/dim]"
