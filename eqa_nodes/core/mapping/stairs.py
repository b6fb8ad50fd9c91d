"""Finds stairs in depth: surfaces of the voxel map that are connected to the floor by steps the robot can climb.

The map of a floor is 2D, so each of its columns has one surface. A flood fill starts on the free floor, or below a
robot that stands on stairs, and continues to a neighbouring cell if its surface is at most one step higher or lower
and the robot fits above it. Connected surfaces that rise or fall by more than furniture does are stairs.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy import ndimage

from eqa_nodes.core.kernels import njit

NONE, UNSEEN = -1000, -2000  # levels of a column without a connected surface, and of one without any surface
_UP = 4  # maximum number of unseen voxels to cross when climbing
_STEEP = 1.5  # maximum fall per unseen metre, in metres, in addition to one step
_THICK, _WALL = 6, 4  # a surface with this many solid voxels (_WALL) among those below it (_THICK) is not a step
_AIR = 3  # air must have been seen in one of this many voxels above a surface
_RISE_M = 0.5  # minimum rise or fall of stairs: three steps. Two steps are only reported as a possible beginning
_FEW = 4  # minimum number of cells seen of each of these two steps
_AREA_M2 = 0.3  # minimum area of stairs on the map
_STOREY_M = 1.5  # farther than this above or below the floor, only this much level ground is connected ...
_LANDING_M = 1.5  # ... because it belongs to another storey, which has its own map
_TALL_M = 1.2  # maximum height of furniture. Up to here stairs show every step: each has at least ...
_TREAD, _FLAT = 0.25, 0.6  # ... this share of the mean of the steps above it, and at most this share of all cells
_GAP_M = 3.2  # maximum unseen distance to cross: what a camera 1.2 m above the floor cannot see of stairs at its feet
_SPAN_M = 0.3  # minimum height range seen of stairs down: a lower floor alone is not stairs


@njit()
def flood(voxels: np.ndarray, cells: np.ndarray, rules: np.ndarray, start: np.ndarray, radius: float,
          level: np.ndarray, seen: np.ndarray) -> None:
    """Fill `level`, and `seen` if a surface was seen. start: row, column, layer of a robot on stairs, else -1.

    rules: layer of the floor; step and height of the robot, and height of a storey, in voxels; the longest stretch, in
    cells, of level ground far from the floor, and of unseen cells.
    """
    floor, step, height, storey, landing, most = rules
    rows, columns = cells.shape
    size = rows * columns
    queue, flat, gap = np.empty(3 * size, np.int64), np.zeros(size, np.int32), np.zeros(size, np.int32)
    origin, tail, head = np.full(size, -1, np.int64), 0, 0
    if start[0] >= 0:
        reach = int(np.ceil(radius))
        for iy in range(max(0, start[0] - reach), min(rows, start[0] + reach + 1)):
            for ix in range(max(0, start[1] - reach), min(columns, start[1] + reach + 1)):
                if (iy - start[0]) ** 2 + (ix - start[1]) ** 2 <= radius * radius:
                    level[iy, ix] = start[2] - floor
                    queue[tail] = iy * columns + ix
                    tail += 1
    for _ in range(2):
        while head < tail:
            at = queue[head]
            head += 1
            iy, ix = at // columns, at % columns
            crossing = level[iy, ix] == NONE
            behind = at
            while crossing and gap[behind] > 0 and level[behind // columns, behind % columns] == NONE:
                behind = origin[behind]
            here = level[behind // columns, behind % columns]
            for k in range(4):
                ny, nx = iy + (1, -1, 0, 0)[k], ix + (0, 0, 1, -1)[k]
                if not (0 <= ny < rows and 0 <= nx < columns) or level[ny, nx] != NONE:
                    continue
                there, free = ny * columns + nx, cells[ny, nx] == 0
                found = surface(voxels[ny, nx], free, floor, floor + here, step, height)
                if found == NONE or crossing:
                    found = across(voxels[ny, nx], free, floor, floor + here, step, height, gap[at] + 1)
                    if found == NONE:
                        continue
                if found == UNSEEN:
                    if gap[at] < most and gap[there] == 0 and not (free and start[0] < 0):
                        gap[there], origin[there] = gap[at] + 1, at
                        queue[tail] = there
                        tail += 1
                    continue
                on = flat[behind] + 1 if found == here and abs(found) >= storey else 0
                if on > landing:
                    continue
                level[ny, nx], flat[there] = found, on
                seen[ny, nx] = surface(voxels[ny, nx], False, floor, floor + found, 0, height) != NONE
                queue[tail] = there
                tail += 1
                if crossing:
                    bridge(level, origin, gap, at, here, found)
        for iy in range(rows):  # the whole free floor at once
            for ix in range(columns):
                if cells[iy, ix] == 0 and level[iy, ix] == NONE:
                    level[iy, ix] = max(surface(voxels[iy, ix], True, floor, floor, step, height), -step)
                    seen[iy, ix] = surface(voxels[iy, ix], False, floor, floor, step, height) != NONE
                    queue[tail] = iy * columns + ix
                    tail += 1
    between(level, gap, step, most)


@njit()
def between(level: np.ndarray, gap: np.ndarray, step: int, most: int) -> None:
    """Fill crossed unseen cells with heights interpolated along rows and columns between the surfaces on both sides."""
    rows, columns = level.shape
    for line in range(rows + columns):
        along_row = line < rows
        length, last, run = columns if along_row else rows, NONE, 0
        for i in range(length):
            iy, ix = (line, i) if along_row else (i, line - rows)
            if level[iy, ix] == NONE:
                run += 1
                if gap[iy * columns + ix] == 0 or run > most:
                    last = NONE
                continue
            fall = level[iy, ix] - last
            if run > 0 and last != NONE and step <= abs(fall) <= step + int(_STEEP * (run + 1)):
                for back in range(1, run + 1):
                    by, bx = (iy, ix - back) if along_row else (iy - back, ix)
                    level[by, bx] = round(level[iy, ix] - fall * back / (run + 1))
            last, run = level[iy, ix], 0


@njit()
def bridge(level: np.ndarray, origin: np.ndarray, gap: np.ndarray, at: int, here: int, found: int) -> None:
    """Fill the unseen cells of a path with heights interpolated between the surfaces at its ends."""
    columns, length = level.shape[1], gap[at] + 1
    while level[at // columns, at % columns] == NONE:
        level[at // columns, at % columns] = round(here + (found - here) * gap[at] / length)
        at = origin[at]


@njit()
def across(column: np.ndarray, free: bool, floor: int, near: int, step: int, height: int, gap: int) -> int:
    """Return the level of the surface after crossing unseen cells; UNSEEN if this column shows none either.

    Upwards only a surface nearby or the floor counts; NONE: the robot cannot continue over what was seen here.
    """
    reach = step + int(_STEEP * gap)
    for layer in range(min(near + height, len(column) - 1), -1, -1):
        if column[layer] <= 0:
            continue
        if layer >= near:
            if free and abs(layer - floor) <= step and layer - near <= reach:
                return layer - floor
            near_by = gap <= _UP and layer - near <= step + gap // 2
            return surface(column, False, floor, layer, 0, height) if near_by else NONE
        if near - layer > reach:
            return NONE
        return surface(column, free, floor, layer, 0, height)
    return UNSEEN


@njit()
def surface(column: np.ndarray, free: bool, floor: int, near: int, step: int, height: int) -> int:
    """Return the level of the surface of a column that can be reached in one step from a layer; NONE if there is none.

    Free floor without a seen surface counts as level.
    """
    for layer in range(min(near + step, len(column) - 1), max(near - step, 0) - 1, -1):
        if column[layer] <= 0:
            continue
        if layer + height >= len(column):  # the space above it is unknown
            return NONE
        seen = False
        for above in range(layer + 1, min(layer + 1 + height, len(column))):
            if column[above] > 0:
                return NONE
            seen |= above <= layer + _AIR and column[above] < 0
        under = 0
        for below in range(max(0, layer - _THICK), layer):
            under += column[below] > 0
        if under >= _WALL:  # the upper end of the seen part of a wall
            return NONE
        return layer - floor if seen or free else NONE
    return 0 if free and abs(near - floor) <= step else NONE


@njit()
def beside(voxels: np.ndarray, level: np.ndarray, seen: np.ndarray, stairs: np.ndarray, floor: int, step: int,
           height: int, laid: np.ndarray) -> None:
    """Mark as occupied: cells beside stairs that the robot's body would hit, and edges that it would fall over."""
    rows, columns = laid.shape
    for iy in range(rows):
        for ix in range(columns):
            if not stairs[iy, ix]:
                continue
            for ny in range(max(0, iy - 1), min(rows, iy + 2)):
                for nx in range(max(0, ix - 1), min(columns, ix + 2)):
                    if stairs[ny, nx]:
                        continue
                    if level[ny, nx] != NONE and laid[ny, nx] == 0:
                        if seen[ny, nx] and abs(level[ny, nx] - level[iy, ix]) > 2 * step:
                            laid[iy, ix] = 100
                        continue
                    low = floor + level[iy, ix] + step + 1
                    for layer in range(max(low, 0), min(low + height - step, voxels.shape[2])):
                        if voxels[ny, nx, layer] > 0:
                            laid[ny, nx] = 100
                            break


