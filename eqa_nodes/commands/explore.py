"""`eqa bench explore`: exploration policies side by side on the same questions."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.markdown import Markdown

from eqa_nodes.bench.datasets import open_dataset
from eqa_nodes.bench.explore import ABLATIONS, tables
from eqa_nodes.bench.trials import Arm, run_with_bar
from eqa_nodes.commands.chain import label_chain, run_folder
from eqa_nodes.core.codec import write_bytes
from eqa_nodes.core.errors import ConfigError, unknown
from eqa_nodes.core.policies import policy_names
from eqa_nodes.core.types import Limits

TABLE = "explore.md"
AGAINST = ("frontier", "fine", "best")


def run(arguments: argparse.Namespace) -> int:
    """Run what is missing, then print and write the tables."""
    out = run_folder(arguments)
    asked = open_dataset("house", split=arguments.split, limit=arguments.questions, seed=arguments.seed)
    samples = [sample for sample in asked if sample.needs_exploration]
    arms = [_arm(name, noise, arguments) for name, noise in _chosen(arguments)]
    trials = run_with_bar(samples, arms, out, Limits(steps=arguments.max_steps), arguments.workers, arguments.seed)
    known = {name for name, _ in _chosen(arguments)}
    text = tables(trials, [name for name in AGAINST if name in known])
    houses = len({sample.scene for sample in samples})
    head = (f"{len(samples)} questions of {houses} {arguments.split} houses (seed {arguments.seed}); label answerer, "
            f"{arguments.image[0]} x {arguments.image[1]} image, at most {arguments.max_steps} steps.\n\n")
    write_bytes(out / TABLE, (head + text).encode())
    console = Console()
    console.print(Markdown(head + text) if console.is_terminal else head + text, soft_wrap=True, markup=False)
    console.print(f"tables: {out / TABLE}", soft_wrap=True)
    return 1 if any(trial.score.status == "failed" for trial in trials) else 0


def _chosen(arguments: argparse.Namespace) -> list[tuple[str, str]]:
    """Return name and noise of every arm. Raises ConfigError for an unknown policy."""
    for name in (*arguments.policies, *arguments.noisy):
        if name not in policy_names() and name not in ABLATIONS:
            raise ConfigError(unknown("policy", name, (*policy_names(), *ABLATIONS)))
    everywhere = [(name, noise) for noise in arguments.noise for name in arguments.noisy]
    main = [(name, arguments.noise[0]) for name in (*arguments.policies, *(ABLATIONS if arguments.ablations else ()))]
    return list(dict.fromkeys([*main, *everywhere]))


def _arm(name: str, noise: str, arguments: argparse.Namespace) -> Arm:
    explorer: Mapping[str, object] = {"policy": "best", **ABLATIONS[name]} if name in ABLATIONS else {"policy": name}
    return Arm(f"{name} ({noise})", noise, label_chain(noise, arguments.image, {"explorer": dict(explorer)}))


def image_of(text: str) -> Sequence[int]:
    """Return width and height of "160x120"."""
    width, _, height = text.partition("x")
    return int(width), int(height)


def default_folder(text: str) -> Path:
    """Return a path."""
    return Path(text)
