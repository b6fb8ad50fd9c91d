"""Episodes begin, drive and stand in `mesh:` as in `habitat:` of the same file; needs EQA_HABITAT_PYTHON.

One of the two scenes lies 5 km from the origin, where float32 coordinates are 0.5 mm apart.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from eqa_nodes.core.errors import BadPose
from eqa_nodes.core.types.floor import Action
from eqa_nodes.core.types.geometry import Pose2, position_from_habitat
from eqa_nodes.core.types.robot import CameraModel, RobotModel
from sim_bridge.habitat.simulator import HabitatSimulator
from sim_bridge.mesh.simulator import MeshSimulator
from sim_bridge.simulator import EpisodeSetup, Simulator, Step
from tests.fixtures.data import shared_data

pytestmark = [pytest.mark.skipif(not os.environ.get("EQA_HABITAT_PYTHON"),
                                 reason="EQA_HABITAT_PYTHON names no Python that has habitat_sim"),
              pytest.mark.slow, pytest.mark.timeout(300)]
ROBOT = RobotModel(camera=CameraModel(width=80, height=60, max_range_m=1000.0))
PLACES, STEPS = 40, 8


class Compared(NamedTuple):
    """What both did from the places that Habitat drew, each asked for with its height and without.

    refused: for each question, whether Habitat and whether `mesh:` refused it; flags: collided of both, of each step;
    base_m: how much higher the base of `mesh:` stands; depth_m: median difference of the first depth images.
    """

    refused: list[tuple[bool, bool]]
    flags: list[tuple[bool, bool]]
    base_m: np.ndarray
    depth_m: np.ndarray


def waves(folder: Path) -> Path:
    """Write 30 m x 30 m of waves, up to 22 degrees steep, 5 km from the origin, y up; return the file."""
    side = np.arange(61) * 0.5
    x, z = (grid.ravel() for grid in np.meshgrid(side, side))
    y = np.sin(x / 2) * np.cos(z / 3) * 0.8
    at = (np.arange(60)[:, None] * 61 + np.arange(60)).ravel() + 1
    lines = [f"v {5000 + a:.4f} {b:.4f} {5000 + c:.4f}" for a, b, c in zip(x, y, z, strict=True)]
    lines += [f"f {i} {i + 61} {i + 62}\nf {i} {i + 62} {i + 1}" for i in at]
    path = folder / "waves.obj"
    path.write_text("\n".join(lines) + "\n")
    return path


def hills(folder: Path) -> Path:
    path = folder / "hills.obj"
    path.write_bytes(shared_data("scenes/recast-nav_test.obj").read_bytes())
    return path


def begun(sim: Simulator, scene: str, at: tuple[float, ...], yaw: float, height_m: float) -> Step | None:
    try:
        return sim.reset(EpisodeSetup(scene, start=Pose2(at[0], at[1], yaw), robot=ROBOT, start_height_m=height_m))
    except BadPose:
        return None


def compared(path: Path) -> Compared:
    random, out, base, depth = np.random.default_rng(0), Compared([], [], np.empty(0), np.empty(0)), [], []
    with closing(HabitatSimulator()) as theirs, closing(MeshSimulator()) as ours:
        theirs.reset(EpisodeSetup(f"habitat:{path}", robot=ROBOT))
        drawn = [theirs._session.ask("draw", seed=seed, island=-1)["point"] for seed in range(PLACES)]
        for (x, y, z), yaw in zip(map(position_from_habitat, drawn), random.uniform(-math.pi, math.pi, PLACES)):
            for height_m in (0.0, z):
                h, m = begun(theirs, f"habitat:{path}", (x, y), yaw, height_m), begun(ours, f"mesh:{path}", (x, y), yaw,
                                                                                      height_m)
                out.refused.append((h is None, m is None))
            if h is None or m is None:
                continue
            base.append(m.frame.map_from_base.xyz[2] - h.frame.map_from_base.xyz[2])
            both = (m.frame.depth_m > 0) & (h.frame.depth_m > 0)
            depth.append(float(np.median(np.abs(m.frame.depth_m - h.frame.depth_m)[both])) if both.any() else 0.0)
            for _ in range(STEPS):
                h, m = theirs.act(Action.MOVE_FORWARD), ours.act(Action.MOVE_FORWARD)
                out.flags.append((h.collided, m.collided))
                if math.dist(h.frame.map_from_base.xyz[:2], m.frame.map_from_base.xyz[:2]) > 0.05:
                    break  # they slide along borders that are up to a cell apart
                base.append(m.frame.map_from_base.xyz[2] - h.frame.map_from_base.xyz[2])
    return out._replace(base_m=np.array(base), depth_m=np.array(depth))


@pytest.mark.parametrize("make", [waves, hills])
def test_episodes_are_those_of_habitat(make: Callable[[Path], Path], tmp_path: Path) -> None:
    both = compared(make(tmp_path))
    said = (f"refused {[sum(pair == kind for pair in both.refused) for kind in ((True, False), (False, True))]}, flags "
            f"differ {sum(h != m for h, m in both.flags)} of {len(both.flags)}, base "
            f"{np.percentile(both.base_m, [0, 5, 50, 95, 100]).round(4)}, depth "
            f"{np.percentile(both.depth_m, [50, 90, 100]).round(4)}")
    print(said)
    assert sum(not h and m for h, m in both.refused) <= 0.02 * len(both.refused), said
    assert sum(h and not m for h, m in both.refused) <= 0.05 * len(both.refused), said
    assert sum(h != m for h, m in both.flags) <= 0.02 * len(both.flags), said
    assert np.median(np.abs(both.base_m)) < 0.001 and np.percentile(np.abs(both.base_m), 90) < 0.01, said
    assert np.median(both.depth_m) < 0.002 and np.percentile(both.depth_m, 90) < 0.03, said
