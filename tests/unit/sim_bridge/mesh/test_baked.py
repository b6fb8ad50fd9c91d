"""What is kept of a large scan is what was computed, and is computed anew when anything changed or is damaged."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

from eqa_nodes.core.types.robot import RobotModel
from eqa_nodes.core.types.views import Label
from sim_bridge.house.export import export_glb
from sim_bridge.mesh import baked
from sim_bridge.mesh.baked import FOLDER, BakedScan
from sim_bridge.mesh.floor import MeshFloor
from sim_bridge.scans import find_scan
from tests.fixtures.houses import two_rooms
from tests.fixtures.logs import logged

ROBOT = RobotModel()


@pytest.fixture
def scan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a house as a scan, every scan being large enough."""
    monkeypatch.setattr(baked, "MIN_FACES", 1)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = tmp_path / "scans" / "house.glb"
    path.parent.mkdir()
    export_glb(two_rooms(), path)
    return path


def opened(path: Path) -> tuple[BakedScan, MeshFloor]:
    it = BakedScan(find_scan(str(path)))
    return it, it.floor(ROBOT)


def kept_of(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.npz"))


def check_same(one: tuple[BakedScan, MeshFloor], two: tuple[BakedScan, MeshFloor]) -> None:
    for field in fields(one[0].scene):
        a, b = getattr(one[0].scene, field.name), getattr(two[0].scene, field.name)
        if field.name == "labels":
            assert a == b
            continue
        for x, y in zip(a, b, strict=True) if field.name == "textures" else [(a, b)]:
            assert x.dtype == y.dtype and np.array_equal(x, y), field.name
    grounds = [[np.asarray(value) for value in (*floor.ground, floor.area)] for _, floor in (one, two)]
    for x, y in zip(*grounds, strict=True):
        assert x.dtype == y.dtype and np.array_equal(x, y)
    assert one[1].levels == two[1].levels and one[1].start(3) == two[1].start(3)


def forbid(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let reading the scan and computing its floor fail."""
    def fail(*_: object, **__: object) -> None:
        raise AssertionError("computed again")
    monkeypatch.setattr(baked, "load_mesh", fail)
    monkeypatch.setattr(MeshFloor, "_computed", fail)


def test_a_scan_is_computed_once(scan: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = opened(scan)
    assert len(kept_of(scan.parent / FOLDER)) == 2 == len(list((scan.parent / FOLDER).iterdir()))
    forbid(monkeypatch)
    check_same(first, opened(scan))
    with pytest.raises(AssertionError, match="computed again"):
        BakedScan(find_scan(str(scan))).floor(RobotModel(radius_m=0.25))  # another body


@pytest.mark.parametrize("change", ["content", "axes", "code", "look"])
def test_what_changed_is_computed_anew(scan: Path, monkeypatch: pytest.MonkeyPatch, change: str) -> None:
    opened(scan)
    if change == "content":
        scan.write_bytes(scan.read_bytes() + b"\0\0\0\0")
    elif change == "axes":
        scan.with_suffix(".stage_config.json").write_text('{"up": [0, 1, 0], "front": [1, 0, 0]}')
    elif change == "look":
        monkeypatch.setenv("EQA_MESH_LOOK", "habitat")
    else:
        monkeypatch.setattr(baked, "_sources", lambda: b"other")
    forbid(monkeypatch)
    with pytest.raises(AssertionError, match="computed again"):
        opened(scan)


@pytest.mark.parametrize("harm", ["cut", "flipped", "empty", "text"])
def test_what_is_damaged_is_said_and_computed_anew(scan: Path, harm: str) -> None:
    first = opened(scan)
    for path in kept_of(scan.parent / FOLDER):
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 0xFF
        path.write_bytes(bytes({"cut": data[:-30], "flipped": data, "empty": b"", "text": b"not an archive" * 9}[harm]))
    with logged(baked.__name__) as heard:
        check_same(first, opened(scan))
    assert heard.text.count("is damaged") == 2
    with logged(baked.__name__) as heard:
        check_same(first, opened(scan))
    assert not heard.text


def test_where_the_folder_cannot_be_written_the_users_cache_is(scan: Path, monkeypatch: pytest.MonkeyPatch,
                                                               tmp_path: Path) -> None:
    (scan.parent / FOLDER).write_text("in the way")
    first = opened(scan)
    assert len(kept_of(tmp_path / "cache" / "eqa" / "baked")) == 2
    forbid(monkeypatch)
    check_same(first, opened(scan))


def test_where_nothing_can_be_written_it_is_said(scan: Path, tmp_path: Path) -> None:
    for place in (scan.parent / FOLDER, tmp_path / "cache"):
        place.write_text("in the way")
    with logged(baked.__name__) as heard:
        assert opened(scan)[1].levels
    assert "is not cached" in heard.text and str(tmp_path / "cache") in heard.text


def test_a_file_that_cannot_be_finished_leaves_nothing(scan: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")
    monkeypatch.setattr("os.replace", full)
    opened(scan)
    assert list((scan.parent / FOLDER).iterdir()) == []


def test_small_scans_and_those_of_several_files_are_not_kept(scan: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    obj = scan.with_name("one.obj")
    obj.write_text("v 0 0 0\nv 0 0 9\nv 9 0 0\nf 1 2 3\n")
    BakedScan(find_scan(str(obj)))
    monkeypatch.setattr(baked, "MIN_FACES", 100_000)
    opened(scan)
    assert not (scan.parent / FOLDER).exists()


def test_labels_are_kept(scan: Path) -> None:
    labels = {7: Label(7, "sofa", "living room", {"colour": "red"}), 9: Label(9, "lamp", "hall", {}, True)}
    assert BakedScan(find_scan(str(scan))).scene.labels == BakedScan(find_scan(str(scan))).scene.labels != {}
    changed = replace(BakedScan(find_scan(str(scan))).scene, labels=labels)
    assert baked._scene_of(baked._arrays_of(changed)).labels == labels
