"""The flood over the surfaces of a voxel map that finds stairs: kernels over columns of voxels.

A camera on a robot does not see the steps right below it. So the flood also crosses unseen cells to a lower surface (or
back to the floor) that lies no deeper than steep stairs would lead; those cells get heights in between.
"""

from __future__ import annotations

import numpy as np

from eqa_nodes.core.kernels import njit

NONE, UNSEEN = -1000, -2000  # the level of a column without a joined surface, and of one that shows nothing
_UP = 4  # unseen voxels that are crossed upwards
_STEEP = 1.5  # metres down for each unseen metre, beside one step
_THICK, _WALL = 6, 4  # a surface with so many solid voxels of those below it is no step
_AIR = 3  # in one of so many voxels above a surface air must have been seen


@njit()
def flood(voxels: np.ndarray, cells: np.ndarray, rules: np.ndarray, start: np.ndarray, radius: float,
          level: np.ndarray, seen: np.ndarray) -> None:
    """Fill `level`, and `seen` where a surface was. start: row, column, layer of the robot on stairs, or -1.

    rules: layer of the floor; step and height of the robot, height of a storey in voxels; the longest stretch of level
    ground far from the floor, and of unseen cells.
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
        for iy in range(rows):  # the free floor, all of it at once
            for ix in range(columns):
                if cells[iy, ix] == 0 and level[iy, ix] == NONE:
                    level[iy, ix] = max(surface(voxels[iy, ix], True, floor, floor, step, height), -step)
                    seen[iy, ix] = surface(voxels[iy, ix], False, floor, floor, step, height) != NONE
                    queue[tail] = iy * columns + ix
                    tail += 1
    between(level, gap, step, most)


@njit()
def between(level: np.ndarray, gap: np.ndarray, step: int, most: int) -> None:
    """Give unseen cells that were crossed heights between those of the surfaces on both sides of them, in a line."""
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
    """Give the unseen cells of a path, which ends at a cell, heights between those of the surfaces at its ends."""
    columns, length = level.shape[1], gap[at] + 1
    while level[at // columns, at % columns] == NONE:
        level[at // columns, at % columns] = round(here + (found - here) * gap[at] / length)
        at = origin[at]


@njit()
def across(column: np.ndarray, free: bool, floor: int, near: int, step: int, height: int, gap: int) -> int:
    """Return the level of the surface that is met after crossing unseen cells; UNSEEN where none was seen here either.

    Upwards it can only be near or the floor; NONE: what was seen here is no way on.
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
    """Return the level of the surface of a column that can be stepped on from a layer; NONE where there is none.

    Free floor of which no surface was seen is level.
    """
    for layer in range(min(near + step, len(column) - 1), max(near - step, 0) - 1, -1):
        if column[layer] <= 0:
            continue
        if layer + height >= len(column):  # it is not known what hangs over it
            return NONE
        seen = False
        for above in range(layer + 1, min(layer + 1 + height, len(column))):
            if column[above] > 0:
                return NONE
            seen |= above <= layer + _AIR and column[above] < 0
        under = 0
        for below in range(max(0, layer - _THICK), layer):
            under += column[below] > 0
        if under >= _WALL:  # the upper end of what was seen of a wall
            return NONE
        return layer - floor if seen or free else NONE
    return 0 if free and abs(near - floor) <= step else NONE


@njit()
def beside(voxels: np.ndarray, level: np.ndarray, seen: np.ndarray, stairs: np.ndarray, floor: int, step: int,
           height: int, laid: np.ndarray) -> None:
    """Mark cells beside stairs that the robot's body would meet, and edges of the stairs that it would fall over."""
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
