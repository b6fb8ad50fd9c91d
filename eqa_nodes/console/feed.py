"""Tells readers that something is new. Each reads the newest state when it is ready: nothing is queued for anybody."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic, sleep
from typing import Generic, TypeVar

from eqa_nodes.console.values import RequestRefused

READERS = 24  # pages that may watch at once
T = TypeVar("T")


class Feed:
    """Rings for all who listen; any thread may ring."""

    def __init__(self) -> None:
        self.closed = False
        self._lock = threading.Lock()
        self._readers: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    @property
    def readers(self) -> int:
        """How many listen."""
        return len(self._readers)

    def ring(self) -> None:
        """Say that something is new."""
        with self._lock:
            for loop, news in self._readers:
                if not news.is_set():
                    loop.call_soon_threadsafe(news.set)

    def close(self) -> None:
        """Let all readers end."""
        self.closed = True
        self.ring()

    def admit(self) -> None:
        """Raise RequestRefused where too many listen already; asked before a reply begins."""
        if self.readers >= READERS:
            raise RequestRefused(f"{READERS} pages watch already: close one", 503)

    @contextmanager
    def listening(self) -> Iterator[asyncio.Event]:
        """Give an event of the running loop that is set when something is new."""
        reader = asyncio.get_running_loop(), asyncio.Event()
        with self._lock:
            self._readers.append(reader)
        try:
            yield reader[1]
        finally:
            with self._lock:
                self._readers.remove(reader)


class Rendered(Generic[T]):
    """What is made of the newest state when somebody asks: once for all who ask, and not too often."""

    def __init__(self, version: Callable[[], object], make: Callable[[], T], every_s: float,
                 pause: Callable[[float], None] = sleep) -> None:
        """version: changes when `make` would give something else; every_s: the least time between two makings."""
        self._version, self._make, self._every_s, self._pause = version, make, every_s, pause
        self._lock = threading.Lock()
        self._made: tuple[object, float, T] | None = None

    def get(self) -> T:
        """Return it as of now (any thread); who asks too soon waits until it may be made again, all of them once."""
        asked = monotonic()
        with self._lock:
            if self._made is not None and (self._made[0] == self._version() or self._made[1] > asked):
                return self._made[2]
            if self._made is not None:
                self._pause(max(self._made[1] + self._every_s - monotonic(), 0.0))
            version = self._version()
            self._made = version, monotonic(), self._make()
            return self._made[2]
