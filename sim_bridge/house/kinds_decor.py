"""Decoration, and small objects on tables and desks."""

from __future__ import annotations

from sim_bridge.house.kinds import Look, Surface, at, box, carrying, kind, tone
from sim_bridge.house.scene import ObjectPart

ART = ("#c8683a", "#4f86a8", "#7a9a4c", "#b8506a", "#d8a83c", "#6a5a9c", "#4a9a90")


@kind
def painting(look: Look) -> list[ObjectPart]:
    """An image in a frame: a landscape of hills and sun, or coloured shapes."""
    w, h, f = look.width, look.height, look.front
    out = [
        box(-0.005, 0, 0, (look.depth - 0.01, w, h), look.dice.pick(("black", "gold", "white", "brown")), "wood"),
        box(f - 0.006, 0, 0.03, (0.006, w - 0.06, h - 0.06), look.dice.pick(ART), "painting"),
    ]
    if look.dice.chance(0.5):
        r = h * 0.22
        return [
            *out,
            at("cylinder_x", f - 0.003, w * 0.2, h * 0.6, (0.004, r, r), "#f4d86a"),
            box(
                f - 0.003,
                0,
                0.03,
                (0.004, w - 0.06, h * 0.3),
                look.dice.pick(("#3f6a4a", "#2f5a7c", "#8a6a3c")),
                "painting",
            ),
        ]
    for _ in range(3):
        s = look.dice.between(0.2, 0.4) * h
        out.append(
            at(
                look.dice.pick(("box", "cylinder_x")),
                f - 0.003,
                look.dice.between(-0.28, 0.28) * w,
                h * look.dice.between(0.15, 0.5),
                (0.004, s, s),
                look.dice.pick(ART),
            )
        )
    return out


@kind
def wall_clock(look: Look) -> list[ObjectPart]:
    """A round dial with hands at a random time."""
    r, f = min(look.width, look.height), look.front
    out = [
        at("cylinder_x", -0.004, 0, 0, (look.depth - 0.008, r, r), look.colour),
        at("cylinder_x", f - 0.008, 0, r * 0.08, (0.008, r * 0.84, r * 0.84), "#fbfaf4"),
        box(f - 0.002, 0, r / 2, (0.004, 0.014, r * 0.34), "#1a1a1c"),
        box(f - 0.002, look.dice.pick((-1, 1)) * r * 0.12, r / 2 - 0.007, (0.004, r * 0.24, 0.016), "#1a1a1c"),
    ]
    ticks = ((0, 0.36), (0, -0.36), (0.36, 0), (-0.36, 0))
    return out + [box(f - 0.002, y * r, r / 2 + z * r - 0.01, (0.004, 0.02, 0.02), "#1a1a1c") for y, z in ticks]


@kind
def mirror(look: Look) -> list[ObjectPart]:
    """A bluish pane in a frame."""
    w, h, f = look.width, look.height, look.front
    return [
        box(-0.005, 0, 0, (look.depth - 0.01, w, h), look.colour, "metal"),
        box(f - 0.006, 0, 0.04, (0.006, w - 0.08, h - 0.08), "#c4d8de", "glass"),
        *[box(f - 0.002, y * w, h * 0.3, (0.003, 0.025, h * 0.4), "#e8f3f6", "glass") for y in (-0.16, -0.1)],
    ]


@carrying(lambda look: [
    Surface(look.back + 0.02, -look.width / 2 + 0.05, look.front - 0.01, look.width / 2 - 0.05, look.height, 0.5)
])
def wall_shelf(look: Look) -> list[ObjectPart]:
    """A board on the wall."""
    return [box(0, 0, 0, (look.depth, look.width, look.height), look.colour, "wood")]


@kind
def coat_rack(look: Look) -> list[ObjectPart]:
    """A board with hooks on the wall; jackets hang from it when full."""
    d, w, h = look.depth, look.width, look.height
    out = [
        box(look.back + 0.012, 0, h - 0.16, (0.024, w, 0.14), look.colour, "wood"),
        box(-0.02, 0, h - 0.02, (d - 0.04, w, 0.02), look.colour, "wood"),
    ]
    out += [
        at("cylinder_x", look.back + 0.05, (i - 1.5) * w * 0.25, h - 0.12, (0.07, 0.025, 0.025), "silver", "metal")
        for i in range(4)
    ]
    if look.state == "full":
        for i, c in enumerate(("#b8403a", "#34507c", "#6a7a4a", "#caa04a")):
            y, long = (i - 1.5) * w * 0.25, min(0.6 + 0.09 * (i * 3 % 4), h - 0.13)
            out += [
                box(0.0, y, h - 0.12 - long, (d * 0.7, w * 0.2, long * 0.9), c, "fabric"),
                at("sphere", 0.0, y, h - 0.3, (d * 0.75, w * 0.21, 0.2), tone(c, 0.9), "fabric"),
            ]
    return out


