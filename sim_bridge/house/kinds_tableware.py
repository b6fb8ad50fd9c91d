"""What stands on counters and tables."""

from __future__ import annotations

from sim_bridge.house.kinds import Look, at, box, kind, tone
from sim_bridge.house.scene import Part


@kind
def microwave(look: Look) -> list[Part]:
    """A box with a dark window and a panel with a clock."""
    f, w, h = look.front, look.width, look.height
    return [
        box(-0.01, 0, 0, (look.depth - 0.02, w, h), look.colour, "metal"),
        box(f - 0.01, -w * 0.12, 0.03, (0.02, w * 0.66, h - 0.06), "#1a1b1e", "glass"),
        box(f - 0.01, w * 0.37, 0.03, (0.02, w * 0.2, h - 0.06), "#2c2e33"),
        box(f, w * 0.37, h * 0.7, (0.012, w * 0.15, 0.04), "#5cf08a", glow=0.8),
        box(f, w * 0.24, 0.05, (0.02, 0.02, h - 0.1), "silver", "metal"),
    ]


@kind
def toaster(look: Look) -> list[Part]:
    """Two slots with slices of toast and a lever."""
    out = [
        box(0, 0, 0.01, (look.depth, look.width - 0.03, look.height - 0.05), look.colour, "metal"),
        box(0, 0, 0, (look.depth - 0.02, look.width - 0.05, 0.02), "black"),
        box(0, look.width / 2 - 0.01, look.height * 0.5, (0.05, 0.02, 0.02), "black"),
    ]
    return out + [box(s * 0.035, 0, look.height - 0.06, (0.022, look.width * 0.6, 0.06), "#b9793a") for s in (-1, 1)]


@kind
def kettle(look: Look) -> list[Part]:
    """A round body with spout, lid and handle."""
    d, h = look.depth, look.height
    return [
        at("frustum", 0, -0.02, 0.02, (d, d, h - 0.06), look.colour, "metal"),
        at("cylinder", 0, -0.02, 0, (d, d, 0.02), "black"),
        at("sphere", 0, -0.02, h - 0.05, (0.05, 0.05, 0.05), "black"),
        box(0, look.width / 2 - 0.015, h * 0.3, (0.03, 0.025, h * 0.45), "black"),
        box(0, look.width / 2 - 0.045, h * 0.7, (0.03, 0.07, 0.025), "black"),
        at("cone", 0, -look.width / 2 + 0.03, h * 0.55, (0.05, 0.06, 0.07), look.colour, "metal"),
    ]


@kind
def coffee_machine(look: Look) -> list[Part]:
    """A column with a head over a glass pot of coffee."""
    d, w, h, c = look.depth, look.width, look.height, look.colour
    return [
        box(0, 0, 0, (d, w, 0.04), c),
        box(look.back + d * 0.18, 0, 0.04, (d * 0.36, w, h - 0.04), c),
        box(0, 0, h - 0.1, (d, w, 0.1), c),
        at("cylinder", d * 0.14, 0, 0.04, (0.14, 0.14, 0.14), "#3b2416", "glass"),
        box(d * 0.14, w * 0.42, 0.07, (0.03, 0.03, 0.09), "black"),
        box(look.front - 0.002, 0, h - 0.06, (0.01, 0.05, 0.02), "#ee3333", glow=0.5),
    ]


@kind
def fruit_bowl(look: Look) -> list[Part]:
    """A wide bowl: full of apples, oranges and bananas, or empty."""
    d = look.depth
    out = [
        at("bowl", 0, 0, 0, (d, d, 0.09), look.colour),
        at("cylinder", 0, 0, 0.086, (d * 0.88, d * 0.88, 0.006), tone(look.colour, 0.55)),
    ]
    if look.state == "full":
        spots = (
            (0.07, 0.0, "#c8382c"),
            (-0.03, 0.07, "#e8892c"),
            (-0.05, -0.06, "#7fae3c"),
            (0.02, 0.0, "#e8892c"),
            (0.03, -0.08, "#c8382c"),
        )
        out += [
            at("sphere", x, y, 0.06 + 0.02 * (i == 3), (0.085, 0.085, 0.08), c) for i, (x, y, c) in enumerate(spots)
        ]
        out.append(at("cylinder_y", -0.05, 0.01, look.height - 0.045, (0.04, 0.17, 0.04), "#f0d040"))
    return out


