"""Floor that the robot has seen but not been to: places to look from, beside frontiers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from eqa_nodes.core.driving.planning import centre_of
from eqa_nodes.core.policies.steering import Reach, ReachablePose
from eqa_nodes.core.types.geometry import Pose2


def unvisited_floor(reach: Reach, visited: Sequence[tuple[float, float]], count: int,
                    apart_m: float) -> list[ReachablePose]:
    """Return at most `count` reachable places, each `apart_m` from those visited and from each other, farthest first.

    visited: x, y in the map frame, metres; at least one. A place faces the way one comes to it.
    """
    rows, columns = np.nonzero(np.isfinite(reach.field))
    grid = reach.grid
    x, y = grid.origin[0] + (columns + 0.5) * grid.resolution_m, grid.origin[1] + (rows + 0.5) * grid.resolution_m
    gap = np.full(len(x), np.inf)
    for at_x, at_y in visited:
        gap = np.minimum(gap, np.hypot(x - at_x, y - at_y))
    found: list[ReachablePose] = []
    while len(found) < count and len(gap) and gap.max() >= apart_m:
        i = int(gap.argmax())
        point = centre_of(grid, int(rows[i]), int(columns[i]))
        yaw = math.atan2(point.y - reach.pose.y, point.x - reach.pose.x)
        found.append(ReachablePose(Pose2(point.x, point.y, yaw), float(reach.field[rows[i], columns[i]])))
        gap = np.minimum(gap, np.hypot(x - point.x, y - point.y))
    return found
