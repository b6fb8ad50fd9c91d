"""Path planning on the occupancy grid: cells allowed for the robot's centre, distances, and the path to a goal."""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np
from scipy import ndimage

from eqa_nodes.core.errors import BadPose
from eqa_nodes.core.kernels import njit
from eqa_nodes.core.types.floor import GridMap
from eqa_nodes.core.types.geometry import Pose2

# Moves in 16 directions: paths are at most 3 % longer than the straight line.
_MOVES = np.array([(0, 1), (1, 0), (0, -1), (-1, 0), (1, 1), (1, -1), (-1, 1), (-1, -1),
                   (1, 2), (2, 1), (1, -2), (2, -1), (-1, 2), (-2, 1), (-1, -2), (-2, -1)])

_BORDER = 2  # forbidden cells around the map: no move can leave them, so moves need no bounds check
_PRECISION = 16  # integer value of a cost of 1: integers sum without rounding and sort without division
_CELL_BITS = 10
_CELL = 1 << _CELL_BITS  # length of a cell; times a cost of 1 it is the cheapest move, and so the width of a bucket
_WIDTH_BITS = _CELL_BITS + 4
_SLOTS = 64  # buckets in the ring, a power of two: more than the most expensive move (cost 25, length sqrt 5) spans
_NEVER = np.iinfo(np.int32).max
_LENGTHS = np.ceil(np.hypot(_MOVES[:, 0], _MOVES[:, 1]) * _CELL).astype(np.int32)
SNAP_M = 0.5  # maximum distance by which a goal is moved onto reachable floor
COMFORT_M = 0.3  # distance beyond the robot's radius within which obstacles add cost
SQUEEZE = 4.0  # extra cost per metre when the robot just fits
ESCAPE_M = 0.6  # a robot that stands too close to an obstacle may leave through forbidden cells within this distance
ESCAPE = 10.0


