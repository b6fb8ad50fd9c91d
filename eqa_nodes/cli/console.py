"""`eqa console`: a page to ask, watch and replay, over a graph of its own or one that runs."""

from __future__ import annotations

import os
import signal
import threading
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eqa_nodes.cli.ask import AREA, check_attached
from eqa_nodes.cli.groups import ChainOptions, remapping
from eqa_nodes.cli.options import FOLDER, flag, group, option
from eqa_nodes.cli.page import PageOptions

if TYPE_CHECKING:
    from rich.console import Console as Terminal

    from eqa_nodes.config.run import RunConfig
    from eqa_nodes.console.feed import Feed
    from eqa_nodes.console.values import WatchedRobot

SCENE = "house:3"
_EPISODE_S = 3.0  # to receive the running graph's episode


@dataclass(frozen=True, kw_only=True)
class ServeConsole:
    """Serves a web page to ask the robot questions, watch what it does and why, read answers with their pictures, and
    replay past episodes. Ctrl-C stops it.
    """

    scene: str = option("", "where (default: house:3; with --attach: the running episode continues)")
    attach: bool = flag("show the graph that runs in this ROS_DOMAIN_ID, such as a robot's")
    keep_memory: bool = flag("with --attach and --scene: keep the graph's memory when the episode begins")
    namespace: str = option("", "with --attach: namespace of the graph's nodes (default: none)", metavar="NS")
    area: str = option("", AREA, metavar="CORNERS")
    remap: tuple[str, ...] = option((), "with --attach: topics and services that have other names there, such as "
                                    "color:=/front/image_raw (default: none)", metavar="KEY:=NAME")
    driver: str = option("", "with --attach: camera or robot of docs/robot.md, as driver:= of robot.launch.py "
                         "(default: none)", metavar="NAME")
    map_frame: str = option("", "with --attach: the robot's map frame (default: map)", metavar="FRAME")
    base_frame: str = option("", "with --attach: the robot's base frame (default: base_link)", metavar="FRAME")
    runs: Path = option(Path("runs"), "run directory, or a folder of run directories, whose episodes can be replayed",
                        metavar="DIR")
    out: Path | None = option(None, "run directory for the questions asked here (default: runs/<time>)", writes=FOLDER)
    reconstruct: bool = flag("publish the coloured surfaces of the place, which the page then shows in three "
                             "dimensions; needs Open3D")
    page: PageOptions = group(PageOptions, "the page")
    chain: ChainOptions = group(ChainOptions)

    @cached_property
    def config(self) -> RunConfig:
        """The configuration of the run, less its folder."""
        return self.chain.config(self.area, reconstruct=self.reconstruct)

    def run(self) -> int:
        """Serve the page until Ctrl-C, or until the process is told to end."""
        self._check()
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            self._serve()
        except KeyboardInterrupt:
            pass  # how a console ends
        finally:
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, signal.default_int_handler)
        return 0

    def _check(self) -> None:
        """Raise EqaError for what cannot be, before anything starts."""
        from eqa_nodes.cli.ready import check_answerer, check_scene
        from eqa_nodes.config.run import PROCESS
        from eqa_nodes.console import check_server
        from eqa_nodes.core.errors import ConfigError
        from eqa_nodes.registry.agents import is_function
        from eqa_nodes.ros.environment import ensure_ros

        check_server()
        if self.keep_memory and not self.attach:
            raise ConfigError("--keep-memory is for a graph that runs already: a graph of its own has remembered "
                              "nothing")
        if (self.map_frame or self.base_frame or self.driver) and not self.attach:
            raise ConfigError("--map-frame, --base-frame and --driver are of a graph that runs already: they need "
                              "--attach")
        if self.reconstruct and self.attach:
            raise ConfigError("--reconstruct is for a graph that this command starts: leave it out here; a graph is "
                              "launched with reconstruct:=true")
        check_attached(self.attach, self.namespace, self.remap)
        self.page.check()
        if self.config.through == PROCESS or is_function(self.config.agent):
            raise ConfigError("the console watches the ROS graph: --through is graph or isolated, and --agent no "
                              "function")
        ensure_ros()
        if not self.attach:
            check_answerer(self.config)
            check_scene(self.scene or SCENE)

    def _serve(self) -> None:
        from rich.console import Console as Terminal

        from eqa_nodes.cli.paths import run_folder
        from eqa_nodes.console.feed import Feed
        from eqa_nodes.console.kept import KeptRun
        from eqa_nodes.console.past import Past
        from eqa_nodes.console.questions import Options, Questions
        from eqa_nodes.core.types.questions import Question

        terminal = Terminal()
        with ExitStack() as stack:
            kept = stack.enter_context(closing(KeptRun(run_folder(self.out))))
            template = Question("", limits=self.config.limits, force_guess=self.config.force_guess)
            feed = Feed()
            questions = Questions(feed, Options(template, kept.keep))
            page, server = self.page.serve(stack, kept.out, feed, questions, Past(self.runs, kept.out))
            terminal.print(f"open {server.url}\nCtrl-C ends it; what is asked is kept in {kept.out}", soft_wrap=True,
                           highlight=False, markup=False)
            robot = self._robot(stack, kept.out, feed, terminal)
            stack.enter_context(closing(questions))
            page.begin(robot)
            stack.callback(_end_quietly)
            threading.Event().wait()

    def _robot(self, stack: ExitStack, out: Path, feed: Feed, terminal: Terminal) -> WatchedRobot:
        """Return the robot: of a graph of its own, or of the one that runs in this domain."""
        with terminal.status("starting the robot"):
            return self._attached(stack, out, feed) if self.attach else self._own(stack, out, feed)

    def _attached(self, stack: ExitStack, out: Path, feed: Feed) -> WatchedRobot:
        from eqa_nodes.config.profiles import profile
        from eqa_nodes.console.robot import RosRobot
        from eqa_nodes.core.camera.config import TfConfig

        known = profile(self.driver)
        said = {"map_frame": self.map_frame, "base_frame": self.base_frame}
        frames: dict[str, Any] = {**known.frames, **{name: frame for name, frame in said.items() if frame}}
        names = replace(TfConfig(), **frames)
        domain = {"ROS_DOMAIN_ID": os.environ.get("ROS_DOMAIN_ID", "0")}
        robot = stack.enter_context(closing(RosRobot(domain, feed.ring, namespace=self.namespace,
                                                    remap={**known.topics, **remapping(self.remap)}, names=names)))
        if self.scene or not robot.episodes.wait(_EPISODE_S):
            robot.begin(self.scene, out.name, self.keep_memory)
        return robot

    def _own(self, stack: ExitStack, out: Path, feed: Feed) -> WatchedRobot:
        from eqa_nodes.config.run import ISOLATED
        from eqa_nodes.console.robot import RosRobot
        from eqa_nodes.ros.runner import RunningGraph

        config = replace(self.config, folder=out)
        graph = stack.enter_context(RunningGraph(out, config.parameters,
                                                 isolate=config.through == ISOLATED))
        robot = stack.enter_context(closing(RosRobot(graph.environment, feed.ring)))
        robot.begin(self.scene or SCENE, out.name)
        stack.callback(robot.end)
        return robot


def _end_quietly() -> None:
    """From here on everything ends: a second Ctrl-C must not tear what is being written."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
