"""Exports a house as a GLB file: one mesh per material, textures as small images, glTF's axes (y up, metres)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import trimesh
from PIL import Image
from trimesh.visual.material import PBRMaterial
from trimesh.visual.texture import TextureVisuals

from eqa_nodes.core.types.views import srgb_of
from sim_bridge.house.meshes import QuadMesh, mesh_of
from sim_bridge.house.quads import CLEAR, OUTDOORS
from sim_bridge.house.scene import House
from sim_bridge.house.textures import SIZE, atlas, level_offsets

LEVEL = 1  # level of the texture pyramid: 128 x 128
Y_UP_FROM_Z_UP = np.array([[1.0, 0, 0], [0, 0, 1], [0, -1, 0]])
SKY_SRGB = np.array([0.80, 0.88, 0.96])


def export_glb(house: House, path: Path, mesh: QuadMesh | None = None) -> None:
    """Write a house as GLB: the same house gives the same bytes. Nodes are named by kind and id ("sofa 12").

    mesh: quads of the house, if they are already computed; required for a home of two storeys.
    """
    mesh = mesh or mesh_of(house)
    texels, variant = atlas(mesh.variant)
    kinds = {0: "building", **{t.id: t.kind for t in house.objects}}
    scene = trimesh.Scene()
    materials: dict[tuple[int, bytes, float, int], PBRMaterial] = {}
    for instance in np.unique(mesh.instance):
        name = f"{kinds[int(instance)]} {int(instance)}"
        here = mesh.instance == instance
        looks = np.concatenate([variant[:, None], mesh.colour, mesh.glow[:, None], mesh.see[:, None]], axis=1)
        for number, look in enumerate(np.unique(looks[here], axis=0)):
            quads = here & (looks == look).all(axis=1)
            key = (int(look[0]), look[1:4].tobytes(), float(look[4]), int(look[5]))
            if key not in materials:
                materials[key] = material_of(f"material {len(materials)}", texels[key[0]], look[1:4], key[2], key[3])
            label = f"{name}.{number}"
            scene.add_geometry(_part(mesh, quads, materials[key]), node_name=label, geom_name=label)
    path.write_bytes(scene.export(file_type="glb"))


def _part(mesh: QuadMesh, quads: np.ndarray, material: PBRMaterial) -> trimesh.Trimesh:
    """Return the quads of one material as triangles with texture coordinates (v up, as in trimesh)."""
    corners = mesh.corners[quads].astype(np.float64) @ Y_UP_FROM_Z_UP.T
    normals = mesh.normals[quads].astype(np.float64) @ Y_UP_FROM_Z_UP.T
    origin, s, t = mesh.uv[quads].transpose(1, 0, 2)
    uv = np.stack([origin, origin + s, origin + s + t, origin + t], axis=1)
    first = 4 * np.arange(len(corners))[:, None]
    faces = np.concatenate([first + np.array(triangle) for triangle in ((0, 1, 2), (0, 2, 3))], axis=1).reshape(-1, 3)
    away = np.repeat(turned_away(mesh)[quads], 2)
    faces[away] = faces[away, ::-1]
    return trimesh.Trimesh(corners.reshape(-1, 3), faces, vertex_normals=normals.reshape(-1, 3), process=False,
                           visual=TextureVisuals(uv=uv.reshape(-1, 2), material=material))


def turned_away(mesh: QuadMesh) -> np.ndarray:
    """Return (n,) bool: whether the corners run clockwise seen from the normal's side; viewers would cull the quad."""
    across = np.cross(mesh.corners[:, 2] - mesh.corners[:, 0], mesh.corners[:, 3] - mesh.corners[:, 1])
    return (across * mesh.normals.mean(axis=1)).sum(axis=1) < 0


def material_of(name: str, texels: np.ndarray, colour: np.ndarray, glow: float, see: int) -> PBRMaterial:
    """Return a matt material: the texture already multiplied by the surface colour (linear), stored as sRGB."""
    start, side = level_offsets()[LEVEL], SIZE >> LEVEL
    linear = np.clip(texels[start:start + side * side].reshape(side, side, 3) / 128.0 * colour, 0.0, 1.0)
    srgb = np.broadcast_to(SKY_SRGB, linear.shape) if see == OUTDOORS else srgb_of(linear)
    image = Image.fromarray(np.rint(255 * srgb[::-1]).astype(np.uint8))
    emission = np.ones(3) if see == OUTDOORS else np.clip(colour * glow, 0.0, 1.0)
    return PBRMaterial(name=name, baseColorTexture=image, metallicFactor=0.0, roughnessFactor=0.9, doubleSided=True,
                       emissiveFactor=emission.tolist(), emissiveTexture=image if see == OUTDOORS else None,
                       baseColorFactor=[255, 255, 255, 90 if see == CLEAR else 255],
                       alphaMode="BLEND" if see == CLEAR else "OPAQUE")
