"""Cupboards, shelves and objects of living room, bedroom and study: electronics, instruments, fireplaces."""

from __future__ import annotations

from sim_bridge.house.kinds import Look, Surface, at, box, carrying, doors, kind, legs, shelves, tone, top
from sim_bridge.house.scene import ObjectPart

BOOKS = ("#9c3b32", "#2f5a8c", "#3f7a4c", "#d1a23c", "#6b4a7d", "#c9c2b2", "#3b3b40", "#c46f35", "#7fa3b8")


def frame(look: Look, boards: int, colour: str, foot: float = 0.08) -> list[ObjectPart]:
    """Return sides, back and boards of an open shelf."""
    c, t, d, w, h = colour, look.texture, look.depth, look.width, look.height
    out = [box(0, s * (w / 2 - 0.015), 0, (d, 0.03, h), c, t) for s in (-1, 1)]
    out += [
        box(look.back + 0.01, 0, 0.02, (0.02, w - 0.05, h - 0.04), tone(c, 0.75), t),
        box(0, 0, h - 0.03, (d, w, 0.03), c, t),
    ]
    return out + [box(0, 0, z - 0.025, (d - 0.01, w - 0.05, 0.025), c, t) for z, _ in shelves(look, boards, foot)]


def inside(look: Look, boards: int, foot: float = 0.08) -> list[Surface]:
    """Return the boards of an open shelf as surfaces."""
    return [
        Surface(look.back + 0.05, -look.width / 2 + 0.06, look.front - 0.02, look.width / 2 - 0.06, z, clear, "in")
        for z, clear in shelves(look, boards, foot)
    ]


def _free_board(look: Look) -> list[Surface]:
    return inside(look, 5)[2:4]


@carrying(_free_board)
def bookshelf(look: Look) -> list[ObjectPart]:
    """Five boards, three of them filled with rows of coloured books; the middle two have room for other objects."""
    out = frame(look, 5, look.colour)
    for row, (z, clear) in enumerate(shelves(look, 5)):
        if row in (2, 3):
            continue
        y = -look.width / 2 + 0.06
        while y < look.width / 2 - 0.1:
            wide = min(look.dice.between(0.12, 0.28), look.width / 2 - 0.05 - y)
            high = clear * look.dice.between(0.68, 0.94)
            out.append(box(-0.01, y + wide / 2, z, (look.depth - 0.08, wide, high), look.dice.pick(BOOKS), "books"))
            y += wide + (0.0 if look.dice.chance(0.7) else 0.05)
    return out


@carrying(top)
def tv_stand(look: Look) -> list[ObjectPart]:
    """A low cabinet: doors at both sides, an open niche with a box in the middle."""
    c, t, w, h = look.colour, look.texture, look.width, look.height
    out = [
        box(0, 0, h - 0.03, (look.depth, w, 0.03), c, t),
        box(0, 0, 0.06, (look.depth, w, 0.03), c, t),
        box(look.back + 0.02, 0, 0.08, (0.02, w - 0.04, h - 0.1), tone(c, 0.6), t),
        *legs(look, 0.06, 0.05, tone(c, 0.7), t),
    ]
    for s in (-1, 1):
        y = s * w / 3
        out += [
            box(0, y, 0.09, (look.depth - 0.02, w / 3 - 0.01, h - 0.12), c, t),
            box(look.front - 0.01, y - s * w * 0.12, h * 0.45, (0.02, 0.018, 0.12), "silver", "metal"),
        ]
    return [*out, box(-0.02, 0, 0.09, (look.depth - 0.14, w / 3 - 0.12, 0.07), "black")]


@kind
def television(look: Look) -> list[ObjectPart]:
    """A flat screen on a foot: it glows with an image when on and is black when off."""
    w, h, on = look.width, look.height, look.state == "on"
    out = [
        box(0, 0, 0, (look.depth, w * 0.4, 0.02), "black", "plain"),
        box(-0.02, 0, 0.02, (0.04, 0.12, 0.08), "black"),
        box(0, 0, 0.07, (0.05, w, h - 0.07), "black"),
    ]
    screen = (0.012, w - 0.05, h - 0.12)
    return [
        *out,
        box(0.024, 0, 0.095, screen, "#7fb4e6", "screen", glow=0.9)
        if on
        else box(0.024, 0, 0.095, screen, "#0c0d10", "glass"),
    ]


