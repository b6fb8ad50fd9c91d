"""The state since the newest question, collected from messages with bounded memory, and notification of its readers.

Each reader reads the newest state when it is ready; nothing is queued.
"""

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic, sleep
from typing import Generic, TypeVar

from eqa_nodes.core.types.calls import ModelCall
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.inquiries import Inquiry
from eqa_nodes.core.types.questions import Answer
from eqa_nodes.core.types.trace import EpisodeTrace, TraceDecision
from eqa_nodes.core.types.views import Keyframe

READERS = 24  # maximum number of pages that watch at once
POSES, DECISIONS, VIEWS, CALLS = 4000, 400, 200, 100  # maximum per question; more are thinned out
_STEP_M, _STEP_RAD = 0.04, math.radians(8)  # smaller changes are not a new pose
T = TypeVar("T")


class Feed:
    """Notifies all listeners of news; any thread may ring."""

    def __init__(self) -> None:
        self.closed = False
        self._lock = threading.Lock()
        self._readers: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    @property
    def readers(self) -> int:
        """The number of listeners."""
        return len(self._readers)

    def ring(self) -> None:
        """Notify all listeners."""
        with self._lock:
            for loop, news in self._readers:
                if not news.is_set():
                    loop.call_soon_threadsafe(news.set)

    def close(self) -> None:
        """Make all readers end."""
        self.closed = True
        self.ring()

    @contextmanager
    def listening(self) -> Iterator[asyncio.Event]:
        """Provide an event of the running loop that is set when there is news."""
        reader = asyncio.get_running_loop(), asyncio.Event()
        with self._lock:
            self._readers.append(reader)
        try:
            yield reader[1]
        finally:
            with self._lock:
                self._readers.remove(reader)


class Rendered(Generic[T]):
    """A rendering of the newest state, made on demand, shared by all callers, at a limited rate."""

    def __init__(self, version: Callable[[], object], make: Callable[[], T], every_s: float,
                 pause: Callable[[float], None] = sleep) -> None:
        """version: changes when `make` would return something new; every_s: minimum interval of calls of make."""
        self._version, self._make, self._every_s, self._pause = version, make, every_s, pause
        self._lock = threading.Lock()
        self._made: tuple[object, float, T] | None = None

    def get(self) -> T:
        """Return the rendering as of now (any thread). Callers within every_s share the next one."""
        asked = monotonic()
        with self._lock:
            if self._made is not None and (self._made[0] == self._version() or self._made[1] > asked):
                return self._made[2]
            if self._made is not None:
                self._pause(max(self._made[1] + self._every_s - monotonic(), 0.0))
            version = self._version()
            self._made = version, monotonic(), self._make()
            return self._made[2]


class Live:
    """The growing trace of the newest question; any thread may read and write. `ring` is called after each change."""

    def __init__(self, ring: Callable[[], None]) -> None:
        self._ring, self._lock = ring, threading.Lock()
        self.version = 0  # version of everything that the map shows
        self.running = False  # True while a question is being answered
        self.calls = 0  # number of model calls for the newest question
        self._trace = self._before = EpisodeTrace()
        self._pose: tuple[int, Pose2] | None = None
        self._inquiry: tuple[Inquiry, float] | None = None  # with the time of its deadline (monotonic, s)

    def began(self, question: str) -> None:
        """Start a new trace for a question; "" = an episode began without a question."""
        with self._lock:
            self._before, self._trace = self._trace, EpisodeTrace(question)
            self._trace.poses = [self._pose] if self._pose and question else []
            self.running, self.calls, self._inquiry = bool(question), 0, None
        self.changed()

    def moved(self, stamp_ns: int, pose: Pose2) -> None:
        """Add the robot's pose, unless it has hardly moved."""
        with self._lock:
            last = self._pose[1] if self._pose else None
            if last and last.distance(pose) < _STEP_M and abs(last.yaw - pose.yaw) < _STEP_RAD:
                return
            self._pose = stamp_ns, pose
            thinned(self._trace.poses, self._pose, POSES)
        self.changed()

    def decided(self, decision: TraceDecision) -> None:
        """Add a decision."""
        with self._lock:
            thinned(self._trace.decisions, decision, DECISIONS)
        self.changed()

    def called(self, call: ModelCall) -> None:
        """Add a call of a model."""
        with self._lock:
            thinned(self._trace.calls, call, CALLS)
            self.calls += 1
        self._ring()

    def asks(self, inquiry: Inquiry) -> None:
        """Set the inquiry to a person, or clear one that has ended."""
        with self._lock:
            self._inquiry = (inquiry, monotonic() + inquiry.deadline_s) if inquiry.open else None
        self._ring()

    def inquiry(self) -> tuple[Inquiry, float] | None:
        """Return the open inquiry to a person and the seconds left to reply; None if there is none."""
        with self._lock:
            left_s = self._inquiry[1] - monotonic() if self._inquiry else 0.0
            return (self._inquiry[0], left_s) if self._inquiry and left_s > 0 else None

    def saw(self, keyframe: Keyframe) -> None:
        """Add a view that memory keeps."""
        with self._lock:
            thinned(self._trace.keyframes, keyframe, VIEWS)

    def answered(self, answer: Answer) -> None:
        """Set the answer, which ends the question."""
        with self._lock:
            self._trace.answer, self.running, self._inquiry = answer, False, None
        self.changed()

    def refused(self, what: str) -> None:
        """Count a message that could not be used."""
        with self._lock:
            self._trace.refused[what] = self._trace.refused.get(what, 0) + 1

    def changed(self) -> None:
        """Report that the map has changed."""
        self.version += 1
        self._ring()

    def trace(self, question: str = "") -> EpisodeTrace:
        """Return a copy without a map. It has the robot's last pose even if the robot has not moved.

        question: text of the question, needed for the one before the newest if the next one may have begun.
        """
        with self._lock:
            earlier = question and question == self._before.question != self._trace.question
            now = self._before if earlier else self._trace
            poses = list(now.poses) or ([self._pose] if self._pose else [])
            return EpisodeTrace(now.question, poses, list(now.decisions), list(now.keyframes), answer=now.answer,
                                refused=dict(now.refused), calls=list(now.calls))


def thinned(items: list[T], item: T, limit: int) -> None:
    """Append an item; above the limit, remove every second item except the first and the last."""
    items.append(item)
    if len(items) > limit:
        del items[1:-1:2]
