"""Seats, beds and tables."""

from __future__ import annotations

from sim_bridge.house.kinds import Look, Surface, at, box, carrying, doors, kind, legs, tone, top
from sim_bridge.house.scene import ObjectPart


def _seat(look: Look) -> list[Surface]:
    return [Surface(look.back + 0.24, -look.width / 2 + 0.22, look.front - 0.08, look.width / 2 - 0.22, 0.44, 0.6)]


@carrying(_seat)
def sofa(look: Look) -> list[ObjectPart]:
    """Base, seat cushions, back cushions and two arms on short feet."""
    c, t = look.colour, look.texture
    inner = look.width - 0.4
    seats = 3 if look.width > 2.0 else 2
    out = [
        box(0, 0, 0.06, (look.depth, look.width, 0.22), tone(c, 0.85), t),
        box(look.back + 0.1, 0, 0.28, (0.2, look.width, look.height - 0.3), c, t),
    ]
    for side in (-1, 1):
        y = side * (look.width / 2 - 0.1)
        out += [
            box(0, y, 0.28, (look.depth, 0.2, 0.28), c, t),
            at("cylinder_x", 0, y, 0.47, (look.depth, 0.2, 0.16), c, t),
        ]
        out += [box(x * (look.depth / 2 - 0.08), y, 0, (0.06, 0.06, 0.06), "black", "wood") for x in (-1, 1)]
    for i in range(seats):
        y = -inner / 2 + (i + 0.5) * inner / seats
        out.append(box(0.09, y, 0.28, (look.depth - 0.2, inner / seats - 0.015, 0.16), c, t))
        out.append(box(look.back + 0.26, y, 0.44, (0.14, inner / seats - 0.03, look.height - 0.46), tone(c, 1.1), t))
    return out


@carrying(_seat)
def armchair(look: Look) -> list[ObjectPart]:
    """A sofa for one."""
    c, t = look.colour, look.texture
    out = [
        box(0, 0, 0.1, (look.depth, look.width, 0.2), tone(c, 0.85), t),
        box(look.back + 0.1, 0, 0.3, (0.2, look.width, look.height - 0.32), c, t),
        box(0.1, 0, 0.3, (look.depth - 0.2, look.width - 0.34, 0.14), tone(c, 1.1), t),
    ]
    out += [box(0, s * (look.width / 2 - 0.085), 0.3, (look.depth, 0.17, 0.27), c, t) for s in (-1, 1)]
    return out + legs(look, 0.1, 0.06, "brown", "wood")


@carrying(top)
def ottoman(look: Look) -> list[ObjectPart]:
    """A padded cube on feet."""
    return [
        box(0, 0, 0.06, (look.depth, look.width, look.height - 0.06), look.colour, look.texture),
        *legs(look, 0.06, 0.05, "brown", "wood"),
    ]


def _chair(look: Look, seat: float) -> list[ObjectPart]:
    c, t = look.colour, look.texture
    bar = tone(c, 0.85)
    out = [box(0.0, 0, seat - 0.04, (look.depth, look.width, 0.045), c, t), *legs(look, seat - 0.04, 0.04, bar, t)]
    high = look.height - seat
    out += [box(look.back + 0.02, s * (look.width / 2 - 0.025), seat, (0.04, 0.04, high), bar, t) for s in (-1, 1)]
    out += [
        box(look.back + 0.02, 0, seat + high * f, (0.025, look.width - 0.06, high * 0.2), c, t) for f in (0.3, 0.76)
    ]
    return out


@kind
def chair(look: Look) -> list[ObjectPart]:
    """Seat, four legs and a ladder back."""
    return _chair(look, 0.46)


@kind
def bar_stool(look: Look) -> list[ObjectPart]:
    """A round seat on four high legs with a foot rest."""
    c, t = look.colour, look.texture
    return [
        at("cylinder", 0, 0, look.height - 0.06, (look.depth, look.width, 0.06), c, "leather"),
        at("cylinder", 0, 0, 0.22, (look.depth * 0.8, look.width * 0.8, 0.02), tone(c, 0.8), t),
        *legs(look, look.height - 0.06, 0.035, c, t),
    ]


