"""Utility rooms, garage and laundry."""

from __future__ import annotations

from sim_bridge.house.kinds import Look, Surface, at, box, carrying, kind, legs, tone, top
from sim_bridge.house.kinds_storage import BOOKS, frame, inside
from sim_bridge.house.scene import ObjectPart


@carrying(top)
def workbench(look: Look) -> list[ObjectPart]:
    """A heavy top on thick legs with a board below and a vice."""
    c, d, w, h = look.colour, look.depth, look.width, look.height
    return [
        box(0, 0, h - 0.07, (d, w, 0.07), c, "wood"),
        *legs(look, h - 0.07, 0.1, tone(c, 0.8), "wood"),
        box(0, 0, 0.2, (d - 0.08, w - 0.1, 0.03), tone(c, 0.9), "wood"),
        box(0.05, 0.2, 0.23, (0.3, 0.4, 0.25), "#b8433a", "metal"),
        box(0, -0.3, 0.23, (0.35, 0.3, 0.2), "#8f7a5a", "paper"),
    ]


@kind
def toolbox(look: Look) -> list[ObjectPart]:
    """A steel box with a handle; open, tools show and the lid stands."""
    d, w, h, c = look.depth, look.width, look.height, look.colour
    body = h - 0.1
    out = [box(0, 0, 0, (d, w, body), c, "metal"), box(d / 2, 0, body * 0.6, (0.012, 0.06, 0.05), "silver", "metal")]
    if look.state == "closed":
        return [
            *out,
            box(0, 0, body, (d * 0.8, w * 0.96, 0.04), tone(c, 0.8), "metal"),
            box(0, 0, h - 0.02, (0.03, w * 0.5, 0.02), "black"),
            *[box(0, s * w * 0.24, body, (0.03, 0.02, 0.1), "black") for s in (-1, 1)],
        ]
    return [
        *out,
        box(0, 0, body, (d - 0.03, w - 0.03, 0.003), "#1c1c1e"),
        box(-d / 2 + 0.008, 0, body, (0.015, w, 0.1), tone(c, 0.8), "metal"),
        box(0.02, 0, body, (0.03, w * 0.7, 0.03), "silver", "metal"),
        box(0.06, -0.04, body, (0.03, w * 0.5, 0.04), "#e8a82c"),
    ]


@carrying(lambda look: inside(look, 4))
def metal_shelf(look: Look) -> list[ObjectPart]:
    """An open rack of four boards."""
    return frame(look, 4, look.colour)


@carrying(lambda look: inside(look, 5)[1:4])
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


def _below(look: Look) -> list[Surface]:
    return [*top(look), *inside(look, 2, 0.04)]


@carrying(_below)
def shoe_rack(look: Look) -> list[ObjectPart]:
    """Two boards below a top."""
    return frame(look, 2, look.colour, 0.04)


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
def fan(look: Look) -> list[ObjectPart]:
    """A standing fan with a round cage."""
    w, h = look.width, look.height
    return [
        at("cylinder", 0, 0, 0, (look.depth, look.depth, 0.03), look.colour),
        at("cylinder", 0, 0, 0.03, (0.04, 0.04, h - w), look.colour),
        at("ring_x", 0.03, 0, h - w, (0.05, w, w), look.colour),
        at("cylinder_x", 0.03, 0, h - w / 2 - 0.05, (0.12, 0.1, 0.1), tone(look.colour, 0.8)),
        box(0.03, 0, h - w / 2 - 0.06, (0.02, w * 0.8, 0.12), "#8fb4c8"),
        box(0.03, 0, h - w * 0.9, (0.02, 0.12, w * 0.8), "#8fb4c8"),
    ]


