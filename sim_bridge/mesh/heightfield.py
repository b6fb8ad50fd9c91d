"""Converts triangles to walkable cells: a heightfield of solid spans and the free space above them.

The steps are those of Recast (recastnavigation, which Habitat builds its navigation meshes with): conservative
rasterisation of triangles into columns of solid spans, walkable by slope, low obstacles, ledges, clearance above.
Heights are metres, not quantised: climb and clearance are compared exactly, and floors are as high as their triangles.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.errors import NoFloor, SimulatorError
from eqa_nodes.core.kernels import njit
from eqa_nodes.core.types.robot import RobotModel

CELL_M = 0.05  # Habitat's cell size
TOUCH_M = 0.02  # solid spans with a smaller gap between them are merged
MAX_COLUMNS = 50_000_000  # 350 m x 350 m: more would fill memory
MAX_SPANS = 100_000_000
_EPS_M = 1e-3  # tolerance, so that rounding does not forbid a step exactly as high as the robot climbs
_VOID = np.float32(np.inf)


class Heightfield(NamedTuple):
    """Columns of solid spans. Column i = row * columns + column has the spans start[i] to start[i + 1], ascending.

    x0, y0: corner of the map at row 0, column 0, metres; start (rows * columns + 1,) int64; low, high (n,) float32
    metres; walkable (n,) bool: whether a robot can stand on the top of the span.
    """

    x0: float
    y0: float
    rows: int
    columns: int
    start: np.ndarray
    low: np.ndarray
    high: np.ndarray
    walkable: np.ndarray


def heightfield(vertices: np.ndarray, faces: np.ndarray, robot: RobotModel) -> Heightfield:
    """Return the spans of triangles: vertices (n, 3) metres in map axes, faces (m, 3).

    `walkable` is the result of all filters. Raises NoFloor if no flat triangle faces up, SimulatorError if vertices are
    not finite, the extent is too large for a building, or the spans do not fit into memory.
    """
    corners = np.ascontiguousarray(vertices, np.float32)
    triangles = np.ascontiguousarray(faces, np.int32)
    x0, y0, rows, columns = _grid(corners, triangles)
    flat = _flat(corners, triangles, robot.slope_deg)
    climb = robot.climb_m + _EPS_M
    head, after, low, high, walkable = _rasterise(corners, triangles, flat, x0, y0, rows, columns, climb)
    if not len(head):
        raise SimulatorError(f"the scene has more than {MAX_SPANS} solid spans in cells of {CELL_M} m: "
                             "cut it into smaller scenes")
    field = Heightfield(x0, y0, rows, columns, *_flattened(head, after, low, high, walkable))
    _filter_low_obstacles(field, climb)
    ledge = _ledges(field, climb, robot.height_m)
    field.walkable[ledge] = False
    field.walkable[ceilings(field) - field.high < robot.height_m] = False
    return field


def ceilings(field: Heightfield) -> np.ndarray:
    """Return (n,) float32: the height of the ceiling above each span, inf if there is none."""
    above = np.append(field.low[1:], _VOID)
    above[field.start[1:][field.start[1:] > field.start[:-1]] - 1] = _VOID
    return above


def _grid(vertices: np.ndarray, faces: np.ndarray) -> tuple[float, float, int, int]:
    """Return x0, y0, rows, columns. Cells end at the largest x and y, where Habitat's grid begins."""
    if not len(faces):
        raise NoFloor("the scene has no triangles: 0 faces, nothing to stand on")
    of_faces = np.zeros(len(vertices), bool)
    of_faces[faces] = True
    used = vertices[of_faces]
    broken = int((~np.isfinite(used).all(axis=1)).sum())
    if broken:
        raise SimulatorError(f"{broken} of {len(used)} vertices of the scene are not finite: repair the file")
    low, high = used.min(axis=0).astype(float), used.max(axis=0).astype(float)
    columns, rows = (max(1, math.ceil((high[k] - low[k]) / CELL_M)) for k in (0, 1))
    if rows * columns > MAX_COLUMNS:
        raise SimulatorError(f"the scene is {high[0] - low[0]:.0f} m x {high[1] - low[1]:.0f} m large, too large for a "
                             f"map with cells of {CELL_M} m: are its units metres? Cut off what is far away")
    return high[0] - columns * CELL_M, high[1] - rows * CELL_M, rows, columns


