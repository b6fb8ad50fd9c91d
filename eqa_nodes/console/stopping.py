"""What stops the robot: a stop of the page, which waits for nothing else, and an operator whose pages fell silent."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor

from eqa_nodes.core.errors import ConfigError, EqaError

LEAST_S, MOST_S = 2.0, 3600.0  # of silence before something is done
REPORT, PAUSE, STOP = "report", "pause", "stop"
PAGE_LOST = {REPORT: "the question goes on", PAUSE: "the robot stands still until a page of theirs is back",
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
    """Notices that no page of a user who has asked something has shown itself for a while, and does what is set.

    Use `close` at the end. trouble: what pages show of it, "" = all holders are there.
    """

    def __init__(self, limit_s: float, holders: Callable[[], Collection[str]],
                 acts: Mapping[str, Callable[[str], None]], does: str = STOP,
                 now: Callable[[], float] = time.monotonic) -> None:
        """limit_s: 0 = never. holders: the users whose questions wait or run. does: a key of PAGE_LOST.

        acts: pause and stop, and "back" for the return of a user; each gets the user. Raises ConfigError.
        """
        check_limit(limit_s)
        self.limit_s, self.does, self.trouble = limit_s, does, ""
        self.told: Callable[[str, str], None] = lambda user, outcome: None  # whoever keeps a log of it
        self._holders, self._acts, self._now = holders, acts, now
        self._last: dict[str, float] = {}
        self._began = now()
        self._lost: set[str] = set()
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="dead man", daemon=True)

    def begin(self) -> None:
        """Begin to watch."""
        if self.limit_s:
            self._thread.start()

    def alive(self, user: str = "") -> None:
        """A page of a user has shown itself."""
        with self._lock:
            self._last[user] = self._now()
            back = user in self._lost
            self._lost.discard(user)
        if back:
            self.trouble = ""
            self._acts["back"](user)
            self.told(user, "back")

    def look(self) -> None:
        """Do what is set for users whose pages are silent; what fails is tried again at the next look."""
        now, holders = self._now(), self._holders()
        with self._lock:
            silent = [user for user in holders if now - self._last.get(user, self._began) > self.limit_s]
            new = [user for user in silent if user not in self._lost]
            self._lost.update(new)
        for user in silent if self.does != REPORT else new:
            self._act(user, user in new)

    def close(self) -> None:
        """Watch no longer."""
        self._ended.set()

    def _act(self, user: str, new: bool) -> None:
        who = f"no page of {user or 'the operator'} was there for {self.limit_s:g} s"
        try:
            if self.does != REPORT:
                self._acts[self.does](user)
            self.trouble = f"{who}: {PAGE_LOST[self.does]}"
        except EqaError as error:
            self.trouble = f"{who}, and the robot could not be stopped: {error}"
        if new:
            self.told(user, self.trouble)

    def _watch(self) -> None:
        while not self._ended.wait(self.limit_s / _LOOKS):
            self.look()
