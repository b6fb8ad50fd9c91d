"""Driving, sliding and distances in the built-in house."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eqa_nodes.core.errors import NavigationError
from eqa_nodes.core.types.robot import RobotModel
from sim_bridge.house.physics import FreeSpace, path_length, steps_along
from sim_bridge.house.scene import House, HouseObject, ObjectPart
from tests.fixtures.houses import empty_room, two_rooms

ROBOT = RobotModel()
RADIUS = ROBOT.radius_m
HOUSE = two_rooms()
SPACE = FreeSpace(HOUSE, ROBOT.height_m)
POINTS = st.tuples(st.floats(0.0, 8.12), st.floats(0.0, 4.0)).filter(lambda p: SPACE.free(*p, RADIUS))


def length(a: tuple[float, float], b: tuple[float, float]) -> float:
    return path_length(SPACE.shortest_path(a, b, RADIUS))


def with_box(size: tuple[float, float, float], z: float = 0.0, solid: bool = True, yaw: float = 0.0) -> House:
    house = empty_room()
    house.objects.append(HouseObject(1, "box", 0, (2.0, 1.5, z), yaw, size, solid=solid,
                                     parts=[ObjectPart("box", (0, 0, size[2] / 2), size, "red")]))
    return house


def test_open_floor_is_driven_exactly() -> None:
    move = FreeSpace(empty_room(), 1.3).move(1.0, 1.0, 0.5, ROBOT)
    assert (move.x, move.y) == pytest.approx((1.0 + 0.25 * math.cos(0.5), 1.0 + 0.25 * math.sin(0.5)))
    assert move.metres == pytest.approx(0.25)
    assert not move.collided


def test_a_wall_stops_the_robot_at_its_radius() -> None:
    space, x = FreeSpace(empty_room(), 1.3), 3.0
    moves = []
    for _ in range(5):
        moves.append(space.move(x, 1.5, 0.0, ROBOT))
        x = moves[-1].x
    assert x == pytest.approx(4.0 - RADIUS, abs=0.03)
    assert moves[-1].collided
    assert moves[-1].metres < 0.01
    assert sum(m.metres for m in moves) == pytest.approx(x - 3.0)


def test_an_oblique_wall_contact_slides() -> None:
    space = FreeSpace(empty_room(), 1.3)
    x, y = 1.0, 3.0 - RADIUS - 0.02
    for _ in range(4):
        move = space.move(x, y, math.radians(30), ROBOT)
        x, y = move.x, move.y
        assert move.collided
    assert x - 1.0 == pytest.approx(4 * 0.25 * math.cos(math.radians(30)), abs=0.08)
    assert y == pytest.approx(3.0 - RADIUS, abs=0.03)


@pytest.mark.parametrize(("size", "z", "solid", "blocked"), [
    ((0.4, 0.4, 0.5), 0.0, True, True),
    ((0.02, 0.02, 1.0), 0.0, True, True),  # a thin pole is not missed
    ((0.4, 0.4, 0.015), 0.0, True, False),  # lower than a wheel minds
    ((0.4, 0.4, 0.5), 1.4, True, False),  # above the robot
    ((0.4, 0.4, 0.5), 0.0, False, False),
])
def test_what_stands_in_the_way(size: tuple[float, float, float], z: float, solid: bool, blocked: bool) -> None:
    space = FreeSpace(with_box(size, z, solid), 1.3)
    assert space.free(2.0, 1.5, RADIUS) is not blocked


def test_clearance_of_a_turned_box_is_measured_from_its_face() -> None:
    space = FreeSpace(with_box((0.6, 0.2, 1.0), yaw=math.pi / 4), 1.3)
    out = (2.0 + 0.5 * math.cos(3 * math.pi / 4), 1.5 + 0.5 * math.sin(3 * math.pi / 4))
    assert float(space.clearance(*out)) == pytest.approx(0.4, abs=0.03)


@given(start=POINTS, yaw=st.floats(-math.pi, math.pi), count=st.integers(1, 8))
@settings(max_examples=30, deadline=None)
def test_driving_never_enters_anything(start: tuple[float, float], yaw: float, count: int) -> None:
    x, y = start
    for _ in range(count):
        move = SPACE.move(x, y, yaw, ROBOT)
        straight = math.dist((x, y), (move.x, move.y))
        assert straight <= move.metres + 1e-9
        assert move.metres <= 0.25 * 1.5 + 1e-9
        assert move.collided or straight == pytest.approx(0.25, abs=0.006)
        assert SPACE.free(move.x, move.y, RADIUS)
        x, y = move.x, move.y


def test_through_the_door_is_the_way() -> None:
    path = SPACE.shortest_path((4.0, 3.4), (6.0, 3.4), RADIUS)
    around = 2 * math.hypot(1.06, 3.4 - 2.22)  # past the door jamb at (5.06, 2.4), a radius away
    assert (path[0], path[-1]) == ((4.0, 3.4), (6.0, 3.4))
    assert path_length(path) == pytest.approx(around, rel=0.04)


def test_a_pillar_is_rounded_within_two_percent() -> None:
    house = empty_room(6.0, 6.0)
    pillar = ObjectPart("cylinder", (0, 0, 1), (2.0, 2.0, 2.0), "red")
    house.objects.append(HouseObject(1, "pillar", 0, (3.0, 3.0, 0.0), 0.0, (2, 2, 2), parts=[pillar]))
    space = FreeSpace(house, 1.3)
    r, d = 1.0 + RADIUS, 2.5  # tangent, arc, tangent
    true = 2 * math.sqrt(d * d - r * r) + r * (math.pi - 2 * math.acos(r / d))
    assert path_length(space.shortest_path((0.5, 3.0), (5.5, 3.0), RADIUS)) == pytest.approx(true, rel=0.02)


def test_a_sealed_room_is_out_of_reach() -> None:
    house = two_rooms()
    house.openings = [o for o in house.openings if o.kind == "window"]
    assert path_length(FreeSpace(house, 1.3).shortest_path((1.5, 1.0), (6.0, 3.0), RADIUS)) == math.inf


def test_a_gap_as_wide_as_the_robot_is_a_way() -> None:
    for shift in (0.0, 0.024):
        house = empty_room(4.0, 3.0)
        for number, (y0, y1) in enumerate(((0.0, 1.2 + shift), (1.6 + shift, 3.0))):
            size = (0.8, y1 - y0, 1.0)
            house.objects.append(HouseObject(number + 1, "box", 0, (2.0, (y0 + y1) / 2, 0.0), 0.0, size,
                                             parts=[ObjectPart("box", (0, 0, 0.5), size, "red")]))
        path = FreeSpace(house, 1.3).shortest_path((0.5, 0.5), (3.5, 2.5), RADIUS)
        assert 3.6 < path_length(path) < 4.2


def test_an_empty_path_has_no_steps() -> None:
    with pytest.raises(NavigationError, match="no steps"):
        steps_along([], 0.0, 0.0, ROBOT)


def test_points_outside_or_not_finite_are_out_of_reach() -> None:
    assert length((1.5, 1.0), (50.0, 1.0)) == math.inf
    assert length((1.5, 1.0), (math.nan, 1.0)) == math.inf


@given(a=POINTS, b=POINTS, c=POINTS)
@settings(max_examples=25, deadline=None)
def test_geodesic_is_a_metric_and_not_below_euclid(a: tuple[float, float], b: tuple[float, float],
                                                   c: tuple[float, float]) -> None:
    there = length(a, b)
    assert there == length(b, a)
    assert there >= math.dist(a, b) - 1e-9
    assert length(a, c) <= (there + length(b, c)) * 1.02 + 0.03
    assert length(a, a) == 0.0


@pytest.mark.parametrize(("path", "start", "final", "steps"), [
    ([(0, 0), (1, 0)], 0.0, 0.0, 4),
    ([(0, 0), (1, 0)], math.pi / 2, 0.0, 7),
    ([(0, 0), (1, 0), (1, 1)], 0.0, math.pi / 2, 11),
    ([(0, 0)], 0.0, math.pi, 6),
])
def test_steps_count_turns_and_moves(path: list[tuple[float, float]], start: float, final: float, steps: int) -> None:
    assert steps_along(path, start, final, ROBOT) == steps
