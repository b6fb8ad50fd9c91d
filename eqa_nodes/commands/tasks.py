"""`eqa bench tasks`."""

from __future__ import annotations

import argparse
from contextlib import closing
from dataclasses import replace

from rich.console import Console

from eqa_nodes.bench.datasets import open_dataset
from eqa_nodes.bench.embodied.agents import make_agent
from eqa_nodes.bench.embodied.runner import TaskRunner
from eqa_nodes.bench.embodied.tasks import task_in, write_tasks
from eqa_nodes.bench.embodied.world import SimulatedWorld
from eqa_nodes.bench.runner import run_benchmark
from eqa_nodes.bench.samples import TASKS, check_runnable
from eqa_nodes.commands.bench import _Bar
from eqa_nodes.commands.chain import run_folder
from eqa_nodes.commands.model import model_of

RESULTS = "trajectories"  # in the run directory
ORACLE = ("plan",)  # privileged: the oracle does what the generator planned


def run(arguments: argparse.Namespace) -> int:
    """Do tasks, or write them."""
    console = Console()
    with console.status("choosing tasks"):
        samples = open_dataset(arguments.dataset, folder=arguments.data, split=arguments.split,
                               limit=arguments.questions, seed=arguments.seed, task=TASKS)
    if arguments.write is not None:
        write_tasks(arguments.write, [task_in(sample) for sample in samples])
        console.print(f"{len(samples)} tasks: {arguments.write / 'tasks' / 'tasks.json'}", soft_wrap=True)
        return 0
    check_runnable(samples)
    samples = [replace(sample, seed=arguments.seed) for sample in samples]
    out, model = run_folder(arguments), model_of(arguments)
    agent, world = make_agent(arguments.agent, model), SimulatedWorld()
    config = {"agent": arguments.agent, "max_steps": arguments.max_steps}
    with _Bar(console, samples) as bar, closing(world):
        runner = TaskRunner(world, agent, out / RESULTS, max_steps=arguments.max_steps, images=arguments.images,
                            privileged=ORACLE if arguments.agent == "oracle" else (), listener=bar.say)
        summary = run_benchmark(samples, runner, out, bar.asked, dataset=arguments.dataset, seed=arguments.seed,
                                model=model.model if arguments.agent == "model" else arguments.agent, config=config,
                                blind=False, retry_failed=arguments.retry_failed, task=TASKS)
    console.print(f"{summary.asked} done, {summary.resumed} done before, {summary.failed} failed: {out}\n"
                  f"next: eqa bench score {out}", soft_wrap=True)
    return summary.exit_code
