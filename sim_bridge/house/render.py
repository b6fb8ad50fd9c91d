"""Ray casting (Embree) and shading (numba) of a baked house: RGB, depth and labels of a pinhole camera on the CPU.

Rays are cut into bands of rows; each band is cast and shaded by one worker thread, and depends on nothing but its own rays, so
that the image is the same for any number of threads.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import NamedTuple

import numba
import numpy as np
from embreex.mesh_construction import TriangleMesh
from embreex.rtcore_scene import EmbreeScene

from eqa_nodes.core.types import Intrinsics
from sim_bridge.house.meshes import QuadMesh
from sim_bridge.house.textures import LEVELS, SIZE, atlas, level_offsets
from sim_bridge.simulator import Camera

BAND_ROWS = 40
LUT_SIZE, LUT_RANGE = 4096, 2.2  # tone curve over the square root of radiance


class Image(NamedTuple):
    """rgb (H, W, 3) uint8; depth_m (H, W) float32 along the optical axis, 0 = no return; labels (H, W) uint16."""

    rgb: np.ndarray
    depth_m: np.ndarray
    labels: np.ndarray


class LightMap(NamedTuple):
    """Baked light: values (m, 3) float32; grid (n, 3) int32, first value and number of cells along s and t of each quad."""

    values: np.ndarray
    grid: np.ndarray


@lru_cache(maxsize=1)
def workers() -> ThreadPoolExecutor:
    """Return the threads that cast and shade (Embree and numba release the GIL)."""
    return ThreadPoolExecutor(max_workers=max(1, min(8, os.cpu_count() or 1)), thread_name_prefix="rays")


def intrinsics_of(camera: Camera) -> Intrinsics:
    """Return the pinhole of a camera with square pixels and a central principal point."""
    focal = camera.width / 2 / math.tan(math.radians(camera.hfov_deg) / 2)
    return Intrinsics(camera.width, camera.height, focal, focal, camera.width / 2, camera.height / 2)


@lru_cache(maxsize=8)
def _optical_rays(k: Intrinsics) -> np.ndarray:
    """Return (H * W, 3) float32 ray directions in the optical frame, z component 1: ray length is then z-depth."""
    u, v = np.meshgrid((np.arange(k.width) + 0.5 - k.cx) / k.fx, (np.arange(k.height) + 0.5 - k.cy) / k.fy)
    return np.stack([u, v, np.ones_like(u)], -1).reshape(-1, 3).astype(np.float32)


class RayScene:
    """The triangles of a mesh, ready to be hit."""

    def __init__(self, triangles: np.ndarray) -> None:
        """Build the tree over (n, 3, 3) float32 triangles."""
        self._scene = EmbreeScene()
        self._geometry = TriangleMesh(self._scene, np.ascontiguousarray(triangles, np.float32))
        self.first_hit(np.zeros((1, 3), np.float32), np.ones((1, 3), np.float32))  # the tree is built by the first ray

    def hits(self, origins: np.ndarray, directions: np.ndarray) -> dict[str, np.ndarray]:
        """Return Embree's record of the first hit of each ray (n, 3) float32: primID (-1 = none), u, v, tfar."""
        return self._scene.run(origins, directions, output=True)

    def first_hit(self, origins: np.ndarray, directions: np.ndarray) -> np.ndarray:
        """Return the triangle that each ray hits first, (n,) int32, -1 = none."""
        return self._scene.run(origins, directions, query="INTERSECT")

    def blocked(self, origins: np.ndarray, directions: np.ndarray, length: np.ndarray) -> np.ndarray:
        """Return (n,) bool: something lies on the ray before `length` times its direction."""
        return self._scene.run(origins, directions, dists=length, query="OCCLUDED") >= 0


class Renderer:
    """Draws a mesh with baked light from any pose."""

    def __init__(self, mesh: QuadMesh, rays: RayScene, light: LightMap) -> None:
        self._rays = rays
        self._light = light
        self._texels, self._variant = atlas(mesh.variant)
        self._instance = mesh.instance.astype(np.uint16)
        self._look = _looks(mesh)

    def image(self, camera: Camera, map_from_camera: np.ndarray) -> Image:
        """Return what a camera at `map_from_camera` (4, 4), optical axes, sees."""
        k = intrinsics_of(camera)
        optical = _optical_rays(k)
        out = Image(np.empty((k.height * k.width, 3), np.uint8), np.empty(k.height * k.width, np.float32),
                    np.empty(k.height * k.width, np.uint16))
        rotation = np.ascontiguousarray(map_from_camera[:3, :3], np.float32)
        eye = map_from_camera[:3, 3].astype(np.float32)

        def band(rows: slice) -> None:
            directions = optical[rows] @ rotation.T
            hit = self._rays.hits(np.broadcast_to(eye, directions.shape).copy(), directions)
            _shade(directions, hit["primID"], hit["u"], hit["v"], hit["tfar"], self._look, self._light.grid, self._light.values,
                   self._variant, self._instance, self._texels, _LEVEL_START, _TONE, np.float32(1 / k.fx),
                   np.float32(camera.max_range_m), out.rgb[rows], out.depth_m[rows], out.labels[rows])
        for_bands(band, k.height * k.width, BAND_ROWS * k.width)
        return Image(out.rgb.reshape(k.height, k.width, 3), out.depth_m.reshape(k.height, k.width),
                     out.labels.reshape(k.height, k.width))


