"""`eqa bench human`: a person answers the questions of a data set."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from eqa_nodes.cli.groups import SimulatorOptions
from eqa_nodes.cli.options import FOLDER, group, listed, option, whole_or_none

if TYPE_CHECKING:
    from rich.console import Console

    from eqa_nodes.bench.running.predictions import RunProgress
    from eqa_nodes.console.person import PersonEpisode, PersonRunner
    from eqa_nodes.core.types.samples import Sample

ACTIVE, EM = "active", "em"


@dataclass(frozen=True, kw_only=True)
class EmOptions:
    """Where the histories of questions are, and how many of their frames a person sees."""

    histories: Path | None = option(None, "folder that holds each history under its name in the data set (default: "
                                    "tours of the built-in houses, made where they are missing)", metavar="DIR")
    k: int = option(50, "frames, evenly spaced", "-k", metavar="K")
    cache: Path | None = option(None, "cache of converted histories (default: EQA_CACHE, else "
                                "~/.cache/eqa)", metavar="DIR", writes=FOLDER)


@dataclass(frozen=True, kw_only=True)
class Human:
    """Shows the questions of a data set on a local web page. A person's answers are saved, scored and reported like an
    agent's. The same command resumes where it stopped.
    """

    task: str = option(ACTIVE, "active: the person drives the robot; em: they look through a history",
                       choices=(ACTIVE, EM))
    dataset: str = option("house", "data set, as of `eqa bench run`", complete=listed("READERS"))
    data: Path | None = option(None, "folder of a published data set's files (default: EQA_DATA)", metavar="DIR")
    split: str = option("", "part of the data set (house: train or test; default: test)")
    questions: int = option(20, "how many questions, 0 = all", metavar="N")
    seed: int = option(0, "seed of the order of houses (default: 0)")
    out: Path | None = option(None, "run directory (default: runs/<time>)", writes=FOLDER)
    robot: str = option("", "body, camera and steps: default, openeqa, express, hm-eqa, exploraqa, embodied-eval "
                        "(default: the data set's own)", metavar="NAME", complete=listed("ROBOTS"))
    image: str = option("", "size of the camera image in pixels (default: the robot's)", metavar="WxH")
    max_steps: int = option(300, "maximum atomic actions of a question, or none", type=whole_or_none, metavar="N")
    port: int = option(0, "port of the page, on 127.0.0.1 (default: any free one)")
    scans: SimulatorOptions = group(SimulatorOptions, "scans")
    em: EmOptions = group(EmOptions, "task em")

    def run(self) -> int:
        """Serve the page until all questions are answered."""
        from rich.console import Console

        from eqa_nodes.bench.datasets import select
        from eqa_nodes.bench.running.runner import run_benchmark
        from eqa_nodes.bench.samples import opened_by
        from eqa_nodes.cli.options import run_folder
        from eqa_nodes.console import check_server
        from eqa_nodes.runners.sources import ScenePreflight

        check_server()
        from eqa_nodes.console.person import Desk, PersonRunner, PersonServer

        self.scans.set_environment()
        console, out, desk = Console(), run_folder(self.out), Desk()
        with console.status("choosing questions"):
            selection = select(self.dataset, self.questions, folder=self.data, split=self.split, seed=self.seed,
                               task=self.task)
            samples = opened_by(self.scans.simulator, selection.samples)
        if selection.words:
            console.print(f"{self.dataset}: {selection.words}", soft_wrap=True, highlight=False)
        with ExitStack() as stack:
            opener = self._histories(console) if self.task == EM else self._drives(samples, stack)
            runner = PersonRunner(desk, opener, len(samples))
            page = stack.enter_context(closing(PersonServer(desk, self.port)))
            console.print(f"open {page.url}\nCtrl-C ends it; the same command with --out {out} resumes",
                          soft_wrap=True, highlight=False, markup=False)
            summary = run_benchmark(samples, runner, out, _listener(console, runner), dataset=self.dataset,
                                    seed=self.seed, model="human", config=self._config(), blind=False, task=self.task,
                                    whole=selection.whole,
                                    preflight=ScenePreflight() if self.task != EM else lambda sample: None)
            runner.farewell()
        console.print(f"{summary.asked} answered, {summary.resumed} before, {summary.failed} failed\nnext: eqa bench "
                      f"score {out}", soft_wrap=True, highlight=False, markup=False)
        return summary.exit_code

    def _config(self) -> dict[str, object]:
        """Return what decides what a person sees."""
        task = {"k": self.em.k} if self.task == EM else {"max_steps": self.max_steps}
        return {"agent": "human", "image": self.image, "robot": self.robot, **task}

    def _drives(self, samples: list[Sample], stack: ExitStack) -> Callable[[Sample], PersonEpisode]:
        """Return what puts the robot into a question's scene. Raises ConfigError for scenes that nothing here opens."""
        from eqa_nodes.bench.samples import check_runnable
        from eqa_nodes.config.run import RunConfig
        from eqa_nodes.console.person import DriveEpisode
        from sim_bridge.registry import SimulatorPool

        check_runnable(samples)
        robot = RunConfig(robot=self.robot, dataset=self.dataset, image=self.image).robot_body
        pool = stack.enter_context(closing(SimulatorPool()))
        return lambda sample: DriveEpisode(pool.get(sample.scene), sample, robot, self.max_steps)

    def _histories(self, console: Console) -> Callable[[Sample], PersonEpisode]:
        """Return what opens a question's history, as `eqa bench run --task em` does without labels."""
        from eqa_nodes.config.run import image_size
        from eqa_nodes.console.person import HistoryEpisode
        from eqa_nodes.core.storage.checks import check_folder
        from eqa_nodes.recordings.history_views import ViewSelection, open_views
        from eqa_nodes.runners.sources import cache_folder, source_finder

        selection, cache = ViewSelection("uniform", self.em.k), cache_folder(self.em.cache)
        source_of = source_finder(self.em.histories, image_size(self.image) if self.image else None, selection)
        check_folder(cache)

        def opened(sample: Sample) -> PersonEpisode:
            source = source_of(sample)
            with console.status(f"reading {source.name}"):
                return HistoryEpisode(open_views(source.name, source.identity, source.open, selection, cache), sample)

        return opened


def _listener(console: Console, runner: PersonRunner) -> Callable[[RunProgress], None]:
    def listen(now: RunProgress) -> None:
        runner.done = now.done
        if now.note:
            console.print(now.note, markup=False)
        if now.prediction is not None and now.prediction.failed:
            console.print(f"{now.prediction.id}: {now.prediction.answer.message}", style="red", markup=False,
                          soft_wrap=True)

    return listen
