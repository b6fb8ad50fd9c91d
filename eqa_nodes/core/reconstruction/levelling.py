"""Estimates the vertical and the floor. Gravity is not measured, so the vertical is the normal of the floor plane."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.types.views import Intrinsics

FLOOR, CAMERA = "floor plane", "camera"
_TILT = math.cos(math.radians(50.0))  # maximum tilt of the mean camera
_SLAB_M = 0.05  # half the thickness of the layer that contains the floor's points
_LEVEL = math.cos(math.radians(8.0))
_NEAR = (math.cos(math.radians(20.0)), math.cos(math.radians(8.0)), math.cos(math.radians(4.0)))
_CELL_DEG = 4.0
_LEAST = 200  # minimum number of points of a floor
_SHARE = 0.15  # minimum number of points of a floor, as a share of those at the most frequent height
_BELOW_M = 0.3  # minimum height of the camera above the floor
_MOST_VIEWS = 120
_COARSER = 2  # factor by which the small images are reduced further, for less noisy normals
_SAME_SURFACE = 1.03  # depths within this factor of the nearest one in a block belong to one surface


class Ground(NamedTuple):
    """The levelled map frame. map_from_common: (4, 4), floor at z = 0, x in the direction of the first camera.

    how: FLOOR, or CAMERA if no floor was found: then up is that of the mean camera; points: number of floor points;
    rms_m: their RMS distance from the plane; tilt_deg: angle between the mean camera's up and the map's; walls_deg:
    median angle between the walls and the vertical, nan if none was seen; sure: whether the result is reliable.
    """

    map_from_common: np.ndarray
    how: str
    points: int
    rms_m: float
    tilt_deg: float
    walls_deg: float

    @property
    def sure(self) -> bool:
        """Whether floor and walls agree."""
        return self.how == FLOOR and self.points >= 5 * _LEAST and not self.walls_deg > 3.0


def levelled(views: Sequence[tuple[np.ndarray, Intrinsics]], poses: Sequence[np.ndarray]) -> Ground:
    """Return the map frame of depth images, about 160 pixels wide, with poses (4, 4), common_from_camera.

    views: depth (h, w) float32 metres, 0 = no return, and intrinsics; the first view is that of the first camera.
    """
    every = max(1, math.ceil(len(views) / _MOST_VIEWS))
    surfaces = [_surface(*view, pose) for view, pose in zip(views[::every], poses[::every], strict=True)]
    points, normals = (np.concatenate(part) for part in zip(*surfaces, strict=True))
    held = -np.mean([pose[:3, 1] for pose in poses], axis=0)
    held /= np.linalg.norm(held)
    up = _refined(_peak(normals, held), normals)
    eyes = np.array([pose[:3, 3] for pose in poses])
    floor, count, rms_m = None, 0, math.nan
    if up is not None:
        up, floor, count, rms_m = _floor(up, points, normals, eyes)
    how = CAMERA if floor is None or up is None else FLOOR
    if floor is None or up is None:
        up = held
        floor = float(np.percentile(points @ up, 2)) if len(points) else float((eyes @ up).min())
    walls = normals[np.abs(normals @ up) < 0.3] @ up
    walls_deg = float(np.degrees(np.median(np.abs(np.arcsin(walls))))) if len(walls) > _LEAST else math.nan
    tilt = math.degrees(math.acos(min(1.0, float(held @ up))))
    return Ground(_frame(up, floor, poses[0]), how, count, rms_m, tilt, walls_deg)


def _frame(up: np.ndarray, floor_m: float, first: np.ndarray) -> np.ndarray:
    """Return map_from_common: origin on the floor below the first camera, x in its viewing direction."""
    ahead = first[:3, 2] - up * (up @ first[:3, 2])
    if np.linalg.norm(ahead) < 0.1:  # it looks straight up or down: use its own up as the direction
        ahead = -first[:3, 1] + up * (up @ first[:3, 1])
    ahead /= np.linalg.norm(ahead)
    frame = np.eye(4)
    frame[:3, :3] = np.stack([ahead, np.cross(up, ahead), up])
    frame[:2, 3] = -frame[:2, :3] @ first[:3, 3]
    frame[2, 3] = -floor_m
    return frame


def _surface(depth_m: np.ndarray, camera: Intrinsics, pose: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return points (n, 3) and unit normals (n, 3), facing the camera, of a view in the common frame."""
    k, z = shrunk_camera(camera, _COARSER), shrunk_depth(depth_m, _COARSER)
    v, u = np.mgrid[:z.shape[0], :z.shape[1]]
    points = np.stack([(u + 0.5 - k.cx) / k.fx * z, (v + 0.5 - k.cy) / k.fy * z, z], 2)
    right, down = points[1:-1, 2:] - points[1:-1, :-2], points[2:, 1:-1] - points[:-2, 1:-1]
    ends = (z[1:-1, 2:], z[1:-1, :-2], z[2:, 1:-1], z[:-2, 1:-1])
    middle = z[1:-1, 1:-1]
    whole = np.all([(e > 0) & (abs(e - middle) < 0.1 * middle) for e in ends], axis=0) & (middle > 0)
    normals = -np.cross(right[whole], down[whole])
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-9)
    found = points[1:-1, 1:-1][whole]
    return found @ pose[:3, :3].T + pose[:3, 3], normals @ pose[:3, :3].T


