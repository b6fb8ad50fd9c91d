"""`eqa bench run`: pass 1 of a benchmark."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from eqa_nodes.cli.groups import BagReading, ChainOptions, SimulatorOptions, ViewsOptions
from eqa_nodes.cli.options import FILE, FOLDER, flag, from_zero, group, listed, option, whole

if TYPE_CHECKING:
    from eqa_nodes.config.run import RunConfig


_RECALLED = 12  # views of a memory of weeks


@dataclass(frozen=True, kw_only=True)
class WorkerOptions:
    """Who asks, or whether nobody does."""

    workers: int = option(1, "questions asked in parallel, each with its own robot and agent", type=whole, metavar="N")
    dry_run: bool = flag("ask nothing: report what is missing and estimate calls, tokens and time")
    json: Path | None = option(None, "with --dry-run: output file that lists the scene files of each question "
                               "(default: not written)", metavar="FILE", writes=FILE, rare=True)
    like: Path | None = option(None, "with --dry-run: run whose costs the estimate uses (default: documented costs)",
                               metavar="RUN", rare=True)
    seconds_per_call: float = option(3.0, "with --dry-run and without --like: assumed time of a model's reply, seconds",
                                     metavar="S", rare=True)


@dataclass(frozen=True, kw_only=True)
class AttachOptions:
    """A simulated graph that runs already, started by a launch file."""

    attach: bool = flag("ask the graph that runs in this ROS_DOMAIN_ID; agent, robot and model are those that it was "
                        "launched with")

    def attached(self, config: RunConfig, chain: ChainOptions, workers: WorkerOptions, task: str,
                 namespace: str) -> RunConfig:
        """Return the configuration of the running graph, or `config` without --attach. Raises ConfigError, NodeLost."""
        from eqa_nodes.core.errors import ConfigError

        if not self.attach:
            if namespace and task == "active":
                raise ConfigError("--namespace is of a graph that runs already or of bags: it needs --attach or "
                                  "--task em")
            return config
        usual = ChainOptions()
        if (chain.chain, chain.detector, chain.model) != (usual.chain, usual.detector, usual.model):
            raise ConfigError("--attach asks with the agent, robot, detector and model that the graph was launched "
                              "with: leave out their options, and give them to ros2 launch")
        if workers.workers != 1:
            raise ConfigError("--attach asks one graph, which has one robot: leave out --workers")
        if task != "active":
            raise ConfigError("--attach asks a robot that explores: leave out --task em, which reads recordings")
        from eqa_nodes.ros.environment import ensure_ros

        ensure_ros()
        from eqa_nodes.runners.in_graph import attached_config

        return attached_config(replace(config, namespace=namespace))


@dataclass(frozen=True, kw_only=True)
class EmHistoryOptions:
    """Where the histories of questions are, and which views answer."""

    histories: Path | None = option(None, "folder that holds each history under its name in the data set (default: "
                                    "tours of the built-in houses, made where they are missing)", metavar="DIR")
    views: ViewsOptions = group(ViewsOptions)
    bag: BagReading = group(BagReading)


@dataclass(frozen=True, kw_only=True)
class Run:
    """Asks every question of a data set once. The same command resumes after a kill."""

    dataset: str = option("house", "house, house-floors, house-measure, house-multi, house-people, "
                          "house-weeks, openeqa, hm-eqa, express, exploraqa, laeqa", complete=listed("READERS"))
    data: Path | None = option(None, "folder of a published data set's files (default: EQA_DATA)", metavar="DIR")
    split: str = option("", "part of the data set (house: train, validation or test; default: test)")
    questions: int | None = option(None, "how many questions, 0 = all (default: all of a published data set, 20 of one "
                                   "that is generated)", type=from_zero, metavar="N")
    seed: int = option(0, "seed of the order of houses (default: 0)")
    retry_failed: bool = flag("ask failed questions again")
    out: Path | None = option(None, "run directory (default: runs/<time>)", writes=FOLDER)
    task: str = option("", "active: a robot explores (A-EQA); em: the answer is in an episode history, EM-EQA ("
                       "default: that of the data set, else active)", choices=("active", "em"))
    how: WorkerOptions = group(WorkerOptions, "how it is run")
    graph: AttachOptions = group(AttachOptions, "a running graph")
    scans: SimulatorOptions = group(SimulatorOptions, "scans")
    em: EmHistoryOptions = group(EmHistoryOptions, "task em")
    chain: ChainOptions = group(ChainOptions)

    def run(self) -> int:
        """Ask, or only say what that would take."""
        from rich.console import Console

        from eqa_nodes.cli.bench.asking import BenchmarkRun, ask_questions, rehearse
        from eqa_nodes.cli.options import run_folder
        from eqa_nodes.core.components import READERS
        from eqa_nodes.core.types.samples import ACTIVE, EM

        self.scans.set_environment()
        out, how, views, traits = run_folder(self.out), self.how, self.em.views, READERS.traits(self.dataset)
        task, frames, k = self.task or (EM if traits.task == EM else ACTIVE), views.frames, views.k
        if traits.task == EM and not (traits.files or frames or self.chain.chain.agent):  # its histories have poses
            frames, k = "recalled", k or _RECALLED
        config = self.chain.config(dataset=self.dataset, folder=out, frames=frames, k=k)
        config = self.graph.attached(config, self.chain, how, task, self.em.bag.namespace)
        run = BenchmarkRun(config, self.data, self.split, self.questions, self.seed, task, self.scans.simulator,
                           self.retry_failed, self.em.histories, views.cache, how.workers, self.em.bag.chosen())
        if how.dry_run:
            return rehearse(run, how.like, how.seconds_per_call, how.json)
        code = ask_questions(run)
        Console().print(f"next: eqa bench score {out}", soft_wrap=True)
        return code
