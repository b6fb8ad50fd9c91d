"""Whether a robot gets past people: nobody sits or stands about where they would shut a part of the house off."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import ndimage

from sim_bridge.house.physics import FreeSpace

BESIDE_M = 0.1  # that a robot keeps from people and furniture when it passes
_REST = 0.97  # share of the floor that stays in one piece; the rest are corners behind somebody


class Passing:
    """The floor on which a robot of one radius gets about."""

    def __init__(self, space: FreeSpace, robot_radius_m: float) -> None:
        self._radius_m = robot_radius_m + BESIDE_M
        self._free, self._at = space.nodes(self._radius_m)
        pieces, count = ndimage.label(self._free, np.ones((3, 3)))
        sizes = np.bincount(pieces[self._free], minlength=count + 1)
        self._floor = self._free & (pieces == int(np.argmax(sizes)))

    def left_by(self, discs: Sequence[tuple[float, float, float]]) -> bool:
        """Return whether discs (x, y, radius in metres) leave the floor in one piece."""
        clear = np.ones(len(self._at), bool)
        for x, y, reach in discs:
            clear &= np.hypot(self._at[:, 0] - x, self._at[:, 1] - y) >= reach + self._radius_m
        left = self._floor.copy()
        left[self._free] &= clear
        pieces, count = ndimage.label(left, np.ones((3, 3)))
        return count == 0 or bool(np.bincount(pieces[left]).max() >= _REST * left.sum())
