"""Which instance each vertex of a reconstruction belongs to: the majority of the pixels that showed its voxel."""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from eqa_nodes.core.types.views import Frame

_HALF = 1 << 15  # cells on each side of the map's origin along an axis: 655 m for cells of 2 cm
_PENDING = 2_000_000  # pairs that wait before they are merged: merging costs as much as everything that is known
_REACH_CELLS = 1.8  # a vertex takes the label of a cell whose middle is at most so far away


class LabelVotes:
    """Counts of the pixels that showed an instance, by cell of the map.

    Memory grows with the surfaces that labelled frames show: 12 bytes for each cell and each instance seen in it.
    """

    def __init__(self, cell_m: float) -> None:
        """cell_m: edge length of a cell, metres."""
        self._cell_m, self.frames = cell_m, 0
        self._keys, self._counts = np.empty(0, np.uint64), np.empty(0, np.uint32)  # sorted by key
        self._new: list[tuple[np.ndarray, np.ndarray]] = []
        self._pending = 0

    def add(self, frame: Frame, depth_m: np.ndarray) -> None:
        """Count the labels of a frame; without labels nothing. depth_m: (H, W) float32, metres, 0 = not to be used."""
        if frame.labels is None:
            return
        self.frames += 1
        rows, columns = np.nonzero(depth_m)
        z, k = depth_m[rows, columns].astype(np.float64), frame.intrinsics
        seen = np.stack([(columns + 0.5 - k.cx) / k.fx * z, (rows + 0.5 - k.cy) / k.fy * z, z], axis=1)
        pose = frame.map_from_camera()
        keys, inside = self._keys_of(seen @ pose[:3, :3].T + pose[:3, 3], frame.labels[rows, columns])
        self._new.append(_counted(keys[inside], np.ones(int(inside.sum()), np.uint32)))
        self._pending += len(self._new[-1][0])
        if self._pending > max(_PENDING, len(self._keys)):
            self._merge()

    def of(self, points: np.ndarray) -> np.ndarray | None:
        """Return the instance (n,) uint16 of points (n, 3) metres, map frame; None where no frame had labels."""
        if not self.frames:
            return None
        self._merge()
        if not len(self._keys):
            return np.zeros(len(points), np.uint16)
        cells, labels = self._winners()
        away, nearest = cKDTree(cells).query(points, distance_upper_bound=_REACH_CELLS * self._cell_m)
        return np.where(np.isfinite(away), labels[np.minimum(nearest, len(labels) - 1)], 0).astype(np.uint16)

    def _keys_of(self, points: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return cell and label of each point as one number (n,) uint64, and which points (n,) bool have one."""
        cell = np.floor(points / self._cell_m).astype(np.int64) + _HALF
        inside: np.ndarray = np.all((cell >= 0) & (cell < 2 * _HALF), axis=1)
        x, y, z = cell.astype(np.uint64).T
        keys: np.ndarray = (x << 48) | (y << 32) | (z << 16) | labels.astype(np.uint64)
        return keys, inside

    def _merge(self) -> None:
        if self._new:
            keys, counts = zip((self._keys, self._counts), *self._new, strict=True)
            self._keys, self._counts = _counted(np.concatenate(keys), np.concatenate(counts))
            self._new, self._pending = [], 0

    def _winners(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the middles of all cells (n, 3) metres, and of each the instance (n,) uint16 that was seen most."""
        cell = self._keys >> np.uint64(16)
        best = np.lexsort((self._counts, cell))
        last = np.append(cell[best][1:] != cell[best][:-1], True)
        keys = self._keys[best[last]]
        axes = [((keys >> np.uint64(shift)) & np.uint64(0xFFFF)).astype(np.float64) for shift in (48, 32, 16)]
        middles = (np.stack(axes, axis=1) - _HALF + 0.5) * self._cell_m
        return middles, (keys & np.uint64(0xFFFF)).astype(np.uint16)


def _counted(keys: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return each key once, in order, with the sum of its counts."""
    order = np.argsort(keys, kind="stable")
    keys, counts = keys[order], counts[order]
    first = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])) if len(keys) else np.empty(0, np.intp)
    return keys[first], np.add.reduceat(counts, first).astype(np.uint32) if len(first) else counts
