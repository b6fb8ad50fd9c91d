"""Databases of RTAB-Map: poses before and after optimisation, every form of depth, robots and phones, damage."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from eqa_nodes.core.errors import BadFrame, StorageError
from eqa_nodes.recordings.formats.hand_held import from_arkit
from eqa_nodes.recordings.histories import format_of, open_history
from eqa_nodes.wire.rvl import decode_rvl
from tests.fixtures.phones import (
    CX,
    CY,
    FLOOR,
    HEIGHT,
    WIDTH,
    F,
    Node,
    calibration,
    encoded,
    millimetres,
    pose,
    rvl,
    shot,
    shots,
    write_rtabmap,
)

OPTICAL = np.array([[0.0, 0, 1, 0], [-1, 0, 0, 0], [0, -1, 0, 0], [0, 0, 0, 1]])
MOUNTED = np.array([[1.0, 0, 0, 0.2], [0, 1, 0, 0], [0, 0, 1, -FLOOR], [0, 0, 0, 1]])  # of the camera on a robot


def _mount() -> np.ndarray:
    """base_from_camera of a robot whose camera looks down by 20 degrees."""
    down = np.eye(4)
    down[:3, :3] = Rotation.from_euler("y", 20, degrees=True).as_matrix()
    return MOUNTED @ down @ OPTICAL


def _png(depth_m: np.ndarray) -> bytes:
    return encoded(millimetres(depth_m))


def _rvl(depth_m: np.ndarray) -> bytes:
    return b"DEPTHRVL" + rvl(millimetres(depth_m))


def _floats(depth_m: np.ndarray) -> bytes:
    """As OpenCV stores floats in a PNG of four channels, blue first."""
    return encoded(np.ascontiguousarray(depth_m.astype("<f4")).view(np.uint8).reshape(*depth_m.shape, 4)[
        ..., [2, 1, 0, 3]])


def _robot(path: Path, pack: Callable[[np.ndarray], bytes] = _png, **options: bool) -> Path:
    """Three nodes whose odometry has drifted by half a metre; the third is left out of the graph."""
    nodes = []
    for i, s in enumerate(shots(3)):
        base = from_arkit(s.world_from_camera) @ np.linalg.inv(_mount())
        base[2, 3] = 0.0
        drifted = base.copy()
        drifted[0, 3] += 0.5
        nodes.append(Node(drifted, base if i < 2 else None, s.rgb, pack(s.depth_m)))
    return write_rtabmap(path, nodes, _mount(), **options)


@pytest.mark.parametrize("pack", [_png, _rvl, _floats])
def test_a_robots_map_keeps_its_frames(tmp_path: Path, pack: Callable[[np.ndarray], bytes]) -> None:
    path = _robot(tmp_path / "home.db", pack)
    assert format_of(path) == "rtabmap"
    history = open_history(path)
    frames = list(history)
    assert (history.name, len(history), len(frames)) == ("home", 3, 2)
    assert history.dropped == {"no pose": 1}
    for frame, s in zip(frames, shots(2), strict=True):
        assert frame.intrinsics == pytest.approx((WIDTH, HEIGHT, F, F, CX, CY))
        assert frame.map_from_base.xyz[2] == pytest.approx(0.0, abs=1e-6)
        assert np.allclose(frame.base_from_camera.matrix(), _mount(), atol=1e-5)
        seen = frame.depth_m[2::4, 2::4]
        assert np.allclose(seen, s.depth_m, atol=0.0006)
        assert np.abs(frame.rgb.astype(int) - s.rgb).mean() < 3
    assert [f.stamp_ns for f in frames] == [1_700_000_001_000_000_000, 1_700_000_002_000_000_000]
    turns = [np.degrees(f.pose.yaw) for f in frames]
    assert turns == pytest.approx([0.0, 8.0], abs=1e-3)


def test_a_graph_that_was_never_optimised_has_its_odometry(tmp_path: Path) -> None:
    frames = list(open_history(_robot(tmp_path / "home.db", optimised=False)))
    optimised = list(open_history(_robot(tmp_path / "other.db")))
    assert len(frames) == 3
    assert frames[0].pose.x - optimised[0].pose.x == pytest.approx(0.5, abs=1e-5)


def test_a_phone_is_carried(tmp_path: Path) -> None:
    """The app's base is the phone itself: it leans, so that the base is put on the floor, and images are upright."""
    nodes = [Node(from_arkit(s.world_from_camera) @ np.linalg.inv(OPTICAL),
                  from_arkit(s.world_from_camera) @ np.linalg.inv(OPTICAL), s.rgb, _png(s.depth_m))
             for s in shots(3, roll=90.0)]
    frames = list(open_history(write_rtabmap(tmp_path / "home.db", nodes, OPTICAL)))
    assert len(frames) == 3
    for i, frame in enumerate(frames):
        assert (frame.intrinsics.width, frame.intrinsics.height) == (HEIGHT, WIDTH)
        assert frame.map_from_base.xyz == pytest.approx((0.3 * i, -0.1 * i, 0.0), abs=1e-5)
        assert frame.map_from_camera()[2, 3] == pytest.approx(-FLOOR, abs=0.02)


