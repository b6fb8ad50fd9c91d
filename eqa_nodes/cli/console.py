"""`eqa console`: a page to ask, watch and replay, over a graph of its own or one that runs."""

from __future__ import annotations

import argparse
import importlib.util
import os
import signal
import threading
from contextlib import ExitStack, closing
from pathlib import Path

from rich.console import Console as Terminal

from eqa_nodes.cli.ask import check_attached
from eqa_nodes.cli.bag import remapping
from eqa_nodes.cli.chain import limits_of, parameters_of, run_folder
from eqa_nodes.cli.ready import check_answerer, check_scene
from eqa_nodes.console.feed import Feed
from eqa_nodes.console.kept import KeptRun
from eqa_nodes.console.past import Past
from eqa_nodes.console.questions import Options, Questions
from eqa_nodes.console.stopping import check_limit
from eqa_nodes.console.values import WatchedRobot
from eqa_nodes.core.camera.config import TfConfig
from eqa_nodes.core.errors import ConfigError, MissingExtra
from eqa_nodes.core.types.questions import Question
from eqa_nodes.registry.agents import is_function

SCENE = "house:3"
_NEEDED = ("starlette", "uvicorn")
_EPISODE_S = 3.0  # for the running graph's episode to be heard


def console(arguments: argparse.Namespace) -> int:
    """Serve the page until Ctrl-C, or until the process is told to end."""
    for library in _NEEDED:
        if importlib.util.find_spec(library) is None:
            raise MissingExtra(library, "console")
    if arguments.keep_memory and not arguments.attach:
        raise ConfigError("--keep-memory is for a graph that runs already: a graph of its own has remembered nothing")
    if (arguments.map_frame or arguments.base_frame) and not arguments.attach:
        raise ConfigError("--map-frame and --base-frame are of a graph that runs already: they need --attach")
    check_attached(arguments)
    check_limit(arguments.dead_man)
    limits_of(arguments)  # an area that is none is told before anything begins
    if arguments.through == "process" or is_function(arguments.agent):
        raise ConfigError("the console watches the ROS graph: --through is graph or isolated, and --agent no function")
    from eqa_nodes.ros.environment import ensure_ros

    ensure_ros()
    if not arguments.attach:
        check_answerer(arguments)
        check_scene(arguments.scene or SCENE)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        _serve(arguments, Terminal())
    except KeyboardInterrupt:
        pass  # how a console ends
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.default_int_handler)
    return 0


def _serve(arguments: argparse.Namespace, terminal: Terminal) -> None:
    from eqa_nodes.console.app import Console
    from eqa_nodes.console.server import ConsoleServer, rules_for

    with ExitStack() as stack:
        kept = stack.enter_context(closing(KeptRun(run_folder(arguments))))
        template = Question("", limits=limits_of(arguments), force_guess=arguments.force_guess)
        feed = Feed()
        questions = Questions(feed, Options(template, kept.keep))
        page = Console(feed, questions, Past(arguments.runs, kept.out), rules_for(arguments.host, arguments.token),
                       arguments.dead_man)
        server = stack.enter_context(closing(ConsoleServer(page, arguments.host, arguments.port)))
        terminal.print(f"open {server.url}\nCtrl-C ends it; what is asked is kept in {kept.out}", soft_wrap=True,
                       highlight=False, markup=False)
        with terminal.status("starting the robot"):
            robot = _robot(arguments, stack, kept.out, feed)
        stack.enter_context(closing(questions))
        page.begin(robot)
        stack.callback(_end_quietly)
        threading.Event().wait()


def _robot(arguments: argparse.Namespace, stack: ExitStack, out: Path, feed: Feed) -> WatchedRobot:
    """Return the robot: of a graph of its own, or of the one that runs in this domain."""
    from eqa_nodes.console.robot import RosRobot
    from eqa_nodes.ros.runner import RunningGraph

    if arguments.attach:
        usual = TfConfig()
        names = TfConfig(map_frame=arguments.map_frame or usual.map_frame,
                         base_frame=arguments.base_frame or usual.base_frame)
        domain = {"ROS_DOMAIN_ID": os.environ.get("ROS_DOMAIN_ID", "0")}
        robot = stack.enter_context(closing(RosRobot(domain, feed.ring, namespace=arguments.namespace,
                                                    remap=remapping(arguments.remap), names=names)))
        if arguments.scene or not robot.episodes.wait(_EPISODE_S):
            robot.begin(arguments.scene or "", out.name, arguments.keep_memory)
        return robot
    graph = stack.enter_context(RunningGraph(out, parameters_of(arguments, out),
                                             isolate=arguments.through == "isolated"))
    robot = stack.enter_context(closing(RosRobot(graph.environment, feed.ring)))
    robot.begin(arguments.scene or SCENE, out.name)
    stack.callback(robot.end)
    return robot


def _end_quietly() -> None:
    """From here on everything ends: a second Ctrl-C must not tear what is being written."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
