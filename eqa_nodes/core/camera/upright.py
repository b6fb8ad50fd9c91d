"""Turns images upright by quarter turns, for cameras that are mounted on their side or upside down."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from eqa_nodes.core.types.geometry import Transform, compose
from eqa_nodes.core.types.views import Frame, Intrinsics

_LEVEL = 0.5  # of the vertical, in the plane of the image: a camera that looks steeper up or down has no upright image
_QUARTER = Transform((0.0, 0.0, 0.0), (0.0, 0.0, math.sqrt(0.5), math.sqrt(0.5)))  # about the optical axis


def quarter_turns(base_from_camera: Transform) -> int:
    """Return how many quarter turns counter-clockwise, 0..3, put what is above at the top of the image."""
    right, down, _ = (float(part) for part in base_from_camera.matrix()[2, :3])  # upwards, in the camera's axes
    if math.hypot(right, down) < _LEVEL:
        return 0
    return round(math.atan2(right, -down) / (math.pi / 2)) % 4


def turned_image(image: np.ndarray, turns: int) -> np.ndarray:
    """Return an (H, W, ...) image after quarter turns counter-clockwise."""
    return np.ascontiguousarray(np.rot90(image, turns)) if turns else image


def turned_camera(k: Intrinsics, base_from_camera: Transform, turns: int) -> tuple[Intrinsics, Transform]:
    """Return intrinsics and pose on the base of the camera that takes the turned image."""
    for _ in range(turns):
        k = Intrinsics(k.height, k.width, k.fy, k.fx, k.cy, k.width - k.cx)
        base_from_camera = compose(base_from_camera, _QUARTER)
    return k, base_from_camera


def turned_frame(frame: Frame, turns: int) -> Frame:
    """Return a frame after quarter turns counter-clockwise; its labels are of what turned its images so already."""
    if not turns:
        return frame
    k, mount = turned_camera(frame.intrinsics, frame.base_from_camera, turns)
    return replace(frame, rgb=turned_image(frame.rgb, turns), depth_m=turned_image(frame.depth_m, turns), intrinsics=k,
                   base_from_camera=mount)
