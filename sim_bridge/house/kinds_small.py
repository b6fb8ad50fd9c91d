"""Small objects for desks, shelves and tables."""

from __future__ import annotations

from sim_bridge.house.kinds import Look, at, box, kind, tone
from sim_bridge.house.scene import Part


@kind
def computer_monitor(look: Look) -> list[Part]:
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
def keyboard(look: Look) -> list[Part]:
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
def laptop(look: Look) -> list[Part]:
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
def printer(look: Look) -> list[Part]:
    """A box with a paper tray and paper standing at the rear."""
    d, w, h = look.depth, look.width, look.height
    return [
        box(-0.03, 0, 0, (d - 0.06, w, h * 0.65), look.colour),
        box(0.03, 0, 0.03, (d - 0.06, w * 0.7, 0.03), "#f7f6f0", "paper"),
        box(look.back + 0.06, 0, h * 0.6, (0.02, w * 0.6, h * 0.4), "#fbfaf5", "paper"),
        box(look.front - 0.07, w * 0.3, h * 0.5, (0.03, 0.1, 0.05), "#5ad18a", glow=0.4),
    ]


@kind
def globe(look: Look) -> list[Part]:
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
def alarm_clock(look: Look) -> list[Part]:
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
def book(look: Look) -> list[Part]:
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
def picture_frame(look: Look) -> list[Part]:
    """A framed photograph that stands."""
    w, h = look.width, look.height
    return [
        box(0.01, 0, 0, (0.02, w, h), look.colour),
        box(0.021, 0, 0.02, (0.006, w - 0.04, h - 0.04), look.dice.pick(("#c8a888", "#8ab0c8", "#9cb88a")), "painting"),
        box(-0.015, 0, 0, (look.depth - 0.03, 0.02, h * 0.5), look.colour),
    ]


@kind
def vase(look: Look) -> list[Part]:
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
def candle(look: Look) -> list[Part]:
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
