"""Small objects and decoration whose parts depend on chance or on their size."""

from __future__ import annotations

from sim_bridge.house.kinds import Look, at, box, kind, tone
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
def shoes(look: Look) -> list[ObjectPart]:
    """A pair of shoes."""
    d, w, h = look.depth, look.width, look.height
    out = []
    for s in (-1, 1):
        y = s * w * 0.26
        out += [
            box(0, y, 0, (d - 0.01, w * 0.38, 0.02), "#e9e6df" if look.colour != "white" else "#8a8a8a"),
            at("sphere", d * 0.14, y, 0.0, (d * 0.7, w * 0.38, 0.09), look.colour, "leather"),
            box(-d * 0.22, y, 0.02, (d * 0.44, w * 0.34, h - 0.02), look.colour, "leather"),
            box(-d * 0.22, y, h - 0.004, (d * 0.36, w * 0.24, 0.006), "#1c1a18"),
        ]
    return out


@kind
def ball(look: Look) -> list[ObjectPart]:
    """A ball with a white stripe."""
    d = min(look.depth, look.width, look.height)
    return [
        at("sphere", 0, 0, 0, (d, d, d), look.colour),
        at("ring_x", 0, 0, -0.001, (0.02, d * 1.01, d * 1.01), "#f8f6f0"),
    ]


@kind
def exercise_ball(look: Look) -> list[ObjectPart]:
    """A big ball."""
    d = min(look.depth, look.width, look.height)
    return [at("sphere", 0, 0, 0, (d, d, d), look.colour)]


@kind
def suitcase(look: Look) -> list[ObjectPart]:
    """A ribbed case on wheels with a pulled-out handle."""
    c, d, w, h = look.colour, look.depth, look.width, look.height - 0.12
    out = [box(0, 0, 0.04, (d - 0.02, w, h - 0.04), c)]
    out += [box(0, (i - 1.5) * w * 0.22, 0.08, (d, 0.03, h - 0.12), tone(c, 0.8)) for i in range(4)]
    out += [
        at("sphere", x * (d / 2 - 0.04), y * (w / 2 - 0.05), 0, (0.05, 0.05, 0.05), "black")
        for x in (-1, 1)
        for y in (-1, 1)
    ]
    return (
        out
        + [box(-0.05, s * 0.1, h, (0.02, 0.02, 0.12), "silver", "metal") for s in (-1, 1)]
        + [box(-0.05, 0, look.height - 0.03, (0.03, 0.22, 0.03), "black")]
    )


@kind
def bicycle(look: Look) -> list[ObjectPart]:
    """Two wheels along local y, a frame of tubes, saddle and handlebar."""
    c, w, h, r = look.colour, look.width, look.height, 0.66
    out = [at("ring_x", 0, s * (w / 2 - r / 2), 0, (0.05, r, r), "#202226") for s in (-1, 1)]
    out += [
        at("cylinder_x", 0, s * (w / 2 - r / 2), r / 2 - 0.04, (0.1, 0.08, 0.08), "silver", "metal") for s in (-1, 1)
    ]
    span = w - r
    out += [
        box(0, 0.04, 0.66, (0.045, span * 0.62, 0.05), c, "metal"),
        box(0, -0.1, 0.3, (0.045, span * 0.95, 0.045), c, "metal"),
        box(0, -span * 0.27, 0.3, (0.045, 0.05, 0.52), c, "metal"),
        box(0, span * 0.36, 0.33, (0.045, 0.05, h - 0.4), c, "metal"),
        box(0, span * 0.42, 0.33, (0.045, span * 0.18, 0.045), c, "metal"),
        box(0, -span * 0.38, 0.5, (0.035, span * 0.24, 0.035), c, "metal"),
        at("sphere", 0, -span * 0.27, 0.8, (0.16, 0.27, 0.09), "black", "leather"),
        at("cylinder_x", 0, span * 0.36, h - 0.05, (look.depth, 0.035, 0.035), "#2a2c30"),
        at("cylinder_x", 0, -0.02, 0.22, (0.07, 0.18, 0.18), "silver", "metal"),
    ]
    return out


@kind
def dumbbell_rack(look: Look) -> list[ObjectPart]:
    """Two trays with rows of dumbbells."""
    d, w, h = look.depth, look.width, look.height
    out = [box(0, s * (w / 2 - 0.03), 0, (d, 0.06, h * 0.9), look.colour, "metal") for s in (-1, 1)]
    for z in (0.22, h - 0.16):
        out.append(box(0, 0, z, (d - 0.06, w, 0.04), look.colour, "metal"))
        for i in range(4):
            y = (i - 1.5) * w * 0.22
            out.append(at("cylinder_x", 0, y, z + 0.06, (d - 0.12, 0.035, 0.035), "silver", "metal"))
            out += [
                at(
                    "cylinder_x",
                    s * (d / 2 - 0.1),
                    y,
                    z + 0.03,
                    (0.1, 0.11, 0.11),
                    ("#3a3c40", "#c8382c", "#2f5ab0")[i % 3],
                )
                for s in (-1, 1)
            ]
    return out


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
