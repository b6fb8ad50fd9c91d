"""Draws people into an image of a house: rays against capsules, with the depth and the labels of what is nearer."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from eqa_nodes.core.kernels import njit
from eqa_nodes.core.types.robot import CameraModel
from sim_bridge.rays import Image

_SAMPLES = np.array([[0.0, 0.0], [-0.33, 0.17], [0.33, -0.17]])  # of a pixel, offsets in pixels
_LIGHT = np.array([0.35, 0.25, 0.9])  # towards a lamp of the room, in the map frame
_MARGIN_PX = 2


def draw(image: Image, camera: CameraModel, map_from_camera: np.ndarray, bodies: Sequence[tuple[int, np.ndarray]]
         ) -> None:
    """Draw bodies (label, capsules as of `body.capsules`) into an image, in place, where nothing is before them.

    A pixel that shows anything of somebody has their label, so that what hides that label hides all of them. What
    stands behind glass or in a mirror is not drawn: the surface is nearer.
    """
    k = camera.intrinsics
    camera_from_map = np.linalg.inv(map_from_camera)
    light = _LIGHT / np.linalg.norm(_LIGHT)
    for label, limbs in bodies:
        ends = limbs[:, :6].reshape(-1, 2, 3) @ camera_from_map[:3, :3].T + camera_from_map[:3, 3]
        radius = limbs[:, 6].astype(np.float64)
        near = float((ends[..., 2].min(axis=1) - radius).min())
        if (ends[..., 2].max(axis=1) + radius).max() <= 0.05 or near > camera.max_range_m:
            continue
        boxes = _boxes(ends, radius, camera)
        (r0, c0), (r1, c1) = boxes[:, :2].min(axis=0), boxes[:, 2:].max(axis=0)
        local = np.concatenate([ends.reshape(-1, 6), limbs[:, 6:]], axis=1).astype(np.float64)
        _draw(image.rgb, image.depth_m, image.labels, local, boxes, label, c0, c1, r0, r1, k.fx, k.fy, k.cx, k.cy,
              near, camera.max_range_m, camera_from_map[:3, :3] @ light, _SAMPLES, camera.color)


def _boxes(ends: np.ndarray, radius: np.ndarray, camera: CameraModel) -> np.ndarray:
    """Return (k, 4) int64: the pixels that capsules can cover, first row and column, and the ends of both.

    ends: (k, 2, 3) of their axes in the camera's frame, metres. One that reaches the lens can cover all.
    """
    k = camera.intrinsics
    r = radius[:, None]
    ahead = (ends[..., 2] - r).min(axis=1) > 0.1
    z = np.where(ahead[:, None], ends[..., 2], 1.0)
    boxes = np.empty((len(ends), 4), np.int64)
    for axis, focal, centre, size in ((1, k.fy, k.cy, k.height), (0, k.fx, k.cx, k.width)):
        x = ends[..., axis]
        tangents = [(x * z + sign * r * np.sqrt(x * x + z * z - r * r)) / (z * z - r * r) for sign in (-1, 1)]
        sides = np.concatenate(tangents, axis=1) * focal + centre
        first = np.where(ahead, sides.min(axis=1) - _MARGIN_PX, 0)
        last = np.where(ahead, sides.max(axis=1) + _MARGIN_PX, size)
        boxes[:, 1 - axis], boxes[:, 3 - axis] = np.clip(first, 0, size), np.clip(last, 0, size)
    return boxes


@njit()
def _draw(rgb: np.ndarray, depth: np.ndarray, labels: np.ndarray, limbs: np.ndarray, boxes: np.ndarray, label: int,
          c0: int, c1: int, r0: int, r1: int, fx: float, fy: float, cx: float, cy: float, near: float,
          max_range: float, light: np.ndarray, samples: np.ndarray, colour: bool) -> None:
    """Fill the rectangle of pixels that a body can cover; limbs in the camera's frame, none of them before `near`."""
    for row in range(r0, r1):
        for column in range(c0, c1):
            hits, red, green, blue, first = 0, 0.0, 0.0, 0.0, -1.0
            there = depth[row, column]
            if 0.0 < there <= near:
                continue
            for i in range(len(samples)):
                x = (column + 0.5 + samples[i, 0] - cx) / fx
                y = (row + 0.5 + samples[i, 1] - cy) / fy
                best, limb = math.inf, -1
                for j in range(len(limbs)):
                    if not (boxes[j, 0] <= row < boxes[j, 2] and boxes[j, 1] <= column < boxes[j, 3]):
                        continue
                    z = _hit(x, y, limbs[j])
                    if 0.02 < z < best:
                        best, limb = z, j
                if limb < 0 or best > max_range or 0.0 < there <= best:
                    continue
                if first < 0.0:
                    first = best
                if not colour:
                    break
                bright = _bright(x * best, y * best, best, limbs[limb], light)
                hits += 1
                red, green, blue = (red + bright * limbs[limb, 7], green + bright * limbs[limb, 8],
                                    blue + bright * limbs[limb, 9])
            if hits:
                share = hits / len(samples)
                for channel, value in ((0, red / hits), (1, green / hits), (2, blue / hits)):
                    own = 255.0 * min(1.0, value) ** (1 / 2.2)
                    rgb[row, column, channel] = np.uint8(own * share + rgb[row, column, channel] * (1 - share) + 0.5)
            if first > 0.0:
                depth[row, column] = first
                labels[row, column] = label


