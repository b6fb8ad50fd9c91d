"""Doors, passages and windows: the holes in the walls, their leaves, and the free space in front of them.

The holes between the rooms of a plan are chosen so that every room can be reached.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from sim_bridge.house.dice import Dice
from sim_bridge.house.furnish import RoomFurnisher
from sim_bridge.house.plan import WALL_M, PlannedRoom
from sim_bridge.house.rooms import room_kind
from sim_bridge.house.scene import HouseObject, Opening
from sim_bridge.house.space import YAW, Block, Placement, UnplacedObject, footprint

DOOR_M, DOOR_HEIGHT_M = 0.92, 2.06
CORNER_M = 0.16  # minimum distance from an opening to a corner of the room
OPEN_PLAN = {frozenset(pair) for pair in (
    ("living room", "dining room"), ("living room", "kitchen"), ("dining room", "kitchen"), ("living room", "hallway"),
    ("hallway", "entryway"))}


class Wall(NamedTuple):
    """A straight stretch of wall centre line shared by cells a and b (b = -1: outdoors); along x or along y."""

    a: int
    b: int
    along_x: bool
    at: float
    low: float
    high: float

    @property
    def length(self) -> float:
        """Length in metres."""
        return self.high - self.low


class Swing(NamedTuple):
    """The mounting of a door leaf: the room it opens into, whether its hinge is at the (x0, y0) end, and its state."""

    room: int
    hinge_first: bool
    state: str


class Holes(NamedTuple):
    """Openings, and the swing of each leaf by the index of its opening; passages have no leaf."""

    openings: list[Opening]
    swings: dict[int, Swing]


def walls_of(cells: list[PlannedRoom]) -> tuple[list[Wall], list[Wall]]:
    """Return the walls between cells and the outer walls of each cell."""
    width, depth = max(c.x1 for c in cells), max(c.y1 for c in cells)
    inner, outer = [], []
    for i, a in enumerate(cells):
        for j in range(len(cells)):
            b = cells[j]
            if abs(a.x1 - b.x0) < 1e-6 and min(a.y1, b.y1) > max(a.y0, b.y0):
                inner.append(Wall(i, j, False, a.x1, max(a.y0, b.y0), min(a.y1, b.y1)))
            if abs(a.y1 - b.y0) < 1e-6 and min(a.x1, b.x1) > max(a.x0, b.x0):
                inner.append(Wall(i, j, True, a.y1, max(a.x0, b.x0), min(a.x1, b.x1)))
        outer += [Wall(i, -1, False, x, a.y0, a.y1) for x, edge in ((0.0, a.x0), (width, a.x1)) if abs(x - edge) < 1e-6]
        outer += [Wall(i, -1, True, y, a.x0, a.x1) for y, edge in ((0.0, a.y0), (depth, a.y1)) if abs(y - edge) < 1e-6]
    return inner, outer


def cut_openings(dice: Dice, cells: list[PlannedRoom], front_door: bool = True) -> Holes | None:
    """Return doors, passages, the front door and windows for a plan; None if a room has no wall for a door."""
    inner, outer = walls_of(cells)
    holes = Holes([], {})
    inner = [w for w in inner if w.length >= DOOR_M + 2 * CORNER_M + WALL_M]
    connected = {0}
    for wall in inner:
        if 0 in (wall.a, wall.b) and cells[wall.b if wall.a == 0 else wall.a].parent is None:
            _connect(dice, holes, cells, wall)
            connected |= {wall.a, wall.b}
    while len(connected) < len(cells):
        candidates = [w for w in inner if (w.a in connected) != (w.b in connected)]
        if not candidates:
            return None
        wall = min(candidates, key=lambda w: _reluctance(cells, w))
        _connect(dice, holes, cells, wall)
        connected |= {wall.a, wall.b}
    _extra_openings(dice, holes, cells, inner)
    if front_door:
        _front_door(dice, holes, cells, outer)
    for wall in outer:
        _windows(dice, holes, cells, wall)
    return holes


def _reluctance(cells: list[PlannedRoom], wall: Wall) -> int:
    """Return the priority of a wall for the door into a room, lowest first: its host, shared rooms, any other."""
    a, b = cells[wall.a], cells[wall.b]
    if a.parent is b or b.parent is a:
        return 0
    if a.parent is not None or b.parent is not None:
        return 3
    return 1 if "living room" in (a.kind, b.kind) or "hallway" in (a.kind, b.kind) else 2


def _extra_openings(dice: Dice, holes: Holes, cells: list[PlannedRoom], inner: list[Wall]) -> None:
    """Connect adjacent kitchen, dining and living rooms; sometimes add a closed door between bedrooms."""
    have = {frozenset(o.rooms) for o in holes.openings}
    closed = 0
    for wall in inner:
        pair = frozenset((wall.a, wall.b))
        kinds = frozenset((cells[wall.a].kind, cells[wall.b].kind))
        if pair in have or cells[wall.a].parent is not None or cells[wall.b].parent is not None:
            continue
        if kinds in OPEN_PLAN and dice.chance(0.8):
            _connect(dice, holes, cells, wall)
        elif closed == 0 and "bedroom" in kinds and kinds <= {"bedroom", "study"} and dice.chance(0.5):
            closed += 1
            _connect(dice, holes, cells, wall, "closed")


def _connect(dice: Dice, holes: Holes, cells: list[PlannedRoom], wall: Wall, state: str = "open") -> None:
    """Cut a passage or a door with a leaf into the wall."""
    kinds = frozenset((cells[wall.a].kind, cells[wall.b].kind))
    if kinds in OPEN_PLAN and wall.length > 1.9 and dice.chance(0.75):
        width = dice.between(1.2, min(2.0, wall.length - 0.6))
        low = (wall.low + wall.high - width) / 2
        _add(holes, "passage", wall, low, width, (0.0, 2.2))
        return
    first = dice.chance(0.5)
    margin = CORNER_M + WALL_M / 2
    low = wall.low + margin if first else wall.high - margin - DOOR_M
    index = _add(holes, "door", wall, low, DOOR_M, (0.0, DOOR_HEIGHT_M))
    room = _swings_into(cells, wall)
    host = cells[room]
    start, end = (host.x0, host.x1) if wall.along_x else (host.y0, host.y1)
    holes.swings[index] = Swing(room, low - start < end - low - DOOR_M, state)


def _swings_into(cells: list[PlannedRoom], wall: Wall) -> int:
    """Return the room a leaf opens into: a room rather than the hallway, and the larger one of two rooms."""

    def dislike(i: int) -> tuple[int, float]:
        cell = cells[i]
        return ("entryway", "hallway").index(cell.kind) + 1 if cell.kind in ("entryway", "hallway") else 0, -(
            cell.x1 - cell.x0
        ) * (cell.y1 - cell.y0)

    return min((wall.a, wall.b), key=dislike)


def _front_door(dice: Dice, holes: Holes, cells: list[PlannedRoom], outer: list[Wall]) -> None:
    order = ("entryway", "hallway", "living room")
    walls = [w for w in outer if cells[w.a].kind in order and w.length > DOOR_M + 2 * CORNER_M + WALL_M]
    wall = min(walls, key=lambda w: (order.index(cells[w.a].kind), -w.length))
    low = dice.between(wall.low + CORNER_M + WALL_M / 2, wall.high - CORNER_M - WALL_M / 2 - DOOR_M)
    index = _add(holes, "door", wall, low, DOOR_M, (0.0, DOOR_HEIGHT_M))
    holes.swings[index] = Swing(wall.a, dice.chance(0.5), "closed")


def _windows(dice: Dice, holes: Holes, cells: list[PlannedRoom], wall: Wall) -> None:
    """Cut one window, or two into a long wall; some walls get none, to leave space for tall furniture."""
    kind = cells[wall.a].kind
    windows = room_kind(kind).windows
    if (
        windows is None
        or wall.length < 1.3
        or any(o.rooms == (wall.a, -1) and o.kind == "door" and _on(o, wall) for o in holes.openings)
    ):
        return
    others = [o for o in holes.openings if o.kind == "window" and o.rooms[0] == wall.a]
    if others and dice.chance(0.5):
        return
    sills, head, widths = windows
    number = 2 if wall.length > 4.6 and kind != "bathroom" else 1
    slot = (wall.length - WALL_M) / number
    for k in range(number):
        width = min(dice.between(*widths), slot - 0.5)
        centre = wall.low + WALL_M / 2 + slot * (k + 0.5) + dice.between(-0.1, 0.1) * max(0.0, slot - width - 0.6)
        _add(holes, "window", wall, centre - width / 2, width, (dice.between(*sills), head))


def _on(opening: Opening, wall: Wall) -> bool:
    return (opening.y0 == opening.y1) == wall.along_x and wall.at in ((opening.y0,) if wall.along_x else (opening.x0,))


def _add(holes: Holes, kind: str, wall: Wall, low: float, width: float, z: tuple[float, float]) -> int:
    """Append the opening from `low` over `width` along the wall; return its index."""
    low, high = round(low, 3), round(low + width, 3)
    ends = (low, wall.at, high, wall.at) if wall.along_x else (wall.at, low, wall.at, high)
    holes.openings.append(Opening(kind, *ends, *z, (wall.a, wall.b)))
    return len(holes.openings) - 1


DOOR_SPACE_M, CLOSED_SPACE_M, WINDOW_SPACE_M = 0.75, 0.5, 0.3


def side_in(opening: Opening, furnisher: RoomFurnisher) -> str:
    """Return the wall of this room in which the opening lies."""
    r = furnisher.room
    if opening.y0 == opening.y1:
        return "south" if abs(opening.y0 - r.y0) < WALL_M else "north"
    return "west" if abs(opening.x0 - r.x0) < WALL_M else "east"


def span(opening: Opening) -> tuple[float, float]:
    """Return (low, high) along the wall."""
    return (opening.x0, opening.x1) if opening.y0 == opening.y1 else (opening.y0, opening.y1)


def zone(opening: Opening, furnisher: RoomFurnisher, depth: float, margin: float) -> Block:
    """Return the space before an opening inside the room."""
    low, high = span(opening)
    low, high, r = low - margin, high + margin, furnisher.room
    z0 = 0.03 if opening.kind != "window" else opening.z0
    return {
        "south": Block(low, r.y0, z0, high, r.y0 + depth, opening.z1),
        "north": Block(low, r.y1 - depth, z0, high, r.y1, opening.z1),
        "west": Block(r.x0, low, z0, r.x0 + depth, high, opening.z1),
        "east": Block(r.x1 - depth, low, z0, r.x1, high, opening.z1),
    }[side_in(opening, furnisher)]


def fit_openings(dice: Dice, holes: Holes, furnishers: list[RoomFurnisher]) -> list[Opening]:
    """Hang doors and windows, reserve the space before them, and return the openings with the ids of their objects."""
    for index, opening in enumerate(holes.openings):
        if opening.kind == "window":
            continue
        closed = holes.swings.get(index, Swing(0, True, "open")).state == "closed"
        for room in opening.rooms:
            if room >= 0:
                furnishers[room].hard.append(
                    zone(opening, furnishers[room], CLOSED_SPACE_M if closed else DOOR_SPACE_M, 0.0)
                )
    objects: dict[int, HouseObject | None] = {}
    leaf_colour = dice.pick(("brown", "white", "white", "beige"))
    for index, opening in enumerate(holes.openings):
        if opening.kind == "window":
            objects[index] = _window(dice, opening, furnishers[opening.rooms[0]])
    for index, swing in holes.swings.items():
        objects[index] = _leaf(dice, holes.openings[index], swing, furnishers, leaf_colour)
    out = []
    for index, opening in enumerate(holes.openings):
        obj = objects.get(index)
        kind = "passage" if opening.kind == "door" and obj is None else opening.kind
        out.append(opening._replace(kind=kind, object_id=obj.id if obj else 0))
    for opening in out:
        f = furnishers[opening.rooms[0]]
        if opening.kind == "window" and room_kind(f.room.kind).curtains and dice.chance(0.8):
            _curtains(dice, opening, f)
    return out


def _leaf(dice: Dice, opening: Opening, swing: Swing, furnishers: list[RoomFurnisher],
          colour: str) -> HouseObject | None:
    """Hang a leaf: in the opening when closed, swung into the room when open; None if it would block something."""
    f = furnishers[swing.room]
    low, high = span(opening)
    side = side_in(opening, f)
    inward = YAW[side]
    if swing.state == "closed":
        name = "front door" if -1 in opening.rooms else "door"
        blank = f.blank(
            name, width=high - low, height=opening.z1, state="closed", colour="" if name == "front door" else colour
        )
        middle = ((opening.x0 + opening.x1) / 2, (opening.y0 + opening.y1) / 2)
        return _solid(f.put(blank, Placement(*middle, 0.0, inward), "wall"))
    blank = f.blank("door", depth=0.11, width=high - low - 0.06, height=opening.z1 - 0.02, state="open", colour=colour)
    base = f.wall_spot(side, low - 0.075 if swing.hinge_first else high + 0.075, blank.look.width + 0.02)
    spot = Placement(base.x, base.y, 0.0, inward - math.pi / 2 + dice.between(-0.03, 0.03))
    return _solid(f.put(blank, spot, "wall")) if f.free(footprint(blank, spot)) else None


def _solid(obj: HouseObject) -> HouseObject:
    obj.solid = True
    return obj


def _window(dice: Dice, opening: Opening, f: RoomFurnisher) -> HouseObject:
    low, high = span(opening)
    sash = zone(opening, f, 0.8, 0.3)
    may_open = opening.z0 > 0.8 and not any(sash.meets(b) for b in [*f.hard, *f.blocks])
    state = "open" if dice.chance(0.35) and may_open else "closed"
    blank = f.blank("window", depth=0.1, width=high - low, height=opening.z1 - opening.z0, state=state)
    middle = ((opening.x0 + opening.x1) / 2, (opening.y0 + opening.y1) / 2)
    obj = f.put(blank, Placement(*middle, opening.z0, YAW[side_in(opening, f)]), "wall")
    depth, pane = WINDOW_SPACE_M, f.blocks.pop()
    if state == "open":
        f.fit_part(obj, obj.parts)
        f.blocks.append(zone(opening, f, obj.size[0], 0.0)._replace(owner=pane.owner))
        depth = obj.size[0]
        obj.solid = opening.z0 < 1.3
    f.hard.append(zone(opening, f, depth, 0.0))
    return obj


def _curtains(dice: Dice, opening: Opening, f: RoomFurnisher) -> None:
    """Hang curtains in front of a window, down to the floor or the sill; drawn ones only if the window is closed."""
    low, high = span(opening)
    window = next(t for t in f.objects if t.id == opening.object_id)
    bottom = 0.03 if dice.chance(0.4) else round(opening.z0 - 0.06, 3)
    state = "closed" if window.state == "closed" and dice.chance(0.3) else "open"
    blank = f.blank("curtains", width=high - low + 0.5, height=round(opening.z1 + 0.14 - bottom, 3), state=state)
    spot = f.wall_spot(side_in(opening, f), (low + high) / 2, blank.look.depth + 0.02, bottom)
    occupied = footprint(UnplacedObject(blank.kind, blank.look), spot)
    reserved = [h for h in f.hard if h != zone(opening, f, h.x1 - h.x0, 0.0) and h.z0 < 0.1]
    if f.inside(occupied) and not any(occupied.meets(b) for b in [*f.blocks, *reserved]):
        f.put(blank, spot, "wall", window.id)
