"""Ray casting (Embree) and shading (numba) of a baked house: RGB, depth and labels of a pinhole camera on the CPU.

Rays are divided into bands. One worker thread casts and shades each band, and a pixel depends only on its own
rays, so that the image is the same for any number of threads.

Shiny surfaces reflect a fixed room (upright strips of light, a pale ceiling, a darker floor, two lamps), as bright as
the light that falls on the surface: no further rays are cast. Only products and square roots are used, so that every
machine computes the same bytes.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.kernels import njit
from eqa_nodes.core.types.robot import CameraModel
from sim_bridge.house.meshes import QuadMesh
from sim_bridge.house.quads import CLEAR, MIRROR, OUTDOORS
from sim_bridge.house.textures import LEVELS, SIZE, atlas, has_words, level_offsets
from sim_bridge.rays import BAND_ROWS, Image, RayScene, blank, for_bands, optical_rays

EXTRA_RAYS = ((-0.33, 0.17), (0.33, -0.17))  # additional rays of a pixel on an edge: offsets in pixels
BAND_RAYS = 12_800  # rays of a band, a multiple of those in a packet: the same packets for any number of threads
LAYERS, THROUGH, MIRRORED = 4, 0.78, 0.85  # maximum glass surfaces along a ray; share of the colour behind or reflected
LUT_SIZE, LUT_RANGE = 4096, 2.2  # tone curve over the square root of radiance
RGB = tuple[float, float, float]


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
        """Return what a camera at `map_from_camera` (4, 4), optical axes, sees; rgb is anti-aliased."""
        k = camera.intrinsics
        optical, count = optical_rays(k), k.height * k.width
        out, quad = blank(count), np.empty(count, np.int32)
        rotation, eye = map_from_camera[:3, :3].astype(np.float32), map_from_camera[None, :3, 3].astype(np.float32)

        def cast(rays: np.ndarray, image: Image) -> np.ndarray:
            return self._trace(eye, _directions(rays, rotation), 1 / k.fx, camera.max_range_m, image, LAYERS)

        def band(part: slice) -> None:
            quad[part] = cast(optical[part], Image(out.rgb[part], out.depth_m[part], out.labels[part]))

        def smooth(part: slice) -> None:
            total = out.rgb[rough[part]].astype(np.uint16)
            for right, down in EXTRA_RAYS:
                extra = blank(len(total))
                cast(optical[rough[part]] + np.array([right / k.fx, down / k.fy, 0.0], np.float32), extra)
                total += extra.rgb
            out.rgb[rough[part]] = (total + 1) // (1 + len(EXTRA_RAYS))
        for_bands(band, count, BAND_RAYS)
        rough = np.flatnonzero(_edges(quad, k.width, self._instance, self._look))
        for_bands(smooth, len(rough), BAND_ROWS * k.width // 8)
        return Image(out.rgb.reshape(k.height, k.width, 3), out.depth_m.reshape(k.height, k.width),
                     out.labels.reshape(k.height, k.width))

    def _trace(self, origins: np.ndarray, directions: np.ndarray, pixel_rad: float, max_range: float, out: Image,
               layers: int) -> np.ndarray:
        """Fill the flat image of some rays and return the quad that each hits, -1 = none. origins: as in RayScene.hits.

        Rays continue through clear glass and from mirrors, and colours are mixed; depth and labels are those of the
        first surface.
        """
        hit = self._rays.hits(origins, directions, coherent=True, normals=False)
        go_on = shade(directions, hit["primID"], hit["u"], hit["v"], hit["tfar"], self._look, self._light.grid,
                      self._light.values, self._variant, self._instance, self._texels, self._bend, pixel_rad,
                      max_range, *out)
        quad = hit["primID"] >> 1
        if go_on and layers:
            on = np.flatnonzero((quad >= 0) & (self._see[quad] >= CLEAR))
            ray, mirror, normal = directions[on], (self._see[quad[on]] == MIRROR)[:, None], self._look[quad[on], 10:13]
            onward = np.where(mirror, ray - 2 * (ray * normal).sum(axis=1, keepdims=True) * normal, ray)
            behind = blank(len(on))
            origin = np.broadcast_to(origins, directions.shape)[on]
            start = origin + ray * hit["tfar"][on, None] + np.float32(1e-3) * onward
            self._trace(start, onward, pixel_rad, max_range, behind, layers - 1)
            share = np.where(mirror, np.float32(MIRRORED), np.float32(THROUGH))
            out.rgb[on] = np.rint(out.rgb[on] * (1 - share) + behind.rgb * share).astype(np.uint8)
        return quad


def surfaces(rays: RayScene, mesh: QuadMesh, camera: CameraModel, map_from_camera: np.ndarray) -> Image:
    """Return the same as Renderer.image with a grey colour image, which needs neither light nor shading."""
    k = camera.intrinsics
    directions = optical_rays(k) @ map_from_camera[:3, :3].astype(np.float32).T
    hit = rays.hits(map_from_camera[None, :3, 3], directions, coherent=True, normals=False)
    seen, depth = hit["primID"] >= 0, hit["tfar"]
    shape = k.height, k.width
    return Image(np.full((*shape, 3), 128, np.uint8),
                 np.where(seen & (depth <= camera.max_range_m), depth, np.float32(0)).reshape(shape),
                 np.where(seen, mesh.instance[hit["primID"] >> 1], 0).astype(np.uint16).reshape(shape))


def instances_seen(rays: RayScene, mesh: QuadMesh, camera: CameraModel, map_from_camera: np.ndarray) -> dict[int, int]:
    """Return the number of visible pixels of each instance (not 0) within the camera's range, without shading."""
    directions = optical_rays(camera.intrinsics) @ map_from_camera[:3, :3].astype(np.float32).T
    hit = rays.hits(map_from_camera[None, :3, 3], directions, coherent=True, normals=False)
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


