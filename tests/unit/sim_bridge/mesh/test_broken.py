"""Files that are not the scans that they should be: each gives an error that names it, none ends the interpreter."""

from __future__ import annotations

import shutil
import struct
from pathlib import Path

import numpy as np
import pytest
import trimesh

from eqa_nodes.core.errors import EqaError, SimulatorError, UnknownScene
from sim_bridge.mesh.load import READERS, load_mesh
from sim_bridge.scans import FILES, SceneFiles
from tests.fixtures.meshes import CHECKER, SQUARE, SQUARE_FACES, Glb, load, obj, png


@pytest.mark.parametrize(("texture", "error", "says"), [
    ("gone.png", UnknownScene, "needs the texture 'gone"), ("../checker.png", SimulatorError, "outside its folder"),
    ("/etc/passwd", SimulatorError, "outside its folder"), (r"..\checker.png", SimulatorError, "outside its folder"),
    ("~/checker.png", SimulatorError, "outside its folder"), ("http://example.org/a.png", SimulatorError, "outside")])
def test_textures_that_are_missing_or_elsewhere_are_named(tmp_path: Path, texture: str, error: type, says: str) -> None:
    with pytest.raises(error, match=says):
        load(obj(tmp_path, texture=texture))


def test_a_library_elsewhere_is_not_read(tmp_path: Path) -> None:
    with pytest.raises(SimulatorError, match="outside its folder"):
        load(obj(tmp_path, library="../a.mtl"))


def test_a_gltf_reads_no_files_elsewhere(tmp_path: Path) -> None:
    glb = Glb()
    glb.square(glb.textured(CHECKER))
    for uri in ("../a.png", "/etc/hostname", "file:///etc/hostname", "%2e%2e/a.png"):
        glb.doc["images"][0] = {"uri": uri}
        with pytest.raises(SimulatorError, match="outside its folder"):
            load(glb.write(tmp_path / "a.glb"))


def test_only_basis_textures_are_named_with_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(UnknownScene, match="plain .glb"):
        load_mesh(SceneFiles("hm3d/00800-TEEsavR23oF", basis_glb=tmp_path / "TEEsavR23oF.basis.glb"))
    inside, extension = Glb(), Glb()
    inside.square(inside.textured(b"\xabKTX 20\xbb\r\n\x1a\n" + bytes(64)))
    number = extension.textured(CHECKER)
    extension.doc["textures"][0] = {"extensions": {"KHR_texture_basisu": {"source": 0}}}
    extension.doc["extensionsRequired"] = ["KHR_texture_basisu"]
    extension.square(number)
    for glb in (inside, extension):
        with pytest.raises(SimulatorError, match="plain .glb"):
            load(glb.write(tmp_path / "a.glb"))