def _peak(normals: np.ndarray, held: np.ndarray) -> np.ndarray | None:
    """Return the most frequent direction of the normals or their opposites within 50 degrees of the camera's up."""
    along = normals @ held
    upward = (normals * np.sign(along)[:, None])[abs(along) > _TILT]
    if len(upward) < _LEAST:
        return None
    side = np.cross(held, [1.0, 0.0, 0.0] if abs(held[0]) < 0.9 else [0.0, 1.0, 0.0])
    side /= np.linalg.norm(side)
    cells = np.stack([upward @ side, upward @ np.cross(held, side)], 1) / math.radians(_CELL_DEG)
    rounded, counts = np.unique(np.rint(cells).astype(int), axis=0, return_counts=True)
    best = rounded[np.argmax(counts)]
    mean: np.ndarray = upward[np.abs(cells - best).max(axis=1) <= 1].mean(axis=0)
    return mean / np.linalg.norm(mean)


def _refined(up: np.ndarray | None, normals: np.ndarray) -> np.ndarray | None:
    """Refine a direction by the mean of the normals near it, with decreasing thresholds; None with too few normals."""
    for near in _NEAR if up is not None else ():
        along = normals @ up
        chosen = (normals * np.sign(along)[:, None])[abs(along) > near]
        if len(chosen) < _LEAST:
            return None
        up = chosen.mean(axis=0)
        up = up / np.linalg.norm(up)
    return up


def _floor(up: np.ndarray, points: np.ndarray, normals: np.ndarray,
           eyes: np.ndarray) -> tuple[np.ndarray, float | None, int, float]:
    """Return up from the floor plane, the floor's height (None if not found), its number of points and their RMS."""
    level = points[normals @ up > _LEVEL]
    heights = level @ up
    level = level[heights < np.median(eyes @ up) - _BELOW_M]
    if len(level) < _LEAST:
        return up, None, 0, math.nan
    heights = level @ up
    bins = np.arange(heights.min() - _SLAB_M, heights.max() + 2 * _SLAB_M, _SLAB_M)
    counts = np.histogram(heights, bins)[0]
    counts = counts + np.append(counts[1:], 0)
    at = int(np.argmax(counts >= max(_LEAST, _SHARE * counts.max())))
    if counts[at] < _LEAST:
        return up, None, 0, math.nan
    middle = float(np.median(heights[abs(heights - bins[at] - _SLAB_M) < _SLAB_M]))
    floor = level[abs(heights - middle) < _SLAB_M]
    centre = floor.mean(axis=0)
    spread, axes = np.linalg.eigh((floor - centre).T @ (floor - centre) / len(floor))
    own = axes[:, 0] * np.sign(axes[:, 0] @ up)
    if spread[1] > 0.05 and own @ up > _LEVEL:  # wide enough in both directions to determine its inclination
        up = own
    return up, float(centre @ up), len(floor), float(math.sqrt(max(spread[0], 0.0)))


def shrunk_camera(k: Intrinsics, factor: int) -> Intrinsics:
    """Return the intrinsics of an image reduced by an integer factor."""
    return Intrinsics(k.width // factor, k.height // factor, k.fx / factor, k.fy / factor, k.cx / factor,
                      k.cy / factor)


def _blocks(image: np.ndarray, factor: int) -> np.ndarray:
    """Return the pixels of each block, (h, w, factor * factor, ...); incomplete blocks at the edges are cut off."""
    h, w = image.shape[0] // factor, image.shape[1] // factor
    cut = image[:h * factor, :w * factor].reshape(h, factor, w, factor, *image.shape[2:])
    return cut.swapaxes(1, 2).reshape(h, w, factor * factor, *image.shape[2:])


def shrunk_depth(depth_m: np.ndarray, factor: int) -> np.ndarray:
    """Return the mean depth of the nearest surface in each block; 0 if it covers less than half of the block."""
    if factor == 1:
        return np.ascontiguousarray(depth_m)
    blocks = _blocks(depth_m, factor)
    seen = blocks > 0
    nearest = np.where(seen, blocks, np.float32(np.inf)).min(axis=2, keepdims=True)
    same = seen & (blocks <= nearest * _SAME_SURFACE + 0.02)
    count = same.sum(axis=2)
    total = np.where(same, blocks, np.float32(0)).sum(axis=2)
    return np.where(2 * count >= factor * factor, total / np.maximum(count, 1), 0).astype(np.float32)