@kind
def office_chair(look: Look) -> list[ObjectPart]:
    """Star foot with castors, column, seat, back and arm rests."""
    c, t = look.colour, look.texture
    out = [box(0, 0, 0.06, (look.depth * 0.9, 0.05, 0.04), "black", yaw=y) for y in (0.0, 1.05, 2.1)]
    out += [at("sphere", sx * 0.24, sy * 0.15, 0, (0.06, 0.06, 0.06), "black") for sx in (-1, 1) for sy in (-1, 1)]
    out += [
        at("cylinder", 0, 0, 0.08, (0.06, 0.06, 0.34), "silver", "metal"),
        box(0.02, 0, 0.42, (look.depth * 0.8, look.width * 0.8, 0.09), c, t),
        box(look.back + 0.06, 0, 0.55, (0.08, look.width * 0.72, look.height - 0.55), c, t),
        box(look.back + 0.05, 0, 0.4, (0.05, 0.08, 0.2), "black"),
    ]
    out += [box(0.02, s * (look.width / 2 - 0.03), 0.62, (0.26, 0.05, 0.03), "black") for s in (-1, 1)]
    return out + [box(0.02, s * (look.width / 2 - 0.03), 0.45, (0.04, 0.03, 0.17), "black") for s in (-1, 1)]


def _seat_top(look: Look) -> list[Surface]:
    return [Surface(look.back + 0.03, -look.width / 2 + 0.06, look.front - 0.03, look.width / 2 - 0.06, look.height)]


@carrying(_seat_top)
def bench(look: Look) -> list[ObjectPart]:
    """A plank on two frames, open below."""
    c, t = look.colour, look.texture
    out = [box(0, 0, look.height - 0.05, (look.depth, look.width, 0.05), c, t)]
    return out + [
        box(0, s * (look.width / 2 - 0.05), 0, (look.depth * 0.9, 0.06, look.height - 0.05), tone(c, 0.85), t)
        for s in (-1, 1)
    ]


def _mattress(look: Look) -> list[Surface]:
    return [Surface(look.back + 0.9, -look.width / 2 + 0.12, look.front - 0.15, look.width / 2 - 0.12, 0.545, 0.8)]


@carrying(_mattress)
def bed(look: Look) -> list[ObjectPart]:
    """Frame, headboard, mattress, pillows and a blanket: smooth when made, rumpled to one side when not."""
    wood = "brown" if look.dice.chance(0.6) else look.dice.pick(("white", "beige", "black"))
    d, w, c = look.depth, look.width, look.colour
    out = [
        box(0, 0, 0.08, (d, w, 0.2), wood, "wood"),
        box(look.back + 0.03, 0, 0, (0.06, w, look.height), wood, "wood"),
        box(0.02, 0, 0.28, (d - 0.1, w - 0.06, 0.2), "#f5f3ee", "fabric"),
        *legs(look, 0.08, 0.08, wood, "wood"),
    ]
    number = 2 if w > 1.3 else 1
    made = look.state == "made"
    for i in range(number):
        y = (i - (number - 1) / 2) * w * 0.46
        turn, wide = 0.0 if made else look.dice.between(-0.35, 0.35), min(0.66, w * 0.42)
        out += [
            box(look.back + 0.34, y, 0.48, (0.4, wide, 0.07), "#fbfaf6", "fabric", yaw=turn),
            box(look.back + 0.34, y, 0.53, (0.32, wide - 0.1, 0.06), "#fbfaf6", "fabric", yaw=turn),
        ]
    if made:
        return [
            *out,
            box(0.28, 0, 0.3, (d - 0.62, w, 0.24), c, "fabric"),
            box(-d / 2 + 0.66, 0, 0.5, (0.2, w, 0.05), "#f5f3ee", "fabric"),
        ]
    return out + _thrown_blanket(look)


