"""The part of the command line where a person is the agent: `eqa bench human`."""

from __future__ import annotations

import argparse
from pathlib import Path

from eqa_nodes.cli.limits import whole_or_none
from eqa_nodes.cli.paths import NewFolder
from eqa_nodes.cli.scenes_parser import robot_options, scene_options


def human(p: argparse.ArgumentParser) -> None:
    """Declare the options of `eqa bench human`."""
    p.description = ("Shows the questions of a data set on a page of this machine; what a person answers is saved, "
                     "scored and reported like any agent's. The same line again goes on where it was ended.")
    p.add_argument("--task", choices=("active", "em"), default="active",
                   help="active: the person drives the robot; em: they look through a history (default: active)")
    p.add_argument("--dataset", default="house", help="as of `eqa bench run` (default: house)")
    p.add_argument("--data", type=Path, metavar="DIR",
                   help="where a published data set's files lie (default: EQA_DATA)")
    p.add_argument("--split", default="", help="of the data set (house: train or test; default: test)")
    p.add_argument("--questions", type=int, default=20, metavar="N", help="how many, 0 = all (default: 20)")
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--out", type=NewFolder, help="run directory (default: runs/<time>)")
    robot_options(p, "the data set's own")
    p.add_argument("--max-steps", type=whole_or_none, default=300, metavar="N",
                   help="atomic actions of a question, or none (default: 300)")
    p.add_argument("--port", type=int, default=0, help="of the page, on 127.0.0.1 (default: any free one)")
    scene_options(p, "habitat")
    em = p.add_argument_group("task em")
    em.add_argument("--histories", type=Path, metavar="DIR",
                    help="holds each history under its name in the data set; house: made where it is not there")
    em.add_argument("-k", type=int, default=50, metavar="K", help="frames, even in time (default: 50)")
    em.add_argument("--cache", type=NewFolder, metavar="DIR",
                    help="keeps what was made of histories (default: EQA_CACHE, else ~/.cache/eqa)")
    p.set_defaults(run="eqa_nodes.cli.human:human")
