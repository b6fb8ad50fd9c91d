"""Prepares a measured surface for driving: fills small holes, removes floating fragments, closes the floor."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import ndimage
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from eqa_nodes.core.errors import NoFloor
from eqa_nodes.core.reconstruction.blocks import open3d
from eqa_nodes.core.reconstruction.config import ClosingConfig
from eqa_nodes.core.types.views import Mesh

CELL_M = 0.05
STOREY_M = 1.0  # minimum distance of two floors
_LEVEL_M = 0.05  # bin size of heights
_NEAR_M = 0.3  # maximum distance of the floor from the height of the base
_THICK_M = 0.1  # maximum distance of seen floor from the floor's height: doorsills, carpets, noise
_DEEP_M = 1.2  # a surface facing up within this distance below the floor is a drop or a stair
_UP = 0.8  # minimum z of the normal of a floor's triangle
_LEAST_M2 = 0.25  # minimum area facing up of a floor
_FEW = 0.02  # a height with a smaller share of the base's positions is part of a staircase


class FloorPatch(NamedTuple):
    """The mesh that closes the floor of one storey. height_m: height of that floor, map frame."""

    mesh: Mesh
    height_m: float
    area_m2: float


class _Faces(NamedTuple):
    """Triangles: centres (m, 3) metres, z of the unit normals (m,), areas (m,) m2, one vertex of each (m,)."""

    middles: np.ndarray
    up: np.ndarray
    area: np.ndarray
    vertex: np.ndarray


def floor_patches(mesh: Mesh, bases: np.ndarray, config: ClosingConfig) -> list[FloorPatch]:
    """Return the patches that close the floor of each storey that the base was on. bases: (n, 3) metres, map frame.

    Raises NoFloor if no surface facing up is near the height of the base.
    """
    faces = _faces(mesh)
    heights = [_floor_height(faces, level) for level in _levels(bases[:, 2])]
    found = [height for height in heights if height is not None]
    if not found:
        up = float(faces.area[faces.up > _UP].sum())
        raise NoFloor(f"no floor: of {faces.area.sum():.1f} m2 of surfaces {up:.1f} m2 face up, and less than "
                      f"{_LEAST_M2:g} m2 of that within {_NEAR_M:g} m of the base's height "
                      f"({float(np.median(bases[:, 2])):.2f} m): is z up in the map frame, and is the base on the "
                      "floor? --raw writes the surface as it was measured")
    return [_patch(mesh, faces, bases, height, config) for height in found]


def _faces(mesh: Mesh) -> _Faces:
    a, b, c = (mesh.vertices[mesh.triangles[:, k]] for k in range(3))
    normal = np.cross(b - a, c - a)
    length = np.linalg.norm(normal, axis=1)
    return _Faces((a + b + c) / 3, normal[:, 2] / np.maximum(length, 1e-20), length / 2, mesh.triangles[:, 0])


def _levels(z: np.ndarray) -> list[float]:
    """Return the frequent heights of the base, at least STOREY_M apart, in ascending order."""
    step = np.floor((z - z.min()) / _LEVEL_M).astype(np.int64)
    count = np.convolve(np.bincount(step, minlength=3), np.ones(3), "same")
    levels: list[float] = []
    reach, first = round(STOREY_M / _LEVEL_M), True
    while first or count.max() >= max(3.0, _FEW * len(z)):
        peak = int(count.argmax())
        levels.append(float(np.median(z[np.abs(step - peak) <= 1])))
        count[max(0, peak - reach):peak + reach + 1] = 0
        first = False
    return sorted(levels)


def _floor_height(faces: _Faces, base_m: float) -> float | None:
    """Return the height near the base's with the largest area facing up; None if there is too little."""
    here = (np.abs(faces.middles[:, 2] - base_m) < _NEAR_M) & (faces.up > _UP)
    z, area = faces.middles[here, 2], faces.area[here]
    if area.sum() < _LEAST_M2:
        return None
    step = np.floor((z - z.min()) / _LEVEL_M).astype(np.int64)
    amount = np.convolve(np.bincount(step, area, minlength=3), np.ones(3), "same")
    near = np.abs(step - int(amount.argmax())) <= 1
    return float(np.average(z[near], weights=area[near]))


