"""Shared by all pages of the console: access rules, JSON replies, files, and an application that guards each URL.

A page of another site in the same browser must neither read data nor act. Its requests are recognised by a foreign
Origin, a foreign Host (DNS rebinding), or Sec-Fetch-Site.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import logging
import math
import secrets
import socket
import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cache, partial
from importlib import resources
from typing import Any, Protocol
from urllib.parse import urlsplit

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.convertors import IntegerConvertor, register_url_convertor
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request, cookie_parser
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from eqa_nodes.console.values import RequestRefused
from eqa_nodes.core.errors import ConfigError, EqaError, NodeLost
from eqa_nodes.viewer.files import viewer_files

BODY = 20_000  # maximum bytes of a request: a question of several thousand characters in any script
SOUND_BODY = 1_000_000  # maximum bytes of a spoken question: 20 s of 16 bits at 16 kHz, in base64
_PAGES = "eqa_nodes.console"  # the package whose folder `page` contains the files of all pages
_MIMES = {"html": "text/html; charset=utf-8", "css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8",
          "svg": "image/svg+xml"}
_PICTURE_POLICY = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"}
# What a browser needs to submit its token.
OPEN_PATHS = ("/enter", "/page/enter.js", "/page/console.css", "/page/icon.svg")
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; "
                               "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin",
    "X-Frame-Options": "DENY", "Permissions-Policy": "camera=(), microphone=(self), geolocation=()"}


def to_json(value: object) -> str:
    """Return ASCII JSON: lone surrogates are escaped, and numbers that are not finite become null."""
    return json.dumps(_finite(value), allow_nan=False)


class Json(JSONResponse):
    """A reply in JSON. Starlette's own class fails on lone surrogates and NaN, and the reply would be lost."""

    def render(self, content: Any) -> bytes:
        """Return the body."""
        return to_json(content).encode()


def _finite(value: object) -> object:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(name): _finite(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value


@dataclass(frozen=True)
class AccessRules:
    """Who may use a server. token: 192 random bits; "" = no token is required.

    names: host names of the page, besides IP addresses. addresses: True = Host may be any IP address (rebinding needs
    a name), False = only those of this machine.
    """

    token: str
    names: Collection[str]
    addresses: bool

    def knows(self, host: str) -> bool:
        """Return whether a Host header belongs to this server."""
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return name in self.names
        return self.addresses or address.is_loopback

    def opens(self, token: str) -> bool:
        """Return whether a token is right, in constant time."""
        return not self.token or secrets.compare_digest(token.encode("utf-8", "replace"), self.token.encode())


class Guard:
    """ASGI middleware: refuses requests that the rules forbid, and sets the headers of every reply."""

    def __init__(self, app: ASGIApp, rules: AccessRules) -> None:
        self._app, self._rules = app, rules

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        refusal = self._refusal(scope)
        reply: ASGIApp = self._app if refusal is None else Json({"error": refusal[1]}, refusal[0])
        if refusal is not None and refusal[0] == 401 and scope["path"] == "/":
            reply = RedirectResponse("/enter", 303)  # a person, who is asked for the token
        await reply(scope, receive, with_headers)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        headers, path = Headers(scope=scope), scope["path"]
        host = headers.get("host", "")
        if not self._rules.knows(host):
            return 421, "this host name is not the console's: open the address that the terminal shows"
        landing = scope["method"] == "GET" and path in ("/", "/enter") and headers.get("sec-fetch-mode") == "navigate"
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and not landing:
            return 403, "another site asked for this: open the console's own page"
        if scope["method"] not in ("GET", "HEAD") and (fault := _foreign(headers, host)):
            return 403, fault
        if path not in OPEN_PATHS and not self._rules.opens(cookie_in(headers, host)):
            return 401, "open the whole link that the terminal shows: it ends with the token"
        return None


def _foreign(headers: Headers, host: str) -> str:
    """Return why an acting request does not come from our own page, "" if it does."""
    origin = headers.get("origin")
    if origin is not None and origin.partition("://")[2] != host:
        return "another site asked for this: open the console's own page"
    if headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        return "a request that acts is sent as application/json"  # which forms of other sites cannot send
    return ""


def cookie_of(host: str) -> str:
    """Return the name of the cookie for a Host header. It has the port, because browsers share cookies between ports.

    The port is the one that the browser uses, so that consoles behind tunnels have their own cookies, too.
    """
    port = host.rpartition(":")[2]
    return f"eqa_console_{port if port.isdecimal() else 80}"


def cookie_in(headers: Headers, host: str) -> str:
    """Return the token that a browser sends; other cookies of the same host may be malformed."""
    return cookie_parser(headers.get("cookie", "")).get(cookie_of(host), "")


class _Number(IntegerConvertor):
    """Numbers in URLs; longer ones do not match (Python refuses to parse 5,000 digits)."""

    regex = "[0-9]{1,18}"


register_url_convertor("number", _Number())
Get = Callable[[Request], Response]
Post = Callable[[Request, Mapping[str, Any]], Response]


class Page(Protocol):
    """A page that a ConsoleServer serves."""

    rules: AccessRules

    def app(self) -> Starlette:
        """Return the ASGI application."""

    def close(self) -> None:
        """End streams that keep connections open; a second call does nothing."""


def application(rules: AccessRules, get: Mapping[str, Get], post: Mapping[str, Post],
                more: tuple[Route, ...] = (), sounds: Collection[str] = ()) -> Starlette:
    """Return an application with the URLs for GET, those for POST, and the page that asks for the token.

    sounds: URLs whose body is a recording. Handlers run in threads; an EqaError that they raise becomes the reply.
    """
    get = {"/enter": lambda _: page("enter.html"), "/page/{file}": lambda r: page(r.path_params["file"]),
           "/viewer/{file}": lambda r: _file(viewer_files(), r.path_params["file"]), **get}
    post = {"/enter": partial(_enter, rules), **post}
    routes = [*more, *(Route(path, partial(_get, do), methods=["GET"]) for path, do in get.items()),
              *(Route(path, partial(_post, do, SOUND_BODY if path in sounds else BODY), methods=["POST"])
                for path, do in post.items())]
    return Starlette(routes=routes, middleware=[Middleware(Guard, rules=rules)], exception_handlers={
        EqaError: _refused, OSError: _refused, HTTPException: _not_found, Exception: _failed})


def page(file: str) -> Response:
    """Return a file of the page. Raises RequestRefused for an unknown name."""
    return _file(_files(), file)


def _file(files: Mapping[str, bytes], file: str) -> Response:
    if file not in files:
        raise RequestRefused("there is no such page", 404)
    return Response(files[file], media_type=_MIMES[file.rpartition(".")[2]])


def picture(mime: str, data: bytes) -> Response:
    """Return a picture that cannot run scripts when it is opened on its own."""
    return Response(data, media_type=mime, headers=_PICTURE_POLICY)


@cache
def _files() -> dict[str, bytes]:
    folder = resources.files(_PAGES).joinpath("page")
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.name.rpartition(".")[2] in _MIMES}