class Climb(NamedTuple):
    """Stairs seen from a floor: where they begin and how far they are known, cells (row, column) and metres.

    rise_m: height of their end above the floor, negative if below.
    """

    foot: tuple[int, int]
    end: tuple[int, int]
    rise_m: float


class StairLayer(NamedTuple):
    """A floor and its stairs. level: (rows, columns) int16, voxels above the floor, NONE = neither; stairs: bool.

    seen: bool, a surface was seen and not inferred from its surroundings; holes: bool, cells that the map calls free
    although only something below the floor was seen. climbs: stairs, and pairs of steps that may turn out to be stairs.
    """

    level: np.ndarray
    seen: np.ndarray
    stairs: np.ndarray
    holes: np.ndarray
    climbs: tuple[Climb, ...]


class VoxelBody(NamedTuple):
    """The robot in voxels: highest step and height; and its radius in cells."""

    step: int
    height: int
    radius: float


def sheet_of(voxels: np.ndarray, cells: np.ndarray, floor: int, voxel_m: float, body: VoxelBody,
             aloft: tuple[int, int, int] | None) -> StairLayer:
    """Return the floor and the stairs connected to it.

    voxels: (rows, columns, layers) int8, above 0 = solid; cells: (rows, columns) int8, 2D map of the floor; floor: its
    layer. aloft: row, column and layer of a robot that stands on stairs.
    """
    level, seen = np.full(cells.shape, NONE, np.int16), np.zeros(cells.shape, bool)
    holes = _holes(voxels, cells, floor, body.step)
    cells = np.where(holes, np.int8(-1), cells)
    start = np.full(3, -1, np.int64) if aloft is None else np.array(aloft)
    rules = np.array([floor, body.step, body.height, round(_STOREY_M / voxel_m), round(_LANDING_M / voxel_m),
                      round(_GAP_M / voxel_m)])
    flood(voxels, cells, rules, start, body.radius, level, seen)
    stairs, climbs, unknown = np.zeros(cells.shape, bool), list[Climb](), cells < 0
    for sign in (1, -1):
        raised = (level != NONE) & (cells != 0 if aloft is None else np.abs(level) > 1) & (sign * level > 0)
        groups, _ = ndimage.label(raised, np.ones((3, 3)))
        for number, box in enumerate(ndimage.find_objects(groups), 1):
            here = np.zeros(cells.shape, bool)
            here[box] = groups[box] == number
            if _is_stairs(sign * level[here & seen], int(np.count_nonzero(here)), sign > 0, body.step, voxel_m):
                stairs |= here
            elif sign < 0 or not _may_go_on(np.where(here & seen, level, 0), unknown, body.step, voxel_m):
                continue
            climbs.append(_climb(level, here, seen, sign, voxel_m))
    return StairLayer(level, seen, stairs, holes & ~stairs, tuple(climbs))


