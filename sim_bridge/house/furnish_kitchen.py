"""Recipe for the kitchen: runs of cabinets with appliances, cupboards above, a place to eat."""

from __future__ import annotations

from sim_bridge.house.furnish import RoomFurnisher
from sim_bridge.house.furnish_living import light, pictures, several
from sim_bridge.house.kinds import FRONTS
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
        if obj is None and name == "refrigerator":  # too tall for a window
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
    """Place an island with stools in a large kitchen, otherwise a small table where there is room."""
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
