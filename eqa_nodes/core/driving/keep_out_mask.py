"""Where Nav2's planner may not go, as a mask for its keepout filter: keep-out zones, and what the robot touched.

A planner that does not know of a zone leads the robot up to it, and the robot is only stopped there. A pane of glass is
not seen by depth cameras: without the mask the planner leads the robot into it again and again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from eqa_nodes.core.driving.zones import Zone, covered
from eqa_nodes.core.types.floor import GridMap
from eqa_nodes.core.types.geometry import Pose2

CELL_M = 0.05
SHUT = 100  # a cell of an OccupancyGrid that Nav2 takes as lethal
_COMMANDED_M_S = 0.05  # slower commands may be lost in friction
_MOVED_M = 0.03  # noise of localisation stays below
_BEYOND_M = 0.05  # of the robot's outline: there the obstacle is


def mask_of(zones: Sequence[Zone], grow_m: float, touched: Sequence[tuple[float, float]], radius_m: float) -> GridMap:
    """Return cells of 0 and SHUT, map frame: the zones grown by grow_m, and discs about the touched points.

    The filter's cells are not inflated, so both are grown for the robot's centre: the discs by its radius_m, which
    leaves the robot that touches outside of them. Without anything to mark, the mask is one free cell.
    """
    corners = [zone.corners + shift for zone in zones for shift in (-grow_m, grow_m)]
    corners += [np.array([point]) + shift for point in touched for shift in (-radius_m, radius_m)]
    low, high = (np.concatenate(corners).min(0), np.concatenate(corners).max(0)) if corners else (np.zeros(2),) * 2
    first = np.floor(low / CELL_M)
    columns, rows = np.maximum(np.ceil(high / CELL_M) - first, 1).astype(int)
    origin = float(first[0] * CELL_M), float(first[1] * CELL_M)
    grid = GridMap(0, CELL_M, origin, np.zeros((rows, columns), np.int8), np.zeros((rows, columns), bool))
    shut = covered(zones, grid, grow_m)
    y, x = np.ogrid[:rows, :columns]
    for px, py in touched:
        shut |= np.hypot(origin[0] + (x + 0.5) * CELL_M - px, origin[1] + (y + 0.5) * CELL_M - py) < radius_m
    grid.cells[shut] = SHUT
    return grid


def with_mask(grid: GridMap, mask: GridMap) -> GridMap:
    """Return a copy of a map, unknown where a cell's centre is shut by the mask: there no path leads through."""
    rows, columns = np.indices(grid.cells.shape)
    x = grid.origin[0] + (columns + 0.5) * grid.resolution_m
    y = grid.origin[1] + (rows + 0.5) * grid.resolution_m
    row = np.floor((y - mask.origin[1]) / mask.resolution_m).astype(int)
    column = np.floor((x - mask.origin[0]) / mask.resolution_m).astype(int)
    inside = (row >= 0) & (row < mask.cells.shape[0]) & (column >= 0) & (column < mask.cells.shape[1])
    shut = np.zeros(grid.cells.shape, bool)
    shut[inside] = mask.cells[row[inside], column[inside]] == SHUT
    return replace(grid, cells=np.where(shut, np.int8(-1), grid.cells))


class Touch:
    """Notices that the robot pushes against something: it is told to drive forward, and does not move.

    The first touch is a point ahead of the robot. Each further one is a row of points across its heading, wider by its
    radius on both sides: a pane is wide, and the way round a single point leads into it again. Points that would shut
    the place where the robot stands later were too many, and are dropped.
    """

    def __init__(self, wait_s: float, radius_m: float) -> None:
        """wait_s: so long, 0 = never. radius_m: of the robot."""
        self._wait_s, self._radius_m = wait_s, radius_m
        self._since: tuple[float, Pose2] | None = None
        self._touches = 0
        self.points: list[tuple[float, float]] = []  # what was touched, map frame

    def felt(self, now_s: float, at: Pose2, commanded_m_s: float) -> bool:
        """Look again; return whether the points have changed."""
        before = len(self.points)
        self.points = [(x, y) for x, y in self.points if math.hypot(x - at.x, y - at.y) >= self._radius_m]
        if not (self._wait_s and commanded_m_s >= _COMMANDED_M_S):  # as for NaN
            self._since = None
        elif self._since is None or at.distance(self._since[1]) > _MOVED_M:
            self._since = now_s, at
        elif now_s - self._since[0] >= self._wait_s:
            self._since = None
            self._mark(at)
        return len(self.points) != before

    def _mark(self, at: Pose2) -> None:
        ahead, c, s = self._radius_m + _BEYOND_M, math.cos(at.yaw), math.sin(at.yaw)
        for i in range(-self._touches, self._touches + 1):
            aside = i * self._radius_m
            self.points.append((at.x + ahead * c - aside * s, at.y + ahead * s + aside * c))
        self._touches += 1
