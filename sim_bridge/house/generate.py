"""Generates a furnished home from a seed: plan, openings and furniture, checked so that a robot reaches every room."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from eqa_nodes.core.types.geometry import Pose2
from sim_bridge.house.arrange import CELL_M, RADIUS_M, WalkableFloor, floor_of, furnish_room, is_obstacle
from sim_bridge.house.dice import Dice
from sim_bridge.house.furnish import RoomFurnisher
from sim_bridge.house.furnish_living import bedroom, dining_room, living_room, study
from sim_bridge.house.furnish_service import (
    bathroom,
    closet,
    entryway,
    garage,
    hallway,
    kitchen,
    laundry_room,
    pantry,
    workout_room,
)
from sim_bridge.house.openings import Holes, cut_openings, fit_openings
from sim_bridge.house.plan import WALL_M, PlannedRoom, draw_layout, finish
from sim_bridge.house.scene import STAIRWELL, House, HouseObject
from sim_bridge.house.space import Ids

WALL_HEIGHT_M = 2.6
REACHED_SHARE, REACHED_M2 = 0.6, 0.5  # minimum reachable share and area of each room's free floor
RECIPES = {
    "living room": living_room,
    "dining room": dining_room,
    "bedroom": bedroom,
    "study": study,
    "kitchen": kitchen,
    "bathroom": bathroom,
    "laundry room": laundry_room,
    "hallway": hallway,
    "entryway": entryway,
    "garage": garage,
    "workout room": workout_room,
    "pantry": pantry,
    "closet": closet,
}
ESSENTIAL = (
    "bed",
    "sofa",
    "tv stand",
    "toilet",
    "bathroom sink",
    "kitchen sink",
    "oven",
    "refrigerator",
    "desk",
    "dining table",
    "washing machine",
    "wardrobe",
)
START_ROOMS = ("hallway", "entryway", "living room")


def generate_house(seed: int) -> House:
    """Return the home of this seed: 4 to 12 rooms, all reachable from house.start. Same seed, same home."""
    dice = Dice(seed)
    return built(seed, dice, *_plan(dice), Ids())


def built(seed: int, dice: Dice, cells: list[PlannedRoom], holes: Holes, ids: Ids) -> House:
    """Build a finished, furnished and checked home from a plan; ids: source of instance ids for its objects."""
    rooms = finish(dice, cells)
    furnishers = [RoomFurnisher(room, dice, ids, WALL_HEIGHT_M) for room in rooms]
    openings = fit_openings(dice, holes, furnishers)
    for furnisher in furnishers:
        if furnisher.room.kind != STAIRWELL:
            furnish_room(furnisher, openings, RECIPES[furnisher.room.kind])
    objects = [t for f in furnishers for t in f.objects]
    house = House(seed, rooms, openings, objects, Pose2(0.0, 0.0, 0.0), WALL_HEIGHT_M, WALL_M)
    floor = _clear_paths(house)
    house.start = _start(house, floor)
    return house


def _plan(dice: Dice) -> tuple[list[PlannedRoom], Holes]:
    """Draw plans until one has a door or passage into every room."""
    count = dice.count(4, 12)
    while True:
        cells = draw_layout(dice, count)
        holes = cut_openings(dice, cells)
        if holes is not None:
            return cells, holes


def _start_cell(house: House, floor: WalkableFloor) -> tuple[int, int]:
    """Return the cell with the most clearance in the hallway, entryway or living room."""
    order = [r.id for kind in START_ROOMS for r in house.rooms if r.kind == kind]
    for room in order:
        space = np.where((floor.room == room) & floor.roam(RADIUS_M), floor.clearance_m, 0.0)
        if space.any():
            row, column = divmod(int(np.argmax(space)), space.shape[1])
            return row, column
    raise AssertionError(f"house {house.seed} has no free floor in {order}")


def shut_off(house: House, floor: WalkableFloor) -> list[int]:
    """Return the ids of the rooms in which the robot reaches too little of the floor."""
    out, reached = [], floor.roam(RADIUS_M)
    for room in house.rooms:
        inside = floor.room == room.id
        got = int((reached & inside).sum())
        room_to_stand = int((inside & (floor.clearance_m >= RADIUS_M)).sum())
        if got * CELL_M**2 < min(REACHED_M2, 0.15 * room.area_m2) or got < REACHED_SHARE * room_to_stand:
            out.append(room.id)
    return out


def _clear_paths(house: House) -> WalkableFloor:
    """Remove furniture until every room is reachable; return the resulting floor."""
    floor = floor_of(house)
    while blocked := shut_off(house, floor):
        remove(house, _culprit(house, blocked))
        floor = floor_of(house)
    return floor


def _culprit(house: House, blocked: list[int]) -> HouseObject:
    """Return the object to remove: the last placed one whose removal frees a room, else the last movable one."""
    movable = [
        t for t in house.objects if is_obstacle(t) and (t.relation == "floor" or (t.kind, t.state) == ("door", "open"))
    ]
    about = {r for o in house.openings for r in o.rooms if set(o.rooms) & set(blocked)}
    near = [t for t in movable if t.room in about] or movable
    ranked = sorted(near, key=lambda t: (t.kind == "door", t.kind in ESSENTIAL, -t.id))
    for obj in [*ranked[:16], *(t for t in ranked[16:] if t.kind == "door")]:
        rest = replace(house, objects=[t for t in house.objects if t is not obj])
        floor = floor_of(rest)
        if len(shut_off(rest, floor)) < len(blocked):
            return obj
    return ranked[0]


def remove(house: House, obj: HouseObject) -> None:
    """Remove an object from the house, with everything that stands on it or hangs over it."""
    gone = {obj.id}
    for other in house.objects:
        if other.support in gone:
            gone.add(other.id)
    house.objects[:] = [t for t in house.objects if t.id not in gone]
    house.openings[:] = [o._replace(kind="passage", object_id=0) if o.object_id in gone else o for o in house.openings]


def _start(house: House, floor: WalkableFloor) -> Pose2:
    """Return a pose in open space that faces the longest free view, in steps of 30 degrees."""
    row, column = _start_cell(house, floor)
    x, y = floor.centre(row, column)

    def view(k: int) -> float:
        a, metres = k * math.pi / 6, 0.0
        while metres < 12.0:
            r, c = floor.cell(x + metres * math.cos(a), y + metres * math.sin(a))
            if floor.clearance_m[r, c] <= 0.0:
                break
            metres += CELL_M
        return metres

    best = max(range(12), key=view)
    return Pose2(round(x, 3), round(y, 3), round(math.remainder(best * math.pi / 6, 2 * math.pi), 6))
