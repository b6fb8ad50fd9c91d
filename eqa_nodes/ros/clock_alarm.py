"""Tells on /diagnostics that a clock jumped: that of the machine, a simulated one, or that of a sender of stamps."""

from __future__ import annotations

import time

from eqa_nodes.core.clocks import ALARM_S, WallClockMonitor
from eqa_nodes.ros.rates import ERROR, OK, WARN, FlowStatus, StatusReport

SET = ("let chrony step the clock at boot only and slew it later (makestep 1 3), and start the robot with a clock that "
       "is right")
BACK = "begin a new episode when a simulation or a recording starts again"
AHEAD = "synchronise the clocks of sensor and computer (chrony, ptp4l)"
_STRAYS_S = 10.0  # that a stamp from the future is told after it


class ClockAlarm:
    """The clocks of one node. `report` is read once a second and looks at the wall clock itself."""

    def __init__(self, threshold_s: float) -> None:
        self._wall = WallClockMonitor(threshold_s)
        self._back_s = self._back_at = 0.0
        self._backs = self._strays = 0
        self._stray_at = 0.0
        self._stray = ""

    def went_back(self, seconds: float) -> None:
        """The clock of the stamps went back: a simulation or a replay began again."""
        self._backs, self._back_s, self._back_at = self._backs + 1, seconds, time.monotonic()

    def stray(self, what: str) -> None:
        """A message was stamped in the future."""
        self._strays, self._stray, self._stray_at = self._strays + 1, what, time.monotonic()

    def report(self) -> StatusReport:
        """Return the status: ERROR while stamps are ahead, WARN for minutes after a jump."""
        now, ago_s = time.monotonic(), self._wall.look()
        values = {"wall clock was set [times]": self._wall.jumps, "last step [s]": f"{self._wall.last_s:.3f}",
                  "stamps went back [times]": self._backs, "stamps from the future": self._strays}
        if self._strays and now - self._stray_at < _STRAYS_S:
            return StatusReport(FlowStatus(ERROR, f"{self._stray} is stamped in the future: {AHEAD}"), values)
        if ago_s is not None:
            step = self._wall.last_s
            words = f"the wall clock was set {'back' if step < 0 else 'forward'} by {abs(step):.1f} s {ago_s:.0f} s ago"
            return StatusReport(FlowStatus(WARN, f"{words}: {SET}"), values)
        if self._backs and now - self._back_at < ALARM_S:
            return StatusReport(FlowStatus(WARN, f"stamps went back by {self._back_s:.1f} s: {BACK}"), values)
        return StatusReport(FlowStatus(OK, "no clock jumped lately"), values)
