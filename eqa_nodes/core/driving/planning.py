"""Path planning on the occupancy grid: free cells for the robot's centre, distances, and the path to a goal."""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np
from scipy import ndimage

from eqa_nodes.core.driving.shortest import ShortestPaths
from eqa_nodes.core.errors import BadPose
from eqa_nodes.core.kernels import njit
from eqa_nodes.core.types.floor import GridMap
from eqa_nodes.core.types.geometry import Pose2

SNAP_M = 0.5  # how far a goal may be moved onto reachable floor
COMFORT_M = 0.3  # beyond the robot's radius: nearer to obstacles than that costs extra
SQUEEZE = 4.0  # extra cost per metre where the robot just fits
ESCAPE_M = 0.6  # a robot that stands too close to something may leave through such cells so near to it
ESCAPE = 10.0


class Waypoint(NamedTuple):
    """A place on the floor, map frame, metres."""

    x: float
    y: float


def cell_at(grid: GridMap, x: float, y: float) -> tuple[int, int] | None:
    """Return (row, column) of the cell of a point, None for a point off the map or not finite."""
    if not (math.isfinite(x) and math.isfinite(y)):
        return None
    iy, ix = math.floor((y - grid.origin[1]) / grid.resolution_m), math.floor((x - grid.origin[0]) / grid.resolution_m)
    return (iy, ix) if 0 <= iy < grid.cells.shape[0] and 0 <= ix < grid.cells.shape[1] else None


def index_of(grid: GridMap, x: float, y: float) -> tuple[int, int]:
    """Return (row, column) of the cell of a point. Raises BadPose for a point off the map or not finite."""
    cell = cell_at(grid, x, y)
    if cell is None:
        raise BadPose(f"({x}, {y}) is not on the map, which begins at {grid.origin} and has {grid.cells.shape} cells "
                      f"of {grid.resolution_m} m")
    return cell


def centre_of(grid: GridMap, iy: int, ix: int) -> Waypoint:
    """Return the centre of a cell."""
    return Waypoint(grid.origin[0] + (ix + 0.5) * grid.resolution_m, grid.origin[1] + (iy + 0.5) * grid.resolution_m)


def forbidden(grid: GridMap, radius_m: float, allow_unknown: bool = False) -> np.ndarray:
    """Return (rows, columns) bool: where the robot's centre may not be.

    That is nearer than `radius_m` to an occupied cell (centre to centre), and in unknown cells unless allowed.
    """
    occupied = grid.cells == 100
    shut = occupied if allow_unknown else occupied | (grid.cells == -1)
    reach = math.ceil(radius_m / grid.resolution_m)
    rows, columns = occupied.shape
    padded = np.pad(occupied, reach)
    for dy, dx in np.ndindex(2 * reach + 1, 2 * reach + 1):
        if math.hypot(dy - reach, dx - reach) * grid.resolution_m < radius_m:
            shut = shut | padded[dy:dy + rows, dx:dx + columns]
    return shut


def weights(grid: GridMap, start: Pose2, radius_m: float, allow_unknown: bool = False) -> np.ndarray:
    """Return the cost of a metre for the robot's centre in each cell: (rows, columns) float64, inf = forbidden.

    Beyond `radius_m` of obstacles the cost falls from 1 + SQUEEZE to 1 within COMFORT_M. See forbidden and with_escape.
    """
    occupied = grid.cells == 100
    gap = ndimage.distance_transform_edt(~occupied) * grid.resolution_m
    if not occupied.any():
        gap.fill(np.inf)
    cost = 1.0 + SQUEEZE * np.maximum(0.0, 1.0 - (gap - radius_m) / COMFORT_M)
    cost[forbidden(grid, radius_m, allow_unknown)] = np.inf
    return with_escape(cost, grid, start)


def with_escape(cost: np.ndarray, grid: GridMap, start: Pose2) -> np.ndarray:
    """Open unoccupied cells around a forbidden start, at the cost ESCAPE, so that the robot can get out."""
    iy, ix = index_of(grid, start.x, start.y)
    if np.isinf(cost[iy, ix]):
        reach = math.ceil(ESCAPE_M / grid.resolution_m)
        rows, columns = np.ogrid[:cost.shape[0], :cost.shape[1]]
        near = (rows - iy) ** 2 + (columns - ix) ** 2 <= reach ** 2
        cost[near & np.isinf(cost) & (grid.cells != 100)] = ESCAPE
        cost[iy, ix] = ESCAPE
    return cost


def walks(grid: GridMap, start: Pose2, radius_m: float, allow_unknown: bool = False) -> ShortestPaths:
    """Return the shortest drivable paths from `start`: all floor costs the same."""
    cost = np.where(forbidden(grid, radius_m, allow_unknown), np.inf, 1.0)
    escape = with_escape(cost, grid, start)
    return ShortestPaths(np.where(np.isinf(escape), np.inf, 1.0), index_of(grid, start.x, start.y), grid.resolution_m)


def distance_field(grid: GridMap, start: Pose2, radius_m: float, allow_unknown: bool = False) -> np.ndarray:
    """Return the length in metres of the shortest drivable path from `start` to each cell, inf where there is none."""
    return walks(grid, start, radius_m, allow_unknown).metres


