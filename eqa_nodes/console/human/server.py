"""The page's web server: on this machine only, behind a random token in the address."""

from __future__ import annotations

import json
import math
import secrets
import socket
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from typing import Any

from eqa_nodes.console.human.desk import Desk, ImageFile, PageError, Reply, Request
from eqa_nodes.core.errors import ConfigError, EqaError

HOST = "127.0.0.1"
_MAX_BODY = 100_000  # bytes of a request
CONNECTIONS = 32  # at once; a further one takes the place of one that keeps the server waiting
ARRIVE_S = 15.0  # for a request to arrive whole
_TIMEOUT_S = 30.0  # for a reader to take a part of a reply
_FILES = {"": ("page.html", "text/html; charset=utf-8"), "page.css": ("page.css", "text/css; charset=utf-8"),
          "page.js": ("page.js", "text/javascript; charset=utf-8")}
_HEADERS = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'",
    "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store",
    "X-Frame-Options": "DENY"}


class _Server(ThreadingHTTPServer):
    """A server that no client can hold up: connections are few, and a request has to arrive in time."""

    daemon_threads, request_queue_size = True, 64

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        self._held: dict[socket.socket, float] = {}  # when each began to keep us waiting; inf: it is being answered
        self._noting = threading.Lock()
        super().__init__(address, handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer a connection in a thread of its own; of too many the one that keeps us waiting longest goes."""
        with self._noting:
            self._held[request] = time.monotonic()
            if len(self._held) > CONNECTIONS:
                oldest = min(self._held, key=lambda one: self._held[one])  # the new one, where all are being answered
                del self._held[oldest]
                _hang_up(oldest)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Forget a connection, then close it."""
        with self._noting:
            self._held.pop(request, None)
        super().shutdown_request(request)

    def note(self, request: socket.socket, waiting: bool) -> None:
        """Note that a connection's request has arrived, or that its next one is awaited."""
        with self._noting:
            if request in self._held:
                self._held[request] = time.monotonic() if waiting else math.inf

    def service_actions(self) -> None:
        """Hang up on who has kept us waiting too long (called several times a second)."""
        with self._noting:
            for request, since in self._held.items():
                if time.monotonic() - since > ARRIVE_S:
                    _hang_up(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say in one line what failed; that a client has left is no failure."""
        error = sys.exc_info()[1]
        if not isinstance(error, (ConnectionError, TimeoutError)):
            print(f"eqa: the page's request failed: {error!r}", file=sys.stderr)


def _hang_up(request: socket.socket) -> None:
    with suppress(OSError):  # it is closed already
        request.shutdown(socket.SHUT_RDWR)  # its thread reads the end, and closes it


class PageServer:
    """Serves the page from a thread of its own. Raises ConfigError when the port is taken."""

    def __init__(self, desk: Desk, port: int = 0) -> None:
        """port: 0 = any free one."""
        token = secrets.token_urlsafe(16)
        try:
            self._server = _Server((HOST, port), _handler(desk, token))
        except OSError as error:
            raise ConfigError(f"port {port} of {HOST} cannot be used: {error}: choose another --port, or 0") from error
        self.url = f"http://{HOST}:{self._server.server_address[1]}/{token}/"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.1,), name="page", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop serving; a second call does nothing."""
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
            self._server.server_close()


def _handler(desk: Desk, token: str) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        """One request."""

        timeout = _TIMEOUT_S
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            """Send the page, the state, or a picture."""
            self._whole(True)
            self._reply({})

        def do_POST(self) -> None:
            """Do what the page asks."""
            try:
                body = self._body()
            except PageError as error:
                self._send(error.status, {"error": str(error)})
                return
            self._whole(True)
            self._reply(body)

        def handle_one_request(self) -> None:
            """Await a request and answer it."""
            self._whole(False)
            super().handle_one_request()

        def _whole(self, arrived: bool) -> None:
            self.server.note(self.connection, not arrived)  # type: ignore[attr-defined]

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            """Say nothing: the terminal belongs to the run."""

        def _reply(self, body: Mapping[str, object]) -> None:
            given, _, rest = self.path.split("?")[0].strip("/").partition("/")
            if not secrets.compare_digest(given.encode(), token.encode()):
                self._send(404, {"error": "not found: use the whole address that the terminal shows"})
                return
            try:
                if self.command == "GET" and rest in _FILES:
                    self._send(200, _file(rest))
                else:
                    self._send(200, desk.ask(Request(tuple(rest.split("/")), body)))
            except PageError as error:
                self._send(error.status, {"error": str(error)})
            except EqaError as error:
                self._send(409, {"error": str(error)})
            except Exception as error:  # the page shows it; the connection and the run go on
                self._send(500, {"error": f"the page's server failed: {error!r}"})

        def _body(self) -> Mapping[str, object]:
            length = self.headers.get("Content-Length", "")
            if not length.isdecimal() or int(length) > _MAX_BODY:
                self.close_connection = True
                raise PageError(f"a request holds at most {_MAX_BODY} bytes and says how many", 413)
            try:
                body = json.loads(self.rfile.read(int(length)))
            except (ValueError, RecursionError) as error:
                raise PageError(f"a request is a JSON object: {error}", 400) from error
            if not isinstance(body, dict):
                raise PageError("a request is a JSON object", 400)
            return body

        def _send(self, status: int, reply: Reply) -> None:
            mime, data = reply if isinstance(reply, ImageFile) else ("application/json", json.dumps(reply).encode())
            try:
                self.send_response(status)
                for name, value in {**_HEADERS, "Content-Type": mime, "Content-Length": str(len(data))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)
            except (ConnectionError, TimeoutError):
                self.close_connection = True  # the page was closed meanwhile

    return Handler


@cache
def _file(name: str) -> ImageFile:
    file, mime = _FILES[name]
    return ImageFile(mime, resources.files("eqa_nodes.console.human").joinpath("page").joinpath(file).read_bytes())
