"""Bathroom."""

from __future__ import annotations

from sim_bridge.house.kinds import Look, Surface, at, box, carrying, doors, kind, legs, tone
from sim_bridge.house.kinds_kitchen import tap
from sim_bridge.house.kinds_storage import frame, inside
from sim_bridge.house.scene import Part

CERAMIC = "white"


@kind
def toilet(look: Look) -> list[Part]:
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
def bathroom_sink(look: Look) -> list[Part]:
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
def bathtub(look: Look) -> list[Part]:
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
def shower(look: Look) -> list[Part]:
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
def towel(look: Look) -> list[Part]:
    """A towel over a rail on the wall."""
    d, w, h = look.depth, look.width, look.height
    return [
        at("cylinder_y", 0.01, 0, h - 0.04, (0.025, w, 0.025), "silver", "metal"),
        *[box(look.back + 0.02, s * (w / 2 - 0.01), h - 0.05, (0.05, 0.02, 0.04), "silver", "metal") for s in (-1, 1)],
        box(0.015, 0, 0, (d * 0.45, w * 0.84, h - 0.005), look.colour, "fabric"),
        box(0.015, 0, 0.06, (d * 0.47, w * 0.842, 0.05), tone(look.colour, 1.5), "fabric"),
    ]


@kind
def toilet_paper(look: Look) -> list[Part]:
    """A roll on a holder."""
    h = look.height
    return [
        box(look.back + 0.01, 0, h * 0.35, (0.02, look.width, 0.05), "silver", "metal"),
        at("cylinder_y", 0.005, 0, 0, (h - 0.01, look.width - 0.03, h), "white", "paper"),
        at("cylinder_y", 0.005, 0, h * 0.33, (0.04, look.width, 0.04), "#6d6258"),
    ]


@kind
def bath_mat(look: Look) -> list[Part]:
    """A thick mat."""
    return [box(0, 0, 0, (look.depth, look.width, look.height), look.colour, "rug")]


@kind
def soap_dispenser(look: Look) -> list[Part]:
    """A bottle with a pump."""
    d, h = look.depth, look.height
    return [
        at("cylinder", 0, 0, 0, (d, d, h * 0.68), look.colour),
        at("cylinder", 0, 0, h * 0.68, (0.02, 0.02, h * 0.24), "#e8e8e8"),
        box(0.012, 0, h * 0.92, (0.05, 0.022, h * 0.08), "#e8e8e8"),
    ]


@kind
def toothbrush_cup(look: Look) -> list[Part]:
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
def bathroom_scale(look: Look) -> list[Part]:
    """A flat scale with a dial."""
    return [
        box(0, 0, 0, (look.depth, look.width, look.height), look.colour),
        at("cylinder", -look.depth * 0.25, 0, look.height - 0.004, (0.1, 0.14, 0.006), "#c8d8c8"),
    ]


@carrying(lambda look: inside(look, 4)[1:])
def bathroom_shelf(look: Look) -> list[Part]:
    """A slim open shelf with folded towels on its lowest board."""
    z = inside(look, 4)[0].z
    out = frame(look, 4, look.colour)
    return out + [
        box(0, 0, z + 0.07 * i, (look.depth - 0.08, look.width - 0.14, 0.065), c, "fabric")
        for i, c in enumerate(("#8fb8cc", "#f0ead8", "#d88f8a"))
    ]
