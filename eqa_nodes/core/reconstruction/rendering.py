"""Pictures of a mesh, without a display: rays on the CPU, through Open3D."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from eqa_nodes.core.reconstruction.library import open3d
from eqa_nodes.core.types.surfaces import Mesh


class RenderView(NamedTuple):
    """Where a picture is taken from: eye and target in metres, map frame, z up; fov_deg: vertical field of view."""

    eye: tuple[float, float, float]
    target: tuple[float, float, float]
    fov_deg: float

    def camera_from_map(self) -> np.ndarray:
        """Return the (4, 4) transform into the optical frame: x right, y down, z forward."""
        eye, ahead = np.asarray(self.eye, np.float64), np.subtract(self.target, self.eye).astype(np.float64)
        ahead /= np.linalg.norm(ahead)
        right = np.cross(ahead, (0.0, 0.0, 1.0))
        right /= np.linalg.norm(right)
        matrix = np.eye(4)
        matrix[:3, :3] = right, np.cross(ahead, right), ahead
        matrix[:3, 3] = -matrix[:3, :3] @ eye
        return matrix


def rendered(mesh: Mesh, view: RenderView, size: tuple[int, int], background: tuple[int, int, int]) -> np.ndarray:
    """Return a picture (height, width, 3) uint8 of the fronts of the surfaces; backs are not drawn, so that a ceiling
    hides nothing from above. size: width and height in pixels. Raises MissingExtra without Open3D.
    """
    o3d, (width, height) = open3d(), size
    picture = np.full((height, width, 3), background, np.uint8)
    front = mesh.triangles[_faces(mesh, view.eye)]
    if not len(front):
        return picture
    scene = o3d.t.geometry.RaycastingScene()
    scene.add_triangles(np.ascontiguousarray(mesh.vertices, np.float32), np.ascontiguousarray(front, np.uint32))
    focal = height / 2 / np.tan(np.radians(view.fov_deg) / 2)
    intrinsic = np.array([[focal, 0, width / 2], [0, focal, height / 2], [0, 0, 1.0]])
    rays = scene.create_rays_pinhole(o3d.core.Tensor(intrinsic), o3d.core.Tensor(view.camera_from_map()), width, height)
    hits = scene.cast_rays(rays)
    hit = np.isfinite(hits["t_hit"].numpy())
    corners = mesh.colours[front[hits["primitive_ids"].numpy()[hit]]].astype(np.float32)  # (n, 3 corners, 3)
    uv = hits["primitive_uvs"].numpy()[hit]
    weights = np.column_stack([1 - uv.sum(axis=1), uv])
    picture[hit] = np.rint(np.einsum("nc,nck->nk", weights, corners)).astype(np.uint8)
    return picture


def _faces(mesh: Mesh, eye: tuple[float, float, float]) -> np.ndarray:
    """Return which triangles (m,) turn their front to the eye."""
    a, b, c = (mesh.vertices[mesh.triangles[:, k]] for k in range(3))
    return np.einsum("mk,mk->m", np.cross(b - a, c - a), np.asarray(eye, np.float32) - a) > 0
