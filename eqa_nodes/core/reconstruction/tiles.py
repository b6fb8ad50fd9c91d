"""One mesh or cloud out of the parts of a reconstruction, each of which is extracted alone."""

from __future__ import annotations

import numpy as np

from eqa_nodes.core.reconstruction.blocks import BLOCK, Blocks, keys_of
from eqa_nodes.core.types.surfaces import Cloud, Mesh

_ON_VOXEL = 1e-3  # of a voxel: a coordinate this near to one is that of the voxel


def own_mesh(part: Blocks, own: np.ndarray, weight: float) -> Mesh:
    """Return the triangles of a part that lie in the blocks of these keys, and their vertices."""
    mesh = part.mesh(weight)
    if not len(mesh.triangles):
        return mesh
    middles = mesh.vertices[mesh.triangles].mean(axis=1, dtype=np.float64)
    inside = np.isin(keys_of(np.floor(middles / (part.voxel_m * BLOCK)).astype(np.int64)), own)
    used, triangles = np.unique(mesh.triangles[inside], return_inverse=True)
    return Mesh(mesh.vertices[used], triangles.reshape(-1, 3).astype(np.int32), mesh.colours[used])


def joined(meshes: list[Mesh]) -> Mesh:
    """Return one mesh, in which vertices at the same place are one."""
    first = np.cumsum([0, *(len(mesh.vertices) for mesh in meshes)])[:-1]
    vertices = np.concatenate([mesh.vertices for mesh in meshes])
    rows = np.ascontiguousarray(vertices).view([("", vertices.dtype)] * 3).reshape(-1)
    _, kept, same = np.unique(rows, return_index=True, return_inverse=True)
    triangles = np.concatenate([mesh.triangles + start for mesh, start in zip(meshes, first, strict=True)])
    colours = np.concatenate([mesh.colours for mesh in meshes])
    return Mesh(vertices[kept], same.reshape(-1)[triangles].astype(np.int32), colours[kept])


def own_cloud(part: Blocks, own: np.ndarray, weight: float) -> tuple[Cloud, np.ndarray]:
    """Return the points of a part that belong to the blocks of these keys, and their blocks' keys, sorted by both."""
    found = part.cloud(weight)
    owners = keys_of(_places(found.points, part.voxel_m))
    order = np.lexsort((*found.points.T, owners))  # Open3D's order differs from run to run
    order = order[np.isin(owners[order], own)]
    return Cloud(found.points[order], found.colours[order]), owners[order]


def _places(points: np.ndarray, voxel_m: float) -> np.ndarray:
    """Return the places of the blocks that points (n, 3) belong to. A point lies on an edge between two voxels."""
    at = points.astype(np.float64) / voxel_m
    nearest = np.rint(at)
    voxel = np.where(np.abs(at - nearest) < _ON_VOXEL, nearest, np.floor(at))
    places: np.ndarray = np.floor_divide(voxel, BLOCK).astype(np.int64)
    return places
