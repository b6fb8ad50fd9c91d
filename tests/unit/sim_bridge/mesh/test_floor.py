"""Where a robot can be in a mesh, how it moves there, and how far it is over all storeys."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eqa_nodes.core.errors import NoFloor
from eqa_nodes.core.types.robot import RobotModel
from sim_bridge.mesh.floor import MeshPaths
from sim_bridge.walker import At, advance
from tests.fixtures.floors import box, floor_of, slab, two_storeys

ROBOT = RobotModel()
BOXES = ((1.0, 1.0, 2.0, 1.6), (3.0, 2.0, 3.6, 4.0), (0.5, 3.0, 2.0, 3.3))
FLOOR = floor_of(slab(0, 0, 5, 5, 0), *(box(*b, 0.0, 1.0) for b in BOXES))
PATHS = MeshPaths(FLOOR)
STOREYS = floor_of(*two_storeys())
FREE = st.tuples(st.floats(0, 5), st.floats(0, 5), st.just(0.0)).filter(lambda p: FLOOR.free(*p))


def room_at(x: float, y: float) -> float:
    """Return the true distance to the nearest box or edge."""
    gaps = [math.hypot(max(x0 - x, x - x1, 0), max(y0 - y, y - y1, 0)) for x0, y0, x1, y1 in BOXES]
    return min(*gaps, x, y, 5 - x, 5 - y)


def slide(at: At, dx: float, dy: float) -> At:
    return FLOOR.hop(at, dx, dy, True)


@settings(max_examples=100, deadline=None)
@given(st.floats(0, 5), st.floats(0, 5))
def test_free_means_room_for_the_radius(x: float, y: float) -> None:
    if FLOOR.free(x, y, 0.0):
        assert room_at(x, y) >= ROBOT.radius_m - 0.002
    else:
        assert room_at(x, y) < ROBOT.radius_m + 3 * 0.05


@settings(max_examples=25, deadline=None)
@given(FREE, st.floats(-math.pi, math.pi), st.booleans())
def test_a_moved_robot_is_never_in_something(at: At, yaw: float, slides: bool) -> None:
    for _ in range(6):
        moved = advance(lambda *hop: FLOOR.hop(*hop, slides), at, yaw, 0.25)
        assert room_at(moved.at[0], moved.at[1]) >= ROBOT.radius_m - 0.002
        assert moved.metres <= 0.25 * 1.5 + 1e-9
        assert moved.collided or moved.metres == pytest.approx(0.25, abs=0.02)
        at = moved.at


def test_a_wall_stops_and_is_slid_along() -> None:
    at: At = (1.5, 0.5, 0.0)
    for _ in range(4):
        moved = advance(slide, at, math.pi / 2, 0.25)
        at = moved.at
    assert moved.collided and at[1] == pytest.approx(1.0 - ROBOT.radius_m, abs=0.06)
    along = advance(slide, at, math.radians(60), 0.25)
    assert along.collided and along.at[0] - at[0] == pytest.approx(0.125, abs=0.04)
    stopped = advance(lambda *hop: FLOOR.hop(*hop, False), at, math.radians(60), 0.25)
    assert stopped.collided and stopped.metres < 0.06


@settings(max_examples=20, deadline=None)
@given(FREE, FREE, FREE)
def test_geodesic_is_a_metric(a: At, b: At, c: At) -> None:
    ab, bc, ac = PATHS.geodesic(a, b), PATHS.geodesic(b, c), PATHS.geodesic(a, c)
    assert ab == PATHS.geodesic(b, a)
    assert ab >= math.dist(a, b) - 1e-6
    assert ac <= (ab + bc) * 1.03 + 0.02


@settings(max_examples=20, deadline=None)
@given(FREE, FREE)
def test_ways_lead_through_what_is_free(a: At, b: At) -> None:
    path = PATHS.shortest(a, b)
    assert path[0][:2] == pytest.approx(a[:2]) and path[-1][:2] == pytest.approx(b[:2])
    for p, q in pairwise(path):
        for k in range(11):
            x, y = (p[i] + (q[i] - p[i]) * k / 10 for i in (0, 1))
            assert room_at(x, y) >= ROBOT.radius_m - 0.012


def test_a_straight_way_is_as_long_as_it_is_and_a_bent_one_too() -> None:
    assert PATHS.geodesic((0.5, 0.5, 0.0), (4.5, 0.7, 0.0)) == pytest.approx(math.dist((0.5, 0.5), (4.5, 0.7)))
    round_the_corner = 1.850  # tangents to the disc of the radius about the corner (1, 1.6), and the arc between them
    assert PATHS.geodesic((0.6, 0.6, 0.0), (1.5, 2.0, 0.0)) == pytest.approx(round_the_corner, rel=0.04)


def test_what_is_off_or_shut_is_unreachable() -> None:
    floor = floor_of(slab(0, 0, 3, 3, 0), slab(5, 0, 8, 3, 0))
    paths = MeshPaths(floor)
    assert paths.geodesic((1, 1, 0.0), (6, 1, 0.0)) == math.inf
    assert paths.geodesic((1, 1, 0.0), (1, 1.5, 9.0)) == math.inf
    assert paths.shortest((1, 1, 0.0), (math.nan, 1, 0.0)) == []
    assert paths.geodesic((1, 1, 0.0), (2, 2, 0.0)) == pytest.approx(math.sqrt(2))


def test_an_end_inside_something_is_the_floor_before_it() -> None:
    assert PATHS.geodesic((0.5, 0.5, 0.0), (1.5, 1.05, 0.0)) == PATHS.geodesic((0.5, 0.5, 0.0), (1.5, 1.05, 0.6)) < 2
    assert PATHS.geodesic((0.5, 0.5, 0.0), (3.3, 3.0, 0.0)) == math.inf  # in the middle of a large box


def test_levels_of_a_floor_that_is_not_even() -> None:
    floor = floor_of(slab(0, 0, 4, 4, 0), slab(4, 0, 8, 4, 0.12))
    assert len(floor.levels) == 1
    assert floor.levels[0].area_m2 == pytest.approx(7.64 * 3.64, rel=0.06)


def test_floors_are_found_and_joined_by_stairs() -> None:
    assert [level.height_m for level in STOREYS.levels] == pytest.approx([0.0, 2.16], abs=1e-3)
    below, above = (6.0, 1.0, 0.0), (6.0, 1.0, 2.16)
    assert STOREYS.height(*below) == pytest.approx(0.0, abs=1e-6)
    assert STOREYS.height(*above) == pytest.approx(2.16)
    paths = MeshPaths(STOREYS)
    way = paths.geodesic(below, above)
    assert way == paths.geodesic(above, below)
    assert 9.0 < way < 14.0  # down the hall, up the stairs from x = 0, and back over the upper floor
    assert max(z for _, _, z in paths.shortest(below, above)) == pytest.approx(2.16)


def test_a_robot_drives_up_the_stairs() -> None:
    moved = advance(lambda *hop: STOREYS.hop(*hop, True), (-1.0, 0.6, 0.0), 0.0, 6.0)
    assert not moved.collided
    assert moved.at == pytest.approx((5.0, 0.6, 2.16), abs=1e-3)


def test_a_robot_that_climbs_less_stays_below() -> None:
    floor = floor_of(*two_storeys(), robot=replace(ROBOT, climb_m=0.1))
    assert MeshPaths(floor).geodesic((-1.0, 0.6, 0.0), (6.0, 1.0, 2.16)) == math.inf
    assert advance(lambda *hop: floor.hop(*hop, True), (-1.0, 0.6, 0.0), 0.0, 6.0).collided


def test_starts_are_free_and_the_same_for_a_seed() -> None:
    near = STOREYS.nearest_free(9.0, -3.0, 2.16)
    assert near is not None and STOREYS.free(*(round(value, 2) for value in near)) and abs(near[2] - 2.16) < 0.5
    starts = [STOREYS.start(seed) for seed in range(10)]
    assert len(set(starts)) > 7
    for start in starts:
        assert start is not None and STOREYS.free(*start) and start[2] == pytest.approx(0.0, abs=0.21)
    assert starts == [STOREYS.start(seed) for seed in range(10)]


def test_small_areas_are_no_place_to_stand() -> None:
    def raised(side: float) -> bool:
        return floor_of(slab(-2, -2, 4, 4, 0), box(0, 0, side, side, 0, 0.6)).free(side / 2, side / 2, 0.6)
    assert raised(1.8)
    assert not raised(1.2)


def test_an_episode_begins_on_the_floor_that_is_nearest_to_a_height_however_far() -> None:
    heights = {z: STOREYS.stand(6.0, 1.0, z) for z in (-40.0, 0.9, 1.3, 2.5, 60.0)}
    assert heights == pytest.approx({-40.0: 0.0, 0.9: 0.0, 1.3: 2.16, 2.5: 2.16, 60.0: 2.16}, abs=1e-3)
    assert STOREYS.stand(-2.0, 0.6, 2.16) == pytest.approx(0.0)  # there is only the lower floor
    assert STOREYS.stand(20.0, 0.6, 0.0) is None


def test_an_episode_begins_up_to_five_centimetres_off_the_free_floor_and_drives_on_from_there() -> None:
    free = next(0.5 + k / 1000 for k in range(500) if not FLOOR.free(1.5, 0.5 + k / 1000, 0.0)) - 0.001  # box at y = 1
    assert FLOOR.stand(1.5, free + 0.045, 0.0) == pytest.approx(0.0)
    assert FLOOR.stand(1.5, free + 0.07, 0.0) is None
    off = (1.5, free + 0.045, 0.0)
    assert FLOOR.hop(off, 0.0, -0.1, False) == pytest.approx((1.5, free - 0.055, 0.0))
    x, y, _ = FLOOR.hop(off, 0.0, 0.01, True)
    assert FLOOR.free(x, y, 0.0)


def test_no_episode_begins_on_what_is_much_smaller_than_the_largest_floor() -> None:
    room, bed = slab(0, 0, 10, 10, 0), box(2, 2, 4, 3.5, 0, 0.6)
    on_bed = floor_of(room, bed)
    assert on_bed.free(3.0, 2.75, 0.6) and on_bed.stand(3.0, 2.75, 0.6) is None
    assert floor_of(slab(0, 0, 5, 5, 0), bed).stand(3.0, 2.75, 0.6) == pytest.approx(0.6)


def test_a_floor_too_narrow_for_the_robot_has_no_place() -> None:
    floor = floor_of(slab(0, 0, 10, 0.4, 0))
    assert (floor.levels, floor.start(0), floor.nearest_free(1, 0.2, 0)) == ([], None, None)
    assert not floor.free(5, 0.2, 0)


@pytest.mark.parametrize("parts", [
    [slab(0, 0, 5, 5, 0), slab(0, 0, 5, 5, 1.0, up=False)],
    [np.array([[(0, 0, 0), (0.06, 0, 0), (0, 0.06, 0)]], float)],
])
def test_a_scene_without_room_is_named(parts: list[np.ndarray]) -> None:
    with pytest.raises(NoFloor, match="1.3 m"):
        floor_of(*parts)
