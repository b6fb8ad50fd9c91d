"""The command `eqa`: ask questions, run and score benchmarks, look at the graph, check the machine."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from eqa_nodes import __version__
from eqa_nodes.cli_perception import perception
from eqa_nodes.cli_recordings import FORMATS, SOURCES, bag, bag_options, history, memory, record, replay, views_options
from eqa_nodes.commands.detector import detector_options
from eqa_nodes.commands.model import model_options
from eqa_nodes.core import policies
from eqa_nodes.core.errors import EqaError

EXAMPLES = """examples:
  eqa demo                                   five questions in the built-in house, with table and report
  eqa ask "Is the lamp in the bedroom on?"   one question in a house; --scene house:7 chooses which
  eqa bench run --questions 50 --out runs/a  a scored run; the same line again goes on after a kill
  eqa bench score runs/a && eqa report runs/a
  eqa replay BAG --ask "Where is the mug?"   a recording through the whole graph
  eqa doctor                                 what works on this machine, and what to do where it does not

exit codes: 0 done, 1 the program failed or a check did not pass, 2 wrong use or a named error, 130 interrupted
"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    top = argparse.ArgumentParser(prog="eqa", description="Ask a robot about the place it is in.", epilog=EXAMPLES,
                                  formatter_class=argparse.RawDescriptionHelpFormatter)
    top.add_argument("--version", action="version", version=f"eqa {__version__}")
    verbs = top.add_subparsers(dest="verb", required=True, metavar="VERB")
    _demo(verbs.add_parser("demo", help="answer questions in the built-in house and write a report"))
    _ask(verbs.add_parser("ask", help="ask one question"))
    _bench(verbs.add_parser("bench", help="run or score a benchmark"))
    _report(verbs.add_parser("report", help="write the report of a run"))
    history(verbs.add_parser("history", help="look into an episode history, or export it"))
    memory(verbs.add_parser("memory", help="look into a memory file, ask it, or make it forget"))
    replay(verbs.add_parser("replay", help="show an episode history to the graph as a live robot would, and ask"))
    _doctor(verbs.add_parser("doctor", help="check this machine"))
    record(verbs.add_parser("record", help="record topics of a robot that runs"))
    bag(verbs.add_parser("bag", help="check a recording"))
    _graph(verbs.add_parser("graph", help="show nodes, topics, services and actions"))
    return top


def _chain_options(p: argparse.ArgumentParser) -> None:
    chain = p.add_argument_group("the chain")
    chain.add_argument("--through", choices=("graph", "isolated", "process"), default="graph",
                       help="the ROS graph in one process, in a process a node, or the same chain without ROS "
                            "(default: graph)")
    chain.add_argument("--policy", default=policies.DEFAULT, help="exploration policy (default: %(default)s)")
    chain.add_argument("--answerer", default="label",
                       help="label: rules over the simulator's labels, privileged, no model; vlm: a model, "
                            "see below; its key comes from EQA_VLM_API_KEY (default: label)")
    chain.add_argument("--image", default="640x480", metavar="WxH", help="camera image in pixels (default: 640x480)")
    chain.add_argument("--params", type=Path, metavar="FILE", help="ROS parameter file; the options above win over it")
    detector_options(p)
    model_options(p)
    limits = p.add_argument_group("limits of a question (0 = none)")
    limits.add_argument("--max-steps", type=int, default=300, help="atomic actions (default: 300)")
    limits.add_argument("--max-metres", type=float, default=0.0)
    limits.add_argument("--max-seconds", type=float, default=0.0)
    limits.add_argument("--max-calls", type=int, default=0, help="model calls")
    limits.add_argument("--force-guess", action="store_true", help="guess instead of saying that nothing was found")


def _demo(p: argparse.ArgumentParser) -> None:
    p.add_argument("--questions", type=int, default=5, metavar="N", help="how many (default: 5)")
    p.add_argument("--seed", type=int, default=3, help="decides which houses (default: 3)")
    p.add_argument("--out", type=Path, help="run directory (default: runs/<time>)")
    _chain_options(p)
    p.set_defaults(run="eqa_nodes.commands.bench:demo")


