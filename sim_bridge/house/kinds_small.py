"""Small things for desks, shelves and floors; toys, shoes and office equipment."""

from __future__ import annotations

from sim_bridge.house.kinds import BRIGHT, SOFT, Look, at, box, kind, legs, tone
from sim_bridge.house.scene import Part


@kind("computer monitor", (0.18, 0.22), (0.52, 0.68), (0.44, 0.52), colours=("black", "white", "silver"), materials=("plastic",),
      states=("on", "off"))
def computer_monitor(look: Look) -> list[Part]:
    """A screen on a stand."""
    w, h, on = look.width, look.height, look.state == "on"
    return [box(-0.02, 0, 0, (look.depth - 0.04, w * 0.4, 0.02), look.colour), box(-0.04, 0, 0.02, (0.04, 0.06, h * 0.5), look.colour),
            box(0, 0, 0.11, (0.04, w, h - 0.11), look.colour),
            box(0.021, 0, 0.135, (0.01, w - 0.04, h - 0.16), "#86c0ee" if on else "#0d0e11", "screen" if on else "glass", glow=0.9 if on else 0.0)]


@kind("keyboard", (0.14, 0.16), (0.42, 0.46), (0.03, 0.04), colours=("black", "white", "gray"), materials=("plastic",))
def keyboard(look: Look) -> list[Part]:
    """A flat board with rows of keys."""
    c = look.colour
    return [box(0, 0, 0, (look.depth, look.width, 0.018), c),
            *[box((i - 1.5) * 0.032, 0, 0.018, (0.024, look.width - 0.03, 0.012), tone(c, 1.25 if c == "black" else 0.85)) for i in range(4)]]


@kind("laptop", (0.26, 0.32), (0.34, 0.38), (0.24, 0.27), colours=("silver", "black", "white"), materials=("metal",),
      states=("open", "closed"))
def laptop(look: Look) -> list[Part]:
    """Open: keyboard and a glowing screen; closed: a slab."""
    d, w, c = look.depth, look.width, look.colour
    if look.state == "closed":
        return [box(0, 0, 0, (d, w, 0.03), c, "metal"), at("cylinder", 0, 0, 0.029, (0.05, 0.05, 0.003), tone(c, 1.4))]
    return [box(0, 0, 0, (d, w, 0.02), c, "metal"), box(0.0, 0, 0.02, (d * 0.5, w - 0.05, 0.005), "#2b2c30"),
            box(look.back + 0.01, 0, 0.02, (0.018, w, look.height - 0.02), c, "metal"),
            box(look.back + 0.022, 0, 0.035, (0.006, w - 0.03, look.height - 0.05), "#8fc4ea", "screen", glow=0.9)]


@kind("printer", (0.34, 0.4), (0.4, 0.44), (0.26, 0.34), colours=("white", "black", "gray"), materials=("plastic",))
def printer(look: Look) -> list[Part]:
    """A box with a paper tray and paper standing at the rear."""
    d, w, h = look.depth, look.width, look.height
    return [box(-0.03, 0, 0, (d - 0.06, w, h * 0.65), look.colour), box(0.03, 0, 0.03, (d - 0.06, w * 0.7, 0.03), "#f7f6f0", "paper"),
            box(look.back + 0.06, 0, h * 0.6, (0.02, w * 0.6, h * 0.4), "#fbfaf5", "paper"), box(look.front - 0.07, w * 0.3, h * 0.5, (0.03, 0.1, 0.05), "#5ad18a", glow=0.4)]


@kind("globe", (0.22, 0.25), (0.22, 0.25), (0.28, 0.31), colours=("blue",), materials=("plastic",))
def globe(look: Look) -> list[Part]:
    """A blue ball with green land on a wooden foot."""
    d, h = look.depth, look.height
    r = d * 0.9
    z = h - r
    return [at("cylinder", 0, 0, 0, (d * 0.6, d * 0.6, 0.025), "brown", "wood"), at("cylinder", 0, 0, 0.02, (0.03, 0.03, h - r), "gold", "metal"),
            at("sphere", 0, 0, z, (r, r, r), "blue"), at("ring_x", 0, 0, z - 0.005, (0.02, d, r + 0.01), "gold", "metal"),
            at("sphere", r * 0.26, r * 0.12, z + r * 0.42, (r * 0.5, r * 0.5, r * 0.44), "#5da04a"), at("sphere", r * 0.2, -r * 0.24, z + r * 0.2, (r * 0.45, r * 0.4, r * 0.5), "#5da04a"),
            at("sphere", -r * 0.24, 0, z + r * 0.3, (r * 0.5, r * 0.5, r * 0.5), "#5da04a")]