def bend_of(corners_normals: np.ndarray) -> np.ndarray:
    """Return (n, 9) float32: the normal at corner 0 and its mean steps along s and t, from normals (n, 4, 3)."""
    a, b, c, d = (corners_normals[:, i] for i in range(4))
    steps = [(3 * a + b - c + d) / 4, (b - a + c - d) / 2, (d - a + c - b) / 2]
    return np.concatenate(steps, axis=1).astype(np.float32)


@njit(nogil=True)
def _directions(optical: np.ndarray, rotation: np.ndarray) -> np.ndarray:
    """Return optical rays (n, 3) in the map frame, both float32. z is 1."""
    found = np.empty_like(optical)
    for i in range(len(optical)):
        for axis in range(3):
            found[i, axis] = (optical[i, 0] * rotation[axis, 0] + optical[i, 1] * rotation[axis, 1]
                              + rotation[axis, 2])
    return found


@njit(nogil=True)
def _edges(quad: np.ndarray, columns: int, instance: np.ndarray, look: np.ndarray) -> np.ndarray:
    """Return (n,) bool: pixels at the border of an object or a face, from the visible quad (n,) of each, -1 = none."""
    edge = np.zeros(len(quad), np.bool_)
    for step in (1, columns):
        for i in range(len(quad) - step):
            a, b = quad[i], quad[i + step]
            if a != b and (step > 1 or (i + 1) % columns) and _differ(a, b, instance, look):
                edge[i] = edge[i + step] = True
    return edge


@njit(inline="always")
def _differ(a: int, b: int, instance: np.ndarray, look: np.ndarray) -> bool:
    """Return whether there is an edge between two visible quads."""
    if a < 0 or b < 0 or instance[a] != instance[b]:
        return True
    return abs(look[a, 10] * look[b, 10] + look[a, 11] * look[b, 11] + look[a, 12] * look[b, 12]) < 0.9


@njit(inline="always")
def reflected(dx: float, dy: float, dz: float, nx: float, ny: float, nz: float) -> tuple[float, float, float, float]:
    """Return the unit direction in which a ray leaves a surface of this normal, and the cosine between the two."""
    size = math.sqrt((dx * dx + dy * dy + dz * dz) * (nx * nx + ny * ny + nz * nz)) + 1e-9
    cosine = (dx * nx + dy * ny + dz * nz) / size
    normal, ray = math.sqrt(nx * nx + ny * ny + nz * nz) + 1e-9, math.sqrt(dx * dx + dy * dy + dz * dz)
    twice = 2.0 * cosine / normal
    return dx / ray - twice * nx, dy / ray - twice * ny, dz / ray - twice * nz, abs(cosine)


