"""Points of the map and pixels of a remembered view: there and back, behind walls, and with nothing to go by."""

from __future__ import annotations

import io
import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from PIL import Image

from eqa_nodes.core.errors import BadFrame
from eqa_nodes.core.perception.projection import floor_at, geometry_of, pixel_of, point_at, visible_pixel
from eqa_nodes.core.types.geometry import Pose2, camera_mount, compose
from eqa_nodes.core.types.robot import CameraModel
from eqa_nodes.core.types.views import Frame, Keyframe
from sim_bridge.house.world import HouseWorld
from tests.fixtures.frames import frame
from tests.fixtures.houses import two_rooms

MOUNT = camera_mount(1.2, math.radians(10.0))
BY_THE_DOOR = Pose2(3.4, 2.0, 0.0)  # of two rooms, in the living room, looking into the kitchen
BOWL = (6.8, 2.0, 0.8)  # on the table in the kitchen
FRIDGE = (7.7, 0.5, 1.2)  # in the corner of the kitchen


@cache
def seen_from(pose: Pose2) -> Frame:
    """Return what a robot sees of the house of two rooms."""
    camera = CameraModel()
    image = HouseWorld(two_rooms()).image(camera, compose(pose.transform(), MOUNT).matrix())
    return Frame(1, image.rgb, image.depth_m, camera.intrinsics, pose.transform(), MOUNT)


def view_of(seen: Frame) -> Keyframe:
    """Return a frame as a remembered view."""
    return Keyframe(7, seen.stamp_ns, seen.map_from_base, b"", geometry=geometry_of(seen))


def map_point(seen: Frame, u: float, v: float, depth_m: float) -> tuple[float, float, float]:
    """Return the point that a pixel shows, from the matrices of the frame."""
    k = seen.intrinsics
    x, y, z, _ = seen.map_from_camera() @ [(u - k.cx) / k.fx * depth_m, (v - k.cy) / k.fy * depth_m, depth_m, 1.0]
    return float(x), float(y), float(z)


def points(seen: Frame) -> list[tuple[float, float, float, tuple[float, float, float]]]:
    """Return u, v, depth and map point of pixels with a return all over a frame."""
    rng, k = np.random.default_rng(0), seen.intrinsics
    pixels = zip(rng.uniform(0, k.width, 300).tolist(), rng.uniform(0, k.height, 300).tolist())
    depths = ((u, v, float(seen.depth_m[int(v), int(u)])) for u, v in pixels)
    return [(u, v, depth_m, map_point(seen, u, v, depth_m)) for u, v, depth_m in depths if depth_m]


def test_a_point_of_the_map_is_found_at_its_pixel() -> None:
    seen = seen_from(BY_THE_DOOR)
    for u, v, depth_m, point in points(seen):
        assert pixel_of(view_of(seen), *point) == pytest.approx((u, v, depth_m), abs=1e-6)


def test_a_pixel_is_found_at_its_point_of_the_map() -> None:
    seen = seen_from(BY_THE_DOOR)
    errors = [math.dist(point_at(view_of(seen), u, v) or (math.inf,) * 3, point) for u, v, _, point in points(seen)]
    assert len(errors) > 250
    assert np.percentile(errors, 90) < 0.1 and np.median(errors) < 0.03


def test_what_is_in_view_is_visible() -> None:
    seen = seen_from(BY_THE_DOOR)
    assert all(visible_pixel(view_of(seen), *point) == pixel_of(view_of(seen), *point) for *_, point in points(seen))
    assert visible_pixel(view_of(seen), *BOWL) is not None


def test_a_wall_hides_what_is_behind_it() -> None:
    view = view_of(seen_from(BY_THE_DOOR._replace(yaw=-0.35)))
    assert pixel_of(view, *FRIDGE) is not None
    assert visible_pixel(view, *FRIDGE) is None
    assert visible_pixel(view, *FRIDGE, tolerance_m=9.0) == pixel_of(view, *FRIDGE)
    u, v, _ = pixel_of(view, *FRIDGE) or (0.0, 0.0, 0.0)
    assert point_at(view, u, v)[0] == pytest.approx(5.0, abs=0.05)  # type: ignore[index]  # the wall itself


def test_behind_the_camera_and_beside_the_image_is_no_pixel() -> None:
    view = view_of(seen_from(BY_THE_DOOR))
    assert pixel_of(view, 3.4 - 2.0, 2.0, 1.2) is None
    assert pixel_of(view, 3.4 + 1.0, 2.0 + 1.1, 1.2) is None
    assert pixel_of(view, *seen_from(BY_THE_DOOR).map_from_camera()[:3, 3].tolist()) is None
    assert pixel_of(view, math.nan, 2.0, 1.2) is None
    assert point_at(view, -0.5, 100.0) is point_at(view, 640.0, 100.0) is point_at(view, math.nan, 100.0) is None


def test_a_view_moves_with_its_pose() -> None:
    seen = seen_from(BY_THE_DOOR)
    moved = replace(view_of(seen), map_from_base=Pose2(0.0, 0.0, math.pi / 2).transform())
    x, y, z = point_at(view_of(seen), 320.0, 240.0) or (0.0, 0.0, 0.0)
    assert point_at(moved, 320.0, 240.0) == pytest.approx((-(y - 2.0), x - 3.4, z), abs=1e-9)


def test_without_geometry_there_is_no_pixel_and_no_point() -> None:
    view = Keyframe(7, 1, BY_THE_DOOR.transform(), b"")
    assert pixel_of(view, *BOWL) is visible_pixel(view, *BOWL) is point_at(view, 320.0, 240.0) is None