@kind("alarm clock", (0.07, 0.09), (0.14, 0.18), (0.13, 0.16), colours=("red", "black", "white", "blue", "green"), materials=("plastic",))
def alarm_clock(look: Look) -> list[Part]:
    """A round clock with two bells."""
    d, h, r = look.depth, look.height, look.width * 0.85
    r = min(r, h - 0.025)
    return [at("cylinder_x", 0, 0, 0.005, (d * 0.8, r, r), look.colour), at("cylinder_x", d * 0.41, 0, 0.005 + r * 0.1, (0.006, r * 0.8, r * 0.8), "#fbf8ee"),
            box(d * 0.45, 0, r * 0.5, (0.004, 0.008, r * 0.32), "#202020"), box(d * 0.45, r * 0.1, r * 0.5, (0.004, r * 0.24, 0.008), "#202020"),
            *[at("sphere", 0, s * r * 0.3, h - 0.045, (0.05, 0.05, 0.045), "silver", "metal") for s in (-1, 1)]]


@kind("book", (0.17, 0.2), (0.24, 0.28), (0.06, 0.1), colours=BRIGHT, materials=("paper",))
def book(look: Look) -> list[Part]:
    """A thick book lying down: coloured covers around white pages."""
    d, w, h = look.depth, look.width, look.height
    return [box(0, 0, 0, (d, w, 0.012), look.colour), box(-0.005, 0, 0.012, (d - 0.02, w - 0.016, h - 0.024), "#f4efe0", "paper"),
            box(0, 0, h - 0.012, (d, w, 0.012), look.colour), box(look.back + 0.006, 0, 0, (0.012, w, h), look.colour),
            box(0.02, 0, h - 0.003, (d * 0.3, w * 0.6, 0.004), tone(look.colour, 1.6))]


@kind("picture frame", (0.06, 0.08), (0.15, 0.22), (0.18, 0.26), colours=("gold", "black", "white", "brown", "silver"), materials=("wood",))
def picture_frame(look: Look) -> list[Part]:
    """A framed photograph that stands."""
    w, h = look.width, look.height
    return [box(0.01, 0, 0, (0.02, w, h), look.colour), box(0.021, 0, 0.02, (0.006, w - 0.04, h - 0.04), look.dice.pick(("#c8a888", "#8ab0c8", "#9cb88a")), "painting"),
            box(-0.015, 0, 0, (look.depth - 0.03, 0.02, h * 0.5), look.colour)]


@kind("vase", (0.13, 0.18), (0.13, 0.18), (0.42, 0.55), colours=BRIGHT, materials=("ceramic", "glass"), states=("full", "full", "empty"))
def vase(look: Look) -> list[Part]:
    """A vase; full of flowers or empty."""
    d, h, c = look.depth, look.height, look.colour
    body = 0.26
    out = [at("sphere", 0, 0, 0, (d, d, body * 0.75), c, look.texture), at("cylinder", 0, 0, 0, (d * 0.5, d * 0.5, 0.02), c), at("bowl", 0, 0, body * 0.6, (d * 0.55, d * 0.55, body * 0.4), c, look.texture),
           at("cylinder", 0, 0, body - 0.003, (d * 0.46, d * 0.46, 0.004), "#22201e")]
    if look.state == "full":
        petal = look.dice.pick(("#e0483c", "#f2c83c", "#e884b0", "#f6f0e8", "#a06ac8"))
        for i, (x, y) in enumerate(((0, 0), (0.04, 0.03), (-0.04, 0.03), (0.03, -0.04), (-0.035, -0.035))):
            z = h - 0.07 - 0.045 * (i % 3)
            out += [at("cylinder", x * 0.7, y * 0.7, body - 0.02, (0.01, 0.01, z - body + 0.04), "#4f8a3c"), at("sphere", x, y, z, (0.07, 0.07, 0.06), petal),
                    at("sphere", x, y, z + 0.035, (0.03, 0.03, 0.03), "#f4d24a"), at("sphere", x * 0.8, y * 0.8, body + 0.02, (0.05, 0.03, 0.07), "#4f8a3c", "leaves")]
    return out


