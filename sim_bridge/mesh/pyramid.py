"""Textures as pyramids of levels, all in one array, looked up bilinearly on two levels (trilinear) in compiled code."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.kernels import njit
from sim_bridge.mesh.model import CLAMP, MIRROR

LEVELS = 14  # of 8192 x 8192
RGB = tuple[float, float, float]


class Pyramids(NamedTuple):
    """All textures: texels (t, 3) uint8 sRGB, rows from the top; levels (n, LEVELS, 3) int64 first texel, width and
    height of each level of each texture, 0 = there is none; depth (n,) int64 levels."""

    texels: np.ndarray
    levels: np.ndarray
    depth: np.ndarray


def pyramids(images: Sequence[Callable[[], np.ndarray] | None]) -> Pyramids:
    """Return the pyramids of images that the functions decode, (h, w, 3) uint8; None: nothing shows it, no level.

    Raises what the functions raise.
    """
    with ThreadPoolExecutor(max_workers=2, thread_name_prefix="textures") as workers:
        done = list(workers.map(lambda decode: _levels(decode()) if decode is not None else [], images))
    table, start = np.zeros((len(done), LEVELS, 3), np.int64), 0
    for row, levels in zip(table, done):
        for number, level in enumerate(levels):
            row[number] = start, level.shape[1], level.shape[0]
            start += level.shape[0] * level.shape[1]
    depth, texels = np.array([len(levels) for levels in done], np.int64), np.empty((start, 3), np.uint8)
    for row, levels in zip(table, done):
        for (at, width, height), level in zip(row, levels):
            texels[at:at + width * height] = level.reshape(-1, 3)
        levels.clear()  # all textures are in memory once, not twice
    return Pyramids(texels, table, depth)


def _levels(image: np.ndarray) -> list[np.ndarray]:
    """Return the image and its halves down to one texel."""
    levels = [np.ascontiguousarray(image)]
    while max(levels[-1].shape[:2]) > 1 and len(levels) < LEVELS:
        levels.append(_half(levels[-1]))
    return levels


@njit(nogil=True)
def _half(image: np.ndarray) -> np.ndarray:
    """Return the image at half the size, rounded down: means of 2 x 2 texels; an odd last one is lost."""
    height, width = max(1, image.shape[0] // 2), max(1, image.shape[1] // 2)
    out = np.empty((height, width, 3), np.uint8)
    for row in range(height):
        low, high = min(2 * row, image.shape[0] - 1), min(2 * row + 1, image.shape[0] - 1)
        for column in range(width):
            left, right = min(2 * column, image.shape[1] - 1), min(2 * column + 1, image.shape[1] - 1)
            for channel in range(3):
                total = (np.int64(image[low, left, channel]) + image[low, right, channel]
                         + image[high, left, channel] + image[high, right, channel])
                out[row, column, channel] = (total + 2) // 4
    return out


@njit(inline="always")
def _wrapped(texel: int, size: int, wrap: int) -> int:
    """Return the texel that stands for one beyond the border."""
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

    squared: of the texels of the finest level from one pixel to the next.
    """
    sharpness = min(0.5 * math.log2(squared), depth[number] - 1.0) if squared > 1.0 else 0.0  # it may be infinite
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
