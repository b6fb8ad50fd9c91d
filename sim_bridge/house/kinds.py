"""Kinds of objects: sizes, colours, materials, states, and how they are built from parts.

Builders work in the object's local frame: origin at the centre of the footprint on the lowest point, +x to the front.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
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
COLOURS = {"WOODS": WOODS, "SOFT": SOFT, "BRIGHT": BRIGHT, "DOMESTIC": DOMESTIC, "FRONTS": FRONTS, "SHADES": SHADES,
           "DOORS": DOORS}  # groups of colours that kinds.csv names
BUILDERS: dict[str, Build] = {}  # functions that build a kind, by its name; parts.csv describes all others


def kind(build: Build) -> Build:
    """Register the function that builds the parts of the kind with its name."""
    BUILDERS[build.__name__.replace("_", " ")] = build
    return build


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


def shelves(look: Look, boards: int, foot: float = 0.08) -> list[tuple[float, float]]:
    """Return (height of the board's top, free height above) of the boards of an open shelf, metres."""
    step = (look.height - foot - 0.03) / boards
    return [(round(foot + 0.025 + i * step, 4), round(step - 0.03, 4)) for i in range(boards)]


def frame(look: Look, boards: int, colour: str, foot: float = 0.08) -> list[ObjectPart]:
    """Return sides, back and boards of an open shelf."""
    c, t, d, w, h = colour, look.texture, look.depth, look.width, look.height
    out = [box(0, s * (w / 2 - 0.015), 0, (d, 0.03, h), c, t) for s in (-1, 1)]
    out += [
        box(look.back + 0.01, 0, 0.02, (0.02, w - 0.05, h - 0.04), tone(c, 0.75), t),
        box(0, 0, h - 0.03, (d, w, 0.03), c, t),
    ]
    return out + [box(0, 0, z - 0.025, (d - 0.01, w - 0.05, 0.025), c, t) for z, _ in shelves(look, boards, foot)]


def _inset(look: Look, back: float, side: float, front: float, z: float, clear: float = 1.0) -> list[Surface]:
    """Return one surface at height z, at these distances from the sides of the body."""
    half = look.width / 2
    return [Surface(look.back + back, -half + side, look.front - front, half - side, z, clear)]


def top(look: Look) -> list[Surface]:
    """Return the whole top of the body as a surface."""
    return _inset(look, 0.02, 0.02, 0.02, look.height)


def inside(look: Look, boards: int, foot: float = 0.08) -> list[Surface]:
    """Return the boards of an open shelf as surfaces."""
    return [
        Surface(look.back + 0.05, -look.width / 2 + 0.06, look.front - 0.02, look.width / 2 - 0.06, z, clear, "in")
        for z, clear in shelves(look, boards, foot)
    ]


def _rim(look: Look) -> list[Surface]:
    """Return the two sides of a basin."""
    return [
        Surface(look.back + 0.02, side * (look.width / 2 - 0.08) - 0.06,
                look.front - 0.05, side * (look.width / 2 - 0.08) + 0.06, 0.86)
        for side in (-1, 1)
    ]


def _lid(look: Look) -> list[Surface]:
    """Return the top of a piano behind its keys."""
    return [Surface(look.back + 0.03, -look.width / 2 + 0.05, look.back + 0.28, look.width / 2 - 0.05, look.height)]


SURFACES: dict[str, Callable[[Look], list[Surface]] | None] = {  # the column `carries` of kinds.csv
    "": None,
    "top": top,
    "seat": lambda look: _inset(look, 0.24, 0.22, 0.08, 0.44, 0.6),
    "plank": lambda look: _inset(look, 0.03, 0.06, 0.03, look.height),
    "mattress": lambda look: _inset(look, 0.9, 0.12, 0.15, 0.545, 0.8),
    "wall board": lambda look: _inset(look, 0.02, 0.05, 0.01, look.height, 0.5),
    "lid": _lid,
    "rim": _rim,
    "hobs": lambda look: [Surface(-0.29, -0.28, 0.05, 0.28, look.height + 0.006, 0.5)],
    "boards": lambda look: inside(look, 4),
    "upper boards": lambda look: inside(look, 4)[1:],
    "middle boards": lambda look: inside(look, 5)[1:4],
    "free boards": lambda look: inside(look, 5)[2:4],
    "top and boards": lambda look: [*top(look), *inside(look, 2, 0.04)],
}
