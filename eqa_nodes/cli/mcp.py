"""`eqa mcp`: the robot as tools of an assistant, over standard input and output or HTTP."""

from __future__ import annotations

import signal
import sys
import threading
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from eqa_nodes.cli.ask import AREA
from eqa_nodes.cli.groups import ChainOptions
from eqa_nodes.cli.options import FOLDER, flag, group, option
from eqa_nodes.cli.watched import WatchedOptions
from eqa_nodes.core.types.inquiries import DRIVE_MODES, DRY

if TYPE_CHECKING:
    import socket

    from eqa_nodes.assistant.server import RobotServer
    from eqa_nodes.config.run import RunConfig


@dataclass(frozen=True, kw_only=True)
class ServeAssistant:
    """Serves the robot as tools of an assistant, by the Model Context Protocol: ask, look, map, recall, objects,
    status, result, cancel and stop. It talks over standard input and output unless --http is given.
    """

    robot: WatchedOptions = group(WatchedOptions)
    drive: str = option(DRY, "whether a question may drive the robot: dry: never; confirm: after a person at the "
                        "assistant has agreed to that drive; go: without asking (default: dry)", choices=DRIVE_MODES)
    http: bool = flag("serve over HTTP with a token, instead of standard input and output")
    host: str = option("127.0.0.1", "with --http: address to listen on")
    port: int = option(8091, "with --http: port to listen on, 0 = a free one")
    area: str = option("", AREA, metavar="CORNERS")
    out: Path | None = option(None, "run directory for the questions asked here (default: runs/<time>)", writes=FOLDER)
    chain: ChainOptions = group(ChainOptions)

    @cached_property
    def config(self) -> RunConfig:
        """The configuration of the run, less its folder."""
        return self.chain.config(self.area)

    def run(self) -> int:
        """Serve until the client closes standard input, until Ctrl-C, or until the process is told to end."""
        from eqa_nodes.assistant import check_library

        check_library()
        self.robot.check(self.config)
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        with ExitStack() as stack, suppress(KeyboardInterrupt):  # which is how it ends
            self._serve(stack)
        return 0

    def _serve(self, stack: ExitStack) -> None:
        from eqa_nodes.assistant.server import RobotServer
        from eqa_nodes.assistant.tools import RobotTools
        from eqa_nodes.bench.running.runner import KeptRun
        from eqa_nodes.cli.options import run_folder
        from eqa_nodes.console.live import Feed
        from eqa_nodes.console.questions import Options, Questions, keeping
        from eqa_nodes.console.server import listening
        from eqa_nodes.core.types.questions import Question

        listener = stack.enter_context(closing(listening(self.host, self.port))) if self.http else None
        model = "" if self.robot.attach else self.config.model_name
        kept = stack.enter_context(KeptRun(run_folder(self.out), model))
        feed = Feed()
        template = Question("", limits=self.config.limits, force_guess=self.config.force_guess)
        questions = Questions(feed, Options(template, keeping(kept)))
        _say("starting the robot")
        robot = self.robot.open(stack, self.config, kept.out, feed)
        stack.enter_context(closing(questions))
        questions.begin(robot)
        server = RobotServer(RobotTools(robot, questions), self.drive)
        if listener is None:
            _say("ready: an assistant's client talks over standard input and output")
            server.mcp.run("stdio")
        else:
            self._over_http(stack, server, listener)

    def _over_http(self, stack: ExitStack, server: RobotServer, listener: socket.socket) -> None:
        from eqa_nodes.assistant.server import PATH, AssistantPage
        from eqa_nodes.console.server import ConsoleServer, rules_for

        page = AssistantPage(server.mcp, rules_for(self.host, True))
        served = stack.enter_context(closing(ConsoleServer(page, self.host, listener)))
        _say(f"ready: {served.address.rstrip('/')}{PATH}\nheader: Authorization: Bearer {page.rules.token}")
        threading.Event().wait()


def _say(text: str) -> None:
    """Write to standard error: the other one is the protocol's."""
    print(text, file=sys.stderr, flush=True)