@njit(inline="always")
def surroundings(x: float, y: float, z: float) -> float:
    """Return the brightness of the room that a metal surface reflects along a unit direction: 1 on average."""
    turn = 2.6 * (0.8 * x + 0.6 * y) + 0.7 * z
    turn -= math.floor(turn)
    strip = 4.0 * turn * (1.0 - turn)
    return 0.42 + 0.22 * z + 1.08 * strip * strip


@njit(inline="always")
def highlight(x: float, y: float, z: float, cosine: float, sharpness: int) -> float:
    """Return the highlight of a clear coat: two lamps, and the ceiling at grazing angles (Schlick 1994)."""
    lamp, window = max(0.0, 0.35 * x + 0.25 * y + 0.9028 * z), max(0.0, -0.6 * x + 0.55 * y + 0.5809 * z)
    for _ in range(sharpness):
        lamp, window = lamp * lamp, window * window
    grazing = (1.0 - cosine) * (1.0 - cosine)
    return lamp + 0.8 * window + 0.35 * grazing * grazing * (0.6 + 0.4 * z)


def _tone_curve() -> np.ndarray:
    """Return (LUT_SIZE,) uint8: square root of linear radiance -> sRGB, with a soft shoulder (Reinhard 2002, eq. 4)."""
    x = (np.linspace(0.0, LUT_RANGE, LUT_SIZE)) ** 2
    y = np.clip(1.25 * x * (1 + x / 2.2 ** 2) / (1 + x), 0.0, 1.0)
    srgb = np.where(y <= 0.0031308, 12.92 * y, 1.055 * y ** (1 / 2.4) - 0.055)
    return np.rint(255 * srgb).astype(np.uint8)


_TONE = _tone_curve()
_LEVEL_START = level_offsets()[:-1].astype(np.int64)


@njit(inline="always")
def _sky(x: float, y: float, z: float) -> RGB:
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


@njit(inline="always")
def _light_at(grid: np.ndarray, light: np.ndarray, q: int, s: float, t: float) -> RGB:
    """Return the baked light of quad q at (s, t), bilinear."""
    across, up = grid[q, 1], grid[q, 2]
    fs, ft = min(max(s, 0.0), 1.0) * across, min(max(t, 0.0), 1.0) * up
    js, jt = min(int(fs), across - 1), min(int(ft), up - 1)
    fs, ft = fs - js, ft - jt
    a = grid[q, 0] + jt * (across + 1) + js
    c = a + across + 1
    w00, w10, w01, w11 = (1 - fs) * (1 - ft), fs * (1 - ft), (1 - fs) * ft, fs * ft
    return (w00 * light[a, 0] + w10 * light[a + 1, 0] + w01 * light[c, 0] + w11 * light[c + 1, 0],
            w00 * light[a, 1] + w10 * light[a + 1, 1] + w01 * light[c, 1] + w11 * light[c + 1, 1],
            w00 * light[a, 2] + w10 * light[a + 1, 2] + w01 * light[c, 2] + w11 * light[c + 1, 2])


@njit(inline="always")
def _texel_at(texels: np.ndarray, row: int, u: float, v: float, footprint: float) -> RGB:
    """Return the texture factor at (u, v) in repeats, bilinear on the level whose texels match the footprint."""
    level = 0
    while footprint > 1.4 and level < LEVELS - 1:
        footprint *= 0.5
        level += 1
    side = SIZE >> level
    tu, tv = u * side - 0.5, v * side - 0.5
    iu, iv = math.floor(tu), math.floor(tv)
    fs, ft = tu - iu, tv - iv
    u0, v0 = int(iu) & (side - 1), int(iv) & (side - 1)
    low = _LEVEL_START[level] + v0 * side
    high = _LEVEL_START[level] + ((v0 + 1) & (side - 1)) * side
    u1 = (u0 + 1) & (side - 1)
    w00, w10, w01, w11 = (1 - fs) * (1 - ft) / 128, fs * (1 - ft) / 128, (1 - fs) * ft / 128, fs * ft / 128
    a, b, c, d = texels[row, low + u0], texels[row, low + u1], texels[row, high + u0], texels[row, high + u1]
    return (w00 * a[0] + w10 * b[0] + w01 * c[0] + w11 * d[0],
            w00 * a[1] + w10 * b[1] + w01 * c[1] + w11 * d[1],
            w00 * a[2] + w10 * b[2] + w01 * c[2] + w11 * d[2])


