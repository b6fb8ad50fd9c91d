"""The walls around a robot from its depth images, and the parts of the floor that they separate."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.perception.instances import points_of
from eqa_nodes.core.perception.projection import surface_of
from eqa_nodes.core.perception.room_parts import parts_of
from eqa_nodes.core.types.geometry import Transform
from eqa_nodes.core.types.views import Frame, Keyframe

_CELL_M = 0.1
_TILE = 64  # cells
_COLUMNS = 80  # of a frame that are used, and as many rows in proportion
_FAR_M = 6.0
_TALL_M, _LINTEL_M = 1.3, 2.0  # what is between these heights is a wall: tables are lower, lintels higher
_SURE = 2  # points in a cell that make it a wall
_MOST = 255  # points of a cell that are counted
_STOREY_M = 2.0
_HALF = 80  # cells around the robot in each direction that are divided into parts
_UNDER_IT = np.mgrid[-2:3, -2:3].reshape(2, -1)  # cells around the robot that are floor, (2, 25)
_NEAREST = (0, 1, 2, 3, 5)  # cells around a place within which its part is looked for


class FloorParts(NamedTuple):
    """Numbered parts of the floor. numbers: (x, y) int32, 0 = none; first: cell of the map at numbers[0, 0]."""

    numbers: np.ndarray
    first: tuple[int, int]

    def at(self, x: float, y: float) -> int:
        """Return the part at a place in the map, or that of most cells near it; 0 = none."""
        i, j = _cell(x) - self.first[0], _cell(y) - self.first[1]
        far = max(-i, -j, i - self.numbers.shape[0], j - self.numbers.shape[1])
        for reach in _NEAREST if far < _NEAREST[-1] else ():
            near = self.numbers[max(0, i - reach):max(0, i + reach + 1), max(0, j - reach):max(0, j + reach + 1)]
            if (near > 0).any():
                return int(np.bincount(near[near > 0]).argmax())
        return 0


    def area_m2(self, x: float, y: float) -> float:
        """Return the floor of the part at a place as far as it was seen, with what furniture covers, square metres."""
        part = self.at(x, y)
        return float(np.count_nonzero(self.numbers == part)) * _CELL_M ** 2 if part else 0.0


class WallMap:
    """Counts points by cell of the floor, all and those as high as only walls are. Storeys are kept apart.

    The counts are in tiles, so that a wrong pose costs one tile, and a frame costs the same in a house of any size.
    """

    def __init__(self) -> None:
        self._tiles: dict[tuple[int, int, int], np.ndarray] = {}  # (2, _TILE, _TILE): all points, tall ones

    def reset(self) -> None:
        """Forget all walls."""
        self._tiles.clear()

    def add(self, frame: Frame, moving: np.ndarray) -> None:
        """Count the points of a frame. moving: (H, W) bool, pixels of people, who are not walls."""
        height, width = frame.depth_m.shape
        stride = max(1, width // _COLUMNS)
        v, u = (axis.ravel() for axis in np.mgrid[0:height:stride, 0:width:stride])
        still = ~moving[v, u]
        depth_m, (x, y, z) = points_of(frame, v[still], u[still])
        self._add(x, y, z, depth_m, frame.map_from_base)

    def add_view(self, view: Keyframe) -> None:
        """Count the points of a stored view; none without depth. Raises BadFrame for a broken depth image."""
        points, depth_m = surface_of(view)
        self._add(points[:, 0], points[:, 1], points[:, 2], depth_m, view.map_from_base)

    def _add(self, x: np.ndarray, y: np.ndarray, z: np.ndarray, depth_m: np.ndarray, map_from_base: Transform) -> None:
        bx, by, floor_m = map_from_base.xyz
        up_m = z - floor_m
        good = (depth_m > 0) & (depth_m < _FAR_M) & (up_m < _LINTEL_M)
        cells = np.floor(np.stack([x[good], y[good]]) / _CELL_M).astype(np.int64)
        stood = _UNDER_IT + np.array([[_cell(bx)], [_cell(by)]])
        self._count(0, np.concatenate([cells, stood], axis=1), _storey(floor_m))
        self._count(1, cells[:, up_m[good] > _TALL_M], _storey(floor_m))

    def _count(self, layer: int, cells: np.ndarray, storey: int) -> None:
        if not cells.size:
            return
        tiles, inside = np.divmod(cells, _TILE)
        for tx, ty in sorted(set(zip(*tiles.tolist(), strict=True))):
            there = (tiles[0] == tx) & (tiles[1] == ty)
            tile = self._tiles.setdefault((storey, tx, ty), np.zeros((2, _TILE, _TILE), np.uint8))
            new = np.bincount(inside[0, there] * _TILE + inside[1, there], minlength=_TILE * _TILE)
            tile[layer] = np.minimum(tile[layer] + new.reshape(_TILE, _TILE), _MOST)

    def parts(self, x: float, y: float, floor_m: float) -> FloorParts:
        """Return the parts of the floor within _HALF cells of a place."""
        from scipy import ndimage

        first = _cell(x) - _HALF, _cell(y) - _HALF
        counts = np.zeros((2, 2 * _HALF, 2 * _HALF), np.uint8)
        (ti, tj), (ui, uj) = ([v // _TILE for v in corner] for corner in (first, [v + 2 * _HALF for v in first]))
        for tx in range(ti, ui + 1):
            for ty in range(tj, uj + 1):
                tile = self._tiles.get((_storey(floor_m), tx, ty))
                if tile is not None:
                    i, j = tx * _TILE - first[0], ty * _TILE - first[1]
                    counts[:, max(0, i):i + _TILE, max(0, j):j + _TILE] = tile[
                        :, max(0, -i):2 * _HALF - i, max(0, -j):2 * _HALF - j]
        floor = ndimage.binary_closing(counts[0] > 0, iterations=2) & (counts[1] < _SURE)
        clear_m = ndimage.distance_transform_edt(np.pad(floor, 1))[1:-1, 1:-1] * _CELL_M
        return FloorParts(parts_of(clear_m, _CELL_M), first)


def _cell(metres: float) -> int:
    return math.floor(metres / _CELL_M)


def _storey(floor_m: float) -> int:
    return math.floor(floor_m / _STOREY_M + 0.5)
