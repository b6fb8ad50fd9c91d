"""The parser of the command `eqa`: ask questions, run and score benchmarks, look at the graph, check the machine."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from eqa_nodes import __version__
from eqa_nodes.cli.bench_parser import bench, report
from eqa_nodes.cli.console_parser import attached_options, console
from eqa_nodes.cli.detector import detector_options
from eqa_nodes.cli.doctor_parser import doctor
from eqa_nodes.cli.generate_parser import generate
from eqa_nodes.cli.limits import limit_options
from eqa_nodes.cli.model import model_options
from eqa_nodes.cli.models_parser import serve
from eqa_nodes.cli.paths import NewFolder
from eqa_nodes.cli.recordings_parser import (
    FORMATS,
    SOURCES,
    bag,
    bag_options,
    history,
    memory,
    record,
    replay,
    views_options,
)
from eqa_nodes.cli.scenes_parser import PLACES, robot_options, scene_options, set_environment
from eqa_nodes.registry import DEFAULT_POLICY
from eqa_nodes.registry.agents import AGENTS, fill_in

EXAMPLES = """examples:
  eqa demo                                   five questions in the built-in house, with table and report
  eqa ask "Is the lamp in the bedroom on?"   one question in a house; --scene house:7 chooses which
  eqa console                                the same on a page, with camera, map and reasons live
  eqa bench run --questions 50 --out runs/a  a scored run; the same line again goes on after a kill
  eqa bench score runs/a && eqa report runs/a
  eqa bench compare runs/a runs/b            what differs between two runs, and whether it may be chance
  eqa replay BAG --ask "Where is the mug?"   a recording through the whole graph
  eqa serve MODEL                            a local model as an endpoint for --answerer vlm
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
    console(verbs.add_parser("console", help="a page on which to ask, to watch, and to replay"), _chain_options)
    bench(verbs.add_parser("bench", help="run or score a benchmark, or compare two runs"), _chain_options)
    report(verbs.add_parser("report", help="write the report of a run"))
    generate(verbs.add_parser("generate", help="make question-answer data as EXPRESS-Bench and ExploraQA made theirs"))
    history(verbs.add_parser("history", help="look into an episode history, or export it"))
    memory(verbs.add_parser("memory", help="look into a memory file, ask it, or make it forget"))
    replay(verbs.add_parser("replay", help="show an episode history to the graph as a live robot would, and ask"))
    doctor(verbs.add_parser("doctor", help="check this machine, a robot that runs, or a bag"))
    record(verbs.add_parser("record", help="record topics of a robot that runs"))
    bag(verbs.add_parser("bag", help="check a recording"))
    serve(verbs.add_parser("serve", help="serve a model of transformers on this machine"))
    _graph(verbs.add_parser("graph", help="show nodes, topics, services and actions"))
    return top


def _chain_options(p: argparse.ArgumentParser) -> None:
    chain = p.add_argument_group("the chain")
    chain.add_argument("--through", choices=("graph", "isolated", "process"), default="graph",
                       help="the ROS graph in one process, in a process a node, or the same chain without ROS "
                            "(default: graph)")
    chain.add_argument("--agent", default="", metavar="NAME",
                       help=f"answerer, views and exploration by one name: {', '.join(AGENTS)}; or module:function, a "
                            "function of your own (docs/agents.md); the options below win over it")
    chain.add_argument("--policy", help=f"exploration policy (default: the agent's, else {DEFAULT_POLICY})")
    chain.add_argument("--answerer",
                       help="label: rules over the simulator's labels, privileged, no model; vlm: a model, see "
                            "below; its key comes from EQA_VLM_API_KEY (default: the agent's, else label)")
    robot_options(chain, "the data set's own, else default")
    chain.add_argument("--params", type=Path, metavar="FILE", help="ROS parameter file; the options above win over it")
    detector_options(p)
    model_options(p)
    limit_options(p)


def _demo(p: argparse.ArgumentParser) -> None:
    p.add_argument("--questions", type=int, default=5, metavar="N", help="how many (default: 5)")
    p.add_argument("--seed", type=int, default=3, help="decides which houses (default: 3)")
    p.add_argument("--out", type=NewFolder, help="run directory (default: runs/<time>)")
    _chain_options(p)
    p.set_defaults(run="eqa_nodes.cli.bench:demo")


def _ask(p: argparse.ArgumentParser) -> None:
    p.add_argument("question", help="in plain English")
    p.add_argument("--scene", default="house:1000", help=f"where: {PLACES} (default: house:1000)")
    p.add_argument("--attach", action="store_true",
                   help="ask the graph that runs in this ROS_DOMAIN_ID (a robot's, say)")
    p.add_argument("--keep-memory", action="store_true",
                   help="with --attach: what that graph remembers stays when the episode begins")
    p.add_argument("--no-explore", dest="explore", action="store_false", help="answer from memory only")
    p.add_argument("--show", action="store_true", help="drive to the best evidence after the answer")
    attached_options(p)
    p.add_argument("--out", type=NewFolder, help="run directory (default: runs/<time>)")
    p.add_argument("--evidence", type=NewFolder, metavar="DIR", help="write the images that prove the answer there")
    about = p.add_argument_group("about what was recorded (EM-EQA): nothing is driven")
    about.add_argument("--history", type=Path, metavar="PATH", help=SOURCES)
    about.add_argument("--format", default="", help=FORMATS)
    views_options(about)
    bag_options(about)
    scene_options(p)
    _chain_options(p)
    p.set_defaults(run="eqa_nodes.cli.ask:ask")


def _graph(p: argparse.ArgumentParser) -> None:
    p.add_argument("--format", choices=("table", "dot", "json", "sros2", "parameters"), default="table",
                   help="parameters: all of them, as docs/parameters.md; sros2: least-privilege policies for ros2 "
                        "security (docs/security.md)")
    p.add_argument("--namespace", default="/", metavar="NS", help="of the nodes, for sros2 (default: /)")
    p.add_argument("--remap", nargs="+", action="extend", default=[], metavar="KEY:=NAME",
                   help="for sros2: names that are others on the robot, as in color:=/front/image_raw")
    p.add_argument("--world", choices=("sim", "robot", "replay"), default="",
                   help="for sros2: the nodes that run there, with what they need there (default: all)")
    p.add_argument("--check", type=Path, metavar="FILE", help="check a ROS parameter file against the graph")
    p.set_defaults(run="eqa_nodes.cli.graph:graph")


def parsed(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the options, those that an agent's name decides filled in. Raises ConfigError for an unknown agent."""
    arguments = parser().parse_args(argv)
    if hasattr(arguments, "answerer"):
        fill_in(arguments)
    set_environment(arguments)
    return arguments