def instances_seen(rays: RayScene, mesh: QuadMesh, camera: Camera, map_from_camera: np.ndarray) -> dict[int, int]:
    """Return the number of pixels of each instance (not 0) that a camera sees within its range: labels without shading."""
    directions = _optical_rays(intrinsics_of(camera)) @ map_from_camera[:3, :3].astype(np.float32).T
    hit = rays.hits(np.broadcast_to(map_from_camera[:3, 3].astype(np.float32), directions.shape).copy(), directions)
    near = (hit["primID"] >= 0) & (hit["tfar"] <= camera.max_range_m)
    ids, pixels = np.unique(mesh.instance[hit["primID"][near] >> 1], return_counts=True)
    return {int(i): int(n) for i, n in zip(ids, pixels) if i}


def for_bands(work: Callable[[slice], None], total: int, band: int) -> None:
    """Run `work` on consecutive slices of `total` items in the worker threads; errors surface here."""
    for _ in workers().map(work, [slice(at, min(at + band, total)) for at in range(0, total, band)]):
        pass


def _looks(mesh: QuadMesh) -> np.ndarray:
    """Return (n, 15) float32: colour 0-2, glow 3, uv 4-9, unit normal 10-12, texels per metre 13, pane 14."""
    s, t = mesh.corners[:, 1] - mesh.corners[:, 0], mesh.corners[:, 3] - mesh.corners[:, 0]
    diagonals = np.cross(mesh.corners[:, 2] - mesh.corners[:, 0], mesh.corners[:, 3] - mesh.corners[:, 1])
    normal = diagonals / np.maximum(np.linalg.norm(diagonals, axis=1, keepdims=True), 1e-12)
    steps = [np.linalg.norm(mesh.uv[:, i], axis=1) / np.maximum(np.linalg.norm(edge, axis=1), 1e-3) for i, edge in ((1, s), (2, t))]
    density = SIZE * np.maximum(*steps)
    return np.concatenate([mesh.colour, mesh.glow[:, None], mesh.uv.reshape(-1, 6), normal, density[:, None],
                           mesh.pane[:, None]], axis=1).astype(np.float32)


def _tone_curve() -> np.ndarray:
    """Return (LUT_SIZE,) uint8: square root of linear radiance -> sRGB, with a soft shoulder (Reinhard 2002, eq. 4)."""
    x = (np.linspace(0.0, LUT_RANGE, LUT_SIZE)) ** 2
    y = np.clip(1.25 * x * (1 + x / 2.2 ** 2) / (1 + x), 0.0, 1.0)
    srgb = np.where(y <= 0.0031308, 12.92 * y, 1.055 * y ** (1 / 2.4) - 0.055)
    return np.rint(255 * srgb).astype(np.uint8)


_TONE = _tone_curve()
_LEVEL_START = level_offsets()[:-1].astype(np.int64)


@numba.njit(cache=True, inline="always")
def _sky(x: float, y: float, z: float) -> tuple[float, float, float]:
    """Return the light of the outdoors along a direction: sky, a line of trees, a lawn."""
    flat = math.sqrt(x * x + y * y) + 1e-6
    slope = z / flat
    turn = math.atan2(y, x)
    trees = 0.10 + 0.035 * math.sin(5 * turn + 1.0) + 0.02 * math.sin(17 * turn) + 0.012 * math.sin(43 * turn + 2.0)
    if slope > trees:
        high = min(1.0, math.sqrt(max(0.0, slope - 0.05)))
        return 1.35 - 0.85 * high, 1.45 - 0.60 * high, 1.55 - 0.15 * high
    if slope > -0.02:
        tone = 0.8 + 0.25 * math.sin(61 * turn + 40 * slope) * math.sin(23 * turn - 70 * slope)
        return 0.14 * tone, 0.27 * tone, 0.10 * tone
    fade = min(1.0, -slope * 1.5)
    return 0.42 - 0.20 * fade, 0.60 - 0.22 * fade, 0.24 - 0.12 * fade


