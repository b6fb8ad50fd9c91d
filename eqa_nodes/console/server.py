"""Serves the page from a thread of its own, so that the terminal's Ctrl-C stays with the command."""

from __future__ import annotations

import asyncio
import logging
import secrets
import socket
import ssl
import threading
import time
from functools import partial
from typing import Any

import uvicorn

from eqa_nodes.console.guard import AccessRules
from eqa_nodes.console.tls import HANDSHAKE_S
from eqa_nodes.console.web import Page
from eqa_nodes.core.errors import ConfigError, NodeLost

LOCAL = ("127.0.0.1", "localhost", "::1")
_START_S, _CLOSE_S = 30.0, 2.0
_BACKLOG = 128  # connections that wait to be taken


def rules_for(host: str, ask_token: bool, **more: Any) -> AccessRules:
    """Return who may see a page that is served on this address: others than this machine need a token.

    more: fields of AccessRules; `names` are added to those of this machine.
    """
    local, own = host in LOCAL, socket.gethostname().lower()
    names = {"localhost"} if local else {"localhost", host.lower(), own, f"{own}.local"}
    names |= {name.lower() for name in more.pop("names", ())}
    needed = more.get("tokens") is None and (ask_token or not local)
    return AccessRules(secrets.token_urlsafe(24) if needed else "", names, not local, **more)


class ConsoleServer:
    """The running server; use `close` at the end. Raises ConfigError when the address cannot be listened on."""

    def __init__(self, page: Page, host: str, port: int, tls: ssl.SSLContext | None = None) -> None:
        """port: 0 = any free one. tls: None = plain HTTP."""
        self._page, self._tls = page, tls
        self._socket = listening(host, port)
        self.url = address("https" if tls else "http", host, self._socket) + _entrance(page.rules)
        config = uvicorn.Config(
            page.app(), log_config=None, log_level=logging.CRITICAL, access_log=False, server_header=False,
            lifespan="off", ws="none", loop="asyncio", http=page.gate.protocol(), proxy_headers=False,
            timeout_graceful_shutdown=1)  # no log shows anyone's questions, or a line for each malformed request
        config.load()
        config.ssl = tls
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=asyncio.run, args=(self._serve(),), name="console", daemon=True)
        self._thread.start()
        end = time.monotonic() + _START_S
        while not self._server.started:
            if not self._thread.is_alive() or time.monotonic() > end:
                raise NodeLost(f"the page's server did not come up within {_START_S:g} s")
            time.sleep(0.01)

    async def _serve(self) -> None:
        loop = asyncio.get_running_loop()
        if self._tls is not None:  # uvicorn leaves a client a minute for its handshake, in which the gate cannot see it
            loop.create_server = partial(  # type: ignore[method-assign]
                loop.create_server, ssl_handshake_timeout=HANDSHAKE_S)
        await self._server.serve(sockets=[self._socket])

    def close(self) -> None:
        """Stop serving; a second call does nothing."""
        self._page.close()
        self._server.should_exit = True
        self._thread.join(_CLOSE_S)
        self._socket.close()


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens; port 0 = a free one. Raises ConfigError."""
    try:
        return socket.create_server((host, port), backlog=_BACKLOG,
                                    family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise ConfigError(f"cannot listen on {host}:{port}: {error}. Choose another --port (0 = a free one), or "
                          "another --host") from error


def address(scheme: str, host: str, listener: socket.socket) -> str:
    """Return the URL of a listening socket, as other machines reach it where `host` stands for all addresses."""
    name = _own_address() if host in ("", "0.0.0.0", "::") else host
    return f"{scheme}://{f'[{name}]' if ':' in name else name}:{listener.getsockname()[1]}/"


def _entrance(rules: AccessRules) -> str:
    """Return what follows the address in the link; the token stands behind #, which browsers send to nobody."""
    return f"enter#{rules.token}" if rules.token else "enter" if rules.tokens is not None else ""


def _own_address() -> str:
    """Return the address by which other machines reach this one: that of the way out, else the host name."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # nothing is sent: this asks the routing table
            return str(probe.getsockname()[0])
        except OSError:
            return socket.gethostname()
