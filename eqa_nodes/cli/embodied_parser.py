"""The command line of tasks: `eqa bench tasks`."""

from __future__ import annotations

import argparse
from pathlib import Path

from eqa_nodes.cli.limits import whole
from eqa_nodes.cli.model import model_options
from eqa_nodes.cli.paths import NewFolder
from eqa_nodes.cli.scenes_parser import scene_options


def tasks(p: argparse.ArgumentParser) -> None:
    """Add the options of `eqa bench tasks`."""
    p.description = ("Does tasks as EmbodiedEval sets them: at each of at most 24 steps the agent sees an image and "
                     "picks an option. Resumes after a kill; score and report as for other runs.")
    p.add_argument("--dataset", default="house-tasks", choices=("house-tasks", "embodied-eval"),
                   help="house-tasks: made from the built-in houses; embodied-eval: read from files (default: "
                        "%(default)s)")
    p.add_argument("--data", type=Path, metavar="DIR", help="where tasks/tasks.json lies (default: EQA_DATA)")
    p.add_argument("--split", default="", help="of the houses: train or test (default: test)")
    p.add_argument("--questions", type=int, default=20, metavar="N", help="how many tasks, 0 = all (default: 20)")
    p.add_argument("--seed", type=int, default=0, help="decides houses and what chance picks (default: 0)")
    p.add_argument("--agent", default="random", help="random, oracle (the plan that a task brings with it), or model")
    p.add_argument("--max-steps", type=whole, default=24, help="of a task (default: 24)")
    p.add_argument("--images", action="store_true", help="keep what was seen at each step as PNG")
    p.add_argument("--write", type=NewFolder, metavar="DIR",
                   help="write the tasks in EmbodiedEval's files, and do none")
    p.add_argument("--retry-failed", action="store_true", help="do failed tasks again")
    p.add_argument("--out", type=NewFolder, help="run directory (default: runs/<time>)")
    scene_options(p, "mesh")
    model_options(p)
    p.set_defaults(run="eqa_nodes.cli.tasks:run")
