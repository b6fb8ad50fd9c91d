"""Surfaces out of depth images: near the house's own, right in colour and pixel, bounded; bad frames change nothing."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eqa_nodes.core.errors import BadFrame, ConfigError, MapFull, MissingExtra
from eqa_nodes.core.reconstruction.config import ReconstructionConfig
from eqa_nodes.core.reconstruction.volume import Reconstruction
from eqa_nodes.core.types.geometry import Transform
from eqa_nodes.core.types.views import Frame, Intrinsics
from tests.fixtures.house_tour import frames_of

HOUSE = "house:7"
K = Intrinsics(80, 60, 60.0, 60.0, 40.0, 30.0)
LEVEL = Transform((0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0))
ONE_VIEW = ReconstructionConfig(min_views=1)


@pytest.fixture(scope="module")
def open3d() -> Any:
    return pytest.importorskip("open3d", reason="open3d is not installed: pip install 'eqa-nodes[map3d]'")


@pytest.fixture(scope="module")
def house(open3d: Any) -> Reconstruction:
    pytest.importorskip("embreex", reason="the house needs embreex: pip install 'eqa-nodes[house]'")
    built = Reconstruction(ReconstructionConfig(voxel_m=0.04, truncation_m=0.16))
    for frame in frames_of(HOUSE):
        built.add(frame)
    return built


def distances_m(open3d: Any, points: np.ndarray) -> np.ndarray:
    """Return the distance of points to the house's own surfaces."""
    from sim_bridge.house.world import world

    triangles = world(int(HOUSE.partition(":")[2])).mesh.triangles().reshape(-1, 3)
    scene = open3d.t.geometry.RaycastingScene()
    scene.add_triangles(triangles, np.arange(len(triangles), dtype=np.uint32).reshape(-1, 3))
    found: np.ndarray = scene.compute_distance(points.astype(np.float32)).numpy()
    return found


def plane(depth_m: float = 1.51, tilt: float = 0.0) -> Frame:
    """A plane in front of a camera in the origin, optical axes = map axes; tilt: change of depth by x."""
    u = (np.arange(K.width) + 0.5 - K.cx) / K.fx
    depth = np.broadcast_to(depth_m / (1 - tilt * u), (K.height, K.width)).astype(np.float32)
    return Frame(1, np.full((K.height, K.width, 3), (200, 100, 50), np.uint8), depth.copy(), K, LEVEL, LEVEL)


@pytest.mark.parametrize("kind", ["mesh", "cloud"])
def test_surfaces_lie_where_those_of_the_house_do(kind: str, house: Reconstruction, open3d: Any) -> None:
    points = house.mesh().vertices if kind == "mesh" else house.cloud().points
    error_m = distances_m(open3d, points)
    assert len(points) > 12_000
    assert np.median(error_m) <= 0.01 and np.percentile(error_m, 95) <= 0.04


def test_a_tilted_plane_is_where_pixel_centres_see_it(open3d: Any) -> None:
    built = Reconstruction(ONE_VIEW)
    built.add(plane(tilt=1.0))
    x, _, z = built.mesh().vertices.T
    off = (z - x - 1.51) / np.sqrt(2)
    assert abs(np.median(off)) < 0.002  # half a pixel would be 9 mm


def test_triangles_show_their_front_and_their_colour(open3d: Any) -> None:
    built = Reconstruction(ONE_VIEW)
    built.add(plane())
    mesh = built.mesh()
    a, b, c = (mesh.vertices[mesh.triangles[:, i]] for i in range(3))
    normals = np.cross(b - a, c - a)
    assert (normals[:, 2] < 0).mean() > 0.99  # towards the camera
    assert np.abs(mesh.colours.astype(int) - (200, 100, 50)).max() <= 1
    assert mesh.vertices.dtype == np.float32 and mesh.triangles.dtype == np.int32 and mesh.colours.dtype == np.uint8


