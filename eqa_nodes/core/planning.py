"""Path planning on the occupancy grid: where the robot's centre may go, how far everything is, the way to a goal."""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numba
import numpy as np
from scipy import ndimage

from eqa_nodes.core.errors import BadPose
from eqa_nodes.core.geometry import Pose2
from eqa_nodes.core.types import GridMap

SNAP_M = 0.5  # how far a goal may be moved onto reachable floor
COMFORT_M = 0.3  # beyond the robot's radius: nearer to obstacles than that costs extra
SQUEEZE = 4.0  # extra cost per metre where the robot just fits
ESCAPE_M = 0.6  # a robot that stands too close to something may leave through such cells so near to it
ESCAPE = 10.0

# Moves of 8 directions and the 8 between them: paths come within 3 % of the straight line.
_MOVES = np.array([(0, 1), (1, 0), (0, -1), (-1, 0), (1, 1), (1, -1), (-1, 1), (-1, -1),
                   (1, 2), (2, 1), (1, -2), (2, -1), (-1, 2), (-2, 1), (-1, -2), (-2, -1)])


class Point(NamedTuple):
    """A place on the floor, map frame, metres."""

    x: float
    y: float


def cell_at(grid: GridMap, x: float, y: float) -> tuple[int, int] | None:
    """Return (row, column) of the cell that holds a point, None for a point off the map or not finite."""
    if not (math.isfinite(x) and math.isfinite(y)):
        return None
    iy, ix = math.floor((y - grid.origin[1]) / grid.resolution_m), math.floor((x - grid.origin[0]) / grid.resolution_m)
    return (iy, ix) if 0 <= iy < grid.cells.shape[0] and 0 <= ix < grid.cells.shape[1] else None


def index_of(grid: GridMap, x: float, y: float) -> tuple[int, int]:
    """Return (row, column) of the cell that holds a point. Raises BadPose for a point off the map or not finite."""
    cell = cell_at(grid, x, y)
    if cell is None:
        raise BadPose(f"({x}, {y}) is not on the map, which begins at {grid.origin} and has {grid.cells.shape} cells "
                      f"of {grid.resolution_m} m")
    return cell


def centre_of(grid: GridMap, iy: int, ix: int) -> Point:
    """Return the centre of a cell."""
    return Point(grid.origin[0] + (ix + 0.5) * grid.resolution_m, grid.origin[1] + (iy + 0.5) * grid.resolution_m)


def weights(grid: GridMap, start: Pose2, radius_m: float, allow_unknown: bool = False) -> np.ndarray:
    """Return the cost of a metre for the robot's centre in each cell: (rows, columns) float64, inf = forbidden.

    Forbidden: cells nearer than `radius_m` to an occupied one (centre to centre), and unknown cells unless allowed.
    Beyond that the cost falls from 1 + SQUEEZE to 1 within COMFORT_M. Round a start that is itself forbidden, cells
    that are not occupied are open at the cost ESCAPE, so that the robot can get out.
    """
    occupied = grid.cells == 100
    gap = ndimage.distance_transform_edt(~occupied) * grid.resolution_m
    if not occupied.any():
        gap.fill(np.inf)
    cost = 1.0 + SQUEEZE * np.maximum(0.0, 1.0 - (gap - radius_m) / COMFORT_M)
    cost[gap < radius_m] = np.inf
    if not allow_unknown:
        cost[grid.cells == -1] = np.inf
    iy, ix = index_of(grid, start.x, start.y)
    if np.isinf(cost[iy, ix]):
        reach = math.ceil(ESCAPE_M / grid.resolution_m)
        rows, columns = np.indices(cost.shape, sparse=True)
        near = (rows - iy) ** 2 + (columns - ix) ** 2 <= reach ** 2
        cost[near & np.isinf(cost) & ~occupied] = ESCAPE
        cost[iy, ix] = ESCAPE
    return cost


