"""Points on all surfaces of a reconstruction, updated by changes only."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from eqa_nodes.core.reconstruction.blocks import BLOCK, Blocks, keys_of
from eqa_nodes.core.types.views import Cloud

_ON_VOXEL = 1e-3  # share of a voxel within which a coordinate is rounded to the voxel
_COARSER = 1.2


class ChangedBlocks(NamedTuple):
    """A copy of the changes since the last one. owners: sorted keys of the blocks whose points are new.

    blocks: those and the neighbours that their points depend on; weight: minimum weight of a surface.
    """

    owners: np.ndarray
    blocks: Blocks
    weight: float


class LivePoints:
    """Points on all surfaces, updated by changes. The same changes give the same points in the same order."""

    def __init__(self, voxel_m: float) -> None:
        self._voxel_m = voxel_m
        self._owners = np.empty(0, np.int64)
        self._all = Cloud(np.empty((0, 3), np.float32), np.empty((0, 3), np.uint8))

    def update(self, changed: ChangedBlocks) -> None:
        """Replace the points of the changed blocks. It takes about a second for a hundred thousand points."""
        found, owners = _own_cloud(changed.blocks, changed.owners, changed.weight)
        kept = ~np.isin(self._owners, changed.owners)
        self._owners = np.concatenate([self._owners[kept], owners])
        self._all = Cloud(np.concatenate([self._all.points[kept], found.points]),
                          np.concatenate([self._all.colours[kept], found.colours]))

    def cloud(self, most: int) -> Cloud:
        """Return at most `most` points: one per cell of a grid, with cells enlarged as needed."""
        points, cell_m = self._all.points, self._voxel_m * max(1.0, np.sqrt(len(self._all.points) / most))
        chosen = np.arange(len(points))
        while len(chosen) > most:
            cells = keys_of(np.floor(points / cell_m).astype(np.int64))
            chosen = np.sort(np.unique(cells, return_index=True)[1])
            cell_m *= _COARSER
        return Cloud(points[chosen], self._all.colours[chosen])


def _own_cloud(part: Blocks, own: np.ndarray, weight: float) -> tuple[Cloud, np.ndarray]:
    """Return the points of a part in the blocks of the keys `own`, and the keys of their blocks, sorted by both."""
    found = part.cloud(weight)
    owners = keys_of(_places(found.points, part.voxel_m))
    order = np.lexsort((*found.points.T, owners))  # Open3D's order differs from run to run
    order = order[np.isin(owners[order], own)]
    return Cloud(found.points[order], found.colours[order]), owners[order]


def _places(points: np.ndarray, voxel_m: float) -> np.ndarray:
    """Return the places of the blocks of points (n, 3). A point lies on an edge between two voxels."""
    at = points.astype(np.float64) / voxel_m
    nearest = np.rint(at)
    voxel = np.where(np.abs(at - nearest) < _ON_VOXEL, nearest, np.floor(at))
    places: np.ndarray = np.floor_divide(voxel, BLOCK).astype(np.int64)
    return places