def test_what_too_few_frames_have_seen_is_left_out(open3d: Any) -> None:
    built = Reconstruction(replace(ONE_VIEW, min_views=2))
    assert not len(built.mesh().triangles) and not len(built.cloud().points)
    built.add(plane())
    assert not len(built.mesh().triangles) and not len(built.cloud().points)
    built.add(plane())
    assert len(built.mesh().triangles) and len(built.cloud().points)


def test_no_return_and_no_number_make_no_surface(open3d: Any) -> None:
    frame = plane()
    frame.depth_m[:, :20], frame.depth_m[:, 20:40], frame.depth_m[:, 40:45] = 0.0, np.nan, np.inf
    built = Reconstruction(ONE_VIEW)
    built.add(frame)
    assert built.mesh().vertices[:, 0].min() > (45 - K.cx) / K.fx * 1.5 - 0.06


NOWHERE = Transform((float("nan"), 0.0, 0.0), (0.0, 0.0, 0.0, 1.0))


@pytest.mark.parametrize(("change", "why"), [
    ({"map_from_base": NOWHERE}, "map_from_base"), ({"base_from_camera": NOWHERE}, "base_from_camera"),
    ({"rgb": None}, "no colour image"), ({"rgb": np.zeros((0, 0, 3), np.uint8)}, "no colour image"),
    ({"rgb": np.zeros((60, 80), np.uint8)}, "rgb is"), ({"depth_m": np.zeros((60, 80), np.uint16)}, "depth_m is"),
    ({"depth_m": np.full((60, 80), np.nan, np.float32)}, "no depth"),
    ({"depth_m": np.full((60, 80), 30.0, np.float32)}, "no depth within 4 m"),
    ({"intrinsics": K._replace(width=640, height=480)}, "intrinsics"), ({"intrinsics": K._replace(fx=0.0)}, "focal"),
    ({"intrinsics": K._replace(fy=float("nan"))}, "finite"), ({"intrinsics": K._replace(cx=320.0)}, "principal point"),
])
def test_a_bad_frame_is_refused_by_name_and_changes_nothing(change: dict[str, Any], why: str, open3d: Any) -> None:
    built = Reconstruction(ONE_VIEW)
    built.add(plane())
    before = built.mesh()
    with pytest.raises(BadFrame, match=why):
        built.add(replace(plane(), **change))
    after = built.mesh()  # triangles come in any order
    assert built.frames == 1 and len(before.vertices) == len(after.vertices)
    assert np.array_equal(np.unique(before.vertices, axis=0), np.unique(after.vertices, axis=0))


def test_a_frame_that_needs_more_blocks_than_memory_may_hold_is_refused(open3d: Any) -> None:
    built = Reconstruction(ONE_VIEW)
    built.add(plane())
    small = Reconstruction(replace(ONE_VIEW, max_blocks=built.blocks))
    small.add(plane())
    with pytest.raises(MapFull, match=rf"need more blocks .*max_blocks = {built.blocks} .*raise max_blocks"):
        small.add(plane(3.0))
    small.add(plane())
    assert small.blocks == built.blocks and small.frames == 2


def test_settings_that_make_no_surface_are_refused() -> None:
    with pytest.raises(ConfigError, match="two voxels"):
        ReconstructionConfig(voxel_m=0.05)
    with pytest.raises(ConfigError, match="voxel_m"):
        ReconstructionConfig(voxel_m=0.0)


def test_without_the_library_its_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "open3d", None)
    with pytest.raises(MissingExtra, match=r"open3d is not installed: pip install 'eqa-nodes\[map3d\]'"):
        Reconstruction()


def test_a_library_of_the_system_that_is_absent_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "open3d.py").write_text("raise ImportError('libusb-1.0.so.0: cannot open shared object file')")
    monkeypatch.delitem(sys.modules, "open3d", raising=False)
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ConfigError, match=r"libusb-1\.0\.so\.0.*apt-get install libusb-1\.0-0"):
        Reconstruction()