@pytest.mark.parametrize("roll", [0.0, 90.0])
def test_a_map_that_began_with_a_tilted_camera_is_levelled(roll: float, tmp_path: Path) -> None:
    """Without an IMU the map has the axes of its first image."""
    leaning = np.eye(4)
    leaning[:3, :3] = Rotation.from_euler("xy", [15, 20], degrees=True).as_matrix()
    nodes = []
    for i in range(6):
        s = shot(pose(0.1 * i, -0.3 * i, 8.0 * i, roll=roll), i, (4 * WIDTH, 4 * HEIGHT))
        world_from_phone = leaning @ from_arkit(s.world_from_camera) @ np.linalg.inv(OPTICAL)
        nodes.append(Node(world_from_phone, world_from_phone, s.rgb[::4, ::4], _png(s.depth_m)))
    history = open_history(write_rtabmap(tmp_path / "home.db", nodes, OPTICAL))
    frames = list(history)
    assert len(frames) == 6 and "levelled by the floor" in history.notes[0]
    assert "the recorded z leans by 24.8 degrees" in history.notes[0]
    for frame in frames:
        assert frame.map_from_camera()[2, 3] == pytest.approx(-FLOOR, abs=0.02)
        assert frame.map_from_camera()[2, 2] == pytest.approx(-np.sin(np.radians(20)), abs=0.005)  # looks down by 20


def test_of_several_cameras_the_first_is_read(tmp_path: Path) -> None:
    s = shots(1)[0]
    base = from_arkit(s.world_from_camera) @ np.linalg.inv(_mount())
    both = np.hstack([s.rgb, np.zeros_like(s.rgb)])
    node = Node(base, base, both, _png(np.hstack([s.depth_m, s.depth_m * 2])))
    frame, = open_history(write_rtabmap(tmp_path / "home.db", [node], _mount(), cameras=2))
    assert np.allclose(frame.depth_m[2::4, 2::4], s.depth_m, atol=0.0006)
    assert frame.rgb.shape == (HEIGHT, WIDTH, 3) and frame.rgb.min() > 0


def _changed(path: Path, sql: str, *values: object) -> Path:
    database = sqlite3.connect(path)
    database.execute(sql, values)
    database.commit()
    database.close()
    return path


@pytest.mark.parametrize(("sql", "values", "complaint"), [
    ("UPDATE Data SET image = NULL", (), "no node with colour and depth"),
    ("UPDATE Data SET calibration = ?", (b"\0" * 60,), "calibration of node 1.*rtabmap-reprocess"),
    ("UPDATE Data SET calibration = ?", (calibration(np.eye(4), 1),), "stereo camera"),
    ("UPDATE Data SET calibration = NULL", (), "no camera"),
    ("UPDATE Admin SET opt_poses = ?", (b"\0" * 40,), "optimised poses cannot be read"),
    ("DROP TABLE Data", (), "no such table: Data"),
    ("UPDATE Data SET depth = x'00'", (), "can be used to find the floor: image of node 3")])
def test_what_is_wrong_is_named(tmp_path: Path, sql: str, values: tuple[bytes, ...], complaint: str) -> None:
    path = _changed(_robot(tmp_path / "home.db"), sql, *values)
    with pytest.raises(StorageError, match=f"home.db.*{complaint}"):
        open_history(path)


def test_a_view_in_the_place_of_a_table_is_refused(tmp_path: Path) -> None:
    path = _changed(_robot(tmp_path / "home.db"), "ALTER TABLE Data RENAME TO Other")
    with pytest.raises(StorageError, match="Data is not a plain table"):
        open_history(_changed(path, "CREATE VIEW Data AS SELECT * FROM Other"))


def test_another_database_is_no_history(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    _changed(path, "CREATE TABLE keyframes (id INTEGER)")
    with pytest.raises(StorageError, match=r"memory.db holds no episode history"):
        open_history(path)


@pytest.mark.parametrize("seed", range(5))
def test_rvl_round_trips(seed: int) -> None:
    random = np.random.default_rng(seed)
    raw = random.integers(0, 65536, (13, 17)).astype(np.uint16)
    raw[random.random(raw.shape) < 0.4] = 0
    raw[0] = [0, 1, 65535, 0, 7][seed]
    assert np.array_equal(decode_rvl(rvl(raw), "x"), raw)


def test_damaged_rvl_is_named() -> None:
    whole = rvl(np.arange(2000, dtype=np.uint16).reshape(40, 50))
    for end in (3, 8, 40, len(whole) - 4):
        with pytest.raises(BadFrame, match="depth image x"):
            decode_rvl(whole[:end], "x")
    with pytest.raises(BadFrame, match="claims"):
        decode_rvl(b"\xff" * 40, "x")
    random = np.random.default_rng(0)
    for _ in range(300):
        broken = bytearray(whole)
        for at in random.integers(8, len(broken), 3):
            broken[at] = int(random.integers(256))
        with suppress(BadFrame):
            assert decode_rvl(bytes(broken), "x").shape == (40, 50)