@kind
def vacuum_cleaner(look: Look) -> list[ObjectPart]:
    """An upright cleaner: wide head, canister, handle."""
    d, w, h = look.depth, look.width, look.height
    return [
        box(0.03, 0, 0, (d - 0.06, w, 0.1), "#3a3c42"),
        at("cylinder", -0.03, 0, 0.08, (0.2, 0.2, h * 0.45), look.colour),
        at("sphere", -0.03, 0, h * 0.44, (0.2, 0.2, 0.16), "#c8d8e0", "glass"),
        box(-0.06, 0, h * 0.45, (0.035, 0.035, h * 0.5), "silver", "metal"),
        box(-0.04, 0, h - 0.06, (0.12, 0.04, 0.06), "#2a2c30"),
    ]


@kind
def broom(look: Look) -> list[ObjectPart]:
    """A stick with a wide brush, leaning upright."""
    d, w, h = look.depth, look.width, look.height
    return [
        box(0, 0, 0, (d * 0.8, w, 0.12), "#d8b86a", "wicker"),
        box(0, 0, 0.12, (d, w * 0.9, 0.05), look.colour),
        at("cylinder", 0, 0, 0.16, (0.028, 0.028, h - 0.16), look.colour),
    ]


@kind
def lawn_mower(look: Look) -> list[ObjectPart]:
    """Deck on four wheels with engine and a push bar at the rear."""
    d, w, h = look.depth, look.width, look.height
    out = [
        box(d * 0.15, 0, 0.1, (d * 0.62, w - 0.1, 0.16), look.colour, "metal"),
        at("cylinder", d * 0.15, 0, 0.26, (0.26, 0.26, 0.14), "#2c2e32"),
        at("cylinder", d * 0.15, 0, 0.4, (0.12, 0.12, 0.05), "silver", "metal"),
    ]
    out += [
        at("cylinder_y", d * 0.15 + x * d * 0.24, y * (w / 2 - 0.03), 0, (0.22, 0.06, 0.22), "#1d1e21")
        for x in (-1, 1)
        for y in (-1, 1)
    ]
    for s in (-1, 1):
        out += [
            box(look.back + 0.22, s * w * 0.3, 0.2, (0.4, 0.03, 0.03), "#44474c", "metal"),
            box(look.back + 0.03, s * w * 0.3, 0.2, (0.03, 0.03, h - 0.22), "#44474c", "metal"),
        ]
    return [*out, box(look.back + 0.03, 0, h - 0.04, (0.04, w * 0.64, 0.04), "#1d1e21")]


def _machine(look: Look, ring: str, glass: str) -> list[ObjectPart]:
    c, f, w, h, b = look.colour, look.front, look.width, look.height, look.back
    mid, r = (b + f) / 2, w * 0.62
    out = [
        box(mid - 0.01, 0, 0, (look.body - 0.02, w, h), c, "metal"),
        box(f - 0.01, 0, h - 0.13, (0.02, w - 0.02, 0.11), tone(c, 0.85)),
        at("cylinder_x", f - 0.005, -w * 0.28, h - 0.11, (0.03, 0.07, 0.07), "silver", "metal"),
        box(f, w * 0.25, h - 0.1, (0.01, 0.14, 0.05), "#20302a"),
        at("cylinder_x", f - 0.005, 0, h * 0.45 - r / 2, (0.022, r * 0.82, r * 0.82), "#191a1d"),
    ]
    z = h * 0.45 - r / 2
    if look.state != "open":
        return [
            *out,
            at("ring_x", f - 0.005, 0, z, (0.05, r, r), ring, "metal"),
            at("sphere", f - 0.01, 0, z + r * 0.14, (0.05, r * 0.72, r * 0.72), glass, "glass"),
        ]
    return [
        *out,
        at("ring_y", f + look.swing / 2, r / 2, z, (r, 0.05, r), ring, "metal"),
        at("sphere", f + look.swing / 2, r / 2, z + r * 0.14, (r * 0.72, 0.07, r * 0.72), glass, "glass"),
        at("sphere", f - 0.02, 0.02, z + r * 0.2, (0.05, r * 0.4, r * 0.25), "#d8564a", "fabric"),
    ]