def _chest(look: Look, foot: float, leg: float, rows: int, columns: int) -> list[ObjectPart]:
    """Return a body on legs with a top board and a front of doors or drawers."""
    c, t = look.colour, look.texture
    return [
        box(-0.01, 0, foot, (look.depth - 0.03, look.width, look.height - foot - 0.03), tone(c, 0.85), t),
        box(0, 0, look.height - 0.03, (look.depth, look.width, 0.03), c, t),
        *legs(look, foot, leg, tone(c, 0.7), t),
        *doors(look, foot + 0.02, look.height - 0.04, rows, columns, c),
    ]


@carrying(top)
def sideboard(look: Look) -> list[ObjectPart]:
    """A waist-high cabinet with three doors on feet."""
    return _chest(look, 0.1, 0.05, 1, 3)


@carrying(top)
def dresser(look: Look) -> list[ObjectPart]:
    """A chest of four rows of drawers."""
    return _chest(look, 0.05, 0.06, 4, 2 if look.width > 1.0 else 1)


@carrying(top)
def nightstand(look: Look) -> list[ObjectPart]:
    """Two drawers on feet."""
    c, t = look.colour, look.texture
    return [
        box(-0.01, 0, 0.08, (look.depth - 0.03, look.width, look.height - 0.08), tone(c, 0.85), t),
        box(0, 0, look.height - 0.025, (look.depth, look.width, 0.025), c, t),
        *legs(look, 0.08, 0.045, tone(c, 0.7), t),
        *doors(look, 0.1, look.height - 0.03, 2, 1, c),
    ]


def open_leaf(look: Look, y: float, z0: float, height: float, colour: str) -> ObjectPart:
    """A leaf swung open by 90 degrees, in front of the body at local y."""
    return box(look.front + look.swing / 2, y, z0, (look.swing, 0.03, height), colour, look.texture)


@kind
def wardrobe(look: Look) -> list[ObjectPart]:
    """Tall doors; open, one sees clothes on a rail between two swung leaves."""
    c, t, w, h = look.colour, look.texture, look.width, look.height
    mid = (look.back + look.front) / 2
    if look.state != "open":
        return [
            box(mid - 0.01, 0, 0, (look.body - 0.03, w, h), tone(c, 0.88), t),
            *doors(look, 0.08, h - 0.03, 1, 3 if w > 1.35 else 2, c),
        ]
    out = [box(mid, s * (w / 2 - 0.015), 0, (look.body, 0.03, h), c, t) for s in (-1, 1)]
    out += [box(mid, 0, z, (look.body, w, 0.04), c, t) for z in (0.04, h - 0.04)]
    out += [
        box(look.back + 0.01, 0, 0, (0.02, w, h), tone(c, 0.55), t),
        at("cylinder_y", mid, 0, h - 0.2, (0.03, w - 0.06, 0.03), "silver", "metal"),
    ]
    out += [open_leaf(look, s * (w / 2 - 0.015), 0.08, h - 0.12, c) for s in (-1, 1)]
    number = int((w - 0.2) / 0.11)
    for i in range(number):
        y, long = -w / 2 + 0.12 + i * 0.11, look.dice.between(0.7, 1.15)
        out.append(box(mid, y, h - 0.22 - long, (look.body * 0.75, 0.06, long), look.dice.pick(BOOKS), "fabric"))
    return out


@carrying(top)
def filing_cabinet(look: Look) -> list[ObjectPart]:
    """Steel drawers with label handles."""
    return [
        box(-0.01, 0, 0, (look.depth - 0.02, look.width, look.height), look.colour, "metal"),
        *doors(look, 0.02, look.height - 0.01, 3, 1, look.colour, "black"),
    ]


@kind
def display_cabinet(look: Look) -> list[ObjectPart]:
    """Plates and glasses on boards above a pair of doors."""
    c = look.colour
    out = [*frame(look, 5, c), *doors(look, 0.04, shelves(look, 5)[2][0] - 0.02, 1, 2, c)]
    out.append(
        box(-0.02, 0, 0.03, (look.depth - 0.06, look.width - 0.04, shelves(look, 5)[2][0] - 0.06), c, look.texture)
    )
    for z, clear in shelves(look, 5)[2:]:
        for i in range(4):
            y = (i - 1.5) * look.width * 0.2
            if look.dice.chance(0.5):
                out.append(at("cylinder_x", -0.02, y, z, (0.02, min(0.2, clear), min(0.2, clear)), "#e9eef2", "plain"))
            else:
                out.append(at("bowl", 0, y, z, (0.1, 0.1, min(0.14, clear)), "#cfe3ea", "glass"))
    return out