def _is_stairs(measured: np.ndarray, cells: int, up: bool, step: int, voxel_m: float) -> bool:
    """Return whether a raised (or lowered) part of the surface is stairs. measured: (n,) voxels above the floor."""
    return (len(measured) > 0 and cells * voxel_m ** 2 >= _AREA_M2 and measured.max() * voxel_m >= _RISE_M - 1e-9
            and np.ptp(measured) * voxel_m >= _SPAN_M - 1e-9 and not (up and _is_furniture(measured, step, voxel_m)))


def _holes(voxels: np.ndarray, cells: np.ndarray, floor: int, step: int) -> np.ndarray:
    """Return (rows, columns) bool: cells that the map calls free although the camera saw a step below the floor.

    Near the robot the map assumes that floor below the image is free.
    """
    rows, columns = np.nonzero(cells == 0)
    free, low = voxels[rows, columns], max(floor - step, 0)
    holes = np.zeros(cells.shape, bool)
    holes[rows, columns] = (free[:, :low + 1] != 0).any(axis=1) & ~(free[:, low:floor + step + 1] > 0).any(axis=1)
    return holes


def _is_furniture(risen: np.ndarray, step: int, voxel_m: float) -> bool:
    """Return whether a surface lacks steps that start at the floor, as a bed or a sofa does.

    A camera that looks past a wall sees less of each higher step: a step is compared with those above it.
    """
    tall, top = round(_TALL_M / voxel_m), int(risen.max())
    cells = np.bincount(risen[risen > 0], minlength=top + 1)[1:]
    steps = np.convolve(cells, np.ones(step), "valid")
    flat = top < tall and steps.max() > _FLAT * cells.sum()
    steps = steps[:tall]
    from_here_up = steps[::-1].cumsum()[::-1] / np.arange(len(steps), 0, -1)
    return bool(flat or np.any(steps < _TREAD * from_here_up))