def _flat(vertices: np.ndarray, faces: np.ndarray, slope_deg: float) -> np.ndarray:
    """Return (m,) bool: triangles that face up and are not steeper than slope_deg."""
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    normal = np.cross(b - a, c - a)
    limit = math.cos(math.radians(slope_deg)) * np.linalg.norm(normal, axis=1)
    up = (normal[:, 2] > limit) & (normal[:, 2] > 0)
    if not up.any():
        down = int(((-normal[:, 2] > limit) & (normal[:, 2] < 0)).sum())
        raise NoFloor(f"none of {len(faces)} triangles faces up within {slope_deg:g} degrees"
                      + (f", but {down} face down: turn the winding of the mesh" if down
                         else ": is the axis that points up the right one?"))
    return up


@njit(nogil=True)
def _cut(polygon: np.ndarray, count: int, axis: int, at: float, below: np.ndarray, above: np.ndarray
         ) -> tuple[int, int]:
    """Cut a convex polygon (count rows of x, y, z) at a coordinate; fill below and above and return their sizes."""
    n_below = n_above = 0
    for i in range(count):
        j = i + 1 if i + 1 < count else 0
        here, there = polygon[i, axis] - at, polygon[j, axis] - at
        if here <= 0:
            for k in range(3):  # a loop, because compiled code copies slices slowly
                below[n_below, k] = polygon[i, k]
            n_below += 1
        if here >= 0:
            for k in range(3):
                above[n_above, k] = polygon[i, k]
            n_above += 1
        if (here < 0 < there) or (there < 0 < here):
            share = here / (here - there)
            for k in range(3):
                value = polygon[i, k] + share * (polygon[j, k] - polygon[i, k])
                below[n_below, k] = value
                above[n_above, k] = value
            below[n_below, axis] = at
            above[n_above, axis] = at
            n_below += 1
            n_above += 1
    return n_below, n_above


@njit(nogil=True)
def _insert(column: int, low: np.float32, high: np.float32, flat: bool, free: int, head: np.ndarray, after: np.ndarray,
            lows: np.ndarray, highs: np.ndarray, walkable: np.ndarray, climb: float) -> bool:
    """Add a span to its column, merged with those that it touches; return whether the slot `free` was used for it.

    The highest top decides whether the span is walkable. If two tops are within a climb of each other, either one
    suffices: a carpet on a floor, the edge of a low step.
    """
    place, before, at = free, -1, head[column]
    while at >= 0 and highs[at] < low - TOUCH_M:
        before, at = at, after[at]
    while at >= 0 and lows[at] <= high + TOUCH_M:
        if abs(high - highs[at]) <= climb:
            flat = flat or walkable[at]
        elif highs[at] > high:
            flat = walkable[at]
        low, high = min(low, lows[at]), max(high, highs[at])
        place, at = at, after[at]
    lows[place], highs[place], walkable[place], after[place] = low, high, flat, at
    if before < 0:
        head[column] = place
    else:
        after[before] = place
    return place == free


@njit(nogil=True)
def _grown(array: np.ndarray) -> np.ndarray:
    larger = np.empty(2 * len(array), array.dtype)
    larger[:len(array)] = array
    return larger


