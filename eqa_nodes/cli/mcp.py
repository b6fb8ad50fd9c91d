"""`eqa mcp`: the robot as tools of an assistant, over standard input and output."""

from __future__ import annotations

import signal
import sys
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from eqa_nodes.cli.ask import AREA, check_own_graph
from eqa_nodes.cli.groups import ChainOptions
from eqa_nodes.cli.options import FOLDER, group, option
from eqa_nodes.cli.watched import SCENE, WatchedOptions, asked_here
from eqa_nodes.core.types.inquiries import DRIVE_MODES, DRY

if TYPE_CHECKING:
    from eqa_nodes.config.run import RunConfig


@dataclass(frozen=True, kw_only=True)
class ServeAssistant:
    """Serves the robot as tools of an assistant, by the Model Context Protocol over standard input and output: ask,
    look, map, recall, objects, status, result, cancel and stop.
    """

    robot: WatchedOptions = group(WatchedOptions)
    drive: str = option(DRY, "whether a question may drive the robot: dry: never; confirm: after a person at the "
                        "assistant has agreed to that drive; go: without asking (default: dry)", choices=DRIVE_MODES)
    area: str = option("", AREA, metavar="CORNERS")
    out: Path | None = option(None, "run directory for the questions asked here (default: runs/<time>)", writes=FOLDER)
    chain: ChainOptions = group(ChainOptions)

    @cached_property
    def config(self) -> RunConfig:
        """The configuration of the run, less its folder."""
        return self.chain.config(self.area, memory_file=self.robot.memory_file,
                                 sees=self.robot.sees(self.robot.scene or SCENE, self.chain))

    def run(self) -> int:
        """Serve until the client closes standard input, Ctrl-C, or SIGTERM."""
        from eqa_nodes.assistant import check_library

        check_library()
        check_own_graph(self.robot.attach, {"start": self.chain.chain.clock_start,
                                            "memory_file": self.robot.memory_file, "labels": self.robot.labels})
        self.robot.check(self.config)
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        with ExitStack() as stack, suppress(KeyboardInterrupt):  # which is how it ends
            self._serve(stack)
        return 0

    def _serve(self, stack: ExitStack) -> None:
        from eqa_nodes.assistant.server import RobotServer, RobotTools
        from eqa_nodes.console.live import Feed

        feed = Feed()
        kept, questions = asked_here(stack, self.config, self.robot.attach, self.out, feed)
        _say("starting the robot")
        robot = self.robot.open(stack, self.config, kept.out, feed)
        stack.enter_context(closing(questions))
        questions.begin(robot)
        _say("ready: the assistant's client uses standard input and output")
        RobotServer(RobotTools(robot, questions), self.drive).mcp.run("stdio")


def _say(text: str) -> None:
    """Write to standard error: standard output belongs to the protocol."""
    print(text, file=sys.stderr, flush=True)
