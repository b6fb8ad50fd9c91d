"""Labels beside a mesh: a `mesh:` scene reads the same instances with kind, room and attributes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from eqa_nodes.core.errors import SimulatorError
from eqa_nodes.core.types.views import Label, Mesh
from eqa_nodes.scanning.mesh_file import write_mesh, write_semantics
from sim_bridge.mesh.load import TriangleScene, load_mesh
from sim_bridge.scans import find_scan

pytest.importorskip("trimesh", reason="trimesh is not installed: pip install 'eqa-nodes[map3d]'")
pytest.importorskip("embreex", reason="scenes need embreex: pip install 'eqa-nodes[house]'")


def triangles(ids: list[int]) -> Mesh:
    """One upright triangle a metre from the next for each id; the last of its corners belongs to something else."""
    n = len(ids)
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 0, 1]], np.float32) * 0.5
    vertices = (corners + np.arange(n)[:, None, None] * np.float32([0, 1, 0])).reshape(-1, 3)
    labels = np.repeat(np.array(ids, np.uint16), 3)
    labels[2::3] = 0
    return Mesh(vertices, np.arange(3 * n, dtype=np.int32).reshape(-1, 3), np.full((3 * n, 3), 90, np.uint8), labels)


def written(mesh: Mesh, labels: dict[int, Label], path: Path) -> TriangleScene:
    write_mesh(mesh, path)
    write_semantics(mesh, labels, path)
    return load_mesh(find_scan(str(path)))


def test_a_scene_has_the_instances_with_kinds_rooms_and_attributes(tmp_path: Path) -> None:
    table = {7: Label(7, "sofa", "living room", {"colour": "red"}),
             65535: Label(65535, 'a "big" box', "study", {}, True)}
    scene = written(triangles([7, 65535, 9, 0]), table, tmp_path / "flat.glb")
    assert scene.instance.tolist() == [7, 65535, 0, 0] and scene.labels == table


def test_many_instances_keep_their_colours_apart(tmp_path: Path) -> None:
    table = {i: Label(i, f"kind {i}", "", {}) for i in range(1, 5001)}
    scene = written(triangles(list(table)), table, tmp_path / "flat.glb")
    assert scene.instance.tolist() == list(table) and len(scene.labels) == 5000


def test_without_labels_files_of_an_earlier_mesh_are_removed(tmp_path: Path) -> None:
    path, mesh = tmp_path / "flat.glb", triangles([7])
    written(mesh, {7: Label(7, "sofa", "", {})}, path)
    assert len(list(tmp_path.iterdir())) == 4
    assert not written(mesh._replace(labels=None), {}, path).labels
    assert list(tmp_path.iterdir()) == [path]


def test_a_ply_file_has_no_labels_beside_it(tmp_path: Path) -> None:
    assert not written(triangles([7]), {7: Label(7, "sofa", "", {})}, tmp_path / "flat.ply").labels


@pytest.mark.parametrize("content", ["", "{}", '{"labels": [{"instance": "x"}]}', '{"labels": 3}'])
def test_a_damaged_table_is_named(content: str, tmp_path: Path) -> None:
    path = tmp_path / "flat.glb"
    written(triangles([7]), {7: Label(7, "sofa", "", {})}, path)
    path.with_name("flat.semantic.json").write_text(content)
    with pytest.raises(SimulatorError, match=r"flat\.semantic\.json.*holds no labels"):
        load_mesh(find_scan(str(path)))
