"""The primitives that parts are made of, as quads around the origin."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np


class Patch(NamedTuple):
    """k quads of one surface: corners, normals (k, 4, 3); uv_m (k, 4, 2) metres; fit (k, 4, 2) in 0..1 of the face."""

    corners: np.ndarray
    normals: np.ndarray
    uv_m: np.ndarray
    fit: np.ndarray


Maker = Callable[[np.ndarray], Patch]  # size (3,) in metres -> the solid around the origin

_FACES = [  # normal, s direction, t direction of the six faces of a box, seen from outside
    ((1, 0, 0), (0, 1, 0), (0, 0, 1)), ((-1, 0, 0), (0, -1, 0), (0, 0, 1)), ((0, 1, 0), (-1, 0, 0), (0, 0, 1)),
    ((0, -1, 0), (1, 0, 0), (0, 0, 1)), ((0, 0, 1), (1, 0, 0), (0, 1, 0)), ((0, 0, -1), (1, 0, 0), (0, -1, 0))]
_ST = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], float)


def _box(size: np.ndarray) -> Patch:
    n, s, t = (np.array([face[i] for face in _FACES], float) for i in range(3))
    a, b = (_ST[:, :1] * 2 - 1), (_ST[:, 1:] * 2 - 1)
    unit = n[:, None] + a * s[:, None] + b * t[:, None]
    corners = unit * size / 2
    lengths = np.stack([(np.abs(s) * size).sum(1), (np.abs(t) * size).sum(1)], -1)
    # Grain runs along the longer edge of a face.
    swap = (lengths[:, 0] < lengths[:, 1])[:, None, None]
    uv = _ST * lengths[:, None]
    return Patch(corners, np.repeat(n[:, None], 4, 1), np.where(swap, uv[..., ::-1], uv), np.repeat(_ST[None], 6, 0))


def _revolved(profile: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]], rings: int) -> Maker:
    """Return a maker of solids of revolution; profile maps t in 0..1 to radius 0..1 and height -1..1."""
    def make(size: np.ndarray) -> Patch:
        segments = int(np.clip(8 + 40 * max(size[0], size[1]), 8, 24))
        steps = np.linspace(0.0, 1.0, rings + 1)
        radius, height = profile(steps)
        angle = np.linspace(0.0, 2 * np.pi, segments + 1)
        ring = np.stack([np.cos(angle), np.sin(angle)], -1)
        points = np.concatenate([radius[:, None, None] * ring[None], np.broadcast_to(height[:, None, None],
                                (rings + 1, segments + 1, 1))], -1) * size / 2
        slope = np.gradient(np.stack([radius * size[:2].mean() / 2, height * size[2] / 2], -1), axis=0)
        flat = np.concatenate([slope[:, None, 1:] * ring[None] / size[:2], np.broadcast_to(
            -slope[:, None, :1] / size[:2].mean(), (rings + 1, segments + 1, 1))], -1)
        normals = flat / np.maximum(np.linalg.norm(flat, axis=-1, keepdims=True), 1e-12)
        around = np.broadcast_to(angle[None, :, None] / (2 * np.pi), (rings + 1, segments + 1, 1))
        fit = np.concatenate([around, np.broadcast_to(steps[:, None, None], around.shape)], -1)
        return Patch(*(_cells(x) for x in (points, normals, fit * (np.pi * size[:2].mean(), size[2]), fit)))
    return make


def _cells(lattice: np.ndarray) -> np.ndarray:
    """Return the quads (k, 4, c) of a lattice (rows + 1, columns + 1, c)."""
    quads = np.stack([lattice[:-1, :-1], lattice[:-1, 1:], lattice[1:, 1:], lattice[1:, :-1]], 2)
    return quads.reshape(-1, 4, lattice.shape[-1])


def _disc(size: np.ndarray, up: float) -> Patch:
    """Return the cap of a cylinder as quads around its axis, at height up * size z / 2."""
    segments = int(np.clip(8 + 40 * max(size[0], size[1]), 8, 24))
    angle = np.linspace(0.0, 2 * np.pi, segments + 1)
    rim = np.stack([np.cos(angle), np.sin(angle), np.full(segments + 1, up)], -1) * size / 2
    centre = np.broadcast_to([0.0, 0.0, up * size[2] / 2], (segments, 3))
    corners = np.stack([centre, rim[:-1], rim[1:], centre], 1)
    fit = corners[..., :2] / size[:2] + 0.5
    normals = np.broadcast_to([0.0, 0.0, up], corners.shape)
    return Patch(corners, normals, corners[..., :2].copy(), fit)


def joined(*patches: Patch) -> Patch:
    """Return one patch with the quads of several."""
    return Patch(*(np.concatenate(x) for x in zip(*patches)))


def _tube(bottom: float, top: float) -> Maker:
    side = _revolved(lambda t: (bottom + (top - bottom) * t, 2 * t - 1), 1)
    def make(size: np.ndarray) -> Patch:
        scaled = [(size * (r, r, 1), up) for r, up in ((bottom, -1.0), (top, 1.0)) if r > 0]
        return joined(side(size), *(_disc(s, up) for s, up in scaled))
    return make


def _bowl(size: np.ndarray) -> Patch:
    """Return an open vessel: outside, inside, and an inner bottom a little above the outer one."""
    wall = np.array([0.9, 0.9, 0.96])
    outer = _BOWL_SIDE(size)
    lifted = outer._replace(corners=outer.corners * wall + (0, 0, size[2] * 0.02), normals=-outer.normals)
    rim = np.stack([outer.corners[:, 3], outer.corners[:, 2], lifted.corners[:, 2], lifted.corners[:, 3]], 1)
    edge = outer._replace(corners=rim, normals=np.broadcast_to([0.0, 0.0, 1.0], rim.shape))
    inside = _disc(size * wall * (0.6, 0.6, 0.92), -1.0)
    return joined(outer, lifted, edge, _disc(size * (0.6, 0.6, 1), -1.0), inside._replace(normals=-inside.normals))


def _ring(size: np.ndarray) -> Patch:
    """Return a torus around x: the tube is as thick as the extent along x."""
    around, tube = np.meshgrid(np.linspace(0, 2 * np.pi, 19), np.linspace(0, 2 * np.pi, 9))
    out = np.stack([np.sin(tube), np.cos(tube) * np.cos(around), np.cos(tube) * np.sin(around)], -1)
    middle = np.stack([np.zeros_like(around), np.cos(around), np.sin(around)], -1)
    points = middle * np.maximum(size - size[0], 0.0) / 2 + out * size[0] / 2
    fit = np.stack([around, tube], -1) / (2 * np.pi)
    return Patch(*(_cells(x) for x in (points, out, fit * np.pi * (size[1], size[0]), fit)))


def _lying(make: Maker, order: tuple[int, int, int]) -> Maker:
    """Return the same solid with its axes permuted: new axis i is the maker's axis order[i]."""
    def lie(size: np.ndarray) -> Patch:
        patch = make(size[np.argsort(order)])
        return patch._replace(corners=patch.corners[..., order], normals=patch.normals[..., order])
    return lie


_CYLINDER = _tube(1.0, 1.0)
_BOWL_SIDE = _revolved(lambda t: (0.6 + 0.4 * t, 2 * t - 1), 1)
SHAPES: dict[str, Maker] = {  # the names of scene.SHAPES

    "box": _box, "cylinder": _CYLINDER,
    "cylinder_x": _lying(_CYLINDER, (2, 0, 1)), "cylinder_y": _lying(_CYLINDER, (1, 2, 0)),
    "cone": _tube(1.0, 0.0), "frustum": _tube(1.0, 0.6), "bowl": _bowl,
    "sphere": _revolved(lambda t: (np.sin(t * np.pi), -np.cos(t * np.pi)), 7),
    "ring_x": _ring, "ring_y": _lying(_ring, (1, 0, 2))}
