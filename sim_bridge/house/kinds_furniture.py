"""Furniture whose parts depend on chance or on its size."""

from __future__ import annotations

from sim_bridge.house.kinds import Look, at, box, doors, frame, inside, kind, legs, shelves, tone
from sim_bridge.house.scene import ObjectPart


@kind
def sofa(look: Look) -> list[ObjectPart]:
    """Base, seat cushions, back cushions and two arms on short feet."""
    c, t = look.colour, look.texture
    inner = look.width - 0.4
    seats = 3 if look.width > 2.0 else 2
    out = [
        box(0, 0, 0.06, (look.depth, look.width, 0.22), tone(c, 0.85), t),
        box(look.back + 0.1, 0, 0.28, (0.2, look.width, look.height - 0.3), c, t),
    ]
    for side in (-1, 1):
        y = side * (look.width / 2 - 0.1)
        out += [
            box(0, y, 0.28, (look.depth, 0.2, 0.28), c, t),
            at("cylinder_x", 0, y, 0.47, (look.depth, 0.2, 0.16), c, t),
        ]
        out += [box(x * (look.depth / 2 - 0.08), y, 0, (0.06, 0.06, 0.06), "black", "wood") for x in (-1, 1)]
    for i in range(seats):
        y = -inner / 2 + (i + 0.5) * inner / seats
        out.append(box(0.09, y, 0.28, (look.depth - 0.2, inner / seats - 0.015, 0.16), c, t))
        out.append(box(look.back + 0.26, y, 0.44, (0.14, inner / seats - 0.03, look.height - 0.46), tone(c, 1.1), t))
    return out


def _chair(look: Look, seat: float) -> list[ObjectPart]:
    c, t = look.colour, look.texture
    bar = tone(c, 0.85)
    out = [box(0.0, 0, seat - 0.04, (look.depth, look.width, 0.045), c, t), *legs(look, seat - 0.04, 0.04, bar, t)]
    high = look.height - seat
    out += [box(look.back + 0.02, s * (look.width / 2 - 0.025), seat, (0.04, 0.04, high), bar, t) for s in (-1, 1)]
    out += [
        box(look.back + 0.02, 0, seat + high * f, (0.025, look.width - 0.06, high * 0.2), c, t) for f in (0.3, 0.76)
    ]
    return out


@kind
def bed(look: Look) -> list[ObjectPart]:
    """Frame, headboard, mattress, pillows and a blanket: smooth when made, rumpled to one side when not."""
    wood = "brown" if look.dice.chance(0.6) else look.dice.pick(("white", "beige", "black"))
    d, w, c = look.depth, look.width, look.colour
    out = [
        box(0, 0, 0.08, (d, w, 0.2), wood, "wood"),
        box(look.back + 0.03, 0, 0, (0.06, w, look.height), wood, "wood"),
        box(0.02, 0, 0.28, (d - 0.1, w - 0.06, 0.2), "#f5f3ee", "fabric"),
        *legs(look, 0.08, 0.08, wood, "wood"),
    ]
    number = 2 if w > 1.3 else 1
    made = look.state == "made"
    for i in range(number):
        y = (i - (number - 1) / 2) * w * 0.46
        turn, wide = 0.0 if made else look.dice.between(-0.35, 0.35), min(0.66, w * 0.42)
        out += [
            box(look.back + 0.34, y, 0.48, (0.4, wide, 0.07), "#fbfaf6", "fabric", yaw=turn),
            box(look.back + 0.34, y, 0.53, (0.32, wide - 0.1, 0.06), "#fbfaf6", "fabric", yaw=turn),
        ]
    if made:
        return [
            *out,
            box(0.28, 0, 0.3, (d - 0.62, w, 0.24), c, "fabric"),
            box(-d / 2 + 0.66, 0, 0.5, (0.2, w, 0.05), "#f5f3ee", "fabric"),
        ]
    return out + _thrown_blanket(look)


def _thrown_blanket(look: Look) -> list[ObjectPart]:
    """A crooked blanket over the foot of the bed, in folds, hanging down at one side."""
    d, w, c = look.depth, look.width, look.colour
    turn = look.dice.between(0.12, 0.2)
    out = [
        box(d * 0.2, w * 0.06, 0.47, (d * 0.42, w * 0.66, 0.06), c, "fabric", yaw=turn),
        box(d * 0.22, w / 2 - 0.02, 0.2, (d * 0.36, 0.04, 0.32), c, "fabric"),
    ]
    for i, x in enumerate((0.02, 0.12, 0.24, 0.33)):
        out.append(
            at(
                "cylinder_y",
                d * x,
                w * (0.1 if i % 2 else 0.02),
                0.46,
                (0.2, w * (0.62 - 0.1 * (i % 2)), 0.13 + 0.04 * (i % 2)),
                tone(c, 0.92 if i % 2 else 1.0),
                "fabric",
                yaw=turn - 0.25 * i,
            )
        )
    return out


BOOKS = ("#9c3b32", "#2f5a8c", "#3f7a4c", "#d1a23c", "#6b4a7d", "#c9c2b2", "#3b3b40", "#c46f35", "#7fa3b8")


@kind
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


@kind
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


