"""The extent of a navigation mesh that Habitat wrote, read from the headers of its file, without Habitat."""

from __future__ import annotations

import math
import struct
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

_SET, _TILE = 0x4D534554, 0x444E4156  # "MSET", the file; "DNAV", a tile of Recast
_HEADER = struct.Struct("<3i 5f 2i")  # magic, version, tiles; origin, size of a tile, most tiles and polygons
_SETTINGS_BYTES = 56  # of version 2, behind the header
_OF_TILE = struct.Struct("<Ii")  # reference, bytes
_IN_TILE = struct.Struct("<i 68x 6f")  # magic; then, behind counts and the robot's size, the box: least, greatest
_MOST_TILES = 1 << 16


class NavmeshBox(NamedTuple):
    """Bounding box of a navigation mesh in metres, Habitat's axes (y up)."""

    low: tuple[float, float, float]
    high: tuple[float, float, float]

    @property
    def plan_m2(self) -> float:
        """Return the area of the box in the plan, which HM-EQA calls the size of a scene."""
        return (self.high[0] - self.low[0]) * (self.high[2] - self.low[2])


def read_box(path: Path) -> NavmeshBox:
    """Return the box around all tiles, as Habitat's PathFinder.get_bounds does.

    Raises OSError for a file that cannot be read, ValueError for one that is no navigation mesh of version 1 or 2.
    """
    with path.open("rb") as file:
        magic, version, tiles, *_ = _HEADER.unpack(_read(file, _HEADER.size, path))
        if magic != _SET or version not in (1, 2) or not 0 < tiles <= _MOST_TILES:
            raise ValueError(f"{path} is no navigation mesh that Habitat wrote (version 1 or 2)")
        if version == 2:
            _read(file, _SETTINGS_BYTES, path)
        boxes = [_box(file, path) for _ in range(tiles)]
    corners = np.array(boxes, np.float64)
    low, high = corners[:, 0].min(axis=0).tolist(), corners[:, 1].max(axis=0).tolist()
    found = NavmeshBox((low[0], low[1], low[2]), (high[0], high[1], high[2]))
    if not all(math.isfinite(a) and math.isfinite(b) and a <= b for a, b in zip(found.low, found.high, strict=True)):
        raise ValueError(f"{path} has the box {found}, which is none")
    return found


def _box(file: BinaryIO, path: Path) -> tuple[tuple[float, ...], tuple[float, ...]]:
    _, size = _OF_TILE.unpack(_read(file, _OF_TILE.size, path))
    magic, *box = _IN_TILE.unpack(_read(file, _IN_TILE.size, path))
    if magic != _TILE or size < _IN_TILE.size:
        raise ValueError(f"{path} has a tile that is none")
    file.seek(size - _IN_TILE.size, 1)
    return tuple(box[:3]), tuple(box[3:])


def _read(file: BinaryIO, size: int, path: Path) -> bytes:
    data = file.read(size)
    if len(data) != size:
        raise ValueError(f"{path} ends too early")
    return data
