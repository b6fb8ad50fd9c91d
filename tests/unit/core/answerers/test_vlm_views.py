"""What a model is shown: letters where the places are, untouched pictures elsewhere; and in which scale it points."""

from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from eqa_nodes.core.answerers.vlm_views import (
    PIXELS,
    SHARES,
    THOUSANDTHS,
    PointScale,
    distinct,
    heading,
    lettered,
    picture,
    point_in,
)
from eqa_nodes.core.errors import BadFrame
from eqa_nodes.core.memory.keyframes import jpeg_of_pixels
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.views import FloorPixel, Keyframe
from tests.fixtures.rooms import view
from tests.fixtures.vlm_replies import SIZE, SPOTS, jpeg

RADIUS = 16


def placed(*places: FloorPixel, colour: str = "gray") -> Keyframe:
    return replace(view(1, Pose2(1.0, 2.0, 0.0), jpeg=jpeg(colour)), places=places)


def shown(one: Keyframe, max_side_px: int = 0) -> np.ndarray:
    """Return the decoded picture, (H, W, 3) int."""
    return np.asarray(Image.open(io.BytesIO(picture(one, lettered(one), max_side_px)))).astype(int)


def changed(one: Keyframe) -> np.ndarray:
    """Return (H, W) bool: what the letters have changed."""
    plain = np.asarray(Image.open(io.BytesIO(one.jpeg))).astype(int)
    return np.abs(shown(one) - plain).max(axis=2) > 40


def off(place: FloorPixel) -> np.ndarray:
    """Return (H, W) distances to a place in pixels."""
    v, u = np.mgrid[:SIZE[1], :SIZE[0]]
    return np.hypot(u - place.u, v - place.v)


def test_letters_stand_in_the_order_of_the_places() -> None:
    assert lettered(placed(*SPOTS)) == dict(zip("ABC", SPOTS))
    assert lettered(placed()) == {}


@pytest.mark.parametrize("colour", ["white", "black", "gray"])
def test_a_disc_is_drawn_at_each_place_and_nowhere_else(colour: str) -> None:
    one = placed(*SPOTS, colour=colour)
    marks = changed(one)
    for place in SPOTS:
        assert marks[off(place) <= RADIUS].mean() > 0.1
    assert not marks[np.min([off(place) for place in SPOTS], axis=0) > RADIUS + 8].any()


def test_every_disc_holds_another_letter() -> None:
    """Dark ink in the white of the disc, and a different shape in each."""
    image = shown(placed(*SPOTS)).mean(axis=2)
    inks = [image[p.v - 10:p.v + 11, p.u - 10:p.u + 11] < 100 for p in SPOTS]
    assert all(30 < ink.sum() < 250 for ink in inks)
    assert all((a != b).sum() > 30 for i, a in enumerate(inks) for b in inks[:i])
    moved = shown(placed(SPOTS[0]._replace(u=200)))
    again = moved[390:411, 190:211].mean(axis=2) < 100
    assert (again != inks[0]).sum() < 20


def test_a_disc_at_the_border_is_whole() -> None:
    corner = changed(placed(FloorPixel(639, 479, 2.0, 0.0), colour="black"))
    inside = changed(placed(FloorPixel(320, 240, 2.0, 0.0), colour="black"))
    assert corner.sum() == pytest.approx(inside.sum(), rel=0.1)


def test_a_scaled_picture_has_its_letters_where_the_floor_is() -> None:
    image = shown(placed(*SPOTS, colour="black"), max_side_px=320)
    assert image.shape == (240, 320, 3)
    bright = image.mean(axis=2) > 150
    v, u = np.nonzero(bright[:, :110])
    assert (u.mean(), v.mean()) == pytest.approx((60, 200), abs=3)


def test_without_letters_the_stored_bytes_are_sent() -> None:
    one = placed(*SPOTS)
    assert picture(one, {}) == picture(one, {}, max_side_px=640) == one.jpeg
    assert picture(placed(), lettered(placed())) == placed().jpeg


def test_the_same_view_is_drawn_the_same() -> None:
    one = placed(*SPOTS)
    assert picture(one, lettered(one)) == picture(one, lettered(one)) != one.jpeg


@pytest.mark.parametrize("broken", [b"", b"not an image", jpeg()[:200]])
def test_broken_images_are_named(broken: bytes) -> None:
    one = replace(placed(*SPOTS), jpeg=broken)
    with pytest.raises(BadFrame, match="keyframe 1"):
        picture(one, lettered(one))


