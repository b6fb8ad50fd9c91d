"""Cost of one RGB-D frame in the map for several house sizes, compared with a dense volume processed as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from benchmarks.timing import Figure, median_ms
from eqa_nodes.core.mapping.config import HEAD_ROOM_M, MapperConfig
from eqa_nodes.core.mapping.mapper import Mapper
from eqa_nodes.core.types.floor import Action
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.robot import RobotModel
from eqa_nodes.core.types.views import Frame
from sim_bridge.simulator import EpisodeSetup
from sim_bridge.toy import CELL_M, GridWorld

SIZES_M = (10, 20, 40)
FRAMES = 24
BASELINE_FRAMES = 5


def figures() -> list[Figure]:
    """Return the cost of a frame for each house size."""
    found = []
    for size_m in SIZES_M:
        frames = tour(size_m)
        ours = median_ms(partial(_next, iter(frames), grown(size_m, frames[0]).integrate), len(frames) - 1, 1)
        baseline = median_ms(partial(_next, iter(frames), DenseVolume(size_m).integrate), BASELINE_FRAMES - 1, 1)
        found.append(Figure(f"map one 640x480 frame, house {size_m} m", round(ours, 2),
                            f"dense numpy volume, {baseline:.1f} ms", round(ours / baseline, 3),
                            "occupancy, explored floor and 2D projection at 0.1 m voxels"))
    return found


def _next(frames: Iterator[Frame], step: Callable[[Frame], None]) -> None:
    step(next(frames))


def tour(size_m: float) -> list[Frame]:
    """Return the frames of a robot turning and driving in the middle of a walled hall with boxes every 4 m."""
    n = round(size_m / CELL_M)
    marks = [["#" if 0 in (iy, ix) or n - 1 in (iy, ix) else ("T" if iy % 8 == ix % 8 == 4 else ".") for ix in range(n)]
             for iy in range(n)]
    marks[n // 2][n // 2] = ">"
    world = GridWorld({"hall": ["".join(row) for row in marks]})
    actions = [Action.TURN_LEFT if i % 3 else Action.MOVE_FORWARD for i in range(FRAMES)]
    return [world.reset(EpisodeSetup("hall")).frame, *(world.act(action).frame for action in actions)]


def grown(size_m: float, frame: Frame) -> Mapper:
    """Return a mapper whose map already spans the house, by a view without depth from each corner."""
    mapper = Mapper()
    blind = replace(frame, depth_m=np.zeros_like(frame.depth_m))
    for i, (x, y) in enumerate(((0.5, 0.5), (size_m - 0.5, 0.5), (size_m - 0.5, size_m - 0.5), (0.5, size_m - 0.5))):
        mapper.integrate(replace(blind, stamp_ns=i, map_from_base=Pose2(x, y, 0.0).transform()))
    return mapper


class DenseVolume:
    """The usual method: for every frame, all voxels are transformed into the camera, then projected to 2D."""

    def __init__(self, size_m: float) -> None:
        c = self.config = MapperConfig()
        n, layers = round(size_m / c.voxel_m), round((c.ceiling_m + c.floor_below_m) / c.voxel_m)
        axes = [(np.arange(k, dtype=np.float32) + np.float32(0.5)) * np.float32(c.voxel_m) for k in (n, n, layers)]
        x, y, z = np.meshgrid(*axes, indexing="ij")
        self.points = np.stack([x.ravel(), y.ravel(), z.ravel() - np.float32(c.floor_below_m)])
        self.shape = (n, n, layers)
        self.distance = np.ones(self.points.shape[1], np.float32)
        self.weight = np.zeros(self.points.shape[1], np.float32)
        self.explored = np.zeros(self.points.shape[1], bool)
        self.cells = np.full((n, n), -1, np.int8)

    def integrate(self, frame: Frame) -> None:
        """Integrate one frame into all voxels by truncated signed distance."""
        c, k = self.config, frame.intrinsics
        camera_from_map = np.linalg.inv(frame.map_from_camera()).astype(np.float32)
        x, y, z = camera_from_map[:3, :3] @ self.points + camera_from_map[:3, 3:]
        z[z <= 0.05] = np.nan
        u, v = k.fx * x / z + np.float32(k.cx), k.fy * y / z + np.float32(k.cy)
        seen = np.flatnonzero((u >= 0) & (v >= 0) & (u < k.width) & (v < k.height) & (z < c.range_m))
        depth = frame.depth_m[v[seen].astype(int), u[seen].astype(int)]
        gap = depth - z[seen]
        hit = (depth > 0) & (gap > -5 * c.voxel_m)
        seen, gap = seen[hit], np.minimum(gap[hit] / (5 * c.voxel_m), 1)
        self.distance[seen] = (self.distance[seen] * self.weight[seen] + gap) / (self.weight[seen] + 1)
        self.weight[seen] += 1
        self.explored[seen[np.abs(u[seen] - k.cx) < 0.25 * k.width]] = True
        band = np.s_[:, :, round((c.obstacle_min_m + c.floor_below_m) / c.voxel_m):
                     round((RobotModel().height_m + HEAD_ROOM_M + c.floor_below_m) / c.voxel_m)]
        known, solid = (self.weight > 0).reshape(self.shape)[band], (self.distance < 0.2).reshape(self.shape)[band]
        self.cells = np.select([(known & solid).any(axis=2), known.any(axis=2)], [100, 0], -1).astype(np.int8)