@kind("candle", (0.08, 0.1), (0.08, 0.1), (0.16, 0.24), colours=("white", "red", "yellow", "green", "purple"), materials=("wax",),
      states=("lit", "unlit"))
def candle(look: Look) -> list[Part]:
    """A thick candle on a dish, with a flame when lit."""
    d, h = look.depth, look.height
    body = h - 0.07
    out = [at("cylinder", 0, 0, 0, (d, d, 0.012), "gold", "metal"), at("cylinder", 0, 0, 0.012, (d * 0.78, d * 0.78, body - 0.012), look.colour),
           at("cylinder", 0, 0, body, (0.008, 0.008, 0.018), "#202020")]
    if look.state == "lit":
        out += [at("sphere", 0, 0, body + 0.012, (0.034, 0.034, 0.058), "#ffc24a", glow=1.0), at("cylinder", 0, 0, body - 0.002, (d * 0.6, d * 0.6, 0.004), "#ffe6a8", glow=0.5)]
    return out


@kind("teddy bear", (0.22, 0.28), (0.26, 0.32), (0.34, 0.42), colours=("brown", "beige", "white", "pink"), materials=("fabric",))
def teddy_bear(look: Look) -> list[Part]:
    """A sitting bear."""
    c, h, w = look.colour, look.height, look.width
    pale = tone(c, 1.4)
    out = [at("sphere", -0.03, 0, 0, (0.18, 0.2, h * 0.56), c, "fabric"), at("sphere", -0.02, 0, h * 0.48, (0.17, 0.19, h * 0.44), c, "fabric"),
           at("sphere", 0.06, 0, h * 0.54, (0.07, 0.08, 0.07), pale, "fabric"), at("sphere", 0.09, 0, h * 0.62, (0.025, 0.03, 0.025), "black")]
    for s in (-1, 1):
        out += [at("sphere", -0.03, s * 0.075, h - 0.08, (0.04, 0.07, 0.075), c, "fabric"), at("sphere", 0.06, s * 0.08, 0, (0.14, 0.08, 0.08), c, "fabric"),
                at("sphere", 0.0, s * (w / 2 - 0.045), h * 0.22, (0.09, 0.08, 0.14), c, "fabric"), at("sphere", 0.058, s * 0.035, h * 0.72, (0.02, 0.022, 0.025), "black")]
    return out


@kind("toy box", (0.36, 0.44), (0.6, 0.8), (0.4, 0.5), colours=("red", "blue", "yellow", "green", "pink", "white"), materials=("wood",),
      states=("open", "closed"))
def toy_box(look: Look) -> list[Part]:
    """A chest; open, the lid stands up and toys show."""
    d, w, c = look.depth, look.width, look.colour
    h = 0.3 if look.state == "open" else look.height - 0.04
    out = [box(0, 0, 0, (d, w, h), c, "wood"), *[box(look.front - 0.005, s * w * 0.3, 0.08, (0.012, 0.1, 0.1), y) for s, y in ((-1, "#f2d43c"), (1, "#3c8ad8"))]]
    if look.state == "closed":
        return [*out, box(0, 0, h, (d, w, 0.04), tone(c, 0.8), "wood")]
    out += [box(look.back + 0.015, 0, h, (0.03, w, look.height - h), tone(c, 0.8), "wood"), box(0.01, 0, h, (d - 0.08, w - 0.06, 0.003), "#2a2420")]
    return out + [at("sphere" if i % 2 else "box", (i % 2 - 0.5) * 0.12, (i - 1.5) * w * 0.2, h - 0.05, (0.12, 0.12, 0.12), y) for i, y in enumerate(("#e0483c", "#3c8ad8", "#f2d43c", "#4fa84a"))]


