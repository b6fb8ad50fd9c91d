"""Published agent states are rendered in any scene: the views that a robot has there, read as any history."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eqa_nodes.cli import main
from eqa_nodes.core.errors import ConfigError, SimulatorError, StorageError
from eqa_nodes.core.types.floor import Action
from eqa_nodes.core.types.geometry import (
    Pose2,
    pose2_of,
    position_to_habitat,
    rotation_to_habitat,
    transform_from_habitat,
)
from eqa_nodes.core.types.robot import CameraModel
from eqa_nodes.core.types.views import Frame
from eqa_nodes.recordings.histories import open_history
from eqa_nodes.tours.rendered import (
    NOTHING_SEEN,
    PosedPath,
    RenderedHistory,
    read_states,
    state_folders,
)
from sim_bridge.registry import open_simulator
from sim_bridge.robots import ROBOTS
from sim_bridge.simulator import EpisodeSetup, Viewing
from tests.fixtures.habitat_pickles import stand_ins

SCENE, EYE_M = "house:7", 1.0
NAMED = "data/scene_datasets/hm3d/val/00800-TEEsavR23oF/TEEsavR23oF.basis.glb"


@pytest.fixture
def habitat(monkeypatch: pytest.MonkeyPatch) -> Any:
    return stand_ins(monkeypatch)


def driven(robot_of: Any = lambda robot: robot) -> list[Frame]:
    """Return what a robot with the camera of OpenEQA sees on a drive through a house."""
    robot = robot_of(replace(ROBOTS["openeqa"], camera=CameraModel(48, 36, 90.0, height_m=EYE_M, tilt_down_deg=0.0)))
    simulator = open_simulator(SCENE)
    frames = [simulator.reset(EpisodeSetup(SCENE, robot=robot)).frame]
    for action in (Action.MOVE_FORWARD, Action.TURN_LEFT, Action.TURN_LEFT, Action.MOVE_FORWARD):
        frames.append(simulator.act(action).frame)
    simulator.close()
    return frames


def write_states(habitat: Any, folder: Path, poses: list[Pose2], scene: object = NAMED,
                 size: tuple[int, int] = (36, 48), tilted: bool = False) -> None:
    """Write what OpenEQA publishes of a drive. tilted: the camera looked up when the state was taken."""
    folder.mkdir(parents=True)
    for i, pose in enumerate(poses):
        turn = habitat.quaternion(*rotation_to_habitat(pose.yaw))
        x, y, z = position_to_habitat((pose.x, pose.y, 0.0))
        look = habitat.quaternion(math.cos(0.2), math.sin(0.2), 0.0, 0.0) if tilted else turn
        eye = habitat.SixDOFPose(np.array([x, y + EYE_M, z], "<f8"), look)
        state = habitat.AgentState(np.array([x, y, z], "<f8"), turn, {"rgb": eye, "depth": eye, "semantic": eye})
        value = {"agent_state": state, "scene_id": scene, "resolution": size, "hfov": 90}
        (folder / f"{i:05d}.pkl").write_bytes(pickle.dumps(value))


@pytest.mark.parametrize("tilted", [False, True])
def test_states_of_a_drive_give_the_views_of_the_drive(tilted: bool, habitat: Any, tmp_path: Path) -> None:
    frames = driven()
    write_states(habitat, tmp_path / "000-hm3d-TEEsavR23oF", [f.pose for f in frames], tilted=tilted)
    out = tmp_path / "out"
    assert main(["history", "render", str(tmp_path / "000-hm3d-TEEsavR23oF"), str(out), "--scene", SCENE]) == 0
    read = list(open_history(out))
    assert len(read) == len(frames)
    for seen, own in zip(read, frames, strict=True):
        assert seen.pose == pytest.approx(own.pose, abs=1e-6)
        assert seen.map_from_camera() == pytest.approx(own.map_from_camera(), abs=1e-5)
        assert np.abs(seen.rgb.astype(int) - own.rgb).mean() < 1.0  # rounding of poses moves an edge
        assert np.median(np.abs(seen.depth_m - own.depth_m)) < 1e-3


def test_the_scene_and_the_camera_come_from_the_states(habitat: Any, tmp_path: Path) -> None:
    write_states(habitat, tmp_path / "a", [Pose2(1.0, 2.0, 0.5)], size=(1080, 1920))
    for simulator in ("habitat", "mesh"):
        path = read_states(tmp_path / "a", simulator=simulator)
        assert path.scene == f"{simulator}:hm3d/00800-TEEsavR23oF"
    camera = path.robot.camera
    assert (camera.width, camera.height, camera.hfov_deg, camera.height_m, camera.tilt_down_deg) == (
        1920, 1080, 90.0, EYE_M, 0.0)
    assert pose2_of(path.poses[0]) == pytest.approx(Pose2(1.0, 2.0, 0.5))
    assert read_states(tmp_path / "a", "house:3").scene == "house:3"


@pytest.mark.parametrize("scene", ["apartment_1.glb", 7, None])
def test_a_scene_that_is_no_scan_must_be_named(scene: object, habitat: Any, tmp_path: Path) -> None:
    write_states(habitat, tmp_path / "a", [Pose2(0.0, 0.0, 0.0)], scene=scene)
    with pytest.raises(ConfigError, match="name it with --scene"):
        read_states(tmp_path / "a")


def test_a_folder_of_folders_is_rendered_folder_by_folder_and_resumed(habitat: Any, tmp_path: Path,
                                                                      monkeypatch: pytest.MonkeyPatch) -> None:
    poses = [f.pose for f in driven()[:2]]
    for name in ("000-hm3d-a", "001-hm3d-b"):
        write_states(habitat, tmp_path / "hm3d-v0" / name, poses)
    (tmp_path / "hm3d-v0" / "notes").mkdir()
    assert [p.name for p in state_folders(tmp_path / "hm3d-v0")] == ["000-hm3d-a", "001-hm3d-b"]
    told: list[str] = []
    monkeypatch.setattr("eqa_nodes.tours.rendered._scene_of", lambda *_: told.append("") or SCENE)
    line = ["history", "render", str(tmp_path / "hm3d-v0"), str(tmp_path / "out")]
    assert main(line) == 0
    times = {p: p.stat().st_mtime_ns for p in (tmp_path / "out").rglob("*.png")}
    assert len(times) == 8
    assert main(line) == 0
    assert times == {p: p.stat().st_mtime_ns for p in (tmp_path / "out").rglob("*.png")}
    next((tmp_path / "out" / "001-hm3d-b").glob("*-rgb.png")).unlink()
    assert main(line) == 2  # an incomplete folder is not taken for a complete one
    assert main([*line, "--scene", SCENE]) == 2


def test_what_holds_no_states_says_what_to_give(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "absent"):
        with pytest.raises(StorageError, match="open-eqa-hm3d-states-v0.tgz"):
            state_folders(path)
    (tmp_path / "00000.pkl").write_bytes(pickle.dumps({"agent_state": Path("x")}))
    with pytest.raises(StorageError, match="which is not built"):
        read_states(tmp_path)


@pytest.mark.parametrize("size", [(0, 48), (36, 1 << 20), (36,), ("36", "48")])
def test_wrong_sizes_are_refused(size: Any, habitat: Any, tmp_path: Path) -> None:
    write_states(habitat, tmp_path / "a", [Pose2(0.0, 0.0, 0.0)], size=size)
    with pytest.raises(StorageError, match="resolution"):
        read_states(tmp_path / "a")


def test_poses_of_another_scene_are_counted(tmp_path: Path) -> None:
    robot = replace(ROBOTS["openeqa"], camera=CameraModel(16, 12, height_m=EYE_M, tilt_down_deg=0.0))
    here = driven()[0].map_from_base
    history = RenderedHistory(PosedPath(SCENE, robot, (here, Pose2(500.0, 0.0, 0.0).transform(80.0)), ""))
    assert [r.index for r in history.recorded()] == [0]
    assert history.dropped == {NOTHING_SEEN: 1} and len(history) == 2 and history.labels


def test_a_simulator_that_cannot_look_from_anywhere_is_named() -> None:
    path = PosedPath("toy:room", ROBOTS["openeqa"], (Pose2(1.0, 1.0, 0.0).transform(),), "")
    with pytest.raises(SimulatorError, match="house:, mesh: or habitat:"):
        list(RenderedHistory(path))


def test_a_look_from_elsewhere_leaves_the_robot_alone() -> None:
    simulator = open_simulator(SCENE)
    with pytest.raises(SimulatorError, match="call reset first"):
        simulator.view(Pose2(0.0, 0.0, 0.0).transform())  # type: ignore[attr-defined]
    own = simulator.reset(EpisodeSetup(SCENE, robot=replace(ROBOTS["openeqa"], camera=CameraModel(16, 12)))).frame
    assert isinstance(simulator, Viewing)
    raised = simulator.view(transform_from_habitat((0.0, 1.0, 0.0), (math.cos(0.1), math.sin(0.1), 0.0, 0.0)))
    assert raised.map_from_base.xyz == (0.0, 0.0, 1.0)
    assert raised.map_from_camera()[2, 2] == pytest.approx(math.sin(0.2 - math.radians(10)))  # up, less the tilt
    assert raised.stamp_ns > own.stamp_ns
    after = simulator.act(Action.OBSERVE).frame
    assert after.pose == own.pose and (after.rgb == own.rgb).all()
    simulator.close()
