"""Small files that would fill the memory: what is in them is counted before it is copied or decoded."""

from __future__ import annotations

import io
import struct
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from eqa_nodes.core.errors import SimulatorError
from sim_bridge.mesh import model
from sim_bridge.mesh.gltf import read_glb
from tests.fixtures.meshes import CHECKER, SQUARE, SQUARE_FACES, Glb, load, obj

FEW_BYTES = 64 << 20
BILLIONS = 4_000_000_000


def _placed(glb: Glb, times: int) -> None:
    """Put the last mesh at so many places, a metre apart."""
    first = len(glb.doc["nodes"])
    glb.doc["nodes"] += [{"mesh": len(glb.doc["meshes"]) - 1, "translation": [i, 0, 0]} for i in range(times)]
    glb.doc["scenes"][0]["nodes"] += range(first, first + times)


def _instances(glb: Glb) -> None:
    """5,000 instances of 10,000 triangles, in 0.3 MB."""
    points = np.random.default_rng(0).normal(size=(5000, 3)).astype(np.float32)
    faces = np.random.default_rng(0).integers(0, 5000, 30000).astype(np.uint16)
    glb.doc["meshes"].append({"primitives": [{"attributes": {"POSITION": glb.accessor(points)},
                                              "indices": glb.accessor(faces)}]})
    _placed(glb, 5000)


def _corners(glb: Glb) -> None:
    """Few triangles, and many corners that none of them uses."""
    points = glb.accessor(np.zeros((100_000, 3), np.float32))
    glb.doc["meshes"].append({"primitives": [{"attributes": {"POSITION": points},
                                              "indices": glb.accessor(SQUARE_FACES)}]})
    _placed(glb, 500)


def _primitives(mode: int) -> Callable[[Glb], None]:
    """3,000 times 3,000 parts of the same two arrays; those of lines cost time alone."""
    def build(glb: Glb) -> None:
        one = {"attributes": {"POSITION": glb.accessor(SQUARE)}, "indices": glb.accessor(SQUARE_FACES), "mode": mode}
        glb.doc["meshes"].append({"primitives": [one] * 3000})
        _placed(glb, 3000)

    return build


def _claimed(glb: Glb) -> None:
    glb.square()
    glb.doc["accessors"][-1]["count"] = BILLIONS


@pytest.mark.parametrize(("build", "says"), [
    (_instances, "50000000 triangles, each instance of a mesh counted, are more than 16777216"),
    (_corners, "50000000 corners"), (_primitives(4), "18000000 triangles"), (_primitives(1), "9000000 parts"),
    (_claimed, "1333333333 triangles")], ids=["instances", "corners", "parts", "lines", "a count that is no true"])
def test_what_would_fill_the_memory_is_counted_first(tmp_path: Path, build: Callable[[Glb], None], says: str) -> None:
    glb = Glb()
    build(glb)
    path = glb.write(tmp_path / "a.glb")
    assert path.stat().st_size < 4_000_000
    tracemalloc.start()
    try:
        with pytest.raises(SimulatorError, match=f"a.glb: {says}.*make the meshes coarser"):
            load(path)
        assert tracemalloc.get_traced_memory()[1] < FEW_BYTES
    finally:
        tracemalloc.stop()


def test_instances_share_what_is_the_same(tmp_path: Path) -> None:
    glb = Glb()
    glb.square(glb.textured(CHECKER), colour=np.ones((4, 3), np.float32))
    _placed(glb, 400)
    glb.doc["nodes"][-1]["scale"] = [-1, 1, 1]
    parts = read_glb(glb.write(tmp_path / "a.glb")).parts
    assert len(parts) == 401 and len({id(part.uv) for part in parts}) == len({id(part.colour) for part in parts}) == 1
    assert all(np.shares_memory(part.faces, parts[0].faces) for part in parts)
    assert (parts[-1].faces == parts[0].faces[:, ::-1]).all()  # mirrored
    scene = load(tmp_path / "a.glb")
    assert len(scene.faces) == 802 and len(scene.vertices) == 1604
    middles = scene.vertices[scene.faces].mean(axis=(1, 2))
    assert len(np.unique(middles.round(3))) > 400


