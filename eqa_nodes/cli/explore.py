"""`eqa bench explore`: exploration policies side by side on the same questions."""

from __future__ import annotations

import argparse

from rich.console import Console

from eqa_nodes.bench.datasets import open_dataset
from eqa_nodes.bench.running.explore import ABLATIONS, WHOLE, tables
from eqa_nodes.bench.running.trials import Arm
from eqa_nodes.cli.chain import run_folder
from eqa_nodes.cli.trials import IMAGE, label_chain, run_with_bar
from eqa_nodes.core.errors import ConfigError, unknown
from eqa_nodes.core.storage.codec import write_bytes
from eqa_nodes.registry import POLICIES

TABLE = "explore.md"


def run(arguments: argparse.Namespace) -> int:
    """Run what is missing, then print and write the tables."""
    out = run_folder(arguments)
    chosen = _chosen(arguments)
    with Console().status("choosing questions"):
        asked = open_dataset("house", split=arguments.split, limit=arguments.questions, seed=arguments.seed)
    samples = [sample for sample in asked if sample.needs_exploration]
    trials = run_with_bar(samples, [_arm(*pair) for pair in chosen], out, arguments.max_steps, arguments.workers,
                          seed=arguments.seed)
    head = (f"{len(samples)} questions of {len({s.scene for s in samples})} {arguments.split} houses (seed "
            f"{arguments.seed}) that need exploration; label answerer, {IMAGE[0]} x {IMAGE[1]} image, at most "
            f"{arguments.max_steps} steps (checked between drives); 95 % intervals over questions.\n\n")
    text = head + tables(trials)
    write_bytes(out / TABLE, text.encode())
    Console().print(f"{text}\ntables: {out / TABLE}", soft_wrap=True, markup=False)
    return 1 if any(trial.score.status == "failed" for trial in trials) else 0


def _chosen(arguments: argparse.Namespace) -> list[tuple[str, str]]:
    """Return name and noise of every arm: all under the first noise, some under each. Raises ConfigError."""
    first = [*arguments.policies, *(ABLATIONS if arguments.ablations else ())]
    for name in (*first, *arguments.noisy):
        if name not in POLICIES and name not in ABLATIONS:
            raise ConfigError(unknown("policy", name, (*POLICIES, *ABLATIONS)))
    return list(dict.fromkeys([*((name, arguments.noise[0]) for name in first),
                               *((name, noise) for noise in arguments.noise[1:] for name in arguments.noisy)]))


def _arm(name: str, noise: str) -> Arm:
    explorer = {"policy": WHOLE, **ABLATIONS[name]} if name in ABLATIONS else {"policy": name}
    return Arm(f"{name} ({noise})", noise, label_chain(noise, {"explorer": explorer}))
