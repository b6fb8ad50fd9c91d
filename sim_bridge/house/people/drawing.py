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
        ends = np.concatenate([limbs[:, 0:3], limbs[:, 3:6]]) @ camera_from_map[:3, :3].T + camera_from_map[:3, 3]
        radius = float(limbs[:, 6].max())
        if ends[:, 2].max() + radius <= 0.05 or ends[:, 2].min() - radius > camera.max_range_m:
            continue
        c0, c1, r0, r1 = 0, k.width, 0, k.height
        if ends[:, 2].min() - radius > 0.1:
            near = ends[:, 2] - radius
            u0, u1 = ((ends[:, 0] + sign * 1.2 * radius) / near * k.fx + k.cx for sign in (-1, 1))
            v0, v1 = ((ends[:, 1] + sign * 1.2 * radius) / near * k.fy + k.cy for sign in (-1, 1))
            c0, c1 = (int(np.clip(v, 0, k.width)) for v in (min(u0.min(), u1.min()) - _MARGIN_PX,
                                                            max(u0.max(), u1.max()) + _MARGIN_PX))
            r0, r1 = (int(np.clip(v, 0, k.height)) for v in (min(v0.min(), v1.min()) - _MARGIN_PX,
                                                             max(v0.max(), v1.max()) + _MARGIN_PX))
        local = limbs.astype(np.float64)
        for end in (slice(0, 3), slice(3, 6)):
            local[:, end] = local[:, end] @ camera_from_map[:3, :3].T + camera_from_map[:3, 3]
        _draw(image.rgb, image.depth_m, image.labels, local, label, c0, c1, r0, r1, k.fx, k.fy, k.cx, k.cy,
              camera.max_range_m, camera_from_map[:3, :3] @ light, _SAMPLES, camera.color)


@njit()
def _draw(rgb: np.ndarray, depth: np.ndarray, labels: np.ndarray, limbs: np.ndarray, label: int, c0: int, c1: int,
          r0: int, r1: int, fx: float, fy: float, cx: float, cy: float, max_range: float, light: np.ndarray,
          samples: np.ndarray, colour: bool) -> None:
    """Fill the rectangle of pixels that a body can cover; limbs in the camera's frame."""
    for row in range(r0, r1):
        for column in range(c0, c1):
            hits, red, green, blue, first = 0, 0.0, 0.0, 0.0, -1.0
            there = depth[row, column]
            for i in range(len(samples)):
                x = (column + 0.5 + samples[i, 0] - cx) / fx
                y = (row + 0.5 + samples[i, 1] - cy) / fy
                best, limb = math.inf, -1
                for j in range(len(limbs)):
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
