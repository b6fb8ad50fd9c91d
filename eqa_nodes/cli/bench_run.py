"""`eqa bench run`: what is missing, what it will cost, and then the questions, by one worker or several."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from rich.console import Console

from eqa_nodes.bench.datasets import open_dataset
from eqa_nodes.bench.running.crew import CrewEngine, Opening
from eqa_nodes.bench.running.estimate import Estimate, estimate_documented, estimate_like, in_short, in_words
from eqa_nodes.bench.running.preflight import (
    Check,
    Problem,
    history_problems,
    refuse_if_hopeless,
    scene_problems,
    setting_problems,
)
from eqa_nodes.bench.running.runner import Engine, EpisodeRunner, SequentialEngine, run_with
from eqa_nodes.bench.running.scene_files import ScenePreflight
from eqa_nodes.bench.running.workers import process_engine
from eqa_nodes.bench.samples import EM, Sample, opened_by
from eqa_nodes.cli.chain import limits_of, open_runner, parameters_of, run_folder
from eqa_nodes.cli.em import benchmark_sources, open_history_runner
from eqa_nodes.cli.ready import check_asks
from eqa_nodes.cli.run_bar import RunBar
from eqa_nodes.config.graph import settings
from eqa_nodes.core.errors import ConfigError, unknown
from eqa_nodes.core.storage.codec import write_json
from eqa_nodes.runners.history import HistorySource
from sim_bridge.habitat.devices import check_python
from sim_bridge.registry import simulator_of

SourceOf = Callable[[Sample], HistorySource]



def _ray(opening: Opening, workers: int, address: str) -> CrewEngine:
    from eqa_nodes.bench.running.ray_engine import ray_engine

    return ray_engine(opening, workers, address)


ENGINES: dict[str, Callable[[Opening, int, str], CrewEngine]] = {
    "processes": lambda opening, workers, address: process_engine(opening, workers), "ray": _ray}


def run(arguments: argparse.Namespace) -> int:
    """Pass 1: ask."""
    out = run_folder(arguments)
    code = ask_questions(arguments, out)
    if not arguments.dry_run:
        Console().print(f"next: eqa bench score {out}", soft_wrap=True)
    return code


def ask_questions(arguments: argparse.Namespace, out: Path) -> int:
    """Ask what `out` has no answer for, or only say what that would take (--dry-run). Returns the exit code."""
    console = Console()
    with console.status("choosing questions"):
        samples = opened_by(arguments.simulator, open_dataset(
            arguments.dataset, folder=arguments.data, split=arguments.split, limit=arguments.questions,
            seed=arguments.seed, task=arguments.task))
        source_of = benchmark_sources(arguments) if arguments.task == EM else None
        scenes = ScenePreflight(_labelled(arguments))
        problems = _problems(arguments, samples, source_of, scenes)
    if not arguments.dry_run:
        refuse_if_hopeless(problems, len(samples))
    for problem in problems:
        console.print(problem.line, soft_wrap=True, markup=False, style="yellow")
    if arguments.dry_run:
        if arguments.task != EM and (counts := scenes.summary(samples)):
            console.print(f"{arguments.dataset} {arguments.split}".rstrip() + f": {counts}", soft_wrap=True,
                          highlight=False)
        if arguments.json is not None:
            write_json(arguments.json, scenes.rows(samples))
        _say_estimate(console, _estimate(arguments, samples))
        return 1 if problems else 0
    with RunBar(console, samples) as bar, ExitStack() as stack:
        engine = _engine(arguments, out, source_of, bar, stack)
        summary = run_with(engine, samples, out, bar.asked, dataset=arguments.dataset, seed=arguments.seed,
                           model=arguments.agent or arguments.answerer, config=_config(arguments, out),
                           task=arguments.task, retry_failed=arguments.retry_failed,
                           preflight=source_of or scenes)
    console.print(f"{summary.asked} asked, {summary.resumed} asked before, {summary.failed} failed: {out}",
                  soft_wrap=True)
    if summary.complaint:
        console.print(summary.complaint, soft_wrap=True, markup=False, style="red")
    if summary.spent:
        left = summary.total - summary.asked - summary.resumed
        console.print(f"{left} questions are left: {summary.spent}. The same line with a larger budget goes on",
                      soft_wrap=True, markup=False, style="yellow")
    return summary.exit_code


def _problems(arguments: argparse.Namespace, samples: list[Sample], source_of: SourceOf | None,
              scenes: ScenePreflight) -> list[Problem]:
    """Return what is missing, before anything is asked."""
    unknown_kind = scene_problems(samples, arguments.task)
    there = "" if unknown_kind else next((s.scene for s in samples if scenes.state(s.scene).error is None), "")
    missing = history_problems(samples, source_of) if source_of is not None else scenes.problems(samples)
    return [*unknown_kind, *setting_problems(_checks(arguments, there), len(samples)), *missing]


def _labelled(arguments: argparse.Namespace) -> bool:
    """Say whether answers are made from the simulator's labels."""
    memory = settings("memory", parameters_of(arguments, Path()))
    return bool(memory.labels and memory.labels_from == "simulator")


