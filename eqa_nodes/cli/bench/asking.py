"""Pass 1 of a benchmark: what is missing, what it will cost, and then the questions, by one worker or several."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Column

from eqa_nodes.bench.datasets import Selection, select
from eqa_nodes.bench.readers.options import data_folder
from eqa_nodes.bench.running.predictions import Prediction, RunProgress
from eqa_nodes.bench.running.preflight import (
    Check,
    Estimate,
    RunEstimate,
    RunEstimator,
    check_unattended,
    estimate_documented,
    estimate_like,
    history_problems,
    in_short,
    in_words,
    refuse_if_hopeless,
    scene_problems,
    setting_problems,
)
from eqa_nodes.bench.running.runner import Engine, SequentialEngine, run_with
from eqa_nodes.bench.running.workers import ProcessEngine
from eqa_nodes.bench.samples import opened_by
from eqa_nodes.cli.printing import doing, shown
from eqa_nodes.config.run import ATTACHED, PROCESS, RunConfig, share_of
from eqa_nodes.core.components import READERS
from eqa_nodes.core.storage.checks import check_folder
from eqa_nodes.core.storage.codec import encode, write_json
from eqa_nodes.core.types.progress import Progress as Searching
from eqa_nodes.core.types.samples import ACTIVE, EM, EpisodeRunner, Sample
from eqa_nodes.recordings.bags.history import BagOptions
from eqa_nodes.runners.history import HistorySource
from eqa_nodes.runners.opening import check_asks, open_history_runner, open_runner
from eqa_nodes.runners.sources import Problem, ScenePreflight, benchmark_sources, cache_folder
from sim_bridge.registry import check_simulator, open_simulator

SourceOf = Callable[[Sample], HistorySource]
EXPRESS_VIEWS = 4  # a question of EXPRESS-Bench on average: a tenth of 39.8 steps


@dataclass(frozen=True)
class BenchmarkRun:
    """A benchmark run: which questions, asked how, and by whom. It pickles, so that workers get it.

    config: of the run; its data set names the questions too. data: folder of a published data set's files.
    histories, cache: of the task EM; bags: how those that are bags are read. workers: how many ask.
    """

    config: RunConfig
    data: Path | None = None
    split: str = "test"
    questions: int | None = None
    seed: int = 0
    task: str = ACTIVE
    simulator: str = "habitat"
    retry_failed: bool = False
    histories: Path | None = None
    cache: Path | None = None
    workers: int = 1
    bags: BagOptions | None = None

    def selection(self) -> Selection:
        """Return the questions. Raises ConfigError, StorageError."""
        found = select(self.config.dataset, self.questions, folder=self.data, split=self.split, seed=self.seed,
                       task=self.task)
        return found._replace(samples=opened_by(self.simulator, found.samples))

    def sources(self) -> SourceOf | None:
        """Return the histories of the questions, None where a robot looks for the answers."""
        return benchmark_sources(self.config, self.history_folder, self.bags) if self.task == EM else None

    @property
    def history_folder(self) -> Path | None:
        """The folder of the histories; by default that of a data set about histories alone, None if none is named."""
        traits = READERS.traits(self.config.dataset)
        own = data_folder(self.data) if traits.task == EM and traits.files else None
        return self.histories or own


class Preparation:
    """The questions of a run, and what is missing for them; nothing has been asked yet."""

    def __init__(self, run: BenchmarkRun, console: Console) -> None:
        with console.status("choosing questions"):
            self.run, self.console = run, console
            self.selection, self.source_of = run.selection(), run.sources()
            self.samples = self.selection.samples
            self.scenes = ScenePreflight(run.config.settings.memory.reads_simulator)
            self.problems = self._problems()

    @property
    def preflight(self) -> Callable[[Sample], object]:
        """Raises EqaError for a question that cannot be asked; of a graph elsewhere only the graph itself knows."""
        if self.run.config.through == ATTACHED:
            return lambda sample: None
        return self.source_of or self.scenes

    def say_problems(self) -> None:
        """Print which part is asked, what is missing, and how a running graph's robot differs from the data set's."""
        if words := self.selection.words:
            self.console.print(f"{self.run.config.dataset}: {words}", soft_wrap=True, markup=False, highlight=False)
        if self.run.config.through == ATTACHED:
            from eqa_nodes.runners.in_graph import other_robot

            if words := other_robot(self.run.config):
                self.console.print(f"another robot than the data set's: {words}. Launch with "
                                   f"dataset:={self.run.config.dataset} to compare with published scores",
                                   soft_wrap=True, markup=False, style="yellow")
        for problem in self.problems:
            self.console.print(problem.line, soft_wrap=True, markup=False, style="yellow")

    def _problems(self) -> list[Problem]:
        asks = setting_problems([("settings", lambda: check_unattended(self.run.config))], len(self.samples))
        if self.run.config.through == ATTACHED:  # scenes, model and simulator are where the graph runs
            return asks
        unknown_kind = scene_problems(self.samples, self.run.task)
        there = "" if unknown_kind else next(
            (s.scene for s in self.samples if self.scenes.state(s.scene).error is None), "")
        missing = (history_problems(self.samples, self.source_of) if self.source_of is not None
                   else self.scenes.problems(self.samples))
        return [*asks, *unknown_kind, *setting_problems(_checks(self.run, there), len(self.samples)), *missing]


def ask_questions(run: BenchmarkRun) -> int:
    """Ask what the run directory has no answer for. Returns the exit code."""
    console = Console()
    prepared = Preparation(run, console)
    samples, config, out = prepared.samples, run.config, run.config.folder
    refuse_if_hopeless(prepared.problems, len(samples))
    prepared.say_problems()
    with RunBar(console, samples) as bar, ExitStack() as stack:
        engine = _engine(run, prepared.source_of, bar, stack)
        summary = run_with(engine, samples, out, bar.asked, dataset=config.dataset, seed=run.seed,
                           model=config.agent or config.named.answerer, config=deciding(run), run=encode(config),
                           task=run.task, retry_failed=run.retry_failed, asked=config.model_name,
                           whole=prepared.selection.whole, preflight=prepared.preflight)
    console.print(f"{summary.asked} asked, {summary.resumed} asked before, {summary.failed} failed: {out}",
                  soft_wrap=True, markup=False)
    if summary.complaint:
        console.print(summary.complaint, soft_wrap=True, markup=False, style="red")
    if summary.spent:
        left = summary.total - summary.asked - summary.resumed
        console.print(f"{left} questions are left: {summary.spent}. The same command with a larger budget continues",
                      soft_wrap=True, markup=False, style="yellow")
    return summary.exit_code


def rehearse(run: BenchmarkRun, like: Path | None, seconds_per_call: float, json: Path | None) -> int:
    """Print what asking the questions would take (--dry-run); 1 where something is missing."""
    console = Console()
    prepared = Preparation(run, console)
    samples, dataset = prepared.samples, run.config.dataset
    prepared.say_problems()
    if run.task != EM and (counts := prepared.scenes.summary(samples)):
        console.print(f"{dataset} {run.split}".rstrip() + f": {counts}", soft_wrap=True, highlight=False, markup=False)
    if json is not None:
        write_json(json, prepared.scenes.rows(samples))
    _say_estimate(console, _estimate(run, samples, like, seconds_per_call))
    return 1 if prepared.problems else 0


def _checks(run: BenchmarkRun, scene: str) -> list[tuple[str, Check]]:
    """Return what can be tried of the settings without loading a model."""
    answerer = run.config.settings.answerer
    checks: list[tuple[str, Check]] = [("answerer", lambda: check_asks(answerer))]
    if run.task != EM:
        if scene:
            checks.append(("simulator", lambda: _open_simulator(scene)))
        if run.config.through != PROCESS:
            from eqa_nodes.ros.environment import ensure_ros

            checks.append(("graph", ensure_ros))
    return checks


def _open_simulator(scene: str) -> None:
    check_simulator(scene)
    open_simulator(scene).close()


def _estimate(run: BenchmarkRun, samples: list[Sample], like: Path | None, seconds_per_call: float) -> Estimate:
    if like is not None:
        return estimate_like(like, samples, run.workers)
    agent = run.config.named
    return estimate_documented(samples, agent.answerer, agent.policy, run.task, views=agent.k or EXPRESS_VIEWS,
                               call_s=seconds_per_call, workers=run.workers)


def _say_estimate(console: Console, estimate: Estimate) -> None:
    cost = estimate.cost
    console.print(f"{estimate.questions} questions, about {in_short(cost.calls)} model calls, {in_short(cost.tokens)} "
                  f"tokens, {in_words(cost.seconds)}. From {estimate.basis}.\nNothing was asked.", soft_wrap=True,
                  highlight=False, markup=False)


def _engine(run: BenchmarkRun, source_of: SourceOf | None, bar: RunBar, stack: ExitStack) -> Engine:
    """Return who asks: this process, or workers."""
    if run.workers == 1:
        if source_of is not None:
            runner = open_history_runner(run.config, source_of, _cache(run), bar.say)
        else:
            bar.say(f"starting the chain ({run.config.through})")
            runner = open_runner(run.config, bar.searching)
        stack.callback(runner.close)
        return SequentialEngine(runner)
    bar.say(f"{run.workers} workers")
    placed = replace(run, config=replace(run.config, folder=run.config.folder.resolve()))
    return ProcessEngine(partial(open_worker, placed), run.workers)


def open_worker(run: BenchmarkRun, number: int) -> EpisodeRunner:
    """Return what worker `number` asks with: a chain of its own, in the graph with a ROS domain of its own."""
    config = share_of(run.config, number, run.workers)
    if run.task == EM:
        return open_history_runner(config, benchmark_sources(config, run.history_folder, run.bags), _cache(run))
    return open_runner(config, own=config.folder / "workers" / str(number + 1))


def _cache(run: BenchmarkRun) -> Path:
    folder = cache_folder(run.cache)
    check_folder(folder)
    return folder


def deciding(run: BenchmarkRun) -> Mapping[str, object]:
    """Return what decides an answer: not where it is written, who asks, nor a budget, which may be raised."""
    config, agent = run.config, run.config.named
    nodes = {node: {name: value for name, value in values.items()
                    if name != "folder" and not name.startswith("model.budget_")}
             for node, values in config.parameters.items() if node not in ("recorder", "reconstructor")}
    found: dict[str, object] = {"nodes": nodes, "limits": config.question_limits.as_json(),
                                "force_guess": config.force_guess}
    if config.agent:
        found["agent"] = config.agent
    return {**found, "frames": agent.frames, "k": agent.k} if run.task == EM else found


class RunBar:
    """One line that says how the run stands and what the robot is doing; one line for each question that has ended."""

    def __init__(self, console: Console, samples: Sequence[Sample]) -> None:
        self._console = console
        self._samples = {sample.id: sample for sample in samples}
        self._meter = RunEstimator(len(samples))
        self._progress = Progress(SpinnerColumn(), BarColumn(20), MofNCompleteColumn(), TimeElapsedColumn(),
                                  TextColumn("{task.fields[outlook]}{task.description}", table_column=Column(
                                      ratio=1, no_wrap=True, overflow="ellipsis")), console=console, expand=True)
        self._task = self._progress.add_task("", total=len(samples), outlook="")

    def __enter__(self) -> RunBar:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def say(self, text: str) -> None:
        """Show what is going on."""
        self._progress.update(self._task, description=shown(text[:100]))

    def searching(self, now: Searching) -> None:
        """Show what the agent is doing."""
        self.say(doing(now))

    def asked(self, now: RunProgress) -> None:
        """Show a question that has ended."""
        self._meter.before(now.before)
        if now.prediction is not None:
            self._meter.add(now.prediction)
        self._progress.update(self._task, completed=now.done, outlook=outlook_text(self._meter.outlook()))
        if now.note:
            self._console.print(shown(now.note))
        if now.prediction is not None:
            self._console.print(self._line(now.prediction), soft_wrap=True, highlight=False)

    def _line(self, prediction: Prediction) -> str:
        sample, answer = self._samples[prediction.id], prediction.answer
        said = shown(answer.text) or "I don't know"
        if answer.error:
            said = f"[red]{answer.error.name}[/red] {shown(answer.message)}"
        return f"[bold]{shown(sample.question)}[/bold] {said}  [dim](reference: {shown(sample.answer)})[/dim]"


def outlook_text(outlook: RunEstimate) -> str:
    """Return "4 min left, 310 of about 1.2 k calls, 2.1 M of about 8.4 M tokens, "; "" while nothing is known."""
    left = [] if outlook.remaining_s is None else [f"{in_words(outlook.remaining_s)} left"]
    costs = [f"{in_short(spent)} of about {in_short(total)} {unit}" for spent, total, unit in
             ((outlook.spent.calls, outlook.total.calls, "calls"), (outlook.spent.tokens, outlook.total.tokens,
                                                                     "tokens")) if spent]
    if outlook.spent.money:
        costs.append(f"{outlook.spent.money:.3g} of about {outlook.total.money:.3g} by the model's prices")
    return "".join(f"{part}, " for part in left + costs)
