"""Reads episodes of LA-EQA (Ginting et al., CoRL 2025): NNNNN-rgb.png, with the agent's state NNNNN.pkl beside them.

Its published code (mind-palace-laeqa/benchmark) reads these files below la_eqa_data:

    frames/hm3d-v0/SCENE_i/00012-rgb.png        images
    state/hm3d-v0/SCENE_i/00012.pkl             Habitat's agent states, as OpenEQA publishes them
    captions/hm3d-v0/SCENE_i/12.txt             captions of the images

It reads no depth, and it does not say where the camera is on the agent: frames have no depth here, and the camera is at
the height of OpenEQA's unless a state has sensors. The loader of the warehouse is not published: of its layout only
`la_eqa_dataset/isaac_warehouse/SCENE_i` is known, and its images are read without poses.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from eqa_nodes.core.errors import BadFrame, StorageError
from eqa_nodes.core.storage.text import inside
from eqa_nodes.core.types.geometry import camera_mount, transform_from_habitat
from eqa_nodes.core.types.robot import CameraModel
from eqa_nodes.core.types.views import Frame
from eqa_nodes.recordings.episode_history import recorded_format
from eqa_nodes.recordings.formats.agent_state import AgentState, read_agent_state
from eqa_nodes.recordings.formats.openeqa_folder import CAMERA_HEIGHT_M
from eqa_nodes.recordings.formats.scannet import RATE_HZ, numbered
from eqa_nodes.wire.image_files import read_rgb

_FRAMES, _STATES, _CAPTIONS = "frames", "state", "captions"
_PLACES = ("", "hm3d-v0", "frames/hm3d-v0", "la_eqa_data/frames/hm3d-v0", "la_eqa_dataset/isaac_warehouse")
_HFOV_DEG = 90.0  # where the states do not say it
_ANGLES = (1.0, 179.0)
_HEIGHTS_M = (0.0, 3.0)  # plausible heights of a camera above its agent

Point3 = tuple[float, float, float]


def episode_folder(folder: Path, name: str) -> Path | None:
    """Return the images of an episode, such as "SCENE_0", below a data folder; None if they do not exist.

    Raises StorageError for a name that leads out of the folder.
    """
    found = (inside(folder / place, name) for place in _PLACES)
    return next((path for path in found if path.is_dir()), None)


def states_of(episode: Path) -> dict[int, Path]:
    """Return image number -> file of the agent's state, for the images that have one; empty without states."""
    folder = _beside(episode, _STATES)
    return {number: file for number in numbered(episode, "-rgb")
            if folder is not None and (file := folder / f"{number:05d}.pkl").is_file()}


def place_positions(episode: Path) -> dict[int, Point3]:
    """Return the places of an episode: image number -> position of the agent, metres, Habitat's axes.

    As in the published code, a place has an image, a state and, if there are captions, a caption. Raises StorageError
    for a state that cannot be read.
    """
    captions = _beside(episode, _CAPTIONS)
    return {number: read_agent_state(file).position for number, file in states_of(episode).items()
            if captions is None or (captions / f"{number}.txt").is_file()}


def _beside(episode: Path, kind: str) -> Path | None:
    """Return the folder of another kind of files of an episode, None if there is none."""
    episode = episode.resolve()
    root = episode.parents[1] if len(episode.parents) > 1 else episode
    if root.name != _FRAMES:
        return None
    folder = root.with_name(kind) / episode.parent.name / episode.name
    return folder if folder.is_dir() else None


class LaEqaEpisode:
    """The frames of an episode, read by index; their depth is 0 everywhere. Raises StorageError if there are none."""

    def __init__(self, folder: Path) -> None:
        self._images, self._states = numbered(folder, "-rgb"), states_of(folder)
        self.numbers = sorted(self._states)
        if not self.numbers:
            raise StorageError(f"{folder} has no image with a state (NNNNN-rgb.png with state/.../NNNNN.pkl)")
        self.notes = ("LA-EQA has no depth: memory keeps views and their poses, but no objects",)

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, index: int) -> Frame:
        """Return one frame. Raises BadFrame when it cannot be used."""
        number = self.numbers[index]
        try:
            state = read_agent_state(self._states[number])
        except StorageError as error:
            raise BadFrame(str(error)) from error
        rgb = read_rgb(self._images[number])
        height, width = rgb.shape[:2]
        camera = CameraModel(width, height, _hfov_deg(state))
        base = transform_from_habitat(state.position, state.rotation_wxyz)
        return Frame(round((number + 1) * 1e9 / RATE_HZ), rgb, np.zeros((height, width), np.float32),
                     camera.intrinsics, base, camera_mount(_height_m(state)))


def _hfov_deg(state: AgentState) -> float:
    """Return the horizontal field of view that a state says, degrees."""
    said = state.facts.get("hfov")
    if isinstance(said, bool) or not isinstance(said, (int, float)):
        return _HFOV_DEG
    return float(said) if _ANGLES[0] <= said <= _ANGLES[1] else _HFOV_DEG


def _height_m(state: AgentState) -> float:
    """Return the height of the camera above the agent, metres."""
    heights = [sensor.position[1] - state.position[1] for name, sensor in sorted(state.sensors.items())
               if "rgb" in name or "color" in name]
    return next((h for h in heights if _HEIGHTS_M[0] <= h <= _HEIGHTS_M[1]), CAMERA_HEIGHT_M)


def _fits(path: Path) -> bool:
    """Return whether a folder has images with states; depth images would make it one of OpenEQA."""
    return path.is_dir() and bool(states_of(path)) and not numbered(path, "-depth")


LAEQA = recorded_format("an episode of LA-EQA: frames/hm3d-v0/SCENE_i with NNNNN-rgb.png, beside state/hm3d-v0/SCENE_i",
                        _fits, LaEqaEpisode)
