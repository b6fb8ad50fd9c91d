"""Scans read from files: formats, axes, looks and labels."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import trimesh

from eqa_nodes.core.errors import ConfigError, SimulatorError, UnknownScene
from sim_bridge.house.export import export_glb
from sim_bridge.house.meshes import mesh_of
from sim_bridge.mesh import model
from sim_bridge.mesh.gltf import read_glb
from sim_bridge.mesh.load import Y_UP, Z_UP, load_mesh, map_from_file, write_stage_config
from sim_bridge.scans import SceneFiles
from tests.fixtures.houses import two_rooms
from tests.fixtures.meshes import CHECKER, SQUARE, SQUARE_FACES, SQUARE_UV, Glb, load, obj, png


def corners(glb: Glb, path: Path) -> np.ndarray:
    scene = load(glb.write(path))
    return scene.vertices[scene.faces]


def test_the_glb_of_a_data_set_is_z_up_with_y_to_the_front_as_habitat_takes_it(tmp_path: Path) -> None:
    glb = Glb()
    glb.square(translation=[1, 2, 3])
    by_columns = Glb()
    by_columns.square(matrix=[1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 1, 2, 3, 1])
    for placed in (glb, by_columns):
        assert corners(placed, tmp_path / "a.glb").reshape(-1, 3).mean(axis=0) == pytest.approx([2, -1, 3])


@pytest.mark.parametrize(("suffix", "expected"), [("glb", (-3, -1, 2)), ("obj", (-3, -1, 2)), ("stl", (-3, -1, 2)),
                                                  ("ply", (2, -1, 3))])
def test_a_file_by_itself_lies_as_its_format_says(tmp_path: Path, suffix: str, expected: tuple[float, ...]) -> None:
    path = tmp_path / f"a.{suffix}"
    trimesh.Trimesh(SQUARE + np.array([1, 2, 3]), SQUARE_FACES.reshape(-1, 3), process=False).export(path)
    scene = load_mesh(SceneFiles(str(path), glb=path))
    assert scene.vertices[scene.faces].reshape(-1, 3).mean(axis=0) == pytest.approx(expected)
    assert scene.lit.all() and len(scene.faces) == 2


def test_a_stage_config_beside_the_file_says_what_is_up(tmp_path: Path) -> None:
    glb = Glb()
    glb.square(translation=[1, 2, 3])
    path = tmp_path / "a.glb"
    write_stage_config(path, *Y_UP)
    assert corners(glb, path).reshape(-1, 3).mean(axis=0) == pytest.approx([-3, -1, 2])


def test_the_config_of_a_data_set_says_what_is_up_unless_one_lies_beside_the_file(tmp_path: Path) -> None:
    config = tmp_path / "some.scene_dataset_config.json"
    config.write_text(json.dumps({"stages": {"default_attributes": {"up": [0, 1, 0], "front": [0, 0, -1]}}}))
    scan = SceneFiles("some/a", glb=tmp_path / "a.glb", dataset_config=config)
    assert np.array_equal(map_from_file(scan) @ (0, 5, 0), (0, 0, 5))
    write_stage_config(tmp_path / "a.glb", *Z_UP)
    assert np.array_equal(map_from_file(scan) @ (0, 0, 5), (0, 0, 5))


@pytest.mark.parametrize("text", ["no json", "[]", '{"up": [0, 1, 0], "front": [0, 1, 1]}', '{"up": [0, 0, 0]}',
                                  '{"up": "y"}', '{"up": [0, 1]}', '{"up": [NaN, 1, 0]}'])
def test_a_config_that_says_nonsense_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.stage_config.json").write_text(text)
    with pytest.raises(SimulatorError, match="a.stage_config.json"):
        map_from_file(SceneFiles("some/a", glb=tmp_path / "a.glb"))


def test_transforms_are_applied_from_the_root_to_the_leaf_and_a_mesh_can_stand_twice(tmp_path: Path) -> None:
    glb = Glb()
    glb.square(scale=[2, 2, 2])
    glb.doc["nodes"][0]["children"] = [1, 2]
    half = 2 ** -0.5
    glb.doc["nodes"] += [{"mesh": 0, "translation": [0, 0, 5]}, {"mesh": 0, "rotation": [half, 0, 0, half]}]
    square = corners(glb, tmp_path / "a.glb").reshape(3, 2, 3, 3)
    assert np.ptp(square[0].reshape(-1, 3), axis=0) == pytest.approx([4, 4, 0])
    assert square[1][..., 2] == pytest.approx(10.0)
    assert np.ptp(square[2].reshape(-1, 3), axis=0) == pytest.approx([0, 4, 4], abs=1e-6)


def test_a_mirrored_mesh_keeps_its_front(tmp_path: Path) -> None:
    glb = Glb()
    glb.square(scale=[-1, 1, 1])
    a, b, c = corners(glb, tmp_path / "a.glb")[0]
    assert np.cross(b - a, c - a)[2] > 0


@pytest.mark.parametrize("dtype", [np.float32, np.uint8, np.uint16])
def test_vertex_colours_of_every_type(tmp_path: Path, dtype: type) -> None:
    whole = 1.0 if dtype is np.float32 else np.iinfo(dtype).max
    glb = Glb()
    glb.square(colour=(whole * np.array([[1, 0, 0, 1], [0, 1, 0, 1], [0, 0, 1, 1], [0.2, 0.4, 0.6, 1]])).astype(dtype))
    scene = load(glb.write(tmp_path / "a.glb"))
    assert scene.colour[:3].tolist() == [[255, 0, 0], [0, 255, 0], [0, 0, 255]]
    assert scene.colour[3] == pytest.approx([51, 102, 153], abs=1)
    assert not scene.lit.any()


def test_textures_and_their_wrapping(tmp_path: Path) -> None:
    glb = Glb()
    glb.square(glb.textured(CHECKER, {"wrapS": 33071, "wrapT": 33648}, baseColorFactor=[0.5, 1, 1, 1]))
    scene = load(glb.write(tmp_path / "a.glb"))
    assert scene.uv == pytest.approx(SQUARE_UV)
    assert scene.factor[0] == pytest.approx([0.7354, 1, 1], abs=1e-4)
    assert scene.wrap.tolist() == [[model.CLAMP, model.MIRROR]]
    start, width, height = scene.textures.levels[0, 0]
    assert (width, height) == (8, 8) and scene.textures.depth[0] == 4
    assert np.array_equal(scene.textures.texels[start:start + 64].reshape(8, 8, 3), CHECKER)
    assert scene.textures.texels[scene.textures.levels[0, 3, 0]].tolist() == [128, 128, 128]


@pytest.mark.parametrize(("look", "shown"), [("", (188, 137, 21)), ("habitat", (128, 64, 2))])
def test_base_colours_are_linear_in_gltf(look: str, shown: tuple[int, int, int], tmp_path: Path,
                                         monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EQA_MESH_LOOK", look)
    glb = Glb()
    glb.doc["materials"] = [{"pbrMetallicRoughness": {"baseColorFactor": [0.5, 0.25, 0.0075, 1]}}]
    glb.square(0)
    assert 255 * load(glb.write(tmp_path / "a.glb")).factor[0] == pytest.approx(shown, abs=0.6)
    monkeypatch.setenv("EQA_MESH_LOOK", "dark")
    with pytest.raises(ConfigError, match="EQA_MESH_LOOK is 'dark': expected habitat"):
        load(glb.write(tmp_path / "a.glb"))


def test_texture_transforms_are_applied(tmp_path: Path) -> None:
    glb = Glb()
    number = glb.textured(CHECKER)
    glb.doc["materials"][number]["pbrMetallicRoughness"]["baseColorTexture"]["extensions"] = {
        "KHR_texture_transform": {"offset": [0.5, 0.25], "scale": [2, 3]}}
    glb.doc["extensionsRequired"] = ["KHR_texture_transform"]
    glb.square(number)
    assert load(glb.write(tmp_path / "a.glb")).uv == pytest.approx(SQUARE_UV * (2, 3) + (0.5, 0.25))


def test_files_beside_a_gltf_are_read(tmp_path: Path) -> None:
    glb = Glb()
    glb.square(glb.textured(CHECKER))
    (tmp_path / "all of it.bin").write_bytes(glb.data)
    (tmp_path / "checker.png").write_bytes(png(CHECKER))
    glb.doc["buffers"][0]["uri"] = "all%20of%20it.bin"
    glb.doc["images"][0] = {"uri": "checker.png"}
    (tmp_path / "a.gltf").write_text(json.dumps(glb.doc))
    scene = load(tmp_path / "a.gltf")
    assert len(scene.faces) == 2 and scene.textures.levels[0, 0, 1] == 8


def test_an_exported_house_is_read_whole_with_its_labels(tmp_path: Path) -> None:
    house, path = two_rooms(), tmp_path / "house.glb"
    export_glb(house, path)
    write_stage_config(path, *Y_UP)
    scene, mesh = load(path), mesh_of(house)
    assert len(scene.faces) == 2 * len(mesh.corners)
    low, high = mesh.corners.reshape(-1, 3).min(axis=0), mesh.corners.reshape(-1, 3).max(axis=0)
    assert scene.vertices.min(axis=0) == pytest.approx([low[1], -high[0], low[2]], abs=1e-5)
    assert scene.vertices.max(axis=0) == pytest.approx([high[1], -low[0], high[2]], abs=1e-5)
    assert {label.kind for label in scene.labels.values()} == {item.kind for item in house.objects}
    sofa = scene.vertices[scene.faces[scene.instance == 2]].reshape(-1, 3)
    assert scene.labels[2].kind == "sofa" and np.ptp(sofa, axis=0) == pytest.approx([1.9, 0.9, 0.85], abs=0.01)
    assert not load(path, labels=False).labels


def test_colours_of_vertices_and_faces_in_a_ply(tmp_path: Path) -> None:
    faces = SQUARE_FACES.reshape(-1, 3)
    path = tmp_path / "a.ply"
    trimesh.Trimesh(SQUARE, faces, vertex_colors=np.eye(4)[:, [0, 1, 2, 3]] * 255, process=False).export(path)
    assert load(path).colour[0].tolist() == [255, 0, 0]
    trimesh.Trimesh(SQUARE, faces, face_colors=[[255, 0, 0, 255], [0, 0, 255, 255]], process=False).export(path)
    scene = load(path)
    assert scene.colour[scene.faces[0]].tolist() == [[255, 0, 0]] * 3
    assert scene.colour[scene.faces[1]].tolist() == [[0, 0, 255]] * 3


def test_an_obj_has_its_texture(tmp_path: Path) -> None:
    scene = load(obj(tmp_path))
    assert scene.texture.tolist() == [0]
    expected = np.stack([(1 - scene.vertices[:, 1]) / 2, (1 - scene.vertices[:, 0]) / 2], axis=1)  # v from the top
    assert scene.uv == pytest.approx(expected)
    assert np.array_equal(scene.textures.texels[:64].reshape(8, 8, 3), CHECKER)
    assert load(obj(tmp_path, library="other.mtl")).lit.all()


def semantic(folder: Path, glb: Glb, lines: str) -> dict[str, Path]:
    text = folder / "a.semantic.txt"
    text.write_text(lines)
    return {"semantic_glb": glb.write(folder / "a.semantic.glb"), "semantic_txt": text}


TWO = 'HM3D Semantic Annotations\n1,FF0000,"wall, left",2\n7,0A1464,"dining table",3\n'


def painted(**node: object) -> Glb:
    """Two squares in the colours of TWO: linear, as glTF has them."""
    glb = Glb()
    for number, srgb in enumerate(((255, 0, 0), (10, 20, 100))):
        value = np.array(srgb) / 255
        linear = np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)
        glb.square(colour=np.tile(linear, (4, 1)).astype(np.float32), translation=[3 * number, 0, 0], **node)
    return glb


def test_labels_of_hm3d_name_no_rooms(tmp_path: Path) -> None:
    glb = Glb()
    for x in (0, 3):
        glb.square(translation=[x, 0, 0])
    path = glb.write(tmp_path / "a.glb")
    scene = load(path, True, **semantic(tmp_path, painted(), TWO))
    assert scene.instance.tolist() == [1, 1, 7, 7]
    assert (scene.labels[1].kind, scene.labels[1].room) == ("wall, left", "")
    assert (scene.labels[7].kind, scene.labels[7].room) == ("dining table", "")


def test_labels_painted_on_another_triangulation_are_carried_over(tmp_path: Path) -> None:
    glb = Glb()
    for x in (3, 0, 6):  # another order, and one that nobody painted
        glb.square(translation=[x, 0, 0.004])
    scene = load(glb.write(tmp_path / "a.glb"), True, **semantic(tmp_path, painted(), TWO))
    assert scene.instance.tolist() == [7, 7, 1, 1, 0, 0]


def test_labels_painted_as_a_texture(tmp_path: Path) -> None:
    glb, plain = Glb(), Glb()
    glb.square(glb.textured(np.full((4, 4, 3), (10, 20, 100), np.uint8)))
    plain.square()
    assert load(plain.write(tmp_path / "a.glb"), **semantic(tmp_path, glb, TWO)).instance.tolist() == [7, 7]


@pytest.mark.parametrize(("text", "says"), [
    ("", "does not begin"), ("Other\n", "does not begin"), (TWO + "9,red,x\n", "line 4"),
    ('HM3D Semantic Annotations\n1,123456,"wall",2\n', "none of its colours"), ("HM3D Semantic Annotations\n", "none")])
def test_a_broken_semantic_file_is_named(tmp_path: Path, text: str, says: str) -> None:
    glb = Glb()
    glb.square()
    with pytest.raises(SimulatorError, match=says):
        load(glb.write(tmp_path / "a.glb"), None, **semantic(tmp_path, painted(), text))


def test_labels_that_must_be_there_and_are_not_are_named(tmp_path: Path) -> None:
    glb = Glb()
    glb.square()
    path = glb.write(tmp_path / "a.glb")
    assert not load(path).instance.any()
    with pytest.raises(UnknownScene, match="semantic"):
        load(path, labels=True)


def test_instances_share_what_is_the_same(tmp_path: Path) -> None:
    glb = Glb()
    glb.square(glb.textured(CHECKER), colour=np.ones((4, 3), np.float32))
    first = len(glb.doc["nodes"])
    glb.doc["nodes"] += [{"mesh": 0, "translation": [i, 0, 0]} for i in range(400)]
    glb.doc["scenes"][0]["nodes"] += range(first, first + 400)
    glb.doc["nodes"][-1]["scale"] = [-1, 1, 1]
    parts = read_glb(glb.write(tmp_path / "a.glb")).parts
    assert len(parts) == 401 and len({id(part.uv) for part in parts}) == len({id(part.colour) for part in parts}) == 1
    assert all(np.shares_memory(part.faces, parts[0].faces) for part in parts)
    assert (parts[-1].faces == parts[0].faces[:, ::-1]).all()  # mirrored
    scene = load(tmp_path / "a.glb")
    assert len(scene.faces) == 802 and len(scene.vertices) == 1604
    middles = scene.vertices[scene.faces].mean(axis=(1, 2))
    assert len(np.unique(middles.round(3))) > 400


def test_textures_that_nothing_shows_are_not_decoded(tmp_path: Path) -> None:
    glb = Glb()
    glb.square(glb.textured(CHECKER))
    shown = glb.doc["images"][0]
    glb.doc["images"] += [{"bufferView": glb.view(b"no image")}]
    scene = load(glb.write(tmp_path / "a.glb"))
    assert len(scene.textures.depth) == 2 and np.flatnonzero(scene.textures.depth).tolist() == [0]
    assert len(scene.textures.texels) < 128 and glb.doc["images"][0] == shown


def test_one_texture_of_many_groups_is_decoded_once(tmp_path: Path) -> None:
    path = obj(tmp_path)
    lines = path.read_text().splitlines()
    (tmp_path / "a.obj").write_text("\n".join([*lines[:-2], *(f"o part{i}\n{lines[-3]}\n{lines[-2]}\n{lines[-1]}"
                                                              for i in range(50))]))
    scene = load(path)
    assert len(scene.textures.depth) == 1 and len(scene.faces) == 100


def test_a_chain_of_nodes_is_followed_and_a_ring_is_named(tmp_path: Path) -> None:
    glb = Glb()
    glb.square()
    glb.doc["nodes"] += [{"children": [i], "translation": [0.01, 0, 0]} for i in range(20_000)]
    glb.doc["scenes"][0]["nodes"] = [20_000]
    assert np.ptp(load(glb.write(tmp_path / "a.glb")).vertices, axis=0).max() == pytest.approx(2.0)
    glb.doc["nodes"][0]["children"] = [20_000]
    with pytest.raises(SimulatorError, match="stands twice in the scene graph"):
        load(glb.write(tmp_path / "a.glb"))
