"""Laundry room."""

from __future__ import annotations

from sim_bridge.house.kinds import Look, at, box, carrying, kind, legs, tone, top
from sim_bridge.house.scene import Part


def _machine(look: Look, ring: str, glass: str) -> list[Part]:
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
def washing_machine(look: Look) -> list[Part]:
    """A white box with a round glass door and a panel; the door swings aside when open."""
    return _machine(look, "silver", "#3f6f8c")


@carrying(top)
def dryer(look: Look) -> list[Part]:
    """As a washing machine, with a dark door."""
    return [
        *_machine(look, "#44484d", "#2a2c30"),
        box(look.front - 0.01, 0, 0.03, (0.02, look.width * 0.6, 0.09), "#c8ccd0", "metal"),
    ]


@kind
def laundry_basket(look: Look) -> list[Part]:
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
def ironing_board(look: Look) -> list[Part]:
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
def iron(look: Look) -> list[Part]:
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
def drying_rack(look: Look) -> list[Part]:
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
def detergent_bottle(look: Look) -> list[Part]:
    """A big bottle with handle, cap and label."""
    d, w, h = look.depth, look.width, look.height
    return [
        box(0, 0, 0, (d, w, h * 0.7), look.colour),
        at("frustum", 0, 0, h * 0.7, (d, w * 0.8, h * 0.15), look.colour),
        at("cylinder", 0, 0, h * 0.83, (0.05, 0.05, h * 0.17), "#f2f2ee"),
        box(d / 2 - 0.005, 0, h * 0.15, (0.012, w * 0.75, h * 0.4), "#f6f1d8", "paper"),
    ]


@kind
def bucket(look: Look) -> list[Part]:
    """A bucket."""
    d, h = look.depth, look.height
    return [
        at("bowl", 0, 0, 0, (d, d, h), look.colour),
        at("cylinder", 0, 0, h - 0.006, (d * 0.9, d * 0.9, 0.008), tone(look.colour, 0.45)),
    ]
