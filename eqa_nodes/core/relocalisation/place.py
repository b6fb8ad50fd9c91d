"""Surfaces of a map, from the coarse depth of stored views, and the views that saw them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.errors import BadFrame
from eqa_nodes.core.perception.projection import coarse_depth, coarse_rays
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.views import Keyframe

VOXEL_M = 0.08
RANGE_M = 6.0  # maximum depth: farther away a cell of the coarse depth is wider than the surfaces it is compared with
LOW_M, HIGH_M = 0.15, 2.3  # heights above the floor that are used: floors and ceilings look the same everywhere
STOREY_M = 1.0  # views whose floors differ more in height belong to different storeys
_GRAZING = 0.2  # minimum cosine between a surface's normal and the ray that saw it
_EDGE = 0.15  # share of the distance: neighbours that differ by more lie on different surfaces


class Views(NamedTuple):
    """Depth images in the map, as arrays for compiled code.

    rotation: (n, 3, 3) and position: (n, 3) of map_from_camera, optical axes; lens: (n, 4) fx, fy, cx, cy in cells of
    the depth image, with cell centres at +0.5; depth_m: (n, rows, columns) float32, 0 = no return, smaller images
    padded with 0; shape: (n, 2) int64, rows and columns of each image.
    """

    rotation: np.ndarray
    position: np.ndarray
    lens: np.ndarray
    depth_m: np.ndarray
    shape: np.ndarray


class KnownStorey(NamedTuple):
    """Surfaces and views of one storey of a map. Heights are above its floor.

    points, normals: (n, 3) float32, metres, map frame; one per voxel seen between LOW_M and HIGH_M; normals face the
    camera. floor_m: height of the floor in the map. views: the depth images, with positions above the floor.
    """

    points: np.ndarray
    normals: np.ndarray
    views: Views
    floor_m: float


def places_of(keyframes: Sequence[Keyframe]) -> list[KnownStorey]:
    """Return the storeys of a map, sorted by decreasing number of views.

    Views without geometry are ignored. Raises BadFrame if all are, and for a broken depth image; BadPose for a
    pose that is not finite.
    """
    usable = [k for k in keyframes if k.geometry is not None]
    if not usable:
        raise BadFrame(f"none of {len(keyframes)} views has a depth image: only views that were stored with depth can "
                       "be aligned; give the transform by hand, or let the robot look round once more")
    return sorted((_place(storey) for storey in _storeys(usable)), key=lambda place: -len(place.views.position))


def _storeys(keyframes: Sequence[Keyframe]) -> list[list[Keyframe]]:
    """Return the keyframes of each storey: sorted heights with steps below STOREY_M belong together."""
    ordered = sorted(keyframes, key=lambda k: (k.map_from_base.xyz[2], k.id))
    found: list[list[Keyframe]] = []
    for k in ordered:
        if found and k.map_from_base.xyz[2] - found[-1][-1].map_from_base.xyz[2] < STOREY_M:
            found[-1].append(k)
        else:
            found.append([k])
    return found


def _place(keyframes: Sequence[Keyframe]) -> KnownStorey:
    floor_m = float(np.median([k.map_from_base.xyz[2] for k in keyframes]))
    poses, lenses, images, points, normals = [], [], [], [], []
    for k in keyframes:
        assert k.geometry is not None
        image, pose = coarse_depth(k), k.map_from_base.matrix() @ k.geometry.base_from_camera.matrix()
        pose[2, 3] -= floor_m
        lens = _lens(k, image)
        near = np.where(image <= RANGE_M, image, np.float32(0))
        seen, facing = surface(near, coarse_rays(k))
        points.append(seen @ pose[:3, :3].T + pose[:3, 3])
        normals.append(facing @ pose[:3, :3].T)
        poses.append(pose)
        lenses.append(lens)
        images.append(image)
    stacked = np.stack(poses)
    views = Views(np.ascontiguousarray(stacked[:, :3, :3]), np.ascontiguousarray(stacked[:, :3, 3]),
                  np.array(lenses), *_stack(images))
    return KnownStorey(*_thinned(np.concatenate(points), np.concatenate(normals)), views, floor_m)


def _lens(k: Keyframe, image: np.ndarray) -> tuple[float, float, float, float]:
    """Return fx, fy, cx, cy in cells of the coarse depth image."""
    assert k.geometry is not None
    lens, (rows, columns) = k.geometry.intrinsics, image.shape
    across, down = columns / lens.width, rows / lens.height
    return lens.fx * across, lens.fy * down, lens.cx * across, lens.cy * down


def _stack(images: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    shape = np.array([image.shape for image in images], np.int64)
    stacked = np.zeros((len(images), *shape.max(axis=0)), np.float32)
    for i, image in enumerate(images):
        stacked[i, :image.shape[0], :image.shape[1]] = image
    return stacked, shape


def surface(depth_m: np.ndarray, rays: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the points (n, 3) of a depth image (rows, columns) and their normals, camera frame; rays: rays of its
    cells.

    A normal follows from the differences between the neighbouring cells; points at edges and of grazing rays are left
    out.
    """
    points = rays * depth_m[..., None]
    inner = depth_m[1:-1, 1:-1]
    around = np.stack((depth_m[1:-1, 2:], depth_m[1:-1, :-2], depth_m[2:, 1:-1], depth_m[:-2, 1:-1]))
    normal = np.cross(points[2:, 1:-1] - points[:-2, 1:-1], points[1:-1, 2:] - points[1:-1, :-2])
    length = np.linalg.norm(normal, axis=-1)
    ray, inside = rays[1:-1, 1:-1], points[1:-1, 1:-1]
    with np.errstate(invalid="ignore", divide="ignore"):
        normal /= length[..., None]
        cosine = -(normal * ray).sum(axis=-1) / np.linalg.norm(ray, axis=-1)
    good = (inner > 0) & (around > 0).all(axis=0) & (np.abs(around - inner) < _EDGE * inner).all(axis=0) & (length > 0)
    good &= np.abs(cosine) > _GRAZING
    return inside[good], (normal * np.sign(cosine)[..., None])[good]


