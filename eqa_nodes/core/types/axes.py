"""Habitat's world axes (x right, y up, -z forward) -> the map frame (x forward, y left, z up). Metres, radians."""

from __future__ import annotations

import math
from collections.abc import Sequence

from eqa_nodes.core.errors import BadPose
from eqa_nodes.core.types.geometry import Pose2, Transform, quat_multiply, wrap

_HABITAT_FROM_MAP_XYZW = (-0.5, 0.5, 0.5, 0.5)
_OPTICAL_FROM_HABITAT_XYZW = (1.0, 0.0, 0.0, 0.0)  # of a camera: half a turn about x


def position_from_habitat(xyz: Sequence[float]) -> tuple[float, float, float]:
    """Return the map position of a Habitat position. Raises BadPose when it is not three finite numbers."""
    if len(xyz) != 3 or not all(math.isfinite(v) for v in xyz):
        raise BadPose(f"a Habitat position is three finite numbers, got {list(xyz)}")
    x, y, z = (float(v) for v in xyz)
    return (-z, -x, y)


def yaw_from_habitat(wxyz: Sequence[float]) -> float:
    """Return the map heading of a Habitat rotation about its up axis.

    Raises BadPose when it is not a unit quaternion (w, x, y, z), or looks straight up or down.
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
    """Return map_from_base of a Habitat position and rotation (w, x, y, z), tilted ones too. Raises BadPose.

    Habitat's agents look along -z with y up, bases along x with z up.
    """
    if len(wxyz) != 4 or not all(math.isfinite(v) for v in wxyz) or abs(math.hypot(*wxyz) - 1) > 1e-3:
        raise BadPose(f"a Habitat rotation is a unit quaternion w, x, y, z, got {list(wxyz)}")
    w, x, y, z = (float(v) for v in wxyz)
    return Transform(position_from_habitat(xyz), (-z, -x, y, w))


def position_to_habitat(xyz: Sequence[float]) -> tuple[float, float, float]:
    """Return the Habitat position of a map position (x, y, z), metres: the way back of position_from_habitat."""
    x, y, z = xyz
    return (-y, z, -x)


def rotation_to_habitat(yaw: float) -> tuple[float, float, float, float]:
    """Return the Habitat rotation (w, x, y, z) of a map heading: the way back of yaw_from_habitat."""
    return (math.cos(yaw / 2), 0.0, math.sin(yaw / 2), 0.0)


def camera_to_habitat(
        map_from_camera: Transform) -> tuple[tuple[float, float, float], tuple[float, float, float, float]]:
    """Return the Habitat position and rotation (x, y, z, w) of a camera with optical axes in the map.

    Habitat's cameras look along -z with y up.
    """
    turned = quat_multiply(quat_multiply(_HABITAT_FROM_MAP_XYZW, map_from_camera.xyzw), _OPTICAL_FROM_HABITAT_XYZW)
    return position_to_habitat(map_from_camera.xyz), turned
