"""What the mesh renderer sees of a file is what habitat_sim sees of it, where EQA_HABITAT_PYTHON has it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from scipy import ndimage

from eqa_nodes.core.types.geometry import Pose2, camera_mount, position_to_habitat, rotation_to_habitat
from eqa_nodes.core.types.robot import CameraModel
from sim_bridge.house.export import export_glb
from sim_bridge.house.generate import generate_house
from sim_bridge.mesh.load import Y_UP, TriangleScene, load_mesh, write_stage_config
from sim_bridge.mesh.look import MeshRenderer
from sim_bridge.mesh.model import HABITAT_LOOK, LOOK_VARIABLE
from sim_bridge.scans import SceneFiles
from tests.fixtures.data import shared_data
from tests.fixtures.meshes import Glb
from tests.fixtures.paths import ROOT

PYTHON = os.environ.get("EQA_HABITAT_PYTHON", "")
pytestmark = [pytest.mark.skipif(not PYTHON, reason="EQA_HABITAT_PYTHON names no Python that has habitat_sim"),
              pytest.mark.timeout(300)]
CAMERA = CameraModel(width=320, height=240, max_range_m=1000.0)


class View(NamedTuple):
    """Where a level camera stands, map frame."""

    x: float
    y: float
    z: float
    yaw: float


class Both(NamedTuple):
    """Images of both, (n, H, W, 3) and (n, H, W); labels where a data set's config knows them."""

    rgb: np.ndarray
    depth: np.ndarray
    labels: np.ndarray
    habitat_rgb: np.ndarray
    habitat_depth: np.ndarray
    habitat_labels: np.ndarray | None