@njit(nogil=True)
def _rasterise(vertices: np.ndarray, faces: np.ndarray, flat: np.ndarray, x0: float, y0: float, rows: int,
               columns: int, climb: float
               ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Rasterise each triangle into every cell that it touches; return linked lists of spans (head -1: empty column).

    An empty head array means that there are more than MAX_SPANS.
    """
    head = np.full(rows * columns, -1, np.int32)
    size = max(1024, len(faces))
    after, low, high = np.empty(size, np.int32), np.empty(size, np.float32), np.empty(size, np.float32)
    walkable = np.empty(size, np.bool_)
    used = 0
    rest, other = np.empty((12, 3)), np.empty((12, 3))
    strip, strip_rest, cell = np.empty((12, 3)), np.empty((12, 3)), np.empty((12, 3))
    for face in range(len(faces)):
        for k in range(3):
            vertex = faces[face, k]
            rest[k, 0] = (vertices[vertex, 0] - x0) / CELL_M
            rest[k, 1] = (vertices[vertex, 1] - y0) / CELL_M
            rest[k, 2] = vertices[vertex, 2]
        n_rest = 3
        first_row = min(max(int(np.floor(rest[:3, 1].min())), 0), rows - 1)
        last_row = min(max(int(np.floor(rest[:3, 1].max())), 0), rows - 1)
        for row in range(first_row, last_row + 1):
            if row < last_row:
                n_strip, n_other = _cut(rest, n_rest, 1, row + 1.0, strip, other)
                rest, other, n_rest = other, rest, n_other
            else:
                strip, rest, n_strip = rest, strip, n_rest
            if n_strip < 3:
                continue
            left, right = strip[0, 0], strip[0, 0]
            for k in range(1, n_strip):
                left, right = min(left, strip[k, 0]), max(right, strip[k, 0])
            last = min(max(int(np.floor(right)), 0), columns - 1)
            for column in range(min(max(int(np.floor(left)), 0), columns - 1), last + 1):
                if column < last:
                    n_cell, n_next = _cut(strip, n_strip, 0, column + 1.0, cell, strip_rest)
                    strip, strip_rest, n_strip = strip_rest, strip, n_next
                else:
                    strip, cell, n_cell = cell, strip, n_strip
                if n_cell < 3:
                    continue
                bottom, top = cell[0, 2], cell[0, 2]
                for k in range(1, n_cell):
                    bottom, top = min(bottom, cell[k, 2]), max(top, cell[k, 2])
                if used == len(low):
                    if used > MAX_SPANS:
                        return head[:0], after, low, high, walkable
                    after, low, high, walkable = _grown(after), _grown(low), _grown(high), _grown(walkable)
                used += _insert(row * columns + column, np.float32(bottom), np.float32(top), flat[face], used, head,
                                after, low, high, walkable, climb)
    return head, after, low, high, walkable


@njit(nogil=True)
def _flattened(head: np.ndarray, after: np.ndarray, low: np.ndarray, high: np.ndarray, walkable: np.ndarray
               ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return start, low, high, walkable of a Heightfield from its lists."""
    start = np.zeros(len(head) + 1, np.int64)
    for column in range(len(head)):
        start[column + 1] = start[column]
        at = head[column]
        while at >= 0:
            start[column + 1] += 1
            at = after[at]
    lows, highs = np.empty(start[-1], np.float32), np.empty(start[-1], np.float32)
    flat = np.empty(start[-1], np.bool_)
    for column in range(len(head)):
        at, to = head[column], start[column]
        while at >= 0:
            lows[to], highs[to], flat[to] = low[at], high[at], walkable[at]
            at, to = after[at], to + 1
    return start, lows, highs, flat


@njit(nogil=True)
def _filter_low_obstacles(field: Heightfield, climb: float) -> None:
    """Make spans walkable if they lie within a climb above a walkable one: a curb, the side of a step."""
    for column in range(field.rows * field.columns):
        below = False
        for at in range(field.start[column], field.start[column + 1]):
            was = field.walkable[at]
            if not was and below and field.high[at] - field.high[at - 1] <= climb:
                field.walkable[at] = True
            below = was


@njit(nogil=True)
def _ledges(field: Heightfield, climb: float, height: float) -> np.ndarray:
    """Return (n,) bool: walkable spans beside a drop, or whose neighbours form too steep a slope."""
    ledge = np.zeros(len(field.low), np.bool_)
    for row in range(field.rows):
        for column in range(field.columns):
            cell = row * field.columns + column
            for at in range(field.start[cell], field.start[cell + 1]):
                if field.walkable[at]:
                    roof = field.low[at + 1] if at + 1 < field.start[cell + 1] else _VOID
                    ledge[at] = _is_ledge(field, row, column, field.high[at], roof, climb, height)
    return ledge


@njit(nogil=True)
def _is_ledge(field: Heightfield, row: int, column: int, floor: np.float32, roof: np.float32, climb: float,
              height: float) -> bool:
    lowest = highest = floor
    for dx, dy in ((1, 0), (0, 1), (-1, 0), (0, -1)):
        r, c = row + dy, column + dx
        if r < 0 or c < 0 or r >= field.rows or c >= field.columns:
            return True
        first, last = field.start[r * field.columns + c], field.start[r * field.columns + c + 1]
        if min(roof, field.low[first] if first < last else _VOID) - floor > height:
            return True  # nothing below: a drop of any depth
        for other in range(first, last):
            there = field.high[other]
            above = field.low[other + 1] if other + 1 < last else _VOID
            if min(roof, above) - max(floor, there) > height:
                if there < floor - climb:
                    return True
                if there <= floor + climb:
                    lowest, highest = min(lowest, there), max(highest, there)
    return highest - lowest > climb
