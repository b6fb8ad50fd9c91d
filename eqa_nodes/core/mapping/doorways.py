"""Doorways of a map: openings between the ends of walls, with floor on both sides."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy import ndimage

from eqa_nodes.core.types.floor import GridMap

_NARROWEST_M, _WIDEST_M = 0.6, 1.4
_DIRECTIONS = 8  # that are tried for the walls, over a quarter turn: rooms have right angles
_RUN = 10  # cells in a row that show a direction
_WALL_M = 0.35  # length of wall that must go on beyond each end of the opening: furniture and side walls are shorter
_WIDER_M, _LITTLE_M = 0.4, 0.2  # the space must be wider by so much on one side of a doorway, and on the other
_SIDE_M, _OTHER_M = 0.4, 0.2  # distances at which there must be floor on one side, and on the other
_BEFORE_M = 0.5  # distance at which it is looked whether the space is wider: a hallway is as wide there as here
_ROUND_M = 2.0  # an opening is a gap between furniture if its sides meet elsewhere within this distance
_APART_M = 0.7  # openings closer together are one doorway


class Doorway(NamedTuple):
    """A doorway, map frame: its middle in metres, the direction through it, radians, one of two, and its width."""

    x: float
    y: float
    heading: float
    width_m: float


def find_doorways(grid: GridMap) -> list[Doorway]:
    """Return the doorways, ordered by their cells (row, column)."""
    free, occupied = grid.cells == 0, grid.cells == 100
    found: list[tuple[float, int, int, Doorway]] = []
    along = _wall_direction(occupied)
    for turn in (0.0, math.pi / 2):
        found += _openings(grid, free, occupied, along + turn)
    doors: list[tuple[int, int, Doorway]] = []
    for _, iy, ix, door in sorted(found):
        if all(math.dist(door[:2], other[:2]) >= _APART_M for _, _, other in doors) and not _is_gap(grid, free, door):
            doors.append((iy, ix, door))
    return [door for _, _, door in sorted(doors)]


def _wall_direction(occupied: np.ndarray) -> float:
    """Return the direction in which most walls run, or across which, radians; 0 to a quarter turn."""
    rows = np.argwhere(occupied)
    runs = [sum(int((_wall(occupied, rows, math.pi / 2 * step / _DIRECTIONS + turn, np.zeros(len(rows), int), _RUN)
                     == _RUN).sum()) for turn in (0.0, math.pi / 2)) for step in range(_DIRECTIONS)]
    return math.pi / 2 * max(range(_DIRECTIONS), key=lambda step: (runs[step], -step)) / _DIRECTIONS


def _openings(grid: GridMap, free: np.ndarray, occupied: np.ndarray,
              along: float) -> list[tuple[float, int, int, Doorway]]:
    """Return the openings in walls of one direction, radians, each with its rank: smaller is better."""
    cell_m, rows = grid.resolution_m, np.argwhere(free)
    far = math.ceil(_WIDEST_M / cell_m - 1e-9)
    ahead, behind = (_clear(occupied, rows, along + turn, far) for turn in (0.0, math.pi))
    width = ahead + behind - 1  # cells that are not occupied
    fits = (ahead <= far) & (behind <= far) & (np.abs(ahead - behind) <= 1)
    fits &= (width * cell_m >= _NARROWEST_M - 1.5 * cell_m) & (width * cell_m <= _WIDEST_M + 1e-9)
    rows, ahead, behind, width = rows[fits], ahead[fits], behind[fits], width[fits]
    through = along + math.pi / 2
    near, far_side = ([_at(free, _moved(rows, through + turn, metres / cell_m)) for turn in (0.0, math.pi)]
                      for metres in (_OTHER_M, _SIDE_M))
    floor = near[0] & near[1] & (far_side[0] | far_side[1])
    rows, ahead, behind, width = rows[floor], ahead[floor], behind[floor], width[floor]
    needed = math.ceil(_WALL_M / cell_m)
    walls = [np.minimum(needed, _wall(occupied, rows, along + turn, gap, needed))
             for turn, gap in ((0.0, ahead), (math.pi, behind))]
    more_m = []
    for turn in (0.0, math.pi):
        before = _moved(rows, through + turn, _BEFORE_M / cell_m)
        there = _clear(occupied, before, along, 2 * far) + _clear(occupied, before, along + math.pi, 2 * far) - 1
        more_m.append((there - width) * cell_m + 1e-9)
    longest, shortest = np.max(walls, axis=0), np.min(walls, axis=0)
    good = (longest >= needed) & (shortest >= 2)
    good &= (np.max(more_m, axis=0) >= _WIDER_M) & (np.min(more_m, axis=0) >= _LITTLE_M)
    return [(_rank(int(w), int(s), needed), int(iy), int(ix),
             Doorway(grid.origin[0] + (ix + 0.5) * cell_m, grid.origin[1] + (iy + 0.5) * cell_m,
                     math.remainder(through, math.tau), float(w * cell_m)))
            for (iy, ix), w, s in zip(rows[good].tolist(), width[good].tolist(), shortest[good].tolist(), strict=True)]


def _rank(width: int, shortest: int, needed: int) -> float:
    return width - 2.0 * min(shortest, needed)


def _moved(rows: np.ndarray, angle: float, cells: float | np.ndarray) -> np.ndarray:
    """Return cells (n, 2), row and column, moved in a direction of the map."""
    step = np.stack([np.broadcast_to(np.multiply(cells, math.sin(angle)), len(rows)),
                     np.broadcast_to(np.multiply(cells, math.cos(angle)), len(rows))], axis=1)
    moved: np.ndarray = rows + np.rint(step).astype(int)
    return moved


def _at(mask: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the mask at cells (n, 2); False outside."""
    iy, ix = rows[:, 0], rows[:, 1]
    inside = (iy >= 0) & (ix >= 0) & (iy < mask.shape[0]) & (ix < mask.shape[1])
    found: np.ndarray = inside & mask[np.where(inside, iy, 0), np.where(inside, ix, 0)]
    return found


