"""Images of cameras that are mounted on their side are turned, and still show the same points of the world."""

from __future__ import annotations

import math

import numpy as np
import pytest

from eqa_nodes.core.camera.upright import quarter_turns, turned_camera, turned_image
from eqa_nodes.core.types.geometry import Transform, camera_mount, compose
from eqa_nodes.core.types.views import Intrinsics

K = Intrinsics(8, 6, 7.0, 6.5, 4.2, 2.9)


def rolled(degrees: float, tilt_deg: float = 20.0) -> Transform:
    """Return the mount of a camera that is turned clockwise about its optical axis, as seen from behind."""
    half = math.radians(degrees) / 2
    roll = Transform((0.0, 0.0, 0.0), (0.0, 0.0, math.sin(half), math.cos(half)))
    return compose(camera_mount(1.2, math.radians(tilt_deg)), roll)


@pytest.mark.parametrize(("degrees", "turns"), [
    (0, 0), (40, 0), (78, 3), (90, 3), (102, 3), (180, 2), (-90, 1), (-60, 1)])
def test_the_quarter_turns_that_put_the_ceiling_on_top(degrees: float, turns: int) -> None:
    assert quarter_turns(rolled(degrees)) == turns
    _, upright = turned_camera(K, rolled(degrees), turns)
    assert quarter_turns(upright) == 0 and upright.xyz == rolled(degrees).xyz


def test_a_camera_that_looks_straight_down_has_no_upright_image() -> None:
    assert quarter_turns(rolled(90.0, tilt_deg=75.0)) == 0


@pytest.mark.parametrize("turns", [0, 1, 2, 3])
def test_a_pixel_shows_the_same_point_after_the_turn(turns: int) -> None:
    image, mount = np.arange(48).reshape(6, 8), rolled(90.0)
    k, upright = turned_camera(K, mount, turns)
    turned = turned_image(image, turns)
    assert turned.shape == (k.height, k.width) and turned.flags["C_CONTIGUOUS"]
    for v, u in np.ndindex(image.shape):
        w, t = (int(at[0]) for at in np.nonzero(turned == image[v, u]))
        assert point(upright, k, t, w) == pytest.approx(point(mount, K, u, v))


def point(mount: Transform, k: Intrinsics, u: int, v: int) -> np.ndarray:
    ray = np.array([(u + 0.5 - k.cx) / k.fx, (v + 0.5 - k.cy) / k.fy, 1.0, 0.5])
    return (mount.matrix() @ (2 * ray))[:3]
