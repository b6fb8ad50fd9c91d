"""Pixels of one kind become instances where they are connected in space."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from eqa_nodes.core.perception.kind_maps import instances_of_kinds
from eqa_nodes.core.types.views import Frame
from tests.fixtures.frames import H, W, frame

NAMES = {1: "chair", 2: "bed"}


def seen(*blocks: tuple[int, int, int, int, int, float]) -> tuple[Frame, np.ndarray]:
    """Return a wall 3.5 m ahead with blocks before it (left, top, right, bottom, kind, depth), and the kinds."""
    depth, kinds = np.full((H, W), 3.5, np.float32), np.zeros((H, W), np.int64)
    for left, top, right, bottom, kind, z in blocks:
        depth[top:bottom, left:right], kinds[top:bottom, left:right] = z, kind
    return replace(frame(1), depth_m=depth), kinds


def test_objects_of_one_kind_are_apart_in_the_image_or_in_depth() -> None:
    view, kinds = seen((5, 10, 15, 30, 1, 1.5), (40, 10, 50, 30, 1, 1.5), (15, 10, 25, 30, 1, 2.5),
                       (28, 10, 36, 30, 2, 2.0))
    found = instances_of_kinds(view, kinds, np.where(kinds == 2, 0.9, 0.6).astype(np.float32), NAMES)
    assert [(d.name, d.box, d.score) for d in found] == [
        ("bed", (28, 10, 36, 30), 0.9), ("chair", (5, 10, 15, 30), 0.6), ("chair", (15, 10, 25, 30), 0.6),
        ("chair", (40, 10, 50, 30), 0.6)]
    assert all(d.mask is not None and d.mask.sum() == (d.box[2] - d.box[0]) * 20 for d in found)


@pytest.mark.parametrize("z", [0.0, 0.05, 9.0, np.nan])
def test_pixels_without_depth_in_range_and_kinds_without_name_are_left_out(z: float) -> None:
    view, kinds = seen((5, 10, 15, 30, 1, z), (30, 10, 40, 30, 7, 1.5))
    assert instances_of_kinds(view, kinds, np.ones((H, W), np.float32), NAMES) == []
    assert instances_of_kinds(view, kinds * 0 - 1, np.ones((H, W), np.float32), NAMES) == []
