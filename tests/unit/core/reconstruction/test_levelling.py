"""The map frame of a tilted camera in a box room: gravity is the normal of the floor that it sees."""

from __future__ import annotations

import math

import numpy as np
import pytest

from eqa_nodes.core.reconstruction.levelling import CAMERA, FLOOR, levelled, shrunk_camera, shrunk_depth
from eqa_nodes.core.types.views import Intrinsics

K = Intrinsics(160, 120, 140.0, 140.0, 80.0, 60.0)
HEIGHT_M, WALL_M = 1.2, 3.0


def pose_of(pitch_deg: float) -> np.ndarray:
    """(4, 4) common_from_camera: the optical frame looks along the common x, pitched down."""
    c, s = math.cos(math.radians(pitch_deg)), math.sin(math.radians(pitch_deg))
    pose = np.eye(4)
    pose[:3, :3] = np.array([[0, -s, c], [-1, 0, 0], [0, -c, -s]])
    pose[:3, 3] = 5.0, 7.0, 2.0  # the floor is 1.2 m below, at 0.8
    return pose


def seen(pitch_deg: float) -> np.ndarray:
    """(120, 160) float32: depth of a floor 1.2 m below the camera and of a wall 3 m ahead."""
    v, u = np.mgrid[:K.height, :K.width]
    rays = np.stack([(u + 0.5 - K.cx) / K.fx, (v + 0.5 - K.cy) / K.fy, np.ones(u.shape)], 2)
    rays = rays @ pose_of(pitch_deg)[:3, :3].T
    floor = np.where(rays[..., 2] < -1e-6, -HEIGHT_M / np.minimum(rays[..., 2], -1e-6), np.inf)
    return np.minimum(floor, WALL_M / rays[..., 0]).astype(np.float32)


def test_the_floor_is_at_0_and_the_origin_below_the_first_camera() -> None:
    found = levelled([(seen(30.0), K)] * 2, [pose_of(30.0)] * 2)
    assert found.how == FLOOR and found.sure and found.tilt_deg == pytest.approx(30.0, abs=0.1)
    assert found.walls_deg == pytest.approx(0.0, abs=0.1) and found.rms_m < 0.001
    assert found.map_from_common @ [5.0, 7.0, 2.0, 1.0] == pytest.approx([0, 0, HEIGHT_M, 1], abs=0.005)
    assert found.map_from_common @ [6.0, 7.0, 0.8, 1.0] == pytest.approx([1, 0, 0, 1], abs=0.005)  # a metre ahead


def test_a_world_that_leans_is_turned_upright() -> None:
    lean = np.eye(4)
    lean[1:3, 1:3] = [[math.cos(0.3), -math.sin(0.3)], [math.sin(0.3), math.cos(0.3)]]
    found = levelled([(seen(30.0), K)] * 2, [lean @ pose_of(30.0)] * 2)
    assert found.map_from_common[2, :3] == pytest.approx([0, -math.sin(0.3), math.cos(0.3)], abs=0.002)


def test_without_a_floor_up_is_that_of_the_camera() -> None:
    found = levelled([(np.full((120, 160), 2.0, np.float32), K)], [pose_of(0.0)])
    assert found.how == CAMERA and not found.sure and found.points == 0 and math.isnan(found.rms_m)
    assert found.map_from_common[2, :3] == pytest.approx([0, 0, 1])


def test_depth_is_shrunk_to_the_nearest_surface_of_each_block() -> None:
    depth = np.array([[1.0, 1.04, 2.0, 0, 9], [3.0, 1.02, 2.0, 0, 9], [1.0, 0, 5.0, 9, 9], [0] * 5], np.float32)
    # 1.04 is within 1.03 * 1.0 + 0.02 m and 3.0 is not; two of four pixels are enough, one is not
    assert shrunk_depth(depth, 2) == pytest.approx(np.array([[1.02, 2.0], [0.0, 0.0]]), abs=1e-6)
    k = Intrinsics(641, 481, 500.0, 501.0, 320.0, 240.0)
    assert shrunk_camera(k, 4) == Intrinsics(160, 120, 125.0, 125.25, 80.0, 60.0)
