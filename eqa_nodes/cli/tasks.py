"""`eqa bench tasks`."""

from __future__ import annotations

import argparse
import os
from contextlib import closing
from dataclasses import replace

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from eqa_nodes.bench.datasets import data_folder, open_dataset
from eqa_nodes.bench.running.progress import RunProgress
from eqa_nodes.bench.running.runner import run_benchmark
from eqa_nodes.bench.running.scene_files import ScenePreflight
from eqa_nodes.bench.samples import TASKS, Sample, check_runnable, opened_by
from eqa_nodes.cli.chain import run_folder
from eqa_nodes.cli.model import model_of
from eqa_nodes.cli.printing import shown
from eqa_nodes.cli.ready import check_model
from eqa_nodes.embodied.agents import make_agent
from eqa_nodes.embodied.runner import TaskRunner
from eqa_nodes.embodied.tasks import check_doable, task_in, write_tasks
from eqa_nodes.embodied.world import SimulatedWorld
from sim_bridge.registry import SIMULATORS
from sim_bridge.scans import SCENES_VARIABLE

RESULTS = "trajectories"  # in the run directory
ORACLE = ("plan",)  # privileged: the oracle does what the generator planned


def run(arguments: argparse.Namespace) -> int:
    """Do tasks, or write them."""
    console, scenes = Console(), ScenePreflight()
    if arguments.dataset == "embodied-eval" and arguments.scans is None and (data := data_folder(arguments.data)):
        os.environ[SCENES_VARIABLE] = str(data.absolute())  # its scene files lie beside its tasks
    with console.status("choosing tasks"):
        samples = open_dataset(arguments.dataset, folder=arguments.data, split=arguments.split,
                               limit=arguments.questions, seed=arguments.seed, task=TASKS)
    if arguments.write is not None:
        write_tasks(arguments.write, [task_in(sample) for sample in samples])
        console.print(f"{len(samples)} tasks: {arguments.write / 'tasks' / 'tasks.json'}", soft_wrap=True)
        return 0
    samples = opened_by(arguments.simulator, samples)
    check_runnable(sample for sample in samples if sample.simulator not in SIMULATORS)
    samples = [replace(sample, seed=arguments.seed) for sample in samples]
    out, model = run_folder(arguments), model_of(arguments)
    if arguments.agent == "model":
        check_model(model)
    agent, world = make_agent(arguments.agent, model), SimulatedWorld()
    asks = {"backend": model.backend, "temperature": model.temperature} if arguments.agent == "model" else {}
    config = {"agent": arguments.agent, "max_steps": arguments.max_steps, **asks}
    texts = {sample.id: sample.question for sample in samples}
    columns = BarColumn(20), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}")

    def preflight(sample: Sample) -> None:
        check_doable(sample)
        scenes(sample)

    with Bar(*columns, console=console) as bar, closing(world):
        line = bar.add_task("", total=len(samples))

        def ended(now: RunProgress) -> None:
            bar.update(line, completed=now.done)
            if now.note:
                console.print(shown(now.note))
            if now.prediction is not None:
                answer = now.prediction.answer
                console.print(shown(f"{texts[now.prediction.id]} {answer.text or 'no answer'} ({answer.message})"),
                              soft_wrap=True, highlight=False)

        runner = TaskRunner(world, agent, out / RESULTS, max_steps=arguments.max_steps, images=arguments.images,
                            privileged=ORACLE if arguments.agent == "oracle" else (),
                            listener=lambda text: bar.update(line, description=shown(text[:80])))
        summary = run_benchmark(samples, runner, out, ended, dataset=arguments.dataset, seed=arguments.seed,
                                model=model.model if arguments.agent == "model" else arguments.agent, config=config,
                                blind=False, retry_failed=arguments.retry_failed, task=TASKS,
                                preflight=preflight)
    console.print(f"{summary.asked} done, {summary.resumed} done before, {summary.failed} failed: {out}\n"
                  f"next: eqa bench score {out}", soft_wrap=True)
    if summary.complaint:
        console.print(summary.complaint, soft_wrap=True, markup=False, style="red")
    return summary.exit_code
