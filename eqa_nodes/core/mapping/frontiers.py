"""Frontiers: the borders between explored free floor and unexplored space."""

from __future__ import annotations

import math

import numpy as np
from scipy import ndimage

from eqa_nodes.core.types.floor import Frontier, GridMap

SPACING_M = 1.5
MIN_LENGTH_M = 0.2
MIN_AREA_M2 = 0.5
_AROUND = np.ones((3, 3), bool)
_NEIGHBOURS = [(dy, dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if dy or dx]


def find_frontiers(grid: GridMap, spacing_m: float = SPACING_M, min_length_m: float = MIN_LENGTH_M,
                   min_area_m2: float = MIN_AREA_M2) -> list[Frontier]:
    """Return the frontiers, about one per `spacing_m` of border, ordered by their first cell (row, column).

    A frontier cell is free, explored, and has at least 3 of its 8 neighbours unexplored and not occupied: a straight
    border gives exactly 3, so single unseen cells behind a chair leg do not count. explore-eqa requires 3 or 4; this
    function also accepts more, because the tip of an explored tongue is a border too. Borders shorter than
    `min_length_m` (not counting the two end cells) are slits that no robot can look into, and unexplored patches
    smaller than `min_area_m2` are shadows of furniture. Both are ignored, so that exploration terminates.
    """
    open_cells = _patches(~grid.explored & (grid.cells != 100), min_area_m2 / grid.resolution_m ** 2)
    count, pull_x, pull_y = _pull(open_cells)
    border = grid.explored & (grid.cells == 0) & (count >= 3)
    occupied = grid.cells == 100
    roomy = ~_grown(occupied)
    # Cells up to 3 apart form one border, so an isolated seen cell does not split it. A wall between them does.
    groups, n_groups = ndimage.label(_grown(border) & ~occupied, _AROUND)
    frontiers: list[Frontier] = []
    for box, group in zip(ndimage.find_objects(groups, n_groups), range(1, n_groups + 1), strict=True):
        iy, ix = np.nonzero(border[box] & (groups[box] == group))
        iy, ix = iy + box[0].start, ix + box[1].start
        for part in _spread(iy, ix, spacing_m / grid.resolution_m):
            if len(part) * grid.resolution_m >= min_length_m - 1e-9:
                frontiers.append(_frontier(grid, iy[part], ix[part], roomy, pull_x, pull_y))
    return frontiers


def _patches(mask: np.ndarray, min_cells: float) -> np.ndarray:
    """Return the mask without 4-connected patches of fewer than `min_cells`; patches at the rim of the map remain."""
    patches, n_patches = ndimage.label(np.pad(mask, 1, constant_values=True))
    large = np.bincount(patches.ravel(), minlength=n_patches + 1) >= min_cells
    large[patches[0, 0]], large[0] = True, False
    return large[patches[1:-1, 1:-1]]


def _grown(mask: np.ndarray) -> np.ndarray:
    """Return the mask dilated by the 8 neighbours of its cells."""
    wide = mask.copy()
    wide[:, 1:] |= mask[:, :-1]
    wide[:, :-1] |= mask[:, 1:]
    grown = wide.copy()
    grown[1:] |= wide[:-1]
    grown[:-1] |= wide[1:]
    return grown


def _pull(open_cells: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return for every cell how many of its 8 neighbours are open, and the sum of the directions to them (x, y)."""
    padded = np.pad(open_cells, 1, constant_values=True).astype(np.int8)
    rows, columns = open_cells.shape
    count, pull_x, pull_y = (np.zeros((rows, columns), np.int8) for _ in range(3))
    for dy, dx in _NEIGHBOURS:
        near = padded[1 + dy:1 + dy + rows, 1 + dx:1 + dx + columns]
        count += near
        pull_x += dx * near
        pull_y += dy * near
    return count, pull_x, pull_y


def _spread(iy: np.ndarray, ix: np.ndarray, spacing: float) -> list[np.ndarray]:
    """Split border cells among seeds `spacing` cells apart (farthest-point sampling); return arrays of indices."""
    nearest = np.hypot(iy - iy[0], ix - ix[0])
    owner = np.zeros(len(iy), np.int64)
    n_seeds = 1
    while nearest.max() > spacing:
        seed = int(nearest.argmax())
        distance = np.hypot(iy - iy[seed], ix - ix[seed])
        owner[distance < nearest] = n_seeds
        nearest = np.minimum(nearest, distance)
        n_seeds += 1
    return [np.flatnonzero(owner == seed) for seed in range(n_seeds)]


def _frontier(grid: GridMap, iy: np.ndarray, ix: np.ndarray, roomy: np.ndarray, pull_x: np.ndarray,
              pull_y: np.ndarray) -> Frontier:
    """Return the frontier of these border cells, at the one nearest to their middle, if possible off obstacles."""
    off = np.hypot(iy - iy.mean(), ix - ix.mean())
    middle = int(np.where(roomy[iy, ix] | ~roomy[iy, ix].any(), off, np.inf).argmin())
    heading = math.atan2(int(pull_y[iy, ix].sum()), int(pull_x[iy, ix].sum()))
    x, y = (grid.origin[0] + (int(ix[middle]) + 0.5) * grid.resolution_m,
            grid.origin[1] + (int(iy[middle]) + 0.5) * grid.resolution_m)
    return Frontier(x, y, heading, len(iy) * grid.resolution_m)
