"""Kinds of objects: sizes, colours, materials, states, and how they are built from parts.

Builders work in the object's local frame: origin at the centre of the footprint on the lowest point, +x to the front.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from importlib import resources
from typing import NamedTuple

from sim_bridge.house.dice import Dice
from sim_bridge.house.scene import PALETTE, ObjectPart

TEXTURE_OF = {
    "wood": "wood",
    "metal": "metal",
    "fabric": "fabric",
    "leather": "leather",
    "glass": "glass",
    "marble": "marble",
    "wicker": "wicker",
    "paper": "paper",
    "stone": "concrete",
    "ceramic": "plain",
    "plastic": "plain",
    "": "plain",
    "rubber": "plain",
    "cardboard": "paper",
    "wax": "plain",
}
Range = tuple[float, float]


class Look(NamedTuple):
    """The parameters of one instance. depth, width, height: size along local x, y, z in metres; swing: part of the
    depth that an open leaf takes in front of the body."""

    depth: float
    width: float
    height: float
    colour: str
    material: str
    state: str
    dice: Dice
    swing: float = 0.0

    @property
    def texture(self) -> str:
        """Texture of the main material."""
        return TEXTURE_OF[self.material]

    @property
    def body(self) -> float:
        """Depth of the body without an open leaf."""
        return self.depth - self.swing

    @property
    def back(self) -> float:
        """Local x of the rear side."""
        return -self.depth / 2

    @property
    def front(self) -> float:
        """Local x of the body's front side."""
        return self.depth / 2 - self.swing


class Surface(NamedTuple):
    """Where other objects can stand: a rectangle in the local frame, its height, and the free height above it."""

    x0: float
    y0: float
    x1: float
    y1: float
    z: float
    clear: float = 1.0
    relation: str = "on"


Build = Callable[[Look], list[ObjectPart]]


class Kind(NamedTuple):
    """A kind of object. Sizes are (minimum, maximum) of the closed object in metres; swing is added if it is open."""

    name: str
    depth: Range
    width: Range
    height: Range
    build: Build
    colours: tuple[str, ...] = ("",)
    materials: tuple[str, ...] = ("",)
    states: tuple[str, ...] = ("",)
    solid: bool = True
    swing: float = 0.0
    surfaces: Callable[[Look], list[Surface]] | None = None


WOODS = ("brown", "brown", "beige", "white", "black")
SOFT = ("gray", "blue", "green", "red", "beige", "yellow", "purple", "brown", "pink", "orange", "turquoise", "black")
BRIGHT = ("red", "blue", "green", "yellow", "orange", "pink", "purple", "white", "turquoise")
DOMESTIC = ("white", "black", "gray", "red", "beige", "turquoise")
FRONTS = ("white", "beige", "blue", "green", "gray", "brown", "red")
SHADES = ("white", "yellow", "red", "green", "blue", "orange", "beige")
DOORS = ("brown", "white", "white", "beige")
_COLOURS = {"WOODS": WOODS, "SOFT": SOFT, "BRIGHT": BRIGHT, "DOMESTIC": DOMESTIC, "FRONTS": FRONTS, "SHADES": SHADES,
            "DOORS": DOORS}
KINDS: dict[str, Kind] = {}  # filled by the builders; importing sim_bridge.house.catalogue loads all of them


def _read_table() -> dict[str, list[str]]:
    """Return the rows of kinds.csv by the name of the kind. A name in capitals refers to one of the groups above."""
    lines = resources.files("sim_bridge.house").joinpath("kinds.csv").read_text(encoding="utf-8").splitlines()[1:]
    rows = [[cell.strip() for cell in line.split(";")] for line in lines]
    return {row[0]: row[1:] for row in rows}


_TABLE = _read_table()


def _words(cell: str) -> tuple[str, ...]:
    return _COLOURS.get(cell) or tuple(word.strip() for word in cell.split(","))


