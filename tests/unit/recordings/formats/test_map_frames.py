"""When a recorded world is believed to have z up and its floor at 0; test_rgbd_layouts.py levels whole recordings."""

from __future__ import annotations

import math

import numpy as np
import pytest

from eqa_nodes.core.errors import BadFrame, StorageError
from eqa_nodes.core.reconstruction.levelling import FLOOR, Ground
from eqa_nodes.recordings.formats.map_frames import _believed, find_map_frame

FIRST = np.eye(4)
FIRST[:3, 3] = 2.0, 0.0, 1.2


def ground(leans_deg: float = 0.0, height_m: float = 0.0, points: int = 10_000, how: str = FLOOR) -> Ground:
    """Return a map whose z leans towards the world's x, with the world's origin at a height above the floor."""
    frame = np.eye(4)
    a = math.radians(leans_deg)
    frame[0, [0, 2]], frame[2] = (math.cos(a), -math.sin(a)), (math.sin(a), 0.0, math.cos(a), height_m)
    return Ground(frame, how, points, 0.01, 0.0, math.nan)


@pytest.mark.parametrize(("leans_deg", "height_m", "floor_at_0", "kept"), [
    (4.9, 0.0, True, True), (5.1, 0.0, True, False), (0.0, 0.29, True, True), (0.0, 0.31, True, False),
    (0.0, -0.29, True, True), (0.0, -0.31, True, False), (0.0, 5.0, False, True),
    (4.9, 0.12, True, True), (4.9, 0.14, True, False)])  # 2 m * sin(4.9 deg) = 0.171 m at the first camera
def test_a_world_is_kept_unless_its_floor_contradicts_it(leans_deg: float, height_m: float, floor_at_0: bool,
                                                         kept: bool) -> None:
    found = _believed(ground(leans_deg, height_m), FIRST, floor_at_0)
    assert np.array_equal(found.map_from_world, np.eye(4)) == kept
    assert (f"the floor leans by {leans_deg:.1f} degrees to it" in found.note) == kept
    if not kept:
        assert f"the recorded z leans by {leans_deg:.1f} degrees" in found.note
        assert "m from its 0" in found.note


def test_too_little_floor_proves_nothing() -> None:
    found = _believed(ground(20.0, points=100), FIRST, True)
    assert np.array_equal(found.map_from_world, np.eye(4)) and "not enough floor was seen" in found.note


def test_recordings_without_a_usable_image_are_kept_or_named() -> None:
    def read(index: int):  # type: ignore[no-untyped-def]
        raise BadFrame(f"image {index} is broken")

    assert np.array_equal(find_map_frame("tour", 3, read, z_up=True).map_from_world, np.eye(4))
    with pytest.raises(StorageError, match="tour: no image can be used to find the floor: image 23 is broken"):
        find_map_frame("tour", 24, read)
    with pytest.raises(StorageError, match="image 24 is broken"):  # of 25 images every other one is looked at
        find_map_frame("tour", 25, read)
