"""Rates and ages of messages and durations of their callbacks, counted on arrival and summarised later.

No ROS in here. A message costs a few additions and no memory; all sums are made once a second.
"""

from __future__ import annotations

import statistics
from array import array
from collections import deque
from collections.abc import Mapping
from typing import Any, NamedTuple

WINDOW_S = 5.0  # over which rates and ages are computed
RING = 256  # ages that are kept; more messages than that in a window: of the newest
UNKNOWN = -(1 << 63)  # age of a message whose stamp is none of this clock
UNHEARD = "not heard yet"  # the message for a topic without any message
OK, WARN, ERROR, STALE = range(4)  # as in diagnostic_msgs/DiagnosticStatus


class FlowStatus(NamedTuple):
    """A level (OK, WARN, ERROR, STALE) and the words for it."""

    level: int
    message: str


class StatusReport(NamedTuple):
    """One status: its level and message, and the values behind it."""

    verdict: FlowStatus
    values: Mapping[str, object]


class RateWindow(NamedTuple):
    """One window of a flow: messages a second, share of the time in its callback, ages and times in seconds.

    ages are None where no stamp of the window was of this clock; silent_s: since the last message, None before any.
    lost: messages in all that were sent and never came.
    """

    total: int
    rate_hz: float
    busy: float
    longest_s: float
    silent_s: float | None
    median_age_s: float | None
    oldest_s: float | None
    lost: int = 0


class LossCounter:
    """Counts lost messages by the gaps in each publisher's sequence numbers."""

    def __init__(self) -> None:
        self.lost = 0
        self._numbers: dict[bytes, int] = {}

    def take(self, info: Mapping[str, Any]) -> int:
        """Take in what rclpy tells of a message; return how many were lost before it. Some middlewares do not tell."""
        number, publisher = info.get("publication_sequence_number"), info.get("publisher_gid")
        if number is None or publisher is None:
            return 0
        key = bytes(publisher["data"])
        lost = max(number - self._numbers.get(key, number - 1) - 1, 0)
        self._numbers[key] = max(number, self._numbers.get(key, number))
        self.lost += lost
        return lost


class Flow:
    """Messages of one topic, or calls of one service. Times are monotonic nanoseconds."""

    def __init__(self, now_ns: int) -> None:
        self._count = self._busy_ns = self._last_ns = self._longest_ns = 0  # the longest: since the last mark
        self._ages_ns = array("q", [UNKNOWN]) * RING
        self.gaps = LossCounter()
        self._marks: deque[tuple[int, int, int, int]] = deque([(now_ns, 0, 0, 0)])  # time, count, busy, longest before

    @property
    def total(self) -> int:
        """Number of messages received."""
        return self._count

    def received(self, now_ns: int, age_ns: int = UNKNOWN) -> None:
        """Count a message."""
        self._ages_ns[self._count % RING] = age_ns
        self._count += 1
        self._last_ns = now_ns

    def spent(self, ns: int) -> None:
        """Count the time of its callback."""
        self._busy_ns += ns
        if ns > self._longest_ns:
            self._longest_ns = ns

    def sum_up(self, now_ns: int) -> RateWindow:
        """Return the last window, and begin the next second: call it once a second."""
        marks = self._marks
        marks.append((now_ns, self._count, self._busy_ns, self._longest_ns))
        self._longest_ns = 0
        while len(marks) > 2 and now_ns - marks[1][0] >= WINDOW_S * 1e9:
            marks.popleft()
        began_ns, count, busy_ns, _ = marks[0]
        passed_ns = max(1, now_ns - began_ns)
        new = self._count - count
        ages = self._newest(new)
        return RateWindow(
            self._count, new / passed_ns * 1e9, (self._busy_ns - busy_ns) / passed_ns,
            max(mark[3] for mark in list(marks)[1:]) / 1e9, (now_ns - self._last_ns) / 1e9 if self._count else None,
            statistics.median(ages) / 1e9 if ages else None, max(ages) / 1e9 if ages else None, self.gaps.lost)

    def _newest(self, number: int) -> list[int]:
        """Return the known ages of so many newest messages, in ns."""
        last = self._count
        ages = (self._ages_ns[i % RING] for i in range(last - min(number, RING), last))
        return [age for age in ages if age != UNKNOWN]


def judged(flow: RateWindow, min_rate_hz: float, max_age_s: float) -> FlowStatus:
    """Judge a topic. 0 = that is not judged. Stamps from the future by as much are wrong too: two clocks differ."""
    if min_rate_hz and not flow.rate_hz:
        since = "yet" if flow.silent_s is None else f"for {flow.silent_s:.1f} s"
        return FlowStatus(STALE, f"nothing came {since}")
    if max_age_s and flow.median_age_s is not None and abs(flow.median_age_s) > max_age_s:
        if flow.median_age_s < 0:
            return FlowStatus(ERROR, f"stamped {-flow.median_age_s:.3f} s in the future: are the clocks synchronised?")
        return FlowStatus(ERROR, f"{flow.median_age_s:.3f} s old when taken in, more than {max_age_s:g} s")
    if flow.rate_hz < min_rate_hz:
        return FlowStatus(WARN, f"{flow.rate_hz:.1f} Hz, less than {min_rate_hz:g} Hz")
    return FlowStatus(OK, UNHEARD if flow.silent_s is None else f"{flow.rate_hz:.1f} Hz")
