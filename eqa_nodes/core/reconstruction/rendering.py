"""Simplification of meshes for web pages, and rendering of pictures without a display."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from eqa_nodes.core.reconstruction.blocks import open3d
from eqa_nodes.core.types.views import Mesh

_MARGIN = 1.03  # factor by which a cell is larger than the estimate


class RenderView(NamedTuple):
    """Viewpoint of a picture. eye, target: metres, map frame, z up; fov_deg: vertical field of view, degrees."""

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
    """Render a picture (height, width, 3) uint8 of the fronts of the surfaces. Backs are not drawn, so that a ceiling
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
    """Return (m,) bool: True for triangles whose front faces the eye."""
    a, b, c = (mesh.vertices[mesh.triangles[:, k]] for k in range(3))
    return np.einsum("mk,mk->m", np.cross(b - a, c - a), np.asarray(eye, np.float32) - a) > 0


def simplified(mesh: Mesh, max_triangles: int, cell_m: float = 0.03) -> Mesh:
    """Return the mesh with at most max_triangles triangles: vertices in one cell are merged; labels are dropped.

    cell_m: edge length in metres of a cell that would keep about the present number of triangles; larger cells are
    used. A mesh with few enough triangles is returned unchanged. Raises MissingExtra without Open3D.
    """
    if len(mesh.triangles) <= max_triangles:
        return mesh
    o3d = open3d()
    whole = o3d.geometry.TriangleMesh(o3d.utility.Vector3dVector(mesh.vertices.astype(np.float64)),
                                      o3d.utility.Vector3iVector(mesh.triangles))
    whole.vertex_colors = o3d.utility.Vector3dVector(mesh.colours / 255.0)
    small = whole
    while len(small.triangles) > max_triangles:  # their number is about that of the cells on the surface
        cell_m *= _MARGIN * float(np.sqrt(len(small.triangles) / max_triangles))
        small = _clustered(o3d, whole, cell_m)
    return Mesh(np.asarray(small.vertices).astype(np.float32), np.asarray(small.triangles).astype(np.int32),
                np.rint(np.clip(np.asarray(small.vertex_colors), 0, 1) * 255).astype(np.uint8))


def _clustered(o3d: Any, mesh: Any, cell_m: float) -> Any:
    """Return the mesh with one vertex per cell, without degenerate or duplicate triangles."""
    small = mesh.simplify_vertex_clustering(cell_m, o3d.geometry.SimplificationContraction.Average)
    small.remove_degenerate_triangles()
    small.remove_duplicated_triangles()
    small.remove_unreferenced_vertices()
    return small
