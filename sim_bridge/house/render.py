"""Ray casting (Embree) and shading (numba) of a baked house: RGB, depth and labels of a pinhole camera on the CPU.

Rays are divided into bands of rows. One worker thread casts and shades each band, and a band depends only on its own
rays, so that the image is the same for any number of threads.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from eqa_nodes.core.types.robot import CameraModel
from sim_bridge.house.gloss import bend_of
from sim_bridge.house.meshes import QuadMesh
from sim_bridge.house.shading import shade
from sim_bridge.house.shell import CLEAR, MIRROR, OPAQUE
from sim_bridge.house.textures import SIZE, atlas, has_words
from sim_bridge.rays import BAND_ROWS, Image, RayScene, blank, for_bands, optical_rays

EXTRA_RAYS = ((-0.33, 0.17), (0.33, -0.17))  # of a pixel on an edge: offsets in pixels
LAYERS, THROUGH, MIRRORED = 4, 0.78, 0.85  # most glass surfaces along a ray; share of the colour behind or reflected


class LightMap(NamedTuple):
    """Baked light: values (m, 3) float32; grid (n, 3) int32, first value and cells along s and t of each quad."""

    values: np.ndarray
    grid: np.ndarray


class Renderer:
    """Draws a mesh with baked light from any pose."""

    def __init__(self, mesh: QuadMesh, rays: RayScene, light: LightMap) -> None:
        self._rays = rays
        self._light = light
        self._texels, self._variant = atlas(mesh.variant)
        self._instance = mesh.instance.astype(np.uint16)
        self._look = _looks(mesh)
        self._see = mesh.see
        self._bend = bend_of(mesh.normals)

    def image(self, camera: CameraModel, map_from_camera: np.ndarray) -> Image:
        """Return what a camera at `map_from_camera` (4, 4), optical axes, sees; rgb has smoothed edges."""
        k = camera.intrinsics
        optical, count = optical_rays(k), k.height * k.width
        out, quad = blank(count), np.empty(count, np.int32)
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
                extra = blank(len(total))
                cast(optical[rough[part]] + np.array([right / k.fx, down / k.fy, 0.0], np.float32), extra)
                total += extra.rgb
            out.rgb[rough[part]] = (total + 1) // (1 + len(EXTRA_RAYS))
        for_bands(band, count, BAND_ROWS * k.width)
        rough = np.nonzero(self._edges(quad.reshape(k.height, k.width)).ravel())[0]
        for_bands(smooth, len(rough), BAND_ROWS * k.width // 8)
        return Image(out.rgb.reshape(k.height, k.width, 3), out.depth_m.reshape(k.height, k.width),
                     out.labels.reshape(k.height, k.width))

    def _edges(self, quad: np.ndarray) -> np.ndarray:
        """Return (H, W) bool: pixels beside another object or another face, from the quad (H, W) that each shows."""
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

        Rays continue through clear glass and from mirrors, and colours are mixed; depth and labels are the surface's.
        """
        hit = self._rays.hits(origins, directions, coherent=True)
        shade(directions, hit["primID"], hit["u"], hit["v"], hit["tfar"], self._look, self._light.grid,
              self._light.values, self._variant, self._instance, self._texels, self._bend, pixel_rad, max_range, *out)
        quad = hit["primID"] >> 1
        see = np.where(quad >= 0, self._see[quad], OPAQUE)
        on = np.nonzero(see >= CLEAR)[0]
        if len(on) and layers:
            ray, mirror, normal = directions[on], (see[on] == MIRROR)[:, None], self._look[quad[on], 10:13]
            onward = np.where(mirror, ray - 2 * (ray * normal).sum(axis=1, keepdims=True) * normal, ray)
            behind = blank(len(on))
            start = origins[on] + ray * hit["tfar"][on, None] + np.float32(1e-3) * onward
            self._trace(start, onward, pixel_rad, max_range, behind, layers - 1)
            share = np.where(mirror, np.float32(MIRRORED), np.float32(THROUGH))
            out.rgb[on] = np.rint(out.rgb[on] * (1 - share) + behind.rgb * share).astype(np.uint8)
        return quad


def surfaces(rays: RayScene, mesh: QuadMesh, camera: CameraModel, map_from_camera: np.ndarray) -> Image:
    """Return the same as Renderer.image with a grey colour image, which needs neither light nor shading."""
    k = camera.intrinsics
    directions = optical_rays(k) @ map_from_camera[:3, :3].astype(np.float32).T
    eyes = np.broadcast_to(map_from_camera[:3, 3].astype(np.float32), directions.shape).copy()
    hit = rays.hits(eyes, directions, coherent=True)
    seen, depth = hit["primID"] >= 0, hit["tfar"]
    shape = k.height, k.width
    return Image(np.full((*shape, 3), 128, np.uint8),
                 np.where(seen & (depth <= camera.max_range_m), depth, np.float32(0)).reshape(shape),
                 np.where(seen, mesh.instance[hit["primID"] >> 1], 0).astype(np.uint16).reshape(shape))


def instances_seen(rays: RayScene, mesh: QuadMesh, camera: CameraModel, map_from_camera: np.ndarray) -> dict[int, int]:
    """Return the pixels of each instance (not 0) that a camera sees within its range: labels without shading."""
    directions = optical_rays(camera.intrinsics) @ map_from_camera[:3, :3].astype(np.float32).T
    eyes = np.broadcast_to(map_from_camera[:3, 3].astype(np.float32), directions.shape).copy()
    hit = rays.hits(eyes, directions, coherent=True)
    near = (hit["primID"] >= 0) & (hit["tfar"] <= camera.max_range_m)
    ids, pixels = np.unique(mesh.instance[hit["primID"][near] >> 1], return_counts=True)
    return {int(i): int(n) for i, n in zip(ids, pixels) if i}


def _looks(mesh: QuadMesh) -> np.ndarray:
    """Return (n, 18) float32: colour 0-2, glow 3, uv 4-9, normal 10-12, texels per metre 13, see 14, Gloss 15-17."""
    s, t = mesh.corners[:, 1] - mesh.corners[:, 0], mesh.corners[:, 3] - mesh.corners[:, 0]
    diagonals = np.cross(mesh.corners[:, 2] - mesh.corners[:, 0], mesh.corners[:, 3] - mesh.corners[:, 1])
    normal = diagonals / np.maximum(np.linalg.norm(diagonals, axis=1, keepdims=True), 1e-12)
    rates = [np.linalg.norm(mesh.uv[:, i], axis=1) / np.maximum(np.linalg.norm(edge, axis=1), 1e-3)
             for i, edge in ((1, s), (2, t))]
    density = SIZE * np.where(has_words(mesh.variant), np.minimum(*rates), np.maximum(*rates))
    return np.concatenate([mesh.colour, mesh.glow[:, None], mesh.uv.reshape(-1, 6), normal, density[:, None],
                           mesh.see[:, None], mesh.gloss], axis=1).astype(np.float32)
