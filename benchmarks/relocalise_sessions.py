"""Sessions of memory for the benchmark of relocalisation: a tour of a house, and a shorter look at it a week later."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import numpy as np

from eqa_nodes.core.memory import MemoryStore
from eqa_nodes.core.types.geometry import Pose2, camera_mount, compose
from eqa_nodes.core.types.robot import CameraModel, RobotModel
from eqa_nodes.core.types.views import Frame
from sim_bridge.house.generate import generate_house
from sim_bridge.house.rearrange import rearranged
from sim_bridge.house.simulator import HouseSimulator
from sim_bridge.house.walkable import floor_of
from sim_bridge.house.world import HouseWorld
from sim_bridge.simulator import EpisodeSetup

ROBOT = RobotModel(camera=CameraModel(160, 120, color=False))  # memory keeps 64 columns of depth
LOOKS, STRIDE_M = 8, 0.75  # views of a look round; distance between views of a drive
WEEK_NS = 7 * 24 * 3600 * 10**9
MOVED = 0.3


@lru_cache(maxsize=2)
def world_of(seed: int, moved: bool) -> HouseWorld:
    """Return the house of a seed, as it is or with things moved."""
    house = generate_house(seed)
    return HouseWorld(rearranged(house, seed, MOVED).house if moved else house)


def tour(place: HouseWorld, rng: np.random.Generator) -> list[Pose2]:
    """Return the poses of a robot that looks round in every room."""
    stops = _stops(place, rng)
    return _walk(place, [place.house.start[:2], *stops], len(stops) + 1)


def glance(place: HouseWorld, rng: np.random.Generator) -> list[Pose2]:
    """Return the poses of a robot that looks round, drives towards another room, and every other time looks round
    there."""
    stops = _stops(place, rng)
    a, b = rng.permutation(len(stops))[:2]
    return _walk(place, [stops[a], stops[b]], 1 + int(rng.integers(2)), longest_m=6.0)


def frames(place: HouseWorld, poses: list[Pose2], map_from_house: Pose2, begin_ns: int,
           noise: np.random.Generator | None = None) -> Iterator[Frame]:
    """Return what a robot sees at these poses of the house, in the frame of its new map."""
    scene = f"house:{place.house.seed}"
    simulator = HouseSimulator({scene: place})
    step = simulator.reset(EpisodeSetup(scene, start=poses[0], robot=ROBOT))
    by = map_from_house.transform()
    for pose in poses:
        step = simulator.place_robot(pose)
        begin_ns += 10**9
        seen = replace(step.frame, stamp_ns=begin_ns, labels=None, map_from_base=compose(by, step.frame.map_from_base))
        yield seen if noise is None else disturbed(seen, noise)


def disturbed(frame: Frame, rng: np.random.Generator) -> Frame:
    """Return a frame as a depth camera of a robot that localises itself to 2 cm and half a degree takes it.

    Depth is off by 1.2 mm and 0.2 % of its square (Nguyen et al., 3DIMPVT 2012), 5 % of the pixels have no return.
    """
    d = frame.depth_m
    sigma = 0.0012 + 0.0019 * (d - 0.4) ** 2
    noisy = np.where((d > 0) & (rng.random(d.shape) > 0.05), d + sigma * rng.standard_normal(d.shape), 0.0)
    off = Pose2(*rng.normal(0.0, 0.02, 2), float(rng.normal(0.0, math.radians(0.5))))
    return replace(frame, depth_m=np.maximum(noisy, 0.0).astype(np.float32),
                   map_from_base=compose(frame.map_from_base, off.transform()))


def changed(before: HouseWorld, after: HouseWorld, poses: list[Pose2]) -> float:
    """Return the share of the pixels of these views whose depth differs by more than 10 cm between two houses."""
    mount = camera_mount(ROBOT.camera.height_m, math.radians(ROBOT.camera.tilt_down_deg)).matrix()
    pairs = [[place.image(ROBOT.camera, pose.transform().matrix() @ mount).depth_m for place in (before, after)]
             for pose in poses[::6]]
    return float(np.mean([np.abs(a - b) > 0.1 for a, b in pairs]))


def remember(store: MemoryStore, name: str, seen: Iterator[Frame]) -> int:
    """Begin a session in a map of its own and remember what is seen; return how many views were kept."""
    store.reset(name, keep=True, map_name=name)
    return sum(store.take(frame, {}) is not None for frame in seen)


def memory_of(path: Path, name: str, place: HouseWorld, poses: list[Pose2], map_from_house: Pose2, begin_ns: int,
              noise: np.random.Generator | None = None) -> int:
    """Write a session into a file of memory; return how many views were kept."""
    store = MemoryStore(path)
    try:
        return remember(store, name, frames(place, poses, map_from_house, begin_ns, noise))
    finally:
        store.close()


def _stops(place: HouseWorld, rng: np.random.Generator) -> list[tuple[float, float]]:
    """Return a place in every room where the robot can stand and drive to: not the same ones with another generator."""
    floor = floor_of(place.house)
    free = floor.roam(0.26)
    found = []
    for room in place.house.rooms:
        cells = np.argwhere(free & (floor.room == room.id))
        cells = [c for c in (cells[rng.permutation(len(cells))[:40]]) if place.free(*floor.centre(*c), ROBOT)]
        if cells:
            found.append(max((floor.centre(*c) for c in cells[:4]),
                             key=lambda at: floor.clearance_m[floor.cell(*at)]))
    return found


def _walk(place: HouseWorld, stops: list[tuple[float, float]], rounds: int, longest_m: float = math.inf) -> list[Pose2]:
    """Return poses along the shortest paths between stops, looking round at the first `rounds` of them."""
    poses = _round(stops[0], 0.3)
    for number, (a, b) in enumerate(pairwise(stops), start=2):
        drive = [pose for pose in _along(place.shortest_path(a, b, ROBOT)) if place.free(pose.x, pose.y, ROBOT)]
        poses += drive[:max(1, int(longest_m / STRIDE_M)) if math.isfinite(longest_m) else None]
        if number <= rounds and drive:
            poses += _round((poses[-1].x, poses[-1].y), poses[-1].yaw)
    return poses


def _round(at: tuple[float, float], yaw: float) -> list[Pose2]:
    return [Pose2(at[0], at[1], yaw + i * 2 * math.pi / LOOKS) for i in range(LOOKS)]


def _along(path: list[tuple[float, float]]) -> Iterator[Pose2]:
    for (ax, ay), (bx, by) in pairwise(path):
        n = max(1, math.ceil(math.hypot(bx - ax, by - ay) / STRIDE_M))
        for i in range(n):
            t = (i + 0.5) / n
            yield Pose2(ax + t * (bx - ax), ay + t * (by - ay), math.atan2(by - ay, bx - ax))
