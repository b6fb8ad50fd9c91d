"""What stops the robot: a stop of the page, which waits for nothing else, and pages that all fell silent."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

from eqa_nodes.core.errors import ConfigError, EqaError

LEAST_S, MOST_S = 2.0, 3600.0  # of silence before something is done
REPORT, PAUSE, STOP = "report", "pause", "stop"
PAGE_LOST = {REPORT: "the question goes on", PAUSE: "the robot stands still until a page is back",
             STOP: "the robot was stopped"}
USUAL_S = 10.0  # of silence, where nothing else is set: a page that loads again or a phone that changes its network
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
    """Notices that no page has shown itself for a while although a question waits or runs, and does what is set.

    Use `close` at the end. trouble: what pages show of it, "" = a page is there.
    """

    def __init__(self, limit_s: float, busy: Callable[[], bool], acts: Mapping[str, Callable[[], None]],
                 does: str = STOP, now: Callable[[], float] = time.monotonic) -> None:
        """limit_s: 0 = never. busy: whether a question waits or runs. does: a key of PAGE_LOST.

        acts: pause and stop, and "back" for the return of a page. Raises ConfigError.
        """
        check_limit(limit_s)
        self.limit_s, self.does, self.trouble = limit_s, does, ""
        self._busy, self._acts, self._now = busy, acts, now
        self._last, self._lost = now(), False
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="dead man", daemon=True)

    def begin(self) -> None:
        """Begin to watch."""
        if self.limit_s:
            self._thread.start()

    def alive(self) -> None:
        """A page has shown itself."""
        with self._lock:
            self._last = self._now()
            back, self._lost = self._lost, False
        if back:
            self.trouble = ""
            self._acts["back"]()

    def look(self) -> None:
        """Do what is set while all pages are silent; what fails is tried again at the next look."""
        busy = self._busy()
        with self._lock:
            if not busy or self._now() - self._last <= self.limit_s:
                return
            self._lost = True
        self._act()

    def close(self) -> None:
        """Watch no longer."""
        self._ended.set()

    def _act(self) -> None:
        silent = f"no page was open for {self.limit_s:g} s"
        try:
            if self.does != REPORT:
                self._acts[self.does]()
            self.trouble = f"{silent}: {PAGE_LOST[self.does]}"
        except EqaError as error:
            self.trouble = f"{silent}, and the robot could not be stopped: {error}"

    def _watch(self) -> None:
        while not self._ended.wait(self.limit_s / _LOOKS):
            self.look()
