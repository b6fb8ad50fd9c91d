"""Lamps."""

from __future__ import annotations

from sim_bridge.house.kinds import Look, at, box, kind
from sim_bridge.house.scene import Part

WARM, COLD = "#ffe3a0", "#a9a8a2"  # a bulb that is on, and one that is off


def _bulb(look: Look, x: float, z: float, size: float, tall: float) -> Part:
    """A bulb: white-hot when the lamp is on, gray when it is off."""
    on = look.state == "on"
    return at("sphere", x, 0, z, (size, size, tall), WARM if on else COLD, glow=1.0 if on else 0.0)


def _shade(look: Look, z: float, width: float, height: float) -> list[Part]:
    """A lamp shade with a bulb below; when the lamp is on it lets the light through, most where the bulb is."""
    size = (width, width, height)
    bulb = _bulb(look, 0, z - 0.03, 0.08, 0.08)
    if look.state != "on":
        return [at("frustum", 0, 0, z, size, look.colour, "fabric"), bulb]
    return [at("frustum", 0, 0, z, size, look.colour, "lampshade", glow=1.0), bulb]


@kind
def floor_lamp(look: Look) -> list[Part]:
    """Foot, pole and shade."""
    h, w = look.height, look.width
    return [
        at("cylinder", 0, 0, 0, (w * 0.75, w * 0.75, 0.025), "black", "metal"),
        at("cylinder", 0, 0, 0.02, (0.03, 0.03, h - 0.25), "black", "metal"),
        *_shade(look, h - 0.32, w, 0.32),
    ]


@kind
def table_lamp(look: Look) -> list[Part]:
    """A round base with a shade."""
    h, w = look.height, look.width
    return [
        at("sphere", 0, 0, 0.0, (w * 0.5, w * 0.5, h * 0.42), "#8a6a48", "wood"),
        at("cylinder", 0, 0, 0, (w * 0.45, w * 0.45, 0.02), "#6a5038", "wood"),
        at("cylinder", 0, 0, h * 0.38, (0.025, 0.025, h * 0.2), "gold", "metal"),
        *_shade(look, h * 0.52, w, h * 0.48),
    ]


@kind
def desk_lamp(look: Look) -> list[Part]:
    """Foot, upright, arm and a cone."""
    d, w, h = look.depth, look.width, look.height
    x = look.back + 0.1
    head = look.front - 0.1
    return [
        at("cylinder", x, 0, 0, (w, w, 0.025), look.colour, "metal"),
        at("cylinder", x, 0, 0.02, (0.025, 0.025, h - 0.06), look.colour, "metal"),
        box((x + head) / 2, 0, h - 0.05, (d - 0.2, 0.025, 0.025), look.colour, "metal"),
        at("frustum", head, 0, h - 0.16, (w, w, 0.13), look.colour, "metal"),
        _bulb(look, head, h - 0.2, w * 0.66, 0.08),
    ]


@kind
def ceiling_lamp(look: Look) -> list[Part]:
    """A flat glass dome under a plate."""
    on = look.state == "on"
    return [
        at("cylinder", 0, 0, look.height - 0.03, (look.depth, look.width, 0.03), "silver", "metal"),
        at(
            "bowl",
            0,
            0,
            0,
            (look.depth * 0.92, look.width * 0.92, look.height - 0.03),
            "white",
            "plain" if on else "ceramic",
            glow=1.0 if on else 0.0,
        ),
    ]


@kind
def pendant_lamp(look: Look) -> list[Part]:
    """A shade on a cable."""
    h, w = look.height, look.width
    return [
        at("cylinder", 0, 0, 0.24, (0.02, 0.02, h - 0.24), "black"),
        at("cylinder", 0, 0, h - 0.03, (0.12, 0.12, 0.03), "black"),
        at("frustum", 0, 0, 0.03, (w, w, 0.24), look.colour, "metal", glow=0.12 if look.state == "on" else 0.0),
        _bulb(look, 0, 0.0, w * 0.4, 0.12),
    ]


@kind
def wall_lamp(look: Look) -> list[Part]:
    """A shade on a bracket."""
    h, w, on = look.height, look.width, look.state == "on"
    return [
        box(look.back + 0.01, 0, h * 0.2, (0.02, 0.09, h * 0.5), "gold", "metal"),
        box(0, 0, h * 0.3, (look.depth - 0.04, 0.025, 0.025), "gold", "metal"),
        at(
            "frustum",
            0.02,
            0,
            h * 0.36,
            (look.depth - 0.04, w - 0.02, h * 0.64),
            look.colour,
            "lampshade" if on else "ceramic",
            glow=1.0 if on else 0.0,
        ),
    ]
