"""What is in view: instances with place and size, and words for them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eqa_nodes.core.perception.instances import PerceptionConfig, caption_of, region_of, sightings
from eqa_nodes.core.types.geometry import Pose2
from tests.fixtures.frames import LABELS, F, H, W, frame


def test_a_sighting_says_where_the_thing_is_in_the_map() -> None:
    seen, = sightings(frame(1, Pose2(5.0, 1.0, np.pi / 2), {1: (40, 10, 48, 20)}, depth=2.0), LABELS)
    assert (seen.label.kind, seen.pixels, seen.bbox) == ("kettle", 80, (40, 10, 48, 20))
    # the robot looks along +y: depth is y, pixels to the right of the centre are larger x, the camera is 1.2 m up
    right, up = (44 - W / 2) / F * 2.0, (H / 2 - 15) / F * 2.0
    assert seen.centre == pytest.approx((5.0 + right, 3.0, 1.2 + up), abs=0.04)
    assert seen.size == pytest.approx((8 / F * 2.0, 0.0, 10 / F * 2.0), abs=0.13)


def test_the_largest_comes_first_then_the_smaller_id() -> None:
    seen = sightings(frame(1, boxes={4: (0, 0, 8, 8), 3: (20, 0, 28, 8), 1: (40, 0, 60, 20)}), LABELS)
    assert [s.label.instance for s in seen] == [1, 3, 4]


def test_too_small_too_far_unnamed_or_without_depth_is_not_seen() -> None:
    config = PerceptionConfig(min_share=20 / (W * H))
    boxes = {1: (0, 0, 4, 4), 2: (10, 0, 20, 10), 99: (30, 0, 40, 10), 3: (50, 0, 60, 10), 4: (0, 20, 10, 30)}
    f = frame(1, boxes=boxes)
    f.depth_m[0:10, 10:20] = 6.5
    f.depth_m[0:10, 50:60] = (0.0, np.nan, np.inf, -1.0, 0.0) * 2
    assert [s.label.instance for s in sightings(f, LABELS, config)] == [4]


def test_depth_outliers_do_not_stretch_a_thing() -> None:
    f = frame(1, boxes={1: (20, 10, 40, 30)})
    f.depth_m[10, 20:30] = 40.0
    f.depth_m[29, 20:30] = np.inf
    seen, = sightings(f, LABELS)
    assert seen.size[0] < 0.05


def test_without_labels_nothing_is_seen() -> None:
    assert sightings(frame(1), LABELS) == ()
    assert sightings(frame(1, boxes={}), LABELS) == ()


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_any_labels_and_depth_give_finite_boxes_in_order(seed: int) -> None:
    rng = np.random.default_rng(seed)
    f = frame(1, boxes={})
    f.labels[:] = rng.integers(0, 12, (H, W)) * (rng.random((H, W)) < 0.9)
    f.depth_m[:] = rng.choice(np.array([0, 1, 3, 9, np.nan, np.inf, -2, 1e30], np.float32), (H, W))
    seen = sightings(f, LABELS)
    assert [(-s.pixels, s.label.instance) for s in seen] == sorted((-s.pixels, s.label.instance) for s in seen)
    assert all(np.isfinite((*s.centre, *s.size)).all() and min(s.size) >= 0 for s in seen)
    assert seen == sightings(f, LABELS)


def test_caption_names_rooms_things_and_states() -> None:
    boxes = {1: (0, 0, 8, 8), 2: (10, 0, 30, 20), 3: (40, 0, 50, 10), 7: (40, 20, 47, 27)}
    seen = sightings(frame(1, boxes=boxes), LABELS)
    assert caption_of(seen) == ("kitchen: white stone counter, red kettle on counter (on); "
                                "study: table lamp on desk (off); living room: painting on wall")
    assert caption_of(seen, limit=1) == "kitchen: white stone counter"
    assert caption_of(()) == ""
    assert region_of(seen) == "kitchen"
    assert region_of(()) == ""
