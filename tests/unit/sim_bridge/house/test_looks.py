"""What a person must be able to see in pictures of the house: which lamps are on, what objects are made of."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from eqa_nodes.core.types.geometry import Pose2, camera_mount
from eqa_nodes.core.types.robot import CameraModel
from sim_bridge.house.catalogue import KINDS
from sim_bridge.house.dice import Dice
from sim_bridge.house.kinds import Look
from sim_bridge.house.render import Image
from sim_bridge.house.scene import HouseObject, ObjectPart, Opening
from sim_bridge.house.textures import GLOSS, TEXTURES, texture_of
from sim_bridge.house.world import HouseWorld
from tests.fixtures.houses import empty_room

CAMERA = CameraModel(width=160, height=120)
LAMPS = ("floor lamp", "table lamp", "desk lamp", "ceiling lamp", "pendant lamp", "wall lamp")


def room_with(*objects: HouseObject) -> HouseWorld:
    house = empty_room()
    house.openings.append(Opening("window", -0.06, 1.0, -0.06, 2.0, 0.9, 2.1, (0, -1), 99))
    house.objects += objects
    return HouseWorld(house)


def built(kind: str, colour: str, state: str) -> HouseObject:
    known = KINDS[kind]
    size = [(a + b) / 2 for a, b in (known.depth, known.width, known.height)]
    look = Look(*size, colour, known.materials[0], state, Dice(1))
    z = 2.6 - size[2] if kind in ("ceiling lamp", "pendant lamp") else 0.9 if kind != "floor lamp" else 0.0
    return HouseObject(7, kind, 0, (3.2, 1.5, z), math.pi, tuple(size), colour, look.material, state,
                       parts=known.build(look))


def seen(world: HouseWorld, tilt: float = 0.0) -> Image:
    camera = replace(CAMERA, tilt_down_deg=tilt)
    mount = camera_mount(camera.height_m, math.radians(tilt))
    return world.image(camera, Pose2(1.6, 1.5, 0.0).transform().matrix() @ mount.matrix())


def brightest(image: Image) -> float:
    """Return the brightness (0..255) that a twentieth of the object's pixels reach."""
    return float(np.quantile(image.rgb[image.labels == 7].mean(axis=1), 0.95))


@pytest.mark.parametrize(("kind", "colour"), [
    *((kind, KINDS[kind].colours[0]) for kind in LAMPS), ("floor lamp", "blue")])
def test_a_lamp_that_is_on_shines_and_warms_what_is_around(kind: str, colour: str) -> None:
    tilt = -25.0 if kind in ("ceiling lamp", "pendant lamp") else 0.0
    on, off = (seen(room_with(built(kind, colour, state)), tilt) for state in ("on", "off"))
    assert brightest(on) > brightest(off) + 25
    around = [image.rgb[image.labels == 0].astype(float) for image in (on, off)]
    gain = (around[0] - around[1]).mean(axis=1)
    assert np.quantile(gain, 0.9) > 8 and gain.mean() > 0
    warmth = [float((pixels[:, 0] - pixels[:, 2]).mean()) for pixels in around]
    assert warmth[0] > warmth[1] + 4
    assert np.array_equal(on.labels, off.labels) and np.array_equal(on.depth_m, off.depth_m)


@pytest.mark.parametrize(("colour", "channel"), [("red", 0), ("green", 1), ("blue", 2)])
def test_a_lit_shade_keeps_its_colour(colour: str, channel: int) -> None:
    image = seen(room_with(built("floor lamp", colour, "on")))
    rows, _ = np.nonzero(image.labels == 7)
    shade = (image.labels == 7) & (np.arange(120)[:, None] < rows.min() + 8)
    means = image.rgb[shade].mean(axis=0)
    assert means.argmax() == channel
    assert means[channel] > np.delete(means, channel).max() + 25


def ball(material: str, colour: str = "red", texture: str = "plain") -> HouseObject:
    part = ObjectPart("sphere", (0, 0, 0.3), (0.6, 0.6, 0.6), colour, texture)
    return HouseObject(7, "ball", 0, (2.9, 1.5, 0.8), 0.0, (0.6, 0.6, 0.6), colour, material, parts=[part])


def test_what_an_object_is_made_of_shows_in_its_highlights() -> None:
    images = {m: seen(room_with(ball(m))) for m in ("", "plastic", "ceramic", "metal")}
    spread = {m: float(np.ptp(np.quantile(i.rgb[i.labels == 7].mean(axis=1), (0.02, 0.99)))) for m, i in images.items()}
    assert spread["plastic"] > spread[""] + 8
    assert spread["ceramic"] > spread["plastic"] + 8
    assert spread["metal"] > spread[""] + 25
    assert all((i.labels == images[""].labels).all() for i in images.values())


@pytest.mark.parametrize("texture", sorted(GLOSS))
def test_a_shiny_surface_is_about_as_bright_as_a_matt_one(texture: str) -> None:
    assert texture in TEXTURES
    shiny, matt = (seen(room_with(ball("", "gray", t))) for t in (texture, "plain"))
    assert abs(shiny.rgb[shiny.labels == 7].mean() - matt.rgb[matt.labels == 7].mean()) < 30


def test_only_plain_parts_of_the_objects_own_colour_show_its_material() -> None:
    vase = ball("ceramic", "blue")
    own = vase.parts[0]
    assert texture_of(vase, own) == "ceramic"
    for other in (own._replace(colour="green"), own._replace(glow=0.5), own._replace(texture="leaves")):
        assert texture_of(vase, other) == other.texture
    assert texture_of(ball("paper"), own) == "plain"
