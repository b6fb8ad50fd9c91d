"""Recipes for the kitchen, the bathroom and the utility rooms: laundry, hallway, garage, pantry and others."""

from __future__ import annotations

from sim_bridge.house.furnish import RoomFurnisher
from sim_bridge.house.furnish_living import light, pictures, several
from sim_bridge.house.kinds import FRONTS, WOODS
from sim_bridge.house.scene import HouseObject
from sim_bridge.house.space import YAW, Block

COUNTER_OBJECTS = (
    "microwave",
    "toaster",
    "kettle",
    "coffee machine",
    "fruit bowl",
    "spice rack",
    "knife block",
    "dish rack",
    "cutting board",
    "bottle",
    "mug",
    "house plant",
    "jar",
)


def free_run(f: RoomFurnisher, side: str, depth: float) -> tuple[float, float]:
    """Return the longest free stretch (low, high) along a wall for furniture of this depth, 0.92 m high."""
    low, high = f.extent(side)
    step, best, start = 0.05, (low, low), low
    count = int((high - low) / step)
    for i in range(count + 1):
        a = low + i * step
        spot = f.wall_spot(side, a + step / 2, depth)
        half_x, half_y = (step / 2, depth / 2) if side in ("south", "north") else (depth / 2, step / 2)
        cell = Block(spot.x - half_x, spot.y - half_y, 0.04, spot.x + half_x, spot.y + half_y, 0.92)
        if i == count or not f.free(cell, soft=False):
            if a - start > best[1] - best[0]:
                best = (start, min(a, high))
            start = a + step
    return best


def kitchen(f: RoomFurnisher) -> None:
    """Furnish a kitchen: a run of cabinets with sink, oven and fridge, cupboards, a second run or table, appliances."""
    dice = f.dice
    front = dice.pick(FRONTS)
    f.style["wood"] = front
    runs = sorted(((free_run(f, s, 0.64), s) for s in dice.shuffled(list(YAW))), key=lambda r: r[0][0] - r[0][1])
    (low, high), side = runs[0]
    if not high - low >= 2.0:
        (low, high) = f.extent(side)
    counters = _main_run(f, side, low, min(high, low + 4.4), front)
    for (low2, high2), side2 in ((free_run(f, s, 0.64), s) for _, s in runs[1:]):
        if high2 - low2 >= 1.0 and len(counters) < 4:
            counters += _second_run(f, side2, low2, high2, front)
            break
    for name in ("refrigerator", "oven", "kitchen sink"):
        if not any(t.kind == name for t in f.objects):
            state = "closed" if name == "refrigerator" else ""
            blank = f.blank(name, colour=front if name == "kitchen sink" else "", state=state)
            f.wall(name, "corner", front=0.6, blank=blank) or f.wall(name, front=0.45, blank=blank)
    _counter_objects(f, counters)
    _eating_place(f)
    f.wall("trash can", front=0.2) if dice.chance(0.8) else None
    if dice.chance(0.5):
        f.hang("wall clock", 1.75)
    elif dice.chance(0.5):
        f.hang("calendar", 1.4)
    if dice.chance(0.3):
        f.wall("potted plant", "corner", front=0.2)
    pictures(f, 0, 1)
    light(f)