def _may_go_on(risen: np.ndarray, unknown: np.ndarray, step: int, voxel_m: float) -> bool:
    """Return whether two consecutive steps were seen, and the space behind the upper one was not.

    risen: (rows, columns), voxels above the floor, 0 = not part of it; unknown: same shape, bool.
    """
    low, high = (risen > 0) & (risen <= step), risen > step
    enough = min(np.count_nonzero(low), np.count_nonzero(high)) >= _FEW and risen.max() > step + 1
    return bool(enough and risen.max() * voxel_m < _RISE_M - 1e-9 and (ndimage.binary_dilation(high) & unknown).any())


def _climb(level: np.ndarray, here: np.ndarray, seen: np.ndarray, sign: int, voxel_m: float) -> Climb:
    """Return where stairs begin and end; the end is the middle of the farthest among their highest (lowest) seen cells.

    Stairs down may begin in unseen cells, because the floor hides their first steps.
    """
    rows, columns = np.nonzero(here & seen if sign > 0 else here)
    risen = sign * level[rows, columns]
    foot = int(rows[risen.argmin()]), int(columns[risen.argmin()])
    on = seen[rows, columns]
    rows, columns, risen = rows[on], columns[on], risen[on]
    top = np.flatnonzero(risen >= risen.max() - 1)
    away = np.hypot(rows[top] - foot[0], columns[top] - foot[1])
    far = top[away >= away.max() - 2]
    middle = far[int(np.hypot(rows[far] - rows[far].mean(), columns[far] - columns[far].mean()).argmin())]
    return Climb(foot, (int(rows[middle]), int(columns[middle])), sign * int(risen.max()) * voxel_m)


def laid_over(sheet: StairLayer, voxels: np.ndarray, cells: np.ndarray, floor: int, body: VoxelBody) -> np.ndarray:
    """Return the 2D map with the stairs free, and cells beside them occupied if the robot would collide there."""
    laid = cells.copy()
    laid[sheet.stairs], laid[sheet.holes] = 0, -1
    beside(voxels, sheet.level, sheet.seen, sheet.stairs, floor, body.step, body.height, laid)
    return laid


def body_of(climb_m: float, height_m: float, radius_m: float, voxel_m: float) -> VoxelBody:
    """Return the size of a robot in voxels."""
    return VoxelBody(math.ceil(climb_m / voxel_m - 1e-9), math.ceil(height_m / voxel_m - 1e-9), radius_m / voxel_m)
