"""Where one map lies in another: found to the centimetre in the same room, refused in every other case."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest

from eqa_nodes.core.errors import BadFrame, BadPose
from eqa_nodes.core.perception.projection import geometry_of
from eqa_nodes.core.relocalisation.place import KnownStorey, places_of
from eqa_nodes.core.relocalisation.registration import Registration, inverse_of, register
from eqa_nodes.core.types.geometry import Pose2, Transform, compose, pose2_of
from eqa_nodes.core.types.views import Frame, Keyframe
from tests.fixtures.box_rooms import FLAT, OTHER, STOOL, Box, look_round

TOUR = ((1.5, 1.5), (1.6, 3.6), (3.0, 3.6))
GLANCE = ((2.4, 1.6),)
NEW = Pose2(7.0, -3.0, 2.1)  # map_from_house of the later session


def views(frames: Iterable[Frame]) -> list[Keyframe]:
    return [Keyframe(i, f.stamp_ns, f.map_from_base, b"", geometry=geometry_of(f)) for i, f in enumerate(frames, 1)]


@pytest.fixture(scope="module")
def known() -> list[KnownStorey]:
    return places_of(views(look_round([*FLAT, STOOL], TOUR)))


def later(boxes: list[Box], floor_m: float = 0.0, looks: int = 12) -> list[KnownStorey]:
    return places_of(views(look_round(boxes, GLANCE, NEW, floor_m=floor_m, looks=looks)))


def assert_right(found: Registration) -> None:
    assert found.refused == ""
    error = pose2_of(compose(found.pose.transform(), NEW.transform()))  # of the house in the house
    assert math.hypot(error.x, error.y) < 0.05 and abs(error.yaw) < math.radians(1.0)


def test_a_look_round_is_found_in_last_weeks_map_though_things_were_moved(known: list[KnownStorey]) -> None:
    moved = [*FLAT, (1.3, 2.2, 0.0, 1.7, 2.6, 0.7), (3.4, 1.4, 0.0, 3.9, 1.9, 0.5)]
    assert_right(register(later(moved), known))


def test_floors_at_other_heights_are_laid_on_each_other(known: list[KnownStorey]) -> None:
    found = register(later(FLAT, floor_m=5.0), known)
    assert_right(found)
    assert found.transform().xyz[2] == pytest.approx(-5.0)


def test_the_storey_that_fits_is_found() -> None:
    lower = views(look_round(OTHER, [(2.0, 1.5), (3.5, 1.2)]))
    upper = [replace(k, id=100 + k.id) for k in views(look_round(FLAT, TOUR, floor_m=3.0))]
    storeys = places_of([*lower, *upper])
    assert [storey.floor_m for storey in storeys] == pytest.approx([3.0, 0.0])
    found = register(later(FLAT), storeys)
    assert_right(found)
    assert found.z_m == pytest.approx(3.0)


def test_another_place_is_refused(known: list[KnownStorey]) -> None:
    assert register(places_of(views(look_round(OTHER, [(2.0, 1.5)], NEW))), known).refused


def test_too_little_seen_is_refused(known: list[KnownStorey]) -> None:
    assert "too little was seen now: 3 views" in register(later(FLAT, looks=3), known).refused


def test_two_equal_rooms_are_ambiguous(known: list[KnownStorey]) -> None:
    shifted = [(a + 20.0, b, c, d + 20.0, e, f) for a, b, c, d, e, f in FLAT]
    twice = places_of(views(look_round([*FLAT, *shifted], [*TOUR, *((x + 20.0, y) for x, y in TOUR)])))
    assert "ambiguous" in register(later(FLAT), twice).refused


def test_a_room_that_looks_the_same_from_both_ends_is_ambiguous() -> None:
    bare = [*FLAT[:6], (0.0, 2.0, 0.0, 0.5, 3.0, 2.0), (3.5, 2.0, 0.0, 4.0, 3.0, 2.0)]
    assert "ambiguous" in register(later(bare), places_of(views(look_round(bare, TOUR)))).refused


def test_views_without_depth_are_a_named_error(known: list[KnownStorey]) -> None:
    plain = [replace(k, geometry=None) for k in views(look_round(FLAT, GLANCE))]
    with pytest.raises(BadFrame, match="none of 12 views has a depth image.*by hand"):
        places_of(plain)


def test_poses_that_are_not_finite_are_a_named_error() -> None:
    seen = views(look_round(FLAT, GLANCE))
    broken = Transform((math.nan, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0))
    with pytest.raises(BadPose, match="not a finite"):
        places_of([replace(seen[0], map_from_base=broken), *seen[1:]])


def test_depth_that_says_nothing_is_too_little(known: list[KnownStorey]) -> None:
    blind = [replace(f, depth_m=np.zeros_like(f.depth_m)) for f in look_round(FLAT, GLANCE)]
    assert "too little was seen now" in register(places_of(views(blind)), known).refused


def test_the_inverse_of_a_pose_brings_it_back() -> None:
    back = pose2_of(compose(NEW.transform(), inverse_of(NEW).transform()))
    assert back == pytest.approx((0.0, 0.0, 0.0), abs=1e-12)
