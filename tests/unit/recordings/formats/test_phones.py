"""Recordings of phones: a room of known geometry, written as each app does, comes back in the map frame."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from eqa_nodes.core.errors import MissingExtra, StorageError
from eqa_nodes.core.types.views import Frame
from eqa_nodes.recordings.episode_history import EpisodeHistory
from eqa_nodes.recordings.histories import format_of, open_history
from tests.fixtures.phones import (
    COARSE,
    CX,
    CY,
    FLOOR,
    HEIGHT,
    WALL,
    WIDTH,
    F,
    Shot,
    pose,
    shot,
    shots,
    write_polycam,
    write_record3d,
    write_stray,
    zipped,
)

NEAR = 0.005  # metres: what is stored in millimetres


def _record3d(folder: Path, taken: list[Shot]) -> Path:
    lzfse = pytest.importorskip("lzfse", reason="lzfse is not installed: pip install 'eqa-nodes[phones]'")
    return write_record3d(folder / "tour.r3d", taken, lzfse.compress)


def _stray(folder: Path, taken: list[Shot]) -> Path:
    pytest.importorskip("av", reason="PyAV is not installed: pip install 'eqa-nodes[video]'")
    return write_stray(folder / "tour", taken)


def _polycam(folder: Path, taken: list[Shot]) -> Path:
    return write_polycam(folder / "tour", taken)


MAKERS: dict[str, Callable[[Path, list[Shot]], Path]] = {
    "polycam": _polycam, "record3d": _record3d, "stray": _stray}


@pytest.fixture(params=MAKERS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def _in_map(frame: Frame) -> np.ndarray:
    """(n, 3) of what the frame measured, metres, map frame: one point for each coarse pixel, at its middle."""
    k, m = frame.intrinsics, frame.map_from_camera()
    coarse = frame.depth_m[COARSE // 2::COARSE, COARSE // 2::COARSE]
    v, u = np.nonzero(coarse)
    z = coarse[v, u]
    camera = np.stack([((u + 0.5) * COARSE - k.cx) / k.fx * z, ((v + 0.5) * COARSE - k.cy) / k.fy * z, z])
    return (m[:3, :3] @ camera + m[:3, 3:]).T


def _check_room(frames: list[Frame]) -> None:
    """What was measured lies on the floor (z = 0 in the map) or the wall (x = -WALL: the map's x is ARKit's -z)."""
    for frame in frames:
        points = _in_map(frame)
        off = np.minimum(abs(points[:, 2]), abs(points[:, 0] + WALL))
        assert off.max() < NEAR
        assert (abs(points[:, 2]) < NEAR).sum() > 50 and (abs(points[:, 0] + WALL) < NEAR).sum() > 50


def _read(history: EpisodeHistory) -> list[Frame]:
    frames = list(history)
    assert not history.dropped
    return frames


def test_poses_units_and_intrinsics_come_back_in_the_map_frame(name: str, tmp_path: Path) -> None:
    taken = shots(3)
    path = MAKERS[name](tmp_path, taken)
    assert format_of(path) == name
    history = open_history(path)
    frames = _read(history)
    assert (history.name, len(history), len(frames)) == ("tour", 3, 3)
    for i, (frame, s) in enumerate(zip(frames, taken, strict=True)):
        assert frame.intrinsics == pytest.approx((WIDTH, HEIGHT, F, F, CX, CY))
        assert frame.pose == pytest.approx((0.3 * i, -0.1 * i, np.radians(8.0 * i)), abs=1e-5)
        assert frame.map_from_base.xyz[2] == 0.0
        assert frame.map_from_camera()[2, 3] == pytest.approx(-FLOOR, abs=0.02)  # a phone's height was not recorded
        assert np.abs(frame.rgb.astype(int) - s.rgb).mean() < 6  # JPEG, or a video
    _check_room(frames)


def test_what_the_sensor_is_not_sure_of_is_no_return(name: str, tmp_path: Path) -> None:
    frame = _read(open_history(MAKERS[name](tmp_path, shots(2))))[0]
    assert not frame.depth_m[:4, :4].any()  # confidence 0; the next one has confidence 1
    assert frame.depth_m[:4, 4:8].all()


@pytest.mark.parametrize("roll", [90.0, -90.0, 180.0, 80.0])
def test_images_of_a_phone_in_portrait_are_turned_upright(name: str, roll: float, tmp_path: Path) -> None:
    frames = _read(open_history(MAKERS[name](tmp_path, shots(3, roll))))
    lies = roll != 180.0
    k = frames[0].intrinsics
    assert (k.width, k.height) == ((HEIGHT, WIDTH) if lies else (WIDTH, HEIGHT))
    assert frames[0].rgb.shape == (k.height, k.width, 3) and frames[0].depth_m.shape == (k.height, k.width)
    for frame in frames:
        assert frame.map_from_camera()[2, 1] < -0.9  # the image's down is down
    _check_room(frames)
    red = (frames[0].rgb[..., 0] > 200).nonzero()
    corner = red[0].mean() / k.height > 0.5, red[1].mean() / k.width > 0.5
    assert corner == {90.0: (True, False), 80.0: (True, False), -90.0: (False, True), 180.0: (True, True)}[roll]


def test_stamps_are_those_of_the_recording(name: str, tmp_path: Path) -> None:
    stamps = [frame.stamp_ns for frame in open_history(MAKERS[name](tmp_path, shots(3)))]
    steps_ns = {"polycam": 400_000_000, "record3d": 250_000_000, "stray": 16_666_667}
    assert np.diff(stamps).tolist() == pytest.approx([steps_ns[name]] * 2, abs=1000)


@pytest.mark.parametrize("below", ["", "capture-1/"])
def test_an_archive_is_read_as_it_is(below: str, tmp_path: Path) -> None:
    path = zipped(write_polycam(tmp_path / "tour", shots(2)), tmp_path / "shared.zip", below)
    assert format_of(path) == "polycam"
    _check_room(_read(open_history(path)))


def test_an_archive_of_stray_scanner(tmp_path: Path) -> None:
    path = zipped(_stray(tmp_path, shots(2)), tmp_path / "shared.zip", "71de12f9/")
    assert format_of(path) == "stray"
    frames = _read(open_history(path))
    assert len(frames) == 2


def test_a_second_pass_reads_the_same(name: str, tmp_path: Path) -> None:
    history = open_history(MAKERS[name](tmp_path, shots(3)))
    once, again = _read(history), _read(history)
    assert [np.array_equal(a.rgb, b.rgb) and np.array_equal(a.depth_m, b.depth_m) for a, b in zip(once, again)] == [
        True] * 3


def test_polycam_without_corrected_images_has_the_plain_ones(tmp_path: Path) -> None:
    _check_room(_read(open_history(write_polycam(tmp_path / "tour", shots(2), corrected=False))))


def test_a_missing_image_is_counted(tmp_path: Path) -> None:
    folder = write_polycam(tmp_path / "tour", shots(3))
    next(iter(sorted((folder / "keyframes" / "corrected_images").iterdir()))).unlink()
    sorted((folder / "keyframes" / "depth").iterdir())[1].unlink()
    history = open_history(folder)
    assert len(list(history)) == 1
    assert history.dropped == {"no colour image": 1, "no depth image": 1}


def test_polycam_without_depth_says_what_to_switch_on(tmp_path: Path) -> None:
    folder = write_polycam(tmp_path / "tour", shots(2))
    shutil.rmtree(folder / "keyframes" / "depth")
    with pytest.raises(StorageError, match="tour holds 2 images, 2 cameras and 0 depth images.*Developer mode"):
        open_history(folder)


def test_a_damaged_camera_is_named(tmp_path: Path) -> None:
    folder = write_polycam(tmp_path / "tour", shots(2))
    camera = sorted((folder / "keyframes" / "corrected_cameras").iterdir())[1]
    camera.write_text(json.dumps({"t_00": 1}))
    with pytest.raises(StorageError, match=f"{camera.name} is not a camera of Polycam"):
        open_history(folder)


@pytest.mark.parametrize("older", [("dw", "dh"), ("frameTimestamps",), ("perFrameIntrinsicCoeffs",)])
def test_older_record3d_files(older: tuple[str, ...], tmp_path: Path) -> None:
    lzfse = pytest.importorskip("lzfse", reason="lzfse is not installed: pip install 'eqa-nodes[phones]'")
    frames = _read(open_history(write_record3d(tmp_path / "tour.r3d", shots(2), lzfse.compress, older)))
    _check_room(frames)
    assert frames[1].stamp_ns > frames[0].stamp_ns


def test_record3d_without_poses_names_the_remedy(tmp_path: Path) -> None:
    lzfse = pytest.importorskip("lzfse", reason="lzfse is not installed: pip install 'eqa-nodes[phones]'")
    path = write_record3d(tmp_path / "tour.r3d", shots(2), lzfse.compress, ("poses",))
    with pytest.raises(StorageError, match="tour.r3d: its metadata.*'poses'.*LiDAR camera"):
        open_history(path)


def test_record3d_without_its_decoder_prints_the_pip_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "lzfse", None)
    path = write_record3d(tmp_path / "tour.r3d", shots(1), lambda data: data)
    with pytest.raises(MissingExtra, match=r"pip install 'eqa-nodes\[phones\]'"):
        open_history(path)


def test_the_exr_export_of_record3d_is_refused_with_the_one_that_is_read(tmp_path: Path) -> None:
    (tmp_path / "EXR_RGBD" / "depth").mkdir(parents=True)
    (tmp_path / "EXR_RGBD" / "depth" / "0.exr").touch()
    (tmp_path / "EXR_RGBD" / "metadata.json").write_text("{}")
    with pytest.raises(StorageError, match=r"EXR depth, which is not read: .*\.r3d"):
        open_history(tmp_path / "EXR_RGBD")


def test_stray_scanner_with_a_lens_for_each_frame(tmp_path: Path) -> None:
    folder = _stray(tmp_path, shots(2))
    lines = (folder / "odometry.csv").read_text().splitlines()
    (folder / "odometry.csv").write_text("\n".join(
        [f"{lines[0]}, fx, fy, cx, cy", *(f"{line}, {F + i}, {F}, {CX}, {CY}" for i, line in enumerate(lines[1:]))]))
    assert [frame.intrinsics.fx for frame in open_history(folder)] == [F, F + 1]


def test_a_line_of_stray_scanner_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    folder = _stray(tmp_path, shots(3))
    lines = (folder / "odometry.csv").read_text().splitlines()
    (folder / "odometry.csv").write_text("\n".join([*lines[:2], "1000.1, 000001, x", lines[3]]))
    with pytest.raises(StorageError, match="tour/odometry.csv, line 3 cannot be read"):
        open_history(folder)


def test_a_video_that_ends_early_is_counted(tmp_path: Path) -> None:
    folder = _stray(tmp_path, shots(3))
    write_stray(tmp_path / "short", shots(2))
    shutil.copy(tmp_path / "short" / "rgb.mp4", folder / "rgb.mp4")
    history = open_history(folder)
    assert len(list(history)) == 2 and history.dropped == {f"{folder}/rgb.mp4 ends before the last image": 1}


def test_stray_scanner_without_depth(tmp_path: Path) -> None:
    folder = _stray(tmp_path, shots(1))
    shutil.rmtree(folder / "depth")
    with pytest.raises(StorageError, match=r"no depth/\*\.png.*LiDAR"):
        open_history(folder)


def test_a_view_that_shows_no_floor_does_not_hide_it(tmp_path: Path) -> None:
    """The floor is found from frames of the whole recording: the first ones may look at a wall."""
    taken = [shot(pose(0, 0, 0, pitch=35.0)), shot(pose(0, 0, 0, pitch=-20.0)), shot(pose(0, 0, 0, pitch=-30.0))]
    frames = _read(open_history(write_polycam(tmp_path / "tour", taken)))
    assert frames[0].map_from_camera()[2, 3] == pytest.approx(-FLOOR, abs=0.03)
