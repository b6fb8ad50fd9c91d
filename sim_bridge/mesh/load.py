"""Scans as triangles in the map frame."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import trimesh

from eqa_nodes.core.errors import UnknownScene
from eqa_nodes.core.types import Label
from sim_bridge.scans import Scan


@dataclass(frozen=True, eq=False)
class TriangleScene:
    """vertices (n, 3) float32 metres, map axes; faces (m, 3) int32; labels by instance, instance (m,) uint16."""

    vertices: np.ndarray
    faces: np.ndarray
    labels: dict[int, Label]
    instance: np.ndarray


def load_mesh(scan: Scan) -> TriangleScene:
    """Return the triangles of a scan. Raises UnknownScene."""
    if scan.glb is None:
        raise UnknownScene(f"{scan.place}: no file of triangles")
    mesh = trimesh.load(scan.glb, force="mesh", process=False)
    config = scan.glb.with_suffix(".stage_config.json")
    y_up = scan.glb.suffix == ".obj" or (config.is_file() and json.loads(config.read_text())["up"] == [0, 1, 0])
    x, y, z = np.asarray(mesh.vertices).T
    vertices = np.stack([-z, -x, y] if y_up else [y, -x, z], axis=1)
    return TriangleScene(vertices.astype(np.float32), np.asarray(mesh.faces, np.int32), {},
                         np.zeros(len(mesh.faces), np.uint16))