@numba.njit(cache=True, nogil=True)
def _shade(directions, prim, bu, bv, tfar, look, grid, light, variant, instance, texels, level_start, tone,  # type: ignore[no-untyped-def]
           pixel_rad, max_range, rgb, depth, labels):
    """Fill rgb, depth and labels of a band of rays from their hits. directions have optical z 1, so that tfar is z-depth."""
    scale = np.float32(LUT_SIZE / LUT_RANGE)
    for i in range(prim.shape[0]):
        dx, dy, dz = directions[i, 0], directions[i, 1], directions[i, 2]
        p = prim[i]
        if p < 0:
            r, g, b = _sky(dx, dy, dz)
            depth[i], labels[i] = 0.0, 0
        else:
            q = p >> 1
            z = tfar[i]
            depth[i] = z if z <= max_range else 0.0
            labels[i] = instance[q]
            if look[q, 14] > 0.0:
                r, g, b = _sky(dx, dy, dz)
            else:
                if p & 1:
                    s, t = bu[i], bu[i] + bv[i]
                else:
                    s, t = bu[i] + bv[i], bv[i]
                length = math.sqrt(dx * dx + dy * dy + dz * dz)
                facing = abs(dx * look[q, 10] + dy * look[q, 11] + dz * look[q, 12]) / length
                # light
                nw, nh = grid[q, 1], grid[q, 2]
                fs, ft = min(max(s, 0.0), 1.0) * nw, min(max(t, 0.0), 1.0) * nh
                js, jt = min(int(fs), nw - 1), min(int(ft), nh - 1)
                fs, ft = fs - js, ft - jt
                a = grid[q, 0] + jt * (nw + 1) + js
                c = a + nw + 1
                w00, w10, w01, w11 = (1 - fs) * (1 - ft), fs * (1 - ft), (1 - fs) * ft, fs * ft
                lr = w00 * light[a, 0] + w10 * light[a + 1, 0] + w01 * light[c, 0] + w11 * light[c + 1, 0]
                lg = w00 * light[a, 1] + w10 * light[a + 1, 1] + w01 * light[c, 1] + w11 * light[c + 1, 1]
                lb = w00 * light[a, 2] + w10 * light[a + 1, 2] + w01 * light[c, 2] + w11 * light[c + 1, 2]
                # texture
                footprint = z * pixel_rad * look[q, 13] / math.sqrt(max(facing, 0.04))
                level = 0
                while footprint > 1.4 and level < LEVELS - 1:
                    footprint *= 0.5
                    level += 1
                side = SIZE >> level
                tu = (look[q, 4] + s * look[q, 6] + t * look[q, 8]) * side - 0.5
                tv = (look[q, 5] + s * look[q, 7] + t * look[q, 9]) * side - 0.5
                iu, iv = math.floor(tu), math.floor(tv)
                fs, ft = tu - iu, tv - iv
                u0, v0 = int(iu) & (side - 1), int(iv) & (side - 1)
                u1, v1 = (u0 + 1) & (side - 1), (v0 + 1) & (side - 1)
                base = level_start[level]
                row = variant[q]
                e00, e10, e01, e11 = base + v0 * side + u0, base + v0 * side + u1, base + v1 * side + u0, base + v1 * side + u1
                w00, w10, w01, w11 = (1 - fs) * (1 - ft), fs * (1 - ft), (1 - fs) * ft, fs * ft
                glow = look[q, 3]
                factor = np.float32(1.0 / 128.0)
                r = (w00 * texels[row, e00, 0] + w10 * texels[row, e10, 0] + w01 * texels[row, e01, 0]
                     + w11 * texels[row, e11, 0]) * factor * look[q, 0] * (lr + glow)
                g = (w00 * texels[row, e00, 1] + w10 * texels[row, e10, 1] + w01 * texels[row, e01, 1]
                     + w11 * texels[row, e11, 1]) * factor * look[q, 1] * (lg + glow)
                b = (w00 * texels[row, e00, 2] + w10 * texels[row, e10, 2] + w01 * texels[row, e01, 2]
                     + w11 * texels[row, e11, 2]) * factor * look[q, 2] * (lb + glow)
        rgb[i, 0] = tone[min(LUT_SIZE - 1, int(math.sqrt(max(r, 0.0)) * scale))]
        rgb[i, 1] = tone[min(LUT_SIZE - 1, int(math.sqrt(max(g, 0.0)) * scale))]
        rgb[i, 2] = tone[min(LUT_SIZE - 1, int(math.sqrt(max(b, 0.0)) * scale))]
