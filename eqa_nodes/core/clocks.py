"""The clock that nothing sets, and how a wall clock that is set is noticed."""

from __future__ import annotations

import time
from collections.abc import Callable

ALARM_S = 300.0  # that a jump is told after it
_BOOT = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)  # goes on while the machine sleeps


def boot_ns() -> int:
    """Return the time since this machine was started, ns: equal for all its processes, and never set."""
    return time.clock_gettime_ns(_BOOT)


class WallClockMonitor:
    """Notices that the wall clock was set: it went otherwise than the time since the machine was started."""

    def __init__(self, threshold_s: float, wall: Callable[[], int] = lambda: time.time_ns(),
                 boot: Callable[[], int] = boot_ns) -> None:
        """threshold_s: less than this is no jump, since a clock that is slewed differs by milliseconds; 0 = none is."""
        self.jumps, self.last_s = 0, 0.0
        self._threshold_ns, self._wall, self._boot = round(threshold_s * 1e9), wall, boot
        self._ahead_ns, self._jumped_ns = wall() - boot(), 0

    def look(self) -> float | None:
        """Look at both clocks; return how many seconds ago the last jump was noticed, None where that is long past.

        last_s: by how much the clock was set, less than 0 = back.
        """
        boot_now = self._boot()
        ahead_ns = self._wall() - boot_now
        if self._threshold_ns and abs(ahead_ns - self._ahead_ns) >= self._threshold_ns:
            self.jumps, self.last_s, self._jumped_ns = self.jumps + 1, (ahead_ns - self._ahead_ns) / 1e9, boot_now
        self._ahead_ns = ahead_ns
        ago_s = (boot_now - self._jumped_ns) / 1e9
        return ago_s if self.jumps and ago_s < ALARM_S else None
