"""`eqa generate express | exploraqa | finish`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from eqa_nodes.cli.chain import run_folder
from eqa_nodes.cli.model import model_of
from eqa_nodes.cli.ready import check_model
from eqa_nodes.core.answerers.label.answerer import LabelAnswerer
from eqa_nodes.core.answerers.vlm import VlmAnswerer
from eqa_nodes.core.errors import BudgetSpent, ConfigError
from eqa_nodes.core.model import Backend, Usage
from eqa_nodes.generate.filters import FilterConfig
from eqa_nodes.generate.page import PAGE
from eqa_nodes.generate.pipeline import Cast, GenerationProgress, Job, generate
from eqa_nodes.generate.results import begin, cost_line, end
from eqa_nodes.generate.results import finish as finished
from eqa_nodes.generate.roles import ModelEvaluator, ModelGenerator
from eqa_nodes.generate.values import ACCEPTED, Benchmark, benchmark
from eqa_nodes.models import open_model
from eqa_nodes.models.config import ModelConfig

WAYS = "shortest paths of the simulator"  # that ways and places are found with, as the benchmarks' own makers did


class Players(NamedTuple):
    """A cast, by what it is called in the manifest, and what it knows that no robot does."""

    cast: Cast
    names: Mapping[str, str]
    privileged: Sequence[str]


def make(arguments: argparse.Namespace) -> int:
    """Make questions; what was accepted is written however it ends."""
    kind, job, out = benchmark(arguments.benchmark), job_of(arguments), run_folder(arguments)
    console = Console()
    with _players(arguments, kind) as players:
        begin(out, kind, job, players.names, players.privileged)
        with _GenerationBar(console, job) as bar:
            summary = generate(kind, job, players.cast, out, bar.show)
    file = end(out, kind, summary)
    accepted = sum(record.status == ACCEPTED for record in summary.records)
    console.print(f"{accepted} of {len(summary.records)} attempts accepted, {cost_line(summary.spent)}, privileged: "
                  f"{', '.join(players.privileged)}\n{file}\nlook through {out / PAGE}, then: eqa generate "
                  f"finish {out} --verdicts FILE", soft_wrap=True, highlight=False, markup=False)
    if summary.stopped:
        raise BudgetSpent(f"{summary.stopped}. What was made is kept, and the same line with --out {out} goes on")
    return 0 if accepted >= job.count else 1


def finish(arguments: argparse.Namespace) -> int:
    """Write what people let pass."""
    file, records = finished(arguments.out, arguments.verdicts)
    passed = sum(record.status == ACCEPTED for record in records)
    Console().print(f"{passed} of {len(records)} questions passed {len(arguments.verdicts)} reviewers: {file}",
                    soft_wrap=True, highlight=False)
    return 0


def job_of(arguments: argparse.Namespace) -> Job:
    """Return what the options ask for. Raises ConfigError for a number below 1 (--elsewhere: below 0)."""
    for name, least in (("count", 1), ("per_way", 1), ("tries", 1), ("rounds", 1), ("elsewhere", 0)):
        if (value := getattr(arguments, name)) < least:
            raise ConfigError(f"--{name.replace('_', '-')} is {value}: it must be {least} or more")
    needed, times = arguments.reproduce
    return Job(tuple(arguments.scene), arguments.count, arguments.seed, arguments.per_way, arguments.tries,
               arguments.rounds, arguments.elsewhere, FilterConfig(times=times, needed=needed))


@contextmanager
def _players(arguments: argparse.Namespace, kind: Benchmark) -> Iterator[Players]:
    """Yield who plays which role; models are closed after it."""
    if (arguments.generator or ("model" if arguments.model else "label")) == "label":
        from eqa_nodes.bench.house.roles import PRIVILEGED, HouseRoles

        roles = HouseRoles(kind)
        yield Players(Cast(roles, roles, LabelAnswerer(), Usage, True), dict.fromkeys(
            ("generator", "evaluator", "solver"), "label"), (WAYS, *PRIVILEGED))
        return
    config, own = model_of(arguments), model_of(arguments, "evaluator")
    check_model(config)
    if own != ModelConfig():
        check_model(own)
    writer = open_model(config)
    checker = open_model(own) if own != ModelConfig() else writer
    try:
        yield _models(kind, writer, checker)
    finally:
        writer.close()
        checker.close()


def _models(kind: Benchmark, writer: Backend, checker: Backend) -> Players:
    """Return models in their roles: who checks also answers, so that nobody confirms himself where there are two."""
    def usage() -> Usage:
        return writer.usage if checker is writer else writer.usage + checker.usage

    cast = Cast(ModelGenerator(writer, kind), ModelEvaluator(checker, kind), VlmAnswerer(checker), usage)
    return Players(cast, {"generator": writer.model, "evaluator": checker.model, "solver": checker.model}, (WAYS,))


class _GenerationBar:
    """One line that says how far it is and what is being done; one line for each attempt that has ended."""

    def __init__(self, console: Console, job: Job) -> None:
        self._console, self._most = console, job.count * job.tries
        self._bar = Bar(SpinnerColumn(), BarColumn(20), MofNCompleteColumn(), TimeElapsedColumn(),
                        TextColumn("{task.description}"), console=console)
        self._task = self._bar.add_task("", total=job.count)

    def __enter__(self) -> _GenerationBar:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def show(self, now: GenerationProgress) -> None:
        """Show where the run is."""
        self._bar.update(self._task, completed=now.accepted, description=(
            f"accepted; attempt {now.attempts} of at most {self._most}, {cost_line(now.spent)}. {now.doing}"))
        if (record := now.ended) is not None:
            words = f"{record.pair.question} {record.pair.answer}" if record.pair else record.category
            note = record.reason and f": {record.reason}"
            self._console.print(f"{record.id} {record.status}{note}  {words}", soft_wrap=True, markup=False,
                                highlight=False)
