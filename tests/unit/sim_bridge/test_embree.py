"""Our use of Embree's C interface gives what embreex's own classes give, bit by bit, and says what is missing."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

pytest.importorskip("embreex", reason="the house is not installed: pip install 'eqa-nodes[house]'")

from embreex.mesh_construction import TriangleMesh
from embreex.rtcore_scene import EmbreeScene

from eqa_nodes.core.errors import SimulatorError
from sim_bridge import embree
from sim_bridge.rays import RayScene

COUNT = 5000


def _cloud(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return corners and faces of triangles in all directions, some of them twice in the same place."""
    corners = (rng.uniform(-1, 1, (2000, 1, 3)) + rng.normal(0, 0.1, (2000, 3, 3))).reshape(-1, 3).astype(np.float32)
    faces = np.arange(len(corners), dtype=np.int32).reshape(-1, 3)
    return corners, np.concatenate([faces, faces[:100, ::-1]])


def _rays(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    return rng.uniform(-1, 1, (COUNT, 3)).astype(np.float32), rng.normal(size=(COUNT, 3)).astype(np.float32)


@pytest.mark.parametrize("indexed", [True, False])
def test_hits_are_those_of_embreex(indexed: bool) -> None:
    rng = np.random.default_rng(1)
    corners, faces = _cloud(rng)
    origins, directions = _rays(rng)
    theirs = EmbreeScene()
    mesh = TriangleMesh(theirs, corners, faces) if indexed else TriangleMesh(theirs, corners[faces])
    wanted = theirs.run(origins, directions, output=True)
    ours = RayScene(corners, faces) if indexed else RayScene(corners[faces])
    found = ours.hits(origins, directions)
    hit = wanted["primID"] >= 0
    assert mesh is not None and 0.3 < hit.mean() < 1
    assert np.array_equal(found["primID"], wanted["primID"])
    for key in ("u", "v", "tfar", "Ng"):
        assert found[key][hit].tobytes() == wanted[key][hit].tobytes(), key
    assert (found["tfar"][~hit] == np.float32(embree.FAR)).all()
    length = rng.uniform(0, 0.5, COUNT).astype(np.float32)
    behind = theirs.run(origins, directions, dists=length.copy(), query="OCCLUDED") >= 0
    assert 0 < behind.mean() < hit.mean() and np.array_equal(ours.blocked(origins, directions, length), behind)


def test_arrays_of_any_layout_are_taken() -> None:
    rng = np.random.default_rng(2)
    origins, directions = _rays(rng)
    scene = RayScene(*_cloud(rng))
    wanted = scene.hits(origins, directions)
    found = scene.hits(np.asfortranarray(origins.astype(np.float64)), np.repeat(directions, 2, axis=0)[::2])
    assert all(np.array_equal(found[key], wanted[key]) for key in wanted)


def test_rays_may_share_one_origin_and_go_without_normals() -> None:
    rng = np.random.default_rng(4)
    scene, directions = RayScene(*_cloud(rng)), _rays(rng)[1]
    origin = np.array([[0.2, -0.1, 0.3]], np.float32)
    wanted = scene.hits(np.repeat(origin, COUNT, axis=0), directions, coherent=True)
    found = scene.hits(origin, directions, coherent=True, normals=False)
    assert found.pop("Ng").shape == (0, 3)
    assert all(np.array_equal(found[key], wanted[key]) for key in found) and 0 < (found["primID"] >= 0).mean() < 1


def test_no_triangles_are_never_hit() -> None:
    scene = RayScene(np.zeros((0, 3), np.float32), np.zeros((0, 3), np.int32))
    origins, directions = _rays(np.random.default_rng(3))
    assert (scene.hits(origins, directions)["primID"] == -1).all()
    assert not scene.blocked(origins, directions, np.ones(COUNT, np.float32)).any()


def test_a_tree_is_freed_with_its_scene(monkeypatch: pytest.MonkeyPatch) -> None:
    freed: list[int] = []
    free = embree._release
    monkeypatch.setattr(embree, "_release", lambda scene, device: (freed.append(scene), free(scene, device)))
    tree = embree.TriangleTree(*_cloud(np.random.default_rng(4)))
    scene, gone = tree.scene, weakref.ref(tree)
    del tree
    gc.collect()
    assert gone() is None and freed == [scene]


def test_an_embreex_without_embree_4_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embree.embreex.rtcore_scene, "__file__", None)  # only this process's own symbols
    embree._library.cache_clear()
    try:
        with pytest.raises(SimulatorError, match=r"brings no Embree 4.*pip install -U 'eqa-nodes\[house\]'"):
            RayScene(*_cloud(np.random.default_rng(5)))
    finally:
        monkeypatch.undo()
        embree._library.cache_clear()
    monkeypatch.setattr(embree, "VERSION", 3)
    with pytest.raises(SimulatorError, match="brings Embree 4, not 3"):
        RayScene(*_cloud(np.random.default_rng(5)))
