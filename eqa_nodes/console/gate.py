"""Who may hold a connection of a server, and for how long, so that a stop always gets through.

uvicorn lets a connection stay for ever that sends nothing or a byte now and then, and refuses every request while there
are too many of them. Here a connection counts from the moment at which it is accepted, before its TLS handshake; one
that keeps the server waiting is closed in time, at once where its place is wanted. So the process never runs out of
descriptors. Requests are limited by how many are worked on, except for those that must not wait.
"""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from ssl import SSLContext
from typing import Any

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from eqa_nodes.console.replies import Json

CONNECTIONS = 128  # at once: a further one takes the place of one that keeps the server waiting
ACCEPTED = 16  # of a burst, before the gate looks at them
REQUESTS = 64  # that are worked on at once, event streams included
ARRIVE_S = 10.0  # for a request to arrive whole, from the connection's beginning or from the end of the last reply
TAKE_S = 20.0  # for a slow reader to take what is ready for it
URGENT = ("/stop", "/alive")  # are served however many other requests are worked on
Address = tuple[str, int]


class Held:
    """A connection as the gate sees it."""

    def __init__(self, transport: asyncio.Transport, address: Address) -> None:
        self.transport, self.address = transport, address
        self.waiting = True  # for the client to send a request
        self._timer: asyncio.TimerHandle | None = None
        self.wait()

    def wait(self) -> None:
        """Wait for a request, not for ever."""
        self.waiting = True
        self._within(ARRIVE_S)

    def work(self) -> None:
        """A request has arrived whole."""
        self.waiting = False
        self.free()

    def behind(self) -> None:
        """The client does not take in what is sent to it."""
        self._within(TAKE_S)

    def free(self) -> None:
        """Set no deadline."""
        if self._timer is not None:
            self._timer.cancel()

    def _within(self, limit_s: float) -> None:
        self.free()
        unsent = self.transport.get_write_buffer_size()
        self._timer = asyncio.get_running_loop().call_later(limit_s, self._over, limit_s, unsent)

    def _over(self, limit_s: float, before: int) -> None:
        """Close the connection, unless a slow client has taken in a part of what waits for it."""
        if 0 < self.transport.get_write_buffer_size() < before:
            self._within(limit_s)
        else:
            self.transport.abort()


class Gate:
    """The connections of one server. Used by its event loop alone."""

    def __init__(self) -> None:
        self._held: dict[Address, Held] = {}  # the one that waits longest comes first
        self.requests = 0  # that are worked on

    @property
    def connections(self) -> int:
        """How many connections are open."""
        return len(self._held)

    def came(self, transport: asyncio.Transport, address: Address) -> Held:
        """Take a new connection; where there are too many, one that keeps the server waiting goes, else the new one."""
        held = self._held[address] = Held(transport, address)
        if self.connections > CONNECTIONS:
            superfluous = self._superfluous(held)
            del self._held[superfluous.address]
            superfluous.transport.abort()
        return held

    def left(self, held: Held) -> None:
        """Forget a connection that is closed."""
        held.free()
        if self._held.get(held.address) is held:
            del self._held[held.address]

    def held(self, scope: Scope) -> Held | None:
        """Return the connection of a request; None when it is closed already."""
        return self._held.get(scope["client"])

    def again(self, held: Held) -> None:
        """Wait for the next request of a connection."""
        if self._held.get(held.address) is held:
            self._held[held.address] = self._held.pop(held.address)  # now it waits for the shortest time
            held.wait()

    def watch(self, loop: asyncio.AbstractEventLoop) -> None:
        """Let each connection that uvicorn accepts in a loop pass this gate first."""
        listen = loop.create_server

        async def create_server(make: Callable[[], Gated], sock: socket.socket, ssl: SSLContext | None,
                                backlog: int) -> asyncio.Server:
            server = await listen(lambda: _Door(self, make, ssl), sock=sock, backlog=ACCEPTED)
            sock.listen(CONNECTIONS)  # more may wait to be accepted
            return server

        loop.create_server = create_server  # type: ignore[assignment,method-assign]
        loop.set_exception_handler(_shown)

    def _superfluous(self, newest: Held) -> Held:
        """Return the connection that has kept the server waiting longest, of the address that has most of those."""
        waiting = [held for held in self._held.values() if held.waiting and held is not newest]
        most = Counter(held.address[0] for held in waiting).most_common(1)
        return next((held for held in waiting if held.address[0] == most[0][0]), newest)


