"""Navigation graphs: given ones, and those that follow from the geometry of a scene."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eqa_nodes.bench.embodied.graph import Direction, NavigationGraph, scene_directions, unreached
from eqa_nodes.bench.embodied.tasks import DOWN, FORWARD, LEFT, PLACE, RIGHT, TARGET, UP, GraphPoint, Predicate
from eqa_nodes.core.types.geometry import Pose2, wrap
from tests.fixtures.tasks import POINTS, TASK


def bearings(ways: list[Direction]) -> list[int]:
    """Return directions in degrees, 0 to 359."""
    return [round(math.degrees(way.bearing)) % 360 for way in ways]


def row(*xs: float, **more: object) -> list[GraphPoint]:
    return [GraphPoint(i, x, 0.0, 0.0, f"P{i}") for i, x in enumerate(xs)]


def test_neighbours_are_joined_the_nearest_first() -> None:
    ways = scene_directions(row(0.0, 0.5, 1.0, 1.5), lambda a, b: True)
    joined = [[way.point for way in ways[i] if way.point is not None] for i in range(4)]
    assert joined == [[1], [0, 2], [1, 3], [2]]  # the farther ones lie in the direction of the nearer ones


@pytest.mark.parametrize(("apart", "joined"), [(3.5, True), (3.52, False)])
def test_edges_are_at_most_three_and_a_half_metres_long(apart: float, joined: bool) -> None:
    ways = scene_directions(row(0.0, apart), lambda a, b: True)
    assert (1 in [way.point for way in ways[0]]) is joined


def test_directions_are_at_least_sixty_degrees_apart() -> None:
    around = [GraphPoint(0, 0.0, 0.0, 0.0, "P0")]
    for number, degrees in enumerate((0, 59, 61, 121), start=1):
        angle = math.radians(degrees)
        around.append(GraphPoint(number, math.cos(angle) * (1 + number / 100), math.sin(angle) * (1 + number / 100)))
    ways = scene_directions(around, lambda a, b: (0.0, 0.0, 0.0) in (a, b))
    assert bearings([way for way in ways[0] if way.point is not None])[:2] == [0, 61]


def test_an_obstacle_parts_two_points() -> None:
    ways = scene_directions(row(0.0, 1.0, 2.0), lambda a, b: {a[0], b[0]} != {0.0, 1.0})
    assert [way.point for way in ways[0] if way.point is not None] == [2]
    assert [way.point for way in ways[1] if way.point is not None] == [2]


def test_dead_ends_and_gaps_get_directions() -> None:
    ways = scene_directions(row(0.0, 1.0), lambda a, b: True)
    assert bearings(ways[0]) == [0, 180, 90, 270]  # the neighbour, the way back, and both gaps of 180 degrees


def test_objects_are_looked_at_from_their_point_and_from_two_metres() -> None:
    points = [*row(0.0, 3.0), GraphPoint(2, 0.0, 4.0, 0.5, "P0-Target", TARGET),
              GraphPoint(3, 3.0, 2.0, 0.5, "P7-Target", TARGET), GraphPoint(4, 3.0, -2.1, 0.5, "P8-Target", TARGET)]
    ways = scene_directions(points, lambda a, b: True)
    assert bearings(ways[0])[:2] == [90, 0] and bearings(ways[1])[:2] == [180, 90]  # its own from any distance
    assert 270 not in bearings(ways[1])


def test_a_graph_of_a_scene_always_faces_a_direction() -> None:
    task = replace(TASK, points=tuple(row(0.0, 2.0)), edges=None)
    graph = NavigationGraph(task, lambda a, b: True)
    assert graph.start.yaw == 0.0 and graph.moves(graph.start)[FORWARD].point == 1
    with pytest.raises(ValueError, match="its graph follows from its scene"):
        NavigationGraph(task)


@pytest.mark.parametrize(("kind", "y", "lost"), [("agent_at", 0.29, False), ("agent_at", 0.31, True),
                                                ("agent_near", 1.49, False), ("agent_pass", 1.0, True)])
def test_places_beside_the_points_are_reached_from_near(kind: str, y: float, lost: bool) -> None:
    place = GraphPoint(9, 2.0, -y, 0.0, "SpecialPoint", PLACE)
    task = replace(TASK, points=(*POINTS, place), predicates=(Predicate(kind, point=9),))
    assert (unreached(task, NavigationGraph(task)) is not None) is lost


def test_moves_face_the_neighbours() -> None:
    graph = NavigationGraph(TASK)
    at = graph.start
    assert (at.point, graph.faced(at)) == (0, 1)
    assert list(graph.moves(at)) == [FORWARD, LEFT, RIGHT, UP, DOWN]
    left = graph.moves(at)[LEFT]
    assert left.yaw == pytest.approx(math.pi / 2) and graph.faced(left) == 3
    right = graph.moves(at)[RIGHT]
    assert right.yaw == pytest.approx(-math.pi / 2) and FORWARD not in graph.moves(right)
    assert graph.moves(left)[FORWARD].point == 3
    up = graph.moves(at)[UP]
    assert up.look_deg == 30.0 and UP not in graph.moves(up) and graph.moves(up)[DOWN].look_deg == 0.0


@given(st.lists(st.tuples(st.floats(-5, 5), st.floats(-5, 5)), min_size=2, max_size=8, unique=True), st.floats(-3, 3))
@settings(max_examples=50, deadline=None)
def test_turning_one_way_faces_every_neighbour(places: list[tuple[float, float]], yaw: float) -> None:
    task = replace(TASK, points=tuple(GraphPoint(i, x, y) for i, (x, y) in enumerate(places)),
                   edges=tuple((0, i) for i in range(1, len(places))), start=Pose2(*places[0], yaw))
    graph = NavigationGraph(task)
    at, turned = graph.start._replace(point=0), 0.0
    bearings = [math.atan2(y - places[0][1], x - places[0][0]) for x, y in places[1:]]
    faced = []
    while turned < 2 * math.pi + 0.1:
        to = graph.moves(at)[LEFT]
        turned += wrap(to.yaw - at.yaw) % (2 * math.pi)
        at = to
        faced.append(at.yaw)
    assert all(any(abs(wrap(b - f)) <= math.radians(1.0) + 1e-9 for f in faced) for b in bearings)
