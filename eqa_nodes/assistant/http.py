"""The server over HTTP: each request carries the token, and connections pass the console's gate."""

from __future__ import annotations

from mcp.server import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from eqa_nodes.console.gate import Admission, Gate
from eqa_nodes.console.guard import AccessRules

PATH = "/mcp"


class AssistantPage:
    """What a ConsoleServer serves to assistants' clients."""

    def __init__(self, server: MCPServer, rules: AccessRules) -> None:
        self._server, self.rules, self.gate = server, rules, Gate()

    def app(self) -> Starlette:
        """Return the protocol behind the guard, which also checks host names and origins."""
        unchecked = TransportSecuritySettings(enable_dns_rebinding_protection=False)
        app = self._server.streamable_http_app(streamable_http_path=PATH, transport_security=unchecked)
        app.add_middleware(BearerGuard, rules=self.rules)
        app.add_middleware(Admission, gate=self.gate, limited=False)  # the outermost
        return app

    def close(self) -> None:
        """Do nothing: the protocol ends its own streams with the server."""


class BearerGuard:
    """ASGI middleware: lets requests through whose header is `Authorization: Bearer TOKEN`, with the rules' token.

    Requests of web pages and under foreign host names are refused (DNS rebinding).
    """

    def __init__(self, app: ASGIApp, rules: AccessRules) -> None:
        self._app, self._rules = app, rules

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status, fault = self._refusal(Headers(scope=scope))
        reply: ASGIApp = JSONResponse({"error": fault}, status) if fault else self._app
        await reply(scope, receive, send)

    def _refusal(self, headers: Headers) -> tuple[int, str]:
        """Return status and reason of a refusal, 0 and "" where there is none."""
        if not self._rules.knows(headers.get("host", "")):
            return 421, "this host name is not the server's: use the address that the terminal shows"
        if "origin" in headers:
            return 403, "a web page asked for this: the server is for assistants' own clients"
        kind, _, token = headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer" or not self._rules.opens(token.strip()):
            return 401, "send the token that the terminal shows: Authorization: Bearer TOKEN"
        return 0, ""