@pytest.mark.parametrize(("name", "data"), [
    ("a.glb", b""), ("a.glb", b"glTF"), ("a.glb", b"PNG not a mesh"), ("a.obj", b"\x00\xff\x00"), ("a.ply", b"ply\n"),
    ("a.ply", b"not"), ("a.stl", b"solid"), ("a.gltf", b"{}"), ("a.gltf", b"[1"), ("a.obj", b""),
    ("a.obj", b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 9\n"), ("a.obj", b"v 0 0 nan\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")])
def test_what_is_no_mesh_is_named(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(EqaError, match=name):
        load(tmp_path / name)


def test_missing_files_and_unknown_formats_are_named(tmp_path: Path) -> None:
    with pytest.raises(UnknownScene, match="cannot be read"):
        load(tmp_path / "gone.glb")
    with pytest.raises(UnknownScene, match=".glb, .gltf, .obj, .ply, .stl"):
        load(tmp_path / "a.fbx")
    assert set(FILES) == set(READERS)
    with pytest.raises(UnknownScene, match="no mesh file"):
        load_mesh(SceneFiles("hm3d/00800"))


def test_corners_that_are_not_numbers_or_not_there_are_named(tmp_path: Path) -> None:
    for wrong in (np.nan, np.inf, 1e30):
        glb = Glb()
        glb.square()
        glb.data = np.array([wrong], np.float32).tobytes() + glb.data[4:]
        with pytest.raises(SimulatorError, match="1 corners are not finite"):
            load(glb.write(tmp_path / "a.glb"))
    glb = Glb()
    glb.square()
    glb.doc["accessors"][0]["count"] = 3
    with pytest.raises(SimulatorError, match="name corners that are not among its 3"):
        load(glb.write(tmp_path / "a.glb"))


def test_a_texture_of_30000_pixels_a_side_is_named(tmp_path: Path) -> None:
    path, glb = obj(tmp_path), Glb()
    header = struct.pack(">II5B", 30000, 30000, 1, 0, 0, 0, 0)
    png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + header + b"\x4c\x0b\xb2\x5b\0\0\0\0IDAT" + b"\0" * 8
    (tmp_path / "checker.png").write_bytes(png)
    glb.square(glb.textured(png))
    for file in (path, glb.write(tmp_path / "a.glb")):
        with pytest.raises(SimulatorError, match="not an image that can be read"):
            load(file)


@pytest.mark.parametrize("kept", [0, 10, 40, 50])
def test_textures_that_are_cut_off_are_named(tmp_path: Path, kept: int) -> None:
    glb, part = Glb(), png(CHECKER)[:kept]
    glb.square(glb.textured(part))
    shape = obj(tmp_path)
    (tmp_path / "checker.png").write_bytes(part)
    for path in (glb.write(tmp_path / "a.glb"), shape):
        with pytest.raises(SimulatorError, match="not an image|truncated"):
            load(path)


@pytest.mark.parametrize("change", [
    {"nodes": [{"mesh": 0, "children": [0]}]}, {"nodes": [{"mesh": 9}]}, {"scene": 7}, {"meshes": []},
    {"scenes": [{"nodes": []}]}, {"bufferViews": []}, {"extensionsRequired": ["KHR_draco_mesh_compression"]}])
def test_documents_that_contradict_themselves_are_named(tmp_path: Path, change: dict[str, object]) -> None:
    glb = Glb()
    glb.square()
    glb.doc.update(change)
    with pytest.raises(SimulatorError, match="a.glb"):
        load(glb.write(tmp_path / "a.glb"))


def mishap(path: Path) -> str:
    """Return the named error of a file, "" where it gives a sound scene; any other error fails the test."""
    try:
        scene = load(path)
    except EqaError as error:
        return str(error)
    assert scene.faces.max() < len(scene.vertices) == len(scene.uv) == len(scene.colour)
    assert np.isfinite(scene.vertices).all() and np.isfinite(scene.uv).all()
    assert (scene.texture < len(scene.textures.depth)).all() and len(scene.instance) == len(scene.part)
    return ""


def test_mutated_files_give_a_scene_or_a_named_error(tmp_path: Path) -> None:
    glb = Glb()
    glb.square(glb.textured(CHECKER), colour=np.ones((4, 3), np.float32))
    (tmp_path / "a.glb").write_bytes(glb.bytes())
    trimesh.Trimesh(SQUARE, SQUARE_FACES.reshape(-1, 3), vertex_colors=np.eye(4) * 255, process=False).export(
        tmp_path / "a.ply")
    shutil.copy(obj(tmp_path), tmp_path / "b.obj")
    random, named = np.random.default_rng(5), 0
    for name in ("a.glb", "a.ply", "b.obj"):
        whole = (tmp_path / name).read_bytes()
        path = tmp_path / f"mutated{name[1:]}"
        for _ in range(50):
            data = bytearray(whole[:int(random.integers(len(whole)))] if random.random() < 0.2 else whole)
            for at in random.integers(max(1, len(data)), size=int(random.integers(1, 6))):
                data[at:at + 1] = bytes([int(random.integers(256))])
            path.write_bytes(data)
            message = mishap(path)
            assert not message or str(tmp_path) in message
            named += bool(message)
    assert 15 < named < 150


BILLIONS = 4_000_000_000
PLY = ("ply\nformat {} 1.0\nelement vertex {}\nproperty float x\nproperty float y\nproperty float z\n"
       "element face {}\nproperty list {} int vertex_indices\nend_header\n")
BODY = struct.pack("<9f", 0, 0, 0, 1, 0, 0, 0, 1, 0) + b"\x03" + struct.pack("<3i", 0, 1, 2)


@pytest.mark.parametrize(("name", "data"), [
    ("a.ply", PLY.format("binary_little_endian", BILLIONS, 1, "uchar").encode() + BODY),
    ("a.ply", PLY.format("binary_little_endian", 3, BILLIONS, "uchar").encode() + BODY),
    ("a.ply", PLY.format("binary_little_endian", 3, 1, "uint").encode() + BODY[:36] + struct.pack("<I", BILLIONS)),
    ("a.ply", PLY.format("ascii", BILLIONS, 1, "uchar").encode() + b"0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n"),
    ("a.stl", bytes(80) + struct.pack("<I", BILLIONS) + bytes(50)),
    ("a.obj", b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 4000000000\n"),
    ("a.obj", b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 -4000000000\n")])
def test_headers_that_claim_billions_are_named(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(SimulatorError, match=name):
        load(tmp_path / name)
