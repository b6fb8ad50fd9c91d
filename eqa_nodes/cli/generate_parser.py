"""The part of the command line that makes question-answer data: `eqa generate`."""

from __future__ import annotations

import argparse
from pathlib import Path

from eqa_nodes.cli.model import model_options
from eqa_nodes.cli.paths import NewFolder
from eqa_nodes.cli.scenes_parser import PLACES, scene_options


def generate(p: argparse.ArgumentParser) -> None:
    """Declare the options of `eqa generate`."""
    verbs = p.add_subparsers(dest="benchmark", required=True, metavar="express|exploraqa|finish")
    for name, words in (("express", "questions at the end of ways, as EXPRESS-Bench made them"),
                        ("exploraqa", "instructions with questions and several viewpoints, as ExploraQA made them")):
        _make(verbs.add_parser(name, help=words))
    finish = verbs.add_parser("finish", help="write what people let pass")
    finish.add_argument("out", type=Path, metavar="DIR", help="folder that was generated")
    finish.add_argument("--verdicts", type=Path, nargs="+", required=True, metavar="FILE",
                        help="what verify.html exported, one file a reviewer")
    finish.set_defaults(run="eqa_nodes.cli.generate:finish")


def _make(p: argparse.ArgumentParser) -> None:
    p.description = ("Makes questions with answers in a simulator, with their whole history. The same line again goes "
                     "on after a kill, and pays for nothing twice; a larger --count adds to what is there.")
    p.add_argument("--scene", nargs="+", default=["house:3"], metavar="SCENE",
                   help=f"taken in turn: {PLACES} (default: house:3)")
    p.add_argument("--count", type=int, default=5, metavar="N", help="accepted questions (default: 5)")
    p.add_argument("--out", type=NewFolder, metavar="DIR", help="folder that is made (default: runs/<time>)")
    p.add_argument("--seed", type=int, default=0, help="decides ways and the seeds of models (default: 0)")
    p.add_argument("--per-way", type=int, default=3, metavar="N", help="attempts at the end of each way (default: 3)")
    p.add_argument("--tries", type=int, default=12, metavar="N",
                   help="attempts at most for each wanted question (default: 12)")
    p.add_argument("--rounds", type=int, default=3, metavar="N", help="proposals an attempt, at most (default: 3)")
    p.add_argument("--elsewhere", type=int, default=3, metavar="N",
                   help="views of other parts of the scene that a question is asked at (default: 3)")
    p.add_argument("--reproduce", type=_share, default=(2, 3), metavar="K/N",
                   help="answers that must be right of how many (default: 2/3)")
    p.add_argument("--generator", choices=("label", "model"), default="",
                   help="label: the built-in house's own questions, privileged, no model; model: see below (default: "
                        "model where --model is given, else label)")
    scene_options(p)
    model_options(p)
    model_options(p, "evaluator")
    p.set_defaults(run="eqa_nodes.cli.generate:make")


def _share(text: str) -> tuple[int, int]:
    needed, _, times = text.partition("/")
    if not (needed.isdecimal() and times.isdecimal() and 0 < int(needed) <= int(times)):
        raise argparse.ArgumentTypeError(f"{text!r} is no share such as 2/3")
    return int(needed), int(times)