def test_a_gap_in_the_depth_is_bridged_and_a_hole_is_not() -> None:
    seen = frame(1, depth=2.0)
    seen.depth_m[20:22, 20:22] = 0.0
    seen.depth_m[30:40, 30:40] = np.nan
    view = view_of(seen)
    assert point_at(view, 20.5, 20.5) == pytest.approx(map_point(seen, 20.5, 20.5, 2.0))
    assert point_at(view, 35.0, 35.0) is None
    behind = map_point(seen, 35.0, 35.0, 5.0)
    assert visible_pixel(view, *behind) == pixel_of(view, *behind)  # nothing is known to hide it
    assert pixel_of(view, *behind) is not None


@pytest.mark.parametrize(("depth", "cell"), [(2.0004, 2000), (0.0, 0), (-1.0, 0), (65.0, 65000), (65.001, 0),
                                             (np.inf, 0), (np.nan, 0), (1e30, 0), (0.0004, 0)])
def test_cells_are_millimetres_and_nothing_else(depth: float, cell: int) -> None:
    geometry = geometry_of(frame(1, depth=depth))
    cells = np.asarray(Image.open(io.BytesIO(geometry.depth_png)))
    assert cells.shape == (48, 64) and (cells == cell).all()


@pytest.mark.parametrize(("width", "height", "cells"), [(640, 480, (48, 64)), (1280, 720, (36, 64)), (33, 90, (90, 33)),
                                                        (1000, 3, (1, 64)), (1, 1, (1, 1))])
def test_images_of_any_size_have_coarse_cells(width: int, height: int, cells: tuple[int, int]) -> None:
    k = CameraModel(width=width, height=height).intrinsics
    seen = Frame(1, np.zeros((height, width, 3), np.uint8), np.full((height, width), 3.0, np.float32), k,
                 BY_THE_DOOR.transform(), MOUNT)
    assert np.asarray(Image.open(io.BytesIO(geometry_of(seen).depth_png))).shape == cells
    for u, v in ((0.01, 0.01), (width - 0.01, height - 0.01), (width / 2, height / 3)):
        point = point_at(view_of(seen), u, v)
        assert point == pytest.approx(map_point(seen, u, v, 3.0))
        assert point is not None and visible_pixel(view_of(seen), *map_point(seen, u, v, 2.9)) is not None


def test_a_broken_depth_image_is_named() -> None:
    view = view_of(seen_from(BY_THE_DOOR))
    assert view.geometry is not None
    whole = view.geometry.depth_png
    colour, large = io.BytesIO(), io.BytesIO()
    Image.new("RGB", (64, 48)).save(colour, "PNG")
    Image.new("I;16", (641, 480)).save(large, "PNG")
    for broken in (b"", b"not a picture", whole[:100], whole[:-40], colour.getvalue(), large.getvalue()):
        bad = replace(view, geometry=view.geometry._replace(depth_png=broken))
        with pytest.raises(BadFrame, match="the depth image of keyframe 7 cannot be decoded"):
            point_at(bad, 320.0, 240.0)
        with pytest.raises(BadFrame, match="the depth image of keyframe 7 cannot be decoded"):
            visible_pixel(bad, *BOWL)
        assert pixel_of(bad, *BOWL) == pixel_of(view, *BOWL)


def test_a_camera_that_there_cannot_be_is_named() -> None:
    view = view_of(seen_from(BY_THE_DOOR))
    assert view.geometry is not None
    for focal in (0.0, -3.0, math.nan):
        k = view.geometry.intrinsics._replace(fx=focal)
        with pytest.raises(BadFrame, match="the camera of keyframe 7 .*focal lengths must be positive"):
            point_at(replace(view, geometry=view.geometry._replace(intrinsics=k)), 320.0, 240.0)


def test_damage_anywhere_is_a_bad_frame_or_other_depths() -> None:
    view = view_of(seen_from(BY_THE_DOOR))
    assert view.geometry is not None
    rng, whole = np.random.default_rng(1), view.geometry.depth_png
    refused = 0
    for _ in range(100):
        broken = bytearray(whole)
        for at in rng.integers(0, len(whole), 4):
            broken[at] = rng.integers(0, 256)
        try:
            point_at(replace(view, geometry=view.geometry._replace(depth_png=bytes(broken))), 320.0, 240.0)
        except BadFrame:
            refused += 1
    assert refused > 60


def test_the_floor_at_a_pixel_is_below_what_is_seen_there() -> None:
    seen = seen_from(BY_THE_DOOR)
    view = view_of(seen)
    for u, v, _, _ in points(seen)[:50]:
        point = point_at(view, u, v)
        assert point is not None and floor_at(view, u, v, 1.0) == point[:2], "what is seen may be farther than that"


def test_without_depth_the_floor_is_where_the_ray_comes_down_to_it() -> None:
    seen = seen_from(BY_THE_DOOR)
    blind = view_of(replace(seen, depth_m=np.zeros_like(seen.depth_m)))
    found = pixel_of(blind, 5.5, 2.4, 0.0)
    assert found is not None and floor_at(blind, found[0], found[1], 10.0) == pytest.approx((5.5, 2.4))
    near = floor_at(blind, found[0], found[1], 1.0)
    assert near is not None and math.dist(near, BY_THE_DOOR[:2]) == pytest.approx(1.0)
    assert near[1] - 2.0 == pytest.approx(0.4 / math.hypot(2.1, 0.4)), "on the same ray"
    assert floor_at(blind, 320.0, 10.0, 10.0) is None, "above the horizon"
    assert floor_at(blind, 700.0, 400.0, 10.0) is None and floor_at(blind, 320.0, -1.0, 10.0) is None
    assert floor_at(replace(blind, geometry=None), 320.0, 400.0, 10.0) is None