@kind
def spice_rack(look: Look) -> list[Part]:
    """Two boards of small jars."""
    w, h = look.width, look.height
    out = [box(0, s * (w / 2 - 0.01), 0, (look.depth, 0.02, h), look.colour, look.texture) for s in (-1, 1)]
    for z in (0.0, h * 0.5):
        out.append(box(0, 0, z, (look.depth, w, 0.015), look.colour, look.texture))
        for i in range(5):
            y = (i - 2) * (w - 0.08) / 4.6
            out.append(
                at(
                    "cylinder",
                    0,
                    y,
                    z + 0.015,
                    (0.055, 0.055, h * 0.3),
                    ("#c8382c", "#c98a2c", "#6d8a3c", "#8a5a34", "#e0c84c")[i],
                )
            )
            out.append(at("cylinder", 0, y, z + 0.015 + h * 0.3, (0.055, 0.055, 0.02), "#2c2c30"))
    return out


@kind
def knife_block(look: Look) -> list[Part]:
    """A wooden block with black handles."""
    out = [box(0, 0, 0, (look.depth, look.width, look.height * 0.65), look.colour, "wood")]
    return out + [
        box(
            (i % 2 - 0.5) * 0.06,
            (i // 2 - 1) * 0.035,
            look.height * 0.65,
            (0.022, 0.022, look.height * 0.33),
            "#1c1c20",
        )
        for i in range(6)
    ]


@kind
def dish_rack(look: Look) -> list[Part]:
    """A wire basket over a tray, with plates when full."""
    d, w = look.depth, look.width
    out = [box(0, 0, 0, (d, w, 0.02), "#d9dcdf")]
    out += [box(x * (d / 2 - 0.01), 0, z, (0.015, w, 0.015), "silver", "metal") for x in (-1, 1) for z in (0.05, 0.13)]
    out += [box(0, y * (w / 2 - 0.01), z, (d, 0.015, 0.015), "silver", "metal") for y in (-1, 1) for z in (0.05, 0.13)]
    if look.state == "full":
        out += [
            at("cylinder_y", 0, (i - 2) * 0.07, 0.02, (0.22, 0.018, 0.22), ("#f2f4f5", "#b9d4e8")[i % 2])
            for i in range(5)
        ]
    return out


@kind
def cooking_pot(look: Look) -> list[Part]:
    """A pot with lid and two handles."""
    d, h = look.depth, look.height
    return [
        at("cylinder", 0, 0, 0, (d, d, h - 0.05), look.colour, "metal"),
        at("sphere", 0, 0, h - 0.08, (d, d, 0.06), tone(look.colour, 1.15), "metal"),
        at("sphere", 0, 0, h - 0.035, (0.04, 0.04, 0.035), "black"),
        *[box(0, s * (look.width / 2 - 0.03), h - 0.1, (0.08, 0.06, 0.02), "black") for s in (-1, 1)],
    ]


@kind
def cutting_board(look: Look) -> list[Part]:
    """A board with a loaf of bread."""
    return [
        box(0, 0, 0, (look.depth, look.width, 0.02), look.colour, "wood"),
        at("sphere", 0, 0.02, 0.015, (0.11, 0.22, look.height - 0.015), "#c98d4c"),
    ]


@kind
def mug(look: Look) -> list[Part]:
    """A cup with a handle and coffee in it."""
    d = look.depth
    return [
        at("cylinder", 0, -0.015, 0, (d, d, look.height), look.colour),
        at("cylinder", 0, -0.015, look.height - 0.004, (d * 0.8, d * 0.8, 0.006), "#4a2f1c"),
        at("ring_x", 0, look.width / 2 - 0.03, 0.02, (0.015, 0.06, 0.06), look.colour),
    ]


@kind
def plate(look: Look) -> list[Part]:
    """A plate with food on it."""
    d = look.depth
    return [
        at("bowl", 0, 0, 0, (d, d, 0.025), look.colour),
        at("cylinder", 0, 0, 0.024, (d * 0.75, d * 0.75, 0.003), tone(look.colour, 1.2)),
        at("sphere", 0.03, 0.03, 0.02, (0.1, 0.08, look.height - 0.02), "#b5622f"),
        at("sphere", -0.04, 0, 0.02, (0.08, 0.1, 0.04), "#5f9a3c"),
    ]


@kind
def bottle(look: Look) -> list[Part]:
    """A body with a label and a slim neck."""
    d, h = look.depth, look.height
    return [
        at("cylinder", 0, 0, 0, (d, d, h * 0.6), look.colour, "glass"),
        at("frustum", 0, 0, h * 0.6, (d, d, h * 0.14), look.colour, "glass"),
        at("cylinder", 0, 0, h * 0.72, (d * 0.4, d * 0.4, h * 0.28), look.colour, "glass"),
        at("cylinder", 0, 0, h * 0.18, (d * 1.02, d * 1.02, h * 0.26), "#f2ead2", "paper"),
    ]
