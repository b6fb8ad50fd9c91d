"""Where the console's page is served, to whom, what it writes down, and what happens when its operator is gone."""

from __future__ import annotations

from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from eqa_nodes.cli.names import recognisers
from eqa_nodes.cli.options import FILE, flag, option

if TYPE_CHECKING:
    from eqa_nodes.console.app import Console
    from eqa_nodes.console.feed import Feed
    from eqa_nodes.console.past import Past
    from eqa_nodes.console.questions import Questions
    from eqa_nodes.console.server import ConsoleServer

AUDIT = "audit.jsonl"
LOST = ("report", "pause", "stop")


@dataclass(frozen=True, kw_only=True)
class PageOptions:
    """Where the page is served, to whom, and what happens when no page of the operator is there any more."""

    host: str = option("127.0.0.1", "address to listen on; any address other than loopback requires a token")
    port: int = option(8090, "port to listen on, 0 = a free one")
    token: bool = flag("require a token on the loopback address too")
    tokens: Path | None = option(None, "file of the users' tokens, which eqa token add makes; they replace the token "
                                 "of the link (default: none)", metavar="FILE")
    tls_cert: Path | None = option(None, "certificate with its chain, PEM: the page is served over TLS; renewed files "
                                   "are used without a restart (default: none)", metavar="FILE")
    tls_key: Path | None = option(None, "key of the certificate, PEM, not encrypted (default: none)", metavar="FILE")
    name: tuple[str, ...] = option((), "other host names of the page, such as that of a reverse proxy (default: none)",
                                   metavar="HOST")
    proxy: str = option("", "address of a reverse proxy: what it says of the client's address and of TLS is believed "
                        "(default: none)", metavar="ADDRESS")
    audit: Path | None = option(None, "audit log, JSON lines (default: audit.jsonl in the run directory)",
                                metavar="FILE", writes=FILE)
    audit_text: bool = flag("write the text of questions into the audit log")
    recogniser: str = option("moonshine", "what recognises questions that are spoken on the page", complete=recognisers)
    dead_man: float | None = option(None, "seconds without a sign of any page of a user whose question waits or runs, "
                                    "until --page-lost is done; 0 = never (default: 10)", metavar="SECONDS")
    page_lost: str | None = option(None, "what is done then: report = pages and audit log say it, pause = the robot "
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
        from eqa_nodes.console.tls import checked
        from eqa_nodes.console.tokens import TokenFile
        from eqa_nodes.core.errors import ConfigError
        from eqa_nodes.registry import RECOGNISERS

        check_limit(self.silence[0])
        RECOGNISERS.check(self.recogniser)
        if (self.tls_cert is None) != (self.tls_key is None):
            raise ConfigError("--tls-cert and --tls-key belong together: name both")
        if self.tls_cert is not None and self.tls_key is not None:
            checked(self.tls_cert, self.tls_key)
        if self.tokens is not None:
            if self.token:
                raise ConfigError("--token makes a link for everybody, --tokens gives each user their own: name one")
            if not TokenFile(self.tokens).tokens():
                raise ConfigError(f"{self.tokens} holds no token: eqa token add NAME --file {self.tokens} makes one")

    def serve(self, stack: ExitStack, out: Path, feed: Feed, questions: Questions,
              past: Past) -> tuple[Console, ConsoleServer]:
        """Serve a page until the stack ends. out: the run directory. Raises ConfigError."""
        from eqa_nodes.console.app import Console
        from eqa_nodes.console.audit import AuditLog
        from eqa_nodes.console.records import Records
        from eqa_nodes.console.server import ConsoleServer, rules_for
        from eqa_nodes.console.tls import Certificate
        from eqa_nodes.console.tokens import TokenFile

        log = stack.enter_context(closing(AuditLog(self.audit or out / AUDIT, self.audit_text, ring=feed.ring)))
        tokens = None if self.tokens is None else TokenFile(self.tokens)
        certificate = None
        if self.tls_cert is not None and self.tls_key is not None:
            certificate = stack.enter_context(closing(Certificate(self.tls_cert, self.tls_key)))
            certificate.watch(feed.ring)
        rules = rules_for(self.host, self.token, tokens=tokens, names=self.name, proxy=self.proxy,
                          secure=certificate is not None, records=Records(log))
        page = Console(feed, questions, past, rules, *self.silence, troubles=(
            lambda: log.trouble, lambda: certificate.trouble if certificate is not None else "",
            lambda: tokens.trouble if tokens is not None else ""), recogniser=self.recogniser)
        context = certificate.context if certificate is not None else None
        return page, stack.enter_context(closing(ConsoleServer(page, self.host, self.port, context)))
