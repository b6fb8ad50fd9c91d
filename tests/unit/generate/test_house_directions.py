"""Directions along a path in a built-in house: its rooms in order, its turns, and landmarks on the side they are on."""

from __future__ import annotations

import math
import re
from collections import Counter
from itertools import pairwise

import pytest

from eqa_nodes.core.language.directions import bearing, rooms_along
from eqa_nodes.core.types.geometry import Pose2, wrap
from eqa_nodes.core.types.robot import RobotModel
from eqa_nodes.generate.house_directions import directions
from eqa_nodes.generate.values import ScenePath
from sim_bridge.house.questions.facts import HouseFacts, spoken
from sim_bridge.house.scene import House
from sim_bridge.house.world import world

pytest.importorskip("embreex", reason="the house needs embreex: pip install 'eqa-nodes[house]'")

HOUSE = 3


def along(*corners: tuple[float, float]) -> ScenePath:
    """Return a path in steps of 0.25 m between points, as shortest paths of the house give them."""
    points = [corners[0]]
    for a, b in pairwise(corners):
        steps = max(round(math.dist(a, b) / 0.25), 1)
        points += [(a[0] + (b[0] - a[0]) * k / steps, a[1] + (b[1] - a[1]) * k / steps) for k in range(1, steps + 1)]
    poses = [Pose2(*p, math.atan2(q[1] - p[1], q[0] - p[0])) for p, q in pairwise(points)]
    return ScenePath(0, f"house:{HOUSE}", (), (*poses, Pose2(*points[-1], poses[-1].yaw)), 0.0, 0.0, (), (), ())


def between(start: str, end: str) -> tuple[ScenePath, House]:
    """Return the shortest path between two rooms of the house, from middle to middle as far as the robot fits."""
    own = world(HOUSE)
    free = {}
    for kind in (start, end):
        room = next(r for r in own.house.rooms if r.kind == kind)
        x, y = (room.x0 + room.x1) / 2, (room.y0 + room.y1) / 2
        spots = [(x + dx / 4, y + dy / 4) for dx in range(-4, 5) for dy in range(-4, 5)]
        free[kind] = min((p for p in spots if own.free(*p) and own.house.room_at(*p) is room),
                         key=lambda p: math.dist(p, (x, y)))
    return along(*own.shortest_path(free[start], free[end])), own.house


def told(path: ScenePath, house: House) -> str:
    """Return the directions along a path."""
    return directions(path, house, HouseFacts(house).rooms, RobotModel())


@pytest.mark.parametrize(("start", "end"), [("living room", "garage"), ("garage", "workout room"),
                                            ("workout room", "kitchen")])
def test_they_name_the_rooms_in_order_and_lead_where_the_path_leads(start: str, end: str) -> None:
    path, house = between(start, end)
    said = told(path, house)
    rooms = [room.kind for pose in path.poses if (room := house.room_at(pose.x, pose.y))]
    changes = [b for a, b in pairwise(rooms) if a != b]
    assert list(rooms_along(said)) == changes and changes[-1] == end
    assert said.startswith(f"Begin in the {start}. ") and re.search(r" Stop [a-z ]+\.$", said)
    first, last, turned = path.poses[0], path.poses[-1], bearing(said)
    assert turned is not None
    assert abs(wrap(math.atan2(last.y - first.y, last.x - first.x) - first.yaw - turned)) < math.radians(100)


def test_the_way_back_turns_the_other_way() -> None:
    path, house = between("living room", "garage")
    back = along(*((pose.x, pose.y) for pose in reversed(path.poses)))
    there, again = (re.findall(r"turn (left|right) into", said.lower()) for said in (told(path, house),
                                                                                     told(back, house)))
    assert there and again and len(there) == len(again)
    assert again == ["left" if side == "right" else "right" for side in reversed(there)]


def test_landmarks_are_alone_of_their_kind_and_on_the_side_that_is_told() -> None:
    found = 0
    for ends in (("living room", "garage"), ("garage", "workout room"), ("workout room", "kitchen")):
        path, house = between(*ends)
        for name, side in re.findall(r"(?:past|by) the ([a-z ]+) on your (left|right)", told(path, house)):
            visited = {room.id for pose in path.poses if (room := house.room_at(pose.x, pose.y))}
            objects = [t for t in house.objects if spoken(t.kind) == name and t.room in visited]
            bearings = [wrap(math.atan2(t.position[1] - p.y, t.position[0] - p.x) - p.yaw) for t in objects
                        for p in path.poses if t.distance(p.x, p.y) <= 2.2]
            assert any((angle > 0) == (side == "left") for angle in bearings)
            assert 1 in Counter(t.room for t in objects).values()
            found += 1
    assert found >= 4