def distance_field(grid: GridMap, start: Pose2, radius_m: float, allow_unknown: bool = False) -> np.ndarray:
    """Return the length in metres of the shortest drivable path from `start` to each cell, inf where there is none."""
    cost = weights(grid, start, radius_m, allow_unknown)
    return cost_field(np.where(np.isinf(cost), np.inf, 1.0), index_of(grid, start.x, start.y), grid.resolution_m)


def cost_field(cost: np.ndarray, source: tuple[int, int], resolution_m: float) -> np.ndarray:
    """Return the least cost (metres times weight) of a path from `source` to each cell (Dijkstra, 16 directions)."""
    flat, columns = _bordered(cost)
    start = (source[0] + _BORDER) * columns + source[1] + _BORDER
    field = _dijkstra(flat, start, resolution_m, _offsets(columns), _LENGTHS)
    inside: np.ndarray = field.reshape(-1, columns)[_BORDER:-_BORDER, _BORDER:-_BORDER]
    return inside


def way_down(cost: np.ndarray, field: np.ndarray, cell: tuple[int, int], resolution_m: float) -> np.ndarray:
    """Return the cells (n, 2) of the way from a cell down to the source of its field (see cost_field)."""
    flat, columns = _bordered(cost)
    flat_field, _ = _bordered(field)
    start = (cell[0] + _BORDER) * columns + cell[1] + _BORDER
    path = _descend(flat, flat_field, start, resolution_m, _offsets(columns), _LENGTHS)
    return np.stack([path // columns - _BORDER, path % columns - _BORDER], axis=1)


def _bordered(cells: np.ndarray) -> tuple[np.ndarray, int]:
    """Return the cells with a border of inf, flat, and the number of its columns."""
    padded = np.pad(np.asarray(cells, np.float64), _BORDER, constant_values=np.inf)
    return padded.ravel(), padded.shape[1]


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
         tolerance_m: float = SNAP_M) -> list[Point] | None:
    """Return way-points from `start` to the goal, map frame, metres; None when nothing near the goal can be reached.

    The goal is moved to the nearest reachable cell within `tolerance_m`. No point of the path lies in a forbidden cell
    (see weights), except where the start does. Raises BadPose for a start that is not on the map.
    """
    cost = weights(grid, start, radius_m, allow_unknown)
    source = index_of(grid, start.x, start.y)
    field = cost_field(cost, source, grid.resolution_m)
    target = snap(grid, field, goal.x, goal.y, tolerance_m)
    if target is None:
        return None
    cells = way_down(cost, field, target, grid.resolution_m)[::-1]
    here = (np.array([start.y, start.x]) - (grid.origin[1], grid.origin[0])) / grid.resolution_m
    points = np.concatenate([here[None], cells + 0.5])
    corners = _shorten(points, cost)
    return [Point(start.x, start.y), *(centre_of(grid, int(iy), int(ix)) for iy, ix in cells[corners[1:] - 1])]


def along(path: list[Point], metres: float) -> tuple[Point, float]:
    """Return the point `metres` along a path (its end when shorter) and the path's heading there, radians."""
    heading = 0.0
    for a, b in itertools.pairwise(path):
        length = math.hypot(b.x - a.x, b.y - a.y)
        heading = math.atan2(b.y - a.y, b.x - a.x) if length > 0 else heading
        if length > 0 and metres <= length:
            return Point(a.x + (b.x - a.x) * metres / length, a.y + (b.y - a.y) * metres / length), heading
        metres -= length
    return path[-1], heading


_BORDER = 2  # forbidden cells round the map: no move reaches beyond them, so none needs a check of its own


def _offsets(columns: int) -> np.ndarray:
    """Return (16, 3) int32: where a move ends, and the two cells that it must also be able to pass, in flat indices.

    A diagonal passes the two cells beside it, a knight's move the two between its ends, a straight move none.
    """
    table = []
    for dy, dx in _MOVES.tolist():
        my, mx = (dy // 2 if abs(dy) == 2 else 0), (dx // 2 if abs(dx) == 2 else 0)
        if abs(dy) + abs(dx) == 3:
            table.append((dy * columns + dx, my * columns + mx, (dy - my) * columns + dx - mx))
        else:
            table.append((dy * columns + dx, dy * columns, dx))
    return np.array(table, np.int32)


_LENGTHS = np.hypot(_MOVES[:, 0], _MOVES[:, 1])


@numba.njit(cache=True)
def _dijkstra(cost: np.ndarray, source: int, resolution: float, offsets: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return the field over flat cells (n,), inf where no path leads; `cost` has a border of forbidden cells.

    Dijkstra with buckets as wide as the cheapest move (Dial 1969): what is in the lowest bucket cannot be improved by
    anything else in it, so the order within a bucket does not matter, and nothing needs to be sorted.
    """
    field = np.full(cost.size, np.inf)
    dearest = 1.0
    cheapest = np.inf
    for i in range(cost.size):
        if not np.isinf(cost[i]):
            dearest, cheapest = max(dearest, cost[i]), min(cheapest, cost[i])
    width = cheapest * resolution
    n_buckets = int(dearest * lengths.max() * resolution / width) + 2
    head = np.full(n_buckets, -1, np.int32)  # of linked lists: cells and what follows them
    cells, after = np.empty(4 * cost.size, np.int32), np.empty(4 * cost.size, np.int32)
    shut = np.isinf(cost)
    settled = shut.copy()
    steps = lengths * (0.5 * resolution)
    field[source] = 0.0
    cells[0], after[0], head[0] = source, -1, 0
    used, waiting, bucket = 1, 1, 0
    while waiting > 0:
        slot = bucket % n_buckets
        while head[slot] >= 0:
            entry = head[slot]
            head[slot] = after[entry]
            waiting -= 1
            at = cells[entry]
            if settled[at]:
                continue
            settled[at] = True
            reached, here = field[at], cost[at]
            for m in range(lengths.size):
                to = at + offsets[m, 0]
                if settled[to] or shut[at + offsets[m, 1]] or shut[at + offsets[m, 2]]:
                    continue
                total = reached + steps[m] * (here + cost[to])
                if total < field[to]:
                    field[to] = total
                    if used == cells.size:
                        cells, after = np.concatenate((cells, cells)), np.concatenate((after, after))
                    target = int(total / width) % n_buckets
                    cells[used], after[used] = to, head[target]
                    head[target] = used
                    used += 1
                    waiting += 1
        bucket += 1
    return field


@numba.njit(cache=True)
def _descend(cost: np.ndarray, field: np.ndarray, at: int, resolution: float, offsets: np.ndarray,
             lengths: np.ndarray) -> np.ndarray:
    """Return the flat cells from one down to the source of the field, (n,)."""
    path = [at]
    while field[at] > 0.0:
        best, before = np.inf, at
        for m in range(lengths.size):
            to = at + offsets[m, 0]
            if np.isinf(cost[to]) or np.isinf(cost[at + offsets[m, 1]]) or np.isinf(cost[at + offsets[m, 2]]):
                continue
            if field[to] < field[at]:
                total = field[to] + lengths[m] * resolution * 0.5 * (cost[at] + cost[to])
                if total < best:
                    best, before = total, to
        at = before
        path.append(at)
    return np.array(path)


@numba.njit(cache=True)
def _line_cost(cost: np.ndarray, ay: float, ax: float, by: float, bx: float) -> float:
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


@numba.njit(cache=True)
def _shorten(points: np.ndarray, cost: np.ndarray) -> np.ndarray:
    """Return the indices of the way-points (n, 2), in cells, to keep: those that a straight line, no dearer, does not
    make needless."""
    keep = [0]
    at = 0
    while at < len(points) - 1:
        best, spent, i = at + 1, 0.0, at + 1
        while i < len(points):
            spent += _line_cost(cost, points[i - 1, 0], points[i - 1, 1], points[i, 0], points[i, 1])
            direct = _line_cost(cost, points[at, 0], points[at, 1], points[i, 0], points[i, 1])
            if direct <= spent * 1.01:
                best = i
            i += 1
        keep.append(best)
        at = best
    return np.array(keep)
