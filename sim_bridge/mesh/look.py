"""Renders a scan: Embree finds the surfaces, compiled code colours them. Independent of the number of threads.

Colours are Habitat's flat shading: texture (trilinear) times base colour times vertex colour, without lights or
transparency. Surfaces without colours are lit by a lamp at the camera, so that shapes can be distinguished. As in
Habitat, only the fronts of triangles are visible, except for sheets with one triangle for each side in one place.
"""

from __future__ import annotations

import math

import numpy as np

from eqa_nodes.core.kernels import njit
from eqa_nodes.core.types.robot import CameraModel
from sim_bridge.mesh.load import TriangleScene
from sim_bridge.mesh.model import CLAMP, MIRROR
from sim_bridge.rays import BAND_ROWS, Image, RayScene, blank, for_bands

RGB = tuple[float, float, float]


@njit(inline="always")
def _wrapped(texel: int, size: int, wrap: int) -> int:
    """Return the texel that replaces one beyond the border, by the wrap mode."""
    if 0 <= texel < size:
        return texel
    if wrap == CLAMP:
        return 0 if texel < 0 else size - 1
    if wrap == MIRROR:
        texel = texel % (2 * size)
        return texel if texel < size else 2 * size - 1 - texel
    return texel % size


@njit(inline="always")
def _bilinear(texels: np.ndarray, start: int, width: int, height: int, wrap_u: int, wrap_v: int, u: float,
              v: float) -> RGB:
    """Return the colour 0..255 at (u, v) on one level."""
    across, down = u * width - 0.5, v * height - 0.5
    column, row = math.floor(across), math.floor(down)
    fu, fv = across - column, down - row
    left, right = _wrapped(int(column), width, wrap_u), _wrapped(int(column) + 1, width, wrap_u)
    above = start + _wrapped(int(row), height, wrap_v) * width
    below = start + _wrapped(int(row) + 1, height, wrap_v) * width
    a, b, c, d = above + left, above + right, below + left, below + right
    wa, wb, wc, wd = (1 - fu) * (1 - fv), fu * (1 - fv), (1 - fu) * fv, fu * fv
    return (wa * texels[a, 0] + wb * texels[b, 0] + wc * texels[c, 0] + wd * texels[d, 0],
            wa * texels[a, 1] + wb * texels[b, 1] + wc * texels[c, 1] + wd * texels[d, 1],
            wa * texels[a, 2] + wb * texels[b, 2] + wc * texels[c, 2] + wd * texels[d, 2])


@njit(inline="always")
def colour_at(texels: np.ndarray, levels: np.ndarray, depth: np.ndarray, number: int, wrap_u: int, wrap_v: int,
              u: float, v: float, squared: float) -> RGB:
    """Return the colour 0..255 of texture `number` of Pyramids at (u, v), v downwards.

    squared: squared distance from one pixel to the next, in texels of the finest level.
    """
    sharpness = min(0.5 * math.log2(squared), depth[number] - 1.0) if squared > 1.0 else 0.0  # may be infinite
    fine = int(sharpness)
    share = sharpness - fine
    r, g, b = _bilinear(texels, levels[number, fine, 0], levels[number, fine, 1], levels[number, fine, 2],
                        wrap_u, wrap_v, u, v)
    if share > 0.0:
        fine += 1
        x, y, z = _bilinear(texels, levels[number, fine, 0], levels[number, fine, 1], levels[number, fine, 2],
                            wrap_u, wrap_v, u, v)
        r, g, b = r + share * (x - r), g + share * (y - g), b + share * (z - b)
    return r, g, b


_DIM = 0.25  # share of the lamp's light at a grazing angle
_WHITE = 230.0  # grey level of a surface without colours, seen straight on


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

    corner (3,): direction of pixel 0; right, down (3,): change of the direction from one pixel to the next.
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
    """Return the indices (k,) int64 of rays that hit the back of a face that is not one side of a sheet."""
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
    """Fill rgb (n, 3) uint8 of n rays; black if nothing was hit.

    face, bu, bv, depth (n,): the hits; directions (n, 3): optical z component 1; right, down (3,): change of the
    direction from one pixel to the next; then TriangleScene's fields.
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


LAYERS = 32  # maximum number of back faces that a ray passes through
_SKIP = 1e-5  # offset behind a back face at which a ray continues: metres, and share of the distance
_GREY = 128


class MeshRenderer:
    """Draws a scan from any pose."""

    def __init__(self, scene: TriangleScene) -> None:
        """Build the tree of triangles: about 0.5 s of processor time for a million, on all cores."""
        self._scene = scene
        self._rays = RayScene(scene.vertices, scene.faces)

    def image(self, camera: CameraModel, map_from_camera: np.ndarray) -> Image:
        """Return what a camera at `map_from_camera` (4, 4), optical axes, sees, background black.

        Depth is 0 if nothing is hit within the camera's range; labels and colours have no such limit.
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
        """Return the height of the first surface straight below a point, metres, to 0.01 mm; None if there is none."""
        face, _, _, depth = self._first(np.array([[x, y, z]], np.float32), np.array([[0, 0, -1]], np.float32))
        return round(z - float(depth[0]), 5) if face[0] >= 0 else None

    def _first(self, origins: np.ndarray, directions: np.ndarray, coherent: bool = False) -> tuple[np.ndarray, ...]:
        """Return the first front on each ray (n, 3): face (n,) int32, -1 = none, u, v, and distance in ray lengths."""
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