@kind
def potted_plant(look: Look) -> list[ObjectPart]:
    """A pot with earth, a stem and a crown of leaves."""
    d, h = look.depth, look.height
    pot = look.dice.pick(("#b5623c", "#e8e4dc", "#4a4e54", "#3a6a9c"))
    r = d * 0.62
    out = [
        at("bowl", 0, 0, 0, (r, r, 0.3), pot),
        at("cylinder", 0, 0, 0.296, (r * 0.9, r * 0.9, 0.006), "#4a3426"),
        at("cylinder", 0, 0, 0.29, (0.04, 0.04, h * 0.4), "#6a4c30", "wood"),
    ]
    out.append(at("sphere", 0, 0, h * 0.5, (d * 0.74, d * 0.74, h * 0.5), "green", "leaves"))
    for x, y, z in ((1, 0, 0.42), (-1, 0.4, 0.5), (0.2, 1, 0.56), (0, -1, 0.46), (0.6, 0.6, 0.68), (-0.5, -0.5, 0.72)):
        s = look.dice.between(0.4, 0.5) * d
        out.append(
            at(
                "sphere",
                x * (d - s) / 2,
                y * (d - s) / 2,
                h * z - 0.05,
                (s, s, h * 0.24),
                look.dice.pick(("green", "#5f9a52", "#417a40")),
                "leaves",
            )
        )
    return out


@kind
def house_plant(look: Look) -> list[ObjectPart]:
    """A small pot with long leaves."""
    d, h = look.depth, look.height
    out = [
        at("bowl", 0, 0, 0, (d * 0.66, d * 0.66, 0.12), look.dice.pick(("#d86a3c", "#f0ece0", "#3c78b0", "#e0b83c")))
    ]
    for i, (x, y) in enumerate(((0, 0), (0.3, 0.1), (-0.3, 0.1), (0.1, -0.3), (-0.1, 0.3))):
        out.append(
            at(
                "sphere",
                x * d,
                y * d,
                0.1,
                (0.085, 0.085, (h - 0.1) * (1.0 - 0.12 * i)),
                "green" if i % 2 == 0 else "#67a458",
                "leaves",
            )
        )
    return out


@kind
def cactus(look: Look) -> list[ObjectPart]:
    """A column with two arms in a clay pot."""
    w, h = look.width, look.height
    return [
        at("bowl", 0, 0, 0, (0.13, 0.13, 0.1), "#c0683c"),
        at("sphere", 0, 0, 0.06, (0.08, 0.08, h - 0.06), "green", "leaves"),
        at("sphere", 0, w * 0.3, h * 0.5, (0.045, 0.045, h * 0.3), "green", "leaves"),
        at("sphere", 0, -w * 0.3, h * 0.42, (0.045, 0.045, h * 0.3), "green", "leaves"),
        box(0, 0, h * 0.5, (0.035, w * 0.6, 0.035), "green", "leaves"),
        at("sphere", 0, 0, h - 0.03, (0.04, 0.04, 0.03), "#e860a0"),
    ]


@kind
def rug(look: Look) -> list[ObjectPart]:
    """A flat carpet with a border."""
    d, w, h, c = look.depth, look.width, look.height, look.colour
    return [box(0, 0, 0, (d, w, h * 0.8), tone(c, 0.6), "rug"), box(0, 0, 0, (d - 0.16, w - 0.16, h), c, "rug")]


@kind
def doormat(look: Look) -> list[ObjectPart]:
    """A rough mat with a border."""
    return [
        box(0, 0, 0, (look.depth, look.width, look.height * 0.8), tone(look.colour, 0.65), "rug"),
        box(0, 0, 0, (look.depth - 0.08, look.width - 0.08, look.height), look.colour, "rug"),
    ]


@kind
def whiteboard(look: Look) -> list[ObjectPart]:
    """A white panel with scribbles in an aluminium frame."""
    w, h, f = look.width, look.height, look.front
    out = [
        box(-0.005, 0, 0, (look.depth - 0.01, w, h), "silver", "metal"),
        box(f - 0.006, 0, 0.03, (0.006, w - 0.06, h - 0.06), "white"),
    ]
    for i, c in enumerate(("#2f5ab0", "#c8382c", "#2f8a4a", "#2f5ab0")):
        out.append(
            box(f - 0.002, (i % 2 - 0.5) * w * 0.3, h * (0.75 - 0.16 * i), (0.003, w * (0.2 + 0.1 * (i % 3)), 0.02), c)
        )
    return out


