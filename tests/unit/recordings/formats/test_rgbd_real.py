"""A recorded RGB-D sequence goes through the mapper and the memory; depth of other sensors is decoded."""

from __future__ import annotations

import shutil
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

from eqa_nodes.core.errors import BadFrame, StorageError
from eqa_nodes.core.mapping.config import MapperConfig
from eqa_nodes.core.mapping.mapper import Mapper
from eqa_nodes.core.memory import MemoryStore
from eqa_nodes.core.types.questions import RecallQuery
from eqa_nodes.core.types.views import Frame
from eqa_nodes.recordings.bags.export import write_bag
from eqa_nodes.recordings.formats.openeqa_folder import write_openeqa
from eqa_nodes.recordings.formats.rgbd_folder import read_depth, read_redwood, read_trajectory
from eqa_nodes.recordings.histories import open_history
from eqa_nodes.wire import images
from tests.fixtures.data import shared_data
from tests.fixtures.foreign_bags import depth_png, inverse_depth_png


@pytest.fixture(scope="module")
def frames() -> list[Frame]:
    return list(read_redwood(shared_data("rgbd-real")))


def _points(frame: Frame) -> np.ndarray:
    """(4, n) homogeneous points of a frame in the map."""
    v, u = np.nonzero(frame.depth_m)
    z, k = frame.depth_m[v, u].astype(np.float64), frame.intrinsics
    camera = np.stack([(u + 0.5 - k.cx) / k.fx * z, (v + 0.5 - k.cy) / k.fy * z, z, np.ones_like(z)])
    return frame.map_from_camera() @ camera


def _disagreement_m(a: Frame, b: Frame) -> float:
    """Median difference between the depth of b and that of a's points as b should see them."""
    x, y, z, _ = np.linalg.inv(b.map_from_camera()) @ _points(a)
    k = b.intrinsics
    u, v = (np.floor(p).astype(int) for p in (x / z * k.fx + k.cx, y / z * k.fy + k.cy))
    inside = (z > 0) & (u >= 0) & (u < k.width) & (v >= 0) & (v < k.height)
    measured = b.depth_m[v[inside], u[inside]]
    assert (measured > 0).mean() > 0.8
    return float(np.median(np.abs(measured - z[inside])[measured > 0]))


def test_surfaces_agree_between_frames(frames: list[Frame]) -> None:
    assert len(frames) == 5
    for a, b in pairwise(frames):
        assert _disagreement_m(a, b) < 0.01
    assert _disagreement_m(frames[0], frames[4]) < 0.02


def test_the_map_stands_upright_on_its_floor(frames: list[Frame]) -> None:
    for frame in frames:
        heights = _points(frame)[2]
        assert heights.min() > -0.1
        assert (np.abs(heights) < 0.03).mean() > 0.2  # a good part of these views is floor
        assert heights.max() < 2.7
    assert frames[0].pose == pytest.approx((0.0, 0.0, 0.0), abs=1e-9)
    looks_at = _points(frames[0])[:3].mean(axis=1)
    assert looks_at[0] > 1.0
    assert abs(looks_at[1]) < looks_at[0]
    assert 0.3 < frames[0].map_from_camera()[2, 3] < 0.6


def test_the_mapper_makes_a_grid_of_it(frames: list[Frame]) -> None:
    mapper = Mapper(MapperConfig())
    for frame in frames:
        mapper.integrate(frame)
    grid = mapper.grid()
    assert grid.stamp_ns == frames[-1].stamp_ns
    assert np.count_nonzero(grid.cells == 0) > 100
    assert np.count_nonzero(grid.cells == 100) > 40
    column, row = (int((p - o) / grid.resolution_m) for p, o in zip((2.2, -0.5), grid.origin, strict=True))
    assert (grid.cells[row - 3:row + 4, column - 3:column + 4] == 100).any()  # the armchair
    column, row = (int((p - o) / grid.resolution_m) for p, o in zip((1.3, 0.1), grid.origin, strict=True))
    assert grid.cells[row, column] == 0  # the floor before it
    surface = mapper.points()
    assert len(surface) > 500
    assert surface[:, 2].min() > -0.2


def test_the_memory_keeps_what_is_new(frames: list[Frame], tmp_path: Path) -> None:
    store = MemoryStore(tmp_path / "memory.db")
    taken = [store.take(frame, {}) for frame in frames]
    kept = [k for k in taken if k is not None]
    assert [k.id for k in kept] == [1]  # ten centimetres and four degrees are one view
    found = store.recall(RecallQuery("Is there a chair?"))
    assert [item.keyframe for item in found] == kept  # nothing describes it, so nothing rules it out
    (tmp_path / "view.jpg").write_bytes(kept[0].jpeg)
    assert Image.open(tmp_path / "view.jpg").size == (640, 480)
    store.close()


