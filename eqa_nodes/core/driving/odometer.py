"""Measures the driven distance from the poses of the odometry."""

from __future__ import annotations

import math
from collections.abc import Sequence

from eqa_nodes.core.errors import BadFrame

_FASTEST_M_S = 3.0  # no robot that answers questions indoors drives faster


class Odometer:
    """Sums the driven distance. Positions that are not finite are ignored.

    jump_m: a step longer than this, and than the robot could have driven meanwhile, was not driven.
    """

    def __init__(self, jump_m: float = math.inf) -> None:
        self._jump_m = jump_m
        self._before: tuple[float, ...] = ()
        self.metres, self.newest_ns = 0.0, 0

    def take(self, stamp_ns: int, at: Sequence[float]) -> None:
        """Add a position (x, y, z), metres. Raises BadFrame for one that is ignored.

        A message that was published again, or is late, changes nothing.
        """
        if not all(map(math.isfinite, at)):
            raise BadFrame("odometry without a place: its position is not finite")
        if stamp_ns <= self.newest_ns:
            return
        before, seconds = self._before or tuple(at), (stamp_ns - self.newest_ns) / 1e9
        self._before, self.newest_ns = tuple(at), stamp_ns
        step = math.dist(before, at)
        if step > self._jump_m + _FASTEST_M_S * seconds:
            raise BadFrame(f"odometry jumped by {step:.1f} m, which was not driven")
        self.metres += step

    def begin(self) -> None:
        """Count from here."""
        self.metres, self._before = 0.0, ()

    def set_back(self) -> None:
        """Go on from an earlier stamp."""
        self._before, self.newest_ns = (), 0
