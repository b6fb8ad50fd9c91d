"""The colouring of ray hits on a scan. One pixel depends on nothing but its own ray."""

from __future__ import annotations

import math

import numpy as np

from eqa_nodes.core.kernels import njit
from sim_bridge.mesh.pyramid import colour_at

_DIM = 0.25  # of the lamp's light, on what is seen at a grazing angle
_WHITE = 230.0  # what has no colour of its own, seen straight on


@njit(inline="always")
def _dot(a: tuple[float, float, float], b: tuple[float, float, float]) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@njit(inline="always")
def _cross(a: tuple[float, float, float], b: tuple[float, float, float]) -> tuple[float, float, float]:
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@njit(nogil=True)
def rays(first: int, end: int, width: int, eye: np.ndarray, corner: np.ndarray, right: np.ndarray,
         down: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return origins and directions (n, 3) float32 of the pixels first..end, row by row, optical z component 1.

    corner (3,): direction of pixel 0; right, down (3,): how it changes from one pixel to the next.
    """
    origins, directions = np.empty((end - first, 3), np.float32), np.empty((end - first, 3), np.float32)
    for i in range(end - first):
        column, row = np.float32((first + i) % width), np.float32((first + i) // width)
        for axis in range(3):
            origins[i, axis] = eye[axis]
            directions[i, axis] = corner[axis] + column * right[axis] + row * down[axis]
    return origins, directions


@njit(nogil=True)
def backs(face: np.ndarray, normal: np.ndarray, directions: np.ndarray, sheet: np.ndarray) -> np.ndarray:
    """Return which rays (k,) int64 hit the back of a face that is not one side of a sheet."""
    found, number = np.empty(len(face), np.int64), 0
    for i in range(len(face)):
        along = normal[i, 0] * directions[i, 0] + normal[i, 1] * directions[i, 1] + normal[i, 2] * directions[i, 2]
        if face[i] >= 0 and along > 0 and not sheet[face[i]]:
            found[number] = i
            number += 1
    return found[:number].copy()


@njit(nogil=True)
def survey(face: np.ndarray, depth: np.ndarray, max_range: float, instance: np.ndarray, depth_m: np.ndarray,
           labels: np.ndarray) -> None:
    """Fill depth_m (n,) float32 and labels (n,) uint16 of n rays from their hits."""
    for i in range(len(face)):
        depth_m[i] = depth[i] if face[i] >= 0 and depth[i] <= max_range else 0.0
        labels[i] = instance[face[i]] if face[i] >= 0 else 0


@njit(nogil=True)
def paint(face: np.ndarray, bu: np.ndarray, bv: np.ndarray, depth: np.ndarray, directions: np.ndarray,
          right: np.ndarray, down: np.ndarray, vertices: np.ndarray, faces: np.ndarray, uv: np.ndarray,
          colour: np.ndarray, part: np.ndarray, factor: np.ndarray, texture: np.ndarray, wrap: np.ndarray,
          lit: np.ndarray, texels: np.ndarray, levels: np.ndarray, depths: np.ndarray, rgb: np.ndarray) -> None:
    """Fill rgb (n, 3) uint8 of n rays; black where nothing was hit.

    face, bu, bv, depth (n,): the hits; directions (n, 3): optical z component 1; right, down (3,): how the direction
    changes from one pixel to the next; then TriangleScene's fields.
    """
    for i in range(face.shape[0]):
        f = face[i]
        if f < 0:
            rgb[i, 0] = rgb[i, 1] = rgb[i, 2] = 0
            continue
        row = part[f]
        i0, i1, i2 = faces[f, 0], faces[f, 1], faces[f, 2]
        s, t = bu[i], bv[i]
        x0, y0, z0 = vertices[i0, 0], vertices[i0, 1], vertices[i0, 2]
        e1 = (vertices[i1, 0] - x0, vertices[i1, 1] - y0, vertices[i1, 2] - z0)
        e2 = (vertices[i2, 0] - x0, vertices[i2, 1] - y0, vertices[i2, 2] - z0)
        normal = _cross(e1, e2)
        ray = (directions[i, 0], directions[i, 1], directions[i, 2])
        facing = _dot(normal, ray)
        r, g, b = 255.0, 255.0, 255.0
        if lit[row]:
            size = math.sqrt(_dot(normal, normal) * _dot(ray, ray))
            r = g = b = _WHITE * (_DIM + (1 - _DIM) * (abs(facing) / size if size > 0 else 0.0))
        elif texture[row] >= 0:
            u0, v0 = uv[i0, 0], uv[i0, 1]
            u1, v1, u2, v2 = uv[i1, 0] - u0, uv[i1, 1] - v0, uv[i2, 0] - u0, uv[i2, 1] - v0
            number = texture[row]
            wide, high = levels[number, 0, 1], levels[number, 0, 2]
            area = _dot(normal, normal)
            squared = np.float32(1e18)
            if area > 0 and facing != 0:
                # where the next pixel's ray meets the plane, in the triangle's own coordinates
                along1, along2 = _cross(e2, normal), _cross(normal, e1)
                squared, shrink = np.float32(0.0), depth[i] / area
                for step in ((right[0], right[1], right[2]), (down[0], down[1], down[2])):
                    slip = _dot(normal, step) / facing
                    moved = (step[0] - slip * ray[0], step[1] - slip * ray[1], step[2] - slip * ray[2])
                    a, c = shrink * _dot(along1, moved), shrink * _dot(along2, moved)
                    across, down_it = (a * u1 + c * u2) * wide, (a * v1 + c * v2) * high
                    squared = max(squared, across * across + down_it * down_it)
            r, g, b = colour_at(texels, levels, depths, number, wrap[row, 0], wrap[row, 1],
                                u0 + s * u1 + t * u2, v0 + s * v1 + t * v2, squared)
        w = 1 - s - t
        r *= factor[row, 0] * (w * colour[i0, 0] + s * colour[i1, 0] + t * colour[i2, 0]) / 255
        g *= factor[row, 1] * (w * colour[i0, 1] + s * colour[i1, 1] + t * colour[i2, 1]) / 255
        b *= factor[row, 2] * (w * colour[i0, 2] + s * colour[i1, 2] + t * colour[i2, 2]) / 255
        rgb[i, 0] = int(min(max(r, 0.0), 255.0) + 0.5)
        rgb[i, 1] = int(min(max(g, 0.0), 255.0) + 0.5)
        rgb[i, 2] = int(min(max(b, 0.0), 255.0) + 0.5)
