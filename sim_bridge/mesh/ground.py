"""The compact heightfield: walkable cells on all storeys, their connections, clearance, and driving on them."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.kernels import njit
from sim_bridge.mesh.heightfield import CELL_M, Heightfield, ceilings

WALL_M = -CELL_M / 2  # the clearance at the centre of a cell that is not walkable
NONE = -1
_SIDES = ((1, 0), (0, 1), (-1, 0), (0, -1))  # in the order of CompactHeightfield.links
_AROUND = ((1.0, 0.0), (0.7071, 0.7071), (0.0, 1.0), (-0.7071, 0.7071), (-1.0, 0.0), (-0.7071, -0.7071), (0.0, -1.0),
           (0.7071, -0.7071))
_OTHER_FLOOR_M = 0.3  # neighbouring places whose heights differ by more belong to different floors
_EPS_M = 1e-3
_ROUNDS = 32  # maximum rounds of distance propagation: floors that wind over themselves need several
_FAR = 1_000_000


class CompactHeightfield(NamedTuple):
    """The walkable places of a heightfield, column by column in ascending order.

    x0, y0, rows, columns, start: as in Heightfield; column (n,) int32; z (n,) float32 metres; links (n, 4) int32: the
    neighbour in +x, +y, -x, -y that is reached without a high step, -1 = none; clear (n,) float32: metres from the
    place's centre to the border of the nearest cell without such a place (WALL_M: not walkable after all).
    """

    x0: float
    y0: float
    rows: int
    columns: int
    start: np.ndarray
    column: np.ndarray
    z: np.ndarray
    links: np.ndarray
    clear: np.ndarray


def ground_of(field: Heightfield, climb_m: float, height_m: float) -> CompactHeightfield:
    """Return the places of a filtered heightfield for a robot with this climb and height, metres."""
    flat = np.nonzero(field.walkable)[0]
    start = np.concatenate([[0], np.cumsum(field.walkable)])[field.start]
    column = (np.searchsorted(field.start, flat, side="right") - 1).astype(np.int32)
    z, roof = field.high[flat], ceilings(field)[flat]
    links = _links(field.rows, field.columns, start, column, z, roof, climb_m + _EPS_M, height_m)
    bare = CompactHeightfield(field.x0, field.y0, field.rows, field.columns, start, column, z, links,
                              np.empty(0, np.float32))
    return bare._replace(clear=_clearance(bare))


@njit(nogil=True)
def _links(rows: int, columns: int, start: np.ndarray, column: np.ndarray, z: np.ndarray, roof: np.ndarray,
           climb: float, height: float) -> np.ndarray:
    links = np.full((len(z), 4), NONE, np.int32)
    for at in range(len(z)):
        row, col = column[at] // columns, column[at] % columns
        for side in range(4):
            r, c = row + _SIDES[side][1], col + _SIDES[side][0]
            if r < 0 or c < 0 or r >= rows or c >= columns:
                continue
            for other in range(start[r * columns + c], start[r * columns + c + 1]):
                open_m = min(roof[at], roof[other]) - max(z[at], z[other])
                if open_m >= height and abs(z[at] - z[other]) <= climb:
                    links[at, side] = other
                    break
    return links


@njit(nogil=True)
def step(ground: CompactHeightfield, at: int, dx: int, dy: int) -> int:
    """Return the neighbouring place (dx, dy: -1, 0, 1); diagonals lead over either side; -1 = none."""
    if dx == 0 and dy == 0:
        return at
    if dy == 0:
        return ground.links[at, 1 - dx]
    across = ground.links[at, 2 - dy]
    if dx == 0:
        return across
    along = ground.links[at, 1 - dx]
    if along != NONE and ground.links[along, 2 - dy] != NONE:
        return ground.links[along, 2 - dy]
    return NONE if across == NONE else ground.links[across, 1 - dx]


@njit(nogil=True)
def _clearance(ground: CompactHeightfield) -> np.ndarray:
    """Return (n,) float32 metres from the centre of each place to the border of the nearest cell without a place.

    The nearest cells are propagated over the links, in alternating directions, until no distance decreases.
    """
    n = len(ground.z)
    away = np.full((n, 2), _FAR, np.int32)  # offset from each place to its nearest cell without a place, cells
    for at in range(n):
        for dy in range(-1, 2):
            for dx in range(-1, 2):
                if step(ground, at, dx, dy) == NONE and _nearer(dx, dy, away[at]):
                    away[at, 0], away[at, 1] = dx, dy
    for _ in range(_ROUNDS):
        changed = False
        for k in range(2 * n):
            at, sign = (k, -1) if k < n else (2 * n - 1 - k, 1)
            for sx, sy in ((1, 0), (0, 1), (1, 1), (-1, 1)):
                dx, dy = sign * sx, sign * sy
                other = step(ground, at, dx, dy)
                if other != NONE and away[other, 0] != _FAR:
                    x, y = away[other, 0] + dx, away[other, 1] + dy
                    if _nearer(x, y, away[at]):
                        away[at, 0], away[at, 1] = x, y
                        changed = True
        if not changed:
            break
    clear = np.empty(n, np.float32)
    for at in range(n):
        clear[at] = CELL_M / 2 * math.sqrt(_squared(away[at, 0], away[at, 1]))
    return clear


@njit(nogil=True)
def _squared(dx: int, dy: int) -> int:
    """Return the squared distance from the centre of a cell to the border of another, in half cells."""
    x, y = max(2 * abs(np.int64(dx)) - 1, 0), max(2 * abs(np.int64(dy)) - 1, 0)
    return x * x + y * y


@njit(nogil=True)
def _nearer(dx: int, dy: int, known: np.ndarray) -> bool:
    return _squared(dx, dy) < _squared(known[0], known[1])


@njit(nogil=True)
def areas_of(ground: CompactHeightfield, standing: np.ndarray) -> np.ndarray:
    """Return (n,) int32: the connected area of each standing place, numbered from 1 in order of place; 0 = none."""
    area = np.zeros(len(standing), np.int32)
    stack = np.empty(len(standing), np.int32)
    count = 0
    for first in range(len(standing)):
        if not standing[first] or area[first]:
            continue
        count += 1
        stack[0], size, area[first] = first, 1, count
        while size:
            size -= 1
            at = stack[size]
            for side in range(4):
                other = ground.links[at, side]
                if other != NONE and standing[other] and not area[other]:
                    area[other] = count
                    stack[size] = other
                    size += 1
    return area


@njit(nogil=True)
def _corners(ground: CompactHeightfield, at: int, x: float, y: float) -> tuple[float, float]:
    """Return clearance and height at a point in the cell of place `at`, bilinear between the centres of four cells."""
    column = ground.column[at] % ground.columns
    row = ground.column[at] // ground.columns
    fx, fy = (x - ground.x0) / CELL_M - column - 0.5, (y - ground.y0) / CELL_M - row - 0.5  # from the centre
    sx, sy = (1 if fx >= 0 else -1), (1 if fy >= 0 else -1)
    fx, fy = min(abs(fx), 1.0), min(abs(fy), 1.0)
    clear = z = 0.0
    for dx, dy, weight in ((0, 0, (1 - fx) * (1 - fy)), (sx, 0, fx * (1 - fy)), (0, sy, (1 - fx) * fy),
                           (sx, sy, fx * fy)):
        other = step(ground, at, dx, dy)
        clear += weight * (WALL_M if other == NONE else ground.clear[other])
        z += weight * ground.z[at if other == NONE else other]
    return clear, z


@njit(nogil=True)
def clearance(ground: CompactHeightfield, at: int, x: float, y: float) -> float:
    """Return the clearance at a point in the cell of place `at`, metres."""
    return _corners(ground, at, x, y)[0]


@njit(nogil=True)
def height(ground: CompactHeightfield, at: int, x: float, y: float) -> float:
    """Return the height of the floor at a point in the cell of place `at`, metres."""
    return _corners(ground, at, x, y)[1]


@njit(nogil=True)
def cell_of(ground: CompactHeightfield, x: float, y: float) -> int:
    """Return the column that a point lies in, -1 off the map."""
    column, row = math.floor((x - ground.x0) / CELL_M), math.floor((y - ground.y0) / CELL_M)
    inside = 0 <= row < ground.rows and 0 <= column < ground.columns
    return row * ground.columns + column if inside else NONE


@njit(nogil=True)
def place_at(ground: CompactHeightfield, x: float, y: float, z: float, reach: float, radius: float) -> int:
    """Return the place at a point whose height is nearest to z, within `reach`, with clearance >= radius; -1 = none."""
    cell = cell_of(ground, x, y)
    best, nearest = NONE, reach
    if cell != NONE:
        for at in range(ground.start[cell], ground.start[cell + 1]):
            gap = abs(ground.z[at] - z)
            if gap <= nearest and clearance(ground, at, x, y) >= radius:
                best, nearest = at, gap
    return best


@njit(nogil=True)
def widened(ground: CompactHeightfield, chosen: np.ndarray) -> np.ndarray:
    """Return (n,) bool: the chosen places and their neighbours, diagonal ones included."""
    out = np.zeros(len(chosen), np.bool_)
    for at in range(len(chosen)):
        for dy in range(-1, 2):
            for dx in range(-1, 2):
                other = step(ground, at, dx, dy)
                if other != NONE and chosen[other]:
                    out[at] = True
    return out


@njit(nogil=True)
def foot(ground: CompactHeightfield, chosen: np.ndarray, x: float, y: float, z: float, reach: float, radius: float,
         within: float) -> tuple[int, float, float]:
    """Return the chosen place and point within `within` of x, y with clearance >= radius; -1 = none.

    It lies on the floor whose height is nearest to z, within `reach`, and is that floor's nearest point to x, y.
    """
    best, nearest, best_x, best_y = NONE, reach, x, y
    for k in range(2 * len(_AROUND) + 1):
        far, (along, across) = within * ((k + len(_AROUND) - 1) // len(_AROUND)) / 2, _AROUND[k % len(_AROUND)]
        px, py = x + far * along, y + far * across
        cell = cell_of(ground, px, py)
        if cell == NONE:
            continue
        limit = nearest if best == NONE else nearest - _OTHER_FLOOR_M
        for at in range(ground.start[cell], ground.start[cell + 1]):
            gap = abs(ground.z[at] - z)
            if chosen[at] and gap <= limit and clearance(ground, at, px, py) >= radius:
                best, nearest, limit, best_x, best_y = at, gap, gap, px, py
    return best, best_x, best_y


@njit(nogil=True)
def follow(ground: CompactHeightfield, at: int, x: float, y: float) -> int:
    """Return the place at a nearby point, followed cell by cell from place `at` over the same floor; -1 = none."""
    column, row = math.floor((x - ground.x0) / CELL_M), math.floor((y - ground.y0) / CELL_M)
    while at != NONE:
        dx, dy = column - ground.column[at] % ground.columns, row - ground.column[at] // ground.columns
        if dx == 0 and dy == 0:
            break
        at = step(ground, at, min(max(dx, -1), 1), min(max(dy, -1), 1))
    return at


@njit(nogil=True)
def _room(ground: CompactHeightfield, at: int, x: float, y: float) -> float:
    """Return the clearance at a point near place `at`, WALL_M if no floor leads there."""
    there = follow(ground, at, x, y)
    return WALL_M if there == NONE else clearance(ground, there, x, y)


@njit(nogil=True)
def hop(ground: CompactHeightfield, at: int, x: float, y: float, dx: float, dy: float, radius: float, slide: bool
        ) -> tuple[int, float, float]:
    """Return the place and point where a small step ends: its target, a slide along the obstacle, or its start."""
    if _room(ground, at, x + dx, y + dy) >= radius:
        return follow(ground, at, x + dx, y + dy), x + dx, y + dy
    if not slide:
        return at, x, y
    asked = math.hypot(dx, dy)
    gx = _room(ground, at, x + dx + CELL_M, y + dy) - _room(ground, at, x + dx - CELL_M, y + dy)
    gy = _room(ground, at, x + dx, y + dy + CELL_M) - _room(ground, at, x + dx, y + dy - CELL_M)
    norm = math.hypot(gx, gy)
    if norm > 1e-9:
        gx, gy = gx / norm, gy / norm
        into = dx * gx + dy * gy
        if into < 0:
            dx, dy = dx - into * gx, dy - into * gy
        lack = radius - _room(ground, at, x + dx, y + dy)
        if lack > 0:
            dx, dy = dx + (lack + 1e-4) * gx, dy + (lack + 1e-4) * gy
    length = math.hypot(dx, dy)
    if length < 0.15 * asked or length > 1.5 * asked or _room(ground, at, x + dx, y + dy) < radius:
        return at, x, y
    return follow(ground, at, x + dx, y + dy), x + dx, y + dy


@njit(nogil=True)
def straight(ground: CompactHeightfield, at: int, x: float, y: float, to_x: float, to_y: float, radius: float) -> int:
    """Return the place that is reached by driving straight to a point, -1 if an obstacle is in the way."""
    pieces = max(1, math.ceil(math.hypot(to_x - x, to_y - y) / CELL_M * 2))
    for k in range(pieces + 1):
        px, py = x + (to_x - x) * k / pieces, y + (to_y - y) * k / pieces
        at = follow(ground, at, px, py)
        if at == NONE or clearance(ground, at, px, py) < radius:
            return NONE
    return at
