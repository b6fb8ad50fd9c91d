"""What stops the robot: a stop of the page, which waits for nothing else, and pages that have fallen silent."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from eqa_nodes.core.errors import ConfigError, EqaError

LEAST_S, MOST_S = 2.0, 3600.0  # of silence before the robot is stopped
_LOOKS = 4  # how often within that time it is looked whether a page is there


class Stopper:
    """Carries out stops in a thread of its own. Many at once are one: each waits for one that began after it came."""

    def __init__(self, stop: Callable[[], None]) -> None:
        self._stop = stop
        self._thread = ThreadPoolExecutor(1, "stop")
        self._thread.submit(int).result()  # the thread is there before anybody can use up what a thread needs
        self._next: asyncio.Task[None] | None = None
        self._now: asyncio.Task[None] | None = None

    async def stop(self) -> None:
        """Stop the robot and wait until that is done. Raises what `stop` raises."""
        if self._next is None:
            self._next = asyncio.ensure_future(self._after(self._now))
            self._next.add_done_callback(lambda done: done.cancelled() or done.exception())  # if all have left
        await asyncio.shield(self._next)  # for all who wait: one of them may leave

    async def _after(self, running: asyncio.Task[None] | None) -> None:
        if running is not None:
            await asyncio.wait([running])
        self._now, self._next = self._next, None
        await asyncio.get_running_loop().run_in_executor(self._thread, self._stop)


def check_limit(limit_s: float) -> None:
    """Raise ConfigError for a limit that no network keeps, or that is none."""
    if limit_s and not LEAST_S <= limit_s <= MOST_S:
        raise ConfigError(f"--dead-man is {limit_s:g}: it must be 0 (off) or {LEAST_S:g} to {MOST_S:g} seconds")


class DeadMan:
    """Stops the robot when no page has shown itself for a while and a question is open; use `close` at the end."""

    def __init__(self, limit_s: float, is_open: Callable[[], bool], stop: Callable[[], None],
                 now: Callable[[], float] = time.monotonic) -> None:
        """limit_s: 0 = never. is_open: says whether something is asked. Raises ConfigError."""
        check_limit(limit_s)
        self.limit_s, self.trouble = limit_s, ""
        self._is_open, self._stop, self._now = is_open, stop, now
        self._last = now()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="dead man", daemon=True)

    def begin(self) -> None:
        """Begin to watch."""
        if self.limit_s:
            self._thread.start()

    def alive(self) -> None:
        """A page has shown itself."""
        self._last, self.trouble = self._now(), ""

    def look(self) -> None:
        """Stop the robot if it is time; where that fails it is tried again at the next look."""
        if self._now() - self._last <= self.limit_s or not self._is_open():
            return
        try:
            self._stop()
            self.trouble = f"no page was there for {self.limit_s:g} s: the robot was stopped"
        except EqaError as error:
            self.trouble = f"no page was there for {self.limit_s:g} s, and the robot could not be stopped: {error}"

    def close(self) -> None:
        """Watch no longer."""
        self._ended.set()

    def _watch(self) -> None:
        while not self._ended.wait(self.limit_s / _LOOKS):
            self.look()
