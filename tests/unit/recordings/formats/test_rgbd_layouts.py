"""Folders of colour and depth in the layouts of data sets: order of images, cameras, and maps that are level."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from eqa_nodes.cli import main
from eqa_nodes.core.errors import StorageError
from eqa_nodes.recordings.formats.openeqa_folder import OpenEqaFolder
from eqa_nodes.recordings.formats.rgbd_folder import nearest, read_depth
from eqa_nodes.recordings.histories import format_of, open_history
from tests.fixtures.histories import write_redwood
from tests.fixtures.tilted import LAYOUTS, tilted_by, tour, tum


def write(layout: str, folder: Path, degrees: float = 0.0, count: int = 24) -> Path:
    return LAYOUTS[layout](folder / "tour", tour(count), tilted_by(degrees))


@pytest.mark.parametrize("degrees", [0.0, 25.0])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_tilted_world_is_levelled_by_its_floor(layout: str, degrees: float, tmp_path: Path) -> None:
    history = open_history(write(layout, tmp_path, degrees))
    read, true = list(history), tour()
    assert format_of(tmp_path / "tour") == layout and not history.dropped
    assert [int(f.rgb[0, 0, 0]) for f in read] == list(range(24))  # 10 comes after 9, and its pose with it
    for a, b in zip(read, true, strict=True):
        up, right = a.map_from_camera()[2, :3], b.map_from_camera()[2, :3]
        assert np.degrees(np.arccos(min(1.0, up @ right))) < 0.1
        assert abs(a.map_from_camera()[2, 3] - b.map_from_camera()[2, 3]) < 0.01
        assert np.abs(a.depth_m - b.depth_m)[1:].max() <= 0.00051
    said = history.notes[0]
    if layout in ("scannet", "tum") and not degrees:  # these worlds have z up, and stay as they are
        assert "the floor leans by 0.0 degrees" in said
        assert np.allclose(read[3].map_from_camera(), true[3].map_from_camera(), atol=1e-3)
    else:
        assert "levelled by the floor: 4231 points" in said
        assert ("z leans by 25.0 degrees" in said) == (layout in ("scannet", "tum"))
    assert not any("assumed" in note for note in history.notes)  # a camera file lies beside the images


def test_histories_of_openeqa_with_the_axes_of_scannet_are_levelled_too(tmp_path: Path) -> None:
    source, out = write("scannet", tmp_path, 25.0), tmp_path / "openeqa"
    out.mkdir()
    for i in range(24):
        for kind, name in (("color", f"{i}.png"), ("depth", f"{i}.png"), ("pose", f"{i}.txt")):
            ending = {"color": "-rgb.png", "depth": "-depth.png", "pose": ".txt"}[kind]
            shutil.copy(source / kind / name, out / f"{i:06d}{ending}")
    for name in ("intrinsic_color.txt", "intrinsic_depth.txt"):
        shutil.copy(source / "intrinsic" / name, out)
    shutil.copy(source / "intrinsic" / "intrinsic_color.txt", out / "extrinsic_color.txt")
    recording = OpenEqaFolder(out)
    assert "z leans by 25.0 degrees" in recording.notes[0]
    assert recording[5].map_from_camera()[2, 3] == pytest.approx(1.2, abs=0.01)


def test_a_map_whose_lean_is_unknown_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["history", "info", str(write_redwood(tmp_path / "wall", 2))]) == 0
    printed = capsys.readouterr().out
    assert "no floor was seen" in printed and "how far the map leans is unknown" in printed
    assert "the intrinsics are assumed: a PrimeSense's, fx 525" in printed
    open_history(write("scannet", tmp_path, 25.0))
    for file in (tmp_path / "tour" / "depth").iterdir():
        Image.fromarray(np.full((48, 64), 2000, np.uint16)).save(file)
    history = open_history(tmp_path / "tour")
    assert "how far the map leans is unknown" in history.notes[0] and len(list(history)) == 24


@pytest.mark.parametrize(("layout", "name", "said", "focal"), [
    ("tum", "rgbd_dataset_freiburg1_desk", "TUM's for freiburg1, fx 517.3, fy 516.5, cx 318.6, cy 255.3", 517.3),
    ("tum", "desk", "a PrimeSense's, fx 525", 525.0)])
def test_the_cameras_of_the_data_sets_are_assumed_and_said(layout: str, name: str, said: str, focal: float,
                                                           tmp_path: Path) -> None:
    path = write(layout, tmp_path, count=2).rename(tmp_path / name)
    (path / "intrinsic.json").unlink()
    for file in path.rglob("*.png"):
        depth = "depth" in str(file.relative_to(path))
        Image.fromarray(np.full((480, 640), 2000, np.uint16) if depth else np.zeros((480, 640, 3), np.uint8)).save(file)
    history = open_history(path)
    first = next(iter(history))
    assert first.intrinsics.fx == focal and any(said in note for note in history.notes)


@pytest.mark.parametrize("layout", ["redwood", "tum"])
def test_colour_and_depth_without_poses_name_rtab_map(layout: str, tmp_path: Path) -> None:
    path = write(layout, tmp_path)
    (path / ("trajectory.log" if layout == "redwood" else "groundtruth.txt")).unlink()
    with pytest.raises(StorageError, match=r"no (poses|groundtruth.txt, .*)\. Find the poses with RTAB-Map"):
        open_history(path)


@pytest.mark.parametrize(("file", "line", "said"), [
    ("rgb.txt", "soon rgb/1.png", "rgb.txt, line 3 is 'soon"), ("depth.txt", "1305031102.1", "depth.txt, line 3"),
    ("groundtruth.txt", "1305031102.102 1 2", "not a position and a quaternion"),
    ("rgb.txt", "1305031102.1 ../../etc/passwd", "relative, without")])
def test_lines_of_tum_that_cannot_be_read_are_named(file: str, line: str, said: str, tmp_path: Path) -> None:
    path = write("tum", tmp_path)
    (path / file).write_text(f"# a\n# b\n{line}\n")
    with pytest.raises(StorageError, match=said):
        open_history(path)


def test_frames_that_lack_something_are_counted(tmp_path: Path) -> None:
    path = tum(tmp_path / "tum", tour())
    for name, gone in (("groundtruth.txt", slice(-2, None)), ("depth.txt", slice(5, 6))):  # of the last and the fourth
        lines = (path / name).read_text().splitlines()
        del lines[gone]
        (path / name).write_text("\n".join(lines))
    history = open_history(path)
    assert len(list(history)) == 22 and history.dropped == {"no pose": 1, "no depth image": 1}


def test_a_depth_image_is_in_metres_by_its_steps(tmp_path: Path) -> None:
    Image.fromarray(np.array([[0, 1, 2500], [5000, 65534, 65535]], np.uint16)).save(tmp_path / "depth.png")
    millimetres, fifths = read_depth(tmp_path / "depth.png"), read_depth(tmp_path / "depth.png", 5000.0)
    assert millimetres.dtype == np.float32
    assert millimetres.tolist() == pytest.approx(np.array([[0, 0.001, 2.5], [5.0, 65.534, 0]]))
    assert fifths.tolist() == pytest.approx(np.array([[0, 0.0002, 0.5], [1.0, 13.1068, 0]]))


def test_stamps_are_nearest_within_20_ms() -> None:
    assert nearest([1.0, 2.0, 3.0], [1.985, 1.019, 3.021, 2.0]) == [1, 3, -1]
    assert nearest([1.0], []) == [-1] and nearest([], [1.0]) == []
