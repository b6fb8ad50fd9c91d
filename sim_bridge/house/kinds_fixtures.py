"""Windows, curtains and doors, lamps, and bathroom objects."""

from __future__ import annotations

from sim_bridge.house.kinds import Look, Surface, at, box, carrying, doors, kind, legs, tone
from sim_bridge.house.kinds_kitchen import tap
from sim_bridge.house.kinds_storage import frame, inside
from sim_bridge.house.scene import ObjectPart


@kind
def curtains(look: Look) -> list[ObjectPart]:
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
def window(look: Look) -> list[ObjectPart]:
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


def _sash(look: Look, y: float, width: float, opened: bool) -> list[ObjectPart]:
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




def _leaf(look: Look, plain: str) -> list[ObjectPart]:
    w, h, c = look.width, look.height, look.colour
    out = [box(0, 0, 0, (0.035, w, h), c, "wood")]
    out += [
        box(0, 0, z, (look.depth if look.depth < 0.05 else 0.045, w * 0.62, tall), plain, "wood")
        for z, tall in ((h * 0.1, h * 0.34), (h * 0.55, h * 0.36))
    ]
    return [*out, at("cylinder_x", 0, w * 0.4, h * 0.47, (0.11, 0.05, 0.05), "gold", "metal")]


@kind
def door(look: Look) -> list[ObjectPart]:
    """A panelled leaf with a knob near local +y."""
    return _leaf(look, tone(look.colour, 0.88))


@kind
def front_door(look: Look) -> list[ObjectPart]:
    """A coloured leaf with a small window."""
    return [
        *_leaf(look, tone(look.colour, 0.8)),
        box(0, 0, look.height * 0.72, (0.06, look.width * 0.4, look.height * 0.14), "#cfe6f2", "glass", glow=0.4),
    ]


WARM, COLD = "#ffe3a0", "#a9a8a2"  # colours of a bulb that is on, and of one that is off


def _bulb(look: Look, x: float, z: float, size: float, tall: float) -> ObjectPart:
    """A bulb: white-hot when the lamp is on, gray when it is off."""
    on = look.state == "on"
    return at("sphere", x, 0, z, (size, size, tall), WARM if on else COLD, glow=1.0 if on else 0.0)


def _shade(look: Look, z: float, width: float, height: float) -> list[ObjectPart]:
    """A lamp shade with a bulb below; when the lamp is on, light shines through it, most at the bulb."""
    size = (width, width, height)
    bulb = _bulb(look, 0, z - 0.03, 0.08, 0.08)
    if look.state != "on":
        return [at("frustum", 0, 0, z, size, look.colour, "fabric"), bulb]
    return [at("frustum", 0, 0, z, size, look.colour, "lampshade", glow=1.0), bulb]


@kind
def floor_lamp(look: Look) -> list[ObjectPart]:
    """Foot, pole and shade."""
    h, w = look.height, look.width
    return [
        at("cylinder", 0, 0, 0, (w * 0.75, w * 0.75, 0.025), "black", "metal"),
        at("cylinder", 0, 0, 0.02, (0.03, 0.03, h - 0.25), "black", "metal"),
        *_shade(look, h - 0.32, w, 0.32),
    ]


@kind
def table_lamp(look: Look) -> list[ObjectPart]:
    """A round base with a shade."""
    h, w = look.height, look.width
    return [
        at("sphere", 0, 0, 0.0, (w * 0.5, w * 0.5, h * 0.42), "#8a6a48", "wood"),
        at("cylinder", 0, 0, 0, (w * 0.45, w * 0.45, 0.02), "#6a5038", "wood"),
        at("cylinder", 0, 0, h * 0.38, (0.025, 0.025, h * 0.2), "gold", "metal"),
        *_shade(look, h * 0.52, w, h * 0.48),
    ]


@kind
def desk_lamp(look: Look) -> list[ObjectPart]:
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
def ceiling_lamp(look: Look) -> list[ObjectPart]:
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
def pendant_lamp(look: Look) -> list[ObjectPart]:
    """A shade on a cable."""
    h, w = look.height, look.width
    return [
        at("cylinder", 0, 0, 0.24, (0.02, 0.02, h - 0.24), "black"),
        at("cylinder", 0, 0, h - 0.03, (0.12, 0.12, 0.03), "black"),
        at("frustum", 0, 0, 0.03, (w, w, 0.24), look.colour, "metal", glow=0.12 if look.state == "on" else 0.0),
        _bulb(look, 0, 0.0, w * 0.4, 0.12),
    ]


@kind
def wall_lamp(look: Look) -> list[ObjectPart]:
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


CERAMIC = "white"


