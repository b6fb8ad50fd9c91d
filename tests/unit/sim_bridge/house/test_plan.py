"""Plans, openings and places for furniture, worked out by hand for a room of 4 m x 3 m."""

from __future__ import annotations

import math

import pytest

from sim_bridge.house.dice import Dice
from sim_bridge.house.furnish import RoomFurnisher
from sim_bridge.house.furnish_living import flank
from sim_bridge.house.furnish_service import free_run
from sim_bridge.house.openings import Wall, walls_of
from sim_bridge.house.plan import PlannedRoom, draw_layout
from sim_bridge.house.rooms import room_kind
from sim_bridge.house.scene import Room
from sim_bridge.house.space import Block, Ids, Placement, ahead, footprint


@pytest.fixture
def room() -> RoomFurnisher:
    return RoomFurnisher(Room(0, "study", 0.0, 0.0, 4.0, 3.0, "planks", "brown", "white"), Dice(1), Ids(), 2.6)


def test_what_holds_for_rooms_is_read_from_the_table() -> None:
    kitchen, pantry = room_kind("kitchen"), room_kind("pantry")
    assert (kitchen.area_m2, kitchen.least_m, kitchen.windows) == ((10.0, 16.0), 2.9, ((1.1, 1.2), 2.15, (0.9, 1.4)))
    assert kitchen.needed == ("refrigerator", "oven", "kitchen sink", "kitchen counter") and not kitchen.curtains
    assert (pantry.windows, pantry.walls) == (None, ("plaster",))
    assert pantry.floors == (("tile", "beige"), ("planks", "brown"))
    assert room_kind("bedroom").curtains and room_kind("garage").side == "deep"
    assert room_kind("stairwell") == room_kind("other") and room_kind("study").floors == room_kind("other").floors


@pytest.mark.parametrize("count", [4, 5, 6, 9, 12])
def test_rooms_tile_a_rectangle(count: int) -> None:
    for seed in range(4):
        cells = draw_layout(Dice(seed), count)
        width, depth = max(c.x1 for c in cells), max(c.y1 for c in cells)
        assert len(cells) == count and min(min(c.x0, c.y0) for c in cells) == 0.0
        assert sum((c.x1 - c.x0) * (c.y1 - c.y0) for c in cells) == pytest.approx(width * depth, rel=2e-3)
        for cell in cells:
            assert min(c - a for a, c in ((cell.x0, cell.x1), (cell.y0, cell.y1))) >= 1.4


def test_walls_between_and_around_two_cells() -> None:
    cells = [PlannedRoom("kitchen", 0.0, 0.0, 4.0, 3.0), PlannedRoom("study", 4.0, 1.0, 7.0, 3.0)]
    inner, outer = walls_of(cells)
    assert inner == [Wall(0, 1, False, 4.0, 1.0, 3.0)] and inner[0].length == 2.0
    assert [(w.a, w.along_x, w.at) for w in outer] == [
        (0, False, 0.0), (0, True, 0.0), (0, True, 3.0), (1, False, 7.0), (1, True, 3.0)]


def test_boxes_that_touch_share_no_space() -> None:
    box = Block(0, 0, 0, 1, 1, 1)
    assert box.meets(Block(0.9, 0.9, 0.9, 2, 2, 2))
    assert not any(box.meets(Block(*(d * x for x in (1, 0, 0)), *(d * x + 1 for x in (1, 0, 0)))) for d in (1, -1))
    assert not box.meets(Block(0, 1, 0, 1, 2, 1)) and not box.meets(Block(0, 0, 1, 1, 1, 2))


def test_objects_stand_along_walls_and_beside_each_other(room: RoomFurnisher) -> None:
    assert room.wall_spot("north", 1.5, 0.6) == Placement(1.5, 2.7, 0.0, -math.pi / 2)
    assert ahead(Placement(1.0, 1.0, 0.0, math.pi / 2), 0.5, 0.25) == pytest.approx((0.75, 1.5))
    blank = room.blank("desk", depth=0.7, width=1.4, height=0.74)
    box = footprint(blank, Placement(2.0, 0.35, 0.0, math.pi / 2))
    assert box[:6] == pytest.approx((1.3, 0.0, 0.0, 2.7, 0.7, 0.74))
    desk = room.settle(blank, Placement(2.0, 0.35, 0.0, math.pi / 2), front=0.75)
    assert desk is not None and room.side_of(desk) == "south"
    assert room.settle(blank, Placement(2.0, 1.0, 0.0, math.pi / 2)) is None  # in the space before the desk
    assert room.free(Block(1.3, 1.5, 0.0, 2.7, 2.0, 1.0)) and not room.inside(Block(3.5, 0, 0, 4.1, 1, 1))
    shelf = room.beside("bookshelf", desk, 1)
    assert shelf is not None and shelf.yaw == desk.yaw
    assert shelf.position[0] == pytest.approx(2.0 - 0.7 - 0.04 - shelf.size[1] / 2, abs=1e-3)
    seat = flank(room, "stool", desk, -1, 0.1)
    assert seat is not None and seat.position[0] == pytest.approx(2.7 + 0.1 + seat.size[0] / 2, abs=1e-3)
    assert free_run(room, "north", 0.64) == pytest.approx((0.0, 4.0))
    assert free_run(room, "south", 0.64)[1] - free_run(room, "south", 0.64)[0] < 1.5
