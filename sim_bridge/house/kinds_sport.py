"""Bicycles, and the workout room."""

from __future__ import annotations

from sim_bridge.house.kinds import Look, at, box, kind
from sim_bridge.house.scene import Part


@kind
def bicycle(look: Look) -> list[Part]:
    """Two wheels along local y, a frame of tubes, saddle and handlebar."""
    c, w, h, r = look.colour, look.width, look.height, 0.66
    out = [at("ring_x", 0, s * (w / 2 - r / 2), 0, (0.05, r, r), "#202226") for s in (-1, 1)]
    out += [
        at("cylinder_x", 0, s * (w / 2 - r / 2), r / 2 - 0.04, (0.1, 0.08, 0.08), "silver", "metal") for s in (-1, 1)
    ]
    span = w - r
    out += [
        box(0, 0.04, 0.66, (0.045, span * 0.62, 0.05), c, "metal"),
        box(0, -0.1, 0.3, (0.045, span * 0.95, 0.045), c, "metal"),
        box(0, -span * 0.27, 0.3, (0.045, 0.05, 0.52), c, "metal"),
        box(0, span * 0.36, 0.33, (0.045, 0.05, h - 0.4), c, "metal"),
        box(0, span * 0.42, 0.33, (0.045, span * 0.18, 0.045), c, "metal"),
        box(0, -span * 0.38, 0.5, (0.035, span * 0.24, 0.035), c, "metal"),
        at("sphere", 0, -span * 0.27, 0.8, (0.16, 0.27, 0.09), "black", "leather"),
        at("cylinder_x", 0, span * 0.36, h - 0.05, (look.depth, 0.035, 0.035), "#2a2c30"),
        at("cylinder_x", 0, -0.02, 0.22, (0.07, 0.18, 0.18), "silver", "metal"),
    ]
    return out


@kind
def treadmill(look: Look) -> list[Part]:
    """A belt between rails, two posts and a console that is lit when on. The rider faces local -x."""
    d, w, h, on = look.depth, look.width, look.height, look.state == "on"
    out = [
        box(0, 0, 0, (d, w, 0.14), look.colour, "metal"),
        box(0.08, 0, 0.14, (d - 0.3, w - 0.24, 0.015), "#3c3e43", "fabric"),
        box(look.back + 0.14, 0, 0.14, (0.28, w, 0.12), "#c8382c"),
    ]
    out += [box(look.back + 0.16, s * (w / 2 - 0.04), 0.14, (0.06, 0.06, h - 0.3), "silver", "metal") for s in (-1, 1)]
    out += [box(look.back + 0.35, s * (w / 2 - 0.04), h - 0.3, (0.42, 0.05, 0.05), "#1f2023") for s in (-1, 1)]
    return [
        *out,
        box(look.back + 0.14, 0, h - 0.26, (0.08, w, 0.26), look.colour),
        box(
            look.back + 0.185,
            0,
            h - 0.2,
            (0.012, w * 0.5, 0.15),
            "#5ad8a0" if on else "#0f1012",
            "screen" if on else "plain",
            glow=0.9 if on else 0.0,
        ),
    ]


@kind
def exercise_bike(look: Look) -> list[Part]:
    """A frame with flywheel, saddle, pedals and handlebar; it faces local +x."""
    d, w, h, c = look.depth, look.width, look.height, look.colour
    out = [box(s * (d / 2 - 0.06), 0, 0, (0.08, w, 0.06), "#2a2c30", "metal") for s in (-1, 1)]
    return [
        *out,
        box(0, 0, 0.05, (d - 0.1, 0.1, 0.07), c, "metal"),
        at("cylinder_y", d * 0.22, 0, 0.14, (0.46, 0.07, 0.46), "silver", "metal"),
        box(d * 0.05, 0, 0.12, (0.3, 0.14, 0.4), c),
        box(-d * 0.22, 0, 0.1, (0.07, 0.07, 0.72), c, "metal"),
        at("sphere", -d * 0.22, 0, 0.8, (0.3, 0.22, 0.12), "black", "leather"),
        box(d * 0.26, 0, 0.4, (0.07, 0.07, h - 0.5), c, "metal"),
        at("cylinder_y", d * 0.26, 0, h - 0.16, (0.04, w, 0.04), "black"),
        box(d * 0.27, 0, h - 0.14, (0.04, 0.2, 0.14), "#1b2a34"),
        at("cylinder_y", d * 0.03, 0, 0.3, (0.09, w * 0.75, 0.05), "#303236"),
    ]


