"""Kitchen units, windows, curtains and doors whose parts depend on chance or on their size."""

from __future__ import annotations

from sim_bridge.house.kinds import Look, at, box, doors, kind, tone
from sim_bridge.house.scene import ObjectPart


def _base(look: Look, columns: int, worktop: str = "#5b5550") -> list[ObjectPart]:
    c, t = look.colour, look.texture
    return [
        box(-0.02, 0, 0, (look.depth - 0.1, look.width, 0.09), "#3a3836"),
        box(-0.02, 0, 0.09, (look.depth - 0.05, look.width, look.height - 0.13), tone(c, 0.85), t),
        *doors(look._replace(depth=look.depth - 0.02), 0.1, look.height - 0.05, 1, columns, c),
        box(0, 0, look.height - 0.04, (look.depth, look.width, 0.04), worktop, "marble"),
    ]


@kind
def kitchen_counter(look: Look) -> list[ObjectPart]:
    """Base cabinets below a stone worktop."""
    return _base(look, max(1, round(look.width / 0.55)))


@kind
def kitchen_sink(look: Look) -> list[ObjectPart]:
    """A steel basin with an arched tap in a base cabinet; the fronts have the kitchen's colour."""
    bench = 0.9
    front = look.colour or "white"
    base = look._replace(height=bench, colour=front, material="wood")
    out = _base(base, 2)[:-1]
    d, w = look.depth, look.width
    out += [box(0, s * (w / 2 - 0.09), bench - 0.04, (d, 0.18, 0.04), "#5b5550", "marble") for s in (-1, 1)]
    out += [box(s * (d / 2 - 0.07), 0, bench - 0.04, (0.14, w - 0.36, 0.04), "#5b5550", "marble") for s in (-1, 1)]
    out += [box(0, 0, bench - 0.17, (d - 0.26, w - 0.34, 0.02), "silver", "metal")]
    out += [box(0, s * (w / 2 - 0.185), bench - 0.16, (d - 0.28, 0.015, 0.165), "silver", "metal") for s in (-1, 1)]
    return out + tap(-d / 2 + 0.08, bench, look.height - bench, 0.2, bench - 0.15, look.state == "running")


def tap(x: float, z: float, height: float, reach: float, basin: float, running: bool) -> list[ObjectPart]:
    """A tap at local x on height z that reaches forward; when running, water falls from it down to the basin."""
    out = [
        at("cylinder", x, 0, z, (0.035, 0.035, height), "silver", "metal"),
        at("cylinder_x", x + reach / 2, 0, z + height - 0.03, (reach + 0.03, 0.03, 0.03), "silver", "metal"),
        at("cylinder", x + reach, 0, z + height - 0.07, (0.03, 0.03, 0.06), "silver", "metal"),
        box(x, 0.05, z + 0.02, (0.02, 0.07, 0.02), "silver", "metal"),
    ]
    if running:
        out.append(
            at(
                "cylinder",
                x + reach,
                0,
                basin,
                (0.035, 0.035, z + height - 0.07 - basin),
                "#a9dcf5",
                "plain",
                glow=0.35,
            )
        )
        out.append(at("cylinder", x + reach, 0, basin, (0.16, 0.16, 0.02), "#a9dcf5", "plain", glow=0.25))
    return out


