"""Poses and transforms. ROS axes (REP 103): x forward, y left, z up; metres, radians.

Camera frames are optical: x right, y down, z forward. A transform `a_from_b` maps points of frame b into frame a.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from eqa_nodes.core.errors import BadPose

Point: TypeAlias = tuple[float, ...]  # x, y and, with several floors, the height of the floor; metres

# camera_link (x forward, z up) -> camera_optical (z forward, y down) as a quaternion x, y, z, w.
LINK_FROM_OPTICAL_XYZW = (-0.5, 0.5, -0.5, 0.5)
_ROUNDING, _NEARLY_UNIT = 1e-6, 0.01  # deviations of a quaternion's squared norm from 1; the latter is tf2's limit
_HABITAT_FROM_MAP_XYZW = (-0.5, 0.5, 0.5, 0.5)
_OPTICAL_FROM_HABITAT_XYZW = (1.0, 0.0, 0.0, 0.0)  # camera axes: half a turn about x


class Transform(NamedTuple):
    """A rigid transform: translation in metres, unit quaternion (x, y, z, w).

    The quaternion is the stored form, in process and on the wire, so that both compute identical matrices.
    """

    xyz: tuple[float, float, float]
    xyzw: tuple[float, float, float, float]

    def matrix(self) -> np.ndarray:
        """Return the (4, 4) float64 homogeneous matrix. Raises BadPose if not finite or not a rotation."""
        x, y, z, w = self.xyzw
        norm = math.sqrt(x * x + y * y + z * z + w * w)
        if not all(map(math.isfinite, (*self.xyz, norm))) or abs(norm - 1.0) > 1e-3:
            raise BadPose(f"transform {self} is not a finite translation with a unit quaternion, whose norm is "
                          f"{norm:.4g}")
        m = np.eye(4)
        m[:3, :3] = [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
        m[:3, 3] = self.xyz
        return m

    @staticmethod
    def identity() -> Transform:
        """Return the identity transform."""
        return Transform((0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0))


class LocalisedPose(NamedTuple):
    """The robot's estimate of its pose (REP 105). map_from_odom: None if another node publishes it."""

    map_from_odom: Transform | None
    odom_from_base: Transform


class Pose2(NamedTuple):
    """A pose on the floor in the map frame: metres and radians (counter-clockwise, 0 = +x)."""

    x: float
    y: float
    yaw: float

    def transform(self, z: float = 0.0) -> Transform:
        """Return the pose as map_from_base at height `z`, metres."""
        return Transform((self.x, self.y, z), (0.0, 0.0, math.sin(self.yaw / 2), math.cos(self.yaw / 2)))

    def distance(self, other: Pose2) -> float:
        """Return the straight-line distance to `other` in metres."""
        return math.hypot(self.x - other.x, self.y - other.y)


def pose2_of(map_from_base: Transform) -> Pose2:
    """Return the floor pose of a transform (its heading about +z)."""
    x, y, z, w = map_from_base.xyzw
    yaw = math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
    return Pose2(map_from_base.xyz[0], map_from_base.xyz[1], yaw)


def wrap(angle: float) -> float:
    """Return an angle wrapped to (-pi, pi]."""
    wrapped = math.remainder(angle, 2 * math.pi)
    return math.pi if wrapped == -math.pi else wrapped


def camera_mount(height_m: float, tilt_down_rad: float = 0.0, forward_m: float = 0.0) -> Transform:
    """Return base_from_camera (optical axes) of a camera above the base, tilted down by `tilt_down_rad`."""
    half = tilt_down_rad / 2
    return Transform((forward_m, 0.0, height_m), quat_multiply((0.0, math.sin(half), 0.0, math.cos(half)),
                                                               LINK_FROM_OPTICAL_XYZW))


def head_of(base_from_camera: Transform) -> tuple[Transform, Transform, Transform]:
    """Return base_from_mount, mount_from_link and link_from_optical of a camera on a tilting head.

    The first and the last are fixed, the second one is a rotation. Their product is base_from_camera: exactly for a
    `camera_mount`, otherwise within rounding errors.
    """
    x, y, z, w = LINK_FROM_OPTICAL_XYZW
    turned = quat_multiply(base_from_camera.xyzw, (-x, -y, -z, w))
    half = math.radians(round(math.degrees(2 * math.atan2(turned[1], turned[3])), 6)) / 2
    tilt = (0.0, math.sin(half), 0.0, math.cos(half))
    if quat_multiply(tilt, LINK_FROM_OPTICAL_XYZW) != base_from_camera.xyzw:
        tilt = turned
    still = Transform.identity()
    return still._replace(xyz=base_from_camera.xyz), still._replace(xyzw=tilt), still._replace(
        xyzw=LINK_FROM_OPTICAL_XYZW)


