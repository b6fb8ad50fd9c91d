"""Recipes for the main rooms: living room, dining room, bedrooms, study."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sim_bridge.house.furnish import RoomFurnisher
from sim_bridge.house.kinds import WOODS
from sim_bridge.house.scene import HouseObject
from sim_bridge.house.space import Placement, ahead


def several(f: RoomFurnisher, support: HouseObject | None, names: Sequence[str], low: int,
            high: int) -> list[HouseObject]:
    """Stand between `low` and `high` different objects of `names` on a support."""
    picked = f.dice.shuffled(list(names))[: f.dice.count(low, high)]
    return [t for t in (f.on(name, support) for name in picked) if t is not None]


def pictures(f: RoomFurnisher, low: int, high: int) -> None:
    """Hang paintings at eye height on free walls."""
    for _ in range(f.dice.count(low, high)):
        f.hang("painting", f.dice.between(1.35, 1.5), blank=f.blank("painting", width=f.dice.between(0.5, 0.9)))


def light(f: RoomFurnisher) -> None:
    """Hang ceiling lamps; long rooms get two."""
    r = f.room
    long = max(r.x1 - r.x0, r.y1 - r.y0) > 6.0
    for shares in ((-0.5, -0.4), (0.5, 0.4)) if long else ((0.0, 0.5, -0.5),):
        any(f.ceiling("ceiling lamp", share=share) for share in shares)


def flank(f: RoomFurnisher, name: str, obj: HouseObject, side: int, gap: float) -> HouseObject | None:
    """Stand an object at the left (+1) or right (-1) of another, turned towards it."""
    blank = f.blank(name)
    x, y = ahead(Placement(*obj.position, obj.yaw), 0.0, side * (obj.size[1] / 2 + gap + blank.look.depth / 2))
    return f.settle(blank, Placement(x, y, 0.0, obj.yaw - side * math.pi / 2))


def living_room(f: RoomFurnisher) -> None:
    """TV corner with sofa and coffee table on a rug; shelves, lamps, plants, images."""
    dice = f.dice
    if dice.chance(0.25):
        fire = f.wall("fireplace", "centre", front=1.0)
        several(f, fire, ("vase", "candle", "picture frame", "candle"), 1, 3)
    television_corner(f)
    shelf = f.wall("bookshelf", front=0.6)
    several(f, shelf, ("vase", "picture frame", "house plant", "globe", "alarm clock", "teddy bear", "cactus"), 1, 3)
    if dice.chance(0.3):
        piano = f.wall("piano", front=0.75)
        if piano is not None:
            f.facing("stool", piano, gap=0.12)
            several(f, piano, ("vase", "picture frame", "candle"), 0, 2)
    for name, chance in (
        ("potted plant", 0.85),
        ("ottoman", 0.3),
        ("guitar", 0.3),
        ("floor lamp", 0.4),
        ("basket", 0.35),
        ("pet bed", 0.25),
    ):
        if dice.chance(chance):
            f.wall(name, "corner" if name in ("potted plant", "floor lamp") else "any", front=0.3)
    if dice.chance(0.15):
        f.wall("aquarium", front=0.6)
    if dice.chance(0.5):
        f.hang("wall clock", 1.75)
    pictures(f, 1, 2)
    light(f)


def television_corner(f: RoomFurnisher) -> None:
    """TV on its stand against a wall, sofa opposite, coffee table between them on a rug."""
    dice = f.dice
    sofa = stand = None
    for where in ("centre", "centre", "centre", "any", "any"):
        stand = _television(f, where)
        sofa = _sofa_opposite(f, stand) if stand is not None else None
        if stand is not None and sofa is not None:
            break
        if stand is not None:
            _drop(f, stand)
            stand = None
    sofa = sofa or f.wall("sofa", "centre", front=0.8)
    stand = stand or _television(f, "any")
    if stand is not None and dice.chance(0.35):
        f.beside("speaker", stand, dice.pick((-1, 1)), gap=0.1)
    if sofa is None:
        return
    for side in dice.shuffled([-1, 1])[: dice.count(1, 2)]:
        f.on("cushion", sofa, at=(-1.0, side * 0.9), turn=0.0)
    sides = dice.shuffled([-1, 1])
    table = f.beside("side table", sofa, sides[0])
    if table is not None:
        f.on("table lamp", table, at=(0.0, 0.0))
    if dice.chance(0.6):
        f.beside("floor lamp", sofa, sides[1], gap=0.06)
    if _at_wall(f, sofa):
        f.hang("painting", 1.35, above=sofa, blank=f.blank("painting", width=dice.between(0.9, 1.3)))
    coffee = f.facing("coffee table", sofa, gap=0.42) or f.facing("coffee table", sofa, gap=0.36)
    anchor = coffee or sofa
    f.lay(
        "rug",
        anchor,
        shift=0.0 if coffee else 0.8,
        blank=f.blank("rug", depth=dice.between(1.5, 2.0), width=dice.between(2.2, 3.0)),
    )
    several(f, coffee, ("book", "mug", "vase", "candle", "house plant", "fruit bowl", "laptop"), 1, 3)
    if coffee is not None:
        for side in dice.shuffled([-1, 1])[: dice.count(1, 2)]:
            flank(f, "armchair", coffee, side, 0.4)


def _television(f: RoomFurnisher, where: str) -> HouseObject | None:
    """Stand a TV on its stand against a wall, not before a window; return the stand."""
    stand = f.wall("tv stand", where, front=1.0)
    if stand is None:
        return None
    screen = f.blank("television", width=f.dice.between(0.9, min(1.45, stand.size[1] - 0.08)), depth=0.2)
    if f.on("television", stand, at=(-0.2, 0.0), turn=0.0, blank=screen) is None:
        _drop(f, stand)
        return None
    return stand


def _drop(f: RoomFurnisher, obj: HouseObject) -> None:
    """Remove an object that was just placed, together with everything on it."""
    gone = {obj.id, *(t.id for t in f.objects if t.support == obj.id)}
    f.objects = [t for t in f.objects if t.id not in gone]
    f.blocks = [b for b in f.blocks if b.owner not in gone]
    f.soft = [b for b in f.soft if b.owner not in gone]


def _at_wall(f: RoomFurnisher, obj: HouseObject) -> bool:
    x, y = ahead(Placement(*obj.position, obj.yaw), -obj.size[0] / 2 - 0.1, 0.0)
    return not (f.room.x0 < x < f.room.x1 and f.room.y0 < y < f.room.y1)


def _sofa_opposite(f: RoomFurnisher, stand: HouseObject) -> HouseObject | None:
    """Stand the sofa opposite the TV: at the far wall of a small room, else free in the room."""
    r = f.room
    reach = (r.x1 - r.x0) if abs(math.cos(stand.yaw)) > 0.5 else (r.y1 - r.y0)
    blank = f.blank("sofa")
    far = reach - stand.size[0] - blank.look.depth - 0.05
    gaps = [far] if far < 3.7 else []
    for gap in [*gaps, 2.7, 2.4, 2.1, 1.8]:
        for left in (0.0, 0.25, -0.25, 0.5, -0.5):
            if 1.6 <= gap <= far + 1e-6 and (gap == far or far - gap > 0.75):
                sofa = f.facing("sofa", stand, gap, left, front=0.9, blank=blank)
                if sofa is not None:
                    f.soft[-1] = f.soft[-1]._replace(owner=sofa.id)
                    return sofa
    return None


def dining_room(f: RoomFurnisher) -> None:
    """Table with chairs on a rug under a pendant lamp; sideboard, cabinet, plants."""
    dice = f.dice
    blank = f.blank("dining table")
    tries = (f.middle("dining table", front, turned, blank) for front in (0.85, 0.6) for turned in (None, True, False))
    table = next((t for t in tries if t is not None), None) or f.middle("kitchen table", front=0.6)
    if table is not None:
        if dice.chance(0.6):
            f.lay("rug", table, blank=f.blank("rug", depth=2.0, width=3.0))
        f.around("chair", table, dice.pick((4, 4, 6)))
        f.on(dice.pick(("fruit bowl", "vase", "fruit bowl")), table, at=(0.0, 0.0))
        several(f, table, ("candle", "plate", "plate", "mug", "bottle"), 1, 3)
        f.ceiling("pendant lamp", over=table)
    else:
        light(f)
    board = f.wall("sideboard", front=0.6)
    several(f, board, ("vase", "picture frame", "candle", "table lamp", "bottle", "fruit bowl"), 1, 3)
    if board is not None:
        f.hang(dice.pick(("painting", "mirror")), 1.42, above=board, blank=f.blank("painting", width=0.9))
    if dice.chance(0.6):
        f.wall("display cabinet", front=0.6)
    if dice.chance(0.4):
        rack = f.wall("wine rack", front=0.5)
        several(f, rack, ("bottle", "house plant"), 0, 1)
    if dice.chance(0.7):
        f.wall("potted plant", "corner", front=0.2)
    if dice.chance(0.4):
        f.hang("wall clock", 1.75)
    pictures(f, 0, 2)


def bedroom(f: RoomFurnisher) -> None:
    """Furnish a bedroom: bed with nightstands, wardrobe, and objects that suit a child or an adult."""
    dice, name = f.dice, f.room.name
    kids = name == "kids' bedroom"
    f.style["wood"] = dice.pick(WOODS)
    width = dice.between(1.5, 1.8) if name in ("bedroom", "main bedroom") else dice.between(0.95, 1.4)
    bed = _bed(f, width)
    if bed is not None:
        for side in (-1, 1) if width > 1.45 else (dice.pick((-1, 1)),):
            stand = f.beside("nightstand", bed, side)
            if stand is not None and dice.chance(0.8):
                f.on("table lamp", stand, at=(-0.4, 0.0))
            several(f, stand, ("alarm clock", "book", "mug", "house plant"), 0, 1)
        if dice.chance(0.6):
            f.hang("painting", 1.4, above=bed, blank=f.blank("painting", width=dice.between(0.7, 1.2)))
        f.lay("rug", bed, shift=0.55, blank=f.blank("rug", depth=dice.between(1.4, 2.0), width=width + 1.0))
        if kids or dice.chance(0.2):
            f.on("teddy bear" if kids else "cushion", bed, at=(-0.9, dice.pick((-0.5, 0.5))), turn=0.0)
    slim = f.blank("wardrobe", depth=0.56, width=1.0, state="closed")
    f.wall("wardrobe", "corner", front=0.7) or f.wall("wardrobe", front=0.6) or f.wall(
        "wardrobe", front=0.5, blank=slim
    )
    _children_objects(f) if kids else _adult_objects(f)
    if dice.chance(0.5):
        f.wall("potted plant", "corner", front=0.2)
    if dice.chance(0.3):
        f.wall("laundry basket", "corner", front=0.3)
    pictures(f, 0, 1)
    light(f)


def _bed(f: RoomFurnisher, width: float) -> HouseObject | None:
    """Place the bed with its head to a wall, with space to walk at its sides if possible."""
    for wide in (width, min(width, 1.4), 0.95):
        for margin, where in ((1.15, "centre"), (0.6, "centre"), (0.0, "corner"), (0.0, "any")):
            blank = f.blank("bed", width=wide)
            for side in f.sides():
                for along in f._along(side, wide + margin, where):
                    bed = f.settle(blank, f.wall_spot(side, along, blank.look.depth + 0.01), front=0.6)
                    if bed is not None:
                        return bed
    return None


def _adult_objects(f: RoomFurnisher) -> None:
    dice = f.dice
    chest = f.wall("dresser", front=0.7)
    several(f, chest, ("picture frame", "vase", "candle", "table lamp", "book", "cactus"), 1, 3)
    if chest is not None and dice.chance(0.6):
        f.hang("mirror", 1.35, above=chest, blank=f.blank("mirror", height=0.8))
    if dice.chance(0.35):
        desk_corner(f)
    if dice.chance(0.4):
        f.wall("armchair", "corner", front=0.5)


def _children_objects(f: RoomFurnisher) -> None:
    dice = f.dice
    f.wall("toy box", front=0.5)
    if dice.chance(0.6):
        desk_corner(f)
    shelf = f.wall("bookshelf", front=0.6) if dice.chance(0.6) else None
    several(f, shelf, ("globe", "toy car", "teddy bear", "alarm clock"), 1, 2)
    for name in dice.shuffled(["ball", "building blocks", "toy car", "stool", "backpack"])[: dice.count(2, 4)]:
        f.wall(name, front=0.2, gap=0.1)


def desk_corner(f: RoomFurnisher) -> HouseObject | None:
    """Desk with monitor and keyboard or a laptop, a lamp, a chair in front."""
    dice = f.dice
    desk = f.wall("desk", front=0.75)
    if desk is None:
        return None
    if dice.chance(0.6):
        f.on("computer monitor", desk, at=(-0.8, 0.0), turn=0.0)
        f.on("keyboard", desk, at=(0.6, 0.0), turn=0.0)
    else:
        f.on("laptop", desk, at=(0.0, 0.0), turn=0.0)
    f.on("desk lamp", desk, at=(-0.5, dice.pick((-0.95, 0.95))), turn=0.0)
    several(f, desk, ("mug", "book", "house plant", "picture frame", "cactus", "printer"), 1, 2)
    f.facing("office chair" if dice.chance(0.7) else "chair", desk, gap=0.04)
    f.below("trash can", desk, left=desk.size[1] / 2 - 0.25)
    return desk


def study(f: RoomFurnisher) -> None:
    """Desk, shelves, cabinet, board."""
    dice = f.dice
    f.style["wood"] = dice.pick(WOODS)
    desk_corner(f)
    for _ in range(dice.count(1, 2)):
        shelf = f.wall("bookshelf", front=0.6)
        several(f, shelf, ("globe", "vase", "picture frame", "cactus", "house plant", "candle"), 1, 2)
    cabinet = f.wall("filing cabinet", front=0.5)
    several(f, cabinet, ("printer", "house plant", "picture frame"), 1, 1)
    if dice.chance(0.5):
        f.hang("whiteboard", 1.1)
    if dice.chance(0.6):
        f.wall("armchair", "corner", front=0.5)
    if dice.chance(0.5):
        f.wall("floor lamp", "corner", front=0.2)
    if dice.chance(0.6):
        f.wall("potted plant", "corner", front=0.2)
    if dice.chance(0.6):
        f.lay("rug")
    f.hang(dice.pick(("wall clock", "calendar")), 1.6)
    pictures(f, 0, 2)
    light(f)
