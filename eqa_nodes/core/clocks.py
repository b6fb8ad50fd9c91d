"""The time since boot, and detection of jumps of the wall clock."""

from __future__ import annotations

import time
from collections.abc import Callable

ALARM_S = 300.0  # time for which a jump is reported
_BOOT = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)  # also runs while the machine sleeps


def boot_ns() -> int:
    """Return the time since this machine was started, ns: equal for all its processes, and never adjusted."""
    return time.clock_gettime_ns(_BOOT)


class WallClockMonitor:
    """Detects that the wall clock was set, by comparing it with the time since boot."""

    def __init__(self, threshold_s: float, wall: Callable[[], int] = lambda: time.time_ns(),
                 boot: Callable[[], int] = boot_ns) -> None:
        """threshold_s: smallest difference that counts as a jump (slewing differs by milliseconds); 0 = never."""
        self.jumps, self.last_s = 0, 0.0
        self._threshold_ns, self._wall, self._boot = round(threshold_s * 1e9), wall, boot
        self._ahead_ns, self._jumped_ns = wall() - boot(), 0

    def look(self) -> float | None:
        """Compare both clocks; return the seconds since the last jump was detected, None without a recent jump.

        Sets last_s to the size of the jump in seconds, negative if the clock was set back.
        """
        boot_now = self._boot()
        ahead_ns = self._wall() - boot_now
        if self._threshold_ns and abs(ahead_ns - self._ahead_ns) >= self._threshold_ns:
            self.jumps, self.last_s, self._jumped_ns = self.jumps + 1, (ahead_ns - self._ahead_ns) / 1e9, boot_now
        self._ahead_ns = ahead_ns
        ago_s = (boot_now - self._jumped_ns) / 1e9
        return ago_s if self.jumps and ago_s < ALARM_S else None
