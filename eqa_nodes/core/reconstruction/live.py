"""The points of a reconstruction while it grows: only what has changed is computed anew, apart from the map itself."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from eqa_nodes.core.reconstruction.blocks import Blocks, keys_of
from eqa_nodes.core.reconstruction.tiles import own_cloud
from eqa_nodes.core.types.surfaces import Cloud

_COARSER = 1.2


class ChangedBlocks(NamedTuple):
    """A copy of what has changed since the last one. owners: sorted keys of the blocks whose points are new.

    blocks: those, and the next ones that their points need; weight: a surface's minimum.
    """

    owners: np.ndarray
    blocks: Blocks
    weight: float


class LivePoints:
    """Points on all surfaces, kept up to date by what has changed. The same changes give the same points and order."""

    def __init__(self, voxel_m: float) -> None:
        self._voxel_m = voxel_m
        self._owners = np.empty(0, np.int64)
        self._all = Cloud(np.empty((0, 3), np.float32), np.empty((0, 3), np.uint8))

    def update(self, changed: ChangedBlocks) -> None:
        """Replace the points of the changed blocks. It takes about a second for a hundred thousand points."""
        found, owners = own_cloud(changed.blocks, changed.owners, changed.weight)
        kept = ~np.isin(self._owners, changed.owners)
        self._owners = np.concatenate([self._owners[kept], owners])
        self._all = Cloud(np.concatenate([self._all.points[kept], found.points]),
                          np.concatenate([self._all.colours[kept], found.colours]))

    def cloud(self, most: int) -> Cloud:
        """Return at most so many points: one for each cell of a lattice that is as fine as that allows."""
        points, cell_m = self._all.points, self._voxel_m * max(1.0, np.sqrt(len(self._all.points) / most))
        chosen = np.arange(len(points))
        while len(chosen) > most:
            cells = keys_of(np.floor(points / cell_m).astype(np.int64))
            chosen = np.sort(np.unique(cells, return_index=True)[1])
            cell_m *= _COARSER
        return Cloud(points[chosen], self._all.colours[chosen])
