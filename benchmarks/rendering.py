"""Cost of a camera frame of the built-in house, compared with its ray cast alone."""

from __future__ import annotations

import numpy as np

from benchmarks.timing import Figure, median_ms
from eqa_nodes.core.types.floor import Action
from sim_bridge.house.render import for_bands, optical_rays
from sim_bridge.house.simulator import HouseSimulator
from sim_bridge.house.world import world
from sim_bridge.simulator import EpisodeSetup

FRAMES, SEED = 15, 3


def figures() -> list[Figure]:
    """Return the cost of a frame and of a scene."""
    simulator, setup = HouseSimulator(), EpisodeSetup(f"house:{SEED}")
    loading = median_ms(lambda: simulator.reset(setup), 1)
    frame = simulator.reset(setup).frame
    rays = world(SEED).rays
    optical = frame.map_from_camera().astype(np.float32)
    directions = optical_rays(EpisodeSetup("").robot.camera.intrinsics) @ optical[:3, :3].T
    origins = np.tile(optical[:3, 3], (len(directions), 1))

    def band(part: slice) -> None:
        rays.hits(origins[part], directions[part], coherent=True)

    cast = median_ms(lambda: for_bands(band, len(origins), 25600), FRAMES)
    act = median_ms(lambda: simulator.act(Action.TURN_LEFT), FRAMES)
    alone = f"Embree ray cast alone, {cast:.1f} ms"
    return [Figure("house frame: RGB, depth and labels", round(act, 1), alone, round(act / cast, 2),
                   f"{1e3 / act:.1f} frames/s, {len(world(SEED).mesh.corners)} quads, 640x480"),
            Figure("house scene: build, bake and first frame", round(loading, 1), alone, round(loading / cast, 2),
                   "once a house")]
