"""Makes a measured surface fit for driving: small holes filled, floating crumbs removed, the floor closed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from eqa_nodes.core.reconstruction.config import ClosingConfig
from eqa_nodes.core.reconstruction.floor import floor_patches
from eqa_nodes.core.reconstruction.library import open3d
from eqa_nodes.core.types.surfaces import Mesh


class ClosedSurface(NamedTuple):
    """A closed surface, and what was done: triangles in small holes, removed pieces, area of the floor added."""

    mesh: Mesh
    hole_triangles: int
    crumbs: int
    floor_m2: float
    storeys_m: tuple[float, ...]  # heights of the floors that were found, map frame


def closed(mesh: Mesh, bases: np.ndarray, config: ClosingConfig = ClosingConfig()) -> ClosedSurface:
    """Return the surface without crumbs, with small holes filled and the floor closed.

    bases: (n, 3) metres, map frame: where the base was, in order. Vertices that were measured stay as they are.
    Raises NoFloor where no floor is near the height of the base, MissingExtra as the reconstruction does.
    """
    patches = floor_patches(mesh, bases, config)  # first: a mesh without a floor costs nothing more
    cleaned, crumbs = without_crumbs(mesh, config.crumb_m)
    filled = holes_filled(cleaned, config.hole_m)
    added = len(filled.triangles) - len(cleaned.triangles)
    return ClosedSurface(joined(filled, *(patch.mesh for patch in patches)), added, crumbs,
                         sum(patch.area_m2 for patch in patches), tuple(patch.height_m for patch in patches))


def without_crumbs(mesh: Mesh, crumb_m: float) -> tuple[Mesh, int]:
    """Return the mesh without the connected pieces whose largest extent is below crumb_m metres, and their number."""
    count, piece = _pieces(mesh.triangles, len(mesh.vertices))
    order = np.argsort(piece, kind="stable")
    first = np.searchsorted(piece[order], np.arange(count))
    ordered = mesh.vertices[order]
    extent = np.maximum.reduceat(ordered, first) - np.minimum.reduceat(ordered, first)
    small = extent.max(axis=1) < crumb_m
    keep = ~small[piece]
    return (_part(mesh, keep) if small.any() else mesh), int(small.sum())


def holes_filled(mesh: Mesh, hole_m: float) -> Mesh:
    """Return the mesh with triangles over holes of at most hole_m metres; no vertices are added."""
    if not hole_m:
        return mesh
    o3d = open3d()
    bare = o3d.t.geometry.TriangleMesh(o3d.core.Tensor(mesh.vertices), o3d.core.Tensor(mesh.triangles))
    found = bare.fill_holes(hole_size=hole_m / 2).triangle.indices.numpy().astype(np.int32)  # of a sphere around it
    new = _facing(found[len(mesh.triangles):], mesh)
    corners = mesh.vertices[new]
    small = np.all(np.ptp(corners, axis=1) <= hole_m, axis=1)
    return mesh._replace(triangles=np.concatenate([mesh.triangles, new[small]]))


def joined(first: Mesh, *more: Mesh) -> Mesh:
    """Return several meshes as one. Labels are kept where the first has them."""
    meshes = (first, *more)
    starts = np.cumsum([0, *(len(mesh.vertices) for mesh in meshes)])
    labels = None if first.labels is None else np.concatenate(
        [np.zeros(len(mesh.vertices), np.uint16) if mesh.labels is None else mesh.labels for mesh in meshes])
    return Mesh(np.concatenate([mesh.vertices for mesh in meshes]),
                np.concatenate([mesh.triangles + int(start) for mesh, start in zip(meshes, starts, strict=False)]
                               ).astype(np.int32),
                np.concatenate([mesh.colours for mesh in meshes]), labels)


def _facing(new: np.ndarray, mesh: Mesh) -> np.ndarray:
    """Return new triangles (k, 3) with the front on the side of the surface around them: Open3D's may face away.

    Two triangles that face one side run along their common edge in opposite directions.
    """
    vertices = len(mesh.vertices)
    known = np.isin(_edges(new, vertices), _edges(mesh.triangles[np.isin(mesh.triangles, new).any(axis=1)], vertices))
    count, piece = _pieces(new, vertices)
    hole = piece[new[:, 0]]
    turned = np.bincount(hole, known.reshape(3, -1).any(axis=0), minlength=count) > 0
    return np.where(turned[hole, None], new[:, ::-1], new)


def _edges(triangles: np.ndarray, vertices: int) -> np.ndarray:
    """Return the directed edges (3 m,) of triangles (m, 3), each as one number."""
    a, b, c = triangles.T.astype(np.int64)
    return np.concatenate([a * vertices + b, b * vertices + c, c * vertices + a])


def _pieces(triangles: np.ndarray, vertices: int) -> tuple[int, np.ndarray]:
    """Return how many connected pieces there are, and which one each vertex (n,) belongs to."""
    a, b, c = triangles.T
    edges = coo_array((np.ones(2 * len(a), bool), (np.concatenate([a, b]), np.concatenate([b, c]))),
                      shape=(vertices, vertices))
    count, piece = connected_components(edges, directed=False)
    return int(count), piece


def _part(mesh: Mesh, keep: np.ndarray) -> Mesh:
    """Return the mesh of some vertices; keep (n,) bool holds whole pieces."""
    number = np.cumsum(keep) - 1
    return Mesh(mesh.vertices[keep], number[mesh.triangles[keep[mesh.triangles[:, 0]]]].astype(np.int32),
                mesh.colours[keep], None if mesh.labels is None else mesh.labels[keep])
