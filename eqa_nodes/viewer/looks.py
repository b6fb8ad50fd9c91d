"""When each point of a surface was seen: by the poses and the coarse depth of the frames that show it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from eqa_nodes.core.types.views import Frame

GLANCES = 240  # kept of a recording; of more every second goes
_STRIDE = 4  # pixels of the depth image from one that is kept to the next
_TOLERANCE_M, _NEAR_M = 0.12, 0.1
UNSEEN = 255  # as a time


class Glance(NamedTuple):
    """What is kept of a frame: when, from where, and its depth (h, w) float32 metres at every _STRIDE-th pixel."""

    stamp_ns: int
    camera_from_map: np.ndarray
    scaled: tuple[float, float, float, float]  # fx, fy, cx, cy of the coarse image
    depth_m: np.ndarray


def glance_of(frame: Frame) -> Glance:
    """Return what is kept of a frame."""
    k = frame.intrinsics
    coarse = np.ascontiguousarray(frame.depth_m[_STRIDE // 2::_STRIDE, _STRIDE // 2::_STRIDE])
    scaled = (k.fx / _STRIDE, k.fy / _STRIDE, k.cx / _STRIDE, k.cy / _STRIDE)
    return Glance(frame.stamp_ns, np.linalg.inv(frame.map_from_camera()).astype(np.float32), scaled, coarse)


def times_seen(points: np.ndarray, glances: list[Glance]) -> tuple[np.ndarray, np.ndarray]:
    """Return when points (n, 3), metres, map frame, were seen first and last: (n,) uint8 each.

    0 to 254 is the share of the time from the first glance to the last; UNSEEN where no glance shows the point.
    """
    first, last = np.full(len(points), UNSEEN, np.uint8), np.full(len(points), UNSEEN, np.uint8)
    if not glances:
        return first, last
    begin_ns, whole_ns = glances[0].stamp_ns, max(glances[-1].stamp_ns - glances[0].stamp_ns, 1)
    for glance in glances:
        share = min(max(round(254 * (glance.stamp_ns - begin_ns) / whole_ns), 0), 254)
        seen = _seen(points, glance)
        last[seen] = share
        first[seen[first[seen] == UNSEEN]] = share
    return first, last


def _seen(points: np.ndarray, glance: Glance) -> np.ndarray:
    """Return the indices of the points that a glance shows."""
    rotation, shift = glance.camera_from_map[:3, :3], glance.camera_from_map[:3, 3]
    right, down, ahead = (points @ rotation[k] + shift[k] for k in range(3))
    rows, columns = glance.depth_m.shape
    fx, fy, cx, cy = glance.scaled
    far = np.maximum(ahead, _NEAR_M)
    u, v = np.floor(fx * right / far + cx), np.floor(fy * down / far + cy)
    inside = np.flatnonzero((ahead > _NEAR_M) & (u >= 0) & (u < columns) & (v >= 0) & (v < rows))
    depth_m = glance.depth_m[v[inside].astype(np.int64), u[inside].astype(np.int64)]
    return inside[np.abs(depth_m - ahead[inside]) < _TOLERANCE_M]
