"""The shading kernel: from ray hits to colours, depth and labels. One pixel depends on nothing but its own ray."""

from __future__ import annotations

import math

import numpy as np

from eqa_nodes.core.kernels import njit
from sim_bridge.house.gloss import highlight, reflected, surroundings
from sim_bridge.house.shell import OUTDOORS
from sim_bridge.house.textures import LEVELS, SIZE, level_offsets

LUT_SIZE, LUT_RANGE = 4096, 2.2  # tone curve over the square root of radiance


def _tone_curve() -> np.ndarray:
    """Return (LUT_SIZE,) uint8: square root of linear radiance -> sRGB, with a soft shoulder (Reinhard 2002, eq. 4)."""
    x = (np.linspace(0.0, LUT_RANGE, LUT_SIZE)) ** 2
    y = np.clip(1.25 * x * (1 + x / 2.2 ** 2) / (1 + x), 0.0, 1.0)
    srgb = np.where(y <= 0.0031308, 12.92 * y, 1.055 * y ** (1 / 2.4) - 0.055)
    return np.rint(255 * srgb).astype(np.uint8)


_TONE = _tone_curve()
_LEVEL_START = level_offsets()[:-1].astype(np.int64)
RGB = tuple[float, float, float]


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
          rgb: np.ndarray, depth: np.ndarray, labels: np.ndarray) -> None:
    """Fill rgb, depth and labels of k rays (directions (k, 3), optical z component 1) from their hits.

    look: see render._looks; grid, light: see LightMap; variant, instance: per quad; texels: see textures.atlas;
    bend: see gloss.bend_of.
    """
    for i in range(triangle.shape[0]):
        dx, dy, dz = directions[i, 0], directions[i, 1], directions[i, 2]
        q, z = triangle[i] >> 1, depth_in[i]
        depth[i], labels[i] = 0.0, 0
        if q >= 0:
            labels[i] = instance[q]
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
