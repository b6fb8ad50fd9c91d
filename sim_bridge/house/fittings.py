"""Door leaves, windows and curtains in the openings, and the space that must stay free before them."""

from __future__ import annotations

import math

from sim_bridge.house.dice import Dice
from sim_bridge.house.furnish import RoomFurnisher
from sim_bridge.house.openings import Holes, Swing
from sim_bridge.house.plan import WALL_M
from sim_bridge.house.scene import HouseObject, Opening
from sim_bridge.house.space import YAW, Block, Placement, UnplacedObject, footprint

DOOR_SPACE_M, CLOSED_SPACE_M, WINDOW_SPACE_M = 0.75, 0.5, 0.3
CURTAINED = ("living room", "bedroom", "dining room", "study")


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
        if opening.kind == "window" and furnishers[opening.rooms[0]].room.kind in CURTAINED and dice.chance(0.8):
            _curtains(dice, opening, furnishers[opening.rooms[0]])
    return out


def _leaf(dice: Dice, opening: Opening, swing: Swing, furnishers: list[RoomFurnisher],
          colour: str) -> HouseObject | None:
    """Hang a leaf: in the opening when closed, swung into the room when open; None where it would block something."""
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
