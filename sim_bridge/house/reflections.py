"""Diffuse reflections: every light sample gathers light along a fixed set of cosine-weighted directions.

What the rays of a sample hit depends on geometry only, so a house in which one object has changed takes the hits of
the house before it, except for rays that meet the boxes around what has changed.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.kernels import njit
from sim_bridge.embree import INCOHERENT, hits
from sim_bridge.house.light_samples import BAND, LitScene
from sim_bridge.house.meshes import QuadMesh
from sim_bridge.rays import for_bands

GATHER, GATHER_OBJECTS, BOUNCES = 32, 16, 3  # directions per sample of the building and of objects; reflections
BRIGHT = 4.0  # maximum light per reflected sample: with few directions, brighter ones would appear as spots
_NEAR_M, _FLAT_M = 1e-3, 2e-5  # added around boxes and behind hits; distance of planes that count as one
_BORDER = 1e-5  # share of a triangle that counts as its border


class Gathered(NamedTuple):
    """The rays of some samples. which: (k,) samples; hit: (k, count) int32, the sample that each ray hits, -1 = none;
    far_m: (k, count) float32 lengths of the rays; quad: (k, count) int32, the quad hit, -1 = none, and -2 = a border
    between two triangles, where Embree may choose either."""

    which: np.ndarray
    hit: np.ndarray
    far_m: np.ndarray
    quad: np.ndarray


class SampleMap(NamedTuple):
    """The samples and quads that a house shares with the one before it, and the boxes around what has changed.

    old, new: (k,) indices of the shared samples, both ascending; old_quads, new_quads: the same of quads; mesh: the one
    before; boxes: (b, 2, 3) lower and upper corners, metres.
    """

    old: np.ndarray
    new: np.ndarray
    old_quads: np.ndarray
    new_quads: np.ndarray
    mesh: QuadMesh
    boxes: np.ndarray


def _renumbered(old: np.ndarray, new: np.ndarray, before: int) -> np.ndarray:
    """Return (before + 2,) the new index of each of `before` old ones; -1 for none. The indices -1 and -2 stay."""
    table = np.full(before + 2, -1, np.int32)
    table[old], table[-2] = new, -2
    return table


def gathered(scene: LitScene, building: np.ndarray) -> tuple[Gathered, Gathered]:
    """Cast the rays of all samples. building: (m,) whether a sample lies on the building and not on an object."""
    return _cast(scene, np.nonzero(building)[0], GATHER), _cast(scene, np.nonzero(~building)[0], GATHER_OBJECTS)


def regathered(scene: LitScene, before: tuple[Gathered, Gathered], building: np.ndarray, shared: SampleMap,
               samples_before: int) -> tuple[Gathered, Gathered]:
    """Return the same as gathered, but cast only rays of samples that see a changed box, or are new themselves.

    Where two surfaces coincide, Embree's choice depends on all triangles: samples that see such a place cast again.
    """
    samples = _renumbered(shared.old, shared.new, samples_before)
    quads = _renumbered(shared.old_quads, shared.new_quads, len(shared.mesh.instance))
    doubled = coincident(shared.mesh)
    found = []
    for old, kind, count in zip(before, (building, ~building), (GATHER, GATHER_OBJECTS), strict=True):
        which = np.nonzero(kind)[0]
        rows = _rows(old, which, shared, samples_before, len(building))
        stays, rows = rows >= 0, np.maximum(rows, 0)
        far_m, quad = old.far_m[rows], old.quad[rows]
        frames, local = _frames(scene.samples.normals[which]), _cosine_directions(count)

        def band(part: slice, stays: np.ndarray = stays, which: np.ndarray = which, frames: np.ndarray = frames,
                 local: np.ndarray = local, far_m: np.ndarray = far_m, quad: np.ndarray = quad) -> None:
            _leave_out(stays[part], scene.samples.points[which[part]], frames[part], local, far_m[part], quad[part],
                       shared.boxes, *doubled)
        for_bands(band, len(which), 4 * BAND)
        again = which[~stays]
        cast, hit, quad = _cast(scene, again, count), samples[old.hit[rows]], quads[quad]
        hit[~stays], far_m[~stays], quad[~stays] = cast.hit, cast.far_m, cast.quad
        found.append(Gathered(which, hit, far_m, quad))
    return found[0], found[1]


def _rows(old: Gathered, which: np.ndarray, shared: SampleMap, before: int, now: int) -> np.ndarray:
    """Return the row of `old` that holds the rays of each sample of `which`, -1 for a sample that is new."""
    row, rows = np.full(before, -1), np.full(now, -1)
    row[old.which] = np.arange(len(old.which))
    rows[shared.new] = row[shared.old]
    return rows[which]


class Coincident(NamedTuple):
    """Places where two quads coincide. first: (n + 1,) index of the first place of each quad; boxes: (p, 2, 3)."""

    first: np.ndarray
    boxes: np.ndarray


def coincident(mesh: QuadMesh) -> Coincident:
    """Return where quads of different parts lie in one plane and touch."""
    corners = mesh.corners.astype(np.float64)
    low, high = corners.min(axis=1) - _NEAR_M, corners.max(axis=1) + _NEAR_M
    normal = np.cross(corners[:, 2] - corners[:, 0], corners[:, 3] - corners[:, 1])
    normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-12)
    normal *= np.where(np.rint(normal @ (1e6, 1e3, 1.0)) < 0, -1.0, 1.0)[:, None]
    offset = (corners.mean(axis=1) * normal).sum(axis=1, keepdims=True)
    plane = np.concatenate([normal * 50.0, offset / _FLAT_M], axis=1)
    pairs = [_in_one_plane(plane + shift, low, high, mesh.part) for shift in (0.0, 0.5)]
    a, b = np.unique(np.concatenate(pairs), axis=0).T
    owner = np.concatenate([a, b])
    boxes = np.stack([np.maximum(low[a], low[b]), np.minimum(high[a], high[b])], axis=1)
    order = np.argsort(owner, kind="stable")
    first = np.searchsorted(owner[order], np.arange(len(low) + 1))
    return Coincident(first, np.concatenate([boxes, boxes])[order])


def _in_one_plane(plane: np.ndarray, low: np.ndarray, high: np.ndarray, part: np.ndarray) -> np.ndarray:
    """Return (p, 2) pairs of quads of different parts in one cell of planes whose boxes overlap."""
    key = np.floor(plane).astype(np.int64) @ np.array([1 << 48, 1 << 40, 1 << 32, 1])
    order = np.argsort(key, kind="stable")
    ends = np.flatnonzero(np.diff(key[order])) + 1
    return _overlapping(order, np.concatenate([[0], ends, [len(key)]]), low, high, part)


@njit()
def _overlapping(order: np.ndarray, ends: np.ndarray, low: np.ndarray, high: np.ndarray, part: np.ndarray
                 ) -> np.ndarray:
    found = [(0, 0) for _ in range(0)]
    for g in range(len(ends) - 1):
        for i in range(ends[g], ends[g + 1]):
            a = order[i]
            for j in range(i + 1, ends[g + 1]):
                b = order[j]
                if part[a] != part[b]:
                    apart = False
                    for axis in range(3):
                        apart = apart or low[a, axis] > high[b, axis] or low[b, axis] > high[a, axis]
                    if not apart:
                        found.append((min(a, b), max(a, b)))
    pairs = np.empty((len(found), 2), np.int64)
    for k in range(len(found)):
        pairs[k, 0], pairs[k, 1] = found[k]
    return pairs


@njit(nogil=True)
def _leave_out(stays: np.ndarray, points: np.ndarray, frames: np.ndarray, local: np.ndarray, far_m: np.ndarray,
               quad: np.ndarray, boxes: np.ndarray, first: np.ndarray, places: np.ndarray) -> None:
    """Set stays[i] to False where a ray of sample i enters a box before it ends, or ends where surfaces coincide."""
    ray = np.empty(3)
    for i in range(len(points)):
        for j in range(len(local)):
            if not stays[i]:
                break
            q = quad[i, j]
            if q == -2:
                stays[i] = False
                break
            for axis in range(3):
                ray[axis] = (local[j, 0] * frames[i, 0, axis] + local[j, 1] * frames[i, 1, axis]
                             + local[j, 2] * frames[i, 2, axis])
            for p in range(first[q] if q >= 0 else 0, first[q + 1] if q >= 0 else 0):
                if _enters(points[i], ray, far_m[i, j] - _NEAR_M, far_m[i, j] + _NEAR_M, places[p]):
                    stays[i] = False
            for b in range(len(boxes)):
                if _enters(points[i], ray, 0.0, far_m[i, j] + _NEAR_M, boxes[b]):
                    stays[i] = False


@njit(inline="always")
def _enters(point: np.ndarray, ray: np.ndarray, enters: float, leaves: float, box: np.ndarray) -> bool:
    """Return whether a ray is in a box somewhere between two distances."""
    for axis in range(3):
        low, high = box[0, axis] - point[axis], box[1, axis] - point[axis]
        if abs(ray[axis]) < 1e-9:
            if low > 0.0 or high < 0.0:
                return False
            continue
        a, b = low / ray[axis], high / ray[axis]
        enters, leaves = max(enters, min(a, b)), min(leaves, max(a, b))
    return enters <= leaves


def _cast(scene: LitScene, which: np.ndarray, count: int) -> Gathered:
    hit, quad = (np.empty((len(which), count), np.int32) for _ in range(2))
    far_m, local = np.empty((len(which), count), np.float32), _cosine_directions(count)

    def band(part: slice) -> None:
        points, normals = scene.samples.points[which[part]], scene.samples.normals[which[part]]
        _follow(scene.rays.scene, points, _frames(normals), local, scene.solid, scene.samples.grid,
                scene.samples.member, hit[part], far_m[part], quad[part])
    for_bands(band, len(which), BAND)
    return Gathered(which, hit, far_m, quad)


@njit(nogil=True)
def _follow(scene: int, points: np.ndarray, frames: np.ndarray, local: np.ndarray, solid: np.ndarray, grid: np.ndarray,
            member: np.ndarray, hit: np.ndarray, far_m: np.ndarray, quad: np.ndarray) -> None:
    """Fill hit, far_m and quad of Gathered for some samples. frames: see _frames; local: see _cosine_directions."""
    rays, normals = np.empty((len(local), 3), np.float32), np.empty((0, 3), np.float32)
    face, u, v = np.empty(len(local), np.int32), np.empty(len(local), np.float32), np.empty(len(local), np.float32)
    for i in range(len(points)):
        for j in range(len(local)):
            for axis in range(3):
                rays[j, axis] = (local[j, 0] * frames[i, 0, axis] + local[j, 1] * frames[i, 1, axis]
                                 + local[j, 2] * frames[i, 2, axis])
        hits(scene, INCOHERENT, points[i:i + 1], rays, face, u, v, far_m[i], normals)
        for j in range(len(local)):
            hit[i, j] = quad[i, j] = -1
            if face[j] >= 0:
                q, diagonal = solid[face[j] >> 1], u[j] + v[j]
                s, t = (u[j], diagonal) if face[j] & 1 else (diagonal, v[j])
                hit[i, j] = member[_nearest(grid[q], s, t)]
                border = min(min(u[j], v[j]), np.float32(1.0) - u[j] - v[j]) < np.float32(_BORDER)
                quad[i, j] = -2 if border else q


@njit(inline="always")
def _nearest(cells: np.ndarray, s: float, t: float) -> int:
    """Return the value of the light map that is nearest to a point of a quad. cells: the quad's row of LightMap.grid.
    """
    column = np.rint(min(max(s, 0.0), 1.0) * cells[1])
    row = np.rint(min(max(t, 0.0), 1.0) * cells[2])
    return int(cells[0] + row * (cells[1] + 1) + column)


def openness_of(groups: tuple[Gathered, ...], count: int) -> np.ndarray:
    """Return (count,) how open the surroundings of each sample are (1 = nothing within a metre)."""
    openness = np.zeros(count)
    for group in groups:
        openness[group.which] = np.minimum(group.far_m, 1.0).mean(axis=1)
    return openness


def reflected(scene: LitScene, direct: np.ndarray, groups: tuple[Gathered, ...]) -> np.ndarray:
    """Return (m, 3) direct light with its reflections."""
    albedo = np.minimum(scene.mesh.colour, 0.85)[scene.samples.quad]
    light = direct
    for _ in range(BOUNCES):
        glowing = np.minimum(light, BRIGHT) * albedo
        glowing = np.concatenate([glowing, np.zeros((1, 3))])  # index -1: the ray left the house
        light = direct.copy()
        for group in groups:
            def band(part: slice, group: Gathered = group, glowing: np.ndarray = glowing,
                     light: np.ndarray = light) -> None:
                _add_mean(glowing, group.hit[part], group.which[part], light)
            for_bands(band, len(group.which), 4 * BAND)
    return light


@njit(nogil=True)
def _add_mean(glowing: np.ndarray, hit: np.ndarray, which: np.ndarray, light: np.ndarray) -> None:
    """Add the mean of what the rays of each sample hit, summed in the order of numpy's mean of 16 or 32 numbers."""
    count = hit.shape[1]
    sums = np.empty(8)
    for i in range(len(which)):
        for c in range(3):
            for k in range(8):
                sums[k] = glowing[hit[i, k], c]
            for j in range(8, count, 8):
                for k in range(8):
                    sums[k] += glowing[hit[i, j + k], c]
            total = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]))
            light[which[i], c] += total / count


def _cosine_directions(count: int) -> np.ndarray:
    """Return (count, 3) directions about +z with density cosine / pi: a spiral over the unit disc, lifted (Malley)."""
    k = np.arange(count)
    radius, turn = np.sqrt((k + 0.5) / count), k * math.pi * (3.0 - math.sqrt(5.0))
    return np.stack([radius * np.cos(turn), radius * np.sin(turn), np.sqrt(1 - radius ** 2)], axis=1)


def _frames(normals: np.ndarray) -> np.ndarray:
    """Return (k, 3, 3): rows tangent, bitangent, normal (branchless: Duff et al. 2017)."""
    x, y, z = normals.T.astype(np.float64)
    sign = np.where(z >= 0, 1.0, -1.0)
    a = -1.0 / (sign + z)
    b = x * y * a
    tangent = np.stack([1 + sign * x * x * a, sign * b, -sign * x], axis=1)
    bitangent = np.stack([b, sign + y * y * a, -y], axis=1)
    return np.stack([tangent, bitangent, normals], axis=1)
