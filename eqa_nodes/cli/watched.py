"""The robot that console and assistant watch and ask: in a graph of their own, or in a running one."""

from __future__ import annotations

import os
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eqa_nodes.cli.groups import BagReading, KeepsMemory, Sees
from eqa_nodes.cli.options import flag, group, option
from eqa_nodes.recordings.options import renamed

if TYPE_CHECKING:
    from eqa_nodes.bench.running.runner import KeptRun
    from eqa_nodes.config.run import RunConfig
    from eqa_nodes.console.live import Feed
    from eqa_nodes.console.questions import Questions
    from eqa_nodes.console.values import WatchedRobot

SCENE = "house:3"
_EPISODE_S = 3.0  # timeout for the message with the running graph's episode


@dataclass(frozen=True, kw_only=True)
class WatchedOptions(KeepsMemory, Sees):
    """The robot: where it is, and how a running graph is found."""

    scene: str = option("", f"where (default: {SCENE}; with --attach: the running episode continues)")
    attach: bool = flag("use the graph that runs in this ROS_DOMAIN_ID, such as a robot's")
    keep_memory: bool = flag("with --attach and --scene: keep the graph's memory when the episode begins", rare=True)
    driver: str = option("", "with --attach: camera or robot of docs/robot.md, as driver:= of robot.launch.py "
                         "(default: none)", metavar="NAME")
    bag: BagReading = group(BagReading)  # names of topics and frames of the running graph

    def check(self, config: RunConfig) -> None:
        """Raise EqaError for options that exclude each other, before anything starts; find ROS."""
        from eqa_nodes.config.named_agents import is_function
        from eqa_nodes.config.run import PROCESS
        from eqa_nodes.core.errors import ConfigError
        from eqa_nodes.ros.environment import ensure_ros
        from eqa_nodes.runners.opening import check_answerer, check_memory, check_scene

        bag = self.bag
        if not self.attach and (self.keep_memory or bag.map_frame or bag.base_frame or self.driver or bag.namespace
                                or bag.remap):
            raise ConfigError("--keep-memory, --map-frame, --base-frame, --driver, --namespace and --remap describe a "
                              "running graph: they need --attach")
        if config.through == PROCESS or is_function(config.agent):
            raise ConfigError("this command needs the ROS graph: --through must be graph or isolated, and --agent must "
                              "not be a function")
        ensure_ros()
        if not self.attach:
            check_answerer(config)
            check_scene(config, self.scene or SCENE)
            check_memory(config.settings)

    def open(self, stack: ExitStack, config: RunConfig, out: Path, feed: Feed) -> WatchedRobot:
        """Return the robot until the stack ends. out: the run directory; feed: notified of news."""
        return self._attached(stack, out, feed) if self.attach else self._own(stack, config, out, feed)

    def _attached(self, stack: ExitStack, out: Path, feed: Feed) -> WatchedRobot:
        from eqa_nodes.config.profiles import profile
        from eqa_nodes.console.robot import RosRobot
        from eqa_nodes.core.camera.config import TfConfig

        known = profile(self.driver)
        said = {"map_frame": self.bag.map_frame, "base_frame": self.bag.base_frame}
        frames: dict[str, Any] = {**known.frames, **{name: frame for name, frame in said.items() if frame}}
        names = replace(TfConfig(), **frames)
        domain = {"ROS_DOMAIN_ID": os.environ.get("ROS_DOMAIN_ID", "0")}
        robot = stack.enter_context(closing(RosRobot(domain, feed.ring, namespace=self.bag.namespace,
                                                    remap={**known.topics, **renamed(self.bag.remap)}, names=names)))
        if self.scene or not robot.episodes.wait(_EPISODE_S):
            robot.begin(self.scene, out.name, self.keep_memory)
        return robot

    def _own(self, stack: ExitStack, config: RunConfig, out: Path, feed: Feed) -> WatchedRobot:
        from eqa_nodes.config.run import ISOLATED
        from eqa_nodes.console.robot import RosRobot
        from eqa_nodes.ros.runner import RunningGraph

        config = replace(config, folder=out)
        graph = stack.enter_context(RunningGraph(out, config.parameters, isolate=config.through == ISOLATED))
        robot = stack.enter_context(closing(RosRobot(graph.environment, feed.ring)))
        robot.begin(self.scene or SCENE, out.name)
        stack.callback(robot.end)
        return robot


def asked_here(stack: ExitStack, config: RunConfig, attach: bool, out: Path | None,
               feed: Feed) -> tuple[KeptRun, Questions]:
    """Return the run directory of the questions that are asked here, open until the stack ends, and their queue."""
    from eqa_nodes.bench.running.runner import KeptRun
    from eqa_nodes.cli.options import run_folder
    from eqa_nodes.console.questions import Questions, keeping
    from eqa_nodes.core.types.questions import Question

    shown = () if attach else (config.model_name, config.found_by)
    kept = stack.enter_context(KeptRun(run_folder(out), *shown))
    template = Question("", limits=config.limits, force_guess=config.force_guess)
    return kept, Questions(feed, template, keeping(kept))