def normalised(transform: Transform) -> Transform:
    """Return a transform with a unit quaternion if the squared norm is within 1 % of 1, as tf2 accepts it.

    A quaternion that is unit up to rounding is returned unchanged, and so is one that is farther off.
    """
    squared = sum(value * value for value in transform.xyzw)
    if not _ROUNDING < abs(squared - 1.0) <= _NEARLY_UNIT:  # false for NaN
        return transform
    x, y, z, w = (value / math.sqrt(squared) for value in transform.xyzw)
    return transform._replace(xyzw=(x, y, z, w))


def compose(a_from_b: Transform, b_from_c: Transform) -> Transform:
    """Return a_from_c, the product of two transforms."""
    xyz = a_from_b.matrix() @ np.array([*b_from_c.xyz, 1.0])
    return Transform((float(xyz[0]), float(xyz[1]), float(xyz[2])), quat_multiply(a_from_b.xyzw, b_from_c.xyzw))


def inverse(a_from_b: Transform) -> Transform:
    """Return b_from_a, the inverse of a transform."""
    x, y, z, w = a_from_b.xyzw
    turned = Transform((0.0, 0.0, 0.0), (-x, -y, -z, w))
    back = turned.matrix()[:3, :3] @ np.array(a_from_b.xyz)
    return turned._replace(xyz=(-float(back[0]), -float(back[1]), -float(back[2])))


def quat_multiply(a: tuple[float, float, float, float],
                  b: tuple[float, float, float, float]) -> tuple[float, float, float, float]:
    """Return the Hamilton product of two quaternions (x, y, z, w)."""
    ax, ay, az, aw = a
    bx, by, bz, bw = b
    return (aw * bx + ax * bw + ay * bz - az * by, aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw, aw * bw - ax * bx - ay * by - az * bz)


def position_from_habitat(xyz: Sequence[float]) -> tuple[float, float, float]:
    """Return the map position of a Habitat position. Raises BadPose if it is not three finite numbers."""
    if len(xyz) != 3 or not all(math.isfinite(v) for v in xyz):
        raise BadPose(f"a Habitat position is three finite numbers, got {list(xyz)}")
    x, y, z = (float(v) for v in xyz)
    return (-z, -x, y)


def yaw_from_habitat(wxyz: Sequence[float]) -> float:
    """Return the map heading of a Habitat rotation about its up axis.

    Raises BadPose if it is not a unit quaternion (w, x, y, z) or looks straight up or down.
    """
    if len(wxyz) != 4 or not all(math.isfinite(v) for v in wxyz) or abs(math.hypot(*wxyz) - 1) > 1e-3:
        raise BadPose(f"a Habitat rotation is a unit quaternion w, x, y, z, got {list(wxyz)}")
    w, x, y, z = (float(v) for v in wxyz)
    forward_x, forward_z = -2 * (x * z + w * y), -(1 - 2 * (x * x + y * y))  # the rotated (0, 0, -1)
    if math.hypot(forward_x, forward_z) < 1e-6:
        raise BadPose(f"the Habitat rotation {list(wxyz)} looks straight up or down: it has no heading")
    return wrap(math.atan2(-forward_x, -forward_z))


def pose_from_habitat(xyz: Sequence[float], wxyz: Sequence[float]) -> Pose2:
    """Return the floor pose in the map frame of a Habitat position and rotation. Raises BadPose."""
    x, y, _ = position_from_habitat(xyz)
    return Pose2(x, y, yaw_from_habitat(wxyz))


def transform_from_habitat(xyz: Sequence[float], wxyz: Sequence[float]) -> Transform:
    """Return map_from_base of a Habitat position and rotation (w, x, y, z), which may be tilted. Raises BadPose.

    Habitat's agents look along -z with y up, bases along x with z up.
    """
    if len(wxyz) != 4 or not all(math.isfinite(v) for v in wxyz) or abs(math.hypot(*wxyz) - 1) > 1e-3:
        raise BadPose(f"a Habitat rotation is a unit quaternion w, x, y, z, got {list(wxyz)}")
    w, x, y, z = (float(v) for v in wxyz)
    return Transform(position_from_habitat(xyz), (-z, -x, y, w))


def position_to_habitat(xyz: Sequence[float]) -> tuple[float, float, float]:
    """Return the Habitat position of a map position (x, y, z), metres; the inverse of position_from_habitat."""
    x, y, z = xyz
    return (-y, z, -x)


def rotation_to_habitat(yaw: float) -> tuple[float, float, float, float]:
    """Return the Habitat rotation (w, x, y, z) of a map heading; the inverse of yaw_from_habitat."""
    return (math.cos(yaw / 2), 0.0, math.sin(yaw / 2), 0.0)


def camera_to_habitat(
        map_from_camera: Transform) -> tuple[tuple[float, float, float], tuple[float, float, float, float]]:
    """Return the Habitat position and rotation (x, y, z, w) of a camera with optical axes in the map.

    Habitat's cameras look along -z with y up.
    """
    turned = quat_multiply(quat_multiply(_HABITAT_FROM_MAP_XYZW, map_from_camera.xyzw), _OPTICAL_FROM_HABITAT_XYZW)
    return position_to_habitat(map_from_camera.xyz), turned
