"""`eqa scan`: a file that other tools and `mesh:` scenes open, right in axes and scale, and the summary."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from eqa_nodes.cli import main
from eqa_nodes.core.errors import StorageError
from eqa_nodes.core.types.robot import CameraModel
from eqa_nodes.core.types.views import Frame
from eqa_nodes.recordings.formats.openeqa_folder import write_openeqa
from eqa_nodes.recordings.histories import open_history
from tests.fixtures.data import shared_data
from tests.fixtures.house_tour import frames_of

trimesh = pytest.importorskip("trimesh", reason="trimesh is not installed: pip install 'eqa-nodes[map3d]'")


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")


@pytest.fixture(scope="module")
def open3d() -> None:
    pytest.importorskip("open3d", reason="open3d is not installed: pip install 'eqa-nodes[map3d]'")


@pytest.fixture(scope="module")
def tour(open3d: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("embreex", reason="the house needs embreex: pip install 'eqa-nodes[house]'")
    folder = tmp_path_factory.mktemp("recorded") / "tour"
    write_openeqa(frames_of("house:7"), folder)
    return folder


@pytest.fixture(scope="module")
def model(tour: Path) -> Path:
    path = tour.with_name("flat.glb")
    assert main(["scan", str(tour), "--out", str(path), "--voxel", "0.04"]) == 0
    return path


def seen(frame: Frame, scene: Path) -> np.ndarray:
    """Return the depth (H, W) that a `mesh:` scene shows where a frame was taken."""
    from sim_bridge.mesh.baked import BakedScan
    from sim_bridge.mesh.simulator import MeshWorld
    from sim_bridge.scans import find_scan

    k = frame.intrinsics
    camera = CameraModel(width=k.width, height=k.height, hfov_deg=float(np.degrees(2 * np.arctan(k.width / k.fx / 2))))
    return MeshWorld(BakedScan(find_scan(str(scene)))).renderer.image(camera, frame.map_from_camera()).depth_m


def test_a_mesh_scene_of_the_file_shows_what_the_camera_saw(tour: Path, model: Path) -> None:
    first = next(iter(open_history(tour)))
    depth_m = seen(first, model)
    both = (depth_m > 0) & (first.depth_m > 0) & (first.depth_m < 4.0)
    error_m = np.abs(depth_m - first.depth_m)[both]
    assert both.sum() > 0.8 * ((first.depth_m > 0) & (first.depth_m < 4.0)).sum()
    assert np.median(error_m) < 0.015


def test_a_robot_drives_in_the_file(tour: Path, model: Path) -> None:
    from eqa_nodes.core.types.floor import Action
    from sim_bridge.registry import open_simulator
    from sim_bridge.robots import DEFAULT, ROBOTS
    from sim_bridge.simulator import EpisodeSetup

    robot = replace(ROBOTS[DEFAULT], camera=CameraModel(width=32, height=24))
    here = next(iter(open_history(tour))).pose
    simulator = open_simulator(f"mesh:{model}")
    begun = simulator.reset(EpisodeSetup(f"mesh:{model}", start=here, robot=robot)).frame
    assert begun.map_from_base.xyz == pytest.approx((here.x, here.y, 0.0), abs=0.05)
    assert simulator.act(Action.TURN_LEFT).frame.pose.yaw != begun.pose.yaw


def test_ply_is_in_the_axes_of_the_map_and_glb_has_y_up(tour: Path, model: Path) -> None:
    points = model.with_suffix(".ply")
    assert main(["scan", str(tour), "--out", str(points), "--voxel", "0.04"]) == 0
    ply, glb = trimesh.load(points, force="mesh"), trimesh.load(model, force="mesh")
    x, y, z = ply.vertices.T
    assert abs(z.min()) < 0.1 and 2.0 < z.max() < 3.5
    assert len(ply.faces) == pytest.approx(len(glb.faces), rel=1e-3)  # the library's order differs from run to run
    assert np.allclose(np.stack([-y, z, -x], axis=1).min(axis=0), glb.vertices.min(axis=0), atol=1e-3)
    assert np.ptp(ply.visual.vertex_colors[:, :3], axis=0).min() > 50


def test_the_summary_says_what_was_used(tour: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scan", str(tour), "--out", str(tmp_path / "a.glb"), "--max-blocks", "600", "--voxel", "0.04"]) == 0
    said = capsys.readouterr().out
    count = len(list(tour.glob("*-rgb.png")))
    used = int(said.partition(" frames used")[0].rpartition(" ")[2])
    assert f"{used} frames used, {count - used} not;" in said and "MB of voxels" in said
    assert f"not used: {count - used} x the surfaces need more blocks" in said


@pytest.mark.parametrize(("episode", "why"), [
    ("", "has 2 episodes: name one with --episode, of a, b"), ("c", "has no episode 'c': name one with --episode")])
def test_an_episode_of_a_run_is_named(episode: str, why: str, open3d: None, tmp_path: Path,
                                      capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a", "b"):
        (tmp_path / "run" / "bags" / name).mkdir(parents=True)
        (tmp_path / "run" / "bags" / name / f"{name}.mcap").touch()
    assert main(["scan", str(tmp_path / "run"), "--episode", episode, "--out", str(tmp_path / "a.glb")]) == 2
    assert why in capsys.readouterr().err


def test_what_was_read_before_a_recording_breaks_off_is_written(tour: Path, tmp_path: Path,
                                                                monkeypatch: pytest.MonkeyPatch,
                                                                capsys: pytest.CaptureFixture[str]) -> None:
    history = open_history(tour)
    recorded = list(history.recorded())[:5]

    def broken() -> Iterator[object]:
        yield from recorded
        raise StorageError("tour.mcap is cut off")

    monkeypatch.setattr(history, "recorded", broken)
    monkeypatch.setattr("eqa_nodes.cli.history.HistoryReading.opened", lambda *_: history)
    assert main(["scan", str(tour), "--out", str(tmp_path / "a.ply"), "--voxel", "0.04"]) == 2
    printed = capsys.readouterr()
    assert "5 frames used" in printed.out and "tour.mcap is cut off" in printed.err
    assert len(trimesh.load(tmp_path / "a.ply", force="mesh").faces) > 100


@pytest.mark.parametrize(("words", "why"), [
    (["--out", "a.stl"], "unknown format of a mesh '.stl': known are .glb, .ply"),
    (["--voxel", "0"], "voxel_m"), (["--range", "0.01", "--out", "b.glb"], "x no depth within 0.01 m"),
    (["--min-views", "100", "--out", "c.ply"], "no surface to write")])
def test_what_cannot_be_done_is_one_line_and_leaves_no_file(words: list[str], why: str, tour: Path, tmp_path: Path,
                                                            monkeypatch: pytest.MonkeyPatch,
                                                            capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["scan", str(tour), *words]) == 2
    assert why in capsys.readouterr().err and not list(tmp_path.iterdir())


def test_real_frames_make_a_room(open3d: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "room.glb"
    assert main(["scan", str(shared_data("rgbd-real")), "--out", str(out)]) == 0
    assert "5 frames used, 0 not;" in capsys.readouterr().out
    low, high = trimesh.load(out, force="mesh").bounds
    assert (high - low < 6.0).all() and (high - low > 1.0).all()


def test_open3d_that_is_absent_is_named_before_anything_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                               capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "open3d", None)
    assert main(["scan", str(tmp_path), "--out", str(tmp_path / "a.glb")]) == 2
    assert "open3d is not installed: pip install 'eqa-nodes[map3d]'" in capsys.readouterr().err
