"""Stairs from depth: which surfaces of the voxel map are joined to the floor by steps that the robot can climb.

The map of a floor is a plan, and each of its columns shows one surface. A flood begins on the free floor, or under a
robot that stands on stairs, and goes on from cell to cell where the next surface is at most a step higher or lower and
the robot fits above it. What is joined to the floor so, and rises or falls by more than furniture does, is stairs.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy import ndimage

from eqa_nodes.core.mapping.stair_flood import NONE, beside, flood

_RISE_M = 0.5  # stairs rise or fall by at least this: three steps. Of two, which may lead on, it is only told
_FEW = 4  # at least so many cells of each of these two were seen
_AREA_M2 = 0.3  # and take at least so much of the plan
_STOREY_M = 1.5  # this far above or below the floor, only so much level ground is joined ...
_LANDING_M = 1.5  # ... because beyond it lies another storey, which has a map of its own
_TALL_M = 1.2  # furniture is lower. Up to this height stairs show each step: at least ...
_TREAD, _FLAT = 0.25, 0.6  # ... this share of what those above it show on average, and no height more than this of all
_GAP_M = 3.2  # so many unseen metres are crossed at most: what a camera 1.2 m up does not see of stairs at its feet
_SPAN_M = 0.3  # what was seen of stairs down has to span so much height: a lower floor alone is no stairs


class Climb(NamedTuple):
    """Stairs that were seen from a floor: where they begin and how far they are known, cells (row, column) and metres.

    rise_m: of the end above the floor, negative below it.
    """

    foot: tuple[int, int]
    end: tuple[int, int]
    rise_m: float


class StairLayer(NamedTuple):
    """A floor with its stairs. level: (rows, columns) int16, voxels above the floor, NONE = neither; stairs: bool.

    seen: bool, where a surface was seen, and is not inferred from what is around; holes: bool, where the plan says free
    and only what lies below the floor was seen. climbs: also two steps that may lead on, which are no stairs yet.
    """

    level: np.ndarray
    seen: np.ndarray
    stairs: np.ndarray
    holes: np.ndarray
    climbs: tuple[Climb, ...]


class VoxelBody(NamedTuple):
    """The robot in voxels: the highest step, its height, and its radius in cells."""

    step: int
    height: int
    radius: float


def sheet_of(voxels: np.ndarray, cells: np.ndarray, floor: int, voxel_m: float, body: VoxelBody,
             aloft: tuple[int, int, int] | None) -> StairLayer:
    """Return the floor and the stairs that are joined to it.

    voxels: (rows, columns, layers) int8, above 0 = solid; cells: (rows, columns) int8, the floor's plan; floor: its
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
    """Return whether a raised (or fallen) piece of the sheet is stairs. measured: voxels from the floor, (n,)."""
    return (len(measured) > 0 and cells * voxel_m ** 2 >= _AREA_M2 and measured.max() * voxel_m >= _RISE_M - 1e-9
            and np.ptp(measured) * voxel_m >= _SPAN_M - 1e-9 and not (up and _is_furniture(measured, step, voxel_m)))


def _holes(voxels: np.ndarray, cells: np.ndarray, floor: int, step: int) -> np.ndarray:
    """Return where the plan says free only because the camera looked over it: it looked as deep as a step there.

    (rows, columns) bool. Near the robot the plan takes floor for free that lies below the image.
    """
    rows, columns = np.nonzero(cells == 0)
    free, low = voxels[rows, columns], max(floor - step, 0)
    holes = np.zeros(cells.shape, bool)
    holes[rows, columns] = (free[:, :low + 1] != 0).any(axis=1) & ~(free[:, low:floor + step + 1] > 0).any(axis=1)
    return holes


def _is_furniture(risen: np.ndarray, step: int, voxel_m: float) -> bool:
    """Return whether what was seen of a surface has no steps from the floor on, as a bed or a sofa has none.

    Where a camera looks past a wall, less is seen of each higher step: a step is compared with those above it.
    """
    tall, top = round(_TALL_M / voxel_m), int(risen.max())
    cells = np.bincount(risen[risen > 0], minlength=top + 1)[1:]
    steps = np.convolve(cells, np.ones(step), "valid")
    flat = top < tall and steps.max() > _FLAT * cells.sum()
    steps = steps[:tall]
    from_here_up = steps[::-1].cumsum()[::-1] / np.arange(len(steps), 0, -1)
    return bool(flat or np.any(steps < _TREAD * from_here_up))


def _may_go_on(risen: np.ndarray, unknown: np.ndarray, step: int, voxel_m: float) -> bool:
    """Return whether two steps one behind the other were seen, and not what is behind the upper one.

    risen: (rows, columns), voxels above the floor, 0 = not of it; unknown: same shape, bool.
    """
    low, high = (risen > 0) & (risen <= step), risen > step
    enough = min(np.count_nonzero(low), np.count_nonzero(high)) >= _FEW and risen.max() > step + 1
    return bool(enough and risen.max() * voxel_m < _RISE_M - 1e-9 and (ndimage.binary_dilation(high) & unknown).any())


def _climb(level: np.ndarray, here: np.ndarray, seen: np.ndarray, sign: int, voxel_m: float) -> Climb:
    """Return where stairs begin, and of their highest (lowest) seen cells the middle of those farthest on.

    Stairs down may begin where nothing was seen: the floor hides their first steps.
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
    """Return the plan with its stairs free, and beside them occupied what stands in the way up there."""
    laid = cells.copy()
    laid[sheet.stairs], laid[sheet.holes] = 0, -1
    beside(voxels, sheet.level, sheet.seen, sheet.stairs, floor, body.step, body.height, laid)
    return laid


def body_of(climb_m: float, height_m: float, radius_m: float, voxel_m: float) -> VoxelBody:
    """Return a robot in voxels."""
    return VoxelBody(math.ceil(climb_m / voxel_m - 1e-9), math.ceil(height_m / voxel_m - 1e-9), radius_m / voxel_m)
