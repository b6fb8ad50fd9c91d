"""OpenEQA's folders of frames: what is written comes back, and the published kinds are read as they are meant."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from scipy.spatial.transform import Rotation

from eqa_nodes.core.errors import StorageError
from eqa_nodes.core.types.geometry import pose_from_habitat
from eqa_nodes.core.types.views import Frame, Intrinsics
from eqa_nodes.recordings.formats.openeqa_folder import _square_pixels, write_openeqa
from eqa_nodes.recordings.formats.rgbd_folder import read_redwood
from eqa_nodes.recordings.histories import open_history
from tests.fixtures.data import shared_data
from tests.fixtures.frames import frame
from tests.fixtures.histories import COLOR_K, DEPTH_K, looking, png, room, walk

HALF_STEP_M = 10.0 / 65535 / 2 + 1e-6  # and the rounding of float32 metres


def _same(read: Frame, wanted: Frame) -> None:
    """The stated tolerances."""
    assert np.array_equal(read.rgb, wanted.rgb)
    assert read.stamp_ns == wanted.stamp_ns
    assert read.intrinsics == pytest.approx(wanted.intrinsics, abs=1e-9)
    assert np.abs(read.depth_m - wanted.depth_m).max() <= HALF_STEP_M
    assert np.array_equal(read.depth_m == 0, np.rint(wanted.depth_m * 6553.5) == 0)
    assert read.map_from_base == wanted.map_from_base
    off = np.linalg.inv(read.map_from_camera()) @ wanted.map_from_camera()
    assert np.linalg.norm(off[:3, 3]) < 1e-6
    assert Rotation.from_matrix(off[:3, :3]).magnitude() < 1e-6


def test_what_is_written_comes_back(tmp_path: Path) -> None:
    frames, told = walk(7), []
    assert not write_openeqa(iter(frames), tmp_path / "out", told.append)
    assert told == [1, 2, 3, 4, 5, 6, 7]
    history = open_history(tmp_path / "out")
    read = list(history)
    assert (len(history), len(read), history.name, sum(history.dropped.values())) == (7, 7, "out", 0)
    for a, b in zip(read, frames, strict=True):
        _same(a, b)
    assert [f.stamp_ns for f in history] == [f.stamp_ns for f in frames]  # a second reading begins anew


def test_a_second_generation_is_the_first(tmp_path: Path) -> None:
    write_openeqa(walk(3), tmp_path / "a")
    write_openeqa(open_history(tmp_path / "a"), tmp_path / "b")
    for a in sorted((tmp_path / "a").glob("*.png")):
        assert a.read_bytes() == (tmp_path / "b" / a.name).read_bytes()
    assert (tmp_path / "a" / "frames.csv").read_bytes() == (tmp_path / "b" / "frames.csv").read_bytes()


def test_a_real_sequence_comes_back(tmp_path: Path) -> None:
    source = shared_data("rgbd-real")
    write_openeqa(read_redwood(source), tmp_path / "out")
    read = list(open_history(tmp_path / "out"))
    assert len(read) == 5
    for a, b in zip(read, open_history(source), strict=True):
        _same(a, b)


def test_what_the_format_cannot_hold_is_counted(tmp_path: Path) -> None:
    near, far = frame(1, depth=9.99), frame(2, depth=10.5, boxes={1: (0, 0, 4, 4)})
    assert write_openeqa([near, far], tmp_path / "out") == {
        "frames with depth beyond 10 m or invalid": 1, "frames with labels": 1}
    kept, gone = open_history(tmp_path / "out")
    assert kept.depth_m.min() > 9.98
    assert not gone.depth_m.any()


def test_writing_refuses_what_would_mislead(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.md").touch()
    with pytest.raises(StorageError, match="is not empty"):
        write_openeqa(walk(1), tmp_path / "full")
    first, second = walk(2)
    zoomed = replace(second, intrinsics=second.intrinsics._replace(fx=60.0))
    with pytest.raises(StorageError, match="frame 1 was taken with .*60.0"):
        write_openeqa([first, zoomed], tmp_path / "zoomed")
    with pytest.raises(StorageError, match="has no usable frame"):
        write_openeqa([], tmp_path / "none")
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="could not be written"):
        write_openeqa(walk(1), tmp_path / "file")


@pytest.mark.parametrize(("line", "complaint"), [
    ("1,-5,0,0,0,0,0,0,1", "stamp -5"), ("1,5,0,0,0,0,0,0,2", "unit quaternion"), ("1,5,nan,0,0,0,0,0,1", "finite"),
    ("1,5,1e300,0,0,0,0,0,1", "rigid"), ("1,5,0,0", "cannot be read"), ("x,5,0,0,0,0,0,0,1", "cannot be read"),
    ("7,5,0,0,0,0,0,0,1", "2 frames and 2 lines"), ("", "2 frames and 1 lines"), ("1," + "9" * 900, "larger than")])
def test_a_damaged_line_is_named(line: str, complaint: str, tmp_path: Path) -> None:
    write_openeqa(walk(2), tmp_path / "out")
    sidecar = tmp_path / "out" / "frames.csv"
    head = sidecar.read_text().splitlines()[:2]
    sidecar.write_text("\n".join([*head, *filter(None, [line])]) + "\n")
    with pytest.raises(StorageError, match=complaint):
        open_history(tmp_path / "out")


def _published(folder: Path, k: np.ndarray, pose: np.ndarray) -> Path:
    """A frame as OpenEQA's script writes it of a simulated home."""
    folder.mkdir()
    (folder / "00000-rgb.png").write_bytes(png(np.zeros((108, 192, 3), np.uint8)))
    (folder / "00000-depth.png").write_bytes(png(np.full((108, 192), 32768, np.uint16)))
    np.savetxt(folder / "00000.txt", pose, fmt="%.6f")
    for kind in ("color", "depth"):
        np.savetxt(folder / f"intrinsic_{kind}.txt", k, fmt="%.6f")
    return folder


