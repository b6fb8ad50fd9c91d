"""Walls from depth: rooms of a house are parts of the floor; people, other storeys and wrong poses change nothing."""

from __future__ import annotations

import math
from contextlib import closing
from dataclasses import replace
from functools import cache

import numpy as np

from eqa_nodes.core.perception.walls import WallMap
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.robot import CameraModel
from eqa_nodes.core.types.views import Frame
from sim_bridge.house.generate import generate_house
from sim_bridge.house.simulator import HouseSimulator
from sim_bridge.robots import DEFAULT, ROBOTS
from sim_bridge.simulator import EpisodeSetup
from tests.fixtures.frames import frame

SEED, ROOMS = 600, ("bedroom", "bathroom", "kitchen")
CAMERA = CameraModel(width=160, height=120, color=False)
NOBODY = np.zeros((CAMERA.height, CAMERA.width), bool)


@cache
def looks() -> tuple[Frame, ...]:
    """Return the frames of a look round in some rooms of a house."""
    found = []
    with closing(HouseSimulator()) as simulator:
        simulator.reset(EpisodeSetup(f"house:{SEED}", robot=replace(ROBOTS[DEFAULT], camera=CAMERA)))
        for room in ROOMS:
            for turn in range(8):
                base = Pose2(*middle(room), turn * math.pi / 4).transform()
                found.append(replace(simulator.view(base), map_from_base=base))
    return tuple(found)


@cache
def middle(name: str) -> tuple[float, float]:
    room = next(room for room in generate_house(SEED).rooms if room.name == name)
    return (room.x0 + room.x1) / 2, (room.y0 + room.y1) / 2


def parts(walls: WallMap, floor_m: float = 0.0) -> list[int]:
    """Return the part of each room, seen from the first one."""
    found = walls.parts(*middle(ROOMS[0]), floor_m)
    return [found.at(*middle(room)) for room in ROOMS]


def walls_of(frames: tuple[Frame, ...]) -> WallMap:
    walls = WallMap()
    for one in frames:
        walls.add(one, NOBODY)
    return walls


def test_each_room_is_a_part_of_its_own() -> None:
    walls = walls_of(looks())
    assert 0 not in parts(walls) and len(set(parts(walls))) == len(ROOMS)
    found, (x, y) = walls.parts(*middle("bedroom"), 0.0), middle("bedroom")
    assert {found.at(x + dx, y + dy) for dx in (-0.6, 0.6) for dy in (-0.6, 0.6)} == {found.at(x, y)}
    assert found.at(x + 500.0, y) == 0, "beyond what was asked for"


def test_floors_of_other_storeys_and_forgotten_ones_are_unknown() -> None:
    walls = walls_of(looks())
    assert parts(walls, 2.8) == [0, 0, 0]
    walls.reset()
    assert parts(walls) == [0, 0, 0]


def test_a_pose_far_off_costs_a_tile_and_changes_no_room() -> None:
    walls, before = walls_of(looks()), parts(walls_of(looks()))
    lost = Pose2(1e7, -1e7, 0.0).transform()
    walls.add(replace(looks()[0], map_from_base=lost), NOBODY)
    assert parts(walls) == before


def test_people_are_no_walls() -> None:
    still = WallMap()
    for shown in (np.zeros((48, 64), bool), np.ones((48, 64), bool)):
        walls = WallMap()
        for turn in range(12):  # someone all around, 2 m away
            walls.add(frame(turn + 1, Pose2(0.0, 0.0, turn * math.pi / 6)), shown)
        tall = walls.parts(0.0, 0.0, 0.0).numbers > 0
        assert tall.sum() > (20 if shown.any() else 0)
        still = walls
    assert still.parts(0.0, 0.0, 0.0).at(0.0, 0.0) > 0, "where the robot stands there is floor"


def test_a_frame_without_depth_shows_only_where_the_robot_stands() -> None:
    walls = WallMap()
    walls.add(replace(looks()[0], depth_m=np.full_like(looks()[0].depth_m, np.nan)), NOBODY)
    assert (walls.parts(*middle("bedroom"), 0.0).numbers > 0).sum() == 25
