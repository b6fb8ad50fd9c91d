"""Detects jumps of clocks and of localisation: time goes back, or the robot is suddenly elsewhere."""

from __future__ import annotations

import math
from typing import NamedTuple

from eqa_nodes.core.types.geometry import Transform, compose, inverse

_ROW_NS = 5_000_000_000  # between two stamps of a row
_SURE = 3  # stamps in a row: fewer may be strays from a queue


class ClockWatch:
    """Distinguishes a clock that was set back from a late message: several stamps in a row continue from the past."""

    def __init__(self, threshold_s: float) -> None:
        """threshold_s: less than this is no jump; 0: nothing is."""
        self._threshold_ns = round(threshold_s * 1e9)
        self._behind: list[int] = []

    def set_back(self, stamp_ns: int, newest_ns: int) -> bool:
        """Take in the stamp of each message; say whether by now the clock was set back for sure.

        newest_ns: the stamp up to which everything has been taken in. One message that comes again and again is one.
        """
        if not self._threshold_ns or newest_ns - stamp_ns < self._threshold_ns:
            if stamp_ns >= newest_ns:
                self._behind.clear()
            return False
        if not self._behind or stamp_ns > self._behind[-1]:
            self._behind.append(stamp_ns)
        elif stamp_ns < self._behind[-1]:
            self._behind = [stamp_ns]
        if len(self._behind) < _SURE:
            return False
        self._behind.clear()
        return True


class FutureWatch:
    """Tells a message that is stamped in the future from a sender whose clock is ahead: that sends several in a row.

    One such message that were believed would make all that is older look late until its time has come.
    """

    def __init__(self, threshold_s: float) -> None:
        """threshold_s: less than this is no stray; 0: nothing is."""
        self._threshold_ns = round(threshold_s * 1e9)
        self._newest_ns = 0  # of what was believed
        self._ahead: list[int] = []

    def stray(self, stamp_ns: int, now_ns: int) -> bool:
        """Take in the stamp of each message of one sender; say whether it is not to be believed, yet.

        now_ns: by the receiver's own clock.
        """
        believable = stamp_ns <= max(now_ns, self._newest_ns) + self._threshold_ns
        if self._threshold_ns and not believable:
            goes_on = self._ahead and 0 <= stamp_ns - self._ahead[-1] <= _ROW_NS
            if goes_on and stamp_ns == self._ahead[-1]:
                return True  # the same one again
            self._ahead = [*self._ahead, stamp_ns] if goes_on else [stamp_ns]
            if len(self._ahead) < _SURE:
                return True
        self._ahead.clear()
        self._newest_ns = stamp_ns
        return False


class Relocation(NamedTuple):
    """How far the robot was moved in the map without driving: metres and radians."""

    metres: float
    radians: float


class PlaceWatch:
    """Detects that the robot was carried away or relocalised: map_from_odom jumps.

    Localisation corrects odometry by little at a time; more than the limits between two looks is no driving.
    """

    def __init__(self, metres: float, radians: float) -> None:
        """0: no limit."""
        self._limits = (metres or math.inf, radians or math.inf)
        self._before: Transform | None = None

    def clear(self) -> None:
        """Forget where odometry lay: an episode begins, or time jumped."""
        self._before = None

    def moved(self, map_from_odom: Transform, map_from_base: Transform) -> Relocation | None:
        """Return the jump of the base since the last call; None when localisation has corrected no more than usual."""
        before, self._before = self._before, map_from_odom
        if before is None or before == map_from_odom:
            return None
        expected = compose(before, compose(inverse(map_from_odom), map_from_base))
        jump = Relocation(math.dist(expected.xyz, map_from_base.xyz), angle_between(expected, map_from_base))
        return jump if jump.metres > self._limits[0] or jump.radians > self._limits[1] else None


def angle_between(a: Transform, b: Transform) -> float:
    """Return the angle of the rotation from one transform to another, radians, 0..pi."""
    return 2 * math.acos(min(1.0, abs(sum(p * q for p, q in zip(a.xyzw, b.xyzw)))))