def _thrown_blanket(look: Look) -> list[ObjectPart]:
    """A crooked blanket over the foot of the bed, in folds, hanging down at one side."""
    d, w, c = look.depth, look.width, look.colour
    turn = look.dice.between(0.12, 0.2)
    out = [
        box(d * 0.2, w * 0.06, 0.47, (d * 0.42, w * 0.66, 0.06), c, "fabric", yaw=turn),
        box(d * 0.22, w / 2 - 0.02, 0.2, (d * 0.36, 0.04, 0.32), c, "fabric"),
    ]
    for i, x in enumerate((0.02, 0.12, 0.24, 0.33)):
        out.append(
            at(
                "cylinder_y",
                d * x,
                w * (0.1 if i % 2 else 0.02),
                0.46,
                (0.2, w * (0.62 - 0.1 * (i % 2)), 0.13 + 0.04 * (i % 2)),
                tone(c, 0.92 if i % 2 else 1.0),
                "fabric",
                yaw=turn - 0.25 * i,
            )
        )
    return out


def _table(look: Look, thick: float, leg: float) -> list[ObjectPart]:
    c, t = look.colour, look.texture
    wood = t if t != "glass" else "metal"
    dark = tone(c, 0.8) if t != "glass" else "black"
    out = [
        box(0, 0, look.height - thick, (look.depth, look.width, thick), c, t),
        *legs(look, look.height - thick, leg, dark, wood),
    ]
    return [*out, box(0, 0, look.height - thick - 0.07, (look.depth - 0.16, look.width - 0.16, 0.07), dark, wood)]


@carrying(top)
def dining_table(look: Look) -> list[ObjectPart]:
    """A long table on four legs."""
    return _table(look, 0.04, 0.08)


@carrying(top)
def kitchen_table(look: Look) -> list[ObjectPart]:
    """A small table on four legs."""
    return _table(look, 0.035, 0.06)


@carrying(top)
def coffee_table(look: Look) -> list[ObjectPart]:
    """A low table with a board below its top."""
    c = tone(look.colour, 0.85)
    return [*_table(look, 0.035, 0.06), box(0, 0, 0.1, (look.depth - 0.1, look.width - 0.1, 0.025), c, look.texture)]


@carrying(top)
def side_table(look: Look) -> list[ObjectPart]:
    """A round top on a pole and a round foot."""
    c, t = look.colour, look.texture
    return [
        at("cylinder", 0, 0, look.height - 0.03, (look.depth, look.width, 0.03), c, t),
        at("cylinder", 0, 0, 0.02, (0.06, 0.06, look.height - 0.05), c, t),
        at("cylinder", 0, 0, 0, (look.depth * 0.7, look.width * 0.7, 0.02), c, t),
    ]


@carrying(top)
def console_table(look: Look) -> list[ObjectPart]:
    """A slim table with a row of drawers."""
    c, t = look.colour, look.texture
    return [
        box(0, 0, look.height - 0.03, (look.depth, look.width, 0.03), c, t),
        box(0, 0, look.height - 0.17, (look.depth - 0.03, look.width - 0.04, 0.14), tone(c, 0.9), t),
        *doors(look, look.height - 0.17, look.height - 0.03, 1, 2, c, "gold"),
        *legs(look, look.height - 0.17, 0.045, tone(c, 0.85), t),
        box(0, 0, 0.12, (look.depth - 0.04, look.width - 0.06, 0.02), c, t),
    ]


@carrying(top)
def desk(look: Look) -> list[ObjectPart]:
    """A top on side panels, with a block of drawers on one side."""
    c, t, w = look.colour, look.texture, look.width
    out = [
        box(0, 0, look.height - 0.035, (look.depth, w, 0.035), c, t),
        box(0, w / 2 - 0.02, 0, (look.depth - 0.04, 0.04, look.height - 0.035), tone(c, 0.85), t),
        box(0, -w / 2 + 0.21, 0.04, (look.depth - 0.06, 0.4, look.height - 0.075), tone(c, 0.85), t),
    ]
    for i in range(3):
        z = 0.07 + i * 0.21
        out += [
            box(look.front - 0.03, -w / 2 + 0.21, z, (0.024, 0.37, 0.19), c, t),
            box(look.front - 0.015, -w / 2 + 0.21, z + 0.12, (0.02, 0.14, 0.018), "silver", "metal"),
        ]
    return out


@kind
def cushion(look: Look) -> list[ObjectPart]:
    """A plump square, standing."""
    c = look.colour
    return [
        at("sphere", 0, 0, 0.02, (look.depth, look.width, look.height - 0.02), c, "fabric"),
        box(0, 0, 0, (look.depth * 0.5, look.width * 0.86, look.height * 0.9), c, "fabric"),
    ]
