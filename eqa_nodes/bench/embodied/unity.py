"""Unity's axes (x right, y up, z forward, degrees clockwise) and the map frame's, for positions of task files.

Unity mirrors the x axis of imported GLB files, so positions in such scenes (side -1) are rotated by half a turn.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from eqa_nodes.core.types.geometry import wrap
from sim_bridge.registry import is_scan


def side_of(scene: str) -> int:
    """Return -1 for a scene with a file that Unity mirrors, else 1."""
    return -1 if is_scan(scene) else 1


def from_unity(xyz: Sequence[float], side: int) -> tuple[float, float, float]:
    """Convert a position, metres, to the map frame."""
    x, y, z = xyz
    return side * z, -side * x, y


def to_unity(xyz: Sequence[float], side: int) -> list[float]:
    """Convert a position of the map frame to Unity's axes, metres."""
    x, y, z = xyz
    return [-side * y, z, side * x]


def heading_from_unity(degrees: float, side: int) -> float:
    """Convert a rotation about Unity's up axis, degrees, to a heading in the map frame, radians."""
    return wrap(-math.radians(degrees) + (0.0 if side > 0 else math.pi))


def heading_to_unity(yaw: float, side: int) -> float:
    """Convert a heading in the map frame to a rotation about Unity's up axis, degrees."""
    return math.degrees(-yaw if side > 0 else wrap(math.pi - yaw))
