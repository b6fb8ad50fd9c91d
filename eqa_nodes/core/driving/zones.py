"""Keep-out zones: polygons closed to goals and to the robot, and the mask that Nav2's planner gets for them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.types.floor import GridMap
from eqa_nodes.core.types.geometry import Pose2

_LEAVE_M = 0.1  # a robot that starts in a zone may leave it, but go deeper by at most this
CELL_M = 0.05
SHUT = 100  # value of an OccupancyGrid cell that is lethal for Nav2
_COMMANDED_M_S = 0.05  # slower commands may not overcome friction
_MOVED_M = 0.03  # longer than the noise of localisation
_BEYOND_M = 0.05  # distance of the assumed obstacle from the robot's outline


class Zone(NamedTuple):
    """A polygon without holes in the map frame; corners: (n, 2) x and y in metres."""

    name: str
    corners: np.ndarray


def parsed(texts: Iterable[str]) -> tuple[Zone, ...]:
    """Return the zones of texts "name: x y, x y, x y". Raises ConfigError for an invalid polygon."""
    return tuple(map(_zone, texts))


def _zone(text: str) -> Zone:
    wrong = ConfigError(f"keep_out zone {text!r:.200} is not a polygon: expected \"name: x y, x y, x y\", three "
                        "corners or more in metres that are not on one line")
    name, colon, rest = str(text).partition(":")
    try:
        corners = np.array([[float(number) for number in pair.split()] for pair in rest.split(",")])
    except ValueError as error:
        raise wrong from error
    if not colon or not name.strip() or corners.ndim != 2 or corners.shape[1:] != (2,) or len(corners) < 3:
        raise wrong
    x, y = corners.T
    area = abs(float(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1)))) / 2
    if not (np.isfinite(corners).all() and area > 1e-6):
        raise wrong
    return Zone(name.strip(), corners)


def clearance(zone: Zone, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the distances of points from a zone, metres, negative inside; shape of x and y."""
    nearest = np.full(np.shape(x), np.inf)
    inside = np.zeros(np.shape(x), bool)
    for (ax, ay), (bx, by) in zip(zone.corners, np.roll(zone.corners, -1, axis=0)):
        dx, dy = bx - ax, by - ay
        along = np.clip(((x - ax) * dx + (y - ay) * dy) / max(dx * dx + dy * dy, 1e-12), 0.0, 1.0)
        nearest = np.minimum(nearest, np.hypot(x - ax - along * dx, y - ay - along * dy))
        if dy != 0:
            inside ^= ((ay > y) != (by > y)) & (x < ax + (y - ay) * dx / dy)
    return np.where(inside, -nearest, nearest)


def near(zones: Sequence[Zone], x: float, y: float, margin_m: float) -> str:
    """Return the name of a zone that contains a point or is nearer to it than the margin, "" if there is none."""
    return next((zone.name for zone in zones if clearance(zone, np.float64(x), np.float64(y)) < margin_m), "")


def covered(zones: Sequence[Zone], grid: GridMap, margin_m: float) -> np.ndarray:
    """Return (rows, columns) bool: cells whose centres lie in a zone or within the margin."""
    rows, columns = grid.cells.shape
    x = grid.origin[0] + (np.arange(columns) + 0.5) * grid.resolution_m
    y = grid.origin[1] + (np.arange(rows) + 0.5) * grid.resolution_m
    x, y = np.meshgrid(x, y)
    result = np.zeros(grid.cells.shape, bool)
    for zone in zones:
        result |= clearance(zone, x, y) < margin_m
    return result


class Fence:
    """Watches one drive: the robot has to stop if it comes nearer to a zone than `stop_m`.

    A robot that starts nearer may leave; it has to stop if it goes deeper.
    """

    def __init__(self, zones: Sequence[Zone], stop_m: float) -> None:
        self._zones, self._stop_m = zones, stop_m
        self._least = [math.inf] * len(zones)

    def breached(self, pose: Pose2) -> str:
        """Return why the robot may not be here, "" if it may."""
        for i, zone in enumerate(self._zones):
            gap = float(clearance(zone, np.float64(pose.x), np.float64(pose.y)))
            allowed = min(self._stop_m, gap - _LEAVE_M)
            self._least[i] = allowed if math.isinf(self._least[i]) else max(self._least[i], allowed)
            if gap < self._least[i]:
                return (f"the robot at ({pose.x:.2f}, {pose.y:.2f}) came within {gap:.2f} m of keep-out zone "
                        f"{zone.name!r}, and stops at {self._stop_m:g} m: have Nav2's global costmap use the keepout "
                        "filter, so that it plans round it (docs/nav2.md)")
        return ""