@carrying(top)
def washing_machine(look: Look) -> list[ObjectPart]:
    """A white box with a round glass door and a panel; the door swings aside when open."""
    return _machine(look, "silver", "#3f6f8c")


@carrying(top)
def dryer(look: Look) -> list[ObjectPart]:
    """Like a washing machine, with a dark door."""
    return [
        *_machine(look, "#44484d", "#2a2c30"),
        box(look.front - 0.01, 0, 0.03, (0.02, look.width * 0.6, 0.09), "#c8ccd0", "metal"),
    ]


@kind
def laundry_basket(look: Look) -> list[ObjectPart]:
    """A wicker basket, with clothes on top when full."""
    d, w, h = look.depth, look.width, look.height - 0.1
    out = [
        box(0, 0, 0, (d, w, h), look.colour, "wicker"),
        box(0, 0, h - 0.04, (d, w, 0.04), tone(look.colour, 0.8), "wicker"),
        box(0, 0, h, (d - 0.06, w - 0.06, 0.004), "#2c2723"),
    ]
    if look.state == "full":
        out += [
            at("sphere", x, y, h - 0.1, (0.24, 0.26, 0.2), c, "fabric")
            for x, y, c in (
                (-0.04, -0.08, "#c8443a"),
                (0.03, 0.1, "#3c6fb0"),
                (0.05, 0.0, "#f0ede4"),
                (-0.05, 0.06, "#e0b83c"),
            )
        ]
    return out


@carrying(top)
def ironing_board(look: Look) -> list[ObjectPart]:
    """A long padded board, pointed at one end, on crossed metal legs."""
    d, w, h = look.depth, look.width, look.height
    out = [
        box(0, -0.12, h - 0.05, (d, w - 0.24, 0.05), look.colour, "fabric"),
        at("cylinder", 0, w / 2 - 0.24, h - 0.05, (d, 0.48, 0.05), look.colour, "fabric"),
    ]
    for s in (-1, 1):
        out += [
            box(s * d * 0.35, s * w * 0.25, 0, (0.025, 0.03, h - 0.05), "silver", "metal"),
            box(0, s * w * 0.25, 0.0, (d * 0.9, 0.03, 0.03), "silver", "metal"),
            box(0, s * w * 0.1, h - 0.09, (0.03, w * 0.4, 0.03), "silver", "metal"),
        ]
    return out


@kind
def iron(look: Look) -> list[ObjectPart]:
    """A sole plate, a body and a handle."""
    d, w, h = look.depth, look.width, look.height
    return [
        box(0, -0.02, 0, (d, w - 0.06, 0.015), "silver", "metal"),
        at("cone", 0, w / 2 - 0.06, 0, (d * 0.9, 0.12, 0.05), "silver", "metal"),
        at("frustum", 0, -0.02, 0.015, (d * 0.95, w - 0.08, 0.06), look.colour),
        box(0, -w * 0.32, 0.07, (0.03, 0.03, h - 0.09), look.colour),
        box(0, -0.03, h - 0.035, (0.035, w * 0.6, 0.035), look.colour),
    ]


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
def detergent_bottle(look: Look) -> list[ObjectPart]:
    """A big bottle with handle, cap and label."""
    d, w, h = look.depth, look.width, look.height
    return [
        box(0, 0, 0, (d, w, h * 0.7), look.colour),
        at("frustum", 0, 0, h * 0.7, (d, w * 0.8, h * 0.15), look.colour),
        at("cylinder", 0, 0, h * 0.83, (0.05, 0.05, h * 0.17), "#f2f2ee"),
        box(d / 2 - 0.005, 0, h * 0.15, (0.012, w * 0.75, h * 0.4), "#f6f1d8", "paper"),
    ]


@kind
def bucket(look: Look) -> list[ObjectPart]:
    """A bucket."""
    d, h = look.depth, look.height
    return [
        at("bowl", 0, 0, 0, (d, d, h), look.colour),
        at("cylinder", 0, 0, h - 0.006, (d * 0.9, d * 0.9, 0.008), tone(look.colour, 0.45)),
    ]
