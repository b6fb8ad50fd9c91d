"""Converts a depth image to the scan of a planar laser scanner: the nearest obstacle in each direction."""

from __future__ import annotations

import math

import numpy as np

from eqa_nodes.core.kernels import njit
from eqa_nodes.core.mapping.config import ScanConfig
from eqa_nodes.core.types.geometry import Transform
from eqa_nodes.core.types.views import Intrinsics, PlanarScan

PIXELS = 2.0  # width of one beam in pixels at the image centre, so that no beam falls between two pixels


def base_from_scan(base_from_camera: Transform, frame_m: float) -> Transform:
    """Return the transform to the scan frame: upright, `frame_m` metres above the floor, heading like the camera."""
    yaw = _heading(base_from_camera.matrix())
    return Transform((*base_from_camera.xyz[:2], frame_m), (0.0, 0.0, math.sin(yaw / 2), math.cos(yaw / 2)))


def _heading(base_from_camera: np.ndarray) -> float:
    """Return the heading of the optical axis about the vertical axis of the base, radians."""
    return math.atan2(base_from_camera[1, 2], base_from_camera[0, 2])


def scan_of(depth_m: np.ndarray, k: Intrinsics, base_from_camera: Transform, band: ScanConfig) -> PlanarScan:
    """Return the nearest point within the band for each direction that the camera sees at its own height.

    The lower end of the band is `low_m` plus `tilt_error_deg` of the distance: near the camera low things such as a
    shower tray are obstacles, while far away the floor is not mistaken for an obstacle.

    depth_m: (H, W) float32, metres along the optical axis, 0 = no return. band: result of ScanConfig.of.
    The scan is in the frame of base_from_scan.
    """
    pose = base_from_camera.matrix()
    yaw = _heading(pose)
    level = math.hypot(pose[0, 2], pose[1, 2])  # cosine of the camera's tilt
    step = PIXELS / k.fx
    # Rows above or below the camera's height cover wider angles, but not the whole band there.
    right, left = -math.atan((k.width - k.cx) / k.fx * level), math.atan(k.cx / k.fx * level)
    beams = max(1, int((left - right) / step))
    first = (right + left - (beams - 1) * step) / 2
    turned = np.array([[math.cos(yaw), math.sin(yaw), 0.0], [-math.sin(yaw), math.cos(yaw), 0.0], [0.0, 0.0, 1.0]])
    ranges = _nearest(np.ascontiguousarray(depth_m, np.float32), k.fx, k.fy, k.cx, k.cy, turned @ pose[:3, :3],
                      float(pose[2, 3]), band.low_m, math.tan(math.radians(band.tilt_error_deg)), band.high_m,
                      first, step, beams)
    ranges[ranges > band.max_range_m] = np.inf
    ranges[ranges < band.min_range_m] = -np.inf
    return PlanarScan(ranges, first, step, band.min_range_m, band.max_range_m)


@njit()
def _nearest(depth: np.ndarray, fx: float, fy: float, cx: float, cy: float, turn: np.ndarray, height: float,
             low: float, rise: float, high: float, first: float, step: float, beams: int) -> np.ndarray:
    """Return for each beam the smallest range r in metres of points from low + rise * r to high; inf = none."""
    ranges = np.full(beams, np.inf, np.float32)
    for v in range(depth.shape[0]):
        for u in range(depth.shape[1]):
            d = depth[v, u]
            if not 0.0 < d < np.inf:
                continue
            a, b = (u + 0.5 - cx) / fx, (v + 0.5 - cy) / fy
            z = height + d * (turn[2, 0] * a + turn[2, 1] * b + turn[2, 2])
            if not low <= z <= high:
                continue  # skips most pixels before the slower steps
            x = d * (turn[0, 0] * a + turn[0, 1] * b + turn[0, 2])
            y = d * (turn[1, 0] * a + turn[1, 1] * b + turn[1, 2])
            distance = np.hypot(x, y)
            beam = int(np.floor((np.arctan2(y, x) - first) / step + 0.5))
            if 0 <= beam < beams and z >= low + rise * distance:
                ranges[beam] = min(ranges[beam], np.float32(distance))
    return ranges
