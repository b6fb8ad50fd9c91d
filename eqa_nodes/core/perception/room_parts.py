"""The rooms of a floor by its shape: parts that narrow places, such as doorways, separate."""

from __future__ import annotations

import math

import numpy as np

_DOOR = 0.8  # a place is narrow if its clearance is a smaller share of that in the middle of each side
_NOOK_M = 0.3  # a part that nowhere has more clearance belongs to the part beside it


def parts_of(clearance_m: np.ndarray, cell_m: float) -> np.ndarray:
    """Return (rows, columns) int32: the number of the part that each cell belongs to; 0 = no floor.

    clearance_m: (rows, columns), distance to the nearest wall or unseen cell in metres, 0 outside the floor.

    The parts are the basins of the clearance (a watershed): floor is added from the widest places to the narrowest, and
    where two parts meet they become one, unless the clearance there is below _DOOR times that in the middle of the
    narrower part. The widths of both count, so that a hallway no wider than a doorway is a part of its own.
    """
    from scipy import ndimage

    parts, floods = np.zeros(clearance_m.shape, np.int32), _Floods()
    for level in range(math.floor(clearance_m.max(initial=0.0) / cell_m), 0, -1):
        floor = clearance_m >= level * cell_m - 1e-9
        for _ in range(2):
            parts = np.where(floor & (parts == 0), _largest_around(parts), parts)
        new, count = ndimage.label(floor & (parts == 0))
        parts = np.where(new > 0, new + floods.begin(count, level * cell_m), parts)
        for a, b in ((parts[1:], parts[:-1]), (parts[:, 1:], parts[:, :-1])):
            meet = (a != b) & (a > 0) & (b > 0)
            for one, other in sorted(set(zip(a[meet].tolist(), b[meet].tolist(), strict=True))):
                floods.meet(one, other, level * cell_m)
    return floods.roots()[parts]


def _largest_around(parts: np.ndarray) -> np.ndarray:
    """Return the largest number within one cell of each, (rows, columns) int32."""
    found = parts.copy()
    np.maximum(found[1:], parts[:-1], out=found[1:])
    np.maximum(found[:-1], parts[1:], out=found[:-1])
    wide = found.copy()
    np.maximum(wide[:, 1:], found[:, :-1], out=wide[:, 1:])
    np.maximum(wide[:, :-1], found[:, 1:], out=wide[:, :-1])
    return wide


class _Floods:
    """Which parts have become one. Parts are numbered from 1; `_into` leads from each to the one it joined."""

    def __init__(self) -> None:
        self._into, self._middle_m = [0], [0.0]
        self._apart: set[tuple[int, int]] = set()

    def begin(self, count: int, clearance_m: float) -> int:
        """Begin `count` parts and return the number before the first one."""
        before = len(self._into) - 1
        self._into += range(before + 1, before + 1 + count)
        self._middle_m += [clearance_m] * count
        return before

    def meet(self, one: int, other: int, clearance_m: float) -> None:
        """Join two parts that first meet at this clearance, or keep them apart."""
        pair = self._root(one), self._root(other)
        narrower, wider = sorted(pair, key=lambda part: (self._middle_m[part], -part))
        if narrower == wider or (narrower, wider) in self._apart:
            return
        middle_m = self._middle_m[narrower]
        if clearance_m >= _DOOR * middle_m or middle_m < _NOOK_M:
            self._into[narrower] = wider
        else:
            self._apart.add((narrower, wider))

    def roots(self) -> np.ndarray:
        """Return the final part of each number, int32."""
        return np.array([self._root(part) for part in range(len(self._into))], np.int32)

    def _root(self, part: int) -> int:
        while self._into[part] != part:
            part = self._into[part]
        return part