def _patch(mesh: Mesh, faces: _Faces, bases: np.ndarray, height_m: float, config: ClosingConfig) -> FloorPatch:
    """Return the patch of one storey."""
    grid = _Grid(mesh.vertices, height_m, round(config.gap_m / CELL_M) + 2)
    z, row, column = faces.middles[:, 2] - height_m, *grid.cells(faces.middles)
    floor = (np.abs(z) < _THICK_M) & (faces.up > _UP)
    seen = grid.mask(row[floor], column[floor])
    above, below = (z >= _THICK_M) & (z < config.height_m), (z < -_THICK_M) & (z > -_DEEP_M) & (faces.up > _UP)
    solid, drop = grid.mask(row[above], column[above]), grid.mask(row[below], column[below])
    driven = grid.driven(bases[np.abs(bases[:, 2] - height_m) < STOREY_M / 2], config.footprint_m)
    new = _to_close(seen, solid, driven, ndimage.binary_dilation(ndimage.binary_opening(drop)), config)
    return FloorPatch(grid.quads(new, seen, mesh, faces, floor, row, column), height_m, float(new.sum()) * CELL_M ** 2)


def _to_close(seen: np.ndarray, solid: np.ndarray, driven: np.ndarray, drop: np.ndarray, config: ClosingConfig
              ) -> np.ndarray:
    """Return the cells (rows, columns) bool that are closed with floor."""
    known, open_ = seen | solid | driven, ~(seen | solid | driven | drop)
    reach = round(config.gap_m / 2 / CELL_M)
    near = ndimage.distance_transform_edt(~known) <= reach
    narrow = ndimage.distance_transform_edt(near) > reach  # morphological closing by a disc
    enclosed = open_ & _small(open_, config.area_m2)
    new = open_ & (narrow | enclosed)
    label, _ = ndimage.label(new)
    beside = np.unique(label[ndimage.binary_dilation(seen | driven) & new])
    return (new & np.isin(label, beside[beside > 0])) | (driven & ~seen & ~solid & ~drop)


def _small(open_: np.ndarray, area_m2: float) -> np.ndarray:
    """Return the cells of connected areas of at most area_m2 that do not reach the border of the grid."""
    label, count = ndimage.label(open_)
    size = np.bincount(label.ravel(), minlength=count + 1) * CELL_M ** 2 <= area_m2
    border = np.unique(np.concatenate([label[0], label[-1], label[:, 0], label[:, -1]]))
    size[border] = False
    size[0] = False
    found: np.ndarray = size[label]
    return found