def _blank(size: int) -> bytes:
    out = io.BytesIO()
    Image.new("L", (size, size)).save(out, "png")
    return out.getvalue()


def test_textures_that_nothing_shows_are_not_decoded(tmp_path: Path) -> None:
    glb = Glb()
    glb.square(glb.textured(CHECKER))
    shown = glb.doc["images"][0]
    glb.doc["images"] += [{"bufferView": glb.view(_blank(8192))}] * 1000 + [{"bufferView": glb.view(b"no image")}]
    scene = load(glb.write(tmp_path / "a.glb"))
    assert len(scene.textures.depth) == 1002 and np.flatnonzero(scene.textures.depth).tolist() == [0]
    assert len(scene.textures.texels) < 128 and glb.doc["images"][0] == shown


def test_textures_are_counted_before_one_is_decoded(tmp_path: Path) -> None:
    """Five blank pictures of 8192 x 8192 in 0.3 MB; photographs of as many pixels have 30."""
    glb, blank = Glb(), _blank(8192)
    for _ in range(5):
        glb.square(glb.textured(blank))
    path = glb.write(tmp_path / "a.glb")
    tracemalloc.start()
    try:
        with pytest.raises(SimulatorError, match=r"textures of 335544320 pixels in all, in \d{6} bytes, are more"):
            load(path)
        assert tracemalloc.get_traced_memory()[1] < FEW_BYTES
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(("texels", "size", "fits"), [
    (1 << 28, 1, True), ((1 << 28) + 1, 1 << 20, False), (1 << 29, 1 << 23, True), (1 << 30, 1 << 30, True),
    ((1 << 30) + 1, 1 << 30, False)])
def test_large_scans_of_photographs_fit(texels: int, size: int, fits: bool) -> None:
    halves = [model.ImageTexture(lambda: CHECKER, lambda: texels - texels // 2, size - size // 2),
              model.ImageTexture(lambda: CHECKER, lambda: texels // 2, size // 2)]
    if fits:
        model.check_texels(Path("a.glb"), halves)
    else:
        with pytest.raises(SimulatorError, match=f"textures of {texels} pixels"):
            model.check_texels(Path("a.glb"), halves)


def test_a_texture_of_30000_pixels_a_side_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, glb = obj(tmp_path), Glb()
    header = struct.pack(">II5B", 30000, 30000, 1, 0, 0, 0, 0)
    png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + header + b"\x4c\x0b\xb2\x5b\0\0\0\0IDAT" + b"\0" * 8
    (tmp_path / "checker.png").write_bytes(png)
    glb.square(glb.textured(png))
    for file in (path, glb.write(tmp_path / "a.glb")):
        with pytest.raises(SimulatorError, match="not an image that can be read|900000000 pixels|30000 x 30000"):
            load(file)


def test_one_texture_of_many_groups_is_decoded_once(tmp_path: Path) -> None:
    path = obj(tmp_path)
    lines = path.read_text().splitlines()
    (tmp_path / "a.obj").write_text("\n".join([*lines[:-2], *(f"o part{i}\n{lines[-3]}\n{lines[-2]}\n{lines[-1]}"
                                                              for i in range(50))]))
    scene = load(path)
    assert len(scene.textures.depth) == 1 and len(scene.faces) == 100


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
    tracemalloc.start()
    try:
        with pytest.raises(SimulatorError, match=name):
            load(tmp_path / name)
        assert tracemalloc.get_traced_memory()[1] < FEW_BYTES
    finally:
        tracemalloc.stop()


def test_a_chain_of_nodes_is_followed_and_a_ring_is_named(tmp_path: Path) -> None:
    glb = Glb()
    glb.square()
    glb.doc["nodes"] += [{"children": [i], "translation": [0.01, 0, 0]} for i in range(20_000)]
    glb.doc["scenes"][0]["nodes"] = [20_000]
    assert np.ptp(load(glb.write(tmp_path / "a.glb")).vertices, axis=0).max() == pytest.approx(2.0)
    glb.doc["nodes"][0]["children"] = [20_000]
    with pytest.raises(SimulatorError, match="stands twice in the scene graph"):
        load(glb.write(tmp_path / "a.glb"))
