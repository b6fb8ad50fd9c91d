"""What people carry, wear and keep objects in."""

from __future__ import annotations

from sim_bridge.house.kinds import Look, at, box, kind, legs, tone
from sim_bridge.house.scene import Part


@kind
def basket(look: Look) -> list[Part]:
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
def shoes(look: Look) -> list[Part]:
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
def backpack(look: Look) -> list[Part]:
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
def suitcase(look: Look) -> list[Part]:
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
def cardboard_box(look: Look) -> list[Part]:
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
def jar(look: Look) -> list[Part]:
    """A preserving jar with coloured contents and a lid."""
    d, h = look.depth, look.height
    return [
        at("cylinder", 0, 0, 0, (d, d, h - 0.035), look.colour, "glass"),
        at("cylinder", 0, 0, h - 0.035, (d * 0.9, d * 0.9, 0.035), "#c8b890", "metal"),
        at("cylinder", 0, 0, h * 0.2, (d * 1.01, d * 1.01, h * 0.3), "#f6f0dc", "paper"),
    ]


@kind
def cereal_box(look: Look) -> list[Part]:
    """A tall packet with an image."""
    d, w, h = look.depth, look.width, look.height
    return [
        box(0, 0, 0, (d - 0.006, w, h), look.colour),
        at("cylinder_x", d / 2 - 0.004, 0, h * 0.2, (0.008, w * 0.7, w * 0.7), "#f6ecd0"),
        box(d / 2 - 0.004, 0, h * 0.8, (0.008, w * 0.8, h * 0.1), "#fbfaf6"),
    ]


@kind
def hat(look: Look) -> list[Part]:
    """A brim and a crown with a band."""
    d, h = look.depth, look.height
    return [
        at("cylinder", 0, 0, 0, (d, d, 0.015), look.colour, "fabric"),
        at("frustum", 0, 0, 0.01, (d * 0.62, d * 0.62, h - 0.01), look.colour, "fabric"),
        at("cylinder", 0, 0, 0.014, (d * 0.63, d * 0.63, 0.03), tone(look.colour, 0.5)),
    ]


@kind
def umbrella_stand(look: Look) -> list[Part]:
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
def stool(look: Look) -> list[Part]:
    """A round seat on four legs."""
    return [
        at("cylinder", 0, 0, look.height - 0.04, (look.depth, look.width, 0.04), look.colour, "wood"),
        *legs(look, look.height - 0.04, 0.04, tone(look.colour, 0.85), "wood"),
    ]
