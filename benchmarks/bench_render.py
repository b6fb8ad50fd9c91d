"""What a camera frame of the built-in house costs beside the bare ray cast that it contains."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np

from eqa_nodes.core.types.floor import Action
from sim_bridge.house.render import for_bands, optical_rays
from sim_bridge.house.simulator import HouseSimulator
from sim_bridge.house.world import world
from sim_bridge.simulator import EpisodeSetup

FRAMES, SEED = 15, 3


def rows() -> list[dict[str, object]]:
    """Return one row a figure: name, median_ms, baseline, ratio, note."""
    sim = HouseSimulator()
    loading = _median_ms(lambda: sim.reset(EpisodeSetup(f"house:{SEED}")), 1)
    frame = sim.reset(EpisodeSetup(f"house:{SEED}")).frame
    rays = world(SEED).rays
    optical = frame.map_from_camera().astype(np.float32)
    directions = optical_rays(EpisodeSetup("").robot.camera.intrinsics) @ optical[:3, :3].T
    origins = np.tile(optical[:3, 3], (len(directions), 1))

    def band(part: slice) -> None:
        rays.hits(origins[part], directions[part], coherent=True)
    cast = _median_ms(lambda: for_bands(band, len(origins), 25600))
    act = _median_ms(lambda: sim.act(Action.TURN_LEFT))
    scene = f"{len(world(SEED).mesh.corners)} quads, 640x480"
    return [_row("house frame: RGB, depth and labels", act, cast, f"{1e3 / act:.1f} frames/s, {scene}"),
            _row("house scene: build, bake and first frame", loading, cast, "once a house")]


def _median_ms(work: Callable[[], object], count: int = FRAMES) -> float:
    times = []
    for _ in range(count):
        start = time.perf_counter()
        work()
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times)


def _row(name: str, median_ms: float, cast_ms: float, note: str) -> dict[str, object]:
    return {"name": name, "median_ms": round(median_ms, 1), "baseline": f"Embree ray cast alone, {cast_ms:.1f} ms",
            "ratio": round(median_ms / cast_ms, 2), "note": note}