def _ask(p: argparse.ArgumentParser) -> None:
    p.add_argument("question", help="in plain English")
    p.add_argument("--scene", default="house:1000", help="where (default: house:1000)")
    p.add_argument("--attach", action="store_true",
                   help="ask the graph that runs in this ROS_DOMAIN_ID (a robot's, say)")
    p.add_argument("--keep-memory", action="store_true",
                   help="with --attach: what that graph remembers stays when the episode begins")
    p.add_argument("--no-explore", dest="explore", action="store_false", help="answer from memory only")
    p.add_argument("--out", type=Path, help="run directory (default: runs/<time>)")
    p.add_argument("--evidence", type=Path, metavar="DIR", help="write the images that prove the answer there")
    about = p.add_argument_group("about what was recorded (EM-EQA): nothing is driven")
    about.add_argument("--history", type=Path, metavar="PATH", help=SOURCES)
    about.add_argument("--format", default="", help=FORMATS)
    views_options(about)
    bag_options(about)
    _chain_options(p)
    p.set_defaults(run="eqa_nodes.commands.ask:ask")


def _bench(p: argparse.ArgumentParser) -> None:
    verbs = p.add_subparsers(dest="bench", required=True, metavar="run|score|explore|calibrate|perception")
    run = verbs.add_parser("run", help="ask every question of a data set once; resumes after a kill")
    run.add_argument("--dataset", default="house", help="house, openeqa, hm-eqa, express (default: house)")
    run.add_argument("--data", type=Path, metavar="DIR",
                     help="where a published data set's files lie (default: EQA_DATA)")
    run.add_argument("--split", default="", help="of the data set (house: train or test; default: test)")
    run.add_argument("--questions", type=int, default=20, metavar="N", help="how many, 0 = all (default: 20)")
    run.add_argument("--seed", type=int, default=0)
    run.add_argument("--retry-failed", action="store_true", help="ask failed questions again")
    run.add_argument("--out", type=Path, help="run directory (default: runs/<time>)")
    run.add_argument("--task", choices=("active", "em"), default="active",
                     help="active: a robot looks for the answer (A-EQA); em: it lies in an episode history (EM-EQA) "
                          "(default: active)")
    em = run.add_argument_group("task em")
    em.add_argument("--histories", type=Path, metavar="DIR",
                    help="holds each history under its name in the data set; house: made where it is not there")
    views_options(em)
    _chain_options(run)
    run.set_defaults(run="eqa_nodes.commands.bench:run")
    score = verbs.add_parser("score", help="mark the answers of a run and print the table")
    score.add_argument("out", type=Path, metavar="RUN", help="run directory")
    score.add_argument("--judge", default="offline", help="who marks (default: offline)")
    score.set_defaults(run="eqa_nodes.commands.bench:score")
    _explore(verbs.add_parser("explore", help="set exploration policies side by side on the same questions"))
    _calibrate(verbs.add_parser("calibrate", help="fit how likely an answer is right, or check such a fit"))
    perception(verbs.add_parser("perception", help="measure a detector against the simulator's labels"))


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
    p.add_argument("--max-steps", type=int, default=400, help="atomic actions of an episode (default: 400)")
    p.add_argument("--workers", type=int, default=2, help="processes (default: 2)")
    p.add_argument("--out", type=Path, help="run directory (default: runs/<time>)")
    p.set_defaults(run="eqa_nodes.commands.explore:run")


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
    p.add_argument("--policy", default=policies.DEFAULT, help="exploration policy (default: %(default)s)")
    p.add_argument("--max-steps", type=int, default=250, help="atomic actions of an episode (default: 250)")
    p.add_argument("--workers", type=int, default=2, help="processes (default: 2)")
    p.add_argument("--out", type=Path, help="run directory (default: runs/<time>)")
    p.set_defaults(run="eqa_nodes.commands.calibrate:run")


def _numbers(text: str) -> tuple[float, ...]:
    return tuple(float(part) for part in text.split(","))


def _report(p: argparse.ArgumentParser) -> None:
    p.add_argument("out", type=Path, metavar="RUN", help="run directory")
    p.set_defaults(run="eqa_nodes.commands.bench:report")


def _doctor(p: argparse.ArgumentParser) -> None:
    p.add_argument("--json", action="store_true", help="print JSON")
    p.set_defaults(run="eqa_nodes.commands.doctor:doctor")


def _graph(p: argparse.ArgumentParser) -> None:
    p.add_argument("--format", choices=("table", "dot", "json"), default="table")
    p.add_argument("--check", type=Path, metavar="FILE", help="check a ROS parameter file against the graph")
    p.set_defaults(run="eqa_nodes.commands.graph:graph")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    arguments = parser().parse_args(argv)
    module, _, function = arguments.run.partition(":")
    try:
        return int(getattr(import_module(module), function)(arguments))
    except EqaError as error:
        print(f"eqa: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("eqa: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
