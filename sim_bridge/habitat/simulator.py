"""Scanned scenes in habitat_sim as a Simulator: scenes "habitat:<place>". habitat_sim runs in a process of its own.

Positions in Habitat are (x, y, z), y up, metres. Its navigation mesh is privileged: only motion and scorer use it.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from eqa_nodes.core.errors import BadPose, SimulatorError, UnknownScene
from eqa_nodes.core.traits import SimulatorTraits
from eqa_nodes.core.types.floor import Action
from eqa_nodes.core.types.geometry import (
    Point,
    Pose2,
    Transform,
    camera_mount,
    camera_to_habitat,
    compose,
    position_from_habitat,
    position_to_habitat,
    wrap,
)
from eqa_nodes.core.types.robot import CameraModel, RobotModel
from eqa_nodes.core.types.views import Frame, Label
from sim_bridge.habitat.session import (
    CPU,
    Device,
    Reply,
    WorkerProcess,
    WorkerSession,
    check_python,
    device_for,
)
from sim_bridge.habitat.wire import SharedImages
from sim_bridge.mesh.load import map_from_file, stage_config_of
from sim_bridge.scans import SceneFiles, fault_of, find_scan
from sim_bridge.simulator import DriveResult, EpisodeSetup, Step, arc, check_edit, height_of, turned

Position = tuple[float, float, float]
ON_M = 0.05  # maximum distance of a start from the mesh on the floor plan, metres: one of its cells
NEAR_M = 0.25  # the same for the ends of a path: the free space of another robot may differ by this much
STOREY_M = 1.0  # heights that differ by more belong to different floors
_SEARCH_M = 0.5  # distance between the heights at which a point of the mesh is searched
_SMALL_M2, _SMALL_SHARE = 1.0, 0.05  # smaller islands of the mesh are tops of furniture


class HabitatNavMesh:
    """The mesh that the worker has open. islands: areas in square metres; bounds: two corners of the mesh."""

    def __init__(self, session: WorkerSession, islands: Sequence[float], bounds: Sequence[Sequence[float]]) -> None:
        self._session, self._bounds = session, bounds
        least = max(_SMALL_M2, _SMALL_SHARE * max(islands))
        self._large = [i for i, area in enumerate(islands) if area >= least] or [islands.index(max(islands))]
        self._largest = islands.index(max(islands))

    def start_at(self, x: float, y: float, z: float) -> Position | None:
        """Return the point of the floor at x, z whose height is nearest to y, None if the robot cannot stand there."""
        return self._stand(x, y, z, ON_M, self._large)

    def nearest(self, x: float, y: float, z: float) -> Position:
        """Return the point of any floor nearest to a position."""
        found = [p for i in self._large for p in [self._snap([(x, y, z)], i)[0]] if p is not None]
        return min(found, key=lambda p: math.dist(p, (x, y, z))) if found else self.drawn(0)

    def drawn(self, seed: int) -> Position:
        """Return a random point of the largest floor, the same for the same seed."""
        return _position(self._session.ask("draw", seed=seed, island=self._largest)["point"])

    def shortest(self, a: Position, b: Position) -> tuple[float, list[Position]]:
        """Return the length of the shortest path between two points, metres, and its corners; (inf, []) if none.

        If an end lies a little off the mesh, the straight line to it is added.
        """
        if a > b:  # the reverse path has exactly the same length
            metres, corners = self.shortest(b, a)
            return metres, corners[::-1]
        ends = [self._stand(*p, NEAR_M, None) for p in (a, b)]
        if ends[0] is None or ends[1] is None or abs(ends[0][1] - a[1]) > STOREY_M or abs(ends[1][1] - b[1]) > STOREY_M:
            return math.inf, []
        found = self._session.ask("path", start=ends[0], end=ends[1])
        if found["metres"] is None:
            return math.inf, []
        corners = [_position(p) for p in found["points"]]
        off = _apart(a, corners[0]) + _apart(b, corners[-1])
        return found["metres"] + off, [a, *corners[1:-1], b]

    def _stand(self, x: float, y: float, z: float, within_m: float, islands: Sequence[int] | None) -> Position | None:
        """Return the point of the mesh within `within_m` of x, z whose height is nearest to y."""
        low, high = self._bounds[0][1], self._bounds[1][1]
        steps = range(math.floor((high - low) / _SEARCH_M) + 2)
        heights = [(x, h, z) for h in (y, *(low + i * _SEARCH_M for i in steps))]
        found = [p for i in (islands if islands is not None else (-1,)) for p in self._snap(heights, i)]
        here = [p for p in found if p is not None and _apart(p, (x, y, z)) <= within_m]
        return min(here, key=lambda p: (abs(p[1] - y), _apart(p, (x, y, z))), default=None)

    def _snap(self, points: Sequence[Position], island: int) -> list[Position | None]:
        found: list[Any] = self._session.ask("snap", points=points, island=island)["points"]
        return [_position(entry[0]) if entry is not None else None for entry in found]


def _position(values: Sequence[float]) -> Position:
    x, y, z = values
    return x, y, z


def _apart(p: Position, q: Position) -> float:
    """Return the distance on the floor plan."""
    return math.hypot(p[0] - q[0], p[2] - q[2])


PREFIX = "habitat:"


def scan_of(scene: str, folder: Path | None) -> SceneFiles:
    """Return the files of a scene. Raises UnknownScene, and SimulatorError for a truncated file."""
    if not scene.startswith(PREFIX) or scene == PREFIX:
        raise UnknownScene(f"unknown scene {scene!r}: Habitat's are {PREFIX}DATASET/ID and {PREFIX}FILE")
    scan = find_scan(scene[len(PREFIX):], folder)
    for file in (scan.basis_glb or scan.glb, scan.semantic_glb):
        if file is not None and (fault := fault_of(file)):
            raise SimulatorError(f"the scene {scene!r} cannot be opened: {fault}")
    return scan


def files_of(scan: SceneFiles) -> dict[str, Any]:
    """Return the files as fields of the worker's request. up: None if a config that Habitat reads sets it."""
    file = scan.instance or scan.basis_glb or scan.glb
    assert file is not None
    described = scan.dataset_config is not None
    up = "y" if map_from_file(scan)[2, 1] > 0.5 else "z"
    return {"file": str(file.resolve()), "dataset": str(scan.dataset_config.resolve()) if scan.dataset_config else None,
            "up": None if described or stage_config_of(file).is_file() else up,
            "navmesh": str(scan.navmesh.resolve()) if scan.navmesh else None,
            "labelled": scan.labelled and described}