@njit(nogil=True)
def shade(directions: np.ndarray, triangle: np.ndarray, bu: np.ndarray, bv: np.ndarray, depth_in: np.ndarray,
          look: np.ndarray, grid: np.ndarray, light: np.ndarray, variant: np.ndarray, instance: np.ndarray,
          texels: np.ndarray, bend: np.ndarray, pixel_rad: float, max_range: float,
          rgb: np.ndarray, depth: np.ndarray, labels: np.ndarray) -> bool:
    """Fill rgb, depth and labels of k rays (directions (k, 3), optical z component 1) from their hits.

    Return whether any of them goes on through clear glass or from a mirror.
    look: see render._looks; grid, light: see LightMap; variant, instance: per quad; texels: see textures.atlas;
    bend: see gloss.bend_of.
    """
    go_on = False
    for i in range(triangle.shape[0]):
        dx, dy, dz = directions[i, 0], directions[i, 1], directions[i, 2]
        q, z = triangle[i] >> 1, depth_in[i]
        depth[i], labels[i] = 0.0, 0
        if q >= 0:
            labels[i] = instance[q]
            go_on |= look[q, 14] >= CLEAR
            if z <= max_range:
                depth[i] = z
        if q < 0 or look[q, 14] == OUTDOORS:
            r, g, b = _sky(dx, dy, dz)
        else:
            second = triangle[i] & 1
            s = bu[i] if second else bu[i] + bv[i]
            t = bu[i] + bv[i] if second else bv[i]
            length = math.sqrt(dx * dx + dy * dy + dz * dz)
            cosine = abs(dx * look[q, 10] + dy * look[q, 11] + dz * look[q, 12]) / length
            footprint = z * pixel_rad * look[q, 13] / math.sqrt(max(cosine, 0.04))
            lr, lg, lb = _light_at(grid, light, q, s, t)
            tr, tg, tb = _texel_at(texels, variant[q], look[q, 4] + s * look[q, 6] + t * look[q, 8],
                                   look[q, 5] + s * look[q, 7] + t * look[q, 9], footprint)
            glow = look[q, 3]
            r, g, b = tr * look[q, 0] * (lr + glow), tg * look[q, 1] * (lg + glow), tb * look[q, 2] * (lb + glow)
            if look[q, 15] + look[q, 16] > 0.0 and glow == 0.0:
                x, y, up, facing = reflected(dx, dy, dz, bend[q, 0] + s * bend[q, 3] + t * bend[q, 6],
                                             bend[q, 1] + s * bend[q, 4] + t * bend[q, 7],
                                             bend[q, 2] + s * bend[q, 5] + t * bend[q, 8])
                mirror, gray = look[q, 15], (lr + lg + lb) / 3.0
                coat = look[q, 16] * highlight(x, y, up, facing, int(look[q, 17])) * min(gray, 1.5)
                shine = mirror * surroundings(x, y, up) * gray if mirror > 0.0 else 0.0
                r = (1.0 - mirror) * r + tr * look[q, 0] * shine + coat
                g = (1.0 - mirror) * g + tg * look[q, 1] * shine + coat
                b = (1.0 - mirror) * b + tb * look[q, 2] * shine + coat
        scale = LUT_SIZE / LUT_RANGE
        rgb[i, 0] = _TONE[min(LUT_SIZE - 1, int(math.sqrt(max(r, 0.0)) * scale))]
        rgb[i, 1] = _TONE[min(LUT_SIZE - 1, int(math.sqrt(max(g, 0.0)) * scale))]
        rgb[i, 2] = _TONE[min(LUT_SIZE - 1, int(math.sqrt(max(b, 0.0)) * scale))]
    return go_on