@kind("building blocks", (0.24, 0.32), (0.28, 0.36), (0.24, 0.32), colours=("",), materials=("wood",))
def building_blocks(look: Look) -> list[Part]:
    """A tower of coloured cubes with a roof."""
    s, h = 0.08, look.height
    colours = ("#d8443a", "#3c7ad0", "#f0cc3a", "#4fa04a", "#e88a2c", "#9a5ac0")
    spots = ((-0.085, -0.09), (-0.085, 0.09), (0.0, 0.1), (0.0, -0.09), (0.085, -0.07), (0.085, 0.09))
    out = [box(x, y, 0, (s, s, s), c) for (x, y), c in zip(spots, colours, strict=True)]
    return [*out, box(0, -0.03, s, (s, s, h - s - 0.08), "#3c7ad0"), at("cone", 0, -0.03, h - 0.08, (0.1, 0.1, 0.08), "#d8443a"), box(0, 0.07, s, (s, s, s), "#f0cc3a")]


@kind("ball", (0.2, 0.24), (0.2, 0.24), (0.2, 0.24), colours=("red", "blue", "orange", "yellow", "green"), materials=("rubber",))
def ball(look: Look) -> list[Part]:
    """A ball with a white stripe."""
    d = min(look.depth, look.width, look.height)
    return [at("sphere", 0, 0, 0, (d, d, d), look.colour), at("ring_x", 0, 0, -0.001, (0.02, d * 1.01, d * 1.01), "#f8f6f0")]


@kind("toy car", (0.16, 0.2), (0.3, 0.36), (0.14, 0.17), colours=("red", "yellow", "blue", "green"), materials=("plastic",))
def toy_car(look: Look) -> list[Part]:
    """Body, cabin and four wheels."""
    d, w, h = look.depth, look.width, look.height
    out = [box(0, 0, 0.04, (d - 0.03, w, h * 0.4), look.colour), at("frustum", 0, -0.02, 0.04 + h * 0.4, (d - 0.04, w * 0.6, h * 0.32), "#b8d8ea", "glass"), box(0, -0.02, h - 0.02, (d * 0.5, w * 0.34, 0.02), look.colour)]
    return out + [at("cylinder_x", x * (d / 2 - 0.02), y * w * 0.3, 0, (0.04, 0.08, 0.08), "black") for x in (-1, 1) for y in (-1, 1)]


@kind("basket", (0.32, 0.4), (0.36, 0.44), (0.26, 0.34), colours=("beige", "brown"), materials=("wicker",), states=("full", "empty"))
def basket(look: Look) -> list[Part]:
    """A round wicker basket, with balls of wool when full."""
    d, w, h = look.depth, look.width, look.height - 0.06
    out = [at("bowl", 0, 0, 0, (d, w, h), look.colour, "wicker"), at("cylinder", 0, 0, h - 0.004, (d * 0.88, w * 0.88, 0.006), "#2e2620")]
    if look.state == "full":
        out += [at("sphere", x, y, h - 0.08, (0.13, 0.13, 0.13), c, "fabric") for x, y, c in ((-0.06, -0.07, "#c8443a"), (0.06, 0.02, "#3c6fb0"), (-0.04, 0.08, "#e8c03c"))]
    return out


@kind("shoes", (0.26, 0.3), (0.22, 0.26), (0.1, 0.13), colours=("black", "brown", "red", "white", "blue", "green"), materials=("leather",))
def shoes(look: Look) -> list[Part]:
    """A pair of shoes."""
    d, w, h = look.depth, look.width, look.height
    out = []
    for s in (-1, 1):
        y = s * w * 0.26
        out += [box(0, y, 0, (d - 0.01, w * 0.38, 0.02), "#e9e6df" if look.colour != "white" else "#8a8a8a"), at("sphere", d * 0.14, y, 0.0, (d * 0.7, w * 0.38, 0.09), look.colour, "leather"),
                box(-d * 0.22, y, 0.02, (d * 0.44, w * 0.34, h - 0.02), look.colour, "leather"), box(-d * 0.22, y, h - 0.004, (d * 0.36, w * 0.24, 0.006), "#1c1a18")]
    return out


