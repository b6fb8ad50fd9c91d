"""The floor plan: rooms along a central band (a hallway, or the living room in small homes) that tile a rectangle.

Cells are laid out on wall centre lines; a room is its cell minus half a wall on each side. Names, floors and walls are
chosen so that the rooms of a home can be distinguished.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from sim_bridge.house.dice import Dice
from sim_bridge.house.rooms import room_kind
from sim_bridge.house.scene import Room

WALL_M = 0.12

# Rooms behind another room, entered through it: (annex, host), and the annex's depth in metres.
ANNEXES = {"pantry": "kitchen", "closet": "bedroom", "second bathroom": "bedroom"}
OPTIONAL = ("bedroom", "dining room", "study", "entryway", "garage", "laundry room", "second bathroom", "bedroom",
            "pantry", "workout room", "closet")


@dataclass
class PlannedRoom:
    """A planned room, bounded by wall centre lines (metres)."""

    kind: str
    x0: float = 0.0
    y0: float = 0.0
    x1: float = 0.0
    y1: float = 0.0
    parent: PlannedRoom | None = None  # the room through which an annex is entered

    @property
    def width(self) -> float:
        """Extent along x."""
        return self.x1 - self.x0


@dataclass
class StripSlot:
    """A slot of a strip: one room, or a room with an annex behind it."""

    kind: str
    annex: str = ""
    width: float = 0.0
    limits: tuple[float, float] = field(default=(0.0, 0.0))

    def measure(self, depth: float) -> None:
        """Set the minimum and maximum width for a strip of this depth (both in metres)."""
        (low, high), narrow = room_kind(self.kind)[:2]
        if self.annex:
            extra = room_kind(self.annex.removeprefix("second ")).area_m2
            low, high, narrow = low + extra[0], high + extra[1], max(narrow, 3.0)
        least = max(narrow, low / depth)
        self.limits = (least, max(least + 0.2, high / depth))


def programme(dice: Dice, count: int) -> list[str]:
    """Return the room kinds of a home of `count` rooms; there is no hallway if the living room is the hub."""
    kinds = ["living room", "kitchen", "bedroom", "bathroom"]
    options = list(OPTIONAL)
    wanted = count - (1 if count > 5 else 0)
    while len(kinds) < wanted:
        kind = dice.pick(options[: 4 + len(kinds) // 2])
        options.remove(kind)
        kinds.append(kind)
    return kinds


def draw_layout(dice: Dice, count: int, draw: Callable[[Dice, int], list[str]] = programme) -> list[PlannedRoom]:
    """Return cells for `count` rooms (4..12), the central one first; their kinds are drawn from the dice."""
    hub = "living room" if count <= 5 else "hallway"
    for attempt in range(6000):
        if attempt % 60 == 0:  # some sets of rooms do not fit into a rectangle
            kinds = draw(dice, count)
        cells = _try_layout(dice, [k for k in kinds if k != hub], hub)
        if cells is not None:
            return _turned(dice, cells)
    raise AssertionError(f"no layout for {kinds}")


def _try_layout(dice: Dice, kinds: list[str], hub: str) -> list[PlannedRoom] | None:
    columns = [StripSlot(k) for k in kinds if k not in ANNEXES]
    if not _assign_annexes(dice, [k for k in kinds if k in ANNEXES], columns):
        return None
    annexed = any(c.annex for c in columns)
    deep = dice.between(5.2, 5.7) if annexed else dice.between(4.3, 5.0) if hub == "hallway" else dice.between(3.4, 4.0)
    depths = (deep, dice.between(3.1, 3.7))
    strips = _assign_strips(dice, columns, hub)
    if not all(strips):
        return None
    sums = []
    for strip, depth in zip(strips, depths, strict=True):
        for column in strip:
            column.measure(depth)
        sums.append((sum(c.limits[0] for c in strip), sum(c.limits[1] for c in strip)))
    low, high = max(s[0] for s in sums), min(s[1] for s in sums)
    if low > high:
        return None
    length = dice.between(low, min(high, low + 1.5))
    band = dice.between(1.45, 1.75) if hub == "hallway" else dice.between(max(3.9, 18.5 / length), 29.0 / length)
    if hub == "living room" and not 3.9 <= band <= 6.0:
        return None
    for strip, (least, most) in zip(strips, sums, strict=True):
        share = (length - least) / (most - least)
        for column in strip:
            column.width = column.limits[0] + share * (column.limits[1] - column.limits[0])
    return _cells(dice, strips, depths, length, band, hub)


def _assign_annexes(dice: Dice, annexes: list[str], columns: list[StripSlot]) -> bool:
    """Attach each annex to a free host room; return False if there is none."""
    for annex in annexes:
        hosts = [c for c in columns if c.kind == ANNEXES[annex] and not c.annex]
        if not hosts:
            return False
        dice.pick(hosts).annex = annex
    return True


def _assign_strips(dice: Dice, columns: list[StripSlot], hub: str) -> tuple[list[StripSlot], list[StripSlot]]:
    """Split the columns over the deep and the shallow strip, living room first, dining room and kitchen next to it."""
    deep, shallow = [], []
    for column in dice.shuffled(columns):
        if column.annex or (hub == "hallway" and room_kind(column.kind).side == "deep"):
            deep.append(column)
        elif hub == "hallway" and room_kind(column.kind).side == "shallow":
            shallow.append(column)
        else:
            (deep if dice.chance(0.5) else shallow).append(column)
    order = ("living room", "dining room", "kitchen")
    deep.sort(key=lambda c: order.index(c.kind) if c.kind in order else len(order))
    return deep, shallow


def _cells(
    dice: Dice,
    strips: tuple[list[StripSlot], list[StripSlot]],
    depths: tuple[float, float],
    length: float,
    band: float,
    hub: str,
) -> list[PlannedRoom]:
    """Place the strips below and above the band; a living room at the end may reach over the hallway."""
    deep, shallow = depths
    core = PlannedRoom(hub, 0.0, deep, length, deep + band)
    cells = [core]
    for strip, y0, y1, outer in ((strips[0], 0.0, deep, 0.0), (strips[1], deep + band, deep + band + shallow, 1.0)):
        x = 0.0
        for column in strip:
            cell = PlannedRoom(column.kind, x, y0, x + column.width, y1)
            cells.append(cell)
            x = cell.x1
            if column.annex and outer == 0.0:
                kind = column.annex.removeprefix("second ")
                cut = min(max(room_kind(kind).area_m2[0] / column.width, 1.75 if kind != "bathroom" else 1.95), 2.2)
                cells.append(PlannedRoom(kind, cell.x0, 0.0, cell.x1, cut, parent=cell))
                cell.y0 = cut
        cells[-1 if cells[-1].parent is None else -2].x1 = length
    living = next((c for c in cells if c.kind == "living room"), None)  # an upper storey has none
    if (
        living is not None
        and hub == "hallway"
        and living.x0 == 0.0
        and (living.width * deep < 21.0 or dice.chance(0.4))
        and living.width * (deep + band) < 33.0
    ):
        living.y1, core.x0 = deep + band, living.x1
    return cells


def _turned(dice: Dice, cells: list[PlannedRoom]) -> list[PlannedRoom]:
    """Mirror and transpose the plan at random."""
    width, depth = max(c.x1 for c in cells), max(c.y1 for c in cells)
    flip_x, flip_y, swap = dice.chance(0.5), dice.chance(0.5), dice.chance(0.4)
    for c in cells:
        if flip_x:
            c.x0, c.x1 = width - c.x1, width - c.x0
        if flip_y:
            c.y0, c.y1 = depth - c.y1, depth - c.y0
        if swap:
            c.x0, c.y0, c.x1, c.y1 = c.y0, c.x0, c.y1, c.x1
        c.x0, c.y0, c.x1, c.y1 = (round(v, 3) for v in (c.x0, c.y0, c.x1, c.y1))
    return cells


COLOURS = ("white", "cream", "light blue", "light green", "light yellow", "light pink", "light purple", "light gray",
           "light orange", "beige", "turquoise", "white", "yellow")


def finish(dice: Dice, cells: list[PlannedRoom]) -> list[Room]:
    """Return rooms with names, floors and walls. Wall colours repeat only after all were used."""
    colours: list[str] = []
    rooms = []
    for index, (cell, name) in enumerate(zip(cells, _names(dice, cells), strict=True)):
        colours = colours or dice.shuffled(COLOURS)
        kind = room_kind(cell.kind)
        floor, floor_colour = dice.pick(kind.floors)
        wall = dice.pick(kind.walls)
        colour = (
            dice.pick(("red", "brown", "white")) if wall == "brick" else "gray" if wall == "concrete" else colours.pop()
        )
        half = WALL_M / 2
        rooms.append(
            Room(
                index,
                cell.kind,
                round(cell.x0 + half, 3),
                round(cell.y0 + half, 3),
                round(cell.x1 - half, 3),
                round(cell.y1 - half, 3),
                floor,
                floor_colour,
                colour,
                name,
                wall,
            )
        )
    return rooms


def _names(dice: Dice, cells: list[PlannedRoom]) -> list[str]:
    """Name the rooms; several rooms of a kind get names that people use, such as "second bedroom"."""
    series = {
        "bedroom": ["main bedroom", *dice.shuffled(["second bedroom", "kids' bedroom"]), "guest bedroom"],
        "bathroom": ["main bathroom", "second bathroom", "third bathroom"],
    }
    many = [k for k in series if sum(c.kind == k for c in cells) > 1]
    ranked = sorted(
        range(len(cells)),
        key=lambda i: (cells[i].parent is not None, -_area(cells[i]) if cells[i].kind == "bedroom" else 0.0, i),
    )
    names = [c.kind for c in cells]
    for i in ranked:
        if cells[i].kind in many:
            names[i] = series[cells[i].kind].pop(0)
    return names


def _area(cell: PlannedRoom) -> float:
    return (cell.x1 - cell.x0) * (cell.y1 - cell.y0)
