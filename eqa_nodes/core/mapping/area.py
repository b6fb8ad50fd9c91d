"""The area that a question may be limited to: a polygon on the floor in the map frame that the robot never leaves."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from eqa_nodes.core.errors import BadQuestion
from eqa_nodes.core.types.floor import Area, GridMap
from eqa_nodes.core.types.questions import Situation

MAX_CORNERS = 1000


def check_area(area: Area) -> None:
    """Raise BadQuestion for corners that do not bound an area; no corners at all = anywhere."""
    if not area:
        return
    if not 3 <= len(area) <= MAX_CORNERS or not all(map(math.isfinite, (v for corner in area for v in corner))):
        raise BadQuestion(f"the area has {len(area)} corners: expected 3 to {MAX_CORNERS}, each a finite x,y in metres "
                          "of the map frame")
    turned = sum(x * v - u * y for (x, y), (u, v) in zip(area, area[1:] + area[:1], strict=True))
    if abs(turned) < 1e-6:
        raise BadQuestion(f"the area {area} is a line: expected corners in their order along its border")


def inside(area: Area, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return which points lie in the area (even-odd rule); all points if there is no area. x, y: metres, same shape."""
    if not area:
        return np.ones(np.shape(x), bool)
    within = np.zeros(np.shape(x), bool)
    for (ax, ay), (bx, by) in zip(area, area[1:] + area[:1], strict=True):
        if ay != by:
            crossing = ax + (y - ay) * (bx - ax) / (by - ay)
            within ^= ((ay > y) != (by > y)) & (x < crossing)
    return within


def is_inside(area: Area, x: float, y: float) -> bool:
    """Return whether a point lies in the area; without an area every finite point does."""
    return bool(inside(area, np.float64(x), np.float64(y)))


def fenced(situation: Situation) -> Situation:
    """Return the situation that a policy may decide on: floor outside the question's area is occupied and has no
    frontiers.

    If the robot itself stands outside, the grid is not changed; otherwise the robot could not drive in.
    """
    area, grid = situation.question.limits.area, situation.grid
    if not area:
        return situation
    frontiers = [f for f in situation.frontiers if is_inside(area, f.x, f.y)]
    if is_inside(area, situation.pose.x, situation.pose.y):
        grid = fence(grid, area)
    return situation._replace(grid=grid, frontiers=frontiers)


def fence(grid: GridMap, area: Area) -> GridMap:
    """Return a map whose cells outside an area are occupied."""
    return replace(grid, cells=np.where(outside(grid, area), np.int8(100), grid.cells))


def outside(grid: GridMap, area: Area) -> np.ndarray:
    """Return (rows, columns) bool: the cells whose centres lie outside an area."""
    rows, columns = np.indices(grid.cells.shape)
    x, y = (grid.origin[0] + (columns + 0.5) * grid.resolution_m, grid.origin[1] + (rows + 0.5) * grid.resolution_m)
    return ~inside(area, x, y)
