"""The work of `eqa generate`: who plays which role, and the bar."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from eqa_nodes.cli.paths import run_folder
from eqa_nodes.core.answerers.label.answerer import LabelAnswerer
from eqa_nodes.core.answerers.vlm import VlmAnswerer
from eqa_nodes.core.errors import BudgetSpent
from eqa_nodes.core.model import Backend, Usage
from eqa_nodes.generate.page import ANSWER_PAGE, PAGE
from eqa_nodes.generate.pipeline import Cast, GenerationProgress, Job, generate
from eqa_nodes.generate.results import begin, cost_line, end
from eqa_nodes.generate.roles import ModelEvaluator, ModelGenerator
from eqa_nodes.generate.values import ACCEPTED, Benchmark, benchmark
from eqa_nodes.models import open_model
from eqa_nodes.models.config import ModelConfig
from eqa_nodes.runners.ready import check_model

if TYPE_CHECKING:
    from eqa_nodes.cli.generate import Generate

PATHS = "shortest paths of the simulator"  # that paths and places are found with, as the benchmarks' own makers did


class Players(NamedTuple):
    """A cast, by what it is called in the manifest, and what it knows that no robot does."""

    cast: Cast
    names: Mapping[str, str]
    privileged: Sequence[str]


def make(options: Generate, name: str) -> int:
    """Make questions; what was accepted is written however it ends."""
    kind, job, out = benchmark(name), options.job(), run_folder(options.out)
    kind = replace(kind, examples=job.examples or kind.examples)
    console = Console()
    with _players(options, kind) as players:
        begin(out, kind, job, players.names, players.privileged)
        with _GenerationBar(console, job) as bar:
            summary = generate(kind, job, players.cast, out, bar.show)
    with console.status("pages for people") as status:
        file = end(out, kind, summary, status.update)
    accepted = sum(record.status == ACCEPTED for record in summary.records)
    console.print(f"{accepted} of {len(summary.records)} attempts accepted, {cost_line(summary.spent)}, privileged: "
                  f"{', '.join(players.privileged)}\n{file}\nlook through {out / PAGE}, and perhaps let two people "
                  f"answer {out / ANSWER_PAGE}, then: eqa generate finish {out} --verdicts FILE",
                  soft_wrap=True, highlight=False, markup=False)
    if summary.stopped:
        raise BudgetSpent(f"{summary.stopped}. What was made is kept, and the same command with --out {out} resumes")
    return 0 if accepted >= job.count else 1


@contextmanager
def _players(options: Generate, kind: Benchmark) -> Iterator[Players]:
    """Yield who plays which role; models are closed after it."""
    if options.labels:
        from eqa_nodes.generate.house_roles import PRIVILEGED, HouseRoles

        roles = HouseRoles(kind)
        yield Players(Cast(roles, roles, LabelAnswerer(), Usage, True), dict.fromkeys(
            ("generator", "evaluator", "solver"), "label"), (PATHS, *PRIVILEGED))
        return
    config, own = options.model.config(), options.evaluator.config()
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
    return Players(cast, {"generator": writer.model, "evaluator": checker.model, "solver": checker.model}, (PATHS,))


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
