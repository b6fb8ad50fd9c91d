"""Whether two maps fit at a pose: what the views of the one see where the surfaces of the other would be."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from eqa_nodes.core.kernels import njit
from eqa_nodes.core.relocalisation.place import KnownStorey, at, turn
from eqa_nodes.core.types.geometry import Pose2

TOLERANCE_M = 0.1  # a view confirms a surface that is as near to what it sees as this
THROUGH_M = 0.25  # a view that sees so much farther sees through the surface
CONFIRMED, THROUGH = 1, 2
_FARTHEST_M = 7.0  # a view says nothing about what is farther away


class SurfaceFit(NamedTuple):
    """How many surface points (of `place.VOXEL_M`) views of the other map confirm, and see through."""

    confirmed: int
    through: int


def fit(points: np.ndarray, normals: np.ndarray, known: KnownStorey, known_from_seen: Pose2) -> SurfaceFit:
    """Return how surface points and normals (n, 3) float32 of one map fit what the views of another saw."""
    states = counts(points, normals, known, known_from_seen)
    return SurfaceFit(int((states == CONFIRMED).sum()), int((states == THROUGH).sum()))


def counts(points: np.ndarray, normals: np.ndarray, known: KnownStorey, known_from_seen: Pose2) -> np.ndarray:
    """Return (n,) for surface points and normals (n, 3) of one map: CONFIRMED, THROUGH or 0 = not seen by the other."""
    states: np.ndarray = look(at(known_from_seen, points), turn(known_from_seen.yaw, normals), *known.views)
    return states


@njit(nogil=True)
def look(points: np.ndarray, normals: np.ndarray, rotation: np.ndarray, position: np.ndarray, lens: np.ndarray,
         depth_m: np.ndarray, shape: np.ndarray) -> np.ndarray:
    """Return (n,) int64 of points: 1 = some view confirms it, 2 = none does and one sees through it, 0 = unknown.

    Only views that look at the point's front count. Arguments as in Views.
    """
    states = np.zeros(len(points), np.int64)
    for i in range(len(points)):
        x, y, z = points[i]
        for j in range(len(position)):
            dx, dy, dz = x - position[j, 0], y - position[j, 1], z - position[j, 2]
            if dx * normals[i, 0] + dy * normals[i, 1] + dz * normals[i, 2] > -0.05:
                continue
            m = rotation[j]
            ahead = m[0, 2] * dx + m[1, 2] * dy + m[2, 2] * dz
            if ahead < 0.3 or ahead > _FARTHEST_M:
                continue
            right = m[0, 0] * dx + m[1, 0] * dy + m[2, 0] * dz
            down = m[0, 1] * dx + m[1, 1] * dy + m[2, 1] * dz
            column = int(np.floor(lens[j, 0] * right / ahead + lens[j, 2]))
            row = int(np.floor(lens[j, 1] * down / ahead + lens[j, 3]))
            if row < 1 or column < 1 or row >= shape[j, 0] - 1 or column >= shape[j, 1] - 1:
                continue
            nearest, farthest = 1e9, 0.0
            for v in range(row - 1, row + 2):
                for u in range(column - 1, column + 2):
                    d = depth_m[j, v, u]
                    if d == 0.0:
                        nearest = -1.0  # an edge of what returns: nothing is known for sure
                    else:
                        nearest, farthest = min(nearest, d), max(farthest, d)
            if nearest - TOLERANCE_M <= ahead <= farthest + TOLERANCE_M and farthest > 0.0 and (
                    nearest > 0.0 and farthest - nearest < 0.6):
                states[i] = 1
                break
            if ahead < nearest - THROUGH_M:
                states[i] = 2
    return states
