"""Cost of a camera frame of the built-in house, compared with its ray cast alone, and of houses never built before."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

import numpy as np

from benchmarks.timing import Figure, median_ms, times_ms
from eqa_nodes.core.types.floor import Action
from eqa_nodes.core.types.robot import CameraModel, RobotModel
from sim_bridge.house.render import for_bands, optical_rays
from sim_bridge.house.simulator import HouseSimulator
from sim_bridge.house.world import world
from sim_bridge.rays import BAND_ROWS
from sim_bridge.simulator import EpisodeSetup

FRAMES, SEED = 15, 3
SIZES = ((640, 480), (1920, 1080))
UNBUILT = range(1991, 1996)  # houses that no other benchmark has: one that was built is kept


def figures() -> list[Figure]:
    """Return the cost of a frame of each size, and of a scene."""
    return [*(_frame(*size) for size in SIZES), *_scenes()]


def _frame(width: int, height: int) -> Figure:
    simulator, robot = HouseSimulator(), RobotModel(camera=CameraModel(width, height))
    frame = simulator.reset(EpisodeSetup(f"house:{SEED}", robot=robot)).frame
    rays = world(SEED).rays
    optical = frame.map_from_camera().astype(np.float32)
    directions = optical_rays(robot.camera.intrinsics) @ optical[:3, :3].T
    origins = np.tile(optical[:3, 3], (len(directions), 1))

    def band(part: slice) -> None:
        rays.hits(origins[part], directions[part], coherent=True)

    cast = median_ms(lambda: for_bands(band, len(origins), BAND_ROWS * width), FRAMES, 1)
    act = median_ms(lambda: simulator.act(Action.TURN_LEFT), FRAMES, 1)
    return Figure(f"house frame {width}x{height}: RGB, depth and labels", round(act, 1),
                  f"Embree cast of the same rays in packets, {cast:.1f} ms", round(act / cast, 2),
                  f"{1e3 / act:.1f} frames/s, {len(world(SEED).mesh.corners)} quads")


def _scenes() -> Iterator[Figure]:
    """Build houses that this process has not built: the first one of a process also starts the compiled code."""
    simulator, seeds = HouseSimulator(), iter(UNBUILT)
    simulator.reset(EpisodeSetup(f"house:{SEED}"))
    again = median_ms(lambda: simulator.reset(EpisodeSetup(f"house:{SEED}")), 3)
    built = times_ms(lambda: simulator.reset(EpisodeSetup(f"house:{next(seeds)}")), len(UNBUILT))
    median = statistics.median(built)
    yield Figure("house scene: build, light and first frame", round(median, 1), f"of a built house, {again:.1f} ms",
                 round(median / again, 2), f"{len(UNBUILT)} houses that were never built, {min(built):.0f} to "
                 f"{max(built):.0f} ms; once a house")