@kind
def toilet(look: Look) -> list[ObjectPart]:
    """Bowl and tank; the lid lies on the bowl, or leans on the tank when open."""
    w, h, b = look.width, look.height, look.back
    long = look.depth - 0.2
    x = b + 0.2 + long / 2
    out = [
        box(b + 0.09, 0, 0.36, (0.18, w, h - 0.39), CERAMIC),
        box(b + 0.09, 0, h - 0.03, (0.18, w, 0.03), "#e4e8ea"),
        at("cylinder", b + 0.09, 0, h - 0.005, (0.05, 0.05, 0.005), "silver", "metal"),
        box(b + 0.2, 0, 0, (0.3, w * 0.55, 0.3), CERAMIC),
        at("bowl", x - 0.02, 0, 0.02, (long, w, 0.38), CERAMIC),
    ]
    if look.state == "closed":
        return [*out, at("cylinder", x - 0.02, 0, 0.4, (long, w, 0.035), "#eceff0")]
    out += [
        at("cylinder", x - 0.02, 0, 0.4, (long, w, 0.015), "#eceff0"),
        at("cylinder", x - 0.02, 0, 0.405, (long * 0.66, w * 0.62, 0.014), "#4f7f9c"),
    ]
    return [*out, at("cylinder_x", b + 0.2, 0, 0.4, (0.03, w, h - 0.41), "#dfe4e6")]


@carrying(lambda look: [
    Surface(
        look.back + 0.02,
        s * (look.width / 2 - 0.08) - 0.06,
        look.front - 0.05,
        s * (look.width / 2 - 0.08) + 0.06,
        0.86,
    )
    for s in (-1, 1)
])
def bathroom_sink(look: Look) -> list[ObjectPart]:
    """A ceramic basin on a cabinet, with a tap."""
    c, d, w = look.colour, look.depth, look.width
    out = [
        box(-0.01, 0, 0.12, (d - 0.04, w - 0.02, 0.6), tone(c, 0.88), look.texture),
        *doors(look, 0.14, 0.72, 1, 2, c),
        *legs(look, 0.12, 0.05, "silver", "metal"),
        box(0, 0, 0.74, (d, w, 0.06), CERAMIC),
    ]
    out += [box(0, s * (w / 2 - 0.08), 0.8, (d, 0.16, 0.06), CERAMIC) for s in (-1, 1)]
    out += [box(s * (d / 2 - 0.05), 0, 0.8, (0.1, w, 0.06), CERAMIC) for s in (-1, 1)]
    out += [
        at("cylinder", 0.02, 0, 0.8, (d * 0.62, w * 0.55, 0.004), "#dfe6ea"),
        at("cylinder", 0.02, 0, 0.803, (0.05, 0.05, 0.004), "#777777"),
    ]
    return out + tap(look.back + 0.06, 0.86, look.height - 0.86, 0.14, 0.805, look.state == "running")


@kind
def bathtub(look: Look) -> list[ObjectPart]:
    """Four rims around a basin, with water and foam when full, and a tap at one end."""
    d, w, h = look.depth, look.width, look.height - 0.08
    full = look.state == "full"
    out = [box(s * (d / 2 - 0.05), 0, 0, (0.1, w, h), CERAMIC) for s in (-1, 1)]
    out += [box(0, s * (w / 2 - 0.06), 0, (d - 0.2, 0.12, h), CERAMIC) for s in (-1, 1)]
    out += [
        box(
            0,
            0,
            0,
            (d - 0.2, w - 0.24, 0.4 if full else 0.14),
            "#7cc4dd" if full else "#e6ebee",
            "glass" if full else "plain",
        ),
        at("cylinder", 0, w / 2 - 0.06, h, (0.04, 0.04, 0.08), "silver", "metal"),
        at("cylinder_y", 0, w / 2 - 0.11, h + 0.05, (0.03, 0.16, 0.03), "silver", "metal"),
    ]
    if full:
        out += [
            at("sphere", (i % 2 - 0.5) * 0.2, (i - 1.5) * 0.2, 0.37, (0.2, 0.26, 0.08), "#f8fbfd") for i in range(4)
        ]
    return out