def _chest(look: Look, foot: float, leg: float, rows: int, columns: int) -> list[ObjectPart]:
    """Return a body on legs with a top board and a front of doors or drawers."""
    c, t = look.colour, look.texture
    return [
        box(-0.01, 0, foot, (look.depth - 0.03, look.width, look.height - foot - 0.03), tone(c, 0.85), t),
        box(0, 0, look.height - 0.03, (look.depth, look.width, 0.03), c, t),
        *legs(look, foot, leg, tone(c, 0.7), t),
        *doors(look, foot + 0.02, look.height - 0.04, rows, columns, c),
    ]


@kind
def dresser(look: Look) -> list[ObjectPart]:
    """A chest of four rows of drawers."""
    return _chest(look, 0.05, 0.06, 4, 2 if look.width > 1.0 else 1)


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


@kind
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


@kind
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
def pantry_shelf(look: Look) -> list[ObjectPart]:
    """Five boards; the lowest and highest are filled with tins and sacks."""
    levels = inside(look, 5)
    out = frame(look, 5, look.colour)
    for row, z in ((0, levels[0].z), (4, levels[4].z)):
        number = int((look.width - 0.12) / 0.16)
        for i in range(number):
            y = (i - (number - 1) / 2) * 0.155
            shape, size = ("cylinder", (0.12, 0.12, 0.17)) if row else ("sphere", (0.22, 0.15, 0.26))
            out.append(
                at(
                    shape,
                    0,
                    y,
                    z,
                    size,
                    ("#c8443a", "#4f8a4a", "#d8a83c", "#5a7aa8")[i % 4] if row else ("#d8c8a0", "#b89a6a")[i % 2],
                    "metal" if row else "fabric",
                )
            )
    return out


@kind
def clothes_rack(look: Look) -> list[ObjectPart]:
    """A rail on a frame, full of clothes on hangers."""
    d, w, h = look.depth, look.width, look.height
    out = [box(0, s * (w / 2 - 0.02), 0, (0.03, 0.03, h), look.colour, "metal") for s in (-1, 1)]
    out += [box(0, s * (w / 2 - 0.02), 0, (d, 0.04, 0.04), look.colour, "metal") for s in (-1, 1)]
    out += [
        at("cylinder_y", 0, 0, h - 0.03, (0.03, w, 0.03), look.colour, "metal"),
        box(0, 0, 0.1, (d - 0.1, w - 0.04, 0.02), look.colour, "metal"),
    ]
    for i in range(int((w - 0.16) / 0.1)):
        y, long = -w / 2 + 0.12 + i * 0.1, look.dice.between(0.6, 1.05)
        out.append(box(0, y, h - 0.1 - long, (d * 0.8, 0.055, long), look.dice.pick(BOOKS), "fabric"))
    return out


@kind
def ladder(look: Look) -> list[ObjectPart]:
    """Two rails with rungs, standing against the wall."""
    w, h = look.width, look.height
    out = [
        box(x, s * (w / 2 - 0.02), 0, (0.03, 0.04, h), look.colour, "metal")
        for s in (-1, 1)
        for x in (look.back + 0.02, look.front - 0.02)
    ]
    return out + [
        box(0, 0, 0.2 + i * (h - 0.3) / 6, (look.depth, w - 0.04, 0.025), look.colour, "metal") for i in range(7)
    ]


@kind
def tire(look: Look) -> list[ObjectPart]:
    """A stack of lying car tires."""
    d, h = look.depth, look.height
    n = 3 if h > 0.54 else 2
    out = []
    for i in range(n):
        out += [
            at("cylinder", 0, 0, i * h / n, (d, d, h / n - 0.02), "black"),
            at("cylinder", 0, 0, i * h / n, (d * 0.9, d * 0.9, h / n), "#3a3b3f"),
        ]
    return [*out, at("cylinder", 0, 0, h - 0.004, (d * 0.5, d * 0.5, 0.006), "#77797c", "metal")]


@kind
def drying_rack(look: Look) -> list[ObjectPart]:
    """A folding frame with rails; clothes hang from it when full."""
    d, w, h = look.depth, look.width, look.height
    out = [*legs(look, h, 0.025, "#e6e8ea", "metal")]
    out += [at("cylinder_y", (i - 2) * d / 4.4, 0, h - 0.02, (0.015, w, 0.015), "#e6e8ea", "metal") for i in range(5)]
    if look.state == "full":
        for i, c in enumerate(("#c8443a", "#3c6fb0", "#e8e4d8", "#4f9a5a", "#e0b83c")):
            long = 0.35 + 0.09 * (i * 2 % 3)
            out.append(
                box((i % 3 - 1) * d * 0.22, (i - 2) * w * 0.19, h - 0.01 - long, (0.03, w * 0.17, long), c, "fabric")
            )
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


@kind
def bathroom_shelf(look: Look) -> list[ObjectPart]:
    """A slim open shelf with folded towels on its lowest board."""
    z = inside(look, 4)[0].z
    out = frame(look, 4, look.colour)
    return out + [
        box(0, 0, z + 0.07 * i, (look.depth - 0.08, look.width - 0.14, 0.065), c, "fabric")
        for i, c in enumerate(("#8fb8cc", "#f0ead8", "#d88f8a"))
    ]


@kind
def metal_shelf(look: Look) -> list[ObjectPart]:
    """An open rack of four boards."""
    return frame(look, 4, look.colour)
