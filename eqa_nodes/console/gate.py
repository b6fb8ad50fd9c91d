"""Who may hold a connection of the page's server, and for how long, so that a stop always gets through.

uvicorn lets a connection stay for ever that sends nothing or a byte now and then, and refuses every request while there
are too many of them. Here one that keeps the server waiting is closed in time, at once where its place is wanted; and
requests are limited by how many are worked on, in all and of one address, except for those that must not wait.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any, cast

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from eqa_nodes.console.replies import Json

CONNECTIONS = 128  # at once: a further one takes the place of one that keeps the server waiting
REQUESTS, OF_ADDRESS = 64, 32  # that are worked on at once, event streams included; of one address
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
        self._working: Counter[str] = Counter()

    @property
    def connections(self) -> int:
        """How many connections are open."""
        return len(self._held)

    @property
    def requests(self) -> int:
        """How many requests are worked on."""
        return self._working.total()

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

    def enter(self, host: str, urgent: bool) -> bool:
        """Count a request; False: too many are worked on."""
        if not urgent and (self.requests >= REQUESTS or self._working[host] >= OF_ADDRESS):
            return False
        self._working[host] += 1
        return True

    def leave(self, host: str) -> None:
        """A request has ended."""
        self._working[host] -= 1
        if not self._working[host]:
            del self._working[host]

    def again(self, held: Held) -> None:
        """Wait for the next request of a connection."""
        if self._held.get(held.address) is held:
            self._held[held.address] = self._held.pop(held.address)  # now it waits for the shortest time
            held.wait()

    def protocol(self) -> type[asyncio.Protocol]:
        """Return the class of this gate's connections, for uvicorn."""
        return cast("type[asyncio.Protocol]", type("Gated", (_Gated,), {"gate": self}))

    def _superfluous(self, newest: Held) -> Held:
        """Return the connection that has kept the server waiting longest, of the address that has most of those."""
        waiting = [held for held in self._held.values() if held.waiting and held is not newest]
        most = Counter(held.address[0] for held in waiting).most_common(1)
        return next((held for held in waiting if held.address[0] == most[0][0]), newest)


class _Gated(H11Protocol):
    gate: Gate

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._held = self.gate.came(transport, self.client or ("", id(self)))

    def connection_lost(self, exc: Exception | None) -> None:
        self.gate.left(self._held)
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._held.behind()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._held.free()


class Admission:
    """ASGI middleware, the outermost: lets requests in, and turns a fault of ours into a reply."""

    def __init__(self, app: ASGIApp, gate: Gate) -> None:
        self._app, self._gate = app, gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http" or (held := self._gate.held(scope)) is None:
            return
        host, urgent = scope["client"][0], scope["method"] == "POST" and scope["path"] in URGENT
        if not self._gate.enter(host, urgent):
            await Json({"error": "too much is asked of the console at once: try again"}, 503,
                       {"Connection": "close"})(scope, receive, send)
            self._gate.again(held)
            return
        try:
            if urgent or scope["method"] in ("GET", "HEAD"):
                held.work()  # no body is awaited
            await self._serve(held, scope, receive, send)
        except ClientDisconnect:
            pass  # who asked has left
        finally:
            self._gate.leave(host)
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
