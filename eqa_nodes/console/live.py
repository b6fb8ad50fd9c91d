"""What happened since the newest question, kept from received messages with bounded memory, and who is told of changes.

Each reader reads the newest state when it is ready: nothing is queued.
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

READERS = 24  # pages that may watch at once
POSES, DECISIONS, VIEWS, CALLS = 4000, 400, 200, 100  # are kept of a question; more are thinned out
_STEP_M, _STEP_RAD = 0.04, math.radians(8)  # less is no new pose
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


class Live:
    """The newest question's trace as it grows; any thread may write and read. `ring` is called after each change."""

    def __init__(self, ring: Callable[[], None]) -> None:
        self._ring, self._lock = ring, threading.Lock()
        self.version = 0  # of all that the map shows
        self.running = False  # a question is being answered
        self.calls = 0  # of a model, for the newest question
        self._trace = self._before = EpisodeTrace()
        self._pose: tuple[int, Pose2] | None = None
        self._inquiry: tuple[Inquiry, float] | None = None  # with the time at which it ends

    def began(self, question: str) -> None:
        """Begin anew with a question; "" = an episode began and nothing is asked."""
        with self._lock:
            self._before, self._trace = self._trace, EpisodeTrace(question)
            self._trace.poses = [self._pose] if self._pose and question else []
            self.running, self.calls, self._inquiry = bool(question), 0, None
        self.changed()

    def moved(self, stamp_ns: int, pose: Pose2) -> None:
        """Take in where the robot is; what is no move is not kept."""
        with self._lock:
            last = self._pose[1] if self._pose else None
            if last and last.distance(pose) < _STEP_M and abs(last.yaw - pose.yaw) < _STEP_RAD:
                return
            self._pose = stamp_ns, pose
            thinned(self._trace.poses, self._pose, POSES)
        self.changed()

    def decided(self, decision: TraceDecision) -> None:
        """Take in a decision."""
        with self._lock:
            thinned(self._trace.decisions, decision, DECISIONS)
        self.changed()

    def called(self, call: ModelCall) -> None:
        """Take in a call of a model."""
        with self._lock:
            thinned(self._trace.calls, call, CALLS)
            self.calls += 1
        self._ring()

    def asks(self, inquiry: Inquiry) -> None:
        """Take in what a person is asked, or that this has ended."""
        with self._lock:
            self._inquiry = (inquiry, monotonic() + inquiry.deadline_s) if inquiry.open else None
        self._ring()

    def inquiry(self) -> tuple[Inquiry, float] | None:
        """Return what a person is asked now, and how many seconds are left to reply; None where nothing is."""
        with self._lock:
            left_s = self._inquiry[1] - monotonic() if self._inquiry else 0.0
            return (self._inquiry[0], left_s) if self._inquiry and left_s > 0 else None

    def saw(self, keyframe: Keyframe) -> None:
        """Take in a view that memory keeps."""
        with self._lock:
            thinned(self._trace.keyframes, keyframe, VIEWS)

    def answered(self, answer: Answer) -> None:
        """Take in the end of the question."""
        with self._lock:
            self._trace.answer, self.running, self._inquiry = answer, False, None
        self.changed()

    def refused(self, what: str) -> None:
        """Count something that could not be used."""
        with self._lock:
            self._trace.refused[what] = self._trace.refused.get(what, 0) + 1

    def told(self, trace: EpisodeTrace) -> None:
        """Take in all that happened for the newest question at once."""
        with self._lock:
            now = self._trace = EpisodeTrace(self._trace.question, refused=dict(trace.refused))
            for of, items, limit in ((now.poses, trace.poses, POSES), (now.decisions, trace.decisions, DECISIONS),
                                     (now.keyframes, trace.keyframes, VIEWS), (now.calls, trace.calls, CALLS)):
                for item in items:
                    thinned(of, item, limit)  # type: ignore[misc]
            self.calls = len(trace.calls)
        self.changed()

    def changed(self) -> None:
        """Say that the map looks different."""
        self.version += 1
        self._ring()

    def trace(self, question: str = "") -> EpisodeTrace:
        """Return a copy without a map; the robot's place is its last pose also where it has not moved.

        question: of which, where that is the one before the newest: the next one may have begun already.
        """
        with self._lock:
            earlier = question and question == self._before.question != self._trace.question
            now = self._before if earlier else self._trace
            poses = list(now.poses) or ([self._pose] if self._pose else [])
            return EpisodeTrace(now.question, poses, list(now.decisions), list(now.keyframes), answer=now.answer,
                                refused=dict(now.refused), calls=list(now.calls))


def thinned(items: list[T], item: T, limit: int) -> None:
    """Append; where that is too many, every second of all but the first and the last goes."""
    items.append(item)
    if len(items) > limit:
        del items[1:-1:2]