@kind
def dumbbell_rack(look: Look) -> list[Part]:
    """Two trays with rows of dumbbells."""
    d, w, h = look.depth, look.width, look.height
    out = [box(0, s * (w / 2 - 0.03), 0, (d, 0.06, h * 0.9), look.colour, "metal") for s in (-1, 1)]
    for z in (0.22, h - 0.16):
        out.append(box(0, 0, z, (d - 0.06, w, 0.04), look.colour, "metal"))
        for i in range(4):
            y = (i - 1.5) * w * 0.22
            out.append(at("cylinder_x", 0, y, z + 0.06, (d - 0.12, 0.035, 0.035), "silver", "metal"))
            out += [
                at(
                    "cylinder_x",
                    s * (d / 2 - 0.1),
                    y,
                    z + 0.03,
                    (0.1, 0.11, 0.11),
                    ("#3a3c40", "#c8382c", "#2f5ab0")[i % 3],
                )
                for s in (-1, 1)
            ]
    return out


@kind
def weight_bench(look: Look) -> list[Part]:
    """A padded bench with two posts that hold a barbell."""
    d, w, h = look.depth, look.width, look.height
    out = [
        box(0.1, 0, 0.38, (d - 0.2, 0.3, 0.09), look.colour, "leather"),
        box(0.12, 0, 0.05, (d - 0.3, 0.06, 0.05), "#3a3c40", "metal"),
        *[box(x, 0, 0, (0.06, 0.4, 0.05), "#3a3c40", "metal") for x in (look.back + 0.15, look.front - 0.05)],
        box(0.1, 0, 0.05, (0.06, 0.06, 0.34), "#3a3c40", "metal"),
        *[box(look.back + 0.15, s * 0.24, 0, (0.06, 0.06, h - 0.18), "#3a3c40", "metal") for s in (-1, 1)],
    ]
    out.append(at("cylinder_y", look.back + 0.16, 0, h - 0.2, (0.03, w, 0.03), "silver", "metal"))
    return out + [
        at("cylinder_y", look.back + 0.17, s * (w / 2 - 0.07), h - 0.34, (0.32, 0.07, 0.32), "#26272b") for s in (-1, 1)
    ]


@kind
def yoga_mat(look: Look) -> list[Part]:
    """A rolled-out mat."""
    return [box(0, 0, 0, (look.depth, look.width, look.height), look.colour, "fabric")]


@kind
def exercise_ball(look: Look) -> list[Part]:
    """A big ball."""
    d = min(look.depth, look.width, look.height)
    return [at("sphere", 0, 0, 0, (d, d, d), look.colour)]


@kind
def punching_bag(look: Look) -> list[Part]:
    """A heavy bag on a standing foot."""
    d, h = look.depth, look.height
    return [
        at("frustum", 0, 0, 0, (d, d, 0.25), "black"),
        at("cylinder", 0, 0, 0.25, (0.1, 0.1, 0.3), "silver", "metal"),
        at("cylinder", 0, 0, 0.5, (d * 0.9, d * 0.9, h - 0.58), look.colour, "leather"),
        at("sphere", 0, 0, h - 0.2, (d * 0.9, d * 0.9, 0.2), look.colour, "leather"),
        at("cylinder", 0, 0, h * 0.6, (d * 0.92, d * 0.92, 0.1), "#f0f0ec"),
    ]


@kind
def water_bottle(look: Look) -> list[Part]:
    """A sports bottle."""
    d, h = look.depth, look.height
    return [
        at("cylinder", 0, 0, 0, (d, d, h * 0.8), look.colour, "metal"),
        at("frustum", 0, 0, h * 0.8, (d, d, h * 0.1), "#303236"),
        at("cylinder", 0, 0, h * 0.88, (d * 0.4, d * 0.4, h * 0.12), "#303236"),
    ]
