"""ScanNet's recordings: .sens files and exported folders, with lost poses, odd stamps and damage."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from eqa_nodes.core.errors import StorageError
from eqa_nodes.core.types.views import Frame
from eqa_nodes.recordings.formats.cameras import LOST_POSE
from eqa_nodes.recordings.histories import open_history
from tests.fixtures.histories import (
    COLOR_SIZE,
    DEPTH_SIZE,
    LOST,
    looking,
    png,
    room,
    sens_bytes,
    write_scannet,
)

POSES = [looking(1.0, 2.0), looking(1.0, 2.5), looking(1.0, 3.0)]


def _sens(tmp_path: Path, data: bytes) -> Path:
    path = tmp_path / "scene0000_00.sens"
    path.write_bytes(data)
    return path


def _check_geometry(frame: Frame, number: int) -> None:
    """The frame has colour's size, each depth pixel covers the two by two colour pixels that look the same way."""
    rgb, raw = room(number)
    assert np.abs(frame.rgb.astype(int) - rgb).max() <= 4  # JPEG
    assert frame.intrinsics == (*COLOR_SIZE, 40.0, 40.0, 24.0, 18.0)
    assert np.allclose(frame.depth_m, raw.repeat(2, 0).repeat(2, 1) / 1000.0)


def test_a_sens_file_in_the_map_frame(tmp_path: Path) -> None:
    history = open_history(_sens(tmp_path, sens_bytes(POSES)))
    frames = list(history)
    assert (history.name, len(history), len(frames)) == ("scene0000_00", 3, 3)
    for i, frame in enumerate(frames):
        _check_geometry(frame, i)
        assert frame.pose == pytest.approx((1.0, 2.0 + 0.5 * i, np.pi / 2))
        assert frame.map_from_base.xyz[2] == 0.0
        assert np.allclose(frame.map_from_camera(), POSES[i], atol=1e-6)
    assert [f.stamp_ns for f in frames] == [33_333_000, 66_666_000, 99_999_000]


def test_lost_poses_are_skipped_and_counted(tmp_path: Path) -> None:
    history = open_history(_sens(tmp_path, sens_bytes([POSES[0], LOST, LOST, POSES[1]])))
    assert [f.stamp_ns for f in history] == [33_333_000, 133_332_000]
    assert history.dropped == {LOST_POSE: 2}
    assert len(history) == 4
    list(history)
    assert history.dropped == {LOST_POSE: 2}  # of one iteration, not of all


def test_stamps_always_grow(tmp_path: Path) -> None:
    stamps = [0, 0, 200_000, 100_000, (1 << 64) - 1]
    read = [f.stamp_ns for f in open_history(_sens(tmp_path, sens_bytes([POSES[0]] * 5, stamps)))]
    assert read == [33_333_333, 66_666_666, 200_000_000, 233_333_333, 266_666_666]


@pytest.mark.parametrize("kinds", [{"color_kind": 1}, {"depth_kind": 0}])
def test_other_compressions(kinds: dict[str, int], tmp_path: Path) -> None:
    frame, = open_history(_sens(tmp_path, sens_bytes(POSES[:1], **kinds)))
    _check_geometry(frame, 0)


@pytest.mark.parametrize(("data", "complaint"), [
    (b"", "ends within its header"), (struct.pack("<IQ", 5, 3), "version 5"),
    (struct.pack("<IQ", 4, 1 << 60), "sensor name of"), (sens_bytes(POSES)[:300], "ends within its header"),
    (sens_bytes(POSES)[:-10], "ends within frame 2"), (sens_bytes(POSES, count=1 << 62), "ends within frame 3"),
    (sens_bytes(POSES, color_kind=7), "colour 7 and depth zlib"), (sens_bytes(POSES, depth_kind=2), "depth occi"),
    (sens_bytes(POSES, sizes=(1 << 31, 1 << 31, 4, 4)), "claims images of 2147483648x2147483648"),
    (sens_bytes(POSES, sizes=(48, 36, 0, 18)), "claims images")])
def test_a_damaged_file_is_named(data: bytes, complaint: str, tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=complaint):
        open_history(_sens(tmp_path, data))


def test_images_of_other_sizes_are_no_frames(tmp_path: Path) -> None:
    wrong = open_history(_sens(tmp_path, sens_bytes(POSES, sizes=(*COLOR_SIZE, 25, 18))))
    assert not list(wrong)
    assert len(wrong.dropped) == 3 and all("wanted 900" in reason for reason in wrong.dropped)
    wrong = open_history(_sens(tmp_path, sens_bytes(POSES, sizes=(47, 36, *DEPTH_SIZE))))
    assert not list(wrong)
    assert all("the file says (36, 47)" in reason for reason in wrong.dropped)


def test_an_exported_folder_keeps_its_time_and_counts_what_is_lost(tmp_path: Path) -> None:
    poses = {0: POSES[0], 20: POSES[1], 100: LOST, 40: POSES[2], 60: POSES[2]}
    folder = write_scannet(tmp_path / "scene0001_00", poses)
    (folder / "depth" / "60.png").unlink()
    (folder / "color" / "notes.txt.bak").touch()
    history = open_history(folder)
    frames = list(history)
    assert [f.stamp_ns for f in frames] == [33_333_333, 700_000_000, 1_366_666_667]
    assert history.dropped == {LOST_POSE: 1, "no depth image": 1}
    for number, frame in zip((0, 20, 40), frames, strict=True):
        _check_geometry(frame, number)
        assert np.allclose(frame.map_from_camera(), poses[number], atol=1e-6)


def test_colour_in_the_size_of_depth_takes_its_camera(tmp_path: Path) -> None:
    folder = write_scannet(tmp_path / "small", {0: POSES[0]})
    small = np.zeros((DEPTH_SIZE[1], DEPTH_SIZE[0], 3), np.uint8)
    (folder / "color" / "0.jpg").write_bytes(png(small, "JPEG"))
    frame, = open_history(folder)
    assert frame.intrinsics == (*DEPTH_SIZE, 20.0, 20.0, 12.0, 9.0)
    assert np.allclose(frame.depth_m, room(0)[1] / 1000.0)


def test_a_folder_without_a_whole_frame_is_named(tmp_path: Path) -> None:
    folder = write_scannet(tmp_path / "scene", {0: POSES[0]})
    (folder / "pose" / "0.txt").rename(folder / "pose" / "1.txt")
    with pytest.raises(StorageError, match="1 colour images, 1 depth images and 1 poses, but no frame"):
        open_history(folder)
    (folder / "pose" / "1.txt").rename(folder / "pose" / "0.txt")
    (folder / "intrinsic" / "intrinsic_depth.txt").write_text("500 500\n")
    with pytest.raises(StorageError, match="intrinsic_depth.txt holds no 4x4 matrix"):
        open_history(folder)
