"""`eqa generate express | exploraqa | finish`: question-answer data out of a simulator."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from eqa_nodes.cli.groups import PLACES, ModelOptions, ScanOptions, SimulatorOptions
from eqa_nodes.cli.options import FOLDER, argument, flag, from_zero, group, option, whole

if TYPE_CHECKING:
    from rich.console import Console

    from eqa_nodes.core.model import Backend
    from eqa_nodes.core.types.costs import Usage
    from eqa_nodes.generate.pipeline import Cast, GenerationProgress, Job
    from eqa_nodes.generate.values import Benchmark

LABEL, MODEL = "label", "model"


def _share(text: str) -> tuple[int, int]:
    needed, _, times = text.partition("/")
    if not (needed.isdecimal() and times.isdecimal() and 0 < int(needed) <= int(times)):
        raise argparse.ArgumentTypeError(f"{text!r}: expected K/N, such as 2/3")
    return int(needed), int(times)


@dataclass(frozen=True, kw_only=True)
class Generate:
    """Makes questions with answers in a simulator, with their whole history. The same command resumes after a kill, and
    pays for nothing twice; a larger --count adds to what is there.
    """

    scene: tuple[str, ...] = option(("house:3",), f"scenes, used in turn: {PLACES}", metavar="SCENE")
    count: int = option(5, "accepted questions", type=whole, metavar="N")
    out: Path | None = option(None, "output folder (default: runs/<time>)", metavar="DIR", writes=FOLDER)
    seed: int = option(0, "seed of the paths and of the models (default: 0)")
    per_path: int = option(3, "attempts at the end of each path", type=whole, metavar="N")
    tries: int = option(12, "maximum attempts for each wanted question", type=whole, metavar="N")
    rounds: int = option(3, "maximum proposals of an attempt", type=whole, metavar="N")
    elsewhere: int = option(3, "number of views of other parts of the scene at which each question is asked as a check",
                            type=from_zero, metavar="N")
    reproduce: tuple[int, int] = option((2, 3), "how many of N answers must be right (default: 2/3)", type=_share,
                                        metavar="K/N")
    examples: Path | None = option(None, "example pairs for the generator: a JSON list of {question, answer} (default: "
                                   "express: one of each kind, in this project's wording; exploraqa: none)",
                                   metavar="FILE")
    keep_guessed: bool = flag("keep questions that are answered right without any view, as EXPRESS-Bench does")
    revise: tuple[Path, ...] = option((), "verdicts exported from verify.html, one file per reviewer: make no new "
                                      "questions, but propose anew what they do not all accept, for a second vote",
                                      metavar="FILE")
    generator: str = option("", "label: the built-in house's own questions, privileged, no model; model: see below "
                            "(default: model where --model is given, else label)", choices=(LABEL, MODEL))
    scans: ScanOptions = group(ScanOptions, "scans")
    model: ModelOptions = group(ModelOptions, "the answerer's model")
    evaluator: ModelOptions = group(ModelOptions, "the evaluator's model", prefix="evaluator")

    @property
    def labels(self) -> bool:
        """Return whether the questions are those of the built-in house, without a model."""
        return (self.generator or (MODEL if self.model.model else LABEL)) == LABEL

    def job(self) -> Job:
        """Return what the options ask for."""
        from eqa_nodes.generate.filters import FilterConfig
        from eqa_nodes.generate.pipeline import Job, read_examples

        needed, times = self.reproduce
        return Job(self.scene, self.count, self.seed, self.per_path, self.tries, self.rounds, self.elsewhere,
                   FilterConfig(times=times, needed=needed, blind=not self.keep_guessed),
                   read_examples(self.examples) if self.examples else ())

    def make(self, benchmark: str) -> int:
        """Make questions in the form of a benchmark."""
        self.scans.set_environment()
        return _make(self, benchmark)


@dataclass(frozen=True, kw_only=True)
class Express(Generate):
    __doc__ = Generate.__doc__

    def run(self) -> int:
        """Make questions as EXPRESS-Bench did."""
        return self.make("express")


@dataclass(frozen=True, kw_only=True)
class Exploraqa(Generate):
    __doc__ = Generate.__doc__

    episodes: Path | None = option(None, "episodes of VLN-CE, such as R2R_VLNCE_v1-3/train/train.json.gz: their paths "
                                   "and directions in scans of Matterport3D replace --scene", metavar="FILE")
    scans: SimulatorOptions = group(SimulatorOptions, "scans")

    def job(self) -> Job:
        """Return what the options ask for."""
        from eqa_nodes.bench.samples import scene_in
        from eqa_nodes.generate.vln_episodes import read_vln_episodes

        job = super().job()
        found = read_vln_episodes(self.episodes) if self.episodes else ()
        return replace(job, scenes=() if found else job.scenes, episodes=tuple(
            one._replace(scene=scene_in(self.scans.simulator, one.scene)) for one in found))

    def run(self) -> int:
        """Make questions as ExploraQA did."""
        return self.make("exploraqa")


@dataclass(frozen=True, kw_only=True)
class Finish:
    """Writes the benchmark from the questions that people accepted."""

    out: Path = argument("folder written by eqa generate", metavar="DIR")
    verdicts: tuple[Path, ...] = option((), "verdicts exported from verify.html, and from verify-revised.html after a "
                                        "revision, one file per reviewer and vote", required=True, metavar="FILE")
    answers: tuple[Path, ...] = option((), "answers exported from answer.html, one file per validator, at least two: a "
                                       "question that one of them marked invalid is removed, and their answers become "
                                       "further accepted answers", metavar="FILE")

    def run(self) -> int:
        """Write them."""
        from rich.console import Console

        from eqa_nodes.generate.results import finish
        from eqa_nodes.generate.values import ACCEPTED

        file, records = finish(self.out, self.verdicts, self.answers)
        passed = sum(record.status == ACCEPTED for record in records)
        by = f"{len(self.verdicts)} reviewers" + (f" and {len(self.answers)} validators" if self.answers else "")
        lines = [f"{passed} of {len(records)} questions passed {by}: {file}"]
        disputed = [record for record in records if record.disputed]
        if disputed:
            lines.append("These answers of validators differ from the reference. Where the reference is wrong, reject "
                         "the question or change its answer in verify.html, export the verdicts and finish again:")
        lines += [f"{record.id}  {record.pair.question} {record.pair.answer}  {'; '.join(record.disputed)}"
                  for record in disputed if record.pair]
        Console().print("\n".join(lines), soft_wrap=True, highlight=False, markup=False)
        return 0


@dataclass(frozen=True, kw_only=True)
class GenerationStatistics:
    """Prints what a generated data set holds, as ExploraQA's figure 4 does: questions by split, category, number of
    viewpoints, words (with the directions) and length of the path.
    """

    out: Path = argument("folder written by eqa generate", metavar="DIR")

    def run(self) -> int:
        """Print them."""
        from rich.console import Console

        from eqa_nodes.bench.report.text_tables import terminal_table
        from eqa_nodes.generate.set_statistics import read_set, statistics_of

        rows = statistics_of(read_set(self.out)).rows()
        Console().print(terminal_table(("", "", "questions"), rows, left=(0, 1)))
        return 0


PATHS = "shortest paths of the simulator"  # paths and places are found with them, as by the benchmarks' authors


class Players(NamedTuple):
    """A cast, its names in the manifest, and its privileged knowledge."""

    cast: Cast
    names: Mapping[str, str]
    privileged: Sequence[str]


def _make(options: Generate, name: str) -> int:
    """Make questions; the accepted ones are written even if the run ends early."""
    from rich.console import Console

    from eqa_nodes.cli.options import run_folder
    from eqa_nodes.core.errors import BudgetSpent
    from eqa_nodes.generate.pages import ANSWER_PAGE, PAGE, REVISED_PAGES
    from eqa_nodes.generate.pipeline import generate, revise
    from eqa_nodes.generate.results import begin, cost_line, end, end_revision, flagged
    from eqa_nodes.generate.values import ACCEPTED, benchmark

    kind, job, out = benchmark(name), options.job(), run_folder(options.out)
    kind = replace(kind, examples=job.examples or kind.examples)
    console = Console()
    voted = flagged(out, options.revise) if options.revise else []
    with _players(options, kind) as players:
        begin(out, kind, job, players.names, players.privileged)
        with _GenerationBar(console, job) as bar:
            summary = revise(kind, job, players.cast, out, voted, bar.show) if options.revise else generate(
                kind, job, players.cast, out, bar.show)
    if options.revise:
        with console.status("pages for people") as status:
            count = end_revision(out, kind, summary, status.update)
        console.print(f"{count} of {len(voted)} questions revised, {cost_line(summary.spent)}\nvote on "
                      f"{out / REVISED_PAGES[0]}, then: eqa generate finish {out} --verdicts FILES OF BOTH VOTES",
                      soft_wrap=True, highlight=False, markup=False)
        if summary.stopped:
            raise BudgetSpent(f"{summary.stopped}. What was made is kept, and the same command resumes")
        return 0
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
    from eqa_nodes.core.answerers.label.answerer import LabelAnswerer
    from eqa_nodes.core.types.costs import Usage
    from eqa_nodes.models import open_model
    from eqa_nodes.models.config import ModelConfig
    from eqa_nodes.runners.opening import check_model

    if options.labels:
        from eqa_nodes.generate.house_roles import PRIVILEGED, HouseRoles
        from eqa_nodes.generate.pipeline import Cast

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
    """Return models in their roles. The checker also answers, so with two models none confirms its own proposal."""
    from eqa_nodes.core.answerers.vlm import VlmAnswerer
    from eqa_nodes.generate.pipeline import Cast
    from eqa_nodes.generate.roles import ModelEvaluator, ModelGenerator

    def usage() -> Usage:
        return writer.usage if checker is writer else writer.usage + checker.usage

    cast = Cast(ModelGenerator(writer, kind), ModelEvaluator(checker, kind), VlmAnswerer(checker), usage)
    return Players(cast, {"generator": writer.model, "evaluator": checker.model, "solver": checker.model}, (PATHS,))


class _GenerationBar:
    """One line with the progress of the run, and one line for each finished attempt."""

    def __init__(self, console: Console, job: Job) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        self._console, self._most = console, job.count * job.tries
        self._bar = Progress(SpinnerColumn(), BarColumn(20), MofNCompleteColumn(), TimeElapsedColumn(),
                        TextColumn("{task.description}"), console=console)
        self._task = self._bar.add_task("", total=job.count)

    def __enter__(self) -> _GenerationBar:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def show(self, now: GenerationProgress) -> None:
        """Show where the run is."""
        from eqa_nodes.generate.results import cost_line

        self._bar.update(self._task, completed=now.accepted, description=(
            f"accepted; attempt {now.attempts} of at most {self._most}, {cost_line(now.spent)}. {now.doing}"))
        if (record := now.ended) is not None:
            words = f"{record.pair.question} {record.pair.answer}" if record.pair else record.category
            note = record.reason and f": {record.reason}"
            self._console.print(f"{record.id} {record.status}{note}  {words}", soft_wrap=True, markup=False,
                                highlight=False)
