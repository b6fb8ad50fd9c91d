"""Tours of a person with a hand-held depth camera through a built-in house, with the truth of each pose.

The camera moves in six degrees of freedom: it walks along shortest paths with the bob and sway of steps, pitches and
rolls, and looks round in each room. Depth has the noise of a structured-light camera: axial noise that grows with the
square of the distance (Nguyen, Izadi and Lovell 2012, equation 4), steps of disparity, and no return at edges.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.ndimage import gaussian_filter1d, maximum_filter, minimum_filter
from scipy.spatial.transform import Rotation

from eqa_nodes.core.types.geometry import LINK_FROM_OPTICAL_XYZW
from eqa_nodes.core.types.robot import CameraModel, RobotModel
from sim_bridge.house.world import HouseWorld, world

BODY = RobotModel(radius_m=0.28, height_m=1.6)  # what has to fit through: elbows included
_DENSE_HZ = 100
_STEP_HZ = 1.8  # steps of a person a second
_DISPARITY_PX = 1 / 8  # step of a Kinect's disparity
_BASELINE_PX_M = 580.0 * 0.075  # focal length times baseline of a Kinect
_EDGE = 0.05  # of the distance: a larger jump between neighbours is an edge


class Shot(NamedTuple):
    """One moment of a tour. rgb: (H, W, 3) uint8; depth_m: (H, W) float32; map_from_camera: (4, 4), the truth."""

    stamp_ns: int
    rgb: np.ndarray
    depth_m: np.ndarray
    map_from_camera: np.ndarray


@dataclass(frozen=True)
class Handheld:
    """How a tour is made. rooms: fewest that it visits; speeds in m/s and degrees a second; nearest to farthest_m:
    what the depth camera measures."""

    rooms: int = 3
    metres: float = 20.0
    rate_hz: float = 10.0
    walk_m_s: float = 0.8
    turn_deg_s: float = 45.0
    look_deg: float = 160.0
    camera: CameraModel = CameraModel(320, 240, 70.0)
    nearest_m: float = 0.3
    farthest_m: float = 6.0
    noisy: bool = True


class HandheldTour:
    """A tour through `house:seed`; rooms: how many it passes; metres: its length. Iteration renders its shots."""

    def __init__(self, seed: int, how: Handheld = Handheld()) -> None:
        """Raises ValueError for a house without as many rooms that can be reached."""
        self._place, self._how, self._seed, self.camera = world(seed), how, seed, how.camera
        self.poses = _poses(*_timeline(_stops(self._place, how), how), how, np.random.default_rng(seed))
        rooms = (self._place.house.room_at(p[0, 3], p[1, 3]) for p in self.poses)
        self.rooms = len({room.id for room in rooms if room})
        self.metres = float(np.linalg.norm(np.diff(self.poses[:, :3, 3], axis=0), axis=1).sum())

    def __len__(self) -> int:
        return len(self.poses)

    def __iter__(self) -> Iterator[Shot]:
        rng, period_ns = np.random.default_rng(self._seed), 1e9 / self._how.rate_hz
        for i, pose in enumerate(self.poses):
            image = self._place.image(self._how.camera, pose)
            rgb, depth_m = image.rgb, image.depth_m
            if self._how.noisy:
                rgb, depth_m = _noisy_colour(rgb, rng), noisy_depth(depth_m, rng, self._how)
            yield Shot(round((i + 1) * period_ns), rgb, depth_m, pose)


def noisy_depth(depth_m: np.ndarray, rng: np.random.Generator, how: Handheld = Handheld()) -> np.ndarray:
    """Return depth (H, W) float32, metres, 0 = no return, as a depth camera measures it."""
    sigma_m = 0.0012 + 0.0019 * (depth_m - 0.4) ** 2
    rough = depth_m + sigma_m * rng.standard_normal(depth_m.shape)
    disparity = np.rint(_BASELINE_PX_M / np.maximum(rough, 0.1) / _DISPARITY_PX) * _DISPARITY_PX
    measured = _BASELINE_PX_M / np.maximum(disparity, _DISPARITY_PX)
    edge = maximum_filter(depth_m, 3) - minimum_filter(depth_m, 3) > _EDGE * np.maximum(depth_m, 0.1)
    seen = (depth_m >= how.nearest_m) & (depth_m <= how.farthest_m) & ~(edge & (rng.random(depth_m.shape) < 0.7))
    seen &= rng.random(depth_m.shape) > 0.01
    return np.where(seen, measured, 0.0).astype(np.float32)


def _noisy_colour(rgb: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.clip(rgb + 3.0 * rng.standard_normal(rgb.shape, np.float32), 0, 255).astype(np.uint8)


def _stops(place: HouseWorld, how: Handheld) -> list[list[tuple[float, float]]]:
    """Return paths from room to room, back to the first, at least as long as wanted."""
    space = place.space(BODY)
    middles = [((r.x0 + r.x1) / 2, (r.y0 + r.y1) / 2) for r in sorted(place.house.rooms, key=lambda r: -r.area_m2)]
    near = [space.nearest_free(*middle, BODY.radius_m) for middle in middles]
    spots = [spot for spot in near if spot is not None]
    spots = [spot for spot in spots if spot == spots[0] or place.shortest_path(spots[0], spot, BODY)]
    if len(spots) < how.rooms:
        raise ValueError(f"{len(spots)} rooms can be reached, {how.rooms} were wanted")
    paths, metres, at, here = list[list[tuple[float, float]]](), 0.0, 1, spots[0]
    while metres + _length(place.shortest_path(here, spots[0], BODY)) < how.metres or len(paths) < how.rooms - 1:
        path = place.shortest_path(here, spots[at % len(spots)], BODY)
        paths.append(path)
        metres, here, at = metres + _length(path), spots[at % len(spots)], at + 1
    return paths if here == spots[0] else [*paths, place.shortest_path(here, spots[0], BODY)]


def _length(path: Sequence[tuple[float, float]]) -> float:
    return sum(math.dist(a, b) for a, b in pairwise(path))


def _timeline(paths: list[list[tuple[float, float]]], how: Handheld) -> tuple[np.ndarray, np.ndarray]:
    """Return x, y, yaw (n, 3) at _DENSE_HZ before smoothing, and (n,) 1 where the person walks, else 0."""
    knots, walking, sign = list[np.ndarray](), list[np.ndarray](), 1.0
    (x, y), yaw = paths[0][0], 0.0

    def turn(by_rad: float) -> None:
        nonlocal yaw
        count = max(2, round(abs(math.degrees(by_rad)) / how.turn_deg_s * _DENSE_HZ))
        knots.append(np.stack([np.full(count, x), np.full(count, y), np.linspace(yaw, yaw + by_rad, count)], 1))
        walking.append(np.zeros(count))
        yaw += by_rad

    for path in paths:
        turn(sign * math.radians(how.look_deg))
        sign = -sign
        for a, b in pairwise(path):
            turn(math.remainder(math.atan2(b[1] - a[1], b[0] - a[0]) - yaw, math.tau))
            count = max(2, round(math.dist(a, b) / how.walk_m_s * _DENSE_HZ))
            knots.append(np.stack([np.linspace(a[0], b[0], count), np.linspace(a[1], b[1], count),
                                   np.full(count, yaw)], 1))
            walking.append(np.ones(count))
            x, y = b
    return np.concatenate(knots), np.concatenate(walking)


def _poses(way: np.ndarray, walking: np.ndarray, how: Handheld, rng: np.random.Generator) -> np.ndarray:
    """Return map_from_camera (n, 4, 4), optical axes, at the camera's rate."""
    way = gaussian_filter1d(way, 0.35 * _DENSE_HZ, axis=0, mode="nearest")
    t, step = np.arange(len(way)) / _DENSE_HZ, gaussian_filter1d(walking, 0.3 * _DENSE_HZ)
    bob, sway = np.sin(math.tau * _STEP_HZ * t), np.sin(math.pi * _STEP_HZ * t)

    def drift(sigma: float, seconds: float) -> np.ndarray:
        white = gaussian_filter1d(rng.standard_normal(len(t)), seconds * _DENSE_HZ, mode="wrap")
        return sigma * white / white.std()

    side = np.stack([-np.sin(way[:, 2]), np.cos(way[:, 2])], 1) * (0.02 * step * sway)[:, None]
    z = np.clip(1.4 + drift(0.07, 3.0), 1.22, 1.58) + 0.02 * step * bob
    yaw = way[:, 2] + np.radians(1.0 * step * sway) + np.radians(drift(1.5, 0.5))
    pitch = np.radians(10.0 + drift(5.0, 2.0) + 0.7 * step * bob)  # positive looks down
    roll = np.radians(drift(2.5, 1.5) + 1.0 * step * sway)
    link = Rotation.from_euler("ZYX", np.stack([yaw, pitch, roll], 1))
    poses = np.tile(np.eye(4), (len(t), 1, 1))
    poses[:, :3, :3] = (link * Rotation.from_quat(LINK_FROM_OPTICAL_XYZW)).as_matrix()
    poses[:, :2, 3], poses[:, 2, 3] = way[:, :2] + side, z
    return poses[np.round(np.arange(0, len(t), _DENSE_HZ / how.rate_hz)).astype(int).clip(max=len(t) - 1)]
