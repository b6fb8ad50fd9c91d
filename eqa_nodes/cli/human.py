"""`eqa bench human`: a person answers the questions of a data set."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from contextlib import ExitStack, closing

from rich.console import Console

from eqa_nodes.bench.datasets import open_dataset
from eqa_nodes.bench.running.progress import RunProgress
from eqa_nodes.bench.running.runner import run_benchmark
from eqa_nodes.bench.running.scene_files import ScenePreflight
from eqa_nodes.bench.samples import EM, Sample, check_runnable, opened_by
from eqa_nodes.cli.chain import IMAGE, chosen_robot, image_size, run_folder
from eqa_nodes.cli.em import cache_folder, source_finder
from eqa_nodes.console.human.desk import Desk
from eqa_nodes.console.human.episodes import DriveEpisode, HistoryEpisode, PersonEpisode
from eqa_nodes.console.human.runner import PersonRunner
from eqa_nodes.console.human.server import PageServer
from eqa_nodes.recordings.history_views import ViewSelection, open_views
from sim_bridge.registry import SimulatorPool


def human(arguments: argparse.Namespace) -> int:
    """Serve the page until all questions are answered."""
    console, out, desk = Console(), run_folder(arguments), Desk()
    with console.status("choosing questions"):
        samples = open_dataset(arguments.dataset, folder=arguments.data, split=arguments.split,
                               limit=arguments.questions, seed=arguments.seed, task=arguments.task)
        samples = opened_by(arguments.simulator, samples)
    with ExitStack() as stack:
        opener = _histories(arguments, console) if arguments.task == EM else _drives(arguments, samples, stack)
        runner = PersonRunner(desk, opener, len(samples))
        page = stack.enter_context(closing(PageServer(desk, arguments.port)))
        console.print(f"open {page.url}\nCtrl-C ends it; the same line with --out {out} goes on", soft_wrap=True,
                      highlight=False, markup=False)
        summary = run_benchmark(samples, runner, out, _listener(console, runner), dataset=arguments.dataset,
                                seed=arguments.seed, model="human", config=_config(arguments), blind=False,
                                task=arguments.task, preflight=ScenePreflight() if arguments.task != EM
                                else lambda sample: None)
        runner.farewell()
    console.print(f"{summary.asked} answered, {summary.resumed} before, {summary.failed} failed\nnext: eqa bench score "
                  f"{out}", soft_wrap=True, highlight=False, markup=False)
    return summary.exit_code


def _config(arguments: argparse.Namespace) -> dict[str, object]:
    """Return what decides what a person sees."""
    task = {"k": arguments.k} if arguments.task == EM else {"max_steps": arguments.max_steps}
    return {"agent": "human", "image": arguments.image, "robot": arguments.robot, **task}


def _listener(console: Console, runner: PersonRunner) -> Callable[[RunProgress], None]:
    def listen(now: RunProgress) -> None:
        runner.done = now.done
        if now.note:
            console.print(now.note, markup=False)
        if now.prediction is not None and now.prediction.failed:
            console.print(f"{now.prediction.id}: {now.prediction.answer.message}", style="red", markup=False,
                          soft_wrap=True)

    return listen


def _drives(arguments: argparse.Namespace, samples: list[Sample],
            stack: ExitStack) -> Callable[[Sample], PersonEpisode]:
    """Return what puts the robot into a question's scene. Raises ConfigError for scenes that no simulator here has."""
    check_runnable(samples)
    pool, robot = stack.enter_context(closing(SimulatorPool())), chosen_robot(arguments)
    return lambda sample: DriveEpisode(pool.get(sample.scene), sample, robot, arguments.max_steps)


def _histories(arguments: argparse.Namespace, console: Console) -> Callable[[Sample], PersonEpisode]:
    """Return what opens a question's history, as `eqa bench run --task em` does without labels."""
    selection = ViewSelection("uniform", arguments.k)
    source_of = source_finder(arguments.histories, image_size(arguments.image or IMAGE), selection)
    cache = cache_folder(arguments)

    def opened(sample: Sample) -> PersonEpisode:
        source = source_of(sample)
        with console.status(f"reading {source.name}"):
            return HistoryEpisode(open_views(source.name, source.identity, source.open, selection, cache), sample)

    return opened
