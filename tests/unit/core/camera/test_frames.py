"""Frames at the boundary."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from eqa_nodes.core.errors import BadFrame
from eqa_nodes.core.types.geometry import Pose2, Transform, camera_mount
from eqa_nodes.core.types.views import Frame, Intrinsics, check_frame, clean_depth

K = Intrinsics(8, 6, 4.0, 4.0, 4.0, 3.0)
GOOD = Frame(5, np.zeros((6, 8, 3), np.uint8), np.ones((6, 8), np.float32), K, Pose2(1.0, 2.0, 0.5).transform(),
             camera_mount(1.2), np.zeros((6, 8), np.uint16))


def test_a_good_frame_passes() -> None:
    check_frame(GOOD)
    check_frame(replace(GOOD, labels=None))


@pytest.mark.parametrize(("change", "fault"), [
    ({"stamp_ns": -1}, "stamp_ns"),
    ({"stamp_ns": 1.5}, "stamp_ns"),
    ({"rgb": np.zeros((6, 8), np.uint8)}, "rgb"),
    ({"rgb": np.zeros((6, 8, 3), np.float32)}, "rgb"),
    ({"rgb": np.zeros((8, 6, 3), np.uint8)}, "rgb"),
    ({"depth_m": np.ones((6, 8), np.uint16)}, "depth_m"),
    ({"depth_m": np.ones((12, 16), np.float32)}, "depth_m"),
    ({"depth_m": np.ones((0, 0), np.float32)}, "depth_m"),
    ({"labels": np.zeros((6, 8), np.int32)}, "labels"),
    ({"intrinsics": K._replace(width=0)}, "must have pixels"),
    ({"intrinsics": K._replace(fx=0.0)}, "focal lengths"),
    ({"intrinsics": K._replace(cy=float("nan"))}, "finite"),
    ({"intrinsics": K._replace(width=9)}, "intrinsics ask for"),
    ({"map_from_base": Transform((float("nan"), 0, 0), (0, 0, 0, 1))}, "map_from_base"),
    ({"map_from_base": Transform((0, 0, 0), (0, 0, 0, 0))}, "map_from_base"),
    ({"base_from_camera": Transform((0, float("inf"), 0), (0, 0, 0, 1))}, "base_from_camera"),
])
def test_a_fault_is_named(change: dict[str, object], fault: str) -> None:
    with pytest.raises(BadFrame, match=fault):
        check_frame(replace(GOOD, **change))


def test_clean_depth_is_not_copied() -> None:
    depth = np.array([[0.0, 1.0], [9.9, 0.5]], np.float32)
    cleaned, n_bad = clean_depth(depth)
    assert cleaned is depth
    assert n_bad == 0


@given(arrays(np.float32, (4, 5), elements=st.one_of(
    st.floats(width=32), st.sampled_from([0.0, -0.0, float("nan"), float("inf"), float("-inf"), -1.0, 1e9]))))
def test_cleaning_leaves_only_usable_depth_and_counts_the_rest(depth: np.ndarray) -> None:
    before = depth.copy()
    cleaned, n_bad = clean_depth(depth, max_m=50.0)
    assert cleaned.dtype == np.float32
    usable = np.isfinite(before) & (before >= 0) & (before <= 50)
    assert n_bad == np.count_nonzero(~usable)
    assert np.array_equal(cleaned, np.where(usable, before, 0))
    assert np.array_equal(depth, before, equal_nan=True)  # the caller's image is untouched
