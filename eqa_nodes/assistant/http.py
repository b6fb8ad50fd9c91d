"""The server over HTTP: each request carries a token."""

from __future__ import annotations

import logging
import socket

import uvicorn
from mcp.server import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from eqa_nodes.console.guard import VISITOR, AccessRules

PATH = "/mcp"


def application(server: MCPServer, rules: AccessRules) -> ASGIApp:
    """Return the server as an ASGI application behind the guard, which also checks host names and origins."""
    unchecked = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    return BearerGuard(server.streamable_http_app(streamable_http_path=PATH, transport_security=unchecked), rules)


def serve(server: MCPServer, rules: AccessRules, listener: socket.socket) -> None:
    """Serve until the process is interrupted."""
    config = uvicorn.Config(application(server, rules), log_config=None, log_level=logging.CRITICAL, access_log=False,
                            server_header=False, ws="none", proxy_headers=False, timeout_graceful_shutdown=1)
    uvicorn.Server(config).run(sockets=[listener])


class BearerGuard:
    """ASGI middleware: lets requests through whose header is `Authorization: Bearer TOKEN`, with a token of the rules.

    Requests of web pages and under foreign host names are refused (DNS rebinding).
    """

    def __init__(self, app: ASGIApp, rules: AccessRules) -> None:
        self._app, self._rules = app, rules

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status, fault = self._refusal(scope)
        reply: ASGIApp = JSONResponse({"error": fault}, status) if fault else self._app
        await reply(scope, receive, send)

    def _refusal(self, scope: Scope) -> tuple[int, str]:
        """Return status and reason of a refusal, 0 and "" where there is none."""
        headers, address = Headers(scope=scope), self._rules.address(scope)
        if not self._rules.knows(headers.get("host", "")):
            return 421, "this host name is not the server's: use the address that the terminal shows"
        if "origin" in headers:
            return 403, "a web page asked for this: the server is for assistants' own clients"
        if wait_s := self._rules.wrong.wait_s(address):
            return 429, f"too many wrong tokens came from {address}: try again in {wait_s:.0f} s"
        kind, _, token = headers.get("authorization", "").partition(" ")
        visitor = self._rules.visitor(token.strip()) if kind.lower() == "bearer" else None
        if visitor is None:
            if token:
                self._rules.wrong.wrong(address, token)
            return 401, "send the token that the terminal shows, or a user's: Authorization: Bearer TOKEN"
        scope[VISITOR] = visitor
        return 0, ""