@kind
def calendar(look: Look) -> list[ObjectPart]:
    """An image over a grid of days."""
    w, h, f = look.width, look.height, look.front
    out = [
        box(-0.004, 0, 0, (look.depth - 0.008, w, h), "#fbfaf4", "paper"),
        box(f - 0.004, 0, h * 0.5, (0.004, w - 0.03, h * 0.46), look.dice.pick(ART), "painting"),
    ]
    return out + [
        box(
            f - 0.003,
            (k - 2) * w * 0.17,
            0.03 + i * h * 0.11,
            (0.003, 0.025, 0.025),
            "#c8443a" if k == 4 else "#5a5e64",
        )
        for i in range(4)
        for k in range(5)
    ]


@kind
def computer_monitor(look: Look) -> list[ObjectPart]:
    """A screen on a stand."""
    w, h, on = look.width, look.height, look.state == "on"
    return [
        box(-0.02, 0, 0, (look.depth - 0.04, w * 0.4, 0.02), look.colour),
        box(-0.04, 0, 0.02, (0.04, 0.06, h * 0.5), look.colour),
        box(0, 0, 0.11, (0.04, w, h - 0.11), look.colour),
        box(
            0.021,
            0,
            0.135,
            (0.01, w - 0.04, h - 0.16),
            "#86c0ee" if on else "#0d0e11",
            "screen" if on else "glass",
            glow=0.9 if on else 0.0,
        ),
    ]


@kind
def keyboard(look: Look) -> list[ObjectPart]:
    """A flat board with rows of keys."""
    c = look.colour
    return [
        box(0, 0, 0, (look.depth, look.width, 0.018), c),
        *[
            box((i - 1.5) * 0.032, 0, 0.018, (0.024, look.width - 0.03, 0.012), tone(c, 1.25 if c == "black" else 0.85))
            for i in range(4)
        ],
    ]


@kind
def laptop(look: Look) -> list[ObjectPart]:
    """Open: keyboard and a glowing screen; closed: a slab."""
    d, w, c = look.depth, look.width, look.colour
    if look.state == "closed":
        return [box(0, 0, 0, (d, w, 0.03), c, "metal"), at("cylinder", 0, 0, 0.029, (0.05, 0.05, 0.003), tone(c, 1.4))]
    return [
        box(0, 0, 0, (d, w, 0.02), c, "metal"),
        box(0.0, 0, 0.02, (d * 0.5, w - 0.05, 0.005), "#2b2c30"),
        box(look.back + 0.01, 0, 0.02, (0.018, w, look.height - 0.02), c, "metal"),
        box(look.back + 0.022, 0, 0.035, (0.006, w - 0.03, look.height - 0.05), "#8fc4ea", "screen", glow=0.9),
    ]


@kind
def printer(look: Look) -> list[ObjectPart]:
    """A box with a paper tray and paper standing at the rear."""
    d, w, h = look.depth, look.width, look.height
    return [
        box(-0.03, 0, 0, (d - 0.06, w, h * 0.65), look.colour),
        box(0.03, 0, 0.03, (d - 0.06, w * 0.7, 0.03), "#f7f6f0", "paper"),
        box(look.back + 0.06, 0, h * 0.6, (0.02, w * 0.6, h * 0.4), "#fbfaf5", "paper"),
        box(look.front - 0.07, w * 0.3, h * 0.5, (0.03, 0.1, 0.05), "#5ad18a", glow=0.4),
    ]


@kind
def globe(look: Look) -> list[ObjectPart]:
    """A blue ball with green land on a wooden foot."""
    d, h = look.depth, look.height
    r = d * 0.9
    z = h - r
    return [
        at("cylinder", 0, 0, 0, (d * 0.6, d * 0.6, 0.025), "brown", "wood"),
        at("cylinder", 0, 0, 0.02, (0.03, 0.03, h - r), "gold", "metal"),
        at("sphere", 0, 0, z, (r, r, r), "blue"),
        at("ring_x", 0, 0, z - 0.005, (0.02, d, r + 0.01), "gold", "metal"),
        at("sphere", r * 0.26, r * 0.12, z + r * 0.42, (r * 0.5, r * 0.5, r * 0.44), "#5da04a"),
        at("sphere", r * 0.2, -r * 0.24, z + r * 0.2, (r * 0.45, r * 0.4, r * 0.5), "#5da04a"),
        at("sphere", -r * 0.24, 0, z + r * 0.3, (r * 0.5, r * 0.5, r * 0.5), "#5da04a"),
    ]