@carrying(lambda look: [
    Surface(look.back + 0.03, -look.width / 2 + 0.05, look.back + 0.28, look.width / 2 - 0.05, look.height)
])
def piano(look: Look) -> list[ObjectPart]:
    """An upright: tall back, keyboard at hand height (hidden below a lid when closed), cheeks and pedals."""
    c, t, d, w, h = look.colour, look.texture, look.depth, look.width, look.height
    out = [box(look.back + 0.16, 0, 0, (0.32, w, h), c, t), box(0.1, 0, 0.6, (d - 0.2, w, 0.1), c, t)]
    out += [box(0.1, s * (w / 2 - 0.03), 0, (d - 0.22, 0.06, 0.78), c, t) for s in (-1, 1)]
    if look.state == "closed":
        return [*out, box(0.13, 0, 0.7, (d - 0.32, w - 0.12, 0.05), c, t)]
    out.append(box(0.2, 0, 0.7, (0.16, w - 0.14, 0.025), "#f6f4ec"))
    out.append(box(look.back + 0.33, 0, 0.74, (0.02, w - 0.14, 0.16), tone(c, 0.8), t))
    return out + [
        box(0.16, -w / 2 + 0.12 + i * (w - 0.2) / 26, 0.725, (0.09, 0.022, 0.014), "black")
        for i in range(26)
        if i % 7 not in (2, 6)
    ]


@carrying(top)
def fireplace(look: Look) -> list[ObjectPart]:
    """A stone surround with a mantel; flames over logs when lit."""
    c, d, w, h = look.colour, look.depth, look.width, look.height
    t = "brick" if c == "red" else "concrete" if c == "gray" else "marble"
    out = [box(-0.02, s * (w / 2 - 0.15), 0, (d - 0.04, 0.3, h - 0.06), c, t) for s in (-1, 1)]
    out += [
        box(-0.02, 0, h - 0.32, (d - 0.04, w - 0.6, 0.26), c, t),
        box(0, 0, h - 0.06, (d, w, 0.06), c, t),
        box(look.back + 0.03, 0, 0, (0.06, w - 0.6, h - 0.3), "#2a2422", "brick"),
        box(0, 0, 0, (d - 0.06, w - 0.6, 0.03), "#38302c", "concrete"),
    ]
    out += [
        at("cylinder_y", 0.02 + 0.07 * i, 0, 0.03 + 0.0 * i, (0.09, w * 0.4, 0.09), "#5a3d26", "wood")
        for i in (-1, 0, 1)
    ]
    if look.state == "lit":
        for i, y in enumerate((-0.2, -0.07, 0.06, 0.2)):
            out += [
                at("cone", 0.02, y * w, 0.1, (0.14, 0.16, 0.24 + 0.08 * (i % 2)), "#ff8a1e", glow=1.0),
                at("cone", 0.05, y * w, 0.1, (0.08, 0.09, 0.2), "#ffd75a", glow=1.0),
            ]
    return out


@kind
def speaker(look: Look) -> list[ObjectPart]:
    """A floor-standing box with two cones."""
    out = [box(-0.01, 0, 0, (look.depth - 0.02, look.width, look.height), look.colour, look.texture)]
    for z, size in ((0.55, 0.8), (0.8, 0.5)):
        r = look.width * size
        out.append(at("cylinder_x", look.front - 0.012, 0, look.height * z - r / 2, (0.024, r, r), "#33343a"))
        out.append(at("sphere", look.front - 0.015, 0, look.height * z - r / 6, (0.03, r / 3, r / 3), "silver"))
    return out


@kind
def aquarium(look: Look) -> list[ObjectPart]:
    """A tank with fish on a cabinet; its lamp is on or off."""
    w, h, d, on = look.width, look.height, look.depth, look.state == "on"
    out = [
        box(0, 0, 0, (d, w, 0.68), "#4a3a2e", "wood"),
        box(0, 0, h - 0.06, (d, w, 0.06), "black"),
        box(
            -0.02,
            0,
            0.68,
            (d - 0.06, w - 0.02, h - 0.74),
            "#58b4dc" if on else "#24506a",
            "glass",
            glow=0.6 if on else 0.0,
        ),
    ]
    for i in range(5):
        y, z = (i - 2) * w * 0.17, 0.76 + 0.09 * (i * 2 % 3)
        out += [
            at("sphere", look.front - 0.035, y, z, (0.03, 0.1, 0.05), ("#f28a2c", "#f2d43c", "#d8443a")[i % 3]),
            at("cone", look.front - 0.02, -w * 0.44 + i * w * 0.21, 0.69, (0.02, 0.06, 0.16), "#3d8a46", "leaves"),
        ]
    return out
