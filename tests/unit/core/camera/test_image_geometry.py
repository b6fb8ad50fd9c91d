"""Rectified, registered and upright pictures: formulas worked out by hand, and lines that stay straight."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eqa_nodes.core.camera.image_geometry import (
    Distortion,
    Rectifier,
    distortion_of,
    quarter_turns,
    turned_camera,
    turned_image,
)
from eqa_nodes.core.errors import BadFrame
from eqa_nodes.core.types.geometry import Transform, camera_mount, compose
from eqa_nodes.core.types.views import Intrinsics
from tests.fixtures.house_views import BENT, CAMERA, bent, shots, unbend

W, H = 48, 36
K = (40.0, 41.0, 23.5, 17.5)


def fisheye(x: float, y: float, c: tuple[float, ...]) -> tuple[float, float]:
    """The model as its paper has it: the angle to the axis, and then its odd powers."""
    theta = math.atan(math.hypot(x, y))
    bent = theta + sum(k * theta ** (2 * i + 3) for i, k in enumerate(c))
    share = bent / math.hypot(x, y) if x or y else 1.0
    return x * share, y * share


def brown(x: float, y: float, c: tuple[float, ...]) -> tuple[float, float]:
    k1, k2, p1, p2, k3 = c
    r2 = x * x + y * y
    radial = 1 + k1 * r2 + k2 * r2**2 + k3 * r2**3
    return x * radial + 2 * p1 * x * y + p2 * (r2 + 2 * x * x), y * radial + p1 * (r2 + 2 * y * y) + 2 * p2 * x * y


SMALL = st.floats(-0.05, 0.05)


@settings(max_examples=40)
@given(st.tuples(SMALL, SMALL, SMALL, SMALL), st.integers(4, W - 5), st.integers(4, H - 5))
def test_a_point_through_a_fisheye_is_where_it_was(c: tuple[float, ...], u: int, v: int) -> None:
    _check(Distortion(c, K, K, W, H, fisheye=True), u, v, fisheye((u - K[2]) / K[0], (v - K[3]) / K[1], c))


@settings(max_examples=40)
@given(st.tuples(st.floats(-0.2, 0.2), SMALL, st.floats(-0.01, 0.01), st.floats(-0.01, 0.01), SMALL),
       st.integers(4, W - 5), st.integers(4, H - 5))
def test_a_point_through_a_lens_is_where_it_was(c: tuple[float, ...], u: int, v: int) -> None:
    _check(Distortion(c, K, K, W, H), u, v, brown((u - K[2]) / K[0], (v - K[3]) / K[1], c))


def _check(lens: Distortion, u: int, v: int, ray: tuple[float, float]) -> None:
    column, row = round(K[0] * ray[0] + K[2]), round(K[1] * ray[1] + K[3])
    image = np.zeros((H, W), np.float32)
    if not (0 <= column < W and 0 <= row < H):
        return
    image[row, column] = 7.0
    assert Rectifier(lens).nearest(image)[v, u] == 7.0


@given(st.floats(-0.9, 0.9), st.floats(-0.7, 0.7))
def test_bending_and_unbending_are_each_others_inverse(x: float, y: float) -> None:
    assert unbend(*brown(x, y, BENT), BENT) == pytest.approx((x, y), abs=1e-6)


def test_a_house_through_a_lens_is_straight_again() -> None:
    k = CAMERA.intrinsics
    matrix = (k.fx, k.fy, k.cx - 0.5, k.cy - 0.5)
    maps = Rectifier(Distortion(BENT, matrix, matrix, k.width, k.height))
    for number in (0, 5, 9):
        rgb, depth_m = bent(number)
        seen, true = maps.nearest(depth_m), shots()[number].depth_m
        assert (np.abs(seen - true) < 0.05 * true).mean() > 0.98
        before, after = (np.abs(image.astype(int) - shots()[number].rgb).mean() for image in (rgb, maps.rgb(rgb)))
        assert after < 0.35 * before


def info(model: str, d: tuple[float, ...]) -> SimpleNamespace:
    return SimpleNamespace(k=[40.0, 0, 23.5, 0, 41.0, 17.5, 0, 0, 1], p=[38.0, 0, 23, 0, 0, 39.0, 17, 0, 0, 0, 1, 0],
                           d=d, distortion_model=model, width=W, height=H)


def test_the_model_is_as_camera_info_says() -> None:
    four = (0.01, 0.02, 0.0, 0.0)
    assert distortion_of(info("equidistant", four), (False,)) == Distortion(four, K, K, W, H, True)
    assert not distortion_of(info("rational_polynomial", (*four, 0.1, 0.2, 0.3, 0.4)), (False,)).fisheye
    rectified = distortion_of(info("plumb_bob", four), (True,))
    assert rectified.nothing and rectified.straight == (38.0, 39.0, 23.0, 17.0)
    for model, d in (("equidistant", (*four, 0.1)), ("plumb_bob", four[:3]), ("plumb_bob", (math.nan, *four[:3])),
                     ("thin_prism", four)):
        with pytest.raises(BadFrame, match=f"distortion {model!r} with {len(d)} coefficients"):
            distortion_of(info(model, d), (False,))


KU = Intrinsics(8, 6, 7.0, 6.5, 4.2, 2.9)


def rolled(degrees: float, tilt_deg: float = 20.0) -> Transform:
    """Return the mount of a camera that is turned clockwise about its optical axis, as seen from behind."""
    half = math.radians(degrees) / 2
    roll = Transform((0.0, 0.0, 0.0), (0.0, 0.0, math.sin(half), math.cos(half)))
    return compose(camera_mount(1.2, math.radians(tilt_deg)), roll)


@pytest.mark.parametrize(("degrees", "turns"), [
    (0, 0), (40, 0), (78, 3), (90, 3), (102, 3), (180, 2), (-90, 1), (-60, 1)])
def test_the_quarter_turns_that_put_the_ceiling_on_top(degrees: float, turns: int) -> None:
    assert quarter_turns(rolled(degrees)) == turns
    _, upright = turned_camera(KU, rolled(degrees), turns)
    assert quarter_turns(upright) == 0 and upright.xyz == rolled(degrees).xyz


def test_a_camera_that_looks_straight_down_has_no_upright_image() -> None:
    assert quarter_turns(rolled(90.0, tilt_deg=75.0)) == 0


@pytest.mark.parametrize("turns", [0, 1, 2, 3])
def test_a_pixel_shows_the_same_point_after_the_turn(turns: int) -> None:
    image, mount = np.arange(48).reshape(6, 8), rolled(90.0)
    k, upright = turned_camera(KU, mount, turns)
    turned = turned_image(image, turns)
    assert turned.shape == (k.height, k.width) and turned.flags["C_CONTIGUOUS"]
    for v, u in np.ndindex(image.shape):
        w, t = (int(at[0]) for at in np.nonzero(turned == image[v, u]))
        assert point(upright, k, t, w) == pytest.approx(point(mount, KU, u, v))


def point(mount: Transform, k: Intrinsics, u: int, v: int) -> np.ndarray:
    ray = np.array([(u + 0.5 - k.cx) / k.fx, (v + 0.5 - k.cy) / k.fy, 1.0, 0.5])
    return (mount.matrix() @ (2 * ray))[:3]