@kind
def alarm_clock(look: Look) -> list[ObjectPart]:
    """A round clock with two bells."""
    d, h, r = look.depth, look.height, look.width * 0.85
    r = min(r, h - 0.025)
    return [
        at("cylinder_x", 0, 0, 0.005, (d * 0.8, r, r), look.colour),
        at("cylinder_x", d * 0.41, 0, 0.005 + r * 0.1, (0.006, r * 0.8, r * 0.8), "#fbf8ee"),
        box(d * 0.45, 0, r * 0.5, (0.004, 0.008, r * 0.32), "#202020"),
        box(d * 0.45, r * 0.1, r * 0.5, (0.004, r * 0.24, 0.008), "#202020"),
        *[at("sphere", 0, s * r * 0.3, h - 0.045, (0.05, 0.05, 0.045), "silver", "metal") for s in (-1, 1)],
    ]


@kind
def book(look: Look) -> list[ObjectPart]:
    """A thick book lying down: coloured covers around white pages."""
    d, w, h = look.depth, look.width, look.height
    return [
        box(0, 0, 0, (d, w, 0.012), look.colour),
        box(-0.005, 0, 0.012, (d - 0.02, w - 0.016, h - 0.024), "#f4efe0", "paper"),
        box(0, 0, h - 0.012, (d, w, 0.012), look.colour),
        box(look.back + 0.006, 0, 0, (0.012, w, h), look.colour),
        box(0.02, 0, h - 0.003, (d * 0.3, w * 0.6, 0.004), tone(look.colour, 1.6)),
    ]


@kind
def picture_frame(look: Look) -> list[ObjectPart]:
    """A framed photograph that stands."""
    w, h = look.width, look.height
    return [
        box(0.01, 0, 0, (0.02, w, h), look.colour),
        box(0.021, 0, 0.02, (0.006, w - 0.04, h - 0.04), look.dice.pick(("#c8a888", "#8ab0c8", "#9cb88a")), "painting"),
        box(-0.015, 0, 0, (look.depth - 0.03, 0.02, h * 0.5), look.colour),
    ]


@kind
def vase(look: Look) -> list[ObjectPart]:
    """A vase; full of flowers or empty."""
    d, h, c = look.depth, look.height, look.colour
    body = 0.26
    out = [
        at("sphere", 0, 0, 0, (d, d, body * 0.75), c, look.texture),
        at("cylinder", 0, 0, 0, (d * 0.5, d * 0.5, 0.02), c),
        at("bowl", 0, 0, body * 0.6, (d * 0.55, d * 0.55, body * 0.4), c, look.texture),
        at("cylinder", 0, 0, body - 0.003, (d * 0.46, d * 0.46, 0.004), "#22201e"),
    ]
    if look.state == "full":
        petal = look.dice.pick(("#e0483c", "#f2c83c", "#e884b0", "#f6f0e8", "#a06ac8"))
        for i, (x, y) in enumerate(((0, 0), (0.04, 0.03), (-0.04, 0.03), (0.03, -0.04), (-0.035, -0.035))):
            z = h - 0.07 - 0.045 * (i % 3)
            out += [
                at("cylinder", x * 0.7, y * 0.7, body - 0.02, (0.01, 0.01, z - body + 0.04), "#4f8a3c"),
                at("sphere", x, y, z, (0.07, 0.07, 0.06), petal),
                at("sphere", x, y, z + 0.035, (0.03, 0.03, 0.03), "#f4d24a"),
                at("sphere", x * 0.8, y * 0.8, body + 0.02, (0.05, 0.03, 0.07), "#4f8a3c", "leaves"),
            ]
    return out


@kind
def candle(look: Look) -> list[ObjectPart]:
    """A thick candle on a dish, with a flame when lit."""
    d, h = look.depth, look.height
    body = h - 0.07
    out = [
        at("cylinder", 0, 0, 0, (d, d, 0.012), "gold", "metal"),
        at("cylinder", 0, 0, 0.012, (d * 0.78, d * 0.78, body - 0.012), look.colour),
        at("cylinder", 0, 0, body, (0.008, 0.008, 0.018), "#202020"),
    ]
    if look.state == "lit":
        out += [
            at("sphere", 0, 0, body + 0.012, (0.034, 0.034, 0.058), "#ffc24a", glow=1.0),
            at("cylinder", 0, 0, body - 0.002, (d * 0.6, d * 0.6, 0.004), "#ffe6a8", glow=0.5),
        ]
    return out