class _Grid:
    """Cells of one storey over the extent of a mesh; [row, column] = y, x."""

    def __init__(self, vertices: np.ndarray, height_m: float, margin: int) -> None:
        """margin: number of cells around the mesh, more than the reach of closing."""
        low, high = vertices[:, :2].min(axis=0), vertices[:, :2].max(axis=0)
        self._low = np.floor(low / CELL_M).astype(np.int64) - margin
        self.shape = tuple(int(n) for n in (np.ceil(high / CELL_M).astype(np.int64) + margin - self._low)[::-1])
        self._height_m = height_m

    def cells(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return rows and columns of points (n, 2 or more)."""
        cell = np.floor(points[:, :2] / CELL_M).astype(np.int64) - self._low
        return cell[:, 1], cell[:, 0]

    def mask(self, row: np.ndarray, column: np.ndarray) -> np.ndarray:
        """Return (rows, columns) bool with the given cells set."""
        found = np.zeros(self.shape, bool)
        found[row, column] = True
        return found

    def driven(self, bases: np.ndarray, radius_m: float) -> np.ndarray:
        """Return the cells (rows, columns) bool within a radius of the positions of the base."""
        row, column = self.cells(bases)
        inside = (row >= 0) & (row < self.shape[0]) & (column >= 0) & (column < self.shape[1])
        path = self.mask(row[inside], column[inside])
        if not path.any():
            return path
        near: np.ndarray = ndimage.distance_transform_edt(~path) * CELL_M <= radius_m
        return near

    def quads(self, new: np.ndarray, seen: np.ndarray, mesh: Mesh, faces: _Faces, floor: np.ndarray,
              row: np.ndarray, column: np.ndarray) -> Mesh:
        """Return two triangles for each new cell, with height, colour and label of the nearest seen floor."""
        z, vertex = self._of_floor(seen, faces, floor, row, column)
        rows, columns = np.nonzero(new)
        corner_row = (rows[:, None] + np.array((0, 0, 1, 1))).ravel()
        corner_column = (columns[:, None] + np.array((0, 1, 1, 0))).ravel()
        xy = (np.stack([corner_column, corner_row], axis=1) + self._low) * CELL_M
        height = ndimage.uniform_filter(np.pad(z, (0, 1), mode="edge"), 2, mode="nearest")[corner_row, corner_column]
        first = 4 * np.arange(len(rows))[:, None]
        triangles = np.concatenate([first + np.array(corners) for corners in ((0, 1, 2), (0, 2, 3))]).astype(np.int32)
        own = np.repeat(vertex[rows, columns], 4)
        return Mesh(np.column_stack([xy, height]).astype(np.float32), triangles, mesh.colours[own],
                    None if mesh.labels is None else mesh.labels[own])

    def _of_floor(self, seen: np.ndarray, faces: _Faces, floor: np.ndarray, row: np.ndarray, column: np.ndarray
                  ) -> tuple[np.ndarray, np.ndarray]:
        """Return for each cell (rows, columns) the height in metres and a vertex of the nearest seen floor."""
        flat = row[floor] * self.shape[1] + column[floor]
        count = np.bincount(flat, minlength=seen.size)
        mean = np.bincount(flat, faces.middles[floor, 2], minlength=seen.size) / np.maximum(count, 1)
        vertex = np.zeros(seen.size, np.int64)
        vertex[flat] = faces.vertex[floor]
        nearest = ndimage.distance_transform_edt(~seen, return_distances=False, return_indices=True)
        source = nearest[0] * self.shape[1] + nearest[1]
        return mean[source], vertex[source]


class ClosedSurface(NamedTuple):
    """A closed surface, with the numbers of triangles added in holes and of fragments removed, and the area added."""

    mesh: Mesh
    hole_triangles: int
    crumbs: int
    floor_m2: float
    storeys_m: tuple[float, ...]  # heights of the floors found, map frame


def closed(mesh: Mesh, bases: np.ndarray, config: ClosingConfig = ClosingConfig()) -> ClosedSurface:
    """Return the surface without small fragments, with small holes filled and the floor closed.

    bases: (n, 3) metres, map frame: positions of the base, in order. Measured vertices are not changed.
    Raises NoFloor if no floor is near the height of the base, MissingExtra without Open3D.
    """
    patches = floor_patches(mesh, bases, config)  # first, so that a mesh without a floor fails early
    cleaned, crumbs = without_crumbs(mesh, config.crumb_m)
    filled = holes_filled(cleaned, config.hole_m)
    added = len(filled.triangles) - len(cleaned.triangles)
    return ClosedSurface(joined(filled, *(patch.mesh for patch in patches)), added, crumbs,
                         sum(patch.area_m2 for patch in patches), tuple(patch.height_m for patch in patches))


def without_crumbs(mesh: Mesh, crumb_m: float) -> tuple[Mesh, int]:
    """Return the mesh without connected pieces smaller than crumb_m metres in every direction, and their number."""
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
    found = bare.fill_holes(hole_size=hole_m / 2).triangle.indices.numpy().astype(np.int32)  # radius of a sphere
    new = _facing(found[len(mesh.triangles):], mesh)
    corners = mesh.vertices[new]
    small = np.all(np.ptp(corners, axis=1) <= hole_m, axis=1)
    return mesh._replace(triangles=np.concatenate([mesh.triangles, new[small]]))


def joined(first: Mesh, *more: Mesh) -> Mesh:
    """Return several meshes as one. Labels are kept if the first mesh has them."""
    meshes = (first, *more)
    starts = np.cumsum([0, *(len(mesh.vertices) for mesh in meshes)])
    labels = None if first.labels is None else np.concatenate(
        [np.zeros(len(mesh.vertices), np.uint16) if mesh.labels is None else mesh.labels for mesh in meshes])
    return Mesh(np.concatenate([mesh.vertices for mesh in meshes]),
                np.concatenate([mesh.triangles + int(start) for mesh, start in zip(meshes, starts, strict=False)]
                               ).astype(np.int32),
                np.concatenate([mesh.colours for mesh in meshes]), labels)


def _facing(new: np.ndarray, mesh: Mesh) -> np.ndarray:
    """Return new triangles (k, 3) oriented like the surface around them: those of Open3D may face away.

    Two triangles with equal orientation traverse their common edge in opposite directions.
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
    """Return the number of connected pieces, and the piece of each vertex (n,)."""
    a, b, c = triangles.T
    edges = coo_array((np.ones(2 * len(a), bool), (np.concatenate([a, b]), np.concatenate([b, c]))),
                      shape=(vertices, vertices))
    count, piece = connected_components(edges, directed=False)
    return int(count), piece


def _part(mesh: Mesh, keep: np.ndarray) -> Mesh:
    """Return the mesh of some vertices; keep: (n,) bool, complete pieces."""
    number = np.cumsum(keep) - 1
    return Mesh(mesh.vertices[keep], number[mesh.triangles[keep[mesh.triangles[:, 0]]]].astype(np.int32),
                mesh.colours[keep], None if mesh.labels is None else mesh.labels[keep])
