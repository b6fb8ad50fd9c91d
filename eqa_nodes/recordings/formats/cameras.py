"""Converts recorded camera matrices to intrinsics and transforms, and locates the base below the camera."""

from __future__ import annotations

import math

import numpy as np

from eqa_nodes.core.errors import BadFrame
from eqa_nodes.core.types.geometry import Pose2, Transform
from eqa_nodes.core.types.views import Intrinsics

# Cameras of OpenGL, Habitat and ARKit: x right, y up, z back. Their worlds: y up, x to the right of -z.
GL_FROM_OPTICAL = np.diag([1.0, -1.0, -1.0, 1.0])
MAP_FROM_GL = np.array([[0.0, 0, -1, 0], [-1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1]])
LOST_POSE = "the pose was lost"
FARTHEST_M = 1e6  # limit of positions in a recording; products of larger numbers overflow
_LOOSE = 1e-3  # tolerance of orthonormality in recorded rotations: files round to six digits
_FOCAL = (0.05, 50.0)  # plausible focal lengths, in image widths


def rigid(matrix: np.ndarray, what: object) -> np.ndarray:
    """Return the (4, 4) matrix if it is a rigid transform. Raises BadFrame, with LOST_POSE if it is not finite."""
    if not np.isfinite(matrix).all():
        raise BadFrame(LOST_POSE)
    r = matrix[:3, :3]
    if (np.abs(matrix).max() > FARTHEST_M or not np.allclose(r @ r.T, np.eye(3), atol=_LOOSE) or np.linalg.det(r) < 0
            or not np.allclose(matrix[3], (0, 0, 0, 1))):
        raise BadFrame(f"{what} is not a rigid transform")
    return matrix


def transform_of_matrix(matrix: np.ndarray) -> Transform:
    """Return the transform of a rigid (4, 4) matrix."""
    from scipy.spatial.transform import Rotation  # takes 0.1 s, which every start of eqa ask would pay

    x, y, z = matrix[:3, 3].tolist()
    qx, qy, qz, qw = Rotation.from_matrix(matrix[:3, :3]).as_quat().tolist()
    return Transform((x, y, z), (qx, qy, qz, qw))


def base_below(map_from_camera: np.ndarray, floor_z: float) -> Transform:
    """Return map_from_base of a base on the floor below the camera, with the camera's heading.

    map_from_camera: (4, 4), optical axes; floor_z: metres, map frame.
    """
    x, y = map_from_camera[:2, 3].tolist()
    return Pose2(x, y, math.atan2(map_from_camera[1, 2], map_from_camera[0, 2])).transform(floor_z)


def mount(map_from_base: Transform, map_from_camera: np.ndarray) -> Transform:
    """Return base_from_camera. Raises BadPose when map_from_base is not finite and rigid."""
    return transform_of_matrix(np.linalg.inv(map_from_base.matrix()) @ map_from_camera)


def pinhole(matrix: np.ndarray, shape: tuple[int, ...], centre: float) -> Intrinsics:
    """Return the intrinsics of a (3, 3) or (4, 4) camera matrix.

    shape: shape of the image, height and width first; centre: position of the first pixel's centre in the matrix, 0.0
    or 0.5. Raises BadFrame when it is not a camera matrix or its principal point lies outside the image (the image was
    resized after the calibration).
    """
    height, width = shape[:2]
    fx, fy, cx, cy = (float(matrix[i]) for i in ((0, 0), (1, 1), (0, 2), (1, 2)))
    k = Intrinsics(width, height, fx, fy, cx + 0.5 - centre, cy + 0.5 - centre)
    if not (all(_FOCAL[0] <= f / width <= _FOCAL[1] for f in (fx, fy))  # false for values that are not finite
            and 0 < k.cx < width and 0 < k.cy < height):
        raise BadFrame(f"camera matrix with focal lengths {fx:g}, {fy:g} and principal point {cx:g}, {cy:g} does not "
                       f"belong to an image of {width}x{height}")
    return k


def camera_pose(row: np.ndarray) -> np.ndarray | None:
    """Return the (4, 4) pose of x, y, z and a quaternion x, y, z, w of any length, None if it was lost."""
    if not np.isfinite(row).all() or not np.any(row[3:]):
        return None
    from scipy.spatial.transform import Rotation

    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = Rotation.from_quat(row[3:]).as_matrix(), row[:3]
    return pose


def heights(depth_m: np.ndarray, k: Intrinsics, map_from_camera: np.ndarray) -> np.ndarray:
    """Return the z of each point of a depth image, metres, in the map or another world with z up."""
    v, u = np.nonzero(depth_m)
    z, (x, y, ahead, above) = depth_m[v, u].astype(np.float64), map_from_camera[2]
    return np.asarray((x * (u + 0.5 - k.cx) / k.fx + y * (v + 0.5 - k.cy) / k.fy + ahead) * z + above)


def onto_color(depth: np.ndarray, depth_k: Intrinsics, color_k: Intrinsics) -> np.ndarray:
    """Return the nearest depth measurement for each pixel of the colour camera, 0 outside the depth camera's view.

    depth: (H, W) of any type. Both cameras are assumed to be at the same place.
    """
    if depth_k == color_k:
        return depth
    u = _matching(color_k.width, color_k.fx, color_k.cx, depth_k.fx, depth_k.cx)
    v = _matching(color_k.height, color_k.fy, color_k.cy, depth_k.fy, depth_k.cy)
    column, row = (np.clip(p, 0, n - 1).astype(np.intp) for p, n in ((u, depth_k.width), (v, depth_k.height)))
    seen = depth.take(row, axis=0).take(column, axis=1)
    seen[(v < 0) | (v >= depth_k.height)] = 0
    seen[:, (u < 0) | (u >= depth_k.width)] = 0
    return seen


def _matching(size: int, f: float, c: float, other_f: float, other_c: float) -> np.ndarray:
    """Return the pixel of the other camera on the ray of each pixel centre, along one axis."""
    return np.floor((np.arange(size) + 0.5 - c) / f * other_f + other_c)
