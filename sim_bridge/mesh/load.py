"""Loads scans and models as triangles in the map frame: GLB, glTF, OBJ, PLY and STL, with or without textures.

Units are metres as in the file. Which way is up: see upright.py. Colours are those of a flat shading: texture times
base colour times vertex colour, without lights, transparency or other maps (docs/scans.md says what is converted).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from eqa_nodes.core.errors import UnknownScene
from eqa_nodes.core.types.views import Label
from sim_bridge.mesh.model import BASIS_REMEDY, Submesh, broken, check_texels
from sim_bridge.mesh.pyramid import Pyramids, pyramids
from sim_bridge.mesh.read import FARTHEST_M, each_face, joined, read_model
from sim_bridge.mesh.semantics import labels_of
from sim_bridge.mesh.upright import map_from_file
from sim_bridge.scans import SceneFiles


@dataclass(frozen=True, eq=False)
class TriangleScene:
    """m triangles over n corners, map frame (x forward, y left, z up), metres.

    vertices: (n, 3) float32; faces: (m, 3) int32, counter-clockwise seen from the front, which alone is seen;
    uv: (n, 2) float32 texture coordinates, v downwards; colour: (n, 3) uint8, 255 where the file has none;
    part: (m,) int32 row of factor, texture, wrap and lit; factor: (p, 3) float32 base colour; texture: (p,) int32,
    -1 = none; wrap: (p, 2) int32; lit: (p,) bool, no colours: shaded by a lamp at the camera;
    instance: (m,) uint16 of labels, 0 = nothing; sheet: (m,) bool, one side of a sheet, seen from
    behind too.
    """

    vertices: np.ndarray
    faces: np.ndarray
    uv: np.ndarray
    colour: np.ndarray
    part: np.ndarray
    factor: np.ndarray
    texture: np.ndarray
    wrap: np.ndarray
    lit: np.ndarray
    textures: Pyramids
    instance: np.ndarray
    sheet: np.ndarray
    labels: dict[int, Label]


def load_mesh(scan: SceneFiles, labels: bool | None = None) -> TriangleScene:
    """Return the triangles of a scan with what their looks need.

    labels: True, they must be there; False, they are not read; None, they are read where they are. Raises UnknownScene
    for files that are missing, SimulatorError for files that are damaged, empty, or need what is not read.
    """
    if scan.glb is None and scan.basis_glb is not None:
        raise UnknownScene(f"{scan.place}: only {scan.basis_glb} is there, and {BASIS_REMEDY}")
    if scan.glb is None:
        raise UnknownScene(f"{scan.place}: it has no mesh file (.glb, .obj, .ply)")
    model = read_model(scan.glb)
    used = model.used()
    check_texels(scan.glb, [model.images[i] for i in used])
    vertices, faces = joined(model, scan.glb, map_from_file(scan))
    instance, known = labels_of(scan, model, vertices, faces, labels)
    lit = [part.colour is None and part.material.image < 0 for part in model.parts]
    return TriangleScene(
        vertices, faces, _joined_uv(model.parts, scan.glb),
        np.concatenate([_bytes(part) for part in model.parts]), each_face(model, range(len(model.parts)), np.int32),
        np.array([p.material.factor for p in model.parts], np.float32),
        np.array([p.material.image for p in model.parts], np.int32),
        np.array([p.material.wrap for p in model.parts], np.int32), np.array(lit),
        pyramids([image.decode if i in used else None for i, image in enumerate(model.images)]), instance,
        sheets(vertices, faces), known)


def _joined_uv(parts: list[Submesh], path: Path) -> np.ndarray:
    uv = np.concatenate([np.zeros((len(p.vertices), 2), np.float32) if p.uv is None else p.uv for p in parts])
    if not (np.abs(uv) < FARTHEST_M).all():
        raise broken(path, "texture coordinates that are not finite")
    return uv.astype(np.float32)


def _bytes(part: Submesh) -> np.ndarray:
    """Return vertex colours as bytes, white where there are none."""
    if part.colour is None:
        return np.full((len(part.vertices), 3), 255, np.uint8)
    return np.rint(np.clip(np.nan_to_num(part.colour), 0.0, 1.0) * 255).astype(np.uint8)


def sheets(vertices: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """Return (m,) bool: another face has the same three corners, so that the two are the sides of one sheet."""
    bits = (vertices + np.float32(0)).view(np.uint32).astype(np.uint64)  # + 0: there are two zeros
    mixed = (bits[:, 0] * np.uint64(0x9E3779B97F4A7C15) ^ bits[:, 1] * np.uint64(0xC2B2AE3D27D4EB4F)
             ^ bits[:, 2] * np.uint64(0x165667B19E3779F9))
    mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    key = mixed[faces].sum(axis=1, dtype=np.uint64)  # wherever the round begins, and whichever way it goes
    order = np.argsort(key)  # in whatever order equal ones come
    twin = key[order][1:] == key[order][:-1]
    out = np.zeros(len(faces), bool)
    out[order[1:][twin]] = out[order[:-1][twin]] = True
    return out
