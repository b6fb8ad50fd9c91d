"""Small scenes as Habitat's data sets lay them out: a house with and without labels, and a place with two floors."""

from __future__ import annotations

import atexit
import json
import shutil
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
from PIL import Image

from tests.unit.house_fixture import two_rooms

STOREYS_M = 3.0
_NAVMESH = Path(__file__).with_name("contract") / "data" / "two_rooms.navmesh"
_Y_UP = {"shader_type": "flat", "up": [0, 1, 0], "front": [0, 0, -1]}
_NAME = "%%CONFIG_NAME_AS_ASSET_FILENAME%%"  # Habitat's word for the name of the scene
_LABELLED = {**_Y_UP, "semantic_up": [0, 1, 0], "semantic_front": [0, 0, -1], "has_semantic_textures": True,
             "semantic_asset": f"{_NAME}.semantic.glb", "semantic_descriptor_filename": f"{_NAME}.semantic.txt"}


@cache
def scans() -> Path:
    """Return a folder of scans with the house of `two_rooms` as HM3D has scenes without labels; and stairs.glb.

    00003-Baked is the same house with a navigation mesh for Habitat's own robot: radius 0.1 m, height 1.5 m.
    """
    from sim_bridge.house.export import export_glb

    home = _home()
    export_glb(two_rooms(), home / "TwoRooms.basis.glb")
    _describe(home, "hm3d_basis", _Y_UP)
    baked = home.with_name("00003-Baked")
    baked.mkdir()
    shutil.copy(home / "TwoRooms.basis.glb", baked / "Baked.basis.glb")
    shutil.copy(_NAVMESH, baked / "Baked.basis.navmesh")
    _stairs(home.parents[2] / "stairs.glb")
    return home.parents[2]


@cache
def labelled_scans() -> Path:
    """Return the same with HM3D's labels: each thing in a colour of its own, and a list of colours and names.

    A second scene, 00002-Bare, has none although the description of the data set promises them.
    """
    home = _home()
    shutil.copy(next(scans().glob("hm3d/val/*/*.glb")), home / "TwoRooms.basis.glb")
    _paint(home)
    _describe(home, "hm3d_annotated_basis", _LABELLED)
    bare = home.with_name("00002-Bare")
    bare.mkdir()
    shutil.copy(home / "TwoRooms.basis.glb", bare / "Bare.basis.glb")
    return home.parents[2]


def _home() -> Path:
    kept = tempfile.TemporaryDirectory()
    atexit.register(kept.cleanup)
    home = Path(kept.name) / "hm3d" / "val" / "00001-TwoRooms"
    home.mkdir(parents=True)
    return home


def _describe(home: Path, name: str, attributes: dict[str, object]) -> None:
    stages = {"default_attributes": attributes, "paths": {".glb": ["val/*/*.basis.glb"]}}
    (home.parents[1] / f"{name}.scene_dataset_config.json").write_text(json.dumps({"stages": stages}))


def _paint(home: Path) -> None:
    """Write the labels of a house that lies in `home`; instance i of the house has number i + 1."""
    import trimesh
    from trimesh.visual.material import PBRMaterial
    from trimesh.visual.texture import TextureVisuals

    kinds = {0: "wall", **{thing.id: thing.kind for thing in two_rooms().things}}
    colours = {i: (37 * (i + 1) % 256, 91 * (i + 1) % 256, 53 * (i + 1) % 256) for i in kinds}
    scene = trimesh.Scene()
    for name, part in sorted(trimesh.load_scene(home / "TwoRooms.basis.glb").geometry.items()):
        instance = int(name.split(".")[0].rsplit(" ", 1)[1])
        material = PBRMaterial(baseColorTexture=Image.new("RGB", (2, 2), colours[instance]), name=str(instance))
        looks = TextureVisuals(uv=np.full((len(part.vertices), 2), 0.5), material=material)
        looks.vertex_attributes["color"] = np.tile(_linear(colours[instance]), (len(part.vertices), 1))
        scene.add_geometry(trimesh.Trimesh(part.vertices, part.faces, process=False, visual=looks), geom_name=name)
    (home / "TwoRooms.semantic.glb").write_bytes(scene.export(file_type="glb"))
    lines = ["HM3D Semantic Annotations"] + [
        f'{i + 1},{r:02X}{g:02X}{b:02X},"{kinds[i]}",0' for i, (r, g, b) in sorted(colours.items())]
    (home / "TwoRooms.semantic.txt").write_text("\n".join(lines) + "\n")


def _linear(srgb: tuple[int, int, int]) -> np.ndarray:
    """Return a colour as vertices have it: (4,) uint8, linear."""
    part = np.array(srgb) / 255
    linear = np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)
    return np.append(np.rint(255 * linear), 255).astype(np.uint8)


def _stairs(path: Path) -> None:
    """Write two floors of 6 x 6 m, the upper one 3 m higher and 6 m further along +x of the map, and a ramp between."""
    import trimesh

    low, high = trimesh.creation.box((6, 0.1, 6)), trimesh.creation.box((6, 0.1, 6))
    low.apply_translation((0, -0.05, 0))
    high.apply_translation((0, STOREYS_M - 0.05, -12))
    ramp = trimesh.creation.box((2, 0.1, np.hypot(6, STOREYS_M) + 0.05))
    ramp.apply_transform(trimesh.transformations.rotation_matrix(np.arctan2(STOREYS_M, 6), (1, 0, 0)))
    ramp.apply_translation((0, STOREYS_M / 2 - 0.05, -6))
    path.write_bytes(trimesh.Scene([low, high, ramp]).export(file_type="glb"))