def mask_of(zones: Sequence[Zone], grow_m: float, touched: Sequence[tuple[float, float]], radius_m: float) -> GridMap:
    """Return a mask (cells 0 and SHUT, map frame): the zones grown by grow_m, and discs around the touched points.

    Nav2 does not inflate the cells of the filter, so both are grown for the robot's centre: the discs by radius_m, so
    that the touching robot stays outside. If there is nothing to mark, the mask is one free cell.
    """
    corners = [zone.corners + shift for zone in zones for shift in (-grow_m, grow_m)]
    corners += [np.array([point]) + shift for point in touched for shift in (-radius_m, radius_m)]
    low, high = (np.concatenate(corners).min(0), np.concatenate(corners).max(0)) if corners else (np.zeros(2),) * 2
    first = np.floor(low / CELL_M)
    columns, rows = np.maximum(np.ceil(high / CELL_M) - first, 1).astype(int)
    origin = float(first[0] * CELL_M), float(first[1] * CELL_M)
    grid = GridMap(0, CELL_M, origin, np.zeros((rows, columns), np.int8), np.zeros((rows, columns), bool))
    shut = covered(zones, grid, grow_m)
    y, x = np.ogrid[:rows, :columns]
    for px, py in touched:
        shut |= np.hypot(origin[0] + (x + 0.5) * CELL_M - px, origin[1] + (y + 0.5) * CELL_M - py) < radius_m
    grid.cells[shut] = SHUT
    return grid


def with_mask(grid: GridMap, mask: GridMap) -> GridMap:
    """Return a copy of a map with unknown cells wherever the mask is SHUT, so that no path crosses them."""
    rows, columns = np.indices(grid.cells.shape)
    x = grid.origin[0] + (columns + 0.5) * grid.resolution_m
    y = grid.origin[1] + (rows + 0.5) * grid.resolution_m
    row = np.floor((y - mask.origin[1]) / mask.resolution_m).astype(int)
    column = np.floor((x - mask.origin[0]) / mask.resolution_m).astype(int)
    inside = (row >= 0) & (row < mask.cells.shape[0]) & (column >= 0) & (column < mask.cells.shape[1])
    shut = np.zeros(grid.cells.shape, bool)
    shut[inside] = mask.cells[row[inside], column[inside]] == SHUT
    return replace(grid, cells=np.where(shut, np.int8(-1), grid.cells))


class Touch:
    """Detects that the robot pushes against something: it is commanded forward but does not move.

    The first touch adds a point ahead of the robot. Each further touch adds a row of points across its heading, longer
    by its radius on both sides: a glass pane is wide, and the way around one point leads into it again. Points within
    the robot's radius of a later position are dropped.
    """

    def __init__(self, wait_s: float, radius_m: float) -> None:
        """wait_s: time without motion that counts as a touch, seconds, 0 = never; radius_m: radius of the robot."""
        self._wait_s, self._radius_m = wait_s, radius_m
        self._since: tuple[float, Pose2] | None = None
        self._touches = 0
        self.points: list[tuple[float, float]] = []  # touched points, map frame

    def felt(self, now_s: float, at: Pose2, commanded_m_s: float) -> bool:
        """Update with the current state; return whether the points have changed."""
        before = len(self.points)
        self.points = [(x, y) for x, y in self.points if math.hypot(x - at.x, y - at.y) >= self._radius_m]
        if not (self._wait_s and commanded_m_s >= _COMMANDED_M_S):  # False for NaN
            self._since = None
        elif self._since is None or at.distance(self._since[1]) > _MOVED_M:
            self._since = now_s, at
        elif now_s - self._since[0] >= self._wait_s:
            self._since = None
            self._mark(at)
        return len(self.points) != before

    def _mark(self, at: Pose2) -> None:
        ahead, c, s = self._radius_m + _BEYOND_M, math.cos(at.yaw), math.sin(at.yaw)
        for i in range(-self._touches, self._touches + 1):
            aside = i * self._radius_m
            self.points.append((at.x + ahead * c - aside * s, at.y + ahead * s + aside * c))
        self._touches += 1
