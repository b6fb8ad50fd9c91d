"""Serves the page in a thread of its own, so that the command still handles Ctrl-C."""

from __future__ import annotations

import asyncio
import logging
import secrets
import socket
import threading
import time
from collections.abc import Collection

import uvicorn

from eqa_nodes.console.web import AccessRules, Page
from eqa_nodes.core.errors import ConfigError, NodeLost

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
        self.address = address(host, listener)
        self.url = self.address + (f"enter#{page.rules.token}" if page.rules.token else "")
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