@kind
def refrigerator(look: Look) -> list[ObjectPart]:
    """Freezer below, cooler above, a long handle each; open, the lit inside shows shelves with food."""
    c, w, h, f, b = look.colour, look.width, look.height, look.front, look.back
    mid, split = (b + f) / 2, look.height * 0.36
    low = [
        box(mid - 0.02, 0, 0.02, (look.body - 0.04, w, split - 0.03), c, "metal"),
        box(f - 0.02, 0, 0.04, (0.04, w - 0.01, split - 0.06), c, "metal"),
        box(f + 0.004, w * 0.4, split - 0.4, (0.03, 0.025, 0.3), "#5c5f63", "metal"),
        box(mid, 0, 0, (look.body - 0.06, w, 0.02), "black"),
    ]
    if look.state != "open":
        return [
            *low,
            box(mid - 0.02, 0, split, (look.body - 0.04, w, h - split), c, "metal"),
            box(f - 0.02, 0, split + 0.01, (0.04, w - 0.01, h - split - 0.02), c, "metal"),
            box(f + 0.004, w * 0.4, split + 0.08, (0.03, 0.025, 0.5), "#5c5f63", "metal"),
        ]
    low += [
        box(mid - 0.02, s * (w / 2 - 0.025), split, (look.body - 0.04, 0.05, h - split), c, "metal") for s in (-1, 1)
    ]
    low += [
        box(b + 0.03, 0, split, (0.06, w, h - split), "#f4f8fb", glow=0.5),
        box(mid - 0.02, 0, h - 0.05, (look.body - 0.04, w, 0.05), c, "metal"),
        box(f + look.swing / 2, -w / 2 + 0.025, split + 0.01, (look.swing, 0.05, h - split - 0.02), c, "metal"),
    ]
    for i in range(3):
        z = split + 0.02 + i * (h - split - 0.1) / 3
        low.append(box(mid, 0, z, (look.body - 0.12, w - 0.1, 0.015), "#d9e8ee", "glass"))
        for k in range(3):
            low.append(
                at(
                    look.dice.pick(("cylinder", "box", "sphere")),
                    mid,
                    (k - 1) * w * 0.25,
                    z + 0.015,
                    (0.11, 0.11, look.dice.between(0.1, 0.22)),
                    look.dice.pick(("#d8443a", "#f2d43c", "#4f9a4a", "#f0f0ea", "#e88a2c")),
                )
            )
    return low


@kind
def wall_cabinet(look: Look) -> list[ObjectPart]:
    """Cupboards that hang above a counter."""
    return [
        box(-0.01, 0, 0, (look.depth - 0.03, look.width, look.height), tone(look.colour, 0.85), look.texture),
        *doors(look, 0.01, look.height - 0.01, 1, max(1, round(look.width / 0.5)), look.colour),
    ]


@kind
def kitchen_island(look: Look) -> list[ObjectPart]:
    """A free-standing block of cabinets."""
    return _base(look, 3, "#cfc8bd")


@kind
def wine_rack(look: Look) -> list[ObjectPart]:
    """A lattice with lying bottles."""
    d, w, h, c = look.depth, look.width, look.height, look.colour
    out = [box(0, s * (w / 2 - 0.015), 0, (d, 0.03, h), c, "wood") for s in (-1, 1)]
    for i in range(5):
        z = i * (h - 0.03) / 4
        out.append(box(0, 0, z, (d, w, 0.03), c, "wood"))
        if i < 4:
            out += [
                at(
                    "cylinder_x",
                    0.01,
                    (k - 1.5) * w / 4.4,
                    z + 0.03,
                    (d - 0.04, 0.08, 0.08),
                    ("#2e5a34", "#5a2430")[(i + k) % 2],
                    "glass",
                )
                for k in range(4)
            ]
    return out


@kind
def spice_rack(look: Look) -> list[ObjectPart]:
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


def _machine(look: Look, ring: str, glass: str) -> list[ObjectPart]:
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


@kind
def washing_machine(look: Look) -> list[ObjectPart]:
    """A white box with a round glass door and a panel; the door swings aside when open."""
    return _machine(look, "silver", "#3f6f8c")


@kind
def dryer(look: Look) -> list[ObjectPart]:
    """Like a washing machine, with a dark door."""
    return [
        *_machine(look, "#44484d", "#2a2c30"),
        box(look.front - 0.01, 0, 0.03, (0.02, look.width * 0.6, 0.09), "#c8ccd0", "metal"),
    ]