@kind
def shower(look: Look) -> list[ObjectPart]:
    """A tray in a corner behind glass panes in metal frames, with a shower head. The front is entered."""
    d, w, h = look.depth, look.width, look.height
    out = [
        box(0, 0, 0, (d, w, 0.1), CERAMIC),
        at("cylinder", 0, 0, 0.1, (0.1, 0.1, 0.005), "silver", "metal"),
        box(look.back + 0.01, 0, 0.1, (0.02, w, h - 0.1), "#9cc3d4", "small_tile"),
    ]
    for x, y in ((1, -1), (1, 1), (-1, 1), (-1, -1)):
        out.append(box(x * (d / 2 - 0.015), y * (w / 2 - 0.015), 0.1, (0.03, 0.03, h - 0.1), "silver", "metal"))
    out += [box(0, s * (w / 2 - 0.015), h - 0.03, (d, 0.03, 0.03), "silver", "metal") for s in (-1, 1)]
    out += [
        box(look.front - 0.015, 0, h - 0.03, (0.03, w, 0.03), "silver", "metal"),
        box(0, w / 2 - 0.01, 0.1, (d, 0.012, h - 0.12), "#bfe0ea", "glass"),
        box(0, -w / 2 + 0.01, 0.1, (d, 0.012, h - 0.12), "#bfe0ea", "glass"),
        at("cylinder", look.back + 0.04, 0, 0.9, (0.03, 0.03, 1.05), "silver", "metal"),
        at("cylinder_x", look.back + 0.14, 0, 1.92, (0.22, 0.03, 0.03), "silver", "metal"),
        at("frustum", look.back + 0.24, 0, 1.86, (0.2, 0.2, 0.06), "silver", "metal"),
        box(look.back + 0.04, 0, 1.05, (0.05, 0.14, 0.06), "silver", "metal"),
    ]
    return out


@kind
def towel(look: Look) -> list[ObjectPart]:
    """A towel over a rail on the wall."""
    d, w, h = look.depth, look.width, look.height
    return [
        at("cylinder_y", 0.01, 0, h - 0.04, (0.025, w, 0.025), "silver", "metal"),
        *[box(look.back + 0.02, s * (w / 2 - 0.01), h - 0.05, (0.05, 0.02, 0.04), "silver", "metal") for s in (-1, 1)],
        box(0.015, 0, 0, (d * 0.45, w * 0.84, h - 0.005), look.colour, "fabric"),
        box(0.015, 0, 0.06, (d * 0.47, w * 0.842, 0.05), tone(look.colour, 1.5), "fabric"),
    ]


@kind
def toilet_paper(look: Look) -> list[ObjectPart]:
    """A roll on a holder."""
    h = look.height
    return [
        box(look.back + 0.01, 0, h * 0.35, (0.02, look.width, 0.05), "silver", "metal"),
        at("cylinder_y", 0.005, 0, 0, (h - 0.01, look.width - 0.03, h), "white", "paper"),
        at("cylinder_y", 0.005, 0, h * 0.33, (0.04, look.width, 0.04), "#6d6258"),
    ]


@kind
def bath_mat(look: Look) -> list[ObjectPart]:
    """A thick mat."""
    return [box(0, 0, 0, (look.depth, look.width, look.height), look.colour, "rug")]


@kind
def soap_dispenser(look: Look) -> list[ObjectPart]:
    """A bottle with a pump."""
    d, h = look.depth, look.height
    return [
        at("cylinder", 0, 0, 0, (d, d, h * 0.68), look.colour),
        at("cylinder", 0, 0, h * 0.68, (0.02, 0.02, h * 0.24), "#e8e8e8"),
        box(0.012, 0, h * 0.92, (0.05, 0.022, h * 0.08), "#e8e8e8"),
    ]


@kind
def toothbrush_cup(look: Look) -> list[ObjectPart]:
    """A cup with two brushes."""
    d, h = look.depth, look.height
    return [
        at("cylinder", 0, 0, 0, (d, d, h * 0.5), look.colour),
        *[
            at("cylinder", 0, s * 0.02, h * 0.3, (0.012, 0.012, h * 0.6), c)
            for s, c in ((-1, "#3a86d8"), (1, "#e0563c"))
        ],
        *[box(0, s * 0.02, h * 0.86, (0.02, 0.016, h * 0.14), "#fafafa") for s in (-1, 1)],
    ]


@kind
def bathroom_scale(look: Look) -> list[ObjectPart]:
    """A flat scale with a dial."""
    return [
        box(0, 0, 0, (look.depth, look.width, look.height), look.colour),
        at("cylinder", -look.depth * 0.25, 0, look.height - 0.004, (0.1, 0.14, 0.006), "#c8d8c8"),
    ]


@carrying(lambda look: inside(look, 4)[1:])
def bathroom_shelf(look: Look) -> list[ObjectPart]:
    """A slim open shelf with folded towels on its lowest board."""
    z = inside(look, 4)[0].z
    out = frame(look, 4, look.colour)
    return out + [
        box(0, 0, z + 0.07 * i, (look.depth - 0.08, look.width - 0.14, 0.065), c, "fabric")
        for i, c in enumerate(("#8fb8cc", "#f0ead8", "#d88f8a"))
    ]
