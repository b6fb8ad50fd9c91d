"""Rates, ages and losses of messages, durations of callbacks, and clock jumps, for /diagnostics.

Counting a message costs a few additions and no memory; summaries are computed once a second.
"""

from __future__ import annotations

import statistics
import time
from array import array
from collections import deque
from collections.abc import Mapping
from typing import Any, NamedTuple

from eqa_nodes.core.clocks import ALARM_S, WallClockMonitor

WINDOW_S = 5.0  # window for rates and ages
RING = 256  # number of newest ages that are kept
UNKNOWN = -(1 << 63)  # age of a message whose stamp is not of this clock
UNHEARD = "not heard yet"  # the message for a topic without any message
OK, WARN, ERROR, STALE = range(4)  # as in diagnostic_msgs/DiagnosticStatus
WALL_CLOCK_SET = ("let chrony step the clock at boot only and slew it later (makestep 1 3), and start the robot "
                  "with a clock that is right")
STAMPS_WENT_BACK = "begin a new episode when a simulation or a recording starts again"
STAMPS_AHEAD = "synchronise the clocks of sensor and computer (chrony, ptp4l)"
_STRAYS_S = 10.0  # a stamp from the future is reported for this time


class FlowStatus(NamedTuple):
    """A level (OK, WARN, ERROR, STALE) and its message."""

    level: int
    message: str


class StatusReport(NamedTuple):
    """One status: its level and message, and the values behind it."""

    verdict: FlowStatus
    values: Mapping[str, object]


class RateWindow(NamedTuple):
    """Statistics of a window: message rate, share of the time spent in the callback, ages and times in seconds.

    Ages are None if no stamp of the window was of this clock; silent_s: time since the last message, None before any;
    lost: total number of messages that were sent and never arrived.
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
        """Add rclpy's info of a message; return the number lost before it, 0 if the middleware does not number them."""
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
        self._count = self._busy_ns = self._last_ns = self._longest_ns = 0  # longest: since the last mark
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
        """Add the duration of a callback."""
        self._busy_ns += ns
        if ns > self._longest_ns:
            self._longest_ns = ns

    def sum_up(self, now_ns: int) -> RateWindow:
        """Return the statistics of the last window. Call this once a second."""
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
        """Return the known ages of the `number` newest messages, ns."""
        last = self._count
        ages = (self._ages_ns[i % RING] for i in range(last - min(number, RING), last))
        return [age for age in ages if age != UNKNOWN]


def judged(flow: RateWindow, min_rate_hz: float, max_age_s: float) -> FlowStatus:
    """Judge rate and age of a topic; a limit of 0 disables a check. Negative ages beyond the limit are errors too."""
    if min_rate_hz and not flow.rate_hz:
        since = "yet" if flow.silent_s is None else f"for {flow.silent_s:.1f} s"
        return FlowStatus(STALE, f"no message {since}")
    if max_age_s and flow.median_age_s is not None and abs(flow.median_age_s) > max_age_s:
        if flow.median_age_s < 0:
            return FlowStatus(ERROR, f"stamped {-flow.median_age_s:.3f} s in the future: are the clocks synchronised?")
        return FlowStatus(ERROR, f"{flow.median_age_s:.3f} s old when taken in, more than {max_age_s:g} s")
    if flow.rate_hz < min_rate_hz:
        return FlowStatus(WARN, f"{flow.rate_hz:.1f} Hz, less than {min_rate_hz:g} Hz")
    return FlowStatus(OK, UNHEARD if flow.silent_s is None else f"{flow.rate_hz:.1f} Hz")


class ClockAlarm:
    """The clock status of one node. `report` is called once a second and also checks the wall clock."""

    def __init__(self, threshold_s: float) -> None:
        self._wall = WallClockMonitor(threshold_s)
        self._back_s = self._back_at = 0.0
        self._backs = self._strays = 0
        self._stray_at = 0.0
        self._stray = ""

    def went_back(self, seconds: float) -> None:
        """Note that the stamps went back: a simulation or a replay has restarted."""
        self._backs, self._back_s, self._back_at = self._backs + 1, seconds, time.monotonic()

    def stray(self, what: str) -> None:
        """Note a message that was stamped in the future. what: description of the message."""
        self._strays, self._stray, self._stray_at = self._strays + 1, what, time.monotonic()

    def report(self) -> StatusReport:
        """Return the status: ERROR while stamps are in the future, WARN for minutes after a jump."""
        now, ago_s = time.monotonic(), self._wall.look()
        values = {"wall clock was set [times]": self._wall.jumps, "last step [s]": f"{self._wall.last_s:.3f}",
                  "stamps went back [times]": self._backs, "stamps from the future": self._strays}
        if self._strays and now - self._stray_at < _STRAYS_S:
            return StatusReport(FlowStatus(ERROR, f"{self._stray} is stamped in the future: {STAMPS_AHEAD}"), values)
        if ago_s is not None:
            step = self._wall.last_s
            words = f"the wall clock was set {'back' if step < 0 else 'forward'} by {abs(step):.1f} s {ago_s:.0f} s ago"
            return StatusReport(FlowStatus(WARN, f"{words}: {WALL_CLOCK_SET}"), values)
        if self._backs and now - self._back_at < ALARM_S:
            words = f"stamps went back by {self._back_s:.1f} s: {STAMPS_WENT_BACK}"
            return StatusReport(FlowStatus(WARN, words), values)
        return StatusReport(FlowStatus(OK, "no clock jumped lately"), values)
