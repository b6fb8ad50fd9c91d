"""What a camera sees of a scan: depth, colours, labels, the same for any number of threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from eqa_nodes.core.types.geometry import Pose2, camera_mount
from eqa_nodes.core.types.robot import CameraModel
from sim_bridge import rays
from sim_bridge.house.export import export_glb
from sim_bridge.house.world import HouseWorld
from sim_bridge.mesh.load import Y_UP, sheets, write_stage_config
from sim_bridge.mesh.look import MeshRenderer, _wrapped
from sim_bridge.mesh.model import CLAMP, MIRROR, REPEAT
from tests.fixtures.houses import two_rooms
from tests.fixtures.meshes import Glb, load, look

DOWN = np.pi / 2  # a camera that looks straight down, at a square of 2 m around the origin that faces up
CAMERA = CameraModel(width=64, height=64, max_range_m=100.0)
FOUR = np.array([[[255, 0, 0], [0, 255, 0]], [[0, 0, 255], [255, 255, 0]]], np.uint8)


def seen(glb: Glb, folder: Path, height: float = 0.9, camera: CameraModel = CAMERA) -> np.ndarray:
    return look(load(glb.write(folder / "a.glb")), 0.0, 0.0, height, 0.0, DOWN, camera).rgb


def test_depth_is_along_the_optical_axis_and_zero_beyond_the_range(tmp_path: Path) -> None:
    glb = Glb()
    glb.square(scale=[20, 20, 20])
    scene = load(glb.write(tmp_path / "a.glb"))
    image = look(scene, 0.0, 0.0, 1.5, down=0.6, camera=CAMERA)
    rows = (np.arange(64) + 0.5 - 32) / 32
    below = np.sin(0.6) + rows * np.cos(0.6)
    flat = (below > 0) & (1.5 / np.maximum(below, 1e-9) < 12)
    assert image.depth_m[flat, 32] == pytest.approx(1.5 / below[flat], rel=1e-4)
    near = look(scene, 0.0, 0.0, 1.5, down=0.6, camera=replace(CAMERA, max_range_m=3.0))
    assert np.array_equal(near.depth_m, np.where(image.depth_m <= 3.0, image.depth_m, 0))
    assert np.array_equal(near.rgb, image.rgb) and (near.depth_m == 0).any()


def test_a_texture_lies_where_its_coordinates_say(tmp_path: Path) -> None:
    glb = Glb()
    glb.square(glb.textured(FOUR, {"wrapS": 33071, "wrapT": 33071}))
    image = seen(glb, tmp_path)  # the camera's up is the map's x, which is the file's y; its right is the file's x
    assert [image[y, x].tolist() for y, x in ((2, 2), (2, 61), (61, 2), (61, 61))] == [
        [255, 0, 0], [0, 255, 0], [0, 0, 255], [255, 255, 0]]
    assert image[31:33, 31:33].mean(axis=(0, 1)) == pytest.approx(FOUR.reshape(-1, 3).mean(axis=0), abs=6)


def test_base_and_vertex_colours_multiply_a_texture(tmp_path: Path) -> None:
    glb = Glb()
    glb.square(glb.textured(np.full((4, 4, 3), 200, np.uint8), baseColorFactor=[0.5, 1, 1, 1]),
               colour=np.array([[255, 255, 128]] * 4, np.uint8))
    assert seen(glb, tmp_path)[32, 32].tolist() == pytest.approx([147, 200, 100], abs=1)


def test_vertex_colours_are_interpolated(tmp_path: Path) -> None:
    glb = Glb()
    glb.square(colour=np.array([[0, 0, 0], [1, 1, 1], [1, 1, 1], [0, 0, 0]], np.float32))
    row = seen(glb, tmp_path, height=0.999)[32, :, 0].astype(float)
    assert row == pytest.approx(255 * (np.arange(64) + 0.5) / 64, abs=1.5)


def test_shapes_without_colours_can_be_told_apart(tmp_path: Path) -> None:
    glb = Glb()
    glb.square()
    scene = load(glb.write(tmp_path / "a.glb"))
    straight, slanting = look(scene, 0, 0, 0.9, 0, DOWN).rgb[24, 32], look(scene, -0.8, 0, 0.4, 0, 0.3).rgb[24, 32]
    assert straight[0] > 220 and 50 < slanting[0] < 160


def test_a_fine_pattern_far_away_is_its_mean_and_does_not_shimmer(tmp_path: Path) -> None:
    glb = Glb()
    checks = 255 * np.tile(np.eye(2), (64, 64))
    glb.square(glb.textured(checks[..., None].repeat(3, 2).astype(np.uint8)))
    far = seen(glb, tmp_path, height=30.0)
    inside = far[far.sum(axis=2) > 0]
    assert len(inside) and np.abs(inside.astype(int) - 128).max() <= 2
    assert np.ptp(seen(glb, tmp_path, height=0.05, camera=replace(CAMERA, width=640, height=480))) > 200


@pytest.mark.parametrize(("wrap", "expected"), [
    (REPEAT, [2, 3, 0, 1, 2, 3, 0, 1, 2]), (CLAMP, [0, 0, 0, 1, 2, 3, 3, 3, 3]), (MIRROR, [1, 0, 0, 1, 2, 3, 3, 2, 1])])
def test_wrapping(wrap: int, expected: list[int]) -> None:
    assert [_wrapped(texel, 4, wrap) for texel in range(-2, 7)] == expected


def test_backs_are_not_seen_but_what_lies_behind_them(tmp_path: Path) -> None:
    glb = Glb()
    for z, turn in ((0, 0.0), (0.3, 1.0), (0.5, 1.0)):  # two squares above the floor show their backs to the camera
        glb.square(colour=np.full((4, 3), 1 if turn else 0.5, np.float32), translation=[0, 0, z],
                   rotation=[turn, 0, 0, 1 - turn])
    image = look(load(glb.write(tmp_path / "a.glb")), 0, 0, 0.9, 0, DOWN)
    assert image.depth_m[24, 32] == pytest.approx(0.9, abs=1e-3) and image.rgb[24, 32].tolist() == [128] * 3


def test_a_sheet_with_both_sides_in_one_place_is_seen_from_both(tmp_path: Path) -> None:
    glb = Glb()
    glb.square()
    glb.square(rotation=[1, 0, 0, 0])
    scene = load(glb.write(tmp_path / "a.glb"))
    both = scene.vertices[:4], np.array([[0, 1, 2], [2, 1, 0], [0, 2, 3]], np.int32)
    assert sheets(*both).tolist() == [True, True, False]
    faces = np.array([[0, 1, 2], [0, 2, 3], [2, 1, 0], [3, 2, 0]], np.int32)
    pair = replace(scene, faces=faces, sheet=sheets(scene.vertices, faces))
    assert (look(pair, 0, 0, 0.9, 0, DOWN, CAMERA).depth_m > 0).all()
    assert (look(pair, 0, 0, -0.9, 0, -DOWN, CAMERA).depth_m > 0).all()


def test_labels_and_nothing(tmp_path: Path) -> None:
    glb = Glb()
    glb.square(name="rug 7.0")
    glb.square(name="door mat 9.0", translation=[3, 0, 0])
    scene = load(glb.write(tmp_path / "a.glb"), labels=True)
    image = look(scene, 0.0, -1.5, 4.0, 0.0, DOWN, CAMERA)
    assert np.unique(image.labels).tolist() == [0, 7, 9]
    nothing = image.labels == 0
    assert (image.depth_m[nothing] == 0).all() and (image.rgb[nothing] == 0).all()
    assert (image.labels[:, :32] != 9).all() and (image.labels[:, 32:] != 7).all()


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> MeshRenderer:
    path = tmp_path_factory.mktemp("house") / "house.glb"
    export_glb(two_rooms(), path)
    write_stage_config(path, *Y_UP)
    return MeshRenderer(load(path))


def view(x: float, y: float, yaw: float) -> np.ndarray:
    """Return a pose in the house's own frame as one of the file's map frame: x to the north, y to the west."""
    turned = Pose2(y, -x, yaw - np.pi / 2)
    return turned.transform().matrix() @ camera_mount(1.2, 0.15).matrix()


def test_the_scan_of_a_house_looks_like_the_house(house: MeshRenderer) -> None:
    camera = CameraModel(width=160, height=120)
    own = HouseWorld(two_rooms()).image(camera, Pose2(1.5, 2.0, 0.3).transform().matrix()
                                        @ camera_mount(1.2, 0.15).matrix())
    image = house.image(camera, view(1.5, 2.0, 0.3))
    both = (own.depth_m > 0) & (image.depth_m > 0)
    error = np.abs(own.depth_m - image.depth_m)[both]
    assert both.mean() > 0.95 and np.median(error) < 1e-3 and np.percentile(error, 95) < 0.01
    assert np.corrcoef(own.rgb[both].ravel(), image.rgb[both].ravel())[0, 1] > 0.7  # light is another


def test_the_image_is_the_same_for_any_number_of_threads(house: MeshRenderer, monkeypatch: pytest.MonkeyPatch) -> None:
    camera = CameraModel(width=160, height=120)
    images = [house.image(camera, view(1.5, 2.0, 0.3)) for _ in range(2)]
    with ThreadPoolExecutor(max_workers=1) as one:
        monkeypatch.setattr(rays, "_workers", lambda process: one)
        images.append(house.image(camera, view(1.5, 2.0, 0.3)))
    for image in images[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(images[0], image))
    assert images[0].rgb.dtype == np.uint8 and images[0].depth_m.dtype == np.float32
    assert images[0].labels.dtype == np.uint16


def test_without_colour_the_rest_is_the_same(house: MeshRenderer) -> None:
    camera = CameraModel(width=160, height=120)
    full, bare = (house.image(replace(camera, color=c), view(1.5, 2.0, 0.3)) for c in (True, False))
    assert (bare.rgb == 128).all() and np.ptp(full.rgb) > 100
    assert np.array_equal(full.depth_m, bare.depth_m) and np.array_equal(full.labels, bare.labels)
