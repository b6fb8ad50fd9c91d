"""`eqa bench explore`: exploration policies on the same questions."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from eqa_nodes.cli.groups import names_of
from eqa_nodes.cli.options import FOLDER, flag, listed, option, whole_or_none
from eqa_nodes.core.components import DEFAULT_ANSWERER, POLICIES

if TYPE_CHECKING:
    from eqa_nodes.bench.running.trials import Arm
    from eqa_nodes.config.graph import Parameters

TABLE = "explore.md"


@dataclass(frozen=True, kw_only=True)
class Explore:
    """Runs the same questions of the built-in houses under several exploration policies, in process, and writes
    explore.md: means, 95 % intervals, paired differences. The same command resumes after a kill.
    """

    policies: tuple[str, ...] = option(tuple(POLICIES.builtin),
                                       "policies, or named agents, under the first noise (default: all policies); "
                                       "aqnav=FILE is aqnav with another planner",
                                       type=names_of, metavar="NAME,..")
    noisy: tuple[str, ...] = option(("frontier", "fine-eqa", "best"), "policies also under the other noises",
                                    type=names_of, metavar="NAME,..")
    against: tuple[str, ...] = option((), "policies that the others are compared with, question by question (default: "
                                      "frontier, express-frontier, fine-eqa)", type=names_of, metavar="NAME,..")
    noise: tuple[str, ...] = option(("moderate", "none", "heavy"), "noise of the labels", type=names_of,
                                    metavar="NAME,..")
    ablations: bool = flag("also run the policy best with each of its parts disabled")
    dataset: str = option("house", "house, or house-multi: questions over two rooms", choices=("house", "house-multi"))
    split: str = option("test", "part of the houses", choices=("train", "validation", "test"))
    questions: int = option(200, "how many questions", metavar="N")
    seed: int = option(0, "seed of the choice of houses (default: 0)")
    max_steps: int = option(400, "maximum atomic actions of an episode", type=whole_or_none)
    workers: int = option(2, "processes")
    answerer: str = option(DEFAULT_ANSWERER, "answerer that judges views and answers; one that needs a model uses the "
                           "simulated one (docs/models.md), without noise", complete=listed("ANSWERERS"))
    limits: Path | None = option(None, "JSON file with the simulated model's perception limits (default: its own)",
                                 metavar="FILE")
    params: Path | None = option(None, "ROS parameter file that wins over the settings of the comparison",
                                 metavar="FILE")
    out: Path | None = option(None, "run directory (default: runs/<time>)", writes=FOLDER)

    def run(self) -> int:
        """Run what is missing, then print and write the tables."""
        from rich.console import Console

        from eqa_nodes.bench.datasets import open_dataset
        from eqa_nodes.bench.running.trials import BASELINES, tables
        from eqa_nodes.cli.bench.trials import IMAGE, run_with_bar, who_answers
        from eqa_nodes.cli.options import run_folder
        from eqa_nodes.core.storage.codec import write_bytes

        out, chosen = run_folder(self.out), self._chosen()
        with Console().status("choosing questions"):
            asked = open_dataset(self.dataset, split=self.split, limit=self.questions, seed=self.seed)
        samples = [sample for sample in asked if sample.needs_exploration]
        trials = run_with_bar(samples, [self._arm(*pair) for pair in chosen], out, self.max_steps, self.workers,
                              seed=self.seed, model=who_answers(self.answerer))
        limit = f"at most {self.max_steps} steps" if self.max_steps else "no limit of steps"
        head = (f"{len(samples)} questions of {len({s.scene for s in samples})} {self.split} houses (seed "
                f"{self.seed}) that need exploration; answerer {who_answers(self.answerer)}, {IMAGE[0]} x {IMAGE[1]} "
                f"image, {limit}; 95 % intervals over questions.\n\n")
        text = head + tables(trials, self.against or BASELINES)
        write_bytes(out / TABLE, text.encode())
        Console().print(f"{text}\ntables: {out / TABLE}", soft_wrap=True, markup=False)
        return 1 if any(trial.score.status == "failed" for trial in trials) else 0

    def _chosen(self) -> list[tuple[str, str]]:
        """Return name and noise of every arm: all under the first noise, some under each. Raises ConfigError."""
        from eqa_nodes.bench.running.trials import ABLATIONS
        from eqa_nodes.cli.bench.trials import asks_model
        from eqa_nodes.core.components import AGENTS, POLICIES
        from eqa_nodes.core.errors import ConfigError, unknown

        first = [*self.policies, *(ABLATIONS if self.ablations else ())]
        for name in (*first, *self.noisy):
            if not name.startswith("aqnav=") and name not in POLICIES and name not in ABLATIONS and name not in AGENTS:
                raise ConfigError(unknown("policy or agent", name, (*POLICIES, *ABLATIONS, *AGENTS)))
        noises = ("none",) if asks_model(self.answerer) else self.noise
        return list(dict.fromkeys([*((name, noises[0]) for name in first),
                                   *((name, noise) for noise in noises[1:] for name in self.noisy)]))

    def _arm(self, name: str, noise: str) -> Arm:
        from eqa_nodes.bench.running.trials import ABLATIONS, WHOLE, Arm
        from eqa_nodes.cli.bench.trials import chain_of
        from eqa_nodes.config.graph import read_file
        from eqa_nodes.config.named_agents import agent_of, agent_parameters
        from eqa_nodes.core.components import AGENTS, POLICIES
        from eqa_nodes.core.policies.planner import GraphPlanner

        policy, _, planner = name.partition("=")
        if planner:
            GraphPlanner.load(Path(planner))  # refuses what is none before the run begins
        explorer: dict[str, object] = {"policy": WHOLE, **ABLATIONS[name]} if name in ABLATIONS else {
            "policy": policy, **({"params.aqnav.planner": planner} if planner else {})}
        chosen: Parameters = {"explorer": explorer}
        if name in AGENTS and policy not in POLICIES:
            agent = agent_of(name)
            chosen = agent_parameters(name, self.answerer, agent.k_active)
            chosen.setdefault("explorer", {})["policy"] = agent.policy
        own: tuple[Parameters, ...] = (chosen, read_file(self.params) if self.params else {})
        return Arm(f"{name} ({noise})", noise, chain_of(self.answerer, noise, self.limits, *own))
