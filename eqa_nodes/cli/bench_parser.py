"""The parsers of `eqa bench` and `eqa report`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from eqa_nodes.cli import judges_parser as cli_judges
from eqa_nodes.cli.embodied_parser import tasks
from eqa_nodes.cli.human_parser import human
from eqa_nodes.cli.limits import whole
from eqa_nodes.cli.paths import NewFile, NewFolder
from eqa_nodes.cli.perception_parser import perception
from eqa_nodes.cli.recordings_parser import views_options
from eqa_nodes.cli.scenes_parser import scene_options
from eqa_nodes.registry import DEFAULT_POLICY


def bench(p: argparse.ArgumentParser, chain_options: Callable[[argparse.ArgumentParser], None]) -> None:
    """Add the verbs of `eqa bench`; chain_options adds those of the chain."""
    verbs = p.add_subparsers(dest="bench", required=True, metavar="VERB")
    _run(verbs.add_parser("run", help="ask every question of a data set once; resumes after a kill"), chain_options)
    score = verbs.add_parser("score", help="mark the answers of a run and print the table")
    score.add_argument("out", type=Path, metavar="RUN", help="run directory")
    cli_judges.score(score)
    score.set_defaults(run="eqa_nodes.cli.bench:score")
    human(verbs.add_parser("human", help="let a person answer the questions of a data set"))
    perception(verbs.add_parser("perception", help="measure a detector against the simulator's labels"))
    _compare(verbs.add_parser("compare", help="what differs between two scored runs, and whether it may be chance"))
    cli_judges.agree(verbs.add_parser("agree", help="how far judges and people agree"))
    cli_judges.robustness(verbs.add_parser("robustness", help="how much a judge depends on its settings"))
    cli_judges.mark_page(verbs.add_parser("mark-page", help="write a page for people who mark"))
    tasks(verbs.add_parser("tasks", help="do tasks as EmbodiedEval sets them"))
    _explore(verbs.add_parser("explore", help="set exploration policies side by side on the same questions"))
    _calibrate(verbs.add_parser("calibrate", help="fit how likely an answer is right, or check such a fit"))


def _run(p: argparse.ArgumentParser, chain_options: Callable[[argparse.ArgumentParser], None]) -> None:
    p.add_argument("--dataset", default="house",
                   help="house, house-navqa, openeqa, hm-eqa, express, exploraqa (default: house)")
    p.add_argument("--data", type=Path, metavar="DIR",
                     help="where a published data set's files lie (default: EQA_DATA)")
    p.add_argument("--split", default="", help="of the data set (house: train or test; default: test)")
    p.add_argument("--questions", type=int, default=20, metavar="N", help="how many, 0 = all (default: 20)")
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--retry-failed", action="store_true", help="ask failed questions again")
    p.add_argument("--out", type=NewFolder, help="run directory (default: runs/<time>)")
    p.add_argument("--task", choices=("active", "em"), default="active",
                     help="active: a robot looks for the answer (A-EQA); em: it lies in an episode history (EM-EQA) "
                          "(default: active)")
    _workers(p)
    scene_options(p, "habitat")
    em = p.add_argument_group("task em")
    em.add_argument("--histories", type=Path, metavar="DIR",
                    help="holds each history under its name in the data set; house: made where it is not there")
    views_options(em)
    chain_options(p)
    p.set_defaults(run="eqa_nodes.cli.bench_run:run")


def _workers(p: argparse.ArgumentParser) -> None:
    group = p.add_argument_group("how it is run")
    group.add_argument("--workers", type=whole, default=1, metavar="N",
                       help="questions asked at a time, each by a chain of its own (default: 1)")
    group.add_argument("--engine", default="processes",
                       help="processes: of this machine; ray: actors of a Ray cluster (default: processes)")
    group.add_argument("--ray-address", default="", metavar="ADDRESS",
                       help="of the cluster (default: RAY_ADDRESS, else one on this machine)")
    group.add_argument("--dry-run", action="store_true",
                       help="ask nothing: say what is missing, how many calls and tokens, and how long")
    group.add_argument("--json", type=NewFile, metavar="FILE",
                       help="with --dry-run: write there, for each question, which files of its scene are there")
    group.add_argument("--like", type=Path, metavar="RUN", help="with --dry-run: a run to estimate from")
    group.add_argument("--seconds-per-call", type=float, default=3.0, metavar="S",
                       help="with --dry-run: of a model's reply, where there is no --like (default: 3)")


def _compare(p: argparse.ArgumentParser) -> None:
    p.description = ("Pairs two scored runs by question: means, differences with 95 % intervals, a sign-flip test with "
                     "Holm's correction, by category, and who failed where.")
    p.add_argument("a", type=Path, metavar="A", help="run directory")
    p.add_argument("b", type=Path, metavar="B", help="another one, scored by the same judge")
    p.add_argument("--metrics", type=_names, default=[], metavar="NAME,..", help="which (default: all that differ)")
    p.add_argument("--any-judge", action="store_true", help="compare marks of different judges all the same")
    p.add_argument("--markdown", type=NewFile, metavar="FILE", help="write the tables there")
    p.add_argument("--json", type=NewFile, metavar="FILE", help="write everything there")
    p.set_defaults(run="eqa_nodes.cli.bench:compare_runs")


def _explore(p: argparse.ArgumentParser) -> None:
    p.description = ("Runs the same questions of the built-in houses under several exploration policies, in process, "
                     "and writes explore.md: means, 95 % intervals, paired differences. The same line again goes on "
                     "after a kill.")
    p.add_argument("--policies", type=_names, metavar="NAME,..",
                   default=["random", "frontier", "goal", "fine", "snapshot", "topo", "best"],
                   help="under the first noise (default: all)")
    p.add_argument("--noisy", type=_names, default=["frontier", "fine", "best"], metavar="NAME,..",
                   help="also under the other noises (default: frontier,fine,best)")
    p.add_argument("--noise", type=_names, default=["moderate", "none", "heavy"], metavar="NAME,..",
                   help="of the labels (default: moderate,none,heavy)")
    p.add_argument("--ablations", action="store_true", help="also our own policy with each of its parts switched off")
    p.add_argument("--split", choices=("train", "test"), default="test", help="of the houses (default: test)")
    p.add_argument("--questions", type=int, default=200, metavar="N", help="how many (default: 200)")
    p.add_argument("--seed", type=int, default=0, help="decides which houses (default: 0)")
    p.add_argument("--max-steps", type=whole, default=400, help="atomic actions of an episode (default: 400)")
    p.add_argument("--workers", type=int, default=2, help="processes (default: 2)")
    p.add_argument("--out", type=NewFolder, help="run directory (default: runs/<time>)")
    p.set_defaults(run="eqa_nodes.cli.explore:run")


def _names(text: str) -> list[str]:
    return text.split(",")


def _calibrate(p: argparse.ArgumentParser) -> None:
    p.description = ("Runs questions of the built-in houses in process and writes calibration.json for "
                     "agent.calibration, calibration.md and reliability.svg. The same line again goes on after a kill.")
    p.add_argument("--check", default="", metavar="NAME|FILE", help="check this calibration instead of fitting one")
    p.add_argument("--risk", type=_numbers, default=(), metavar="R,R,..",
                   help="with --check: accepted shares of wrong answers, each run with real stops")
    p.add_argument("--split", choices=("train", "test"), default="train", help="of the houses (default: train)")
    p.add_argument("--questions", type=int, default=90, metavar="N", help="how many (default: 90)")
    p.add_argument("--seed", type=int, default=0, help="decides which houses (default: 0)")
    p.add_argument("--noise", type=lambda text: text.split(","), default=["none", "moderate", "heavy", "severe"],
                   metavar="NAME,..", help="of the labels (default: none,moderate,heavy,severe)")
    p.add_argument("--policy", default=DEFAULT_POLICY, help="exploration policy (default: %(default)s)")
    p.add_argument("--max-steps", type=whole, default=250, help="atomic actions of an episode (default: 250)")
    p.add_argument("--workers", type=int, default=2, help="processes (default: 2)")
    p.add_argument("--out", type=NewFolder, help="run directory (default: runs/<time>)")
    p.set_defaults(run="eqa_nodes.cli.calibrate:run")


def _numbers(text: str) -> tuple[float, ...]:
    return tuple(float(part) for part in text.split(","))


def report(p: argparse.ArgumentParser) -> None:
    """Add the options of `eqa report`."""
    p.add_argument("out", type=Path, metavar="RUN", help="run directory")
    p.set_defaults(run="eqa_nodes.cli.bench:report")
