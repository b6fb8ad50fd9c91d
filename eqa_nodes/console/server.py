"""Serves the page from a thread of its own, so that the terminal's Ctrl-C stays with the command."""

from __future__ import annotations

import asyncio
import logging
import secrets
import socket
import ssl
import threading
import time
from collections.abc import Collection
from pathlib import Path

import uvicorn

from eqa_nodes.console.gate import Gated
from eqa_nodes.console.guard import AccessRules
from eqa_nodes.console.web import Page
from eqa_nodes.core.errors import ConfigError, NodeLost

LOCAL = ("127.0.0.1", "localhost", "::1")
_START_S, _CLOSE_S = 30.0, 2.0
_BACKLOG = 128  # connections that wait to be accepted


def rules_for(host: str, ask_token: bool, names: Collection[str] = (), secure: bool = False) -> AccessRules:
    """Return who may see a page that is served on this address: others than this machine need a token.

    names: of the page, beside those of this machine. secure: it is served over TLS.
    """
    local, own = host in LOCAL, socket.gethostname().lower()
    known = {"localhost"} if local else {"localhost", host.lower(), own, f"{own}.local"}
    return AccessRules(secrets.token_urlsafe(24) if ask_token or not local else "",
                       known | {name.lower() for name in names}, not local, secure)


class ConsoleServer:
    """The running server; use `close` at the end."""

    def __init__(self, page: Page, host: str, listener: socket.socket, tls: ssl.SSLContext | None = None) -> None:
        """host: as the address shows it. listener: of `listening`. tls: None = plain HTTP."""
        self._page, self._socket = page, listener  # the token stands behind #, which browsers send to nobody
        self.address = address("https" if tls else "http", host, listener)
        self.url = self.address + (f"enter#{page.rules.token}" if page.rules.token else "")
        config = uvicorn.Config(
            page.app(), log_config=None, log_level=logging.CRITICAL, access_log=False, server_header=False,
            ws="none", loop="asyncio", http=Gated, proxy_headers=False,
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
        self._page.gate.watch(asyncio.get_running_loop())
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


def tls_context(cert: Path, key: Path) -> ssl.SSLContext:
    """Return what serves a certificate with its chain and its key, both PEM, from TLS 1.2 on. Raises ConfigError."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(cert, key, _no_password)
    except OSError as error:  # of ssl too
        raise ConfigError(f"{cert} and {key} cannot be served as a certificate and its key ({error}): name a chain and "
                          "the key that belongs to it, both in PEM, with --tls-cert and --tls-key") from error
    return context


def _no_password() -> str:
    raise ConfigError("the key is encrypted, and nobody is there to type its password: decrypt it (openssl pkey -in "
                      "KEY -out NEW), and let only this user read it")


def _own_address() -> str:
    """Return the address by which other machines reach this one: that of the way out, else the host name."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # nothing is sent: this asks the routing table
            return str(probe.getsockname()[0])
        except OSError:
            return socket.gethostname()