def drawn(scene: TriangleScene, path: Path, views: list[View], dataset: str = "") -> Both:
    """Draw the views with both; dataset: the config that knows labels."""
    renderer = MeshRenderer(scene)
    ours = [renderer.image(CAMERA, Pose2(v.x, v.y, v.yaw).transform().matrix() @ camera_mount(v.z, 0.0).matrix())
            for v in views]
    asked, answered = path.with_suffix(".views.npz"), path.with_suffix(".images.npz")
    np.savez(asked, positions=[position_to_habitat((v.x, v.y, v.z)) for v in views],
             rotations=[rotation_to_habitat(v.yaw) for v in views], dataset=dataset,
             size=(CAMERA.width, CAMERA.height, CAMERA.hfov_deg))
    done = subprocess.run([PYTHON, ROOT / "tests" / "fixtures" / "habitat_views.py", path, asked, answered],
                          timeout=240, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    habitat = np.load(answered)
    rgb, depth, labels = (np.stack(images) for images in zip(*ours))
    return Both(rgb, depth, labels, habitat["rgb"][..., :3], habitat["depth"], habitat.get("labels"))


def inside(depth: np.ndarray) -> np.ndarray:
    """Return which pixels (n, H, W) lie away from edges: no step in depth within two pixels, seen in the image."""
    size = (1, 5, 5)
    low, high = ndimage.minimum_filter(depth, size), ndimage.maximum_filter(depth, size)
    return (low > 0) & (high - low < 0.1 + 0.1 * low)


def check_depth(both: Both) -> np.ndarray:
    """Check depth and what is seen at all; return the pixels away from edges."""
    apart = inside(both.depth) & inside(both.habitat_depth)
    error = np.abs(both.depth - both.habitat_depth)[apart]
    assert apart.mean() > 0.3
    assert np.median(error) <= 0.01 and np.percentile(error, 99) <= 0.05
    assert ((both.depth > 0) != (both.habitat_depth > 0)).mean() < 0.005
    return apart


def test_a_house_looks_the_same_in_both(tmp_path: Path) -> None:
    path, house = tmp_path / "house.glb", generate_house(3)
    export_glb(house, path)
    write_stage_config(path, *Y_UP)
    middles = [((room.x0 + room.x1) / 2, (room.y0 + room.y1) / 2) for room in house.rooms[:4]]
    views = [View(y, -x, 1.2, turn) for x, y in middles for turn in (0.3, 2.4, -1.8)]  # the file's front is north
    both = drawn(load_mesh(SceneFiles(str(path), glb=path)), path, views)
    apart = check_depth(both)
    error = np.abs(both.rgb.astype(int) - both.habitat_rgb)[apart].max(axis=1)
    assert np.median(error) <= 2 and np.percentile(error, 90) <= 12 and error.mean() < 4


def around(radius: float) -> list[View]:
    """Return four views towards the origin."""
    return [View(radius * np.cos(a), radius * np.sin(a), 0.2, a + np.pi) for a in np.arange(4) * 1.5]


def test_mirrored_scaled_and_turned_parts_show_the_same_colours_in_the_same_place(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LOOK_VARIABLE, HABITAT_LOOK)
    glb, random = Glb(), np.random.default_rng(3)
    glb.doc["materials"] = [{"pbrMetallicRoughness": {"baseColorFactor": [0.5, 1, 0.8, 1]}}]
    for _ in range(40):
        turn = random.normal(size=4)
        glb.square(0, colour=random.random((4, 3)).astype(np.float32), rotation=(turn / np.linalg.norm(turn)).tolist(),
                   translation=random.uniform(-3, 3, 3).tolist(), scale=(
                       random.uniform(0.4, 1.2, 3) * random.choice([-1, 1], 3)).tolist())
    path = glb.write(tmp_path / "squares.glb")
    both = drawn(load_mesh(SceneFiles("some/squares", glb=path)), path, around(4.0))  # no config: z up in both
    apart = check_depth(both)
    assert np.abs(both.rgb.astype(int) - both.habitat_rgb)[apart].mean() < 1.5


def test_labels_in_the_layout_of_hm3d_are_the_same(tmp_path: Path) -> None:
    random, folder = np.random.default_rng(1), tmp_path / "val" / "00800-AAAAAAAAAAA"
    folder.mkdir(parents=True)
    plain, painted, lines = Glb(), Glb(), ["HM3D Semantic Annotations"]
    plain.doc["materials"] = painted.doc["materials"] = [{}]
    for number in range(1, 41):
        code, turn = random.integers(0, 256, 3), random.normal(size=4)
        linear = np.where(code <= 10, code / 255 / 12.92, ((code / 255 + 0.055) / 1.055) ** 2.4)
        node = {"rotation": (turn / np.linalg.norm(turn)).tolist(), "translation": random.uniform(-3, 3, 3).tolist()}
        plain.square(0, **node)
        painted.square(0, colour=np.tile(linear, (4, 1)).astype(np.float32), **node)
        lines.append(f'{number},{bytes(code.tolist()).hex().upper()},"thing, {number}",{number % 5}')
    scan = SceneFiles("hm3d/00800-AAAAAAAAAAA", glb=plain.write(folder / "AAAAAAAAAAA.glb"),
                      basis_glb=plain.write(folder / "AAAAAAAAAAA.basis.glb"),
                      semantic_glb=painted.write(folder / "AAAAAAAAAAA.semantic.glb"),
                      semantic_txt=folder / "AAAAAAAAAAA.semantic.txt",
                      dataset_config=tmp_path / "some.scene_dataset_config.json")
    (folder / "AAAAAAAAAAA.semantic.txt").write_text("\n".join(lines))
    same = "%%CONFIG_NAME_AS_ASSET_FILENAME%%.semantic"
    (tmp_path / "some.scene_dataset_config.json").write_text(json.dumps({"stages": {
        "paths": {".glb": ["val/*/*.basis.glb"]},
        "default_attributes": {"up": [0, 0, 1], "front": [0, 1, 0], "semantic_asset": f"{same}.glb",
                               "semantic_descriptor_filename": f"{same}.txt"}}}))
    both = drawn(load_mesh(scan, True), folder / "AAAAAAAAAAA.basis.glb", around(4.0), str(scan.dataset_config))
    assert both.habitat_labels is not None and len(np.unique(both.labels)) > 20
    assert (both.labels == both.habitat_labels).mean() > 0.999


def test_the_sample_room_stands_in_the_same_place(tmp_path: Path) -> None:
    path = tmp_path / "room.glb"
    path.write_bytes(shared_data("scenes/habitat-simple_room.glb").read_bytes())
    both = drawn(load_mesh(SceneFiles("some/room", glb=path)), path,
                 [View(-3.0, 0.3, 1.5, 0.0), View(2.5, 3.0, 2.0, -1.6)])
    check_depth(both)
