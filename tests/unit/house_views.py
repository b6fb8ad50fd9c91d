"""What a robot on its way through a small house sees: with two cameras side by side, and through a lens."""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.types.geometry import Pose2, Transform, camera_mount, compose
from eqa_nodes.core.types.robot import CameraModel
from sim_bridge.house.simulator import HouseWorld
from tests.unit.house_fixture import two_rooms

CAMERA = CameraModel(width=160, height=120)
_BESIDE = CameraModel(width=160, height=120, hfov_deg=80.0)  # what sees depth, before its image is cut
CUT = (4, 10)  # rows above and columns to the left
DEPTH_K = _BESIDE.intrinsics._replace(width=150, height=116, cx=80.0 - CUT[1], cy=60.0 - CUT[0])
BESIDE = Transform((0.03, 0.005, -0.004), (0.0, math.sin(0.01), 0.0, math.cos(0.01)))  # color_from_depth
WAY = [*(Pose2(1.3 + 0.25 * i, 2.0, 0.0) for i in range(6)), *(Pose2(2.6, 2.0, 0.4 * i) for i in range(1, 10))]
BENT = (-0.25, 0.06, 0.001, -0.0008, 0.0)
MOUNT, BACK = camera_mount(1.2, math.radians(10.0)), Transform((0.0, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0))


class Shot(NamedTuple):
    """What is seen at one moment. depth_beside_m: by the camera that sees depth, where it is not aligned."""

    rgb: np.ndarray
    depth_m: np.ndarray
    depth_beside_m: np.ndarray
    map_from_base: Transform


@cache
def shots(mount: Transform = MOUNT) -> list[Shot]:
    """Return what a camera on the robot sees on its way."""
    house = HouseWorld(two_rooms())
    found = []
    for pose in WAY:
        map_from_camera = compose(pose.transform(), mount)
        color = house.image(CAMERA, map_from_camera.matrix())
        beside = house.image(_BESIDE, compose(map_from_camera, BESIDE).matrix()).depth_m[CUT[0]:, CUT[1]:]
        found.append(Shot(color.rgb, color.depth_m, beside, pose.transform()))
    return found


@cache
def bent(number: int) -> tuple[np.ndarray, np.ndarray]:
    """Return colour and depth of a moment through a lens: pixel by pixel, by turning the lens's model round."""
    fine = CameraModel(width=3 * CAMERA.width, height=3 * CAMERA.height)
    image = HouseWorld(two_rooms()).image(fine, compose(WAY[number].transform(), MOUNT).matrix())
    k = CAMERA.intrinsics
    v, u = np.mgrid[:k.height, :k.width] + 0.5
    x0, y0 = (u - k.cx) / k.fx, (v - k.cy) / k.fy
    x, y = unbend(x0, y0, BENT)
    column, row = (np.floor(3 * (p * f + c)).astype(int) for p, f, c in ((x, k.fx, k.cx), (y, k.fy, k.cy)))
    inside = (column >= 0) & (row >= 0) & (column < fine.width) & (row < fine.height)
    at = np.where(inside, row, 0), np.where(inside, column, 0)
    return image.rgb[at] * inside[..., None].astype(np.uint8), np.where(inside, image.depth_m[at], np.float32(0))


def unbend(x0: np.ndarray, y0: np.ndarray, lens: tuple[float, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Return the straight ray of each bent one, by fixed-point iteration."""
    k1, k2, p1, p2, k3 = lens
    x, y = x0, y0
    for _ in range(60):
        r2 = x * x + y * y
        radial = 1 + r2 * (k1 + r2 * (k2 + r2 * k3))
        x, y = ((x0 - 2 * p1 * x * y - p2 * (r2 + 2 * x * x)) / radial,
                (y0 - p1 * (r2 + 2 * y * y) - 2 * p2 * x * y) / radial)
    return x, y
