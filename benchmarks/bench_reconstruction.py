"""The reconstruction: cost of a frame beside Open3D alone, also as the place grows, its memory, and its error."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial import cKDTree

from eqa_nodes.core.errors import MissingExtra
from eqa_nodes.core.reconstruction.blocks import BLOCK, BLOCK_BYTES
from eqa_nodes.core.reconstruction.config import ReconstructionConfig
from eqa_nodes.core.reconstruction.volume import Reconstruction
from eqa_nodes.core.types.floor import Action
from eqa_nodes.core.types.views import Frame
from sim_bridge.house.world import world
from sim_bridge.registry import open_simulator
from sim_bridge.simulator import EpisodeSetup

SEED = 7
ACTIONS = ([Action.TURN_LEFT] * 12 + [Action.MOVE_FORWARD] * 4) * 3
LAPS, APART_M = 4, 40.0  # how often the tour is shown again, each time at another place
POINTS = 200_000  # of the house's surfaces, at random by area
NEAR_M = 0.05  # of F-score
AGREES_M = 0.02  # a point that lies so far from the depth of its pixel was seen by it
FLOOR_M, CELL_M = 0.1, 0.1


def rows() -> list[dict[str, str | float]]:
    """Return rows: name, median_ms, baseline, ratio, note; one that names the extra where Open3D is absent."""
    try:
        built = Reconstruction()
    except MissingExtra as error:
        return [{"name": "reconstruct one 640x480 frame", "note": str(error)}]
    frames = [replace(frame, labels=None) for frame in tour()]  # Open3D alone keeps no labels either
    alone = Bare(built.config)
    ours, bare = [], []
    for frame in frames:
        images = alone.images(frame)
        bare.append(milliseconds(lambda images=images: alone.add(*images)))
        ours.append(milliseconds(lambda frame=frame: built.add(frame)))
    mine, theirs = float(np.median(ours[1:])), float(np.median(bare[1:]))
    return [{"name": "reconstruct one 640x480 frame", "median_ms": round(mine, 2),
             "baseline": f"Open3D alone, {theirs:.1f} ms", "ratio": round(mine / theirs, 2),
             "note": f"{len(frames)} frames, 2 cm voxels; Open3D alone does not look for what has gone; "
                     f"{quality(built, frames)}"},
            growth(frames)]


def milliseconds(step: Callable[[], None]) -> float:
    """Return how long a step takes."""
    begin = time.perf_counter()
    step()
    return (time.perf_counter() - begin) * 1e3


def tour() -> list[Frame]:
    """Return what a robot sees that turns round in a house, drives on, and turns round again."""
    simulator = open_simulator(f"house:{SEED}")
    return [simulator.reset(EpisodeSetup(f"house:{SEED}")).frame, *(simulator.act(a).frame for a in ACTIONS)]


def growth(frames: list[Frame]) -> dict[str, str | float]:
    """Return the row that compares the first lap with the last: the same views at places side by side."""
    built = Reconstruction()
    laps = [[milliseconds(lambda frame=frame, x=lap * APART_M: built.add(moved(frame, x))) for frame in frames]
            for lap in range(LAPS)]
    first, last = (float(np.median(lap[1:])) for lap in (laps[0], laps[-1]))
    return {"name": f"the same, in a place {LAPS} times as large", "median_ms": round(last, 2),
            "baseline": f"the first {len(frames)} frames, {first:.1f} ms", "ratio": round(last / first, 2),
            "note": f"the same views shown at {LAPS} places {APART_M:g} m apart; {built.blocks} blocks, "
                    f"{built.blocks * BLOCK_BYTES / 1e6:.0f} MB; slowest frame {max(map(max, laps[1:])):.0f} ms (more "
                    "room is made)"}


def moved(frame: Frame, x: float) -> Frame:
    """Return a frame that was taken elsewhere."""
    at = frame.map_from_base
    return replace(frame, map_from_base=at._replace(xyz=(at.xyz[0] + x, *at.xyz[1:])))


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


class Score(NamedTuple):
    """Shares within NEAR_M: of the mesh's vertices, and of the surfaces that were seen."""

    precision: float
    recall: float

    @property
    def f(self) -> float:
        """The harmonic mean."""
        return 2 * self.precision * self.recall / (self.precision + self.recall)


def quality(built: Reconstruction, frames: list[Frame]) -> str:
    """Return errors and memory in words."""
    vertices = built.mesh().vertices
    error_m = errors_m(vertices)
    truth = seen_points(frames, built.config)
    away_m, _ = cKDTree(vertices).query(truth)
    score = Score(float((error_m < NEAR_M).mean()), float((away_m < NEAR_M).mean()))
    megabytes = built.blocks * BLOCK_BYTES / 1e6
    floor_m2 = len(np.unique(np.floor(vertices[np.abs(vertices[:, 2]) < FLOOR_M, :2] / CELL_M), axis=0)) * CELL_M ** 2
    return (f"to the house's surface: median {np.median(error_m) * 100:.2f} cm, 95 % within "
            f"{np.percentile(error_m, 95) * 100:.1f} cm; F-score at 5 cm {score.f:.3f} (precision "
            f"{score.precision:.3f}, recall {score.recall:.3f} of {len(truth)} points that "
            f"{built.config.min_views} frames saw); {megabytes:.0f} MB, {megabytes / floor_m2:.1f} MB a square metre "
            "of seen floor")


def errors_m(points: np.ndarray) -> np.ndarray:
    """Return the distance of points (n, 3) to the surfaces of the house, metres."""
    import open3d

    corners, scene = world(SEED).mesh.triangles().reshape(-1, 3), open3d.t.geometry.RaycastingScene()
    scene.add_triangles(corners, np.arange(len(corners), dtype=np.uint32).reshape(-1, 3))
    found: np.ndarray = scene.compute_distance(points).numpy()
    return found


def seen_points(frames: list[Frame], config: ReconstructionConfig) -> np.ndarray:
    """Return random points (n, 3) of the house's surfaces that at least min_views frames saw within the range."""
    dice, triangles = np.random.default_rng(0), world(SEED).mesh.triangles().astype(np.float64)
    a, ab, ac = triangles[:, 0], triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]
    area = np.linalg.norm(np.cross(ab, ac), axis=1)
    chosen = dice.choice(len(triangles), POINTS, p=area / area.sum())
    s, t = dice.random((2, POINTS, 1))
    over = s + t > 1
    s, t = np.where(over, 1 - s, s), np.where(over, 1 - t, t)
    points = a[chosen] + s * ab[chosen] + t * ac[chosen]
    views = np.sum([sees(frame, points, config.range_m) for frame in frames], axis=0)
    found: np.ndarray = points[views >= config.min_views]
    return found


def sees(frame: Frame, points: np.ndarray, range_m: float) -> np.ndarray:
    """Return which points (n, 3) a frame shows, (n,) bool: those that lie where the depth of their pixel says."""
    k, camera = frame.intrinsics, np.linalg.inv(frame.map_from_camera())
    x, y, z = (points @ camera[:3, :3].T + camera[:3, 3]).T
    ahead = (z > 0.05) & (z <= range_m)
    u, v = (np.floor(np.where(ahead, f * q / np.where(ahead, z, 1.0) + c, -1.0)).astype(int)
            for f, q, c in ((k.fx, x, k.cx), (k.fy, y, k.cy)))
    inside = ahead & (u >= 0) & (u < k.width) & (v >= 0) & (v < k.height)
    shown: np.ndarray = inside.copy()
    shown[inside] = np.abs(frame.depth_m[v[inside], u[inside]] - z[inside]) < AGREES_M
    return shown