def missing_labels(scan: SceneFiles) -> str:
    """Return why a scene has no labels although its data set has some, "" if none are expected."""
    if scan.labelled and scan.dataset_config is None:
        return "the data set's scene_dataset_config.json, which says where they are, is missing"
    if scan.labelled:
        return "Habitat cannot read them from the semantic files"
    if scan.dataset_config is not None and ("annotated" in scan.dataset_config.name or scan.semantic_glb
                                            or scan.semantic_txt):
        return "not all of its semantic files are there"
    return ""


def camera_of(camera: CameraModel) -> dict[str, Any]:
    """Return a camera as fields of the worker's request."""
    return {"width": camera.width, "height": camera.height, "hfov_deg": float(camera.hfov_deg), "color": camera.color}


def body_of(robot: RobotModel) -> dict[str, float]:
    return {"radius_m": float(robot.radius_m), "height_m": float(robot.height_m), "climb_m": float(robot.climb_m),
            "slope_deg": float(robot.slope_deg)}


_GREY = 128  # grey level of the image of a camera without colour
_LEVEL_M = 0.005  # while the mesh height changes by less, the floor below is not probed again
_FLOOR_M = 0.35  # a surface farther from the mesh than this is not the floor (a hole, for example)
_PIECE_M, _PIECE_RAD = 0.05, 0.1  # maximum length and turn of one piece of motion
log = logging.getLogger(__name__)


