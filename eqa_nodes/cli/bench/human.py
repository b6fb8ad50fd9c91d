"""`eqa bench human`: a person answers the questions of a data set."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from eqa_nodes.cli.groups import MESH, SimulatorOptions
from eqa_nodes.cli.options import FOLDER, argument, group, listed, option, whole_or_none

if TYPE_CHECKING:
    from rich.console import Console

    from eqa_nodes.bench.running.predictions import RunProgress
    from eqa_nodes.console.person import Desk, HistoryEpisode, PersonEpisode, PersonRunner
    from eqa_nodes.console.person_tasks import PersonTaskAgent
    from eqa_nodes.core.types.samples import EpisodeRunner, Sample

ACTIVE, EM, TASKS = "active", "em", "tasks"


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
    """Shows the questions or tasks of a data set on a local web page. A person's answers are saved, scored and reported
    like an agent's. The same command resumes where it stopped.
    """

    task: str = option("", "active: the person drives the robot; em: they look through a history; tasks: they choose "
                       "an option at each step (default: tasks for house-tasks and embodied-eval, else active)",
                       choices=(ACTIVE, EM, TASKS))
    dataset: str = option("house", "data set, as of `eqa bench run` and `eqa bench tasks`", complete=listed("READERS"))
    data: Path | None = option(None, "folder of a published data set's files (default: EQA_DATA)", metavar="DIR")
    split: str = option("", "part of the data set (house: train, validation or test; default: test)")
    questions: int = option(20, "how many questions, 0 = all", metavar="N")
    seed: int = option(0, "seed of the order of houses (default: 0)")
    out: Path | None = option(None, "run directory (default: runs/<time>)", writes=FOLDER)
    robot: str = option("", "body, camera and steps: default, openeqa, express, hm-eqa, exploraqa, embodied-eval "
                        "(default: the data set's own)", metavar="NAME", complete=listed("ROBOTS"))
    image: str = option("", "size of the camera image in pixels (default: the robot's)", metavar="WxH")
    max_steps: int | None = option(None, "maximum atomic actions of a question, or none (default: 300); of a task its "
                                   "steps (default: 24)", type=whole_or_none, metavar="N")
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

        check_server()
        from eqa_nodes.console.person import Desk, PersonServer

        self._set_environment()
        task = self._task
        console, out, desk = Console(), run_folder(self.out), Desk()
        with console.status("choosing questions"):
            selection = select(self.dataset, self.questions, folder=self.data, split=self.split, seed=self.seed,
                               task=task)
            samples = opened_by(MESH if task == TASKS else self.scans.simulator, selection.samples)
        if selection.words:
            console.print(f"{self.dataset}: {selection.words}", soft_wrap=True, highlight=False, markup=False)
        with ExitStack() as stack:
            runner, person = self._tasks(desk, len(samples), out, stack) if task == TASKS else self._questions(
                desk, samples, console, stack)
            page = stack.enter_context(closing(PersonServer(desk, self.port)))
            console.print(f"open {page.url}\nCtrl-C ends it; the same command with --out {out} resumes",
                          soft_wrap=True, highlight=False, markup=False)
            summary = run_benchmark(samples, runner, out, _listener(console, person), dataset=self.dataset,
                                    seed=self.seed, model="human", config=self._config(), blind=False, task=task,
                                    whole=selection.whole, preflight=_preflight(task))
            person.farewell()
        console.print(f"{summary.asked} answered, {summary.resumed} before, {summary.failed} failed\nnext: eqa bench "
                      f"score {out}", soft_wrap=True, highlight=False, markup=False)
        return summary.exit_code

    @property
    def _task(self) -> str:
        from eqa_nodes.core.components import READERS

        return self.task or (READERS.traits(self.dataset).task if self.dataset in READERS else "") or ACTIVE

    @property
    def _limit(self) -> int:
        """Return the maximum number of steps, 0 = no limit."""
        if self._task == TASKS:
            return self.max_steps or 24
        return 300 if self.max_steps is None else self.max_steps

    def _set_environment(self) -> None:
        from eqa_nodes.bench.readers.options import data_folder
        from sim_bridge.scans import SCENES_VARIABLE

        self.scans.set_environment()
        if self._task == TASKS and self.scans.scenes is None and (data := data_folder(self.data)):
            os.environ[SCENES_VARIABLE] = str(data.absolute())  # the scene files of tasks lie beside them

    def _tasks(self, desk: Desk, total: int, out: Path, stack: ExitStack) -> tuple[EpisodeRunner, PersonTaskAgent]:
        """Return what carries out tasks with the options that the person chooses."""
        from eqa_nodes.bench.embodied.runner import TaskRunner
        from eqa_nodes.bench.embodied.world import SimulatedWorld
        from eqa_nodes.cli.bench.tasks import RESULTS
        from eqa_nodes.console.person_tasks import PersonTaskAgent

        person = PersonTaskAgent(desk, total)
        world = stack.enter_context(closing(SimulatedWorld()))
        return TaskRunner(world, person, out / RESULTS, max_steps=self._limit), person

    def _questions(self, desk: Desk, samples: list[Sample], console: Console,
                   stack: ExitStack) -> tuple[EpisodeRunner, PersonRunner]:
        """Return what asks questions."""
        from eqa_nodes.console.person import PersonRunner

        opener: Callable[[Sample], PersonEpisode] = self._drives(samples, stack) if self._task != EM else _histories(
            self.em, self.image, console)
        runner = PersonRunner(desk, opener, len(samples))
        return runner, runner

    def _config(self) -> dict[str, object]:
        """Return what decides what a person sees."""
        task = {"k": self.em.k} if self._task == EM else {"max_steps": self._limit}
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
        return lambda sample: DriveEpisode(pool.get(sample.scene), sample, robot, self._limit)


@dataclass(frozen=True, kw_only=True)
class WriteQuestions:
    """Shows episode histories on a local web page, on which a person writes questions with their answers. They are
    saved at once in OpenEQA's format, which --dataset openeqa reads. The same command goes on in the same folder.
    """

    history: tuple[str, ...] = argument("histories: names under --histories, or built-in houses such as house:7",
                                        nargs="+", metavar="HISTORY")
    out: Path | None = option(None, "folder of the questions (default: runs/<time>)", writes=FOLDER)
    image: str = option("", "size of rendered images in pixels (default: 640x480)", metavar="WxH")
    port: int = option(0, "port of the page, on 127.0.0.1 (default: any free one)")
    em: EmOptions = group(EmOptions, "histories")

    def run(self) -> int:
        """Serve the page until the last history is done."""
        from rich.console import Console

        from eqa_nodes.cli.options import run_folder
        from eqa_nodes.console import check_server

        check_server()
        from eqa_nodes.console.person import Desk, PersonServer
        from eqa_nodes.console.person_writing import write_questions
        from eqa_nodes.core.types.samples import Sample

        console, out, desk = Console(), run_folder(self.out), Desk()
        opened = _histories(self.em, self.image, console)
        with closing(PersonServer(desk, self.port)) as page:
            console.print(f"open {page.url}\nCtrl-C ends it; the same command with --out {out} resumes",
                          soft_wrap=True, highlight=False, markup=False)
            count = write_questions(desk, out, self.history, lambda name: opened(
                Sample(name, "", "", scene=name.rsplit("/", 1)[-1], metadata={"episode_history": name})))
        console.print(f"{count} questions in {out}\nnext: eqa bench run --task em --dataset openeqa --data {out}",
                      soft_wrap=True, highlight=False, markup=False)
        return 0


def _histories(em: EmOptions, image: str, console: Console) -> Callable[[Sample], HistoryEpisode]:
    """Return what opens a question's history, as `eqa bench run --task em` does without labels."""
    from eqa_nodes.config.run import image_size
    from eqa_nodes.console.person import HistoryEpisode
    from eqa_nodes.core.storage.checks import check_folder
    from eqa_nodes.recordings.history_views import ViewSelection, open_views
    from eqa_nodes.runners.sources import cache_folder, source_finder

    selection, cache = ViewSelection("uniform", em.k), cache_folder(em.cache)
    source_of = source_finder(em.histories, image_size(image) if image else None, selection)
    check_folder(cache)

    def opened(sample: Sample) -> HistoryEpisode:
        source = source_of(sample)
        with console.status(f"reading {source.name}"):
            return HistoryEpisode(open_views(source.name, source.identity, source.open, selection, cache), sample)

    return opened


def _preflight(task: str) -> Callable[[Sample], object]:
    """Return the check of each question before the first one is asked."""
    from eqa_nodes.bench.embodied.tasks import check_doable
    from eqa_nodes.runners.sources import ScenePreflight

    scenes = ScenePreflight()

    def check(sample: Sample) -> None:
        if task == TASKS:
            check_doable(sample)
        if task != EM:
            scenes(sample)

    return check


def _listener(console: Console, runner: PersonRunner | PersonTaskAgent) -> Callable[[RunProgress], None]:
    def listen(now: RunProgress) -> None:
        runner.done = now.done
        if now.note:
            console.print(now.note, markup=False)
        if now.prediction is not None and now.prediction.failed:
            console.print(f"{now.prediction.id}: {now.prediction.answer.message}", style="red", markup=False,
                          soft_wrap=True)

    return listen
