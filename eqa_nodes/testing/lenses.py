"""Distorts undistorted images like a lens, for imitated cameras: inverts the distortion formula of CameraInfo."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from eqa_nodes.core.types.views import Intrinsics
from eqa_nodes.testing.drivers import Matrix

_ROUNDS = 40
_MOST = 3.0  # maximum tangent of the viewing angle: images are black beyond it


@lru_cache(maxsize=16)
def bending(k: Matrix, size: tuple[int, int], lens: tuple[float, ...]) -> tuple[Intrinsics, np.ndarray, np.ndarray]:
    """Return how to make a distorted image of this matrix and size (width, height) from an undistorted one.

    Returns the intrinsics of the undistorted image; (H, W) int64, index of its pixel for each distorted pixel; (H, W)
    bool, whether there is one.
    """
    fx, fy, cx, cy = k
    v, u = np.mgrid[:size[1], :size[0]].astype(np.float64)
    x, y = unbent((u - cx) / fx, (v - cy) / fy, lens)
    seen = (abs(x) < _MOST) & (abs(y) < _MOST)  # false for NaN
    left, right, top, bottom = (float(edge) for edge in (
        x[seen].min() * fx, x[seen].max() * fx, y[seen].min() * fy, y[seen].max() * fy))
    straight = Intrinsics(int(right - left) + 2, int(bottom - top) + 2, fx, fy, 0.5 - left, 0.5 - top)
    column, row = (np.rint(np.where(seen, p * f - low, 0)).astype(np.int64) for p, f, low in (
        (x, fx, left), (y, fy, top)))
    return straight, row * straight.width + column, seen


def unbent(x0: np.ndarray, y0: np.ndarray, lens: tuple[float, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Return the undistorted ray (x, y at z = 1) of each distorted one; lens: k1, k2, p1, p2, k3[, k4, k5, k6]."""
    k1, k2, p1, p2, k3, k4, k5, k6 = (*lens, *(0.0,) * (8 - len(lens)))
    x, y = x0, y0
    with np.errstate(all="ignore"):
        for _ in range(_ROUNDS):
            r2 = x * x + y * y
            factor = (1 + r2 * (k4 + r2 * (k5 + r2 * k6))) / (1 + r2 * (k1 + r2 * (k2 + r2 * k3)))
            x, y = ((x0 - 2 * p1 * x * y - p2 * (r2 + 2 * x * x)) * factor,
                    (y0 - p1 * (r2 + 2 * y * y) - 2 * p2 * x * y) * factor)
    return x, y
