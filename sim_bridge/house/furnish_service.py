"""Recipes for the bathroom and the utility rooms: laundry, hallway, garage, pantry and others."""

from __future__ import annotations

from sim_bridge.house.furnish import RoomFurnisher
from sim_bridge.house.furnish_living import light, pictures, several
from sim_bridge.house.kinds import WOODS


def bathroom(f: RoomFurnisher) -> None:
    """Toilet, sink with mirror, tub or shower, towels."""
    dice = f.dice
    r = f.room
    bath = None
    if dice.chance(0.6) or r.area_m2 > 7:
        bath = f.wall("bathtub", "corner", front=0.5)
    if bath is None or r.area_m2 > 7.5:
        shower = f.wall("shower", "corner", front=0.5)
        bath = bath or shower
    toilet = f.wall("toilet", front=0.5) or f.wall("toilet", front=0.4)
    sink = f.wall("bathroom sink", front=0.55) or f.wall(
        "bathroom sink", front=0.45, blank=f.blank("bathroom sink", width=0.56)
    )
    if sink is not None:
        mirror = f.blank("mirror", width=min(sink.size[1], 0.8), height=f.dice.between(0.7, 0.9))
        f.hang("mirror", 1.2, above=sink, blank=mirror)
        f.on(dice.pick(("soap dispenser", "soap dispenser", "candle")), sink)
        f.on("toothbrush cup", sink)
    if toilet is not None:
        side = f.side_of(toilet)
        f.hang("toilet paper", 0.75, sides=[s for s in f.sides() if s != side])
    for _ in range(dice.count(1, 2)):
        f.hang("towel", dice.between(0.85, 1.0), blank=f.blank("towel", width=0.45))
    if bath is not None:
        mat = f.blank("bath mat")
        f.lay("bath mat", bath, shift=bath.size[0] / 2 + mat.look.depth / 2 + 0.03, blank=mat)
    for name, chance in (("laundry basket", 0.5), ("bathroom shelf", 0.4), ("bathroom scale", 0.4), ("trash can", 0.4)):
        if dice.chance(chance):
            obj = f.wall(name, "any" if name == "bathroom scale" else "corner", front=0.25)
            if name == "bathroom shelf":
                several(f, obj, ("house plant", "soap dispenser", "candle", "basket"), 1, 2)
    light(f)


def laundry_room(f: RoomFurnisher) -> None:
    """Washing machine and dryer side by side, baskets, ironing board, cleaning objects."""
    dice = f.dice
    washer = f.wall("washing machine", front=0.6)
    if washer is not None:
        dryer = f.beside("dryer", washer, 1) or f.beside("dryer", washer, -1) if washer.state != "open" else None
        several(f, dryer or washer, ("detergent bottle", "basket", "iron"), 1, 2)
        f.on("detergent bottle", washer)
        shelf = f.hang("wall shelf", 1.45, above=washer, blank=f.blank("wall shelf", width=0.7))
        several(f, shelf, ("detergent bottle", "jar", "house plant"), 1, 2)
    f.wall("laundry basket", "corner", front=0.3)
    board = f.wall("ironing board", front=0.4) if dice.chance(0.7) else None
    f.on("iron", board, turn=0.0)
    if dice.chance(0.5):
        f.wall("drying rack", front=0.3)
    for name in dice.shuffled(["vacuum cleaner", "broom", "bucket", "trash can"])[: dice.count(1, 3)]:
        f.wall(name, "corner" if name != "bucket" else "any", front=0.2)
    light(f)


def hallway(f: RoomFurnisher) -> None:
    """Furnish a hallway: slim furniture, pictures and lamps that leave the path free."""
    dice = f.dice
    r = f.room
    wide = min(r.x1 - r.x0, r.y1 - r.y0) > 1.5
    if wide or dice.chance(0.5):
        table = f.wall("console table", front=0.8)
        several(f, table, ("vase", "picture frame", "table lamp", "candle", "hat", "house plant"), 1, 2)
        if table is not None:
            f.hang("mirror", 1.35, above=table, blank=f.blank("mirror", width=0.55, height=0.8))
    for _ in range(dice.count(1, 2)):
        f.hang("wall lamp", 1.6)
    if dice.chance(0.4):
        f.wall("potted plant", "corner", front=0.1, blank=f.blank("potted plant", depth=0.38, width=0.38))
    if dice.chance(0.5):
        f.lay("rug", blank=f.blank("rug", depth=1.0, width=dice.between(1.8, 3.0)))
    pictures(f, 1, 3)
    light(f)


