"""Alternative viewpoints of a goal: reachable cells of the costmap with a line of sight to it."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.driving.config import RecoveryConfig
from eqa_nodes.core.driving.planning import ShortestPaths, cell_at, index_of, line_cost, with_escape
from eqa_nodes.core.kernels import njit
from eqa_nodes.core.types.floor import GridMap
from eqa_nodes.core.types.geometry import Pose2

TARGET_M = 0.35  # objects this close to the goal are the target itself and do not hide it
_DEAREST = 24.0  # maximum cost of a metre, where the robot just fits
_TOUCHES = 99  # cells from this value on are forbidden for the robot's centre


class Viewpoint(NamedTuple):
    """A pose that looks at the goal; off_m: distance from the goal; afar: whether it is beyond back_off_m."""

    pose: Pose2
    off_m: float
    afar: bool


def viewpoints(grid: GridMap, here: Pose2, goal: Pose2, shut: np.ndarray, config: RecoveryConfig) -> list[Viewpoint]:
    """Return candidate poses, best first: those near the goal, nearest first; then a distant one, the nearest to the
    robot.

    grid: costmap (see Commander.costmap); shut: (rows, columns) bool, further forbidden cells. Each pose is reachable
    on the costmap and sees the goal. Raises BadPose if the robot is not on the costmap.
    """
    target = cell_at(grid, goal.x, goal.y)
    if target is None:
        return []
    free = (grid.cells >= 0) & (grid.cells < _TOUCHES) & ~shut
    path = ShortestPaths(_cost(grid, free, here), index_of(grid, here.x, here.y), grid.resolution_m).metres
    rows, columns = np.indices(grid.cells.shape)
    off = np.hypot(rows - target[0], columns - target[1]) * grid.resolution_m
    possible = free & np.isfinite(path) & (off >= config.apart_m) & (off <= max(config.back_off_m, config.afar_m))
    cells = np.argwhere(possible & sees(grid, possible, target))
    off, path = off[tuple(cells.T)], path[tuple(cells.T)]
    close = np.flatnonzero(off <= config.back_off_m)
    chosen = _apart(cells, close[np.lexsort((path[close], off[close]))], config.viewpoints, [], grid, config)
    far = np.lexsort((off, path)) if config.afar_m else close[:0]
    both = _apart(cells, far, 1, chosen, grid, config)
    return [_looking(grid, cells[i], goal, afar=n >= len(chosen)) for n, i in enumerate(both)]


def sees(grid: GridMap, asked: np.ndarray, target: tuple[int, int]) -> np.ndarray:
    """Return (rows, columns) bool: the requested cells whose straight line to the target crosses no occupied or unknown
    cell, apart from those around the target itself."""
    rows, columns = np.ogrid[:grid.cells.shape[0], :grid.cells.shape[1]]
    around = np.hypot(rows - target[0], columns - target[1]) * grid.resolution_m <= TARGET_M
    opaque = ((grid.cells == 100) | (grid.cells == -1)) & ~around
    cells = np.argwhere(asked)
    result = np.zeros(grid.cells.shape, bool)
    result[tuple(cells.T)] = _clear_lines(np.where(opaque, np.inf, 1.0), cells, target[0], target[1])
    return result


@njit()
def _clear_lines(cost: np.ndarray, cells: np.ndarray, row: int, column: int) -> np.ndarray:
    clear = np.zeros(len(cells), np.bool_)
    for i in range(len(cells)):
        clear[i] = not np.isinf(line_cost(cost, cells[i, 0] + 0.5, cells[i, 1] + 0.5, row + 0.5, column + 0.5))
    return clear


def _cost(grid: GridMap, free: np.ndarray, here: Pose2) -> np.ndarray:
    """Return the cost of a metre in each cell, inf = forbidden; a robot in forbidden cells can still leave them."""
    dear = np.clip(grid.cells, 0, 98) / 98 * (_DEAREST - 1)
    return with_escape(np.where(free, 1.0 + dear, np.inf), grid, here)


def _apart(cells: np.ndarray, order: np.ndarray, most: int, before: list[int], grid: GridMap,
           config: RecoveryConfig) -> list[int]:
    """Return `before` and up to `most` more indices of cells, in this order, keeping a minimum distance."""
    chosen, most = list(before), most + len(before)
    for i in order:
        if len(chosen) >= most:
            break
        gaps = [math.dist(cells[i], cells[k]) * grid.resolution_m for k in chosen]
        if all(gap >= config.apart_m for gap in gaps):
            chosen.append(int(i))
    return chosen


def _looking(grid: GridMap, cell: np.ndarray, goal: Pose2, afar: bool) -> Viewpoint:
    x = grid.origin[0] + (float(cell[1]) + 0.5) * grid.resolution_m
    y = grid.origin[1] + (float(cell[0]) + 0.5) * grid.resolution_m
    yaw = math.atan2(goal.y - y, goal.x - x)
    return Viewpoint(Pose2(x, y, yaw), math.hypot(goal.x - x, goal.y - y), afar)
