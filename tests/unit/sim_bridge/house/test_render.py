"""What the built-in house looks like: depth, labels, light, and the exported mesh."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import ndimage

from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.types.geometry import Pose2, camera_mount
from eqa_nodes.core.types.robot import CameraModel
from sim_bridge.house import render, textures
from sim_bridge.house.export import Y_UP_FROM_Z_UP, export_glb
from sim_bridge.house.meshes import mesh_of
from sim_bridge.house.quads import SHAPES as SOLIDS
from sim_bridge.house.render import Image, RayScene
from sim_bridge.house.scene import SHAPES, TEXTURES, House, HouseObject, ObjectPart
from sim_bridge.house.textures import SIZE, atlas, texture_row
from sim_bridge.house.textures import TEXTURES as DRAWN
from sim_bridge.house.world import HouseWorld
from tests.fixtures.houses import empty_room, two_rooms

CAMERA = CameraModel(width=160, height=120)
LEVEL = CameraModel(width=160, height=120, tilt_down_deg=0.0)
WORLD = HouseWorld(two_rooms())


def look(world: HouseWorld, pose: Pose2, camera: CameraModel = CAMERA) -> Image:
    mount = camera_mount(camera.height_m, math.radians(camera.tilt_down_deg))
    return world.renderer.image(camera, pose.transform().matrix() @ mount.matrix())


def test_depth_of_an_empty_room_is_what_geometry_says() -> None:
    depth = look(HouseWorld(empty_room(4.0, 3.0)), Pose2(1.0, 1.5, 0.0), LEVEL).depth_m
    k = LEVEL.intrinsics
    right, down = np.meshgrid((np.arange(160) + 0.5 - k.cx) / k.fx, (np.arange(120) + 0.5 - k.cy) / k.fy)
    walls = np.minimum(3.0, 1.5 / np.abs(right))  # ahead, and left and right
    flats = np.where(down > 0, 1.2 / np.maximum(down, 1e-9), 1.4 / np.maximum(-down, 1e-9))
    true = np.minimum(walls, flats)
    assert np.abs(depth - true).max() < 0.03  # the skirting board stands out by 12 mm
    assert np.median(np.abs(depth - true)) < 1e-4


@pytest.mark.parametrize("tilt", [40.0, -50.0])
def test_no_ray_leaves_a_closed_room(tilt: float) -> None:
    image = look(HouseWorld(empty_room()), Pose2(0.4, 0.4, 2.0), replace(CAMERA, tilt_down_deg=tilt))
    assert (image.depth_m > 0).all()


def test_depth_is_along_the_optical_axis_also_when_tilted() -> None:
    steep = CameraModel(width=160, height=120, tilt_down_deg=60.0)
    depth = look(HouseWorld(empty_room()), Pose2(2.0, 1.5, 0.0), steep).depth_m
    down = math.radians(60.0)
    rows = (np.arange(120) + 0.5 - 60) / 80.0
    true = 1.2 / (math.sin(down) + rows * math.cos(down))
    floor = true * (math.cos(down) - rows * math.sin(down)) < 1.9  # before the wall ahead
    assert depth[floor, 80] == pytest.approx(true[floor], abs=2e-3)


def test_beyond_the_range_there_is_no_depth_but_a_label() -> None:
    near = CameraModel(width=160, height=120, max_range_m=2.0)
    image, full = (look(WORLD, Pose2(1.5, 2.0, 0.0), c) for c in (near, CAMERA))
    far = full.depth_m > 2.0
    assert far.any()
    assert (image.depth_m[far] == 0).all()
    assert (image.depth_m[~far] == full.depth_m[~far]).all()
    assert (image.labels == full.labels).all()
    assert 1 in np.unique(image.labels[far])


def test_labels_lie_where_the_things_are() -> None:
    image = look(WORLD, Pose2(2.5, 2.6, math.pi), LEVEL)  # the sofa is straight ahead, its front at x 0.95
    k = LEVEL.intrinsics
    def pixel(x: float, y: float, z: float) -> tuple[int, int]:
        ahead = 2.5 - x
        return int(k.cy - k.fy * (z - 1.2) / ahead), int(k.cx + k.fx * (y - 2.6) / ahead)
    assert image.labels[pixel(0.95, 2.6, 0.3)] == 2
    assert {int(image.labels[pixel(0.4, 0.5, z)]) for z in (0.75, 1.55)} == {3}
    assert image.labels[pixel(0.0, 1.2, 2.0)] == 0
    columns = np.nonzero(image.labels == 2)[1]
    assert columns.min() == pytest.approx(pixel(0.95, 1.65, 0)[1], abs=2)
    assert columns.max() == pytest.approx(pixel(0.95, 3.55, 0)[1], abs=2)


def test_a_window_is_seen_and_shows_the_outdoors() -> None:
    image = look(WORLD, Pose2(2.4, 1.5, math.pi / 2), LEVEL)
    pane = image.labels == 9
    assert pane.sum() > 500
    assert image.rgb[pane].mean() > image.rgb[~pane].mean()


def test_images_are_the_same_for_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    first = look(WORLD, Pose2(1.0, 1.2, 0.4))
    monkeypatch.setattr(render, "BAND_RAYS", 1120)
    again = look(HouseWorld(two_rooms()), Pose2(1.0, 1.2, 0.4))
    assert all(a.tobytes() == b.tobytes() for a, b in zip(first, again, strict=True))


def test_edges_are_where_objects_or_faces_meet() -> None:
    rng = np.random.default_rng(5)
    quad = np.repeat(np.repeat(rng.integers(-1, 9, (6, 8)), 5, axis=0), 3, axis=1).astype(np.int32)
    instance, look_of = rng.integers(0, 3, 9).astype(np.uint16), np.zeros((9, 18), np.float32)
    look_of[:, 10:13] = np.eye(3, dtype=np.float32)[rng.integers(0, 3, 9)]
    wanted = np.zeros(quad.shape, bool)
    for here, there in ((np.s_[:, :-1], np.s_[:, 1:]), (np.s_[:-1], np.s_[1:])):
        a, b = quad[here], quad[there]
        turned = (look_of[a, 10:13] * look_of[b, 10:13]).sum(axis=-1) < 0.9
        differs = (a != b) & (turned | (instance[a] != instance[b]) | (a < 0) | (b < 0))
        wanted[here] |= differs
        wanted[there] |= differs
    found = render._edges(quad.ravel(), quad.shape[1], instance, look_of)
    assert np.array_equal(found.reshape(quad.shape), wanted) and 0 < wanted.mean() < 1


def test_a_lamp_that_is_on_lights_its_corner() -> None:
    dark = two_rooms()
    lamp = dark.object_by_id(3)
    lamp.parts = [part._replace(glow=0.0) for part in lamp.parts]
    pose = Pose2(2.5, 1.6, math.radians(205))
    on, off = look(WORLD, pose), look(HouseWorld(dark), pose)
    beside = off.labels == 0
    assert on.rgb[on.labels == 3].mean() > off.rgb[off.labels == 3].mean() + 25
    assert on.rgb[beside].mean() > off.rgb[beside].mean() + 5


def test_labels_tell_what_the_scene_graph_knows() -> None:
    bowl = WORLD.labels[6]
    assert (bowl.kind, bowl.room) == ("bowl", "kitchen")
    assert bowl.attributes == {"colour": "blue", "material": "ceramic", "relation": "on", "support": "dining table"}
    assert WORLD.labels[3].attributes["state"] == "on"


@pytest.mark.parametrize("shape", SHAPES)
def test_a_solid_fills_its_box_and_faces_outwards(shape: str) -> None:
    size = np.array([0.2, 0.5, 0.8]) if shape != "ring_y" else np.array([0.5, 0.2, 0.8])
    patch = SOLIDS[shape](size)
    assert patch.corners.min(axis=(0, 1)) == pytest.approx(-size / 2, abs=0.012)
    assert patch.corners.max(axis=(0, 1)) == pytest.approx(size / 2, abs=0.012)
    if shape not in ("bowl", "ring_x", "ring_y"):
        assert (np.einsum("ijk,ijk->ij", patch.corners, patch.normals) > -1e-6).all()
    assert np.linalg.norm(patch.normals, axis=-1) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("sigma", [0.8, 6.0, 60.0])
def test_textures_are_blurred_to_the_bit_as_scipy_does(sigma: float) -> None:
    noise = np.random.default_rng(6).standard_normal((SIZE, SIZE))
    wanted = ndimage.gaussian_filter1d(noise, sigma, axis=0, mode="wrap")
    assert np.array_equal(textures._blurred(noise, textures._bell(sigma)), wanted)


@pytest.mark.parametrize("name", TEXTURES)
def test_textures_keep_the_brightness_of_their_surface(name: str) -> None:
    texels, _ = atlas(np.array([texture_row(name, 0)]))
    assert 60 < texels.mean() < 230
    again, _ = atlas(np.array([texture_row(name, DRAWN[name].pictures)]))
    assert (texels == again).all()


@pytest.mark.parametrize(("shape", "colour", "texture", "named"), [
    ("blob", "red", "plain", "blob"), ("box", "reddish", "plain", "reddish"), ("box", "#e33", "plain", "#e33"),
    ("box", "red", "fur", "fur")])
def test_an_unknown_look_is_named(shape: str, colour: str, texture: str, named: str) -> None:
    house: House = empty_room()
    part = ObjectPart(shape, (0, 0, 0.5), (1, 1, 1), colour, texture)
    house.objects.append(HouseObject(1, "box", 0, (1, 1, 0), 0.0, (1, 1, 1), parts=[part]))
    with pytest.raises(ConfigError, match=named):
        mesh_of(house)


def test_the_exported_mesh_has_the_same_depth(tmp_path: Path) -> None:
    import trimesh

    paths = [tmp_path / "a.glb", tmp_path / "b.glb"]
    for path in paths:
        export_glb(two_rooms(), path)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    scene = trimesh.load_scene(paths[0])
    assert any(name.startswith("sofa 2") for name in scene.graph.nodes_geometry)
    triangles = np.concatenate([m.triangles for m in scene.dump()]) @ Y_UP_FROM_Z_UP  # back to z up
    pose = Pose2(1.6, 2.0, 0.3)
    optical = pose.transform().matrix() @ camera_mount(CAMERA.height_m, math.radians(CAMERA.tilt_down_deg)).matrix()
    rays = render.optical_rays(CAMERA.intrinsics) @ optical[:3, :3].T.astype(np.float32)
    hit = RayScene(triangles).hits(np.tile(optical[:3, 3].astype(np.float32), (len(rays), 1)), rays)
    ours = look(WORLD, pose).depth_m.ravel()
    both = (ours > 0) & (hit["primID"] >= 0)
    assert both.mean() > 0.95
    assert np.median(np.abs(hit["tfar"] - ours)[both]) < 0.01


def test_without_colour_depth_labels_and_visible_pixels_are_the_same() -> None:
    pose = WORLD.house.start
    view = pose.transform().matrix() @ camera_mount(CAMERA.height_m, math.radians(CAMERA.tilt_down_deg)).matrix()
    full, bare = WORLD.image(CAMERA, view), WORLD.image(replace(CAMERA, color=False), view)
    assert np.array_equal(full.labels, bare.labels) and len(np.unique(bare.labels)) > 3
    assert np.allclose(full.depth_m, bare.depth_m, atol=1e-4) and (bare.rgb == 128).all()
    ids, counts = np.unique(full.labels[full.labels > 0], return_counts=True)
    assert WORLD.visible_pixels(pose, CAMERA) == dict(zip(ids.tolist(), counts.tolist(), strict=True))
