"""Keep-out zones: polygons on the floor. Goals inside are refused, and the robot does not enter them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.types.floor import GridMap
from eqa_nodes.core.types.geometry import Pose2

_LEAVE_M = 0.1  # a robot that begins in a zone may leave it, and go deeper by no more than this


class Zone(NamedTuple):
    """A polygon without holes in the map frame; corners: (n, 2) x and y in metres."""

    name: str
    corners: np.ndarray


def parsed(texts: Iterable[str]) -> tuple[Zone, ...]:
    """Return the zones of "name: x y, x y, x y" each. Raises ConfigError for an invalid polygon."""
    return tuple(map(_zone, texts))


def _zone(text: str) -> Zone:
    wrong = ConfigError(f"keep_out zone {text!r:.200} is no polygon: expected \"name: x y, x y, x y\", three corners "
                        "or more in metres that are not on one line")
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
    """Return how far points are from a zone, metres, negative inside; of the shape of x and y."""
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
    """Return the name of a zone that a point lies in or nearer to than the margin, "" where there is none."""
    return next((zone.name for zone in zones if clearance(zone, np.float64(x), np.float64(y)) < margin_m), "")


def covered(zones: Sequence[Zone], grid: GridMap, margin_m: float) -> np.ndarray:
    """Return (rows, columns) bool: the cells whose centres lie in a zone or nearer to it than the margin."""
    rows, columns = grid.cells.shape
    x = grid.origin[0] + (np.arange(columns) + 0.5) * grid.resolution_m
    y = grid.origin[1] + (np.arange(rows) + 0.5) * grid.resolution_m
    x, y = np.meshgrid(x, y)
    result = np.zeros(grid.cells.shape, bool)
    for zone in zones:
        result |= clearance(zone, x, y) < margin_m
    return result


class Fence:
    """Watches one drive: the robot has to stop when it is nearer to a zone than `stop_m`.

    One that begins there may leave: it has to stop when it goes deeper.
    """

    def __init__(self, zones: Sequence[Zone], stop_m: float) -> None:
        self._zones, self._stop_m = zones, stop_m
        self._least = [math.inf] * len(zones)

    def breached(self, pose: Pose2) -> str:
        """Return why the robot may not be here, "" where it may."""
        for i, zone in enumerate(self._zones):
            gap = float(clearance(zone, np.float64(pose.x), np.float64(pose.y)))
            allowed = min(self._stop_m, gap - _LEAVE_M)
            self._least[i] = allowed if math.isinf(self._least[i]) else max(self._least[i], allowed)
            if gap < self._least[i]:
                return (f"the robot at ({pose.x:.2f}, {pose.y:.2f}) came within {gap:.2f} m of keep-out zone "
                        f"{zone.name!r}, and stops at {self._stop_m:g} m: have Nav2's global costmap use the keepout "
                        "filter, so that it plans round it (docs/nav2.md)")
        return ""
