"""Where the console's page is served, to whom, and what happens when no page is open any more."""

from __future__ import annotations

from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from eqa_nodes.cli.names import recognisers
from eqa_nodes.cli.options import flag, option

if TYPE_CHECKING:
    from ssl import SSLContext

    from eqa_nodes.console.app import Console
    from eqa_nodes.console.feed import Feed
    from eqa_nodes.console.past import Past
    from eqa_nodes.console.questions import Questions
    from eqa_nodes.console.server import ConsoleServer

LOST = ("report", "pause", "stop")


@dataclass(frozen=True, kw_only=True)
class PageOptions:
    """Where the page is served, to whom, and what happens when no page is open any more."""

    host: str = option("127.0.0.1", "address to listen on; any address other than loopback requires a token")
    port: int = option(8090, "port to listen on, 0 = a free one")
    token: bool = flag("require a token on the loopback address too")
    tls_cert: Path | None = option(None, "certificate with its chain, PEM: the page is served over TLS (default: "
                                   "none)", metavar="FILE")
    tls_key: Path | None = option(None, "key of the certificate, PEM, not encrypted (default: none)", metavar="FILE")
    name: tuple[str, ...] = option((), "other host names of the page, such as that of a reverse proxy (default: none)",
                                   metavar="HOST")
    recogniser: str = option("moonshine", "what recognises questions that are spoken on the page", complete=recognisers)
    dead_man: float | None = option(None, "seconds without a sign of any page while a question waits or runs, until "
                                    "--page-lost is done; 0 = never (default: 10)", metavar="SECONDS")
    page_lost: str | None = option(None, "what is done then: report = the pages say it, pause = the robot "
                                   "stands still until a page is back, stop = as the button does (default: report; "
                                   "with --dead-man: stop)", choices=LOST)

    @property
    def silence(self) -> tuple[float, str]:
        """After how many seconds of silence what is done."""
        from eqa_nodes.console.stopping import REPORT, STOP, USUAL_S

        limit_s = USUAL_S if self.dead_man is None else self.dead_man
        return limit_s, self.page_lost or (REPORT if self.dead_man is None else STOP)

    def check(self) -> None:
        """Raise EqaError for what cannot be, before anything starts."""
        from eqa_nodes.console.stopping import check_limit
        from eqa_nodes.core.components import RECOGNISERS
        from eqa_nodes.core.errors import ConfigError

        check_limit(self.silence[0])
        RECOGNISERS.check(self.recogniser)
        if (self.tls_cert is None) != (self.tls_key is None):
            raise ConfigError("--tls-cert and --tls-key belong together: name both")
        self._tls()

    def _tls(self) -> SSLContext | None:
        from eqa_nodes.console.server import tls_context

        return None if self.tls_cert is None or self.tls_key is None else tls_context(self.tls_cert, self.tls_key)

    def serve(self, stack: ExitStack, feed: Feed, questions: Questions, past: Past) -> tuple[Console, ConsoleServer]:
        """Serve a page until the stack ends. Raises ConfigError."""
        from eqa_nodes.console.app import Console
        from eqa_nodes.console.server import ConsoleServer, listening, rules_for

        tls = self._tls()
        rules = rules_for(self.host, self.token, self.name, tls is not None)
        page = Console(feed, questions, past, rules, *self.silence, recogniser=self.recogniser)
        listener = stack.enter_context(closing(listening(self.host, self.port)))
        return page, stack.enter_context(closing(ConsoleServer(page, self.host, listener, tls)))
