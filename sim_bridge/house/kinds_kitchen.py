"""Kitchen furniture, appliances, and objects on counters and tables."""

from __future__ import annotations

from sim_bridge.house.kinds import Look, Surface, at, box, carrying, doors, kind, legs, tone, top
from sim_bridge.house.scene import ObjectPart


def _base(look: Look, columns: int, worktop: str = "#5b5550") -> list[ObjectPart]:
    c, t = look.colour, look.texture
    return [
        box(-0.02, 0, 0, (look.depth - 0.1, look.width, 0.09), "#3a3836"),
        box(-0.02, 0, 0.09, (look.depth - 0.05, look.width, look.height - 0.13), tone(c, 0.85), t),
        *doors(look._replace(depth=look.depth - 0.02), 0.1, look.height - 0.05, 1, columns, c),
        box(0, 0, look.height - 0.04, (look.depth, look.width, 0.04), worktop, "marble"),
    ]


@carrying(top)
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


@carrying(lambda look: [Surface(-0.29, -0.28, 0.05, 0.28, look.height + 0.006, 0.5)])
def oven(look: Look) -> list[ObjectPart]:
    """A range: four hobs, knobs, and a glass door; hobs and window glow when on."""
    c, d, w, h, on = look.colour, look.depth, look.width, look.height, look.state == "on"
    f = look.front
    out = [
        box(-0.02, 0, 0, (d - 0.04, w, h - 0.02), c, "metal"),
        box(0, 0, h - 0.02, (d, w, 0.02), "#1b1b1e", "glass"),
        box(f - 0.03, 0, 0.16, (0.03, w - 0.04, 0.54), tone(c, 0.9), "metal"),
        box(
            f - 0.012, 0, 0.26, (0.012, w - 0.16, 0.3), "#ff9a3c" if on else "#17181b", "glass", glow=0.8 if on else 0.0
        ),
        at("cylinder_y", f - 0.012, 0, 0.63, (0.024, w - 0.12, 0.024), "silver", "metal"),
    ]
    for i, (x, y) in enumerate(((-0.14, -0.14), (-0.14, 0.14), (0.12, -0.14), (0.12, 0.14))):
        hot = on and i in (0, 3)
        out.append(
            at(
                "cylinder",
                x,
                y,
                h - 0.002,
                (0.18, 0.18, 0.008),
                "#ff4a1c" if hot else "#3c3c41",
                glow=0.9 if hot else 0.0,
            )
        )
        out.append(at("cylinder_x", f - 0.015, y * 1.3, h - 0.11, (0.03, 0.045, 0.045), "silver", "metal"))
    return out


@carrying(top)
def dishwasher(look: Look) -> list[ObjectPart]:
    """A front with a handle and a panel; open, the door lies flat in front of racks with plates."""
    c, w, h, f, b = look.colour, look.width, look.height, look.front, look.back
    mid = (b + f) / 2
    out = [box(mid, 0, h - 0.04, (look.body, w, 0.04), "#5b5550", "marble")]
    if look.state != "open":
        return [
            *out,
            box(mid - 0.02, 0, 0, (look.body - 0.04, w, h - 0.04), c, "metal"),
            box(f - 0.025, 0, 0.1, (0.03, w - 0.02, 0.62), c, "metal"),
            box(f - 0.02, 0, 0.74, (0.03, w - 0.02, 0.1), tone(c, 0.7)),
            at("cylinder_y", f - 0.012, 0, 0.69, (0.024, w - 0.1, 0.024), "silver", "metal"),
        ]
    out += [box(mid - 0.02, s * (w / 2 - 0.02), 0, (look.body - 0.04, 0.04, h - 0.04), c, "metal") for s in (-1, 1)]
    out += [
        box(b + 0.02, 0, 0, (0.04, w, h - 0.04), "#55585c", "metal"),
        box(mid, 0, 0, (look.body - 0.04, w, 0.14), "#55585c", "metal"),
        box(f + look.swing / 2, 0, 0.14, (look.swing, w - 0.02, 0.05), c, "metal"),
        box(mid, 0, 0.5, (look.body - 0.1, w - 0.1, 0.02), "silver", "metal"),
    ]
    return out + [at("cylinder_y", mid - 0.14 + 0.08 * i, 0, 0.16, (0.02, 0.26, 0.26), "#eef1f3") for i in range(5)]


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
def range_hood(look: Look) -> list[ObjectPart]:
    """A steel canopy with a duct up to the ceiling."""
    return [
        box(0, 0, 0, (look.depth, look.width, 0.08), "silver", "metal"),
        at("frustum", 0, 0, 0.08, (look.depth * 0.95, look.width * 0.95, 0.14), "silver", "metal"),
        box(look.back + 0.13, 0, 0.2, (0.24, 0.26, look.height - 0.2), "silver", "metal"),
    ]


@carrying(top)
def kitchen_island(look: Look) -> list[ObjectPart]:
    """A free-standing block of cabinets."""
    return _base(look, 3, "#cfc8bd")


