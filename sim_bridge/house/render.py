"""Ray casting (Embree) and shading (numba) of a baked house: RGB, depth and labels of a pinhole camera on the CPU.

Rays are cut into bands of rows; each band is cast and shaded by one worker thread, and depends on nothing but its own
rays, so that the image is the same for any number of threads.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from embreex.mesh_construction import TriangleMesh
from embreex.rtcore_scene import EmbreeScene

from eqa_nodes.core.types import Intrinsics
from sim_bridge.house.meshes import QuadMesh
from sim_bridge.house.shading import shade
from sim_bridge.house.textures import SIZE, atlas
from sim_bridge.simulator import Camera

BAND_ROWS = 40


class Image(NamedTuple):
    """rgb (H, W, 3) uint8; depth_m (H, W) float32 along the optical axis, 0 = no return; labels (H, W) uint16."""

    rgb: np.ndarray
    depth_m: np.ndarray
    labels: np.ndarray


class LightMap(NamedTuple):
    """Baked light: values (m, 3) float32; grid (n, 3) int32, first value and cells along s and t of each quad."""

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
def optical_rays(k: Intrinsics) -> np.ndarray:
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
        optical = optical_rays(k)
        out = Image(np.empty((k.height * k.width, 3), np.uint8), np.empty(k.height * k.width, np.float32),
                    np.empty(k.height * k.width, np.uint16))
        rotation = np.ascontiguousarray(map_from_camera[:3, :3], np.float32)
        eye = map_from_camera[:3, 3].astype(np.float32)

        def band(rows: slice) -> None:
            directions = optical[rows] @ rotation.T
            hit = self._rays.hits(np.broadcast_to(eye, directions.shape).copy(), directions)
            shade(directions, hit["primID"], hit["u"], hit["v"], hit["tfar"], self._look, self._light.grid,
                  self._light.values, self._variant, self._instance, self._texels, np.float32(1 / k.fx),
                  np.float32(camera.max_range_m), out.rgb[rows], out.depth_m[rows], out.labels[rows])
        for_bands(band, k.height * k.width, BAND_ROWS * k.width)
        return Image(out.rgb.reshape(k.height, k.width, 3), out.depth_m.reshape(k.height, k.width),
                     out.labels.reshape(k.height, k.width))


def instances_seen(rays: RayScene, mesh: QuadMesh, camera: Camera, map_from_camera: np.ndarray) -> dict[int, int]:
    """Return the pixels of each instance (not 0) that a camera sees within its range: labels without shading."""
    directions = optical_rays(intrinsics_of(camera)) @ map_from_camera[:3, :3].astype(np.float32).T
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
    rates = [np.linalg.norm(mesh.uv[:, i], axis=1) / np.maximum(np.linalg.norm(edge, axis=1), 1e-3)
             for i, edge in ((1, s), (2, t))]
    density = SIZE * np.maximum(*rates)
    return np.concatenate([mesh.colour, mesh.glow[:, None], mesh.uv.reshape(-1, 6), normal, density[:, None],
                           mesh.pane[:, None]], axis=1).astype(np.float32)