def _shown(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Show a fault as asyncio does; where even that takes a descriptor too many, the loop goes on, and so do stops."""
    with suppress(OSError):
        loop.default_exception_handler(context)


class _Door(asyncio.Protocol):
    """A connection until it is encrypted, where it is to be; then a protocol of HTTP takes it over."""

    def __init__(self, gate: Gate, make: Callable[[], Gated], tls: SSLContext | None) -> None:
        self._gate, self._make, self._tls = gate, make, tls
        self._early, self._lost = b"", False

    def connection_made(self, transport: Any) -> None:
        peer = transport.get_extra_info("peername") or ("", id(self))  # it may have left already
        self._held = self._gate.came(transport, peer[:2])
        if self._tls is None:
            self._hand_over(transport)
        else:
            transport.pause_reading()
            self._handshake = asyncio.ensure_future(self._encrypt(transport, self._tls))

    def data_received(self, data: bytes) -> None:
        self._early += data  # came with the end of the handshake

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost = True
        self._gate.left(self._held)

    async def _encrypt(self, transport: asyncio.Transport, tls: SSLContext) -> None:
        try:
            encrypted = await asyncio.get_running_loop().start_tls(
                transport, self, tls, server_side=True, ssl_handshake_timeout=ARRIVE_S)
        except OSError:  # no TLS, none in time, or closed for another's sake
            encrypted = None
        if encrypted is None or self._lost:
            self._gate.left(self._held)
        else:
            self._hand_over(encrypted)

    def _hand_over(self, transport: asyncio.Transport) -> None:
        protocol = self._make()
        protocol.gate, protocol.held, self._held.transport = self._gate, self._held, transport
        transport.set_protocol(protocol)
        protocol.connection_made(transport)
        if self._early:
            protocol.data_received(self._early)


class Gated(H11Protocol):
    """uvicorn's protocol of HTTP, for a connection of a gate."""

    gate: Gate
    held: Held

    def connection_lost(self, exc: Exception | None) -> None:
        """Give the place free."""
        self.gate.left(self.held)
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Wait for a slow reader, not for ever."""
        super().pause_writing()
        self.held.behind()

    def resume_writing(self) -> None:
        """The reader has taken in enough."""
        super().resume_writing()
        self.held.free()


class Admission:
    """ASGI middleware, the outermost: lets requests in, and turns a fault of ours into a reply.

    limited: whether there may be too many requests; those of a server that lets nobody in without its token are not.
    """

    def __init__(self, app: ASGIApp, gate: Gate, limited: bool = True) -> None:
        self._app, self._gate, self._limited = app, gate, limited

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if (held := self._gate.held(scope)) is None:
            return
        urgent = scope["method"] == "POST" and scope["path"] in URGENT
        if self._limited and not urgent and self._gate.requests >= REQUESTS:
            await Json({"error": "too much is asked of the console at once: try again"}, 503,
                       {"Connection": "close"})(scope, receive, send)
            self._gate.again(held)
            return
        self._gate.requests += 1
        try:
            if urgent or scope["method"] in ("GET", "HEAD"):
                held.work()  # no body is awaited
            await self._serve(held, scope, receive, send)
        except ClientDisconnect:
            pass  # who asked has left
        finally:
            self._gate.requests -= 1
            self._gate.again(held)

    async def _serve(self, held: Held, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def arriving() -> Message:
            message = await receive()
            if message["type"] == "http.request" and not message.get("more_body", False):
                held.work()
            return message

        async def sending(message: Message) -> None:
            nonlocal begun
            if not begun:
                begun = True
                held.work()  # also where the body is not wanted
            await send(message)

        try:
            await self._app(scope, arriving, sending)
        except ClientDisconnect:
            raise
        except Exception as error:
            if begun:
                held.transport.abort()  # half a reply must not look like a whole one
                return
            await Json({"error": f"the console failed: {error!r}"}, 500)(scope, receive, sending)
