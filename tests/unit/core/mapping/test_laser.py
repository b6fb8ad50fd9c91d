"""The scan made from depth is what a ray at the robot's height meets in a world that is known."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.mapping.config import ScanConfig
from eqa_nodes.core.mapping.laser import base_from_scan, scan_of
from eqa_nodes.core.types.geometry import Pose2, Transform, camera_mount, compose
from eqa_nodes.core.types.robot import CameraModel, RobotModel
from eqa_nodes.core.types.views import Frame, Intrinsics, PlanarScan
from sim_bridge.simulator import EpisodeSetup
from sim_bridge.toy import CELL_M, SCENES, GridWorld

BAND = ScanConfig().of(1.3, 10.0)
K = Intrinsics(64, 48, 32.0, 32.0, 32.0, 24.0)


def frame_of(pose: Pose2, **camera: float) -> Frame:
    robot = RobotModel(camera=replace(CameraModel(width=320, height=240), **camera))
    return GridWorld().reset(EpisodeSetup("toy:room", start=pose, robot=robot)).frame


def ray(x: float, y: float, angle: float) -> float:
    """Walk through the drawn cells until something stands there."""
    rows = SCENES["room"][::-1]
    for i in range(10_000):
        at = 0.002 * i
        if rows[int((y + at * math.sin(angle)) / CELL_M)][int((x + at * math.cos(angle)) / CELL_M)] not in ".>":
            return at
    raise AssertionError("the room is closed")


@pytest.mark.parametrize(("pose", "tilt"), [
    (Pose2(1.25, 2.25, 0.0), 0.0), (Pose2(2.6, 1.9, 2.0), 10.0), (Pose2(4.9, 2.8, -2.7), 30.0)])
def test_it_meets_what_is_drawn(pose: Pose2, tilt: float) -> None:
    frame = frame_of(pose, tilt_down_deg=tilt)
    scan = scan_of(frame.depth_m, frame.intrinsics, frame.base_from_camera, BAND)
    assert len(scan.ranges_m) > 50 and scan.ranges_m.dtype == np.float32
    for i, found in enumerate(scan.ranges_m):
        sides = [ray(pose.x, pose.y, pose.yaw + scan.first_rad + (i + 0.5 * j) * scan.step_rad) for j in (-1, 0, 1)]
        assert min(sides) - 0.02 <= found <= max(sides) + 0.02, i


def test_it_sees_as_far_to_the_sides_as_the_camera_at_its_height() -> None:
    scan = scan_of(np.zeros((48, 64), np.float32), K, camera_mount(1.2), BAND)
    last = scan.first_rad + (len(scan.ranges_m) - 1) * scan.step_rad
    assert scan.first_rad == pytest.approx(-last) and math.pi / 4 - scan.step_rad < last <= math.pi / 4
    assert np.all(np.isposinf(scan.ranges_m))


def test_only_heights_that_would_hit_the_robot_count() -> None:
    """A wall 2 m away is in view from the floor up to 2.7 m."""
    wall = np.full((48, 64), 2.0, np.float32)
    for low, high, seen in ((0.15, 1.3, True), (2.0, 2.5, True), (2.8, 3.0, False)):
        found = scan_of(wall, K, camera_mount(1.2), replace(BAND, low_m=low, high_m=high)).ranges_m
        assert np.isfinite(found).all() if seen else np.isposinf(found).all()


@pytest.mark.parametrize(("ahead_m", "seen"), [(1.5, True), (2.5, True), (3.5, False)])
def test_a_low_tray_is_an_obstacle_where_the_height_is_known_well_enough(ahead_m: float, seen: bool) -> None:
    """A step of 10 cm, across the whole view: 9.4 cm is the least height of an obstacle at 2.5 m, 11.1 cm at 3.5 m."""
    scan = scan_of(_floor(rises_at_m=ahead_m, by_m=0.1), TALL, camera_mount(1.2, math.radians(10.0)), BAND)
    middle = scan.ranges_m[len(scan.ranges_m) // 2]
    assert middle == pytest.approx(ahead_m, abs=0.1) if seen else middle == math.inf


@pytest.mark.parametrize(("error_deg", "clear"), [(1.0, True), (3.0, False)])
def test_floor_under_a_camera_that_tilts_a_little_otherwise_is_no_obstacle(error_deg: float, clear: bool) -> None:
    believed = camera_mount(1.2, math.radians(10.0 - error_deg))
    assert np.isposinf(scan_of(_floor(), TALL, believed, BAND).ranges_m).all() == clear


TALL = Intrinsics(64, 480, 320.0, 320.0, 32.0, 240.0)


def _floor(rises_at_m: float = math.inf, by_m: float = 0.0) -> np.ndarray:
    """Return depth (480, 64) of level floor with a step ahead, by a camera 1.2 m up that looks 10 degrees down."""
    tilt = math.radians(10.0)
    depth = np.zeros((480, 64), np.float32)
    for v, row in enumerate(depth):
        below = math.tan(math.atan((v + 0.5 - TALL.cy) / TALL.fy) + tilt)  # metres lower for each metre ahead
        if below > 0.05:
            floor, top = 1.2 / below, (1.2 - by_m) / below
            ahead = floor if floor < rises_at_m else max(top, rises_at_m)  # before the step, else its face or its top
            row[:] = ahead * (math.cos(tilt) + below * math.sin(tilt))
    return depth


def test_ranges_follow_rep_117() -> None:
    def middle(depth: float) -> float:
        scan = scan_of(np.full((48, 64), depth, np.float32), K, camera_mount(1.2), replace(BAND, min_range_m=0.3))
        return float(scan.ranges_m[len(scan.ranges_m) // 2])

    assert middle(2.0) == pytest.approx(2.0, abs=0.01)
    assert middle(0.2) == -math.inf
    assert all(middle(depth) == math.inf for depth in (0.0, 11.0, math.nan, math.inf, -1.0))


def test_the_frame_stands_upright_under_a_turned_camera() -> None:
    half = math.pi / 4
    mount = camera_mount(1.2, 0.3)
    turned = compose(Transform((0.2, 0.1, 0.0), (0.0, 0.0, math.sin(half), math.cos(half))), mount)
    found = base_from_scan(turned, 0.4)
    assert found.xyz == pytest.approx((0.2, 0.1, 0.4))
    assert found.xyzw == pytest.approx((0.0, 0.0, math.sin(half), math.cos(half)))
    depth = np.random.default_rng(0).uniform(0.5, 4.0, (48, 64)).astype(np.float32)
    assert _same(scan_of(depth, K, mount, BAND), scan_of(depth, K, turned, BAND))


def _same(a: PlanarScan, b: PlanarScan) -> bool:
    return a.step_rad == b.step_rad and np.allclose(a.ranges_m, b.ranges_m, atol=1e-5)


@pytest.mark.parametrize(("wrong", "complaint"), [
    ({"low_m": 1.0, "high_m": 0.5}, "rise"), ({"low_m": -0.1}, "low_m is -0.1"),
    ({"min_range_m": 2.0, "max_range_m": 1.0}, "rise")])
def test_a_band_that_is_none_is_refused(wrong: dict[str, float], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        ScanConfig(**wrong)
