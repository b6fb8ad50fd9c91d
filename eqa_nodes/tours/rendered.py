"""Renders published poses in a simulator, in any scene, as OpenEQA's script does with its agent states.

OpenEQA's HM3D histories are published as folders of agent states (NNNNN.pkl), one for each frame, because the images
belong to HM3D. Its extract-frames.py places the agent at the pose of a state and the camera straight above, at the
height of the first state: like the script, this module ignores the sensors' poses. The image has square pixels.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from eqa_nodes.core.errors import BadPose, ConfigError, SimulatorError, StorageError
from eqa_nodes.core.storage.text import by_number
from eqa_nodes.core.types.geometry import Transform, transform_from_habitat
from eqa_nodes.core.types.robot import CameraModel, RobotModel
from eqa_nodes.core.types.views import Label
from eqa_nodes.recordings.episode_history import FramesAlone, RecordedFrame
from eqa_nodes.recordings.formats.agent_state import AgentState, read_agent_state
from sim_bridge.registry import file_name_of, open_simulator
from sim_bridge.robots import ROBOTS
from sim_bridge.simulator import EpisodeSetup, Simulator, Viewing

NOTHING_SEEN = "no surface in view: the pose lies outside this scene"
_SCAN = re.compile(r"(?:^|[/\\])(\d{5}-\w+)(?=[/\\]|$)", re.ASCII)  # HM3D's scan name in the path of a scene's file
_HFOV = (1.0, 179.0)
_SENSORS = ("rgb", "color_sensor", "color")
_BLIND = CameraModel(width=16, height=12, color=False)  # used to find the scene's floor, without its appearance
_MANY = 100_000  # maximum number of states in a history: OpenEQA's have at most 400


@dataclass(frozen=True)
class PosedPath:
    """Poses of a base in a scene, and the robot with the camera. poses: map_from_base, may be tilted."""

    scene: str
    robot: RobotModel
    poses: tuple[Transform, ...]
    name: str


class RenderedHistory(FramesAlone):
    """A path as an episode history, rendered again by each iteration. Labels are the simulator's (privileged)."""

    def __init__(self, path: PosedPath) -> None:
        self.path, self.name = path, path.name or file_name_of(path.scene)
        self.dropped: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self.path.poses)

    @cached_property
    def labels(self) -> Mapping[int, Label]:
        """Id in label images -> label."""
        with closing(self._opened(_BLIND)) as simulator:
            return dict(simulator.labels())

    def recorded(self) -> Iterator[RecordedFrame]:
        """Yield the rendered frames; empty ones are dropped and counted."""
        self.dropped = Counter()
        with closing(self._opened(self.path.robot.camera)) as simulator:
            for index, pose in enumerate(self.path.poses):
                frame = simulator.view(pose)
                if frame.depth_m.any():
                    yield RecordedFrame(index, -1, frame)
                else:
                    self.dropped[NOTHING_SEEN] += 1

    def _opened(self, camera: CameraModel) -> Viewing:
        """Return a simulator with the scene open. Raises SimulatorError if it cannot render from arbitrary poses."""
        simulator: Simulator = open_simulator(self.path.scene)
        if not isinstance(simulator, Viewing):
            simulator.close()
            raise SimulatorError(f"the simulator of {self.path.scene!r} renders only what its robot sees: published "
                                 "poses need house:, mesh: or habitat:")
        try:
            simulator.reset(EpisodeSetup(self.path.scene, self.name, robot=replace(self.path.robot, camera=camera)))
        except BaseException:
            simulator.close()
            raise
        return simulator


def state_folders(path: Path) -> list[Path]:
    """Return the folders of agent states at a path: itself, or those in it, as in open-eqa-hm3d-states.

    Raises StorageError if there are none.
    """
    path = Path(path)
    found = [path] if _states(path) else sorted(p for p in path.glob("*") if _states(p)) if path.is_dir() else []
    if not found:
        raise StorageError(f"{path} holds no agent states: give a folder of NNNNN.pkl, or the folder hm3d-v0 of such "
                           "folders that open-eqa-hm3d-states-v0.tgz unpacks (data/README.md of OpenEQA links it)")
    return found


def read_states(folder: Path, scene: str = "", simulator: str = "habitat", robot: RobotModel | None = None
                ) -> PosedPath:
    """Return the path recorded in a folder of agent states.

    scene: scene to render, "": the scan named in the states, in `simulator`. robot: robot with the camera, None: one
    with the image size and field of view of the states. Raises StorageError for a state that cannot be read,
    ConfigError if the states name no scan.
    """
    files = _states(folder)
    if not files or len(files) > _MANY:
        raise StorageError(f"{folder} holds {len(files)} agent states (NNNNN.pkl): expected 1 to {_MANY}")
    first = read_agent_state(files[0])
    body = robot or _camera(ROBOTS["openeqa"], first, files[0])
    height = _eye_height(first, body.camera.height_m)
    body = replace(body, camera=replace(body.camera, height_m=height, tilt_down_deg=0.0))
    try:
        poses = tuple(transform_from_habitat(s.position, s.rotation_wxyz) for s in map(read_agent_state, files))
    except BadPose as error:
        raise StorageError(f"{folder}: {error}") from error
    return PosedPath(scene or _scene_of(first, files[0], simulator), body, poses, Path(folder).name)


def _states(folder: Path) -> list[Path]:
    """Return the states of a folder in the order of their numbers."""
    files = [p for p in folder.glob("*.pkl") if p.is_file()] if folder.is_dir() else []
    return sorted(files, key=lambda p: by_number(p.name))


def _scene_of(state: AgentState, file: Path, simulator: str) -> str:
    named = state.facts.get("scene_id")
    scan = _SCAN.search(named) if isinstance(named, str) else None
    if scan is None:
        raise ConfigError(f"{file} names the scene {named!r}, which is not a scan of HM3D: name it with --scene")
    return f"{simulator}:hm3d/{scan[1]}"


def _camera(robot: RobotModel, state: AgentState, file: Path) -> RobotModel:
    """Return the robot with the image size and the field of view of a state, or unchanged if the state has none."""
    size, hfov = state.facts.get("resolution"), state.facts.get("hfov", robot.camera.hfov_deg)
    height, width = (robot.camera.height, robot.camera.width) if size is None else _size(size, file)
    if isinstance(hfov, bool) or not isinstance(hfov, (int, float)) or not _HFOV[0] <= hfov <= _HFOV[1]:
        raise StorageError(f"{file} says hfov {hfov!r:.40}: expected degrees")
    return replace(robot, camera=replace(robot.camera, width=width, height=height, hfov_deg=float(hfov)))


def _size(size: object, file: Path) -> tuple[int, int]:
    if not (isinstance(size, tuple) and len(size) == 2 and all(type(n) is int and 0 < n <= 1 << 14 for n in size)):
        raise StorageError(f"{file} says resolution {size!r:.40}: expected height and width in pixels")
    return size


def _eye_height(state: AgentState, usual_m: float) -> float:
    """Return the height of the camera above the agent, metres; usual_m if the state has no camera."""
    camera = next((state.sensors[name] for name in _SENSORS if name in state.sensors), None)
    return usual_m if camera is None else camera.position[1] - state.position[1]