@kind
def trash_can(look: Look) -> list[ObjectPart]:
    """A bin with a pedal; its lid stands up when open."""
    d, h = look.depth, look.height
    body = h - d if look.state == "open" else h - 0.05
    out = [
        at("cylinder", 0, 0, 0.02, (d, d, body - 0.02), look.colour, "metal"),
        at("cylinder", 0, 0, 0, (d, d, 0.02), "black"),
        box(d / 2 - 0.02, 0, 0.01, (0.04, 0.08, 0.02), "black"),
    ]
    if look.state == "open":
        return [
            *out,
            at("cylinder", 0, 0, body, (d * 0.9, d * 0.9, 0.004), "#202022"),
            at("cylinder_x", -d / 2 + 0.02, 0, body, (0.03, d, d), look.colour, "metal"),
        ]
    return [*out, at("sphere", 0, 0, body - 0.05, (d, d, 0.1), tone(look.colour, 0.85), "metal")]


@carrying(top)
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
def high_chair(look: Look) -> list[ObjectPart]:
    """A toddler's seat with tray on tall legs."""
    c = look.colour
    return [
        *legs(look, 0.58, 0.04, "#b08a5a", "wood"),
        box(-0.03, 0, 0.56, (look.depth * 0.7, look.width * 0.8, 0.05), c),
        box(look.back + 0.08, 0, 0.6, (0.05, look.width * 0.75, look.height - 0.6), c),
        box(look.front - 0.12, 0, 0.76, (0.22, look.width, 0.025), c),
    ]


@kind
def microwave(look: Look) -> list[ObjectPart]:
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
def toaster(look: Look) -> list[ObjectPart]:
    """Two slots with slices of toast and a lever."""
    out = [
        box(0, 0, 0.01, (look.depth, look.width - 0.03, look.height - 0.05), look.colour, "metal"),
        box(0, 0, 0, (look.depth - 0.02, look.width - 0.05, 0.02), "black"),
        box(0, look.width / 2 - 0.01, look.height * 0.5, (0.05, 0.02, 0.02), "black"),
    ]
    return out + [box(s * 0.035, 0, look.height - 0.06, (0.022, look.width * 0.6, 0.06), "#b9793a") for s in (-1, 1)]


@kind
def kettle(look: Look) -> list[ObjectPart]:
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
def coffee_machine(look: Look) -> list[ObjectPart]:
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
def fruit_bowl(look: Look) -> list[ObjectPart]:
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
def knife_block(look: Look) -> list[ObjectPart]:
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
def dish_rack(look: Look) -> list[ObjectPart]:
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
def cooking_pot(look: Look) -> list[ObjectPart]:
    """A pot with lid and two handles."""
    d, h = look.depth, look.height
    return [
        at("cylinder", 0, 0, 0, (d, d, h - 0.05), look.colour, "metal"),
        at("sphere", 0, 0, h - 0.08, (d, d, 0.06), tone(look.colour, 1.15), "metal"),
        at("sphere", 0, 0, h - 0.035, (0.04, 0.04, 0.035), "black"),
        *[box(0, s * (look.width / 2 - 0.03), h - 0.1, (0.08, 0.06, 0.02), "black") for s in (-1, 1)],
    ]


@kind
def cutting_board(look: Look) -> list[ObjectPart]:
    """A board with a loaf of bread."""
    return [
        box(0, 0, 0, (look.depth, look.width, 0.02), look.colour, "wood"),
        at("sphere", 0, 0.02, 0.015, (0.11, 0.22, look.height - 0.015), "#c98d4c"),
    ]


@kind
def mug(look: Look) -> list[ObjectPart]:
    """A cup with a handle and coffee in it."""
    d = look.depth
    return [
        at("cylinder", 0, -0.015, 0, (d, d, look.height), look.colour),
        at("cylinder", 0, -0.015, look.height - 0.004, (d * 0.8, d * 0.8, 0.006), "#4a2f1c"),
        at("ring_x", 0, look.width / 2 - 0.03, 0.02, (0.015, 0.06, 0.06), look.colour),
    ]


@kind
def plate(look: Look) -> list[ObjectPart]:
    """A plate with food on it."""
    d = look.depth
    return [
        at("bowl", 0, 0, 0, (d, d, 0.025), look.colour),
        at("cylinder", 0, 0, 0.024, (d * 0.75, d * 0.75, 0.003), tone(look.colour, 1.2)),
        at("sphere", 0.03, 0.03, 0.02, (0.1, 0.08, look.height - 0.02), "#b5622f"),
        at("sphere", -0.04, 0, 0.02, (0.08, 0.1, 0.04), "#5f9a3c"),
    ]


@kind
def bottle(look: Look) -> list[ObjectPart]:
    """A body with a label and a slim neck."""
    d, h = look.depth, look.height
    return [
        at("cylinder", 0, 0, 0, (d, d, h * 0.6), look.colour, "glass"),
        at("frustum", 0, 0, h * 0.6, (d, d, h * 0.14), look.colour, "glass"),
        at("cylinder", 0, 0, h * 0.72, (d * 0.4, d * 0.4, h * 0.28), look.colour, "glass"),
        at("cylinder", 0, 0, h * 0.18, (d * 1.02, d * 1.02, h * 0.26), "#f2ead2", "paper"),
    ]
