"""Depth seen from the viewpoint of the colour camera: worked out by hand, and with the built-in house."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqa_nodes.core.camera.depth_registration import register
from eqa_nodes.core.errors import BadFrame, BadPose
from eqa_nodes.core.types.geometry import Transform
from eqa_nodes.core.types.views import Intrinsics
from tests.fixtures.house_views import BESIDE, CAMERA, DEPTH_K, shots

SAME = Transform.identity()
KR = Intrinsics(8, 6, 5.0, 5.0, 4.0, 3.0)


def test_the_house_from_two_places_is_one_house() -> None:
    for shot in shots():
        seen = register(shot.depth_beside_m, DEPTH_K, CAMERA.intrinsics, BESIDE)
        both = (seen > 0) & (shot.depth_m > 0)
        inside = np.abs(np.arange(CAMERA.width) - CAMERA.width / 2) < 50  # the depth camera sees less far aside
        assert both[15:-15, inside].mean() > 0.97  # but for what is hidden from beside
        error = np.abs(seen - shot.depth_m)[both] / shot.depth_m[both]
        assert np.median(error) < 0.005 and (error < 0.05).mean() > 0.95


@given(st.integers(0, 2**32 - 1))
def test_a_camera_is_aligned_with_itself(seed: int) -> None:
    depth = np.random.default_rng(seed).uniform(0.06, 9.0, (6, 8)).astype(np.float32)
    depth[0, 0] = 0
    assert np.array_equal(register(depth, KR, KR, SAME), depth)


def test_a_finer_colour_image_has_no_holes_and_the_nearest_surface_wins() -> None:
    fine = Intrinsics(24, 18, 15.0, 15.0, 12.0, 9.0)
    assert (register(np.full((6, 8), 2.0, np.float32), KR, fine, SAME) == 2.0).all()
    depth = np.full((6, 8), 4.0, np.float32)
    depth[:, 3] = 1.0
    seen = register(depth, KR, KR, Transform((0.8, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0)))  # 4 pixels at 1 m, 1 at 4 m
    assert (seen[:, 7] == 1.0).all() and (seen[:, 1:4] == 4.0).all()
    assert (seen[:, 4] == 0.0).all() and (seen[:, 0] == 0.0).all()  # hidden from where depth was seen


@pytest.mark.parametrize("nothing", [0.0, -1.0, np.nan, np.inf, -np.inf, 1e-30, 0.04])
def test_what_is_no_measurement_is_seen_nowhere(nothing: float) -> None:
    assert not register(np.full((6, 8), nothing, np.float32), KR, KR, SAME).any()


def test_what_lies_behind_the_colour_camera_is_not_seen() -> None:
    assert not register(np.full((6, 8), 1.0, np.float32), KR, KR, Transform((0.0, 0.0, -2.0), SAME.xyzw)).any()


def test_images_of_another_size_and_transforms_that_are_none_are_refused() -> None:
    with pytest.raises(BadFrame, match=r"depth image of \(8, 5\) pixels, its camera_info is of 8x6"):
        register(np.zeros((5, 8), np.float32), KR, KR, SAME)
    with pytest.raises(BadPose):
        register(np.zeros((6, 8), np.float32), KR, KR, Transform((np.nan, 0.0, 0.0), SAME.xyzw))