async def _get(do: Callable[[Request], Response], request: Request) -> Response:
    return await run_in_threadpool(do, request)


async def _post(do: Callable[[Request, Mapping[str, Any]], Response], most: int, request: Request) -> Response:
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > most:
            raise RequestRefused(f"a request has at most {most} bytes", 413)
    try:
        parsed = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise RequestRefused("a request is a JSON object", 400) from error
    if not isinstance(parsed, dict):
        raise RequestRefused("a request is a JSON object", 400)
    return await run_in_threadpool(do, request, parsed)


async def _refused(_: Request, error: Exception) -> Response:
    return Json({"error": str(error)}, error.status if isinstance(error, RequestRefused) else 409)


async def _failed(_: Request, error: Exception) -> Response:
    return Json({"error": f"the console failed: {error!r}"}, 500)


async def _not_found(_: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 404
    return Json({"error": "there is nothing here"}, status)


def _enter(rules: AccessRules, request: Request, body: Mapping[str, Any]) -> Response:
    token = body.get("token")
    if not isinstance(token, str) or not rules.opens(token):
        raise RequestRefused("this token is not the console's: open the whole link that the terminal shows", 403)
    response = Json({})
    response.set_cookie(cookie_of(request.headers["host"]), token, httponly=True, samesite="strict", path="/",
                        secure=request.headers.get("x-forwarded-proto") == "https")
    return response


LOCAL = ("127.0.0.1", "localhost", "::1")
_START_S, _CLOSE_S = 30.0, 2.0
_CONNECTIONS = 256  # more are refused with 503


def rules_for(host: str, ask_token: bool, names: Collection[str] = ()) -> AccessRules:
    """Return the access rules for a page served on this address; all except loopback require a token.

    names: further host names of the page.
    """
    local, own = host in LOCAL, socket.gethostname().lower()
    known = {"localhost"} if local else {"localhost", host.lower(), own, f"{own}.local"}
    return AccessRules(secrets.token_urlsafe(24) if ask_token or not local else "",
                       known | {name.lower() for name in names}, not local)


class ConsoleServer:
    """The running server; call `close` at the end."""

    def __init__(self, page: Page, host: str, listener: socket.socket) -> None:
        """host: host name shown in the URL. listener: listening socket, from `listening`."""
        self._page, self._socket = page, listener  # the token is in the URL's fragment, which browsers never send
        self.url = address(host, listener) + (f"enter#{page.rules.token}" if page.rules.token else "")
        config = uvicorn.Config(
            page.app(), log_config=None, log_level=logging.CRITICAL, access_log=False, server_header=False,
            ws="none", loop="asyncio", http="h11", proxy_headers=False, limit_concurrency=_CONNECTIONS,
            timeout_graceful_shutdown=1)  # logs contain no questions and no malformed requests
        self._server = uvicorn.Server(config)
        serve = self._server.serve(sockets=[listener])
        self._thread = threading.Thread(target=asyncio.run, args=(serve,), name="console", daemon=True)
        self._thread.start()
        end = time.monotonic() + _START_S
        while not self._server.started:
            if not self._thread.is_alive() or time.monotonic() > end:
                raise NodeLost(f"the page's server did not start within {_START_S:g} s")
            time.sleep(0.01)

    def close(self) -> None:
        """Stop serving; a second call does nothing."""
        self._page.close()
        self._server.should_exit = True
        self._thread.join(_CLOSE_S)
        self._socket.close()


def listening(host: str, port: int) -> socket.socket:
    """Open a listening socket; port 0 = any free one. Raises ConfigError."""
    try:
        return socket.create_server((host, port), backlog=128,
                                    family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise ConfigError(f"cannot listen on {host}:{port}: {error}. Choose another --port (0 = a free one), or "
                          "another --host") from error


def address(host: str, listener: socket.socket) -> str:
    """Return the URL of a listening socket; the one for other machines if `host` stands for all addresses."""
    name = _own_address() if host in ("", "0.0.0.0", "::") else host
    return f"http://{f'[{name}]' if ':' in name else name}:{listener.getsockname()[1]}/"


def _own_address() -> str:
    """Return the address by which other machines reach this one: that of the default route, else the host name."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing: this only looks up the route
            return str(probe.getsockname()[0])
        except OSError:
            return socket.gethostname()