def _scripts_matrix(width: int, height: int, hfov: float) -> np.ndarray:
    vertical = hfov * height / width  # the script's slip: angles do not scale
    fx, fy = width / np.tan(hfov / 2) / 2, height / np.tan(vertical / 2) / 2
    return np.array([[fx, 0, width / 2, 0], [0, fy, height / 2, 0], [0, 0, 1, 0], [0, 0, 0, 1]])


def test_a_published_folder_of_a_simulated_home(tmp_path: Path) -> None:
    turned = Rotation.from_euler("y", 30, degrees=True)  # to the left, about Habitat's up
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = turned.as_matrix(), (1.5, 3.2, -4.0)
    history = open_history(_published(tmp_path / "000-hm3d-x", _scripts_matrix(192, 108, np.pi / 2), pose))
    only, = history
    x, y, z, w = turned.as_quat()
    assert only.pose == pytest.approx(pose_from_habitat((1.5, 2.2, -4.0), (w, x, y, z)), abs=1e-6)
    assert only.map_from_base.xyz == pytest.approx((4.0, -1.5, 2.2), abs=1e-6)  # a metre under the camera
    assert only.map_from_camera()[2, 3] == pytest.approx(3.2, abs=1e-6)
    assert only.map_from_camera()[:3, 2] == pytest.approx((np.cos(np.pi / 6), 0.5, 0), abs=1e-6)  # looks level
    assert only.map_from_camera()[:3, 1] == pytest.approx((0, 0, -1), abs=1e-6)  # its y axis points down
    assert only.depth_m[0, 0] == pytest.approx(5.0, abs=1e-3)
    assert (only.intrinsics.fx, only.intrinsics.fy) == pytest.approx((96.0, 96.0))  # square pixels, as rendered
    assert (only.intrinsics.cx, only.intrinsics.cy) == (96.0, 54.0)


def test_another_focal_length_is_left_alone(tmp_path: Path) -> None:
    k = _scripts_matrix(192, 108, np.pi / 2)
    k[1, 1] -= 0.5
    only, = open_history(_published(tmp_path / "x", k, np.eye(4)))
    assert only.intrinsics.fy == pytest.approx(k[1, 1], abs=1e-5)


@given(st.floats(0.7, 2.3), st.integers(64, 4000), st.floats(0.4, 1.0))
def test_the_scripts_slip_is_seen_at_every_size(hfov: float, width: int, aspect: float) -> None:
    height = round(width * aspect)
    k = _scripts_matrix(width, height, hfov)
    written = Intrinsics(width, height, round(k[0, 0], 6), round(k[1, 1], 6), width / 2, height / 2)
    assert _square_pixels(written).fy == pytest.approx(written.fx, abs=1e-5)


def test_a_published_folder_of_scannet(tmp_path: Path) -> None:
    folder = tmp_path / "002-scannet-x"
    folder.mkdir()
    rgb, raw = room(0)
    (folder / "000000-rgb.png").write_bytes(png(rgb))
    (folder / "000000-depth.png").write_bytes(png(raw))
    np.savetxt(folder / "000000.txt", looking(2.0, 3.0), fmt="%f")
    for kind, k in (("color", COLOR_K), ("depth", DEPTH_K)):
        np.savetxt(folder / f"intrinsic_{kind}.txt", k, fmt="%f")
        np.savetxt(folder / f"extrinsic_{kind}.txt", np.eye(4), fmt="%f")
    only, = open_history(folder)
    assert np.array_equal(only.rgb, rgb)
    assert only.depth_m[0, 0] == pytest.approx(1.0)  # millimetres
    assert only.pose == pytest.approx((2.0, 3.0, np.pi / 2))
    assert only.map_from_camera()[:3, 3] == pytest.approx((2.0, 3.0, 1.5))


def test_colour_with_poses_and_no_depth_is_no_history(tmp_path: Path) -> None:
    Image.new("RGB", (8, 6)).save(tmp_path / "00000-rgb.png")
    (tmp_path / "00000.txt").write_text("1")
    with pytest.raises(StorageError, match="1 colour images, 0 depth images.*--rgb-only"):
        open_history(tmp_path)


def test_incomplete_and_damaged_frames_are_counted(tmp_path: Path) -> None:
    write_openeqa(walk(5), tmp_path / "out")
    (tmp_path / "out" / "00001-depth.png").unlink()
    (tmp_path / "out" / "00002.txt").unlink()
    whole = (tmp_path / "out" / "00003-rgb.png").read_bytes()
    (tmp_path / "out" / "00003-rgb.png").write_bytes(whole[: len(whole) // 2])
    history = open_history(tmp_path / "out")
    assert len(list(history)) == 2
    assert history.dropped["no depth image"] == history.dropped["no pose"] == 1
    assert sum(history.dropped.values()) == 3 and any("00003-rgb.png" in reason for reason in history.dropped)
