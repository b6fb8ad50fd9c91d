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
from sim_bridge.house.shell import CLEAR, MIRROR, OPAQUE
from sim_bridge.house.textures import SIZE, atlas
from sim_bridge.simulator import Camera

BAND_ROWS = 40
EXTRA_RAYS = ((-0.33, 0.17), (0.33, -0.17))  # of a pixel on an edge: offsets in pixels
LAYERS, THROUGH, MIRRORED = 4, 0.78, 0.85  # glass surfaces in a row; share of what lies behind or is reflected


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
def _workers(process: int) -> ThreadPoolExecutor:
    """Return the threads of this process that cast and shade (Embree and numba release the GIL)."""
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
        self._see = mesh.see

    def image(self, camera: Camera, map_from_camera: np.ndarray) -> Image:
        """Return what a camera at `map_from_camera` (4, 4), optical axes, sees; edges of things are smoothed in rgb."""
        k = intrinsics_of(camera)
        optical, count = optical_rays(k), k.height * k.width
        out, quad = _blank(count), np.empty(count, np.int32)
        rotation, eye = map_from_camera[:3, :3].astype(np.float32), map_from_camera[:3, 3].astype(np.float32)

        def cast(rays: np.ndarray, image: Image) -> np.ndarray:
            directions = rays[:, :1] * rotation[:, 0] + rays[:, 1:2] * rotation[:, 1] + rotation[:, 2]
            eyes = np.broadcast_to(eye, directions.shape).copy()
            return self._trace(eyes, directions, 1 / k.fx, camera.max_range_m, image, LAYERS)

        def band(part: slice) -> None:
            quad[part] = cast(optical[part], Image(out.rgb[part], out.depth_m[part], out.labels[part]))

        def smooth(part: slice) -> None:
            total = out.rgb[rough[part]].astype(np.uint16)
            for right, down in EXTRA_RAYS:
                extra = _blank(len(total))
                cast(optical[rough[part]] + np.array([right / k.fx, down / k.fy, 0.0], np.float32), extra)
                total += extra.rgb
            out.rgb[rough[part]] = (total + 1) // (1 + len(EXTRA_RAYS))
        for_bands(band, count, BAND_ROWS * k.width)
        rough = np.nonzero(self._edges(quad.reshape(k.height, k.width)).ravel())[0]
        for_bands(smooth, len(rough), BAND_ROWS * k.width // 8)
        return Image(out.rgb.reshape(k.height, k.width, 3), out.depth_m.reshape(k.height, k.width),
                     out.labels.reshape(k.height, k.width))

    def _edges(self, quad: np.ndarray) -> np.ndarray:
        """Return (H, W) bool: pixels beside another thing or another face, from the quad (H, W) that each shows."""
        edge = np.zeros(quad.shape, bool)
        for here, there in ((np.s_[:, :-1], np.s_[:, 1:]), (np.s_[:-1], np.s_[1:])):
            row, column = np.nonzero(quad[here] != quad[there])
            a, b = quad[here][row, column], quad[there][row, column]
            turned = np.abs((self._look[a, 10:13] * self._look[b, 10:13]).sum(axis=1)) < 0.9
            differs = turned | (self._instance[a] != self._instance[b]) | (a < 0) | (b < 0)
            edge[here][row[differs], column[differs]] = True
            edge[there][row[differs], column[differs]] = True
        return edge

    def _trace(self, origins: np.ndarray, directions: np.ndarray, pixel_rad: float, max_range: float, out: Image,
               layers: int) -> np.ndarray:
        """Fill the flat image of some rays and return the quad that each hits, -1 = none.

        Behind clear glass and in mirrors rays go on, and colours are mixed; depth and labels are those of the surface.
        """
        hit = self._rays.hits(origins, directions)
        shade(directions, hit["primID"], hit["u"], hit["v"], hit["tfar"], self._look, self._light.grid,
              self._light.values, self._variant, self._instance, self._texels, pixel_rad, max_range, *out)
        quad = hit["primID"] >> 1
        see = np.where(quad >= 0, self._see[quad], OPAQUE)
        on = np.nonzero(see >= CLEAR)[0]
        if len(on) and layers:
            ray, mirror, normal = directions[on], (see[on] == MIRROR)[:, None], self._look[quad[on], 10:13]
            onward = np.where(mirror, ray - 2 * (ray * normal).sum(axis=1, keepdims=True) * normal, ray)
            behind = _blank(len(on))
            start = origins[on] + ray * hit["tfar"][on, None] + np.float32(1e-3) * onward
            self._trace(start, onward, pixel_rad, max_range, behind, layers - 1)
            share = np.where(mirror, np.float32(MIRRORED), np.float32(THROUGH))
            out.rgb[on] = np.rint(out.rgb[on] * (1 - share) + behind.rgb * share).astype(np.uint8)
        return quad


def _blank(count: int) -> Image:
    """Return a flat image of so many pixels, to be filled."""
    return Image(np.empty((count, 3), np.uint8), np.empty(count, np.float32), np.empty(count, np.uint16))


def surfaces(rays: RayScene, mesh: QuadMesh, camera: Camera, map_from_camera: np.ndarray) -> Image:
    """Return what Renderer.image does, with the colour image left grey: needs neither light nor shading."""
    k = intrinsics_of(camera)
    directions = optical_rays(k) @ map_from_camera[:3, :3].astype(np.float32).T
    hit = rays.hits(np.broadcast_to(map_from_camera[:3, 3].astype(np.float32), directions.shape).copy(), directions)
    seen, depth = hit["primID"] >= 0, hit["tfar"]
    shape = k.height, k.width
    return Image(np.full((*shape, 3), 128, np.uint8),
                 np.where(seen & (depth <= camera.max_range_m), depth, np.float32(0)).reshape(shape),
                 np.where(seen, mesh.instance[hit["primID"] >> 1], 0).astype(np.uint16).reshape(shape))


def instances_seen(rays: RayScene, mesh: QuadMesh, camera: Camera, map_from_camera: np.ndarray) -> dict[int, int]:
    """Return the pixels of each instance (not 0) that a camera sees within its range: labels without shading."""
    directions = optical_rays(intrinsics_of(camera)) @ map_from_camera[:3, :3].astype(np.float32).T
    hit = rays.hits(np.broadcast_to(map_from_camera[:3, 3].astype(np.float32), directions.shape).copy(), directions)
    near = (hit["primID"] >= 0) & (hit["tfar"] <= camera.max_range_m)
    ids, pixels = np.unique(mesh.instance[hit["primID"][near] >> 1], return_counts=True)
    return {int(i): int(n) for i, n in zip(ids, pixels) if i}


def for_bands(work: Callable[[slice], None], total: int, band: int) -> None:
    """Run `work` on consecutive slices of `total` items in the worker threads; errors surface here."""
    for _ in _workers(os.getpid()).map(work, [slice(at, min(at + band, total)) for at in range(0, total, band)]):
        pass


def _looks(mesh: QuadMesh) -> np.ndarray:
    """Return (n, 15) float32: colour 0-2, glow 3, uv 4-9, unit normal 10-12, texels per metre 13, see 14."""
    s, t = mesh.corners[:, 1] - mesh.corners[:, 0], mesh.corners[:, 3] - mesh.corners[:, 0]
    diagonals = np.cross(mesh.corners[:, 2] - mesh.corners[:, 0], mesh.corners[:, 3] - mesh.corners[:, 1])
    normal = diagonals / np.maximum(np.linalg.norm(diagonals, axis=1, keepdims=True), 1e-12)
    rates = [np.linalg.norm(mesh.uv[:, i], axis=1) / np.maximum(np.linalg.norm(edge, axis=1), 1e-3)
             for i, edge in ((1, s), (2, t))]
    density = SIZE * np.maximum(*rates)
    return np.concatenate([mesh.colour, mesh.glow[:, None], mesh.uv.reshape(-1, 6), normal, density[:, None],
                           mesh.see[:, None]], axis=1).astype(np.float32)
