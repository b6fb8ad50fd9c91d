"""The floor tells scale and mount: made-up floors are found as they were made, whatever unit their depths are in."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eqa_nodes.core.camera.image_geometry import turned_camera
from eqa_nodes.core.findings import Finding
from eqa_nodes.core.types.geometry import LINK_FROM_OPTICAL_XYZW, Transform, camera_mount, compose, quat_multiply
from eqa_nodes.core.types.views import Intrinsics
from eqa_nodes.recordings.bags.floor import Plane, _axes, _judged, expected_plane, judge_floor, seen
from eqa_nodes.recordings.bags.measure import DepthView

STRIDE = 4
K = Intrinsics(384, 288, 192.0, 192.0, 192.0, 144.0)


def mount(height_m: float, tilt_deg: float, roll_deg: float = 0.0) -> Transform:
    """A camera above the base; roll: its right side raised."""
    half = -math.radians(roll_deg) / 2
    about_view = Transform((0.0, 0.0, 0.0), (0.0, 0.0, math.sin(half), math.cos(half)))
    return compose(camera_mount(height_m, math.radians(tilt_deg)), about_view)


def room(where: Transform, wall_m: float = 4.0, table: float = 0.0, noise: float = 0.002, seed: int = 0) -> np.ndarray:
    """(72, 96) float32 depth of a floor, a wall ahead and, on that share of the columns, a table 0.7 m high."""
    v, u = np.mgrid[:72, :96] * STRIDE + 0.5
    rays = np.stack([(u - K.cx) / K.fx, (v - K.cy) / K.fy, np.ones(u.shape)], -1) @ where.matrix()[:3, :3].T
    with np.errstate(divide="ignore", invalid="ignore"):
        floor = np.where(rays[..., 2] < 0, -where.xyz[2] / rays[..., 2], np.inf)
        wall = np.where(rays[..., 0] > 0, (wall_m - where.xyz[0]) / rays[..., 0], np.inf)
        top = np.where(rays[..., 2] < 0, (0.7 - where.xyz[2]) / rays[..., 2], np.inf)
    depth = np.minimum(floor, wall)
    depth = np.where(np.arange(96) < table * 96, np.minimum(depth, top), depth)
    depth = depth * (1 + np.random.default_rng(seed).normal(0, noise, depth.shape))
    return np.where(np.isfinite(depth), depth, 0).astype(np.float32)


def floor_line(depth_m: np.ndarray, by_tf: Transform) -> Finding:
    *_, line = judge_floor([DepthView(depth_m, STRIDE, by_tf)], K)
    return line


@settings(max_examples=25, deadline=None)
@given(height=st.floats(0.4, 1.8), tilt=st.floats(5.0, 40.0), roll=st.floats(-8.0, 8.0),
       scale=st.sampled_from([0.001, 0.2, 1.0, 5.0, 1000.0]), seed=st.integers(0, 99))
def test_a_floor_is_found_as_it_was_made_in_any_unit(height: float, tilt: float, roll: float, scale: float,
                                                     seed: int) -> None:
    where = mount(height, tilt, roll)
    plane = seen(DepthView(room(where, seed=seed) * np.float32(scale), STRIDE, where), K)
    assert plane is not None
    assert plane.height_m == pytest.approx(height * scale, rel=0.03)
    by_tf = expected_plane(where)
    assert (plane.tilt_deg, plane.roll_deg) == pytest.approx((by_tf.tilt_deg, by_tf.roll_deg), abs=0.8)
    assert (by_tf.tilt_deg, by_tf.roll_deg) == pytest.approx((tilt, math.degrees(math.asin(
        math.sin(math.radians(roll)) * math.cos(math.radians(tilt))))), abs=1e-6)


def test_the_same_image_gives_the_same_plane_to_the_bit() -> None:
    where = mount(1.2, 10.0)
    view = DepthView(room(where), STRIDE, where)
    assert seen(view, K) == seen(view, K)


@pytest.mark.parametrize(("scale", "words"), [
    (1000.0, "1000 times too large"), (0.001, "1000 times too small"), (5.0, "5 times too large"),
    (0.2, "5 times too small"), (2.0, "2 times too large"), (0.5, "2 times too small")])
def test_a_wrong_depth_scale_is_named(scale: float, words: str) -> None:
    where = mount(1.2, 10.0)
    line = floor_line(room(where) * np.float32(scale), where)
    assert line.state == "error" and words in line.found and line.remedy


@pytest.mark.parametrize(("by_tf", "state"), [
    (mount(1.2, 10.0), "ok"), (mount(1.22, 10.2), "ok"), (mount(1.1, 10.0), "warning"), (mount(0.98, 14.0), "error"),
    (mount(1.2, 14.0), "error"), (mount(1.2, 10.0, 5.0), "error"), (mount(-0.1, 10.0), "error")])
def test_a_camera_that_is_mounted_otherwise_is_measured(by_tf: Transform, state: str) -> None:
    line = floor_line(room(mount(1.2, 10.0)), by_tf)
    assert line.state == state
    assert "the floor says 1.20 m and 10." in line.found or "the floor says 1.20 m and 9.9" in line.found
    assert f"TF says the camera is {by_tf.xyz[2]:.2f} m up" in line.found
    assert bool(line.remedy) == (state != "ok")


def test_a_table_is_no_floor_and_a_wall_is_none() -> None:
    where = mount(1.2, 20.0)
    assert floor_line(room(where, table=0.6), where).state == "ok"
    level = mount(1.2, 10.0)
    assert floor_line(room(level, wall_m=1.6), level).state == "ok"  # most of what it sees is the wall
    close = floor_line(room(where, wall_m=0.3), where)
    assert close.state == "warning" and "no floor" in close.found
    assert floor_line(np.zeros((72, 96), np.float32), where).state == "warning"
    assert floor_line(np.full((72, 96), np.nan, np.float32), where).state == "warning"


def test_views_that_disagree_are_settled_by_the_middle_one() -> None:
    where = mount(1.2, 20.0)
    good, odd = DepthView(room(where), STRIDE, where), DepthView(room(where) * np.float32(1.3), STRIDE, where)
    *_, line = judge_floor([odd, good, good], K)
    assert line.state == "ok" and "in 3 of 3 images" in line.found
    assert list(judge_floor([], K)) == []


@pytest.mark.parametrize(("turn", "words"), [
    ((0.5, -0.5, 0.5, 0.5), "names a body frame"), ((0.0, 0.0, 1.0, 0.0), "is upside down"),
    ((0.0, 0.0, math.sqrt(0.5), math.sqrt(0.5)), "lies on its side")])
def test_a_frame_that_is_not_optical_is_named(turn: tuple[float, float, float, float], words: str) -> None:
    wrong = Transform((0.0, 0.0, 1.2), quat_multiply(LINK_FROM_OPTICAL_XYZW, turn))
    (line,) = judge_floor([DepthView(room(mount(1.2, 0.0)), STRIDE, wrong)], K)
    assert line.name == "optical frame" and line.state == "error" and words in line.found + line.remedy.replace(
        "images name", "names")


@pytest.mark.parametrize("upright", [True, False])
def test_a_camera_that_is_mounted_on_its_side_is_known_by_the_floor_it_sees(upright: bool) -> None:
    where = mount(1.2, 20.0)
    aside = compose(where, Transform((0.0, 0.0, 0.0), (0.0, 0.0, math.sqrt(0.5), math.sqrt(0.5))))
    view = np.ascontiguousarray(np.rot90(room(where)))
    axes, floor = judge_floor([DepthView(view, STRIDE, aside)], turned_camera(K, where, 1)[0], upright)
    assert axes.state == ("ok" if upright else "warning") and "lies on its side" in axes.found
    assert bool(axes.remedy) != upright and floor.name == "floor" and floor.state == "ok", floor


def plane(height_m: float, tilt_deg: float = 0.0, roll_deg: float = 0.0) -> Plane:
    tilt, roll = math.radians(tilt_deg), math.radians(roll_deg)
    return Plane((math.sin(roll), -math.sqrt(1 - math.sin(tilt) ** 2 - math.sin(roll) ** 2), -math.sin(tilt)), height_m)


@pytest.mark.parametrize(("height_m", "tilt_deg", "state", "said"), [
    (1.059, 0.0, "ok", ""), (1.061, 0.0, "warning", "3 m ahead it is off by 0.06 m"),
    (1.0, 1.1, "ok", ""), (1.0, 1.2, "warning", "off by 0.06 m"),  # 3 m * tan: 0.0576 and 0.0628 m
    (1.149, 0.0, "warning", "off by 0.15 m"), (1.151, 0.0, "error", "off by 0.15 m"),  # an obstacle is 0.15 m high
    (0.95, 1.0, "warning", "off by 0.10 m"),  # 0.05 m and 3 m * tan(1 deg)
    (2.25, 0.0, "error", "2 times too large"), (2.26, 0.0, "error", "off by 1.26 m"),  # exp(0.12) = 1.1275 * 2
    (2.0, 3.9, "error", "2 times too large"), (2.0, 4.1, "error", "off by 1.22 m"),
    (316.3, 0.0, "error", "1000 times too large"), (316.1, 0.0, "error", "off by 315.10 m"),  # half a decade
    (1000.0, 30.0, "error", "1000 times too large"), (0.001, 30.0, "error", "1000 times too small")])
def test_limits_of_scale_and_mount(height_m: float, tilt_deg: float, state: str, said: str) -> None:
    found = _judged([(plane(1.0), plane(height_m, tilt_deg))], 1)
    assert found.state == state and said in found.found, found


def test_tilt_and_roll_add_up_and_are_signed() -> None:
    assert (plane(1.0, 10.0, 5.0).tilt_deg, plane(1.0, 10.0, 5.0).roll_deg) == pytest.approx((10.0, 5.0))
    found = _judged([(plane(1.0, 10.0), plane(1.0, 7.0, -4.0))], 1)
    assert "10.0 deg down, the floor says 1.00 m and 7.0 deg (rolled by -4.0 deg)" in found.found
    assert "off by 0.26 m" in found.found  # 3 m * tan(5 deg)
    assert _judged([(plane(-0.01), plane(1.0))], 1).remedy.startswith("by TF the camera is not above the base")


@pytest.mark.parametrize(("normal", "said"), [
    ((0.0, -0.35, -0.937), ""), ((0.0, -0.33, -0.944), "names a body frame|name a body frame"),
    ((0.953, -0.304, 0.0), ""), ((0.955, -0.296, 0.0), "lies on its side"),
    ((0.955, 0.296, 0.0), "lies on its side"), ((0.953, 0.304, 0.0), "is upside down")])
def test_limits_of_the_optical_frame(normal: tuple[float, float, float], said: str) -> None:
    found = _axes(Plane(normal, 1.0))
    assert (found.state == "ok") == (not said) and re.search(said, found.found + found.remedy), found


@pytest.mark.parametrize(("rows", "found"), [(16, True), (17, False)])
def test_a_floor_needs_a_share_of_the_points_and_a_hundred(rows: int, found: bool) -> None:
    """Of the lower half's 36 rows the last ones show the floor and those above a wall, near enough to hide the rest."""
    where = mount(1.2, 30.0)
    depth = room(where, noise=0.0)
    few = depth.copy()
    few[:72 - 2] = 0
    few[:, 50:] = 0
    assert seen(DepthView(few, STRIDE, where), K) is not None, "two rows of 50 columns are 100 points"
    few[-1, 0] = 0
    assert seen(DepthView(few, STRIDE, where), K) is None, "99 are too few"
    mixed = depth.copy()
    mixed[36:36 + 36 - 6 + rows - 16] = 0.2  # a lid over the lens: 30 or 31 of 36 rows; 6 / 36 > 0.15 > 5 / 36
    assert (seen(DepthView(mixed, STRIDE, where), K) is not None) == found