@njit(inline="always")
def _hit(x: float, y: float, limb: np.ndarray) -> float:
    """Return how many times (x, y, 1) reaches a capsule first, inf where it passes by (Quilez's closed form)."""
    bx, by, bz = limb[3] - limb[0], limb[4] - limb[1], limb[5] - limb[2]
    ox, oy, oz, r = -limb[0], -limb[1], -limb[2], limb[6]
    bb = bx * bx + by * by + bz * bz
    bd, bo = bx * x + by * y + bz, bx * ox + by * oy + bz * oz
    dd, od, oo = x * x + y * y + 1.0, x * ox + y * oy + oz, ox * ox + oy * oy + oz * oz
    a, b, c = bb * dd - bd * bd, bb * od - bo * bd, bb * oo - bo * bo - r * r * bb
    along = bo
    if a > 1e-12:
        h = b * b - a * c
        if h < 0.0:
            return math.inf
        t = (-b - math.sqrt(h)) / a
        along = bo + t * bd
        if 0.0 < along < bb:
            return t
    if along > 0.0:
        ox, oy, oz = ox - bx, oy - by, oz - bz
    b, c = x * ox + y * oy + oz, ox * ox + oy * oy + oz * oz - r * r
    h = b * b - dd * c
    return (-b - math.sqrt(h)) / dd if h > 0.0 else math.inf


@njit(inline="always")
def _bright(x: float, y: float, z: float, limb: np.ndarray, light: np.ndarray) -> float:
    """Return how light the surface of a capsule is at a point: of the room round the camera, and of a lamp above."""
    bx, by, bz = limb[3] - limb[0], limb[4] - limb[1], limb[5] - limb[2]
    px, py, pz = x - limb[0], y - limb[1], z - limb[2]
    bb = bx * bx + by * by + bz * bz
    s = min(1.0, max(0.0, (px * bx + py * by + pz * bz) / bb)) if bb > 0.0 else 0.0
    nx, ny, nz = (px - s * bx) / limb[6], (py - s * by) / limb[6], (pz - s * bz) / limb[6]
    towards = -(nx * x + ny * y + nz * z) / math.sqrt(x * x + y * y + z * z)
    return 0.36 + 0.24 * max(0.0, towards) + 0.42 * max(0.0, nx * light[0] + ny * light[1] + nz * light[2])
