"""`eqa bench tasks`: tasks as EmbodiedEval sets them."""

from __future__ import annotations

import os
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from eqa_nodes.cli.groups import MESH, ModelOptions, SimulatorOptions
from eqa_nodes.cli.options import FOLDER, flag, from_zero, group, option, whole

if TYPE_CHECKING:
    from rich.console import Console

    from eqa_nodes.bench.datasets import Selection
    from eqa_nodes.bench.running.predictions import RunProgress, RunSummary
    from eqa_nodes.core.types.samples import Sample

RESULTS = "trajectories"  # in the run directory
ORACLE = ("plan",)  # privileged: the oracle does what the generator planned
MODELS = ("model", "video")
STRICT, LENIENT = "strict", "lenient"


@dataclass(frozen=True, kw_only=True)
class TaskScans(SimulatorOptions):
    """The same, with another default."""

    simulator: str = option(MESH, "simulator that opens the scans of a data set: habitat, or mesh, which needs no "
                            "Habitat", choices=("habitat", MESH))


@dataclass(frozen=True, kw_only=True)
class Tasks:
    """Carries out tasks as EmbodiedEval sets them: at each of at most 24 steps the agent sees an image and picks an
    option. Resumes after a kill; score and report as for other runs.
    """

    dataset: str = option("house-tasks", "house-tasks: made from the built-in houses; embodied-eval: read from files",
                          choices=("house-tasks", "embodied-eval"))
    data: Path | None = option(None, "folder with EmbodiedEval's tasks and scenes (default: EQA_DATA)", metavar="DIR")
    split: str = option("", "part of the houses: train or test (default: test)")
    questions: int | None = option(None, "how many tasks, 0 = all (default: all of embodied-eval, 20 of house-tasks)",
                                   type=from_zero, metavar="N")
    seed: int = option(0, "seed of the houses and of random choices (default: 0)")
    agent: str = option("random", "random, oracle (follows the plan stored with the task), model, or video (a model "
                        "that sees frames of the way so far)", complete=lambda: ("random", "oracle", *MODELS))
    max_steps: int = option(24, "maximum steps of a task", type=whole)
    max_images: int = option(24, "maximum of earlier views or frames that a model sees besides the current view",
                             type=from_zero, metavar="N")
    rules: str = option("", "what a reply without a valid option does: strict (it ends the task, default of "
                        "embodied-eval) or lenient (it is asked for once more, then the step is wasted; default of "
                        "house-tasks)", choices=(STRICT, LENIENT))
    reply: str = option("", 'form of a model\'s replies: choice ("Choice: [3]", default of embodied-eval) or json '
                        "(default of house-tasks)", choices=("choice", "json"))
    dry_run: bool = flag("say which tasks can be done and why the others cannot; none is carried out")
    images: bool = flag("save the image of each step as PNG")
    write: Path | None = option(None, "output folder for the tasks in EmbodiedEval's format; none is carried out "
                                "(default: not written)", metavar="DIR", writes=FOLDER)
    retry_failed: bool = flag("carry out failed tasks again")
    out: Path | None = option(None, "run directory (default: runs/<time>)", writes=FOLDER)
    scans: TaskScans = group(TaskScans, "scans")
    model: ModelOptions = group(ModelOptions, "the answerer's model")

    def run(self) -> int:
        """Carry the tasks out, or write them."""
        from rich.console import Console

        from eqa_nodes.bench.samples import check_runnable, opened_by
        from sim_bridge.registry import has_simulator

        console = Console()
        self.scans.set_environment()
        selection = self._selection(console)
        if selection.words:
            console.print(f"{self.dataset}: {selection.words}", soft_wrap=True, highlight=False, markup=False)
        if self.write is not None:
            return self._write(console, selection.samples, self.write)
        samples = opened_by(self.scans.simulator, selection.samples)
        if self.dry_run:
            return self._survey(console, samples)
        check_runnable(sample for sample in samples if not has_simulator(sample.scene))
        seeded = [replace(sample, seed=self.seed) for sample in samples]
        return self._carry_out(console, selection._replace(samples=seeded))

    def _selection(self, console: Console) -> Selection:
        from eqa_nodes.bench.datasets import select
        from eqa_nodes.bench.readers.options import data_folder
        from eqa_nodes.core.types.samples import TASKS
        from sim_bridge.scans import SCENES_VARIABLE

        if self._published and self.scans.scenes is None and (data := data_folder(self.data)):
            os.environ[SCENES_VARIABLE] = str(data.absolute())  # its scene files lie beside its tasks
        with console.status("choosing tasks"):
            return select(self.dataset, self.questions, folder=self.data, split=self.split, seed=self.seed, task=TASKS)

    @property
    def _published(self) -> bool:
        return self.dataset == "embodied-eval"

    def _survey(self, console: Console, samples: list[Sample]) -> int:
        """Print what can be done here."""
        from rich.table import Table

        from eqa_nodes.bench.embodied.survey import by_family, reasons, survey
        from eqa_nodes.bench.embodied.world import SimulatedWorld
        from eqa_nodes.runners.sources import ScenePreflight

        with closing(SimulatedWorld()) as world, console.status("opening scenes"):
            states = list(survey(samples, ScenePreflight(), world))
        table = Table("family", "tasks", "read", "offered by scans", "can be done here", box=None)
        for count in by_family(states):
            table.add_row(count.family, *map(str, count[1:]))
        console.print(table)
        for why, number, first in reasons(states):
            console.print(f"{number} cannot be done: {why}; {first}", soft_wrap=True, highlight=False, markup=False)
        return 0

    def _write(self, console: Console, samples: list[Sample], folder: Path) -> int:
        from eqa_nodes.bench.embodied.files import write_tasks
        from eqa_nodes.bench.embodied.tasks import task_in

        write_tasks(folder, [task_in(sample) for sample in samples])
        console.print(f"{len(samples)} tasks: {folder / 'tasks' / 'tasks.json'}", soft_wrap=True, markup=False)
        return 0

    def _carry_out(self, console: Console, selection: Selection) -> int:
        from eqa_nodes.cli.options import run_folder
        from eqa_nodes.runners.opening import check_model

        out = run_folder(self.out)
        if self.agent in MODELS:
            check_model(self.model.config())
        summary = self._run(console, selection, out)
        console.print(f"{summary.asked} done, {summary.resumed} done before, {summary.failed} failed: {out}\n"
                      f"next: eqa bench score {out}", soft_wrap=True, markup=False)
        if summary.complaint:
            console.print(summary.complaint, soft_wrap=True, markup=False, style="red")
        return summary.exit_code

    def _run(self, console: Console, selection: Selection, out: Path) -> RunSummary:
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bar

        from eqa_nodes.bench.embodied.agents import ModelAgentSettings, make_agent
        from eqa_nodes.bench.embodied.runner import TaskRunner
        from eqa_nodes.bench.embodied.tasks import check_doable
        from eqa_nodes.bench.embodied.world import SimulatedWorld
        from eqa_nodes.bench.running.runner import run_benchmark
        from eqa_nodes.cli.printing import shown
        from eqa_nodes.core.types.samples import TASKS
        from eqa_nodes.models.config import named_model
        from eqa_nodes.runners.sources import ScenePreflight

        samples, model, scenes = selection.samples, self.model.config(), ScenePreflight()
        strict = (self.rules or (STRICT if self._published else LENIENT)) == STRICT
        reply, asking = self.reply or ("choice" if self._published else "json"), self.agent in MODELS
        settings = ModelAgentSettings(self.max_images, reply, not strict, self.max_steps)
        agent, world = make_agent(self.agent, model, settings), SimulatedWorld()
        asks = {"backend": model.backend, "temperature": model.temperature, "max_images": self.max_images,
                "reply": reply} if asking else {}
        texts = {sample.id: sample.question for sample in samples}

        def preflight(sample: Sample) -> None:
            check_doable(sample)
            scenes(sample)

        with Bar(BarColumn(20), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"),
                 console=console) as bar, closing(world):
            task = bar.add_task("", total=len(samples))

            def ended(now: RunProgress) -> None:
                bar.update(task, completed=now.done)
                if now.note:
                    console.print(shown(now.note))
                if now.prediction is not None:
                    answer = now.prediction.answer
                    console.print(shown(f"{texts[now.prediction.id]} {answer.text or 'no answer'} "
                                        f"({answer.message})"), soft_wrap=True, highlight=False)

            runner = TaskRunner(world, agent, out / RESULTS, max_steps=self.max_steps, images=self.images,
                                strict=strict, privileged=ORACLE if self.agent == "oracle" else (),
                                listener=lambda text: bar.update(task, description=shown(text[:80])))
            return run_benchmark(samples, runner, out, ended, dataset=self.dataset, seed=self.seed,
                                 model=model.model if asking else self.agent,
                                 asked=named_model(model) if asking else "", blind=False,
                                 config={"agent": self.agent, "max_steps": self.max_steps,
                                         "rules": STRICT if strict else LENIENT, **asks},
                                 retry_failed=self.retry_failed, task=TASKS, whole=selection.whole,
                                 preflight=preflight)
