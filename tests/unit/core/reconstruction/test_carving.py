"""What was taken away fades out of the reconstruction, and what was put there comes in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.reconstruction.config import ReconstructionConfig
from eqa_nodes.core.reconstruction.volume import Reconstruction
from eqa_nodes.core.types.geometry import Transform
from eqa_nodes.core.types.views import Frame, Intrinsics

K = Intrinsics(160, 120, 120.0, 120.0, 80.0, 60.0)
LEVEL = Transform((0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0))
WALL_M, BOX_M = 2.51, 1.47
FRAMES = 25


@pytest.fixture(autouse=True)
def open3d() -> Any:
    return pytest.importorskip("open3d", reason="open3d is not installed: pip install 'eqa-nodes[map3d]'")


def view(box: bool) -> Frame:
    """A wall, and before it a box where columns 60 to 100 and rows 40 to 80 see it; optical axes = map axes."""
    depth = np.full((K.height, K.width), WALL_M, np.float32)
    colour = np.full((K.height, K.width, 3), (200, 200, 200), np.uint8)
    if box:
        depth[40:80, 60:100], colour[40:80, 60:100] = BOX_M, (200, 0, 0)
    return Frame(1, colour, depth, K, LEVEL, LEVEL)


def built(*boxes: bool) -> Reconstruction:
    reconstruction = Reconstruction()
    for box in boxes:
        reconstruction.add(view(box))
    return reconstruction


def parts(reconstruction: Reconstruction) -> tuple[int, int]:
    """Return how many vertices lie on the box's front, and on the wall where the box hides it."""
    x, y, z = reconstruction.mesh().vertices.T
    on_box = np.abs(z - BOX_M) < 0.05
    on_wall = (np.abs(z - WALL_M) < 0.05) & (np.abs(x) < 0.3) & (np.abs(y) < 0.3)
    return int(on_box.sum()), int(on_wall.sum())


def test_what_was_taken_away_is_gone_and_the_wall_behind_is_there() -> None:
    box, wall = parts(built(*[True] * FRAMES))
    assert box > 300 and wall == 0
    box, wall = parts(built(*[True] * FRAMES, *[False] * FRAMES))
    assert box == 0 and wall > 300


def test_what_was_put_there_is_there() -> None:
    box, wall = parts(built(*[False] * FRAMES, *[True] * FRAMES))
    assert box > 300 and wall > 300  # the wall is hidden, not gone


def test_one_look_through_takes_nothing_away() -> None:
    assert parts(built(*[True] * FRAMES, False))[0] > 300


def test_what_is_hidden_or_has_no_depth_is_kept() -> None:
    reconstruction = built(*[False] * FRAMES)
    blind = view(True)
    blind.depth_m[blind.depth_m == np.float32(BOX_M)] = 0.0
    for _ in range(2 * FRAMES):
        reconstruction.add(blind)
    assert parts(reconstruction)[1] > 300


def test_weights_are_bounded_and_must_let_a_surface_through() -> None:
    reconstruction = Reconstruction(ReconstructionConfig(max_weight=3))
    for _ in range(6):
        reconstruction.add(view(False))
    assert reconstruction._blocks.values()[1].max() == 3.0
    with pytest.raises(ConfigError, match="max_weight is 1, less than min_views"):
        ReconstructionConfig(max_weight=1)
