"""A scanned scene as a Simulator: scenes "mesh:PLACE" (what a PLACE is: sim_bridge.scans.find_scan)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache, partial
from pathlib import Path

import numpy as np

from eqa_nodes.core.errors import BadPose, SimulatorError, UnknownScene
from eqa_nodes.core.traits import SimulatorTraits
from eqa_nodes.core.types.geometry import Point, Pose2
from eqa_nodes.core.types.robot import CameraModel, RobotModel
from eqa_nodes.core.types.views import Label
from sim_bridge.mesh.baked import BakedScan
from sim_bridge.mesh.floor import MIN_AREA_M2, STOREY_M, MeshFloor, MeshPaths
from sim_bridge.mesh.look import MeshRenderer
from sim_bridge.rays import Image, later
from sim_bridge.scans import SceneFiles, find_scan
from sim_bridge.simulator import AS_STORED, EpisodeSetup, SceneEdit
from sim_bridge.walker import At, Walker

PREFIX = "mesh:"
PROBE_M, FLOOR_M = 0.4, 0.35  # probing a surface: start height above the cell, and maximum distance of the surface
_KEPT = 3  # number of scenes in memory


class MeshWorld:
    """A scan and the data derived from it."""

    def __init__(self, scan: BakedScan) -> None:
        self._scan, self.scene = scan, scan.scene
        self._renderer = later(partial(MeshRenderer, scan.scene))  # builds the tree while the floor is read or computed
        self._bodies: dict[tuple[float, ...], tuple[MeshFloor, MeshPaths]] = {}

    @property
    def renderer(self) -> MeshRenderer:
        """Return the renderer. Raises SimulatorError if Embree fails."""
        return self._renderer.result()

    def seen_height(self, at: At) -> float:
        """Return the height of the visible surface at a point of the floor, metres; over a hole, the floor's height.

        The height of a floor cell is that of its highest point, which on a slope lies above its centre.
        """
        x, y, z = at
        seen = self.renderer.below(x, y, z + PROBE_M)
        return seen if seen is not None and abs(seen - z) <= FLOOR_M else z

    def floor(self, robot: RobotModel) -> MeshFloor:
        """Return where robots of this body can be. Raises what MeshFloor raises."""
        return self._of(robot)[0]

    def paths(self, robot: RobotModel) -> MeshPaths:
        """Return the shortest paths of robots of this body. Raises what MeshFloor raises."""
        return self._of(robot)[1]

    def _of(self, robot: RobotModel) -> tuple[MeshFloor, MeshPaths]:
        body = (robot.radius_m, robot.height_m, robot.climb_m, robot.slope_deg)
        if body not in self._bodies:
            floor = self._scan.floor(robot)
            self._bodies[body] = floor, MeshPaths(floor)
        return self._bodies[body]


@lru_cache(maxsize=_KEPT)
def _loaded(scan: SceneFiles, edit: SceneEdit, changed_ns: int) -> MeshWorld:
    return MeshWorld(BakedScan(scan, edit))


def world(scan: SceneFiles, edit: SceneEdit = AS_STORED) -> MeshWorld:
    """Return the world of a scan after changes, cached until its file changes. Raises what load_mesh raises."""
    return _loaded(scan, edit, scan.glb.stat().st_mtime_ns if scan.glb else 0)


class MeshSimulator(Walker):
    """One robot in one scan at a time. Implements sim_bridge.simulator.Driving."""

    traits = SimulatorTraits(scans=True)
    edits = True
    short_m = 1e-5  # threshold from which habitat_sim's agent reports a collision

    def __init__(self, scenes: Path | None = None) -> None:
        """scenes: folder of scans, None = environment variable EQA_SCENES."""
        super().__init__()
        self._scenes = scenes
        self._world: MeshWorld | None = None
        self._start_height_m = 0.0

    def labels(self) -> Mapping[int, Label]:
        """Privileged: return what the ids in Frame.labels mean; empty if the scan has none."""
        return {} if self._world is None else self._world.scene.labels

    def geodesic(self, a: Point, b: Point) -> float:
        """Privileged, scorer only: return the shortest drivable distance over all storeys, metres; inf if none.

        A point without a height is taken to lie on the floor of the start.
        """
        return self._paths().geodesic(self._on_floor(a), self._on_floor(b))

    def shortest_path(self, a: Point, b: Point) -> list[tuple[float, float]]:
        """Privileged, scorer and generator only: return the corners of the shortest drivable path on one floor."""
        ends = self._on_floor(a), self._on_floor(b)
        if not abs(ends[0][2] - ends[1][2]) < STOREY_M:
            return []
        return [(x, y) for x, y, _ in self._paths().shortest(*ends)]

    def straight(self, a: Point, b: Point) -> bool:
        """Privileged: return whether a straight drive joins two points, which may be SNAP_M off the free floor."""
        return self._paths().straight(self._on_floor(a), self._on_floor(b))

    def close(self) -> None:
        """Forget the world; a second call does nothing."""
        super().close()
        self._world = None

    def _on_floor(self, point: Point) -> At:
        return point[0], point[1], point[2] if len(point) > 2 else self._start_height_m

    def _now_in(self) -> MeshWorld:
        if self._world is None:
            raise SimulatorError("the simulator has no episode: call reset first")
        return self._world

    def _paths(self) -> MeshPaths:
        return self._now_in().paths(self._robot)

    def _enter(self, episode: EpisodeSetup) -> tuple[Pose2, float]:
        if not episode.scene.startswith(PREFIX):
            raise UnknownScene(f"unknown scene {episode.scene!r}: known are {PREFIX}<data set>/<scene> and {PREFIX}"
                               "<path of a GLB, OBJ or PLY file>")
        place = world(find_scan(episode.scene.removeprefix(PREFIX), self._scenes), episode.edit)
        pose, height = _start(place.floor(episode.robot), episode)
        self._world, self._start_height_m = place, place.seen_height((pose.x, pose.y, height))
        return pose, self._start_height_m

    def _stand(self, pose: Pose2) -> float:
        place = self._now_in()
        return place.seen_height((pose.x, pose.y, _checked(place.floor(self._robot), pose, self._height_m)))

    def _hop(self, at: At, dx: float, dy: float) -> At:
        place = self._now_in()
        there = place.floor(self._robot).hop(at, dx, dy, self._robot.slide)
        return there if there == at else (there[0], there[1], place.seen_height(there))

    def _image(self, camera: CameraModel, map_from_camera: np.ndarray) -> Image:
        return self._now_in().renderer.image(camera, map_from_camera)


def _start(floor: MeshFloor, episode: EpisodeSetup) -> tuple[Pose2, float]:
    """Return the start pose of an episode and the height of its floor. Raises BadPose."""
    if episode.start is not None:
        return episode.start, _checked(floor, episode.start, episode.start_height_m)
    at = floor.start(episode.seed)
    if at is None:
        raise BadPose(f"{episode.scene} has no start: {_nowhere(floor)}")
    yaw = float(np.random.default_rng((episode.seed, 1)).uniform(-math.pi, math.pi))
    return Pose2(at[0], at[1], yaw), floor.height(*at)


def _checked(floor: MeshFloor, pose: Pose2, height_m: float) -> float:
    """Return the height of the floor at a pose. Raises BadPose, naming the nearest free pose."""
    finite = all(map(math.isfinite, (*pose, height_m)))
    found = floor.stand(pose.x, pose.y, height_m) if finite else None
    if found is not None:
        return found
    near = floor.nearest_free(pose.x, pose.y, height_m) if finite else floor.start(0)
    what = (f"({pose.x:.2f}, {pose.y:.2f}, {pose.yaw:.2f}) at height {height_m:.2f}" if finite
            else f"{tuple(pose)} at height {height_m}")
    why = "inside something solid, too near to it, or off the floor" if finite else "not finite"
    remedy = (_nowhere(floor) if near is None else f"on the floor at height {near[2]:.2f} the nearest free pose is "
              f"({near[0]:.2f}, {near[1]:.2f}, {pose.yaw if math.isfinite(pose.yaw) else 0.0:.2f})")
    raise BadPose(f"start pose {what} is {why}: {remedy}")


def _nowhere(floor: MeshFloor) -> str:
    return (f"a robot of radius {floor.radius_m:g} m fits nowhere: no joined floor leaves its middle "
            f"{MIN_AREA_M2:g} m2")
