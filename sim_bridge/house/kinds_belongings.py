"""Belongings, toys and sports equipment."""

from __future__ import annotations

from sim_bridge.house.kinds import Look, at, box, kind, legs, tone
from sim_bridge.house.scene import ObjectPart


@kind
def basket(look: Look) -> list[ObjectPart]:
    """A round wicker basket, with balls of wool when full."""
    d, w, h = look.depth, look.width, look.height - 0.06
    out = [
        at("bowl", 0, 0, 0, (d, w, h), look.colour, "wicker"),
        at("cylinder", 0, 0, h - 0.004, (d * 0.88, w * 0.88, 0.006), "#2e2620"),
    ]
    if look.state == "full":
        out += [
            at("sphere", x, y, h - 0.08, (0.13, 0.13, 0.13), c, "fabric")
            for x, y, c in ((-0.06, -0.07, "#c8443a"), (0.06, 0.02, "#3c6fb0"), (-0.04, 0.08, "#e8c03c"))
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
def backpack(look: Look) -> list[ObjectPart]:
    """A bag with a front pocket and a loop."""
    c, d, w, h = look.colour, look.depth, look.width, look.height
    return [
        box(-0.03, 0, 0, (d - 0.06, w, h * 0.75), c, "fabric"),
        at("cylinder_x", -0.03, 0, h * 0.5, (d - 0.06, w, h * 0.46), c, "fabric"),
        box(look.front - 0.035, 0, 0.04, (0.07, w * 0.72, h * 0.36), tone(c, 0.8), "fabric"),
        at("ring_x", look.back + 0.04, 0, h - 0.06, (0.02, 0.08, 0.06), "black"),
        box(look.front - 0.03, 0, h * 0.33, (0.07, w * 0.5, 0.015), "silver", "metal"),
    ]


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
def cardboard_box(look: Look) -> list[ObjectPart]:
    """A box with tape; open, its flaps stand up."""
    d, w, h = look.depth, look.width, look.height
    c = look.colour
    if look.state == "closed":
        return [
            box(0, 0, 0, (d, w, h), c, "paper"),
            box(0, 0, h - 0.002, (d, 0.06, 0.003), "#d9c79c", "paper"),
            box(look.front, 0, h - 0.15, (0.004, 0.06, 0.15), "#d9c79c", "paper"),
        ]
    low = h * 0.72
    out = [box(0, 0, 0, (d, w, low), c, "paper"), box(0, 0, low, (d - 0.03, w - 0.03, 0.003), "#3a2c1e")]
    out += [box(s * (d / 2 - 0.006), 0, low, (0.01, w, h - low), tone(c, 0.9), "paper") for s in (-1, 1)]
    return out + [box(0, s * (w / 2 - 0.006), low, (d, 0.01, h - low), tone(c, 1.1), "paper") for s in (-1, 1)]


@kind
def jar(look: Look) -> list[ObjectPart]:
    """A preserving jar with coloured contents and a lid."""
    d, h = look.depth, look.height
    return [
        at("cylinder", 0, 0, 0, (d, d, h - 0.035), look.colour, "glass"),
        at("cylinder", 0, 0, h - 0.035, (d * 0.9, d * 0.9, 0.035), "#c8b890", "metal"),
        at("cylinder", 0, 0, h * 0.2, (d * 1.01, d * 1.01, h * 0.3), "#f6f0dc", "paper"),
    ]


@kind
def cereal_box(look: Look) -> list[ObjectPart]:
    """A tall packet with an image."""
    d, w, h = look.depth, look.width, look.height
    return [
        box(0, 0, 0, (d - 0.006, w, h), look.colour),
        at("cylinder_x", d / 2 - 0.004, 0, h * 0.2, (0.008, w * 0.7, w * 0.7), "#f6ecd0"),
        box(d / 2 - 0.004, 0, h * 0.8, (0.008, w * 0.8, h * 0.1), "#fbfaf6"),
    ]


@kind
def hat(look: Look) -> list[ObjectPart]:
    """A brim and a crown with a band."""
    d, h = look.depth, look.height
    return [
        at("cylinder", 0, 0, 0, (d, d, 0.015), look.colour, "fabric"),
        at("frustum", 0, 0, 0.01, (d * 0.62, d * 0.62, h - 0.01), look.colour, "fabric"),
        at("cylinder", 0, 0, 0.014, (d * 0.63, d * 0.63, 0.03), tone(look.colour, 0.5)),
    ]


@kind
def umbrella_stand(look: Look) -> list[ObjectPart]:
    """A tall pot, with umbrellas when full."""
    d, h = look.depth, look.height
    out = [
        at("cylinder", 0, 0, 0, (d, d, 0.5), look.colour, "metal"),
        at("cylinder", 0, 0, 0.498, (d * 0.88, d * 0.88, 0.004), "#17181a"),
    ]
    if look.state == "full":
        for (x, y), c in zip(
            ((0.04, 0.05), (-0.05, 0.0), (0.03, -0.06)), ("#c8382c", "#2f5a9c", "#3f8a4a"), strict=True
        ):
            out += [
                at("cylinder", x, y, 0.5, (0.07, 0.07, h - 0.62), c, "fabric"),
                at("cylinder", x, y, h - 0.14, (0.03, 0.03, 0.14), "#6a4628", "wood"),
            ]
    return out


@kind
def stool(look: Look) -> list[ObjectPart]:
    """A round seat on four legs."""
    return [
        at("cylinder", 0, 0, look.height - 0.04, (look.depth, look.width, 0.04), look.colour, "wood"),
        *legs(look, look.height - 0.04, 0.04, tone(look.colour, 0.85), "wood"),
    ]


@kind
def teddy_bear(look: Look) -> list[ObjectPart]:
    """A sitting bear."""
    c, h, w = look.colour, look.height, look.width
    pale = tone(c, 1.4)
    out = [
        at("sphere", -0.03, 0, 0, (0.18, 0.2, h * 0.56), c, "fabric"),
        at("sphere", -0.02, 0, h * 0.48, (0.17, 0.19, h * 0.44), c, "fabric"),
        at("sphere", 0.06, 0, h * 0.54, (0.07, 0.08, 0.07), pale, "fabric"),
        at("sphere", 0.09, 0, h * 0.62, (0.025, 0.03, 0.025), "black"),
    ]
    for s in (-1, 1):
        out += [
            at("sphere", -0.03, s * 0.075, h - 0.08, (0.04, 0.07, 0.075), c, "fabric"),
            at("sphere", 0.06, s * 0.08, 0, (0.14, 0.08, 0.08), c, "fabric"),
            at("sphere", 0.0, s * (w / 2 - 0.045), h * 0.22, (0.09, 0.08, 0.14), c, "fabric"),
            at("sphere", 0.058, s * 0.035, h * 0.72, (0.02, 0.022, 0.025), "black"),
        ]
    return out


@kind
def toy_box(look: Look) -> list[ObjectPart]:
    """A chest; open, the lid stands up and toys show."""
    d, w, c = look.depth, look.width, look.colour
    h = 0.3 if look.state == "open" else look.height - 0.04
    out = [
        box(0, 0, 0, (d, w, h), c, "wood"),
        *[
            box(look.front - 0.005, s * w * 0.3, 0.08, (0.012, 0.1, 0.1), y)
            for s, y in ((-1, "#f2d43c"), (1, "#3c8ad8"))
        ],
    ]
    if look.state == "closed":
        return [*out, box(0, 0, h, (d, w, 0.04), tone(c, 0.8), "wood")]
    out += [
        box(look.back + 0.015, 0, h, (0.03, w, look.height - h), tone(c, 0.8), "wood"),
        box(0.01, 0, h, (d - 0.08, w - 0.06, 0.003), "#2a2420"),
    ]
    return out + [
        at("sphere" if i % 2 else "box", (i % 2 - 0.5) * 0.12, (i - 1.5) * w * 0.2, h - 0.05, (0.12, 0.12, 0.12), y)
        for i, y in enumerate(("#e0483c", "#3c8ad8", "#f2d43c", "#4fa84a"))
    ]


@kind
def building_blocks(look: Look) -> list[ObjectPart]:
    """A tower of coloured cubes with a roof."""
    s, h = 0.08, look.height
    colours = ("#d8443a", "#3c7ad0", "#f0cc3a", "#4fa04a", "#e88a2c", "#9a5ac0")
    spots = ((-0.085, -0.09), (-0.085, 0.09), (0.0, 0.1), (0.0, -0.09), (0.085, -0.07), (0.085, 0.09))
    out = [box(x, y, 0, (s, s, s), c) for (x, y), c in zip(spots, colours, strict=True)]
    return [
        *out,
        box(0, -0.03, s, (s, s, h - s - 0.08), "#3c7ad0"),
        at("cone", 0, -0.03, h - 0.08, (0.1, 0.1, 0.08), "#d8443a"),
        box(0, 0.07, s, (s, s, s), "#f0cc3a"),
    ]


@kind
def ball(look: Look) -> list[ObjectPart]:
    """A ball with a white stripe."""
    d = min(look.depth, look.width, look.height)
    return [
        at("sphere", 0, 0, 0, (d, d, d), look.colour),
        at("ring_x", 0, 0, -0.001, (0.02, d * 1.01, d * 1.01), "#f8f6f0"),
    ]


@kind
def toy_car(look: Look) -> list[ObjectPart]:
    """Body, cabin and four wheels."""
    d, w, h = look.depth, look.width, look.height
    out = [
        box(0, 0, 0.04, (d - 0.03, w, h * 0.4), look.colour),
        at("frustum", 0, -0.02, 0.04 + h * 0.4, (d - 0.04, w * 0.6, h * 0.32), "#b8d8ea", "glass"),
        box(0, -0.02, h - 0.02, (d * 0.5, w * 0.34, 0.02), look.colour),
    ]
    return out + [
        at("cylinder_x", x * (d / 2 - 0.02), y * w * 0.3, 0, (0.04, 0.08, 0.08), "black")
        for x in (-1, 1)
        for y in (-1, 1)
    ]


@kind
def guitar(look: Look) -> list[ObjectPart]:
    """An acoustic guitar on a stand."""
    w, h, c = look.width, look.height, look.colour
    return [
        at("cylinder_x", 0.02, 0, 0.08, (0.1, w, w), c, "wood"),
        at("cylinder_x", 0.02, 0, 0.08 + w * 0.62, (0.1, w * 0.76, w * 0.76), c, "wood"),
        at("cylinder_x", 0.055, 0, 0.1 + w * 0.6, (0.04, 0.1, 0.1), "#1d1512"),
        box(0.06, 0, 0.1 + w * 0.6, (0.03, 0.055, h - w * 0.6 - 0.2), "#3a261a", "wood"),
        box(0.05, 0, h - 0.14, (0.03, 0.09, 0.14), "#2a1c14", "wood"),
        box(-0.02, 0, 0, (look.depth - 0.04, w * 0.5, 0.03), "black"),
        box(-0.06, 0, 0, (0.03, 0.03, 0.6), "black"),
    ]


@kind
def pet_bed(look: Look) -> list[ObjectPart]:
    """A padded ring with a cushion."""
    d, w, h = look.depth, look.width, look.height
    return [
        at("cylinder", 0, 0, 0, (d, w, h * 0.9), look.colour, "fabric"),
        at("cylinder", 0, 0, h * 0.9, (d * 0.72, w * 0.74, 0.01), tone(look.colour, 1.6), "fabric"),
        at("sphere", 0, 0, h * 0.8, (d * 0.6, w * 0.62, h * 0.2), tone(look.colour, 1.6), "fabric"),
    ]


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
def treadmill(look: Look) -> list[ObjectPart]:
    """A belt between rails, two posts and a console that is lit when on. The rider faces local -x."""
    d, w, h, on = look.depth, look.width, look.height, look.state == "on"
    out = [
        box(0, 0, 0, (d, w, 0.14), look.colour, "metal"),
        box(0.08, 0, 0.14, (d - 0.3, w - 0.24, 0.015), "#3c3e43", "fabric"),
        box(look.back + 0.14, 0, 0.14, (0.28, w, 0.12), "#c8382c"),
    ]
    out += [box(look.back + 0.16, s * (w / 2 - 0.04), 0.14, (0.06, 0.06, h - 0.3), "silver", "metal") for s in (-1, 1)]
    out += [box(look.back + 0.35, s * (w / 2 - 0.04), h - 0.3, (0.42, 0.05, 0.05), "#1f2023") for s in (-1, 1)]
    return [
        *out,
        box(look.back + 0.14, 0, h - 0.26, (0.08, w, 0.26), look.colour),
        box(
            look.back + 0.185,
            0,
            h - 0.2,
            (0.012, w * 0.5, 0.15),
            "#5ad8a0" if on else "#0f1012",
            "screen" if on else "plain",
            glow=0.9 if on else 0.0,
        ),
    ]


@kind
def exercise_bike(look: Look) -> list[ObjectPart]:
    """A frame with flywheel, saddle, pedals and handlebar; it faces local +x."""
    d, w, h, c = look.depth, look.width, look.height, look.colour
    out = [box(s * (d / 2 - 0.06), 0, 0, (0.08, w, 0.06), "#2a2c30", "metal") for s in (-1, 1)]
    return [
        *out,
        box(0, 0, 0.05, (d - 0.1, 0.1, 0.07), c, "metal"),
        at("cylinder_y", d * 0.22, 0, 0.14, (0.46, 0.07, 0.46), "silver", "metal"),
        box(d * 0.05, 0, 0.12, (0.3, 0.14, 0.4), c),
        box(-d * 0.22, 0, 0.1, (0.07, 0.07, 0.72), c, "metal"),
        at("sphere", -d * 0.22, 0, 0.8, (0.3, 0.22, 0.12), "black", "leather"),
        box(d * 0.26, 0, 0.4, (0.07, 0.07, h - 0.5), c, "metal"),
        at("cylinder_y", d * 0.26, 0, h - 0.16, (0.04, w, 0.04), "black"),
        box(d * 0.27, 0, h - 0.14, (0.04, 0.2, 0.14), "#1b2a34"),
        at("cylinder_y", d * 0.03, 0, 0.3, (0.09, w * 0.75, 0.05), "#303236"),
    ]


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
def weight_bench(look: Look) -> list[ObjectPart]:
    """A padded bench with two posts that hold a barbell."""
    d, w, h = look.depth, look.width, look.height
    out = [
        box(0.1, 0, 0.38, (d - 0.2, 0.3, 0.09), look.colour, "leather"),
        box(0.12, 0, 0.05, (d - 0.3, 0.06, 0.05), "#3a3c40", "metal"),
        *[box(x, 0, 0, (0.06, 0.4, 0.05), "#3a3c40", "metal") for x in (look.back + 0.15, look.front - 0.05)],
        box(0.1, 0, 0.05, (0.06, 0.06, 0.34), "#3a3c40", "metal"),
        *[box(look.back + 0.15, s * 0.24, 0, (0.06, 0.06, h - 0.18), "#3a3c40", "metal") for s in (-1, 1)],
    ]
    out.append(at("cylinder_y", look.back + 0.16, 0, h - 0.2, (0.03, w, 0.03), "silver", "metal"))
    return out + [
        at("cylinder_y", look.back + 0.17, s * (w / 2 - 0.07), h - 0.34, (0.32, 0.07, 0.32), "#26272b") for s in (-1, 1)
    ]


@kind
def yoga_mat(look: Look) -> list[ObjectPart]:
    """A rolled-out mat."""
    return [box(0, 0, 0, (look.depth, look.width, look.height), look.colour, "fabric")]


@kind
def exercise_ball(look: Look) -> list[ObjectPart]:
    """A big ball."""
    d = min(look.depth, look.width, look.height)
    return [at("sphere", 0, 0, 0, (d, d, d), look.colour)]


@kind
def punching_bag(look: Look) -> list[ObjectPart]:
    """A heavy bag on a standing foot."""
    d, h = look.depth, look.height
    return [
        at("frustum", 0, 0, 0, (d, d, 0.25), "black"),
        at("cylinder", 0, 0, 0.25, (0.1, 0.1, 0.3), "silver", "metal"),
        at("cylinder", 0, 0, 0.5, (d * 0.9, d * 0.9, h - 0.58), look.colour, "leather"),
        at("sphere", 0, 0, h - 0.2, (d * 0.9, d * 0.9, 0.2), look.colour, "leather"),
        at("cylinder", 0, 0, h * 0.6, (d * 0.92, d * 0.92, 0.1), "#f0f0ec"),
    ]


@kind
def water_bottle(look: Look) -> list[ObjectPart]:
    """A sports bottle."""
    d, h = look.depth, look.height
    return [
        at("cylinder", 0, 0, 0, (d, d, h * 0.8), look.colour, "metal"),
        at("frustum", 0, 0, h * 0.8, (d, d, h * 0.1), "#303236"),
        at("cylinder", 0, 0, h * 0.88, (d * 0.4, d * 0.4, h * 0.12), "#303236"),
    ]