def _checks(arguments: argparse.Namespace, scene: str) -> list[tuple[str, Check]]:
    """Return what can be tried of the settings without loading a model."""
    answerer = settings("answerer", parameters_of(arguments, Path()))
    checks: list[tuple[str, Check]] = []
    checks.append(("answerer", lambda: check_asks(answerer)))
    if arguments.task != EM:
        if simulator_of(scene) == "habitat":
            checks.append(("Habitat", check_python))
        if scene:
            checks.append(("simulator", lambda: _open_simulator(scene)))
        if arguments.through != "process":
            from eqa_nodes.ros.environment import ensure_ros

            checks.append(("graph", ensure_ros))
    return checks


def _open_simulator(scene: str) -> None:
    from sim_bridge.registry import open_simulator

    open_simulator(scene).close()


def _estimate(arguments: argparse.Namespace, samples: list[Sample]) -> Estimate:
    if arguments.like is not None:
        return estimate_like(arguments.like, samples, arguments.workers)
    return estimate_documented(samples, arguments.answerer, arguments.policy, arguments.task, views=arguments.k,
                               call_s=arguments.seconds_per_call, workers=arguments.workers)


def _say_estimate(console: Console, estimate: Estimate) -> None:
    cost = estimate.cost
    console.print(f"{estimate.questions} questions, about {in_short(cost.calls)} model calls, {in_short(cost.tokens)} "
                  f"tokens, {in_words(cost.seconds)}. From {estimate.basis}.\nNothing was asked.", soft_wrap=True,
                  highlight=False)


def _engine(arguments: argparse.Namespace, out: Path, source_of: SourceOf | None, bar: RunBar,
            stack: ExitStack) -> Engine:
    """Return who asks: this process, or workers."""
    if arguments.engine not in ENGINES:
        raise ConfigError(unknown("engine", arguments.engine, ENGINES))
    if arguments.workers == 1 and arguments.engine == "processes":
        if source_of is not None:
            runner: EpisodeRunner = open_history_runner(arguments, source_of, bar.say)
        else:
            bar.say(f"starting the chain ({arguments.through})")
            runner = open_runner(arguments, out, bar.searching)
        stack.callback(runner.close)
        return SequentialEngine(runner)
    bar.say(f"{arguments.workers} workers")
    return ENGINES[arguments.engine](partial(open_worker, arguments, out.resolve()), arguments.workers,
                                     arguments.ray_address)


def open_worker(arguments: argparse.Namespace, out: Path, number: int) -> EpisodeRunner:
    """Return what worker `number` asks with: a chain of its own, in the graph with a ROS domain of its own."""
    own = share_of(arguments, number)
    if own.task == EM:
        return open_history_runner(own, benchmark_sources(own), lambda text: None)
    return open_runner(own, out, lambda progress: None, out / "workers" / str(number + 1))


def share_of(arguments: argparse.Namespace, number: int) -> argparse.Namespace:
    """Return the options of one worker: budgets of the model are shared out, so that together they are the run's.

    Raises ConfigError for a budget smaller than the number of workers.
    """
    shares = {}
    for name, budget in vars(arguments).items():
        if name.startswith("budget_") and budget:
            if isinstance(budget, int) and budget < arguments.workers:
                raise ConfigError(f"--{name.replace('_', '-')} {budget} is less than one for each of "
                                  f"{arguments.workers} workers: raise it, or take fewer")
            whole, rest = divmod(budget, arguments.workers) if isinstance(budget, int) else (budget / arguments.workers,
                                                                                             0)
            shares[name] = whole + (number < rest)
    return argparse.Namespace(**{**vars(arguments), **shares})


def _config(arguments: argparse.Namespace, out: Path) -> dict[str, object]:
    """Return what decides an answer: not where it is written, who asks, nor a budget, which may be raised."""
    nodes = {node: {name: value for name, value in values.items()
                    if name != "folder" and not name.startswith("model.budget_")}
             for node, values in parameters_of(arguments, out).items()}
    config = {"nodes": nodes, "limits": limits_of(arguments).as_json(), "force_guess": arguments.force_guess}
    if arguments.agent:
        config["agent"] = arguments.agent
    return {**config, "frames": arguments.frames, "k": arguments.k} if arguments.task == EM else config
