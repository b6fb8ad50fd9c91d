"""Windows, curtains and doors."""

from __future__ import annotations

from sim_bridge.house.kinds import Look, at, box, kind, tone
from sim_bridge.house.scene import Part


@kind
def curtains(look: Look) -> list[Part]:
    """Cloth on a rail: gathered at both sides when open, across the window when closed."""
    d, w, h, c = look.depth, look.width, look.height, look.colour
    out = [at("cylinder_y", 0, 0, h - 0.05, (0.035, w, 0.035), "#6a5038", "wood")]
    span = w / 2 if look.state == "closed" else min(0.32, w * 0.16)
    folds = max(2, round(span / 0.13))
    for s in (-1, 1):
        for i in range(folds):
            y = s * (w / 2 - (i + 0.5) * span / folds)
            out.append(
                at(
                    "cylinder",
                    0,
                    y,
                    0,
                    (d * 0.8, span / folds * 1.12, h - 0.03),
                    c if i % 2 else tone(c, 0.88),
                    "fabric",
                )
            )
    return out


@kind
def window(look: Look) -> list[Part]:
    """Two panes in a frame inside the wall; open, one sash stands into the room, beyond the given depth."""
    w, h, c = look.width, look.height, "white"
    wall = 0.1
    half = w / 2
    out = [box(0, s * (half - 0.025), 0, (wall, 0.05, h), c, "wood") for s in (-1, 1)]
    out += [box(0, 0, z, (wall, w, 0.05), c, "wood") for z in (0.0, h - 0.05)]
    if w < 0.8:
        return out + _sash(look, 0.0, w - 0.1, look.state == "open")
    return [
        *out,
        box(0, 0, 0.05, (0.06, 0.05, h - 0.1), c, "wood"),
        *_sash(look, -(half / 2 - 0.012), half - 0.075, False),
        *_sash(look, half / 2 - 0.012, half - 0.075, look.state == "open"),
    ]


def _sash(look: Look, y: float, width: float, opened: bool) -> list[Part]:
    """A frame with glass; opened, it is turned by 90 degrees about its outer edge into the room."""
    h = look.height - 0.1
    if opened:
        x, edge = width / 2, y + width / 2 - 0.02
        return [
            box(x, edge, 0.05, (width, 0.02, h), "#cfe6f2", "glass", glow=0.25),
            *[box(x + s * (width / 2 - 0.02), edge, 0.05, (0.04, 0.04, h), "white", "wood") for s in (-1, 1)],
            *[box(x, edge, z, (width, 0.04, 0.04), "white", "wood") for z in (0.05, h + 0.01)],
        ]
    return [
        box(0, y, 0.05, (0.015, width, h), "#cfe6f2", "glass", glow=0.55),
        *[box(0, y + s * (width / 2 - 0.02), 0.05, (0.05, 0.04, h), "white", "wood") for s in (-1, 1)],
        *[box(0, y, z, (0.05, width, 0.04), "white", "wood") for z in (0.05, h + 0.01)],
    ]




def _leaf(look: Look, plain: str) -> list[Part]:
    w, h, c = look.width, look.height, look.colour
    out = [box(0, 0, 0, (0.035, w, h), c, "wood")]
    out += [
        box(0, 0, z, (look.depth if look.depth < 0.05 else 0.045, w * 0.62, tall), plain, "wood")
        for z, tall in ((h * 0.1, h * 0.34), (h * 0.55, h * 0.36))
    ]
    return [*out, at("cylinder_x", 0, w * 0.4, h * 0.47, (0.11, 0.05, 0.05), "gold", "metal")]


@kind
def door(look: Look) -> list[Part]:
    """A panelled leaf with a knob near local +y."""
    return _leaf(look, tone(look.colour, 0.88))


@kind
def front_door(look: Look) -> list[Part]:
    """A coloured leaf with a small window."""
    return [
        *_leaf(look, tone(look.colour, 0.8)),
        box(0, 0, look.height * 0.72, (0.06, look.width * 0.4, look.height * 0.14), "#cfe6f2", "glass", glow=0.4),
    ]
