"""Renders a scan: Embree finds the surfaces, compiled code colours them. Independent of the number of threads.

Colours are Habitat's flat shading: texture (trilinear) times base colour times vertex colour, neither lit nor made
transparent. What has no colour of its own is lit by a lamp at the camera, so that shapes can be told apart. As in
Habitat, only the fronts of triangles are seen, except of sheets that have one in the same place for each side.
"""

from __future__ import annotations

import numpy as np

from eqa_nodes.core.types.robot import CameraModel
from sim_bridge.mesh.load import TriangleScene
from sim_bridge.mesh.paint import backs, paint, rays, survey
from sim_bridge.rays import BAND_ROWS, Image, RayScene, blank, for_bands

LAYERS = 32  # backs in a row that a ray passes through
_SKIP = 1e-5  # metres, and share of the way, that a ray goes on behind a back
_GREY = 128


class MeshRenderer:
    """Draws a scan from any pose."""

    def __init__(self, scene: TriangleScene) -> None:
        """Build the tree of triangles: about 0.5 s of processor time for a million, on all cores."""
        self._scene = scene
        self._rays = RayScene(scene.vertices, scene.faces)

    def image(self, camera: CameraModel, map_from_camera: np.ndarray) -> Image:
        """Return what a camera at `map_from_camera` (4, 4), optical axes, sees, background black.

        Depth is 0 where nothing is, or only beyond the camera's range; labels and colours reach as far as one can see.
        """
        k, scene = camera.intrinsics, self._scene
        out = blank(k.height * k.width)
        out.rgb[:] = _GREY
        rotation, eye = map_from_camera[:3, :3].astype(np.float32), map_from_camera[:3, 3].astype(np.float32)
        right, down = rotation[:, 0] / np.float32(k.fx), rotation[:, 1] / np.float32(k.fy)
        corner = rotation[:, 2] + np.float32(0.5 - k.cx) * right + np.float32(0.5 - k.cy) * down

        def band(part: slice) -> None:
            origins, directions = rays(part.start, part.stop, k.width, eye, corner, right, down)
            face, u, v, depth = self._first(origins, directions, coherent=True)
            survey(face, depth, camera.max_range_m, scene.instance, out.depth_m[part], out.labels[part])
            if camera.color:
                paint(face, u, v, depth, directions, right, down, scene.vertices, scene.faces, scene.uv, scene.colour,
                      scene.part, scene.factor, scene.texture, scene.wrap, scene.lit, *scene.textures, out.rgb[part])
        for_bands(band, len(out.depth_m), BAND_ROWS * k.width)
        shape = k.height, k.width
        return Image(out.rgb.reshape(*shape, 3), out.depth_m.reshape(shape), out.labels.reshape(shape))

    def below(self, x: float, y: float, z: float) -> float | None:
        """Return the height of the first surface straight below a point, metres, to 0.01 mm; None: there is none."""
        face, _, _, depth = self._first(np.array([[x, y, z]], np.float32), np.array([[0, 0, -1]], np.float32))
        return round(z - float(depth[0]), 5) if face[0] >= 0 else None

    def _first(self, origins: np.ndarray, directions: np.ndarray, coherent: bool = False) -> tuple[np.ndarray, ...]:
        """Return the first front on each ray (n, 3): face (n,) int32, -1 = none, its u, v, and multiples of the ray."""
        hit = self._rays.hits(origins, directions, coherent)
        face, u, v, depth = hit["primID"], hit["u"], hit["v"], hit["tfar"]
        rest = backs(face, hit["Ng"], directions, self._scene.sheet)
        for _ in range(LAYERS):
            if not len(rest):
                break
            ray = directions[rest]
            start = depth[rest] * np.float32(1 + _SKIP) + np.float32(_SKIP)
            hit = self._rays.hits(origins[rest] + start[:, None] * ray, ray)
            face[rest], u[rest], v[rest], depth[rest] = hit["primID"], hit["u"], hit["v"], start + hit["tfar"]
            rest = rest[backs(hit["primID"], hit["Ng"], ray, self._scene.sheet)]
        face[rest] = -1
        return face, u, v, depth
