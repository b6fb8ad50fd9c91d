"""`eqa console`: a page to ask, watch and replay, over a graph of its own or one that runs."""

from __future__ import annotations

import signal
import threading
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from eqa_nodes.cli.ask import AREA, DRIVE, check_own_graph
from eqa_nodes.cli.groups import ChainOptions
from eqa_nodes.cli.options import FOLDER, flag, group, listed, option
from eqa_nodes.cli.watched import SCENE, WatchedOptions, asked_here
from eqa_nodes.core.types.inquiries import DRIVE_MODES

if TYPE_CHECKING:

    from eqa_nodes.config.run import RunConfig
    from eqa_nodes.console.app import Console
    from eqa_nodes.console.live import Feed
    from eqa_nodes.console.past import Past
    from eqa_nodes.console.questions import Questions
    from eqa_nodes.console.web import ConsoleServer


@dataclass(frozen=True, kw_only=True)
class PageOptions:
    """Address, access and supervision of the page."""

    host: str = option("127.0.0.1", "address to listen on; any address other than loopback requires a token")
    port: int = option(8090, "port to listen on, 0 = a free one")
    token: bool = flag("require a token on the loopback address too")
    name: tuple[str, ...] = option((), "other host names of the page, such as that of a reverse proxy (default: none)",
                                   metavar="HOST")
    recogniser: str = option("moonshine", "recogniser of questions that are spoken on the page",
                             complete=listed("RECOGNISERS"))
    dead_man: float = option(0.0, "stop the robot if no page is open for this many seconds while a question waits or "
                             "runs; 0 = never", metavar="SECONDS")

    def check(self) -> None:
        """Raise EqaError for invalid options, before anything starts."""
        from eqa_nodes.console.app import PageWatch
        from eqa_nodes.core.components import RECOGNISERS

        PageWatch(self.dead_man, lambda: False, lambda: None)
        RECOGNISERS.check(self.recogniser)

    def serve(self, stack: ExitStack, feed: Feed, questions: Questions, past: Past) -> tuple[Console, ConsoleServer]:
        """Serve a page until the stack ends. Raises ConfigError."""
        from eqa_nodes.console.app import Console
        from eqa_nodes.console.web import ConsoleServer, listening, rules_for

        rules = rules_for(self.host, self.token, self.name)
        page = Console(feed, questions, past, rules, self.dead_man, self.recogniser)
        listener = stack.enter_context(closing(listening(self.host, self.port)))
        return page, stack.enter_context(closing(ConsoleServer(page, self.host, listener)))


@dataclass(frozen=True, kw_only=True)
class ServeConsole:
    """Serves a web page to ask the robot questions, watch what it does and why, read answers with their pictures, and
    replay past episodes. Ctrl-C stops it.
    """

    robot: WatchedOptions = group(WatchedOptions)
    drive: str = option("", DRIVE, choices=DRIVE_MODES)
    area: str = option("", AREA, metavar="CORNERS")
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
        return self.chain.config(self.area, reconstruct=self.reconstruct, scene=self.robot.scene, drive=self.drive,
                                 ask_back=True, memory_file=self.robot.memory_file,
                                 sees=self.robot.sees(self.robot.scene or SCENE, self.chain))

    def run(self) -> int:
        """Serve the page until Ctrl-C or SIGTERM."""
        self._check()
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            self._serve()
        except KeyboardInterrupt:
            pass  # Ctrl-C is the normal end
        finally:
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, signal.default_int_handler)
        return 0

    def _check(self) -> None:
        """Raise EqaError for options that exclude each other, before anything starts."""
        from eqa_nodes.console import check_server

        check_server()
        check_own_graph(self.robot.attach, {"drive": self.drive, "reconstruct": self.reconstruct,
                                            "start": self.chain.chain.clock_start,
                                            "memory_file": self.robot.memory_file, "labels": self.robot.labels})
        self.page.check()
        self.robot.check(self.config)

    def _serve(self) -> None:
        from rich.console import Console as Terminal

        from eqa_nodes.console.live import Feed
        from eqa_nodes.console.past import Past

        terminal = Terminal()
        with ExitStack() as stack:
            feed = Feed()
            kept, questions = asked_here(stack, self.config, self.robot.attach, self.out, feed)
            page, server = self.page.serve(stack, feed, questions, Past(self.runs, kept.out))
            terminal.print(f"open {server.url}\nCtrl-C ends it; questions and answers are stored in {kept.out}",
                           soft_wrap=True, highlight=False, markup=False)
            with terminal.status("starting the robot"):
                robot = self.robot.open(stack, self.config, kept.out, feed)
            stack.enter_context(closing(questions))
            page.begin(robot)
            stack.callback(_end_quietly)
            threading.Event().wait()


def _end_quietly() -> None:
    """Ignore signals during the shutdown: a second Ctrl-C must not interrupt writing."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