def test_depth_of_tum_is_in_metres() -> None:
    depth = read_depth(shared_data("rgbd-real/other_formats") / "TUM_depth.png", 5000.0)
    seen = depth[depth > 0]
    assert (depth.shape, depth.dtype) == ((480, 640), np.float32)
    assert seen.size > 0.7 * depth.size
    assert 0.5 < np.percentile(seen, 2) < np.percentile(seen, 98) < 10.0 and 1.5 < np.median(seen) < 4.0
    steps = np.abs(np.diff(depth, axis=1))[(depth[:, 1:] > 0) & (depth[:, :-1] > 0)]
    assert np.median(steps) < 0.02  # rooms are smooth


def test_the_sequence_is_the_same_out_of_a_bag_and_nearly_out_of_a_folder(frames: list[Frame], tmp_path: Path) -> None:
    write_bag(frames, tmp_path / "bag")
    write_openeqa(frames, tmp_path / "folder")
    exact, near = (list(open_history(tmp_path / name)) for name in ("bag", "folder"))
    for a, b, c in zip(frames, exact, near, strict=True):
        assert (a.stamp_ns, a.intrinsics, a.map_from_base, a.base_from_camera) == (
            b.stamp_ns, b.intrinsics, b.map_from_base, b.base_from_camera)
        assert np.array_equal(a.rgb, b.rgb) and np.array_equal(a.depth_m, b.depth_m)
        assert a.stamp_ns == c.stamp_ns and np.array_equal(a.rgb, c.rgb)
        assert np.abs(a.depth_m - c.depth_m).max() <= 10 / 65535 / 2 + 1e-6  # half a step of the folder's depth
        assert np.allclose(a.map_from_camera(), c.map_from_camera(), atol=1e-6, rtol=0)


def test_depth_of_another_sensor_survives_every_encoding_of_ros() -> None:
    depth = read_depth(shared_data("rgbd-real/other_formats") / "TUM_depth.png", 5000.0)
    raw = np.rint(depth * 1000).astype(np.uint16)
    floats = _image("32FC1", depth)
    assert np.array_equal(images.depth_of(floats), depth)
    big = _image("16UC1", raw.astype(">u2"), big=True)
    for packed in (_image("16UC1", raw), big, _compressed("16UC1", depth_png(depth))):
        assert np.abs(images.depth_of(packed) - depth).max() <= 0.0005 + 1e-6  # half a millimetre
    inverse = images.depth_of(_compressed("32FC1", inverse_depth_png(depth, farthest_m=20.0)))
    assert np.array_equal(inverse > 0, depth > 0)
    assert (np.abs(inverse - depth) <= depth**2 / 10_000).all()  # one step of inverse depth: 1 mm at 3 m


def _image(encoding: str, pixels: np.ndarray, big: bool = False) -> Any:
    return SimpleNamespace(encoding=encoding, height=pixels.shape[0], width=pixels.shape[1], is_bigendian=int(big),
                           step=pixels.strides[0], data=pixels.tobytes())


def _compressed(encoding: str, data: bytes) -> Any:
    return SimpleNamespace(format=f"{encoding}; compressedDepth png", data=data)


@pytest.mark.parametrize(("steps", "raw", "metres"), [
    (1000.0, 0, 0.0), (1000.0, 1, 0.001), (1000.0, 65534, 65.534), (1000.0, 65535, 0.0), (5000.0, 5000, 1.0),
    (5000.0, 65535, 0.0)])
def test_depth_by_hand(steps: float, raw: int, metres: float, tmp_path: Path) -> None:
    Image.fromarray(np.full((1, 1), raw, np.uint16)).save(tmp_path / "depth.png")
    assert read_depth(tmp_path / "depth.png", steps)[0, 0] == pytest.approx(metres)


def test_a_folder_that_does_not_fit_together_is_named(tmp_path: Path) -> None:
    source = shared_data("rgbd-real")
    for name in ("color", "depth"):
        (tmp_path / name).mkdir()
        image = next((source / name).iterdir())
        shutil.copyfile(image, tmp_path / name / image.name)
    shutil.copyfile(source / "trajectory.log", tmp_path / "trajectory.log")
    with pytest.raises(StorageError, match="1 colour and 1 depth images for 5 poses"):
        read_redwood(tmp_path)
    (tmp_path / "trajectory.log").write_text("0 0 1\n" + "2 0 0 0\n0 1 0 0\n0 0 1 0\n0 0 0 1\n")
    with pytest.raises(StorageError, match="not a rigid transform"):
        read_redwood(tmp_path)
    (tmp_path / "trajectory.log").write_text("0 0 1\n1 0 0\n")
    with pytest.raises(StorageError, match="cannot be read"):
        read_trajectory(tmp_path / "trajectory.log")
    with pytest.raises(BadFrame, match="one channel of 16 bits"):
        read_depth(next((source / "color").iterdir()))
    with pytest.raises(BadFrame, match="cannot be read"):
        read_depth(tmp_path / "trajectory.log")
