"""Where files of scans are found: every published layout, what is missing and how it is obtained, and hostile names."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from eqa_nodes.core.errors import UnknownScene
from sim_bridge.scans import KINDS, SceneFiles, fault_of, find_scan, obtain, read_box
from tests.fixtures.paths import DATA
from tests.fixtures.scans import put

SCENE = "BFRyYbPCCPE"
HM3D = "hm3d/00826-" + SCENE


@pytest.mark.parametrize("home", [
    "hm3d/val/00826-", "hm3d/train/00826-", "hm3d/minival/00826-", "hm3d/00826-", "val/00826-", "00826-",
    "scene_datasets/hm3d/val/00826-", "data/scene_datasets/hm3d/val/00826-", "hm3d-0.2/hm3d/val/00826-",
    "versioned_data/hm3d-0.2/hm3d/val/00826-", "hm3d/hm3d-val-habitat-v0.2/00826-", "hm3d/val/"])
@pytest.mark.parametrize("place", [HM3D, "hm3d/" + SCENE])
def test_hm3d_is_found_however_it_was_unpacked(tmp_path: Path, home: str, place: str) -> None:
    at = put(tmp_path, *(f"{home}{SCENE}/{SCENE}{end}" for end in (
        ".basis.glb", ".basis.navmesh", ".semantic.glb", ".semantic.txt"))) / f"{home}{SCENE}"
    scan = find_scan(place, tmp_path)
    assert scan == SceneFiles(place, None, at / f"{SCENE}.basis.glb", at / f"{SCENE}.basis.navmesh",
                              at / f"{SCENE}.semantic.glb", at / f"{SCENE}.semantic.txt")
    assert scan.labelled


def test_archives_that_lie_side_by_side_are_one_scene_and_versions_are_not_mixed(tmp_path: Path) -> None:
    put(tmp_path, f"hm3d/hm3d-val-glb-v0.2/00826-{SCENE}/{SCENE}.glb",
        f"hm3d/hm3d-val-habitat-v0.2/00826-{SCENE}/{SCENE}.basis.glb",
        f"hm3d-0.1/hm3d/val/00826-{SCENE}/{SCENE}.semantic.glb")
    scan = find_scan(HM3D, tmp_path)
    assert scan.glb and scan.basis_glb and scan.semantic_glb is None


def test_the_description_with_labels_goes_with_scenes_that_have_labels(tmp_path: Path) -> None:
    put(tmp_path, "hm3d/hm3d_basis.scene_dataset_config.json", "hm3d/hm3d_annotated_basis.scene_dataset_config.json",
        "hm3d/val/00800-A/A.basis.glb", "hm3d/val/00801-B/B.basis.glb", "hm3d/val/00801-B/B.semantic.glb",
        "hm3d/val/00801-B/B.semantic.txt")
    plain, labelled = find_scan("hm3d/00800-A", tmp_path), find_scan("hm3d/00801-B", tmp_path)
    assert plain.dataset_config == tmp_path / "hm3d/hm3d_basis.scene_dataset_config.json"
    assert labelled.dataset_config == tmp_path / "hm3d/hm3d_annotated_basis.scene_dataset_config.json"


@pytest.mark.parametrize(("place", "files", "expected"), [
    ("mp3d/17DRP5sb8fy", ("mp3d/17DRP5sb8fy/17DRP5sb8fy.glb", "mp3d/17DRP5sb8fy/17DRP5sb8fy.navmesh",
                          "mp3d/17DRP5sb8fy/17DRP5sb8fy_semantic.ply", "mp3d/mp3d.scene_dataset_config.json"),
     ("glb", "navmesh", "semantic_ply", "dataset_config")),
    ("gibson/Adrian", ("gibson/Adrian.glb", "gibson/Adrian.navmesh"), ("glb", "navmesh")),
    ("replica/apartment_0", ("replica/apartment_0/mesh.ply", "replica/apartment_0/habitat/mesh_semantic.navmesh",
                             "replica/apartment_0/habitat/mesh_semantic.ply"), ("glb", "navmesh", "semantic_ply")),
    ("hssd/102344022", ("hssd-hab/scenes/102344022.scene_instance.json", "hssd-hab/navmeshes/102344022.navmesh",
                        "hssd-hab/hssd-hab.scene_dataset_config.json"), ("instance", "navmesh", "dataset_config")),
    ("replica_cad/apt_0", ("replica_cad/configs/scenes/apt_0.scene_instance.json",
                           "replica_cad/navmeshes/apt_0.navmesh", "replica_cad/replicaCAD.scene_dataset_config.json"),
     ("instance", "navmesh", "dataset_config")),
])
def test_other_data_sets_are_found_as_published(tmp_path: Path, place: str, files: tuple[str, ...],
                                                expected: tuple[str, ...]) -> None:
    scan = find_scan(place, put(tmp_path, *files))
    found = {name: path for name, path in scan._asdict().items() if path is not None and name != "place"}
    assert set(found) == set(expected)
    assert set(found.values()) == {tmp_path / file for file in files}


def test_a_file_is_taken_as_named_with_what_lies_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, "flat.glb", "flat.navmesh", "flat.semantic.glb", "flat.semantic.txt", "room.obj", "room.glb",
        "own/x.basis.glb")
    flat = find_scan(str(tmp_path / "flat.glb"))
    assert (flat.glb, flat.navmesh, flat.labelled) == (tmp_path / "flat.glb", tmp_path / "flat.navmesh", True)
    assert find_scan(str(tmp_path / "room.obj")).glb == tmp_path / "room.obj"
    basis = find_scan("own/x.basis.glb", tmp_path)  # below the folder of scans
    assert (basis.glb, basis.basis_glb) == (None, tmp_path / "own/x.basis.glb")
    monkeypatch.setenv("EQA_SCENES", str(tmp_path))
    assert find_scan("own/x.basis.glb") == basis


def test_what_is_missing_is_named_with_where_it_was_looked_for_and_how_it_is_obtained(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EQA_SCENES", raising=False)
    with pytest.raises(UnknownScene, match=r"--scenes DIR or EQA_SCENES.*Matterport's terms"):
        find_scan(HM3D)
    with pytest.raises(UnknownScene, match=rf"looked for {SCENE}.basis.glb or {SCENE}.glb.*hm3d_val_v0.2"):
        find_scan(HM3D, tmp_path)
    with pytest.raises(UnknownScene, match="there is no folder of scans"):
        find_scan(HM3D, tmp_path / "absent")
    with pytest.raises(UnknownScene, match="there is no scene file"):
        find_scan("absent.glb", tmp_path)
    put(tmp_path, f"hm3d/val/00826-{SCENE}/{SCENE}.basis.navmesh", f"hm3d/val/00826-{SCENE}/{SCENE}.semantic.glb")
    with pytest.raises(UnknownScene, match="is not in"):  # without its mesh it is no scene
        find_scan(HM3D, tmp_path)
    with pytest.raises(UnknownScene, match="known are gibson, hm3d, hssd, mp3d, replica, replica_cad"):
        find_scan("matterport/x", tmp_path)
    assert all(obtain(f"{name}/x") for name in KINDS) and obtain("flat.glb") == obtain("mars/x") == ""


@pytest.mark.parametrize("place", ["hm3d/../../etc", "hm3d/..", "hm3d/.", "hm3d//etc", "hm3d/*", "hm3d/00826-[B]",
                                   "hm3d/", "hm3d", "", "/", "../hm3d/x", "hm3d/a\0b", "a\0.glb", "hm3d/" + "x" * 5000,
                                   "../outside.glb", "gibson/../outside"])
def test_names_that_lead_elsewhere_are_refused(tmp_path: Path, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = put(tmp_path, "outside.glb", "etc/etc.glb", f"scans/hm3d/val/00826-{SCENE}/{SCENE}.glb") / "scans"
    monkeypatch.chdir("/")
    with pytest.raises(UnknownScene):
        find_scan(place, folder)


def test_files_that_cannot_be_whole_are_told_by_their_first_bytes(tmp_path: Path) -> None:
    file = tmp_path / "x.glb"
    file.write_bytes(b"glTF" + (2).to_bytes(4, "little") + (20).to_bytes(4, "little") + b"12345678")
    assert fault_of(file) == ""
    file.write_bytes(file.read_bytes()[:-3])
    assert "it has 17 of 20 bytes" in fault_of(file)
    file.write_bytes(b"glTF")
    assert "ends early" in fault_of(file)
    file.write_bytes(b"PK\3\4")
    assert "is not a GLB file" in fault_of(file)
    file.write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
    assert "git lfs pull" in fault_of(file)
    (tmp_path / "x.obj").touch()
    assert "is empty" in fault_of(tmp_path / "x.obj")


MESH = DATA / "two_rooms.navmesh"


def test_the_box_is_that_of_the_floor() -> None:
    box = read_box(MESH)
    assert box.low == pytest.approx((0.0, -0.0006, -4.12), abs=1e-3)
    assert box.high == pytest.approx((8.12, 4.2, 0.0006), abs=1e-3)
    assert box.plan_m2 == pytest.approx(8.12 * 4.12, abs=0.02)


def test_tiles_share_a_box_and_version_1_has_no_settings(tmp_path: Path) -> None:
    data = MESH.read_bytes()
    tile = bytearray(data[96:])
    struct.pack_into("<6f", tile, 8 + 72, 5.0, 0.0, -9.0, 11.0, 6.0, 1.0)  # behind its reference, size and counts
    old = struct.pack("<3i", 0x4D534554, 1, 2) + data[12:40] + data[96:] + bytes(tile)
    (tmp_path / "old.navmesh").write_bytes(old)
    box = read_box(tmp_path / "old.navmesh")
    assert box.low == pytest.approx((0.0, -0.0006, -9.0), abs=1e-3) and box.high == pytest.approx((11.0, 6.0, 1.0))


@pytest.mark.parametrize(("data", "why"), [
    (b"", "ends too early"), (b"x" * 400, "not a navigation mesh"), (MESH.read_bytes()[:150], "ends too early"),
    (MESH.read_bytes()[:104] + b"nope" + MESH.read_bytes()[108:], "an invalid tile"),
    (MESH.read_bytes()[:176] + struct.pack("<f", float("nan")) + MESH.read_bytes()[180:], "an invalid bounding box")])
def test_a_file_that_is_none_is_refused(data: bytes, why: str, tmp_path: Path) -> None:
    (tmp_path / "x.navmesh").write_bytes(data)
    with pytest.raises(ValueError, match=why):
        read_box(tmp_path / "x.navmesh")