class HabitatSimulator:
    """One robot in one scanned scene at a time. Implements Driving and Viewing of sim_bridge.simulator."""

    traits = SimulatorTraits(scans=True)

    def __init__(self, folder: Path | None = None, start: Callable[[int, bool], WorkerProcess] = WorkerProcess) -> None:
        """folder: folder of scans, None = EQA_SCENES. start: starts a worker (GPU index, flat colours)."""
        self._folder = folder
        self._session = WorkerSession(start)
        self._device: Device | None = None
        self._robot = RobotModel()
        self._stamp_ns = 0
        self._step: Step | None = None
        self._ground: HabitatNavMesh | None = None
        self._labels: dict[int, Label] | None = None

    @staticmethod
    def check_scene(scene: str) -> None:
        """Raise SimulatorError unless Habitat's Python starts and has habitat_sim, which is not imported."""
        check_python()

    def reset(self, episode: EpisodeSetup) -> Step:
        """Open the scene and place the robot.

        Raises UnknownScene, SimulatorError if the scene cannot be opened or has no floor, and BadPose, which names
        the nearest free pose, for a start off the floor.
        """
        check_edit(episode)
        self._step = None
        self._robot = episode.robot
        opened = self._open(scan_of(episode.scene, self._folder), episode)
        self._labels = _labels(opened["labels"])
        self._ground = HabitatNavMesh(self._session, opened["islands"], opened["bounds"])
        self._nav, self._yaw = self._start(self._ground, episode)
        self._start_y = self._nav[1]
        self._look_deg, self._probed, self._floor_y = 0.0, math.inf, self._nav[1]
        self._settle()
        self._stamp_ns = max(self._stamp_ns, episode.clock_ns) + self._tick_ns()
        self._step = Step(self._frame(), False, 0, 0.0)
        return self._step

    def act(self, action: Action) -> Step:
        """Carry out one action; OBSERVE renders again without counting. Raises SimulatorError before a reset."""
        step, action = self._now(), Action(action)
        if action == Action.OBSERVE:
            frame = step.frame if step.frame.stamp_ns == self._stamp_ns else self._frame()
            self._step = replace(step, frame=frame, collided=False)
            return self._step
        metres, collided = 0.0, False
        if action == Action.MOVE_FORWARD:
            metres, collided = self._walk([self._ahead(self._robot.move_m, self._yaw)])
        self._yaw, self._look_deg = turned(self._yaw, self._look_deg, action, self._robot)
        self._stamp_ns += self._tick_ns()
        self._step = Step(self._frame(), collided, step.steps + 1, step.metres + metres)
        return self._step

    def drive(self, forward_m_s: float, turn_rad_s: float, seconds: float) -> DriveResult:
        """Keep these velocities for `seconds`, along an arc in pieces; nothing is rendered.

        Raises SimulatorError before a reset, and if an input is not finite or seconds are negative.
        """
        step = self._now()
        metres, turn = arc(forward_m_s, turn_rad_s, seconds)
        pieces = max(1, math.ceil(abs(metres) / _PIECE_M), math.ceil(abs(turn) / _PIECE_RAD))
        moves = [self._ahead(metres / pieces, self._yaw + turn * (i + 0.5) / pieces) for i in range(pieces)]
        driven, collided = self._walk(moves) if metres else (0.0, False)
        self._yaw = wrap(self._yaw + turn)
        self._stamp_ns += round(seconds * 1e9)
        self._step = replace(step, metres=step.metres + driven)
        return DriveResult(self._stamp_ns, self._base(), collided, self._step.metres)

    def view(self, map_from_base: Transform) -> Frame:
        """Return what the camera would see from this base pose; the robot stays. Raises SimulatorError, BadPose."""
        self._now()
        self._stamp_ns += self._tick_ns()
        return self._seen(map_from_base, 0.0)

    def labels(self) -> Mapping[int, Label]:
        """Privileged: return what the ids in Frame.labels mean; empty if the scene has none."""
        return self._labels or {}

    def geodesic(self, a: Point, b: Point) -> float:
        """Privileged, scorer only: return the shortest drivable distance, also over stairs, metres; inf if none.

        A point without a height is taken to lie on the floor of the start.
        """
        return self._path(a, b)[0]

    def shortest_path(self, a: Point, b: Point) -> list[tuple[float, float]]:
        """Privileged, scorer and generator only: return the corners of the shortest path on one floor, if any."""
        metres, corners = self._path(a, b)
        if not math.isfinite(metres) or max(p[1] for p in corners) - min(p[1] for p in corners) > STOREY_M:
            return []
        return [position_from_habitat(p)[:2] for p in corners]

    def close(self) -> None:
        """End the worker; a second call does nothing."""
        self._session.close()
        self._step, self._ground = None, None

    def _now(self) -> Step:
        if self._step is None:
            raise SimulatorError("the simulator has no episode: call reset first")
        return self._step

    def _open(self, scan: SceneFiles, episode: EpisodeSetup) -> Reply:
        """Open a scene in the worker; fall back to the CPU if an automatically chosen GPU does not work."""
        self._device = self._device or device_for()
        try:
            opened = self._opened(scan, episode, self._device.gpu)
        except SimulatorError as error:
            if self._device.chosen or self._device.gpu == CPU:
                raise
            log.warning("Habitat does not draw on GPU %d, so the CPU does, more slowly: %s", self._device.gpu, error)
            self._device = Device(CPU, False)
            opened = self._opened(scan, episode, CPU)
        if opened["note"]:
            log.warning("%s", opened["note"])
        if opened["labels"] is None and (promised := missing_labels(scan)):
            log.warning("%s has no labels: %s", episode.scene, promised)
        if not opened["islands"]:
            raise self._no_floor(scan, episode)
        return opened

    def _opened(self, scan: SceneFiles, episode: EpisodeSetup, gpu: int,
                body: Mapping[str, float] | None = None) -> Reply:
        request = {"scene": {**files_of(scan), "gpu": gpu}, "camera": camera_of(episode.robot.camera),
                   "body": body or body_of(episode.robot)}
        try:
            return self._session.open(flat=scan.instance is None, **request)
        except SimulatorError as error:
            raise SimulatorError(f"the scene {episode.scene!r} ({request['scene']['file']}) cannot be opened: {error}"
                                 ) from error

    def _no_floor(self, scan: SceneFiles, episode: EpisodeSetup) -> SimulatorError | BadPose:
        """Return the error for a scene that has no floor at all, or none for this robot."""
        robot, tiny = episode.robot, {"radius_m": 0.05, "height_m": 0.2, "climb_m": 0.2, "slope_deg": 45.0}
        assert self._device is not None
        if self._opened(scan, episode, self._device.gpu, tiny)["islands"]:
            return BadPose(f"a robot of radius {robot.radius_m} m and height {robot.height_m} m fits nowhere in "
                           f"{episode.scene!r}: choose a smaller one")
        return SimulatorError(f"the scene {episode.scene!r} ({files_of(scan)['file']}) has no floor: nothing in it is "
                              "level, large enough and open above. Does its up axis point up?")

    def _start(self, ground: HabitatNavMesh, episode: EpisodeSetup) -> tuple[Position, float]:
        """Return the start: a point of the mesh at the requested x, z, and a heading."""
        if episode.start is None:
            heading = np.random.default_rng(episode.seed).uniform(-math.pi, math.pi)
            return ground.drawn(episode.seed), float(heading)
        pose = Pose2(*map(float, episode.start))
        if not all(map(math.isfinite, pose)):
            raise BadPose(f"start pose {tuple(pose)} is not finite: {_free(ground.drawn(episode.seed), 0.0)}")
        x, y, z = position_to_habitat((pose.x, pose.y, episode.start_height_m))
        found = ground.start_at(x, y, z)
        if found is None:
            raise BadPose(f"start pose ({pose.x:.2f}, {pose.y:.2f}, {pose.yaw:.2f}) is inside something solid or "
                          f"off the floor: {_free(ground.nearest(x, y, z), pose.yaw)}")
        return (x, found[1], z), wrap(pose.yaw)

    def _path(self, a: Point, b: Point) -> tuple[float, list[Position]]:
        self._now()
        assert self._ground is not None
        if not all(map(math.isfinite, (*a, *b))):
            return math.inf, []
        ends = [position_to_habitat((p[0], p[1], height_of(p) if len(p) > 2 else self._start_y)) for p in (a, b)]
        return self._ground.shortest(ends[0], ends[1])

    def _ahead(self, metres: float, yaw: float) -> tuple[float, float]:
        """Return a straight move along a heading as Habitat's dx, dz."""
        x, _, z = position_to_habitat((metres * math.cos(yaw), metres * math.sin(yaw), 0.0))
        return x, z

    def _walk(self, moves: list[tuple[float, float]]) -> tuple[float, bool]:
        """Move along the mesh; return metres driven and whether the robot collided."""
        done = self._session.ask("walk", position=self._nav, moves=moves, slide=self._robot.slide)
        x, y, z = done["position"]
        self._nav = (x, y, z)
        self._settle()
        return done["metres"], done["collided"]

    def _settle(self) -> None:
        """Put the base on the rendered floor below it: the mesh lies above that by up to the height of one cell."""
        if abs(self._nav[1] - self._probed) <= _LEVEL_M:
            return
        seen = self._session.ask("floor", position=self._nav)["height"]
        above = self._probed - self._floor_y if math.isfinite(self._probed) else 0.0
        self._floor_y = seen if seen is not None and abs(seen - self._nav[1]) <= _FLOOR_M else self._nav[1] - above
        self._probed = self._nav[1]

    def _base(self) -> Transform:
        x, y, z = position_from_habitat((self._nav[0], self._floor_y, self._nav[2]))
        return Pose2(x, y, self._yaw).transform(z)

    def _tick_ns(self) -> int:
        return max(1, round(self._robot.step_s * 1e9))

    def _frame(self) -> Frame:
        return self._seen(self._base(), self._look_deg)

    def _seen(self, base: Transform, look_deg: float) -> Frame:
        """Return what the camera sees from a base pose in the map, tilted up by look_deg."""
        camera = self._robot.camera
        mount = camera_mount(camera.height_m, math.radians(camera.tilt_down_deg - look_deg))
        position, rotation = camera_to_habitat(compose(base, mount))
        self._session.ask("look", position=position, rotation=rotation)
        seen = self._session.views(camera.width, camera.height)
        rgb, depth_m, labels = kept(seen, camera, self._labels is not None)
        return Frame(self._stamp_ns, rgb, depth_m, camera.intrinsics, base, mount, labels)


def kept(seen: SharedImages, camera: CameraModel, labelled: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Return copies of images that the next look overwrites: colours, depth up to the camera's range, labels."""
    rgb = seen.rgb.copy() if camera.color else np.full(seen.rgb.shape, _GREY, np.uint8)
    depth_m = seen.depth_m * (seen.depth_m <= camera.max_range_m)
    labels = seen.labels.copy() if labelled else None
    for array in (rgb, depth_m, *(() if labels is None else (labels,))):
        array.setflags(write=False)
    return rgb, depth_m, labels


def _labels(found: list[list[Any]] | None) -> dict[int, Label] | None:
    return None if found is None else {i: Label(i, kind, room, {}) for i, kind, room in found}


def _free(position: Position, yaw: float) -> str:
    x, y, _ = position_from_habitat(position)
    return f"the nearest free pose is ({x:.2f}, {y:.2f}, {yaw:.2f})"