def _clear(occupied: np.ndarray, rows: np.ndarray, angle: float, most: int) -> np.ndarray:
    """Return the number of steps to the first occupied cell in a direction, most + 1 if there is none."""
    steps = np.full(len(rows), most + 1)
    for n in range(most, 0, -1):
        steps[_at(occupied, _moved(rows, angle, float(n)))] = n
    return steps


def _wall(occupied: np.ndarray, rows: np.ndarray, angle: float, begin: np.ndarray, most: int) -> np.ndarray:
    """Return how many cells of wall follow each other from the end of an opening; a wall may be one cell aside."""
    going, length = np.ones(len(rows), bool), np.zeros(len(rows), int)
    for n in range(most):
        middle = _moved(rows, angle, begin + n)
        wall = _at(occupied, middle)
        for turn in (math.pi / 2, -math.pi / 2) if n else ():
            wall |= _at(occupied, _moved(middle, angle + turn, 1.0))
        going &= wall
        length += going
    return length


def _is_gap(grid: GridMap, free: np.ndarray, door: Doorway) -> bool:
    """Return whether the two sides of an opening also meet elsewhere near it, as around a piece of furniture."""
    cell_m = grid.resolution_m
    iy, ix = (math.floor((door.y - grid.origin[1]) / cell_m), math.floor((door.x - grid.origin[0]) / cell_m))
    reach = math.ceil(_ROUND_M / cell_m)
    y0, x0 = max(0, iy - reach), max(0, ix - reach)
    window = free[y0:iy + reach + 1, x0:ix + reach + 1].copy()
    rows, columns = np.mgrid[y0:y0 + window.shape[0], x0:x0 + window.shape[1]] - np.array([iy, ix])[:, None, None]
    dx, dy = math.cos(door.heading), math.sin(door.heading)
    through, aside = np.abs(columns * dx + rows * dy), np.abs(rows * dx - columns * dy)
    window[(through <= 1.0) & (aside * cell_m <= door.width_m / 2 + 2 * cell_m)] = False
    parts, _ = ndimage.label(window)
    here, there = (_part(parts, rows, columns, sign * dx, sign * dy, _SIDE_M / cell_m) for sign in (1.0, -1.0))
    return here == there != 0


def _part(parts: np.ndarray, rows: np.ndarray, columns: np.ndarray, dx: float, dy: float, cells: float) -> int:
    """Return the part of the floor at a distance from the middle in a direction, 0 for none."""
    off = np.hypot(columns - cells * dx, rows - cells * dy)
    off = np.where(parts > 0, off, np.inf)
    at = int(off.argmin())
    return int(parts.flat[at]) if off.flat[at] <= 2.0 else 0
