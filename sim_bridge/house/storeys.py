"""Homes of two storeys: two plans connected by a straight staircase in a stairwell at their east side.

The corridor of each storey ends at the stairwell: below at its south end, above at its north end. Therefore the plans
differ, and the upper one lies some metres farther north.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from sim_bridge.house.dice import Dice
from sim_bridge.house.generate import built
from sim_bridge.house.openings import Holes, cut_openings
from sim_bridge.house.plan import WALL_M, PlannedRoom, draw_layout
from sim_bridge.house.scene import STAIRWELL, House, HouseObject, Opening, Stairs
from sim_bridge.house.space import Ids

RISE_M = 2.8  # height from floor to floor; the slab between is 0.2 m thick
STEPS, TREAD_M, LANDING_M, WIDTH_M = 15, 0.27, 1.3, 1.2  # a riser is 0.187 m high
PASSAGE_M, PASSAGE_HEIGHT_M = 1.0, 2.1
WINDOW_M, WINDOW_Z = 0.7, (0.9, 2.1)
_SEED = 7000  # seed offset, so that the plans differ from those of homes with one storey
_FLIGHT_M = (STEPS - 1) * TREAD_M
_ROOMS = (6, 8)  # number of rooms of a storey, without the stairwell
_BELOW = (("living room", "kitchen", "dining room", "bathroom"),
          ("entryway", "laundry room", "pantry", "garage", "study"))
_ABOVE = (("bedroom", "bedroom", "bathroom"), ("study", "workout room", "bedroom", "closet", "second bathroom"))


class StoreyedHouse(NamedTuple):
    """A home of two storeys, the lower one first; each is a House in its own frame, whose floor is at z = 0.

    Both frames have the same x and y. Ids of rooms and objects are unique in the home.
    """

    storeys: tuple[House, House]
    stairs: Stairs

    def whole(self) -> House:
        """Return all rooms and objects on one plan, for questions about a home; the upper storey is moved far east."""
        low, high = self.storeys
        away = _moved(high, 1000.0, 0.0)
        return replace(low, rooms=low.rooms + away.rooms, openings=low.openings + away.openings,
                       objects=low.objects + away.objects)


def generate_storeys(seed: int) -> StoreyedHouse:
    """Return the home of two storeys of this seed: every room of a storey is within reach of its stairs."""
    dice, ids = Dice(_SEED + seed), Ids()
    low = _storey(seed, dice, ids, 0, None)
    assert low.stairs is not None
    high = _named(_renumbered(_storey(seed, dice, ids, 1, low.stairs), len(low.rooms)), low)
    return StoreyedHouse((low, high), low.stairs)


def _storey(seed: int, dice: Dice, ids: Ids, storey: int, stairs: Stairs | None) -> House:
    """Return a storey whose corridor ends at the stairs; if stairs is None, they are placed at its end."""
    while True:
        cells = _facing_east(draw_layout(dice, dice.count(*_ROOMS), lambda d, n: _programme(d, n, storey)))
        holes = cut_openings(dice, cells, front_door=storey == 0)
        if holes is not None and not any(o.kind == "door" and -1 in o.rooms and o.x0 == o.x1 == cells[0].x1
                                         for o in holes.openings):
            break
    cells, holes, stairs = _with_stairwell(cells, holes, storey, stairs)
    house = built(seed, dice, cells, holes, ids)
    return replace(house, stairs=stairs, storey=storey)


def _programme(dice: Dice, count: int, storey: int) -> list[str]:
    """Return the kinds of the rooms of a storey besides its hallway."""
    first, others = (_BELOW, _ABOVE)[storey]
    return [*first, *dice.shuffled(others)[:count - 1 - len(first)]]


def _facing_east(cells: list[PlannedRoom]) -> list[PlannedRoom]:
    """Turn a plan until its corridor, the first cell, ends at the east side."""
    core = cells[0]
    if core.width < core.y1 - core.y0:
        for c in cells:
            c.x0, c.y0, c.x1, c.y1 = c.y0, c.x0, c.y1, c.x1
    east = max(c.x1 for c in cells)
    if core.x1 < east:
        for c in cells:
            c.x0, c.x1 = round(east - c.x1, 3), round(east - c.x0, 3)
    return cells


def _with_stairwell(cells: list[PlannedRoom], holes: Holes, storey: int, stairs: Stairs | None
                    ) -> tuple[list[PlannedRoom], Holes, Stairs]:
    """Move a plan to the stairs, and add the stairwell, its passage and its window."""
    core, east, at = cells[0], cells[0].x1, len(cells)
    end = (core.y0 + core.y1) / 2  # centre line of the corridor
    if stairs is None:
        y0, x0 = round(end + LANDING_M / 2, 3), round(east + WALL_M / 2, 3)
        stairs = Stairs(x0, round(x0 + WIDTH_M, 3), y0, round(y0 + _FLIGHT_M, 3), LANDING_M, STEPS, RISE_M)
    door = stairs.y0 - LANDING_M / 2 if storey == 0 else stairs.y1 + LANDING_M / 2
    dx, dy = stairs.x0 - WALL_M / 2 - east, door - end
    for c in cells:
        c.x0, c.y0, c.x1, c.y1 = (round(v, 3) for v in (c.x0 + dx, c.y0 + dy, c.x1 + dx, c.y1 + dy))
    half, east = WALL_M / 2, round(stairs.x0 - WALL_M / 2, 3)
    well = PlannedRoom(STAIRWELL, east, round(stairs.y0 - LANDING_M - half, 3), round(stairs.x1 + half, 3),
                round(stairs.y1 + LANDING_M + half, 3))
    moved = [_opening_moved(o, dx, dy) for o in holes.openings]
    openings = [o for o in moved if o.kind != "window" or o.x0 != east or o.x1 != east
                or o.y1 < well.y0 or o.y0 > well.y1]  # windows are last, so the swings keep their indices
    outside = round(stairs.x1 + half, 3)
    openings += [Opening("passage", east, round(door - PASSAGE_M / 2, 3), east, round(door + PASSAGE_M / 2, 3), 0.0,
                         PASSAGE_HEIGHT_M, (0, at)),
                 Opening("window", outside, round(door - WINDOW_M / 2, 3), outside, round(door + WINDOW_M / 2, 3),
                         *WINDOW_Z, (at, -1))]
    return [*cells, well], Holes(openings, holes.swings), stairs


def _opening_moved(o: Opening, dx: float, dy: float) -> Opening:
    x0, y0, x1, y1 = (round(v, 3) for v in (o.x0 + dx, o.y0 + dy, o.x1 + dx, o.y1 + dy))
    return o._replace(x0=x0, y0=y0, x1=x1, y1=y1)


def _moved(house: House, dx: float, dy: float) -> House:
    def put(t: HouseObject) -> HouseObject:
        return replace(t, position=(t.position[0] + dx, t.position[1] + dy, t.position[2]))

    rooms = [replace(r, x0=r.x0 + dx, x1=r.x1 + dx, y0=r.y0 + dy, y1=r.y1 + dy) for r in house.rooms]
    return replace(house, rooms=rooms, openings=[_opening_moved(o, dx, dy) for o in house.openings],
                   objects=[put(t) for t in house.objects])


def _renumbered(house: House, first: int) -> House:
    """Return a storey with room ids from `first` on."""
    return replace(
        house, rooms=[replace(r, id=r.id + first) for r in house.rooms],
        objects=[replace(t, room=t.room + first) for t in house.objects],
        openings=[o._replace(rooms=(_room(o.rooms[0], first), _room(o.rooms[1], first))) for o in house.openings])


def _room(number: int, first: int) -> int:
    return number + first if number >= 0 else number


def _named(high: House, low: House) -> House:
    """Return the upper storey with "upstairs" before room names that also exist on the lower one."""
    taken = {r.name for r in low.rooms}
    rooms = [replace(r, name=f"upstairs {r.name}" if r.name in taken else r.name) for r in high.rooms]
    return replace(high, rooms=rooms)