def entryway(f: RoomFurnisher) -> None:
    """Shoe rack or bench with shoes, coats, an umbrella stand."""
    dice = f.dice
    rack = f.wall("shoe rack", front=0.6)
    several(f, rack, ("shoes", "shoes", "hat", "shoes", "basket"), 2, 4)
    bench = f.wall("bench", front=0.6) if dice.chance(0.7) else None
    if bench is not None:
        f.below("shoes", bench, left=dice.between(-0.2, 0.2))
        several(f, bench, ("backpack", "hat", "cushion"), 0, 1)
    f.hang("coat rack", 0.95)
    for name, chance in (("umbrella stand", 0.6), ("potted plant", 0.5), ("backpack", 0.3), ("suitcase", 0.2)):
        if dice.chance(chance):
            f.wall(name, "corner", front=0.2)
    f.lay("doormat")
    if dice.chance(0.6):
        f.hang("mirror", 0.9, blank=f.blank("mirror", width=0.55, height=1.1))
    pictures(f, 0, 1)
    light(f)


def garage(f: RoomFurnisher) -> None:
    """Bicycle, workbench, shelves, boxes and tools."""
    dice = f.dice
    bench = f.wall("workbench", front=0.7)
    f.on("toolbox", bench)
    several(f, bench, ("desk lamp", "jar", "bucket"), 0, 2)
    for _ in range(dice.count(1, 2)):
        f.wall("bicycle", front=0.5)
    for _ in range(2):
        shelf = f.wall("metal shelf", front=0.6)
        for name in ("toolbox", "bucket", "cardboard box", "jar", "basket", "detergent bottle")[: dice.count(3, 6)]:
            f.on(name, shelf)
    for name, chance in (
        ("ladder", 0.6),
        ("lawn mower", 0.5),
        ("tire", 0.6),
        ("cardboard box", 0.9),
        ("cardboard box", 0.8),
        ("suitcase", 0.4),
        ("broom", 0.4),
        ("bucket", 0.3),
        ("trash can", 0.5),
    ):
        if dice.chance(chance):
            f.wall(name, front=0.3)
    light(f)


def workout_room(f: RoomFurnisher) -> None:
    """Machines, weights, mat and a tall mirror."""
    dice = f.dice
    f.wall("treadmill", "any", front=0.3) if dice.chance(0.7) else None
    f.wall("exercise bike", front=0.4) if dice.chance(0.7) else None
    f.wall("weight bench", front=0.5) if dice.chance(0.5) else None
    f.wall("dumbbell rack", front=0.7)
    f.hang("mirror", 0.7, blank=f.blank("mirror", width=0.9, height=1.5))
    f.lay("yoga mat")
    for name, chance in (("exercise ball", 0.7), ("punching bag", 0.4), ("fan", 0.5)):
        if dice.chance(chance):
            f.wall(name, "corner", front=0.3)
    bench = f.wall("bench", front=0.5)
    several(f, bench, ("water bottle", "backpack", "hat"), 1, 2)
    if dice.chance(0.5):
        f.hang("wall clock", 1.75)
    pictures(f, 0, 1)
    light(f)


def pantry(f: RoomFurnisher) -> None:
    """Shelves of food."""
    dice = f.dice
    for _ in range(dice.count(1, 2)):
        shelf = f.wall("pantry shelf", front=0.5)
        for name in f.dice.shuffled(["jar", "jar", "cereal box", "cereal box", "bottle", "bottle", "basket"])[
            : dice.count(4, 7)
        ]:
            f.on(name, shelf, turn=0.0)
    for name, chance in (
        ("cardboard box", 0.7),
        ("basket", 0.5),
        ("broom", 0.4),
        ("wine rack", 0.3),
        ("trash can", 0.3),
    ):
        if dice.chance(chance):
            f.wall(name, "corner", front=0.3)
    light(f)


def closet(f: RoomFurnisher) -> None:
    """Clothes, shoes and cases."""
    dice = f.dice
    f.style["wood"] = dice.pick(WOODS)
    f.wall("clothes rack", front=0.5)
    rack = f.wall("shoe rack", front=0.5)
    several(f, rack, ("shoes", "hat", "shoes", "shoes"), 2, 4)
    if dice.chance(0.5):
        f.wall("wardrobe", front=0.6)
    for name, chance in (("suitcase", 0.8), ("cardboard box", 0.5), ("stool", 0.3), ("laundry basket", 0.4)):
        if dice.chance(chance):
            f.wall(name, "corner", front=0.2)
    if dice.chance(0.6):
        f.hang("mirror", 0.7, blank=f.blank("mirror", width=0.5, height=1.3))
    light(f)