@kind("backpack", (0.2, 0.26), (0.3, 0.36), (0.42, 0.5), colours=("red", "blue", "green", "black", "orange", "purple"), materials=("fabric",))
def backpack(look: Look) -> list[Part]:
    """A bag with a front pocket and a loop."""
    c, d, w, h = look.colour, look.depth, look.width, look.height
    return [box(-0.03, 0, 0, (d - 0.06, w, h * 0.75), c, "fabric"), at("cylinder_x", -0.03, 0, h * 0.5, (d - 0.06, w, h * 0.46), c, "fabric"),
            box(look.front - 0.035, 0, 0.04, (0.07, w * 0.72, h * 0.36), tone(c, 0.8), "fabric"), at("ring_x", look.back + 0.04, 0, h - 0.06, (0.02, 0.08, 0.06), "black"),
            box(look.front - 0.03, 0, h * 0.33, (0.07, w * 0.5, 0.015), "silver", "metal")]


@kind("suitcase", (0.24, 0.3), (0.42, 0.5), (0.62, 0.72), colours=("red", "blue", "black", "green", "purple", "orange"), materials=("plastic",))
def suitcase(look: Look) -> list[Part]:
    """A ribbed case on wheels with a pulled-out handle."""
    c, d, w, h = look.colour, look.depth, look.width, look.height - 0.12
    out = [box(0, 0, 0.04, (d - 0.02, w, h - 0.04), c)]
    out += [box(0, (i - 1.5) * w * 0.22, 0.08, (d, 0.03, h - 0.12), tone(c, 0.8)) for i in range(4)]
    out += [at("sphere", x * (d / 2 - 0.04), y * (w / 2 - 0.05), 0, (0.05, 0.05, 0.05), "black") for x in (-1, 1) for y in (-1, 1)]
    return out + [box(-0.05, s * 0.1, h, (0.02, 0.02, 0.12), "silver", "metal") for s in (-1, 1)] + [box(-0.05, 0, look.height - 0.03, (0.03, 0.22, 0.03), "black")]


@kind("cardboard box", (0.35, 0.5), (0.4, 0.55), (0.3, 0.5), colours=("brown",), materials=("cardboard",), states=("open", "closed"))
def cardboard_box(look: Look) -> list[Part]:
    """A box with tape; open, its flaps stand up."""
    d, w, h = look.depth, look.width, look.height
    c = "#b98f5e"
    if look.state == "closed":
        return [box(0, 0, 0, (d, w, h), c, "paper"), box(0, 0, h - 0.002, (d, 0.06, 0.003), "#d9c79c", "paper"), box(look.front, 0, h - 0.15, (0.004, 0.06, 0.15), "#d9c79c", "paper")]
    low = h * 0.72
    out = [box(0, 0, 0, (d, w, low), c, "paper"), box(0, 0, low, (d - 0.03, w - 0.03, 0.003), "#3a2c1e")]
    out += [box(s * (d / 2 - 0.006), 0, low, (0.01, w, h - low), tone(c, 0.9), "paper") for s in (-1, 1)]
    return out + [box(0, s * (w / 2 - 0.006), low, (d, 0.01, h - low), tone(c, 1.1), "paper") for s in (-1, 1)]


@kind("jar", (0.1, 0.12), (0.1, 0.12), (0.15, 0.2), colours=("red", "yellow", "green", "orange", "brown"), materials=("glass",))
def jar(look: Look) -> list[Part]:
    """A preserving jar with coloured contents and a lid."""
    d, h = look.depth, look.height
    return [at("cylinder", 0, 0, 0, (d, d, h - 0.035), look.colour, "glass"), at("cylinder", 0, 0, h - 0.035, (d * 0.9, d * 0.9, 0.035), "#c8b890", "metal"),
            at("cylinder", 0, 0, h * 0.2, (d * 1.01, d * 1.01, h * 0.3), "#f6f0dc", "paper")]


@kind("cereal box", (0.07, 0.09), (0.19, 0.22), (0.27, 0.31), colours=("yellow", "red", "blue", "green", "orange"), materials=("cardboard",))
def cereal_box(look: Look) -> list[Part]:
    """A tall packet with a picture."""
    d, w, h = look.depth, look.width, look.height
    return [box(0, 0, 0, (d - 0.006, w, h), look.colour), at("cylinder_x", d / 2 - 0.004, 0, h * 0.2, (0.008, w * 0.7, w * 0.7), "#f6ecd0"),
            box(d / 2 - 0.004, 0, h * 0.8, (0.008, w * 0.8, h * 0.1), "#fbfaf6")]