class ShortestPaths:
    """The cheapest paths from one cell to all others, in 16 directions.

    metres: (rows, columns) float64, cost of the path to each cell (metres times weight), inf if there is none.
    """

    def __init__(self, cost: np.ndarray, source: tuple[int, int], resolution_m: float) -> None:
        """cost: (rows, columns), cost of a metre in each cell, 1 to 25, inf = forbidden; source: row, column."""
        shut = np.isinf(cost)
        padded = np.pad(np.rint(np.where(shut, 0.0, cost) * _PRECISION).astype(np.int32), _BORDER)
        self._columns = int(padded.shape[1])
        self._cost, self._moves = padded.ravel(), _moves(self._columns)
        self._spent = _dijkstra(self._cost, _clear(padded), self._flat(source), *self._moves)
        inside = self._spent.reshape(padded.shape)[_BORDER:-_BORDER, _BORDER:-_BORDER]
        self.metres = np.where(inside == _NEVER, np.inf, inside * (resolution_m / (_PRECISION * _CELL)))

    def path_to(self, cell: tuple[int, int]) -> np.ndarray:
        """Return the cells (n, 2) of the path from the source to a reachable cell."""
        path = _descend(self._cost, self._spent, self._flat(cell), *self._moves)[::-1]
        return np.stack([path // self._columns - _BORDER, path % self._columns - _BORDER], axis=1)

    def _flat(self, cell: tuple[int, int]) -> int:
        return (cell[0] + _BORDER) * self._columns + cell[1] + _BORDER


def _moves(columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (16, 3) int32 flat offsets: the end of each move, and two cells that it also has to pass.

    A diagonal move passes the two cells beside it, a knight's move the two between its ends, a straight move none. The
    second array has the lengths of the moves, (16,) int32, in units of 1 / _CELL cells.
    """
    table = []
    for dy, dx in _MOVES.tolist():
        my, mx = (dy // 2 if abs(dy) == 2 else 0), (dx // 2 if abs(dx) == 2 else 0)
        if abs(dy) + abs(dx) == 3:
            table.append((dy * columns + dx, my * columns + mx, (dy - my) * columns + dx - mx))
        else:
            table.append((dy * columns + dx, dy * columns, dx))
    return np.array(table, np.int32), _LENGTHS


def _clear(cost: np.ndarray) -> np.ndarray:
    """Return a flat mask of cells without forbidden cells within two: their moves need no check of passed cells."""
    open_cells = cost > 0
    rows = open_cells.copy()
    clear = np.zeros_like(open_cells)
    for k in (1, 2):
        rows[:, k:] &= open_cells[:, :-k]
        rows[:, :-k] &= open_cells[:, k:]
    clear[2:-2] = rows[:-4] & rows[1:-3] & rows[2:-2] & rows[3:-1] & rows[4:]
    return clear.ravel()


@njit()
def _dijkstra(cost: np.ndarray, clear: np.ndarray, source: int, moves: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return the cost of the cheapest path to each flat cell, (n,) int32; `cost` has a border of forbidden cells (0).

    Dijkstra with buckets as wide as the cheapest move (Dial 1969): cells in the lowest bucket cannot improve each
    other, so the order within a bucket does not matter and nothing needs to be sorted.
    """
    spent = np.full(cost.size, _NEVER, np.int32)
    head = np.full(_SLOTS, -1, np.int32)  # first cell of each bucket; the cells of a bucket form a doubly linked list
    before, after = np.full(cost.size, -1, np.int32), np.full(cost.size, -1, np.int32)
    spent[source], head[0] = 0, source
    waiting, bucket = 1, 0
    while waiting > 0:
        slot = bucket % _SLOTS
        while head[slot] >= 0:
            at = head[slot]
            head[slot] = after[at]
            if after[at] >= 0:
                before[after[at]] = -1
            waiting -= 1
            reached, here, free = spent[at], cost[at], clear[at]
            for m in range(lengths.size):
                to = at + moves[m, 0]
                there = cost[to]
                if not free and (there == 0 or cost[at + moves[m, 1]] == 0 or cost[at + moves[m, 2]] == 0):
                    continue
                total = reached + (((here + there) * lengths[m]) >> 1)
                known = spent[to]
                if total >= known:
                    continue
                spent[to] = total
                target = (total >> _WIDTH_BITS) % _SLOTS
                if known != _NEVER:
                    old = (known >> _WIDTH_BITS) % _SLOTS
                    if old == target:
                        continue
                    if before[to] >= 0:
                        after[before[to]] = after[to]
                    else:
                        head[old] = after[to]
                    if after[to] >= 0:
                        before[after[to]] = before[to]
                else:
                    waiting += 1
                before[to], after[to] = -1, head[target]
                if head[target] >= 0:
                    before[head[target]] = to
                head[target] = to
        bucket += 1
    return spent


@njit()
def _descend(cost: np.ndarray, spent: np.ndarray, at: int, moves: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return the flat cells of the path from a cell back to the source."""
    path = [at]
    while spent[at] > 0:
        best, before = _NEVER, at
        for m in range(lengths.size):
            to = at + moves[m, 0]
            if cost[to] == 0 or cost[at + moves[m, 1]] == 0 or cost[at + moves[m, 2]] == 0 or spent[to] >= spent[at]:
                continue
            total = spent[to] + (((cost[at] + cost[to]) * lengths[m]) >> 1)
            if total < best:
                best, before = total, to
        at = before
        path.append(at)
    return np.array(path)


class Waypoint(NamedTuple):
    """A point on the floor, map frame, metres."""

    x: float
    y: float


def cell_at(grid: GridMap, x: float, y: float) -> tuple[int, int] | None:
    """Return (row, column) of the cell of a point, None if the point is off the map or not finite."""
    if not (math.isfinite(x) and math.isfinite(y)):
        return None
    iy, ix = math.floor((y - grid.origin[1]) / grid.resolution_m), math.floor((x - grid.origin[0]) / grid.resolution_m)
    return (iy, ix) if 0 <= iy < grid.cells.shape[0] and 0 <= ix < grid.cells.shape[1] else None


def index_of(grid: GridMap, x: float, y: float) -> tuple[int, int]:
    """Return (row, column) of the cell of a point. Raises BadPose if the point is off the map or not finite."""
    cell = cell_at(grid, x, y)
    if cell is None:
        raise BadPose(f"({x}, {y}) is not on the map, which begins at {grid.origin} and has {grid.cells.shape} cells "
                      f"of {grid.resolution_m} m")
    return cell


def centre_of(grid: GridMap, iy: int, ix: int) -> Waypoint:
    """Return the centre of a cell."""
    return Waypoint(grid.origin[0] + (ix + 0.5) * grid.resolution_m, grid.origin[1] + (iy + 0.5) * grid.resolution_m)


def forbidden(grid: GridMap, radius_m: float, allow_unknown: bool = False) -> np.ndarray:
    """Return (rows, columns) bool: cells where the robot's centre may not be.

    These are cells nearer than `radius_m` to an occupied cell (centre to centre), and unknown cells unless allowed.
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

    Beyond `radius_m` of obstacles the cost falls from 1 + SQUEEZE to 1 over COMFORT_M. See forbidden and with_escape.
    """
    occupied = grid.cells == 100
    gap = ndimage.distance_transform_edt(~occupied) * grid.resolution_m
    if not occupied.any():
        gap.fill(np.inf)
    cost = 1.0 + SQUEEZE * np.maximum(0.0, 1.0 - (gap - radius_m) / COMFORT_M)
    cost[forbidden(grid, radius_m, allow_unknown)] = np.inf
    return with_escape(cost, grid, start)


def with_escape(cost: np.ndarray, grid: GridMap, start: Pose2) -> np.ndarray:
    """Open unoccupied cells around a forbidden start, at the cost ESCAPE, so that the robot can leave."""
    iy, ix = index_of(grid, start.x, start.y)
    if np.isinf(cost[iy, ix]):
        reach = math.ceil(ESCAPE_M / grid.resolution_m)
        rows, columns = np.ogrid[:cost.shape[0], :cost.shape[1]]
        near = (rows - iy) ** 2 + (columns - ix) ** 2 <= reach ** 2
        cost[near & np.isinf(cost) & (grid.cells != 100)] = ESCAPE
        cost[iy, ix] = ESCAPE
    return cost


def walks(grid: GridMap, start: Pose2, radius_m: float, allow_unknown: bool = False) -> ShortestPaths:
    """Return the shortest drivable paths from `start`; all floor has the same cost."""
    cost = np.where(forbidden(grid, radius_m, allow_unknown), np.inf, 1.0)
    escape = with_escape(cost, grid, start)
    return ShortestPaths(np.where(np.isinf(escape), np.inf, 1.0), index_of(grid, start.x, start.y), grid.resolution_m)


def distance_field(grid: GridMap, start: Pose2, radius_m: float, allow_unknown: bool = False) -> np.ndarray:
    """Return the length in metres of the shortest drivable path from `start` to each cell, inf if there is none."""
    return walks(grid, start, radius_m, allow_unknown).metres


def snap(grid: GridMap, field: np.ndarray, x: float, y: float, tolerance_m: float = SNAP_M) -> tuple[int, int] | None:
    """Return the reachable cell (finite in `field`) nearest to a point, None if none lies within the tolerance."""
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
    """Return waypoints from `start` to the goal, map frame, metres; None if nothing near the goal is reachable.

    The goal is moved to the nearest reachable cell within `tolerance_m`. No point of the path lies in a forbidden cell
    (see weights), unless the start does. Raises BadPose if the start is not on the map.
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
    """Return the point `metres` along a path (its end if it is shorter) and the path's heading there, radians."""
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
    """Return the cost, in cells, of the straight line between two points in cells; inf if it crosses a forbidden cell.

    Each cell counts by the length of the line in it (Amanatides and Woo 1987); at a corner both neighbours are checked.
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
    """Return the indices of the waypoints (n, 2), in cells, to keep; straight lines that cost at most 1 % more replace
    the others."""
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
