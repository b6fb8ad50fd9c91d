"""Where the light of a house is computed: samples on every quad, and the rays that they cast."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.kernels import njit
from sim_bridge.house.meshes import QuadMesh
from sim_bridge.house.quads import LID, MIRROR, OPAQUE
from sim_bridge.rays import RayScene, for_bands

INSET_M, LIFT_M = 0.03, 0.012  # distance of samples from the edges of their quad and from its surface
SHARE_M = 0.06  # samples of one part that are closer than this and face the same way share their light
BAND = 2048  # samples in one unit of work


class Samples(NamedTuple):
    """Where light is computed: points and unit normals (k, 3) float32, the quad (k,) of each; grid as in LightMap.

    member: (m,) index of the sample for each value of the light map; neighbours on one part share a sample.
    """

    points: np.ndarray
    normals: np.ndarray
    quad: np.ndarray
    grid: np.ndarray
    member: np.ndarray


def samples_of(mesh: QuadMesh) -> Samples:
    """Lay a grid of samples over every quad, spaced by about its cell_m."""
    c = mesh.corners.astype(np.float64)
    lengths = [np.maximum(np.linalg.norm(c[:, a] - c[:, b], axis=1), np.linalg.norm(c[:, d] - c[:, e], axis=1))
               for a, b, d, e in ((1, 0, 2, 3), (3, 0, 2, 1))]
    cells = [np.clip(np.ceil(length / mesh.cell_m).astype(np.int64), 1, 200) for length in lengths]
    count = (cells[0] + 1) * (cells[1] + 1)
    first = np.concatenate([[0], np.cumsum(count)[:-1]])
    quad, points, normals = np.empty(count.sum(), np.int64), np.empty((count.sum(), 3)), np.empty((count.sum(), 3))
    insets = [np.minimum(INSET_M / np.maximum(length, 1e-6), 0.25) for length in lengths]
    _lay(c, mesh.normals, *cells, *insets, quad, points, normals)
    chosen, member = _shared(points, normals, mesh.part[quad])
    points, normals = points[chosen], normals[chosen]
    return Samples((points + LIFT_M * normals).astype(np.float32), normals.astype(np.float32), quad[chosen],
                   np.stack([first, *cells], axis=1).astype(np.int32), member)


@njit(nogil=True)
def _lay(corners: np.ndarray, corner_normals: np.ndarray, across: np.ndarray, up: np.ndarray, inset_s: np.ndarray,
         inset_t: np.ndarray, quad: np.ndarray, points: np.ndarray, normals: np.ndarray) -> None:
    """Fill quad (n,), points and normals (n, 3) float64 of the samples of all quads, row by row along s.

    corners, corner_normals: (k, 4, 3); across, up: cells along s and t; inset_s, inset_t: rims, 0..1.
    """
    n = 0
    for q in range(len(corners)):
        for j in range(up[q] + 1):
            t = max(inset_t[q], min(1 - inset_t[q], j / up[q]))
            for i in range(across[q] + 1):
                s = max(inset_s[q], min(1 - inset_s[q], i / across[q]))
                a, b, c, d = (1 - s) * (1 - t), s * (1 - t), s * t, (1 - s) * t
                for axis in range(3):
                    points[n, axis] = (corners[q, 0, axis] * a + corners[q, 1, axis] * b + corners[q, 2, axis] * c
                                       + corners[q, 3, axis] * d)
                    normals[n, axis] = (corner_normals[q, 0, axis] * a + corner_normals[q, 1, axis] * b
                                        + corner_normals[q, 2, axis] * c + corner_normals[q, 3, axis] * d)
                x, y, z = normals[n]
                size = max(math.sqrt(x * x + y * y + z * z), 1e-9)
                for axis in range(3):
                    normals[n, axis] /= size
                quad[n] = q
                n += 1


def _shared(points: np.ndarray, normals: np.ndarray, part: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the kept samples (k,), and (m,) the kept one for each: one per part, SHARE_M cube and direction."""
    cube = np.floor((points - points.min(axis=0)) / SHARE_M).astype(np.int64)
    facing = np.rint(normals * 2.0).astype(np.int64) + 2
    key = part.astype(np.int64)
    for column, span in zip((*cube.T, *facing.T), (1024, 1024, 128, 5, 5, 5), strict=True):
        key = key * span + column
    _, chosen, member = np.unique(key, return_index=True, return_inverse=True)
    return chosen, member


class LitScene(NamedTuple):
    """The mesh that stops light while baking, without glass (triangle i belongs to quad solid[i // 2])."""

    samples: Samples
    mesh: QuadMesh
    solid: np.ndarray
    rays: RayScene

    @classmethod
    def of(cls, mesh: QuadMesh, samples: Samples | None = None) -> LitScene:
        """Lay samples over a mesh, unless they are known, and prepare its rays."""
        solid = np.nonzero(np.isin(mesh.see, (OPAQUE, MIRROR, LID)))[0]
        triangles = mesh.triangles().reshape(-1, 2, 3, 3)[solid].reshape(-1, 3, 3)
        return cls(samples_of(mesh) if samples is None else samples, mesh, solid, RayScene(triangles))

    def lit(self, which: np.ndarray, towards: np.ndarray, reach: np.ndarray) -> np.ndarray:
        """Return (k,) bool: whether nothing lies between sample which[i] and that point plus reach[i] * towards[i]."""
        clear = np.zeros(len(which), bool)
        origins, directions = self.samples.points[which], np.ascontiguousarray(towards, np.float32)
        length = np.ascontiguousarray(reach, np.float32)

        def band(part: slice) -> None:
            clear[part] = ~self.rays.blocked(origins[part], directions[part], length[part])
        for_bands(band, len(which), BAND * 8)
        return clear
