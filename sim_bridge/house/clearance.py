"""Compiled clearance from obstacles at a point and along a line, the inner loop of moves and shortest paths."""

from __future__ import annotations

import numpy as np

from eqa_nodes.core.kernels import njit


@njit(nogil=True)
def clearance_at(field: np.ndarray, origin: tuple[float, float], cell: float, x: float, y: float) -> float:
    """Return the bilinear clearance at a point, metres.

    field: (rows, columns) metres at the centres of cells of side `cell`; origin: corner of the first cell.
    """
    rows, columns = field.shape
    fx = min(max((x - origin[0]) / cell - 0.5, 0.0), columns - 1.001)
    fy = min(max((y - origin[1]) / cell - 0.5, 0.0), rows - 1.001)
    ix, iy = int(fx), int(fy)
    fx, fy = fx - ix, fy - iy
    near = field[iy, ix] * (1 - fx) + field[iy, ix + 1] * fx
    far = field[iy + 1, ix] * (1 - fx) + field[iy + 1, ix + 1] * fx
    return float(near * (1 - fy) + far * fy)


@njit(nogil=True)
def keeps_clear(field: np.ndarray, origin: tuple[float, float], cell: float, a: tuple[float, float],
                b: tuple[float, float], points: int, least: float) -> bool:
    """Return whether the clearance is at least `least` at `points` (2 or more) evenly spaced points from a to b.

    The points are those of numpy.linspace, to the last bit.
    """
    step_x, step_y = (b[0] - a[0]) / (points - 1), (b[1] - a[1]) / (points - 1)
    for k in range(points - 1):
        if not clearance_at(field, origin, cell, a[0] + k * step_x, a[1] + k * step_y) >= least:
            return False
    return bool(clearance_at(field, origin, cell, b[0], b[1]) >= least)