def _thinned(points: np.ndarray, normals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean point and normal of each voxel and side (a thin wall has two sides)."""
    kept = (points[:, 2] > LOW_M) & (points[:, 2] < HIGH_M)
    points, normals = points[kept], normals[kept]
    if not len(points):
        return np.zeros((0, 3), np.float32), np.zeros((0, 3), np.float32)
    cell = np.floor(points / VOXEL_M).astype(np.int64) + (1 << 19)
    side = np.abs(normals).argmax(axis=1)
    sign = (np.take_along_axis(normals, side[:, None], 1)[:, 0] > 0).astype(np.int64)
    key = (((cell[:, 0] << 20 | cell[:, 1]) << 20 | cell[:, 2]) << 3) | side << 1 | sign
    _, index, count = np.unique(key, return_inverse=True, return_counts=True)
    sums = np.stack([np.bincount(index, column) for column in (*points.T, *normals.T)], axis=1)
    mean, normal = sums[:, :3] / count[:, None], sums[:, 3:]
    return mean.astype(np.float32), (normal / np.linalg.norm(normal, axis=1, keepdims=True)).astype(np.float32)


def at(pose: Pose2, xyz: np.ndarray) -> np.ndarray:
    """Return points (n, 3) transformed by a pose on the floor."""
    turned = turn(pose.yaw, xyz)
    turned[:, :2] += np.array((pose.x, pose.y), turned.dtype)
    return turned


def turn(yaw: float, xyz: np.ndarray) -> np.ndarray:
    """Return vectors (n, 3) rotated about +z."""
    c, s = np.cos(yaw).astype(xyz.dtype), np.sin(yaw).astype(xyz.dtype)
    return np.stack((c * xyz[:, 0] - s * xyz[:, 1], s * xyz[:, 0] + c * xyz[:, 1], xyz[:, 2]), axis=1)