def snap(grid: GridMap, field: np.ndarray, x: float, y: float, tolerance_m: float = SNAP_M) -> tuple[int, int] | None:
    """Return the reachable cell (finite in `field`) nearest to a point, or None when none lies within the tolerance."""
    own = cell_at(grid, x, y)
    if own is not None and np.isfinite(field[own]):
        return own
    reach = tolerance_m / grid.resolution_m
    fx, fy = (x - grid.origin[0]) / grid.resolution_m - 0.5, (y - grid.origin[1]) / grid.resolution_m - 0.5
    y0, y1 = max(0, math.floor(fy - reach)), min(field.shape[0], math.ceil(fy + reach) + 1)
    x0, x1 = max(0, math.floor(fx - reach)), min(field.shape[1], math.ceil(fx + reach) + 1)
    if y0 >= y1 or x0 >= x1:
        return None
    rows, columns = np.ogrid[y0:y1, x0:x1]
    distance = np.where(np.isfinite(field[y0:y1, x0:x1]), np.hypot(rows - fy, columns - fx), np.inf)
    best = int(distance.argmin())
    if distance.flat[best] > reach:
        return None
    return y0 + best // (x1 - x0), x0 + best % (x1 - x0)


def plan(grid: GridMap, start: Pose2, goal: Pose2, radius_m: float, allow_unknown: bool = False,
         tolerance_m: float = SNAP_M) -> list[Waypoint] | None:
    """Return waypoints from `start` to the goal, map frame, metres; None when nothing near the goal can be reached.

    The goal is moved to the nearest reachable cell within `tolerance_m`. No point of the path lies in a forbidden cell
    (see weights), except where the start does. Raises BadPose for a start that is not on the map.
    """
    cost = weights(grid, start, radius_m, allow_unknown)
    field = ShortestPaths(cost, index_of(grid, start.x, start.y), grid.resolution_m)
    target = snap(grid, field.metres, goal.x, goal.y, tolerance_m)
    if target is None:
        return None
    cells = field.path_to(target)
    here = (np.array([start.y, start.x]) - (grid.origin[1], grid.origin[0])) / grid.resolution_m
    points = np.concatenate([here[None], cells + 0.5])
    corners = _shorten(points, cost)
    return [Waypoint(start.x, start.y), *(centre_of(grid, int(iy), int(ix)) for iy, ix in cells[corners[1:] - 1])]


def along(path: list[Waypoint], metres: float) -> tuple[Waypoint, float]:
    """Return the point `metres` along a path (its end when shorter) and the path's heading there, radians."""
    heading = 0.0
    for a, b in itertools.pairwise(path):
        length = math.hypot(b.x - a.x, b.y - a.y)
        heading = math.atan2(b.y - a.y, b.x - a.x) if length > 0 else heading
        if length > 0 and metres <= length:
            return Waypoint(a.x + (b.x - a.x) * metres / length, a.y + (b.y - a.y) * metres / length), heading
        metres -= length
    return path[-1], heading


@njit()
def line_cost(cost: np.ndarray, ay: float, ax: float, by: float, bx: float) -> float:
    """Return the cost, in cells, of the straight line between two points in cells; inf across a forbidden cell.

    Every cell that the line passes counts by its share (Amanatides and Woo 1987); through a corner, so do both sides.
    """
    iy, ix, dy, dx = int(np.floor(ay)), int(np.floor(ax)), by - ay, bx - ax
    step_y, step_x = (1 if dy > 0 else -1), (1 if dx > 0 else -1)
    next_y = (iy + (dy > 0) - ay) / dy if dy != 0 else np.inf
    next_x = (ix + (dx > 0) - ax) / dx if dx != 0 else np.inf
    at, total = 0.0, 0.0
    while not np.isinf(cost[iy, ix]):
        end = min(next_y, next_x, 1.0)
        total += cost[iy, ix] * (end - at)
        if end >= 1.0:
            return total * np.hypot(dy, dx)
        if next_y == next_x and (np.isinf(cost[iy + step_y, ix]) or np.isinf(cost[iy, ix + step_x])):
            return np.inf
        at = end
        if next_y <= end:
            iy, next_y = iy + step_y, next_y + 1.0 / abs(dy)
        if next_x <= end:
            ix, next_x = ix + step_x, next_x + 1.0 / abs(dx)
    return np.inf


@njit()
def _shorten(points: np.ndarray, cost: np.ndarray) -> np.ndarray:
    """Return the indices of the waypoints (n, 2), in cells, to keep: those that a straight line, no dearer, does not
    make needless."""
    keep = [0]
    at = 0
    while at < len(points) - 1:
        best, spent, i = at + 1, 0.0, at + 1
        while i < len(points):
            spent += line_cost(cost, points[i - 1, 0], points[i - 1, 1], points[i, 0], points[i, 1])
            direct = line_cost(cost, points[at, 0], points[at, 1], points[i, 0], points[i, 1])
            if direct <= spent * 1.01:
                best = i
            i += 1
        keep.append(best)
        at = best
    return np.array(keep)