def _main_run(f: RoomFurnisher, side: str, low: float, high: float, front: str) -> list[HouseObject]:
    """Fill a wall from `low` to `high`: fridge, counter, sink, counter, oven, counter, with cupboards above."""
    dice = f.dice
    names = ["kitchen sink", "oven"]
    widths = {"kitchen sink": 0.8, "oven": 0.6, "dishwasher": 0.6, "refrigerator": dice.between(0.62, 0.72)}
    if high - low > 2.7:
        names.insert(0, "refrigerator")
    if high - low > 3.6 and dice.chance(0.8):
        names.insert(names.index("kitchen sink") + 1, "dishwasher")
    rest = high - low - sum(widths[n] for n in names) - 0.01
    gaps = 3 if rest > 1.4 else 2 if rest > 0.75 else 1
    slots: list[tuple[str, float]] = []
    fill = rest / gaps if rest / gaps >= 0.36 else 0.0
    for name in names:
        slots.append((name, widths[name]))
        if fill and gaps and name != "dishwasher" and not (name == "refrigerator" and gaps < 3):
            slots.append(("kitchen counter", fill))
            gaps -= 1
    if dice.chance(0.5):
        slots.reverse()
    counters, along = [], low + 0.005
    for name, width in slots:
        obj = _module(f, name, side, along + width / 2, width, front)
        if obj is None and name == "refrigerator":  # too tall to stand before a window
            obj = _module(f, "kitchen counter", side, along + width / 2, width, front)
        along += width
        if obj is None:
            continue
        if obj.kind in ("kitchen counter", "dishwasher"):
            counters.append(obj)
            _cupboard(f, obj, front)
        elif name == "oven":
            hood = f.blank("range hood", height=0.95)
            f.hang("range hood", f.ceiling_m - hood.look.height, above=obj, blank=hood)
            if dice.chance(0.5):
                f.on("cooking pot", obj)
    return counters


def _module(f: RoomFurnisher, name: str, side: str, along: float, width: float, front: str) -> HouseObject | None:
    """Place one element of a run; a door without space to open stays closed."""
    fronts = name in ("kitchen counter", "kitchen sink")
    for state in ("", "closed"):
        if state and name not in ("refrigerator", "dishwasher"):
            break
        blank = f.blank(name, width=width - 0.002, depth=0.64, state=state, colour=front if fronts else "")
        obj = f.settle(blank, f.wall_spot(side, along, blank.look.depth + 0.004), front=0.55)
        if obj is not None:
            return obj
    return None


def _cupboard(f: RoomFurnisher, below: HouseObject, front: str) -> None:
    blank = f.blank("wall cabinet", width=below.size[1] - 0.004, colour=front)
    f.hang("wall cabinet", 1.45, above=below, blank=blank)


def _second_run(f: RoomFurnisher, side: str, low: float, high: float, front: str) -> list[HouseObject]:
    width = min(high - low - 0.02, 1.8)
    obj = _module(f, "kitchen counter", side, (low + high) / 2, width, front)
    if obj is None:
        return []
    _cupboard(f, obj, front)
    return [obj]


def _counter_objects(f: RoomFurnisher, counters: list[HouseObject]) -> None:
    names = f.dice.shuffled(list(COUNTER_OBJECTS))[: f.dice.count(5, 9)]
    for i, name in enumerate(names):
        for counter in [*counters[i % max(1, len(counters)) :], *counters]:
            turn = 0.0 if name in ("microwave", "coffee machine", "spice rack", "dish rack") else None
            at = (-0.6, f.dice.between(-1, 1)) if turn == 0.0 else (f.dice.between(-0.6, 0.6), f.dice.between(-1, 1))
            if f.on(name, counter, at=at, turn=turn) is not None:
                break


def _eating_place(f: RoomFurnisher) -> None:
    """Place an island with stools in a large kitchen, otherwise a small table if there is space."""
    dice = f.dice
    island = (
        (f.middle("kitchen island", front=0.9) or f.middle("kitchen island", front=0.75)) if dice.chance(0.5) else None
    )
    if island is not None:
        several(f, island, ("fruit bowl", "vase", "cutting board", "plate", "bottle"), 1, 3)
        f.around("bar stool", island, 2)
        f.ceiling("pendant lamp", over=island)
        return
    table = f.middle("kitchen table", front=0.75)
    if table is not None:
        f.around("chair", table, dice.pick((2, 4)))
    else:
        table = f.wall("kitchen table", front=0.7)
        if table is not None:
            f.facing("chair", table, gap=0.03)
    several(f, table, ("fruit bowl", "vase", "mug", "plate", "candle", "bottle"), 1, 3)
    if table is None and dice.chance(0.5):
        f.wall("high chair", front=0.3)


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