def test_the_heading_says_where_and_what() -> None:
    one = replace(placed(*SPOTS), caption="a sofa")
    assert heading(2, one, lettered(one)) == (
        "Picture 2: taken at (1.0, 2.0) m, looking to 0 degrees, letters A, B, C, a sofa")
    assert heading(2, placed(), {}) == "Picture 2: taken at (1.0, 2.0) m, looking to 0 degrees"


SENT = (512, 384)


def read(scale: PointScale, *points: object, size: tuple[int, int] = SENT) -> list[tuple[float, float] | None]:
    name = scale.of([(point, size) for point in points])
    return [point_in(point, size, name) for point in points]


@pytest.mark.parametrize(("points", "size", "scale"), [
    ([[0.4, 0.37]], SENT, SHARES), ([[1, 0.5], [0, 1.0]], SENT, SHARES), ([], SENT, SHARES), (["middle"], SENT, SHARES),
    ([[400, 370]], SENT, THOUSANDTHS), ([[400, 370], [700, 420]], SENT, THOUSANDTHS),
    ([[400, 370], [100, 380], [500, 120], [90, 90]], SENT, PIXELS), ([[1100, 200], [40, 90]], (1280, 960), PIXELS),
    ([[400, 370], [100, 380], [500, 120], [90, 90]], (1280, 960), THOUSANDTHS)])
def test_the_scale_is_decided_once_a_reply(points: list[object], size: tuple[int, int], scale: str) -> None:
    assert PointScale().of([(point, size) for point in points]) == scale


def test_one_point_of_a_model_that_writes_thousandths() -> None:
    assert read(PointScale(), [400, 370]) == [(0.4, 0.37)]


def test_what_a_model_writes_is_remembered() -> None:
    thousandths = PointScale()
    assert read(thousandths, [700, 420]) == [(0.7, 0.42)]
    for _ in range(3):
        assert read(thousandths, [400, 370]) == [(0.4, 0.37)]
    pixels = PointScale()
    read(pixels, [1100, 200], size=(1280, 960))
    assert read(pixels, [128, 96]) == [(0.25, 0.25)]
    assert read(pixels, [0.25, 0.5]) == [(0.25, 0.5)]


@pytest.mark.parametrize(("value", "point"), [
    ({"x": 250, "y": 500}, (0.25, 0.5)), ([[250, 500]], (0.25, 0.5)), (["25%", "50%"], (0.25, 0.5)),
    ([200, 400, 300, 600], (0.25, 0.5)), ({"x": 250}, None), ([[250], [500]], None), ([], None),
    ({"x": 1, "y": []}, None), ([2000, 3], None), ([-1, 500], None)])
def test_points_are_read_in_the_forms_that_models_write(value: object, point: tuple[float, float] | None) -> None:
    assert point_in(value, SENT, THOUSANDTHS) == point


def noisy(number: int, noise: int = 3, spot: bool = False, at: Pose2 = Pose2(1.0, 2.0, 0.0)) -> Keyframe:
    """Return a view of a camera at rest: the same picture with other noise; spot: with a thing that the others lack."""
    rng = np.random.default_rng(number)
    pixels = (100 + rng.integers(-noise, noise + 1, (480, 640, 3))).astype(np.uint8)
    if spot:
        pixels[200:220, 300:320] = 255
    return replace(view(number, at), jpeg=jpeg_of_pixels(pixels))


def test_views_of_a_camera_at_rest_are_shown_once() -> None:
    same = [noisy(n) for n in range(1, 6)]
    assert distinct(same, 16) == same[:1]
    thing, elsewhere = noisy(6, spot=True), noisy(7, at=Pose2(1.2, 2.0, 0.0))
    later = replace(noisy(8), caption="3 s later")
    assert distinct([*same, thing, elsewhere, later], 16) == [same[0], thing, elsewhere, later]
    assert distinct([same[0], elsewhere, same[1], thing], 2) == [same[0], elsewhere]
    broken = [replace(one, jpeg=jpeg) for one, jpeg in zip(same, (b"", b"junk", b"other junk"), strict=False)]
    assert distinct(broken, 16) == broken, "what cannot be compared repeats nothing"
    assert distinct([], 3) == []


def test_no_position_is_negative_zero() -> None:
    said = heading(1, replace(placed(), map_from_base=Pose2(-0.01, -0.04, -0.001).transform()), {})
    assert "taken at (0.0, 0.0) m, looking to 0 degrees" in said
