"""Finds the map frame of a recording whose world may be tilted: the floor defines gravity."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.errors import BadFrame, StorageError
from eqa_nodes.core.reconstruction.levelling import FLOOR, Ground, levelled, shrunk_camera, shrunk_depth
from eqa_nodes.core.types.views import Intrinsics, clean_depth

_LOOKED_AT = 24  # number of images used of a recording
_WIDTH, _RANGE_M = 160, 5.0  # width and depth range of the images in which the floor is searched
_LEANS_DEG, _OFF_M = 5.0, 0.3  # largest tilt and height error at which a world with z up and its floor at 0 is accepted

DepthView = tuple[np.ndarray, Intrinsics, np.ndarray]  # (H, W) metres, its camera, world_from_camera (4, 4)


class MapFrame(NamedTuple):
    """map_from_world: (4, 4), z up, floor at 0; note: how up was found, a sentence for users."""

    map_from_world: np.ndarray
    note: str


_UNCHECKED = MapFrame(np.eye(4), "not enough floor was seen to check that z is up: how far the map leans is unknown")


def find_map_frame(name: object, count: int, read: Callable[[int], DepthView], z_up: bool = False,
                   floor_at_0: bool = True) -> MapFrame:
    """Return the map frame of `count` images: levelled by their floor, with its origin on it below the first camera.

    z_up: the world claims to have z up and, with floor_at_0, its floor at 0; it is kept unless the floor contradicts
    it. Otherwise, if no floor is seen, up is the mean camera's. Raises StorageError when no image is usable.
    """
    views, poses, reason = [], [], "there is none"
    for index in range(0, count, math.ceil(count / _LOOKED_AT) or 1):
        try:
            depth_m, k, pose = read(index)
        except BadFrame as error:
            reason = str(error)
            continue
        factor = max(1, round(k.width / _WIDTH))
        views.append((shrunk_depth(clean_depth(depth_m, _RANGE_M)[0], factor), shrunk_camera(k, factor)))
        poses.append(pose)
    if not views and z_up:
        return _UNCHECKED
    if not views:
        raise StorageError(f"{name}: no image can be used to find the floor: {reason}")
    ground = levelled(views, poses)
    return _believed(ground, poses[0], floor_at_0) if z_up else MapFrame(ground.map_from_common, _told(ground))


def _believed(ground: Ground, first: np.ndarray, floor_at_0: bool) -> MapFrame:
    """Return the world itself as the map frame unless the detected floor contradicts it."""
    x, y, z, height = ground.map_from_common[2]
    leans = math.degrees(math.acos(min(1.0, z)))
    off = abs(float(x * first[0, 3] + y * first[1, 3] + height)) if floor_at_0 else 0.0
    if not ground.sure:
        return _UNCHECKED
    if leans <= _LEANS_DEG and off <= _OFF_M:
        return MapFrame(np.eye(4), f"z is up: the floor leans by {leans:.1f} degrees to it")
    lies = f", and the floor is {off:.2f} m from its 0" * floor_at_0
    return MapFrame(ground.map_from_common, f"{_told(ground)}; the recorded z leans by {leans:.1f} degrees{lies}")


def _told(ground: Ground) -> str:
    if ground.how != FLOOR:
        return "no floor was seen: up is that of the mean camera, and how far the map leans is unknown"
    walls = "" if math.isnan(ground.walls_deg) else f", walls lean by {ground.walls_deg:.1f} degrees (median)"
    return (f"levelled by the floor: {ground.points} points, rms {ground.rms_m * 100:.1f} cm{walls}"
            f"{'' if ground.sure else '; not sure'}")
