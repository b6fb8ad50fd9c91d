"""Registers depth images to the viewpoint of another camera.

It is apart from the other conversions because its compiled code loads numba, which most processes do not need.
"""

from __future__ import annotations

import math

import numpy as np

from eqa_nodes.core.errors import BadFrame
from eqa_nodes.core.kernels import njit
from eqa_nodes.core.types.geometry import Transform
from eqa_nodes.core.types.views import Intrinsics

_NEAR_M = 0.05  # points closer than this to either camera are not projected
_WIDEST = 16  # pixels; maximum spread of one measurement if the other image is finer


def register(depth_m: np.ndarray, depth_k: Intrinsics, color_k: Intrinsics, color_from_depth: Transform) -> np.ndarray:
    """Return (H, W) float32 depth of the colour camera, metres along its axis, 0 = no measurement.

    depth_m: (h, w) float32, rectified image of the depth camera; only finite, positive values are measurements. Each
    one covers the projected area of its pixel, so that a finer colour image has no holes; the nearest one wins. Raises
    BadFrame if the size of the image differs from its intrinsics, BadPose if the transform is invalid.
    """
    if depth_m.shape != (depth_k.height, depth_k.width) or min(color_k.width, color_k.height) < 1:
        raise BadFrame(f"depth image of {depth_m.shape[::-1]} pixels, its camera_info is of "
                       f"{depth_k.width}x{depth_k.height}, the colour camera's of {color_k.width}x{color_k.height}")
    m = color_from_depth.matrix()
    out = np.zeros((color_k.height, color_k.width), np.float32)
    _splat(np.require(depth_m, np.float32, ("C",)), depth_k.fx, depth_k.fy, depth_k.cx, depth_k.cy,
           np.ascontiguousarray(m[:3, :3]), np.ascontiguousarray(m[:3, 3]),
           color_k.fx, color_k.fy, color_k.cx, color_k.cy, out)
    return out


@njit()
def _splat(depth_m: np.ndarray, fx: float, fy: float, cx: float, cy: float, rotation: np.ndarray, shift: np.ndarray,
           gx: float, gy: float, hx: float, hy: float, out: np.ndarray) -> None:
    """Write each measurement to the pixels of `out` whose centres lie within its projected pixel; the nearest wins."""
    rows, columns = out.shape
    for v in range(depth_m.shape[0]):
        for u in range(depth_m.shape[1]):
            z = np.float64(depth_m[v, u])
            if not (_NEAR_M < z < np.inf):  # false for NaN
                continue
            x, y = (u + 0.5 - cx) / fx * z, (v + 0.5 - cy) / fy * z
            far = rotation[2, 0] * x + rotation[2, 1] * y + rotation[2, 2] * z + shift[2]
            if far <= _NEAR_M:
                continue
            a = gx * (rotation[0, 0] * x + rotation[0, 1] * y + rotation[0, 2] * z + shift[0]) / far + hx
            b = gy * (rotation[1, 0] * x + rotation[1, 1] * y + rotation[1, 2] * z + shift[1]) / far + hy
            half_u, half_v = 0.5 * gx / fx * z / far, 0.5 * gy / fy * z / far
            left, top = max(0.0, math.ceil(a - half_u - 0.5)), max(0.0, math.ceil(b - half_v - 0.5))
            right = min(float(columns), math.ceil(a + half_u - 0.5), left + _WIDEST)
            bottom = min(float(rows), math.ceil(b + half_v - 0.5), top + _WIDEST)
            if not (left < right and top < bottom):
                continue
            depth = np.float32(far)
            for row in range(int(top), int(bottom)):
                for column in range(int(left), int(right)):
                    if out[row, column] == 0 or depth < out[row, column]:
                        out[row, column] = depth
