"""Detects jumps of clocks and of localisation: time goes back, or the robot's pose jumps."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.types.geometry import Transform, compose, inverse

_ROW_NS = 5_000_000_000  # maximum interval between two stamps in a row
_SURE = 3  # stamps in a row that prove a jump: fewer may be strays from a queue
_PAUSE_S, _PAUSE_PERIODS = 10.0, 5.0  # an interval above both is not message loss but a pause or a clock that was set
_BACK_S = 1.0  # a smaller step back is a late message


class ClockJumpDetector:
    """Distinguishes a clock that was set back from a late message: several stamps in a row continue in the past."""

    def __init__(self, threshold_s: float) -> None:
        """threshold_s: a smaller step back is not a jump; 0 disables the check."""
        self._threshold_ns = round(threshold_s * 1e9)
        self._behind: list[int] = []

    def set_back(self, stamp_ns: int, newest_ns: int) -> bool:
        """Add the stamp of a message; return whether it is now certain that the clock was set back.

        newest_ns: newest stamp accepted so far. Repeated messages with the same stamp count once.
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


class FutureStampFilter:
    """Distinguishes a single message stamped in the future from a sender whose clock is ahead (several in a row).

    If such a message were accepted, all older messages would look late until that time is reached.
    """

    def __init__(self, threshold_s: float) -> None:
        """threshold_s: a smaller lead is accepted; 0 disables the check."""
        self._threshold_ns = round(threshold_s * 1e9)
        self._newest_ns = 0  # newest accepted stamp
        self._ahead: list[int] = []

    def stray(self, stamp_ns: int, now_ns: int) -> bool:
        """Add the stamp of a message of one sender; return whether the message must be dropped as a stray.

        now_ns: time of the receiver's own clock.
        """
        believable = stamp_ns <= max(now_ns, self._newest_ns) + self._threshold_ns
        if self._threshold_ns and not believable:
            goes_on = self._ahead and 0 <= stamp_ns - self._ahead[-1] <= _ROW_NS
            if goes_on and stamp_ns == self._ahead[-1]:
                return True  # a repeated message
            self._ahead = [*self._ahead, stamp_ns] if goes_on else [stamp_ns]
            if len(self._ahead) < _SURE:
                return True
        self._ahead.clear()
        self._newest_ns = stamp_ns
        return False


class Rhythm(NamedTuple):
    """Timing of the frames of a recording.

    period_s: median interval, 0 for a single frame; seconds: duration; longest_s: longest interval; missing: number of
    further frames that would fit into the intervals. breaks_s: pauses and jumps of the clock, negative if it was set
    back; all other figures exclude them, as if the next frame had arrived in time.
    """

    period_s: float
    seconds: float
    longest_s: float
    missing: int
    breaks_s: tuple[float, ...]

    def __str__(self) -> str:
        """Return the breaks in words; "" if there are none."""
        ahead, back = [b for b in self.breaks_s if b > 0], [-b for b in self.breaks_s if b < 0]
        many = f"{len(ahead)} pauses or jumps of the clock, the longest of" if len(ahead) > 1 else (
            "one pause or jump of the clock, of")
        times = f" {len(back)} times, by at most" if len(back) > 1 else " by"
        return ", ".join([*([f"{many} {max(ahead):.1f} s"] if ahead else []),
                          *([f"a clock that was set back{times} {max(back):.1f} s"] if back else [])])


def rhythm_of(stamps_ns: Iterable[int]) -> Rhythm:
    """Measure stamps in the order in which they were recorded. Late messages are sorted in."""
    lines = [np.unique(np.array(line, np.int64)) for line in _time_lines(stamps_ns)]
    steps = np.concatenate([np.diff(line) for line in lines]) / 1e9
    period_s = float(np.median(steps)) if len(steps) else 0.0
    paused = steps > max(_PAUSE_S, _PAUSE_PERIODS * period_s)
    back = [float(after[0] - before[-1]) / 1e9 for before, after in pairwise(lines)]
    breaks, usual = (*map(float, steps[paused]), *back), steps[~paused]
    missing = int((np.rint(usual / period_s) - 1).clip(0).sum()) if period_s else 0
    return Rhythm(period_s, float(usual.sum()) + period_s * len(breaks), float(usual.max(initial=0.0)), missing, breaks)


class SteadyClock:
    """Counts the time of successive frames, without pauses and jumps of their clock."""

    def __init__(self) -> None:
        self._last_ns: int | None = None
        self._step_ns = self._at_ns = 0

    def at(self, stamp_ns: int) -> int:
        """Return the time of the next frame since the first one, ns; a break counts as the last regular interval."""
        step_ns = 0 if self._last_ns is None else stamp_ns - self._last_ns
        usual = 0 <= step_ns <= max(_PAUSE_S * 1e9, _PAUSE_PERIODS * self._step_ns) or not self._step_ns
        if usual and step_ns > 0:
            self._step_ns = step_ns
        self._last_ns, self._at_ns = stamp_ns, self._at_ns + (max(step_ns, 0) if usual else self._step_ns)
        return self._at_ns


def _time_lines(stamps_ns: Iterable[int]) -> list[list[int]]:
    """Return the stamps split into lists where the clock was set back."""
    watch, lines, newest_ns = ClockJumpDetector(_BACK_S), [list[int]()], 0
    for stamp in stamps_ns:
        lines[-1].append(stamp)
        if watch.set_back(stamp, newest_ns):
            lines[-1], after = lines[-1][:-_SURE], lines[-1][-_SURE:]
            lines, newest_ns = [*lines, after], stamp
        newest_ns = max(newest_ns, stamp)
    return lines


class Relocation(NamedTuple):
    """A jump of the robot's pose in the map without driving: metres and radians."""

    metres: float
    radians: float


class RelocalisationDetector:
    """Detects that the robot was carried or relocalised: map_from_odom jumps.

    Localisation corrects odometry in small steps; a change above the limits between two calls is a relocalisation.
    """

    def __init__(self, metres: float, radians: float) -> None:
        """metres, radians: limits of a correction; 0 = no limit."""
        self._limits = (metres or math.inf, radians or math.inf)
        self._before: Transform | None = None

    def clear(self) -> None:
        """Forget the last map_from_odom: an episode begins, or time jumped."""
        self._before = None

    def moved(self, map_from_odom: Transform, map_from_base: Transform) -> Relocation | None:
        """Return the jump of the base since the last call; None if the correction was within the limits."""
        before, self._before = self._before, map_from_odom
        if before is None or before == map_from_odom:
            return None
        expected = compose(before, compose(inverse(map_from_odom), map_from_base))
        jump = Relocation(math.dist(expected.xyz, map_from_base.xyz), angle_between(expected, map_from_base))
        return jump if jump.metres > self._limits[0] or jump.radians > self._limits[1] else None


def angle_between(a: Transform, b: Transform) -> float:
    """Return the angle of the rotation between two transforms, radians, 0..pi."""
    return 2 * math.acos(min(1.0, abs(sum(p * q for p, q in zip(a.xyzw, b.xyzw)))))
