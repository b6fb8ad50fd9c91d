"""Cost of one RGB-D frame in the reconstruction, beside Open3D alone on the same images, and its error and memory."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from eqa_nodes.core.errors import MissingExtra
from eqa_nodes.core.reconstruction.blocks import BLOCK, BLOCK_BYTES
from eqa_nodes.core.reconstruction.config import ReconstructionConfig
from eqa_nodes.core.reconstruction.volume import Reconstruction
from eqa_nodes.core.types.floor import Action
from eqa_nodes.core.types.views import Frame
from sim_bridge.house.simulator import world
from sim_bridge.registry import open_simulator
from sim_bridge.simulator import EpisodeSetup

SEED = 7
ACTIONS = ([Action.TURN_LEFT] * 12 + [Action.MOVE_FORWARD] * 4) * 3


def rows() -> list[dict[str, str | float]]:
    """Return rows: name, median_ms, baseline, ratio, note; one that names the extra where Open3D is absent."""
    try:
        built = Reconstruction()
    except MissingExtra as error:
        return [{"name": "reconstruct one 640x480 frame", "note": str(error)}]
    frames = tour()
    alone = Bare(built.config)
    ours, bare = [], []
    for frame in frames:
        images = alone.images(frame)
        bare.append(milliseconds(lambda images=images: alone.add(*images)))
        ours.append(milliseconds(lambda frame=frame: built.add(frame)))
    mine, theirs = float(np.median(ours[1:])), float(np.median(bare[1:]))
    error_m, megabytes = errors_m(built.mesh().vertices), built.blocks * BLOCK_BYTES / 1e6
    return [{"name": "reconstruct one 640x480 frame", "median_ms": round(mine, 2),
             "baseline": f"Open3D alone, {theirs:.1f} ms", "ratio": round(mine / theirs, 2),
             "note": f"{len(frames)} frames, 2 cm voxels; to the house's surface: median "
                     f"{np.median(error_m) * 100:.2f} cm, 95 % within {np.percentile(error_m, 95) * 100:.1f} cm; "
                     f"{megabytes:.0f} MB"}]


def milliseconds(step: Callable[[], None]) -> float:
    """Return how long a step takes."""
    begin = time.perf_counter()
    step()
    return (time.perf_counter() - begin) * 1e3


def tour() -> list[Frame]:
    """Return what a robot sees that turns round in a house, drives on, and turns round again."""
    simulator = open_simulator(f"house:{SEED}")
    return [simulator.reset(EpisodeSetup(f"house:{SEED}")).frame, *(simulator.act(a).frame for a in ACTIONS)]


class Bare:
    """Open3D as its own tutorial uses it, with images that are converted already."""

    def __init__(self, config: ReconstructionConfig) -> None:
        import open3d

        self._o3d, self._config = open3d, config
        core = open3d.core
        self._grid = open3d.t.geometry.VoxelBlockGrid(
            ("tsdf", "weight", "color"), [core.float32] * 3, [(1,), (1,), (3,)], config.voxel_m, BLOCK, 10_000,
            core.Device("CPU:0"))

    def images(self, frame: Frame) -> tuple[Any, Any, Any, Any]:
        """Return depth, colour, intrinsics and extrinsics of a frame as Open3D takes them."""
        core, image, k = self._o3d.core, self._o3d.t.geometry.Image, frame.intrinsics
        return (image(core.Tensor(frame.depth_m)), image(core.Tensor(frame.rgb / np.float32(255))),
                core.Tensor(np.array([[k.fx, 0, k.cx], [0, k.fy, k.cy], [0, 0, 1.0]])),
                core.Tensor(np.linalg.inv(frame.map_from_camera())))

    def add(self, depth: Any, colour: Any, intrinsic: Any, extrinsic: Any) -> None:
        """Integrate one frame."""
        camera = (intrinsic, extrinsic, 1.0, self._config.range_m, self._config.truncation_m / self._config.voxel_m)
        self._grid.integrate(self._grid.compute_unique_block_coordinates(depth, *camera), depth, colour, *camera)


def errors_m(points: np.ndarray) -> np.ndarray:
    """Return the distance of points (n, 3) to the surfaces of the house, metres."""
    import open3d

    corners, scene = world(SEED).mesh.triangles().reshape(-1, 3), open3d.t.geometry.RaycastingScene()
    scene.add_triangles(corners, np.arange(len(corners), dtype=np.uint32).reshape(-1, 3))
    found: np.ndarray = scene.compute_distance(points).numpy()
    return found
