"""Light of a house, baked once: a grid of samples on every quad."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sim_bridge.house.meshes import QuadMesh
from sim_bridge.house.render import LightMap

INSET_M, LIFT_M = 0.03, 0.012  # samples keep off the edges of their quad and off its surface


class Samples(NamedTuple):
    """Where light is measured: points and unit normals (m, 3) float32; grid as in LightMap."""

    points: np.ndarray
    normals: np.ndarray
    quad: np.ndarray
    grid: np.ndarray


def samples_of(mesh: QuadMesh) -> Samples:
    """Lay a grid of samples over every quad, spaced by about its cell_m."""
    c = mesh.corners.astype(np.float64)
    lengths = [np.maximum(np.linalg.norm(c[:, a] - c[:, b], axis=1), np.linalg.norm(c[:, d] - c[:, e], axis=1))
               for a, b, d, e in ((1, 0, 2, 3), (3, 0, 2, 1))]
    cells = [np.clip(np.ceil(length / mesh.cell_m).astype(np.int64), 1, 200) for length in lengths]
    count = (cells[0] + 1) * (cells[1] + 1)
    first = np.concatenate([[0], np.cumsum(count)[:-1]])
    quad = np.repeat(np.arange(len(count)), count)
    local = np.arange(count.sum()) - first[quad]
    steps = [local % (cells[0][quad] + 1) / cells[0][quad], local // (cells[0][quad] + 1) / cells[1][quad]]
    inset = [np.minimum(INSET_M / np.maximum(length, 1e-6), 0.25)[quad] for length in lengths]
    s, t = (np.clip(step, edge, 1 - edge)[:, None] for step, edge in zip(steps, inset))
    points, normals = (x[quad, 0] * (1 - s) * (1 - t) + x[quad, 1] * s * (1 - t) + x[quad, 2] * s * t + x[quad, 3] * (1 - s) * t
                       for x in (c, mesh.normals.astype(np.float64)))
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-9)
    return Samples((points + LIFT_M * normals).astype(np.float32), normals.astype(np.float32), quad,
                   np.stack([first, *cells], axis=1).astype(np.int32))


def plain_light(samples: Samples) -> np.ndarray:
    """Return (m, 3) float32 light that only depends on which way a surface faces."""
    n = samples.normals
    return np.repeat((0.62 + 0.22 * n[:, 2] + 0.10 * n[:, 0] + 0.05 * n[:, 1])[:, None], 3, axis=1).astype(np.float32)


def bake(mesh: QuadMesh) -> LightMap:
    """Return the light of a mesh."""
    samples = samples_of(mesh)
    return LightMap(plain_light(samples), samples.grid)
