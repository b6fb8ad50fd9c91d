"""Visibility on the map: lines of sight and viewpoints of an object."""

from __future__ import annotations

import math

import numpy as np

from eqa_nodes.core.driving.planning import centre_of
from eqa_nodes.core.policies.steering import ReachableArea, ReachablePose
from eqa_nodes.core.types.floor import Frontier, GridMap
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import ViewAssessment

_FAN = np.radians(np.arange(-60, 61, 15))
_SAMPLES = 24  # minimum number of points on a line of sight


def clear_lines(grid: GridMap, start: tuple[float, float], ends: np.ndarray) -> np.ndarray:
    """Return (n,) bool: whether the line from start to each end (n, 2), map frame, metres, has no occupied cell."""
    if not len(ends):
        return np.zeros(0, bool)
    occupied, _ = _occupied(grid, start, ends)
    return np.logical_not(np.logical_or.reduce(occupied, axis=1))


def in_front_of(grid: GridMap, pose: Pose2, target: tuple[float, float]) -> tuple[float, float]:
    """Return the last point before an obstacle on the line from a pose to a target: the visible side of the target."""
    occupied, share = _occupied(grid, (pose.x, pose.y), np.array([target]))
    last = share[max(0, int(occupied[0].argmax()) - 1)] if occupied.any() else 1.0
    return pose.x + last * (target[0] - pose.x), pose.y + last * (target[1] - pose.y)


def _occupied(grid: GridMap, start: tuple[float, float], ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return occupied cells (n, k) bool at k even steps from start to each end, and the steps (k,), 0..1."""
    delta = ends - np.array(start)
    longest = float(np.hypot(delta[:, 0], delta[:, 1]).max())
    share = np.linspace(0.0, 1.0, max(_SAMPLES, math.ceil(longest / grid.resolution_m)))
    ix = np.floor((start[0] + share * delta[:, :1] - grid.origin[0]) / grid.resolution_m).astype(int)
    iy = np.floor((start[1] + share * delta[:, 1:] - grid.origin[1]) / grid.resolution_m).astype(int)
    rows, columns = grid.cells.shape
    inside = (ix >= 0) & (iy >= 0) & (ix < columns) & (iy < rows)
    occupied = np.zeros(ix.shape, bool)
    occupied[inside] = grid.cells[iy[inside], ix[inside]] == 100
    return occupied, share


def _window(grid: GridMap, middle: tuple[float, float], reach_m: float) -> tuple[slice, slice]:
    """Return the rows and columns within reach of a point."""
    low, high = ([math.floor((m + d - o) / grid.resolution_m) for m, o in zip(middle, grid.origin, strict=True)]
                 for d in (-reach_m, reach_m))
    return slice(max(0, low[1]), max(0, high[1] + 1)), slice(max(0, low[0]), max(0, high[0] + 1))


def all_facing(poses: np.ndarray, x: float, y: float) -> np.ndarray:
    """Return the angles in radians, 0..pi, between the headings of poses (n, 3) and a point, (n,)."""
    turn = np.arctan2(y - poses[:, 1], x - poses[:, 0]) - poses[:, 2]
    return np.abs((turn + math.pi) % math.tau - math.pi)


def facing(pose: Pose2, x: float, y: float) -> float:
    """Return the angle in radians, 0..pi, between the heading of a pose and a point."""
    return abs(math.remainder(math.atan2(y - pose.y, x - pose.x) - pose.yaw, math.tau))


def viewpoint(reach: ReachableArea, view: ViewAssessment, near_m: float, far_m: float) -> ReachablePose | None:
    """Return the nearest place by path, near_m to far_m from a view's target, that sees the side seen in the view.

    None if there is none.
    """
    grid, target = reach.grid, view.target
    assert target is not None
    front = in_front_of(grid, view.pose, target)
    window = _window(grid, target, far_m)
    rows, columns = np.nonzero(np.isfinite(reach.field[window]) & (grid.cells[window] == 0))
    rows, columns = rows + window[0].start, columns + window[1].start
    x, y = grid.origin[0] + (columns + 0.5) * grid.resolution_m, grid.origin[1] + (rows + 0.5) * grid.resolution_m
    off = np.hypot(x - target[0], y - target[1])
    ring = np.flatnonzero((off >= near_m) & (off <= far_m))
    ring = ring[np.argsort(reach.field[rows[ring], columns[ring]], kind="stable")]
    for part in np.array_split(ring, max(1, len(ring) // 64)):  # nearest first: usually one of the first is suitable
        sees = part[clear_lines(grid, front, np.stack([x[part], y[part]], 1))] if len(part) else part
        if len(sees):
            iy, ix = int(rows[sees[0]]), int(columns[sees[0]])
            px, py = centre_of(grid, iy, ix)
            yaw = math.atan2(target[1] - py, target[0] - px)
            return ReachablePose(Pose2(px, py, yaw), float(reach.field[iy, ix]))
    return None


def unexplored_area(grid: GridMap, frontier: Frontier, reach_m: float) -> float:
    """Return the unexplored floor in sight of a frontier, m2: a 120 degree fan around its heading, up to obstacles."""
    r = (np.arange(round(reach_m / grid.resolution_m)) + 1) * grid.resolution_m
    angle = frontier.heading + _FAN[:, None]
    ix = np.floor((frontier.x + r * np.cos(angle) - grid.origin[0]) / grid.resolution_m).astype(int)
    iy = np.floor((frontier.y + r * np.sin(angle) - grid.origin[1]) / grid.resolution_m).astype(int)
    rows, columns = grid.cells.shape
    inside = (ix >= 0) & (iy >= 0) & (ix < columns) & (iy < rows)
    occupied, unexplored = np.zeros(ix.shape, bool), np.ones(ix.shape, bool)
    occupied[inside] = grid.cells[iy[inside], ix[inside]] == 100
    unexplored[inside] = ~grid.explored[iy[inside], ix[inside]]
    unexplored &= ~np.logical_or.accumulate(occupied, axis=1)
    return float((unexplored * r).sum() * grid.resolution_m * (_FAN[1] - _FAN[0]))
