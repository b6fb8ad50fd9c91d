"""Toys, and objects to play on."""

from __future__ import annotations

from sim_bridge.house.kinds import Look, at, box, kind, tone
from sim_bridge.house.scene import Part


@kind
def teddy_bear(look: Look) -> list[Part]:
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
def toy_box(look: Look) -> list[Part]:
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
def building_blocks(look: Look) -> list[Part]:
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
def ball(look: Look) -> list[Part]:
    """A ball with a white stripe."""
    d = min(look.depth, look.width, look.height)
    return [
        at("sphere", 0, 0, 0, (d, d, d), look.colour),
        at("ring_x", 0, 0, -0.001, (0.02, d * 1.01, d * 1.01), "#f8f6f0"),
    ]


@kind
def toy_car(look: Look) -> list[Part]:
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
def guitar(look: Look) -> list[Part]:
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
def pet_bed(look: Look) -> list[Part]:
    """A padded ring with a cushion."""
    d, w, h = look.depth, look.width, look.height
    return [
        at("cylinder", 0, 0, 0, (d, w, h * 0.9), look.colour, "fabric"),
        at("cylinder", 0, 0, h * 0.9, (d * 0.72, w * 0.74, 0.01), tone(look.colour, 1.6), "fabric"),
        at("sphere", 0, 0, h * 0.8, (d * 0.6, w * 0.62, h * 0.2), tone(look.colour, 1.6), "fabric"),
    ]
