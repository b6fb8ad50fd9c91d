"""Checks camera frames: unusable ones are rejected with a reason, repairable ones are repaired and counted."""

from __future__ import annotations

import math

import numpy as np

from eqa_nodes.core.errors import BadFrame, BadPose
from eqa_nodes.core.types.views import Frame, Intrinsics

MAX_DEPTH_M = 100.0  # farther returns come from no indoor camera


def check_frame(frame: Frame) -> None:
    """Raise BadFrame naming the first fault of stamp, intrinsics, image shapes and types, or poses."""
    if not isinstance(frame.stamp_ns, int) or frame.stamp_ns < 0:
        raise BadFrame(f"stamp_ns is {frame.stamp_ns!r}: it must be a non-negative integer of nanoseconds")
    _check_intrinsics(frame.intrinsics)
    shape = (frame.intrinsics.height, frame.intrinsics.width)
    _check_image("rgb", frame.rgb, (*shape, 3), np.uint8)
    _check_image("depth_m", frame.depth_m, shape, np.float32)
    if frame.labels is not None:
        _check_image("labels", frame.labels, shape, np.uint16)
    for name, transform in (("map_from_base", frame.map_from_base), ("base_from_camera", frame.base_from_camera)):
        try:
            transform.matrix()
        except BadPose as error:
            raise BadFrame(f"{name}: {error}") from error


def clean_depth(depth_m: np.ndarray, max_m: float = MAX_DEPTH_M) -> tuple[np.ndarray, int]:
    """Return depth with NaN, inf, negative and beyond `max_m` set to 0 (no return), and how many there were.

    depth_m: (H, W) float32, metres; the same array comes back when it is clean, a copy otherwise.
    """
    good = (depth_m >= 0) & (depth_m <= max_m)  # false for NaN
    n_bad = depth_m.size - int(np.count_nonzero(good))
    return (depth_m, 0) if n_bad == 0 else (np.where(good, depth_m, np.float32(0)), n_bad)


def _check_intrinsics(k: Intrinsics) -> None:
    if k.width <= 0 or k.height <= 0:
        raise BadFrame(f"image size {k.width}x{k.height}: an image must have pixels")
    if not all(map(math.isfinite, k)) or k.fx <= 0 or k.fy <= 0:
        raise BadFrame(f"{k}: focal lengths must be positive and everything finite; is camera_info filled in?")


def _check_image(name: str, image: np.ndarray, shape: tuple[int, ...], dtype: type) -> None:
    if image.shape != shape or image.dtype != dtype:
        raise BadFrame(f"{name} is {image.shape} {image.dtype}, the intrinsics ask for {shape} {np.dtype(dtype)}")
