"""A mesh with fewer triangles, for pages and other places that cannot show all of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from eqa_nodes.core.reconstruction.library import open3d
from eqa_nodes.core.types.surfaces import Mesh

_MARGIN = 1.03  # by which a cell is larger than the one that should do


def simplified(mesh: Mesh, max_triangles: int, cell_m: float = 0.03) -> Mesh:
    """Return the mesh with at most that many triangles: vertices in one cell become one; labels are not kept.

    cell_m: edge length in metres of the cell that would keep about as many triangles as there are; the cells that are
    used are larger. A mesh that has few enough comes back as it is. Raises MissingExtra without Open3D.
    """
    if len(mesh.triangles) <= max_triangles:
        return mesh
    o3d = open3d()
    whole = o3d.geometry.TriangleMesh(o3d.utility.Vector3dVector(mesh.vertices.astype(np.float64)),
                                      o3d.utility.Vector3iVector(mesh.triangles))
    whole.vertex_colors = o3d.utility.Vector3dVector(mesh.colours / 255.0)
    small = whole
    while len(small.triangles) > max_triangles:  # there are as many as cells fit on the surface
        cell_m *= _MARGIN * float(np.sqrt(len(small.triangles) / max_triangles))
        small = _clustered(o3d, whole, cell_m)
    return Mesh(np.asarray(small.vertices).astype(np.float32), np.asarray(small.triangles).astype(np.int32),
                np.rint(np.clip(np.asarray(small.vertex_colors), 0, 1) * 255).astype(np.uint8))


def _clustered(o3d: Any, mesh: Any, cell_m: float) -> Any:
    """Return the mesh with one vertex a cell, without triangles that became lines or came twice."""
    small = mesh.simplify_vertex_clustering(cell_m, o3d.geometry.SimplificationContraction.Average)
    small.remove_degenerate_triangles()
    small.remove_duplicated_triangles()
    small.remove_unreferenced_vertices()
    return small
