"""Points that are updated by changes are those of the whole reconstruction."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from eqa_nodes.core.errors import BadFrame
from eqa_nodes.core.reconstruction.config import ReconstructionConfig
from eqa_nodes.core.reconstruction.live_points import LivePoints
from eqa_nodes.core.reconstruction.volume import Reconstruction
from eqa_nodes.core.types.geometry import Transform
from eqa_nodes.core.types.views import Frame, Intrinsics

K = Intrinsics(80, 60, 60.0, 60.0, 40.0, 30.0)
LEVEL = Transform((0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0))
ONE_VIEW = ReconstructionConfig(min_views=1)


@pytest.fixture(autouse=True)
def open3d() -> Any:
    return pytest.importorskip("open3d", reason="open3d is not installed: pip install 'eqa-nodes[map3d]'")


def along(x: float) -> Frame:
    """Return a rough wall 1.5 m before a camera that has moved by x metres."""
    u, v = np.meshgrid(np.arange(K.width), np.arange(K.height))
    depth = (1.51 + 0.1 * np.sin(u / 9) * np.cos(v / 7)).astype(np.float32)
    colour = np.stack([u * 3, v * 4, u + v], axis=-1).astype(np.uint8)
    return Frame(1, colour, depth, K, Transform((x, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0)), LEVEL)


WALK = [along(x) for x in (0.0, 1.3, 2.6, 3.9, 5.2, 6.5, 5.2, 2.6, 0.0)]  # there and back


def built() -> Reconstruction:
    reconstruction = Reconstruction(ONE_VIEW)
    for frame in WALK:
        reconstruction.add(frame)
    return reconstruction


def rows(values: np.ndarray) -> np.ndarray:
    return np.unique(values, axis=0)


def test_points_that_are_kept_up_to_date_are_those_of_the_whole() -> None:
    reconstruction, live = Reconstruction(ONE_VIEW), LivePoints(ONE_VIEW.voxel_m)
    for number, frame in enumerate(WALK):
        reconstruction.add(frame)
        if number % 2 == 0:
            live.update(reconstruction.changed())
    assert np.array_equal(rows(live.cloud(10_000_000).points), rows(reconstruction.cloud().points))


def test_thinned_points_are_even_and_always_the_same() -> None:
    clouds = []
    for _ in range(2):
        live, reconstruction = LivePoints(0.02), built()
        live.update(reconstruction.changed())
        clouds.append(live.cloud(500))
    assert 200 < len(clouds[0].points) <= 500
    assert np.array_equal(clouds[0].points, clouds[1].points) and np.array_equal(clouds[0].colours, clouds[1].colours)
    assert np.ptp(clouds[0].points[:, 0]) > 7.5


def test_a_walk_far_from_the_origin_is_refused_by_name() -> None:
    with pytest.raises(BadFrame, match="is its pose in the map frame, in metres"):
        Reconstruction().add(along(5e6))