@kind("hat", (0.28, 0.32), (0.28, 0.32), (0.12, 0.15), colours=("black", "brown", "beige", "red", "blue"), materials=("fabric",))
def hat(look: Look) -> list[Part]:
    """A brim and a crown with a band."""
    d, h = look.depth, look.height
    return [at("cylinder", 0, 0, 0, (d, d, 0.015), look.colour, "fabric"), at("frustum", 0, 0, 0.01, (d * 0.62, d * 0.62, h - 0.01), look.colour, "fabric"),
            at("cylinder", 0, 0, 0.014, (d * 0.63, d * 0.63, 0.03), tone(look.colour, 0.5))]


@kind("guitar", (0.26, 0.32), (0.38, 0.44), (1.0, 1.1), colours=("brown", "red", "black", "orange"), materials=("wood",))
def guitar(look: Look) -> list[Part]:
    """An acoustic guitar on a stand."""
    w, h, c = look.width, look.height, look.colour
    return [at("cylinder_x", 0.02, 0, 0.08, (0.1, w, w), c, "wood"), at("cylinder_x", 0.02, 0, 0.08 + w * 0.62, (0.1, w * 0.76, w * 0.76), c, "wood"),
            at("cylinder_x", 0.055, 0, 0.1 + w * 0.6, (0.04, 0.1, 0.1), "#1d1512"), box(0.06, 0, 0.1 + w * 0.6, (0.03, 0.055, h - w * 0.6 - 0.2), "#3a261a", "wood"),
            box(0.05, 0, h - 0.14, (0.03, 0.09, 0.14), "#2a1c14", "wood"), box(-0.02, 0, 0, (look.depth - 0.04, w * 0.5, 0.03), "black"), box(-0.06, 0, 0, (0.03, 0.03, 0.6), "black")]


@kind("pet bed", (0.55, 0.7), (0.65, 0.8), (0.18, 0.24), colours=SOFT, materials=("fabric",))
def pet_bed(look: Look) -> list[Part]:
    """A padded ring with a cushion."""
    d, w, h = look.depth, look.width, look.height
    return [at("cylinder", 0, 0, 0, (d, w, h * 0.9), look.colour, "fabric"), at("cylinder", 0, 0, h * 0.9, (d * 0.72, w * 0.74, 0.01), tone(look.colour, 1.6), "fabric"),
            at("sphere", 0, 0, h * 0.8, (d * 0.6, w * 0.62, h * 0.2), tone(look.colour, 1.6), "fabric")]


@kind("umbrella stand", (0.24, 0.28), (0.24, 0.28), (0.75, 0.9), colours=("black", "white", "brown", "blue"), materials=("metal",), states=("full", "empty"))
def umbrella_stand(look: Look) -> list[Part]:
    """A tall pot, with umbrellas when full."""
    d, h = look.depth, look.height
    out = [at("cylinder", 0, 0, 0, (d, d, 0.5), look.colour, "metal"), at("cylinder", 0, 0, 0.498, (d * 0.88, d * 0.88, 0.004), "#17181a")]
    if look.state == "full":
        for (x, y), c in zip(((0.04, 0.05), (-0.05, 0.0), (0.03, -0.06)), ("#c8382c", "#2f5a9c", "#3f8a4a"), strict=True):
            out += [at("cylinder", x, y, 0.5, (0.07, 0.07, h - 0.62), c, "fabric"), at("cylinder", x, y, h - 0.14, (0.03, 0.03, 0.14), "#6a4628", "wood")]
    return out


@kind("stool", (0.3, 0.36), (0.3, 0.36), (0.42, 0.48), colours=("red", "blue", "yellow", "white", "brown"), materials=("wood",))
def stool(look: Look) -> list[Part]:
    """A round seat on four legs."""
    return [at("cylinder", 0, 0, look.height - 0.04, (look.depth, look.width, 0.04), look.colour, "wood"), *legs(look, look.height - 0.04, 0.04, tone(look.colour, 0.85), "wood")]
