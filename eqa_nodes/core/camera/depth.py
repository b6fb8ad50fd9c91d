"""Depth images as drivers publish them: their unit, what means "no return", and another size than the colour's."""

from __future__ import annotations

import numpy as np

from eqa_nodes.core.errors import BadFrame
from eqa_nodes.core.types.views import Intrinsics

_NO_RETURN = 65535  # of 16 bits, beside 0: as Kinect, OAK and 7-Scenes write it
_MILLIMETRE = 0.001
_FINER = 16  # times as many columns at most


def returned(raw: np.ndarray) -> np.ndarray:
    """Return raw integers of 16 bits with 0 wherever they mean that there is no return."""
    return np.where(raw == _NO_RETURN, raw.dtype.type(0), raw)


def metres(raw: np.ndarray, unit_m: float = 0.0) -> np.ndarray:
    """Return (H, W) float32 metres, 0 = no return, of raw values.

    unit_m: metres of one unit; 0: integers are millimetres and floats are metres (REP 118).
    """
    if raw.dtype.kind == "f":
        return raw.astype(np.float32, copy=False) * np.float32(unit_m) if unit_m else raw.astype(np.float32, copy=False)
    return returned(raw).astype(np.float32) * np.float32(unit_m or _MILLIMETRE)


def scaled(k: Intrinsics, shape: tuple[int, ...]) -> Intrinsics:
    """Return the intrinsics of the same camera for an image of another size; shape: height and width first."""
    height, width = shape[:2]
    x, y = width / k.width, height / k.height
    return Intrinsics(width, height, k.fx * x, k.fy * y, k.cx * x, k.cy * y)


def same_view(size: tuple[int, int], other: tuple[int, int]) -> bool:
    """Return whether images of two sizes (width, height) may show one view: their sides have one ratio.

    But for rounding. No colour image is much finer than its depth; a wrong camera_info may claim any size.
    """
    (width, height), (wide, high) = size, other
    return min(*size, *other) > 0 and abs(width - height * wide / high) < 1 and wide <= _FINER * width


def fitted(depth_m: np.ndarray, k: Intrinsics) -> np.ndarray:
    """Return registered depth in the size of the colour image with these intrinsics, which shows the same view.

    Each pixel gets the measurement that lies nearest; none is made up between them. Raises BadFrame for another view.
    """
    height, width = depth_m.shape[:2]
    if (width, height) == (k.width, k.height):
        return depth_m
    if not same_view((width, height), (k.width, k.height)):
        raise BadFrame(f"depth is {width}x{height}, the camera_info of colour {k.width}x{k.height}: one is no scaled "
                       "picture of the other; publish depth that is registered to the whole colour image")
    rows, columns = ((2 * np.arange(n) + 1) * size // (2 * n) for n, size in ((k.height, height), (k.width, width)))
    return depth_m.take(rows, axis=0).take(columns, axis=1)
