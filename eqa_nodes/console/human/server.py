"""The page of a person who answers: on this machine only, and behind a token in its address."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response

from eqa_nodes.console.gate import Gate
from eqa_nodes.console.human.desk import Desk, ImageFile, PersonRequest
from eqa_nodes.console.replies import Json
from eqa_nodes.console.server import ConsoleServer, listening, rules_for
from eqa_nodes.console.web import application, page, picture

HOST = "127.0.0.1"


class PersonPage:
    """The addresses of the page. The thread that runs the episodes answers all but the page's own files."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self.gate, self.rules = Gate(), rules_for(HOST, ask_token=True)

    def app(self) -> Starlette:
        """Return the ASGI application."""
        return application(self.rules, self.gate, {"/": lambda _: page("person.html"), "/{path:path}": self._asked},
                           {"/{path:path}": self._asked})

    def close(self) -> None:
        """Do nothing: no connection is kept open."""

    def _asked(self, request: Request, body: Mapping[str, Any] | None = None) -> Response:
        reply = self._desk.ask(PersonRequest(tuple(request.path_params["path"].split("/")), body or {}))
        return picture(reply.mime, reply.data) if isinstance(reply, ImageFile) else Json(reply)


class PersonServer(ConsoleServer):
    """The running server; use `close` at the end. Raises ConfigError when the port is taken."""

    def __init__(self, desk: Desk, port: int = 0) -> None:
        """port: 0 = any free one."""
        super().__init__(PersonPage(desk), HOST, listening(HOST, port))