def kind(build: Build) -> Build:
    """Register a builder in KINDS under its own name, with the row of kinds.csv that has this name."""
    name = build.__name__.replace("_", " ")
    *sizes, colours, materials, states, solid, swing = _TABLE[name]
    (d0, d1), (w0, w1), (h0, h1) = (map(float, size.split()) for size in sizes)
    KINDS[name] = Kind(name, (d0, d1), (w0, w1), (h0, h1), build, _words(colours), _words(materials), _words(states),
                       solid != "no", float(swing or 0.0))
    return build


def carrying(surfaces: Callable[[Look], list[Surface]]) -> Callable[[Build], Build]:
    """Register a builder of an object on which others can stand."""

    def enter(build: Build) -> Build:
        kind(build)
        name = build.__name__.replace("_", " ")
        KINDS[name] = KINDS[name]._replace(surfaces=surfaces)
        return build

    return enter


def at(
    shape: str,
    x: float,
    y: float,
    z: float,
    size: tuple[float, float, float],
    colour: str,
    texture: str = "plain",
    glow: float = 0.0,
    yaw: float = 0.0,
) -> ObjectPart:
    """Return a part whose lowest point is at height z."""
    return ObjectPart(
        shape,
        (round(x, 4), round(y, 4), round(z + size[2] / 2, 4)),
        (round(size[0], 4), round(size[1], 4), round(size[2], 4)),
        colour,
        texture,
        yaw,
        glow,
    )


box = partial(at, "box")  # a box whose bottom is at height z


@lru_cache(maxsize=512)
def tone(colour: str, factor: float) -> str:
    """Return a darker (factor < 1) or lighter (> 1, towards white) colour as #rrggbb."""
    value = PALETTE.get(colour, colour).lstrip("#")
    channels = [int(value[i : i + 2], 16) for i in (0, 2, 4)]
    mixed = [c * factor if factor <= 1 else c + (255 - c) * (factor - 1) for c in channels]
    return "#" + "".join(f"{min(255, max(0, round(c))):02x}" for c in mixed)


def legs(
    look: Look, height: float, thick: float, colour: str, texture: str = "plain", shape: str = "box"
) -> list[ObjectPart]:
    """Return four legs at the corners of the footprint."""
    x, y = look.depth / 2 - thick * 0.8, look.width / 2 - thick * 0.8
    return [at(shape, sx * x, sy * y, 0.0, (thick, thick, height), colour, texture) for sx in (-1, 1) for sy in (-1, 1)]


def doors(look: Look, z0: float, z1: float, rows: int, columns: int, colour: str,
          handle: str = "silver") -> list[ObjectPart]:
    """Return the closed fronts of a cabinet between two heights, each with a handle."""
    out = []
    width, height = look.width / columns, (z1 - z0) / rows
    for row in range(rows):
        for column in range(columns):
            y, z = -look.width / 2 + (column + 0.5) * width, z0 + row * height
            out.append(
                box(look.front - 0.012, y, z + 0.012, (0.024, width - 0.02, height - 0.024), colour, look.texture)
            )
            wide = height < width
            side = 0.0 if wide else (0.38 if column % 2 == 0 else -0.38) * width
            size = (0.02, min(0.16, width * 0.4), 0.018) if wide else (0.02, 0.018, min(0.2, height * 0.4))
            out.append(box(look.front + 0.005, y + side, z + height * (0.75 if wide else 0.45), size, handle, "metal"))
    return out


def top(look: Look) -> list[Surface]:
    """Return the whole top of the body as a surface."""
    return [Surface(look.back + 0.02, -look.width / 2 + 0.02, look.front - 0.02, look.width / 2 - 0.02, look.height)]


def shelves(look: Look, boards: int, foot: float = 0.08) -> list[tuple[float, float]]:
    """Return (height of the board's top, free height above) of the boards of an open shelf, metres."""
    step = (look.height - foot - 0.03) / boards
    return [(round(foot + 0.025 + i * step, 4), round(step - 0.03, 4)) for i in range(boards)]

