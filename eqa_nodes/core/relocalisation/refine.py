"""The last centimetres: point-to-plane ICP over x, y and yaw."""

from __future__ import annotations

import math

import numpy as np
from scipy.spatial import cKDTree

from eqa_nodes.core.relocalisation.place import at, turn
from eqa_nodes.core.types.geometry import Pose2

REACHES_M = (0.5, 0.5, 0.4, 0.3, 0.2, 0.2, 0.15, 0.15)  # how far a partner may be, one of each iteration
_FACING = 0.8  # least cosine between the normals of partners
_UPRIGHT = 0.5  # most |z| of a normal: tables and floors say nothing about x, y and yaw


class Walls:
    """The upright surfaces of a map, ready to be searched. points, normals: (n, 3)."""

    def __init__(self, points: np.ndarray, normals: np.ndarray) -> None:
        kept = np.abs(normals[:, 2]) < _UPRIGHT
        self.points, self.normals = points[kept].astype(np.float64), normals[kept].astype(np.float64)
        self.tree = cKDTree(self.points)


def refined(points: np.ndarray, normals: np.ndarray, known: Walls, start: Pose2,
            reaches_m: tuple[float, ...] = REACHES_M) -> Pose2:
    """Return the pose near `start` at which upright surfaces (n, 3) lie best on the known ones."""
    pose = start
    for reach_m in reaches_m:
        here, facing = at(pose, points), turn(pose.yaw, normals)
        far, index = known.tree.query(here, distance_upper_bound=reach_m)
        met = np.isfinite(far)
        if np.count_nonzero(met) < 20:
            return pose
        partner = index[met]
        plane, here, facing = known.normals[partner], here[met], facing[met]
        weight = ((plane * facing).sum(axis=1) > _FACING).astype(float)
        gap = ((known.points[partner] - here) * plane).sum(axis=1)
        weight /= 1.0 + (gap / 0.05) ** 2  # Cauchy: what was moved must not pull
        step = _solved(here[:, :2], plane[:, :2], gap, weight)
        if step is None:
            return pose
        pose = _stepped(pose, step, here[:, :2].mean(axis=0))
    return pose


def _solved(here: np.ndarray, plane: np.ndarray, gap: np.ndarray, weight: np.ndarray) -> np.ndarray | None:
    """Return dx, dy, dyaw about the mean of the points that closes the gaps along the planes best."""
    arm = here - here.mean(axis=0)
    rows = np.column_stack((plane, plane[:, 1] * arm[:, 0] - plane[:, 0] * arm[:, 1]))
    matrix = (rows * weight[:, None]).T @ rows
    if np.linalg.cond(matrix) > 1e6:
        return None  # walls of one direction only: free to slide
    step: np.ndarray = np.linalg.solve(matrix, (rows * (weight * gap)[:, None]).sum(axis=0))
    return step


def _stepped(pose: Pose2, step: np.ndarray, centre: np.ndarray) -> Pose2:
    dx, dy, turned = step.tolist()
    c, s = math.cos(turned), math.sin(turned)
    x, y = pose.x - centre[0], pose.y - centre[1]
    return Pose2(float(centre[0] + c * x - s * y + dx), float(centre[1] + s * x + c * y + dy),
                 math.remainder(pose.yaw + turned, 2 * math.pi))
