"""A reconstruction that is larger than memory is the same as one that is not, and loses nothing on a full disk."""

from __future__ import annotations

import errno
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eqa_nodes.core.errors import BadFrame, StorageError
from eqa_nodes.core.reconstruction.config import ReconstructionConfig
from eqa_nodes.core.reconstruction.store import LivePoints
from eqa_nodes.core.reconstruction.volume import Reconstruction
from eqa_nodes.core.types.geometry import Transform
from eqa_nodes.core.types.views import Frame, Intrinsics

K = Intrinsics(80, 60, 60.0, 60.0, 40.0, 30.0)
LEVEL = Transform((0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0))
UNBOUNDED = ReconstructionConfig(min_views=1)
BOUNDED = replace(UNBOUNDED, max_blocks=500)


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


def built(config: ReconstructionConfig) -> Reconstruction:
    reconstruction = Reconstruction(config)
    for frame in WALK:
        reconstruction.add(frame)
    return reconstruction


def rows(values: np.ndarray) -> np.ndarray:
    return np.unique(values, axis=0)


def test_what_was_on_disk_comes_back_and_mesh_and_cloud_are_the_same(tmp_path: Path) -> None:
    whole, bounded = built(UNBOUNDED), built(replace(BOUNDED, spill_folder=str(tmp_path)))
    assert bounded.spilled > 300 and bounded.blocks <= 500 and bounded.blocks + bounded.spilled == whole.blocks
    a, b = whole.mesh(), bounded.mesh()
    assert len(a.vertices) == len(b.vertices) and len(a.triangles) == len(b.triangles) > 1000
    assert np.array_equal(rows(np.hstack([a.vertices, a.colours])), rows(np.hstack([b.vertices, b.colours])))
    assert np.array_equal(rows(a.vertices[a.triangles].mean(1)), rows(b.vertices[b.triangles].mean(1)))
    assert np.array_equal(rows(whole.cloud().points), rows(bounded.cloud().points))
    assert not list(tmp_path.iterdir()), "the file has no name, so that nothing is left of it"


@pytest.mark.parametrize("config", [UNBOUNDED, BOUNDED])
def test_points_that_are_kept_up_to_date_are_those_of_the_whole(config: ReconstructionConfig) -> None:
    reconstruction, live = Reconstruction(config), LivePoints(config.voxel_m)
    for number, frame in enumerate(WALK):
        reconstruction.add(frame)
        if number % 2 == 0:
            live.update(reconstruction.changed())
    assert np.array_equal(rows(live.cloud(10_000_000).points), rows(reconstruction.cloud().points))


def test_thinned_points_are_even_and_always_the_same() -> None:
    clouds = []
    for _ in range(2):
        live, reconstruction = LivePoints(0.02), built(UNBOUNDED)
        live.update(reconstruction.changed())
        clouds.append(live.cloud(500))
    assert 200 < len(clouds[0].points) <= 500
    assert np.array_equal(clouds[0].points, clouds[1].points) and np.array_equal(clouds[0].colours, clouds[1].colours)
    assert np.ptp(clouds[0].points[:, 0]) > 7.5


def test_on_a_full_disk_nothing_is_lost_and_it_goes_on_when_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    reconstruction, real = Reconstruction(BOUNDED), os.pwrite
    for frame in WALK[:2]:
        reconstruction.add(frame)
    before = rows(reconstruction.mesh().vertices)
    written: list[int] = []

    def full(file: int, data: bytes, at: int) -> int:
        if len(written) == 5:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written.append(at)
        return real(file, data, at)

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(StorageError, match=r"No space left.*spill_folder, or raise max_blocks"):
        reconstruction.add(WALK[4])
    assert np.array_equal(before, rows(reconstruction.mesh().vertices)) and not reconstruction.spilled
    monkeypatch.undo()
    for frame in WALK[3:]:
        reconstruction.add(frame)
    assert reconstruction.spilled


def test_a_folder_that_is_not_there_is_named() -> None:
    reconstruction = Reconstruction(replace(BOUNDED, spill_folder="/nowhere/at/all"))
    for frame in WALK[:2]:
        reconstruction.add(frame)
    with pytest.raises(StorageError, match="/nowhere/at/all"):
        reconstruction.add(WALK[4])


def test_a_walk_far_from_the_origin_is_refused_by_name() -> None:
    with pytest.raises(BadFrame, match="is its pose in the map frame, in metres"):
        Reconstruction().add(along(5e6))
