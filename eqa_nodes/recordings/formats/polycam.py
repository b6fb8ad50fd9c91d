"""Reads Polycam's raw data: keyframes/{images,cameras,depth,confidence}, and the corrected images and cameras.

The layout is that of Polycam's project polyform. Files are named by their time in microseconds. Poses are ARKit's (y
up; camera axes right, up, back), row by row as t_00 to t_23; depth has 16 bits, millimetres; confidence is 0, 127 or
255. The corrected images are undistorted and their poses are optimised: they are used if the export has them.
"""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from eqa_nodes.core.errors import BadFrame, StorageError
from eqa_nodes.core.traits import HistoryTraits
from eqa_nodes.core.types.views import Intrinsics
from eqa_nodes.recordings.episode_history import EpisodeHistory, RecordedHistory
from eqa_nodes.recordings.formats.cameras import pinhole
from eqa_nodes.recordings.formats.export_files import ExportFiles, holds
from eqa_nodes.recordings.formats.hand_held import HandHeldRecording, from_arkit, sure_depth
from eqa_nodes.wire.image_files import rgb_pixels

ROOT = "keyframes"
_MAX_JSON = 1 << 16
_MICROSECONDS = re.compile(r"\d{1,15}", re.ASCII)
_KINDS = (("corrected_images", "corrected_cameras"), ("images", "cameras"))  # the better one first
_EXPORT = "in Polycam switch on Developer mode, process the capture again, and export Raw Data"


class PolycamFormat:
    """The raw data that Polycam exports."""

    traits = HistoryTraits(looks_like="a folder or .zip of Polycam's raw data, with keyframes/")

    @staticmethod
    def fits(path: Path) -> bool:
        """Return whether a path is such an export."""
        return holds(path, f"{ROOT}/cameras") or holds(path, f"{ROOT}/corrected_cameras")

    @staticmethod
    def open(path: Path) -> EpisodeHistory:
        """Return the history of an export. Raises StorageError."""
        return RecordedHistory(path.stem, PolycamExport(path))


class _Camera(NamedTuple):
    world_from_camera: np.ndarray
    matrix: np.ndarray
    width: int
    height: int


class PolycamExport(HandHeldRecording):
    """The keyframes of an export, in order of time."""

    def __init__(self, path: Path) -> None:
        """Raises StorageError when a keyframe's camera cannot be read, or none has image, camera and depth."""
        self._tree = ExportFiles(path, f"{ROOT}/")
        self._depths, self._sure = (self._tree.names(f"{ROOT}/{kind}", ".png") for kind in ("depth", "confidence"))
        kinds = [(self._tree.names(f"{ROOT}/{images}", ".jpg"), self._tree.names(f"{ROOT}/{cameras}", ".json"))
                 for images, cameras in _KINDS]
        self._images, cameras = next((kind for kind in kinds if kind[0].keys() & kind[1].keys()), kinds[-1])
        if not self._images.keys() & cameras.keys() & self._depths.keys():
            raise StorageError(f"{path} holds {len(self._images)} images, {len(cameras)} cameras and "
                               f"{len(self._depths)} depth images, but no keyframe with all three: {_EXPORT}")
        if wrong := next((stem for stem in cameras if not _MICROSECONDS.fullmatch(stem)), None):
            raise StorageError(f"{path}: {cameras[wrong]} is not named by its time in microseconds: {_EXPORT}")
        self._stems = sorted(cameras, key=int)
        self._cameras = [self._camera(cameras[stem]) for stem in self._stems]
        super().__init__(path, [from_arkit(camera.world_from_camera) for camera in self._cameras])

    def stamp_ns(self, index: int) -> int:
        """As in HandHeldRecording."""
        return int(self._stems[index]) * 1000

    def camera(self, index: int) -> Intrinsics:
        """As in HandHeldRecording."""
        camera = self._cameras[index]
        return pinhole(camera.matrix, (camera.height, camera.width), 0.5)

    def rgb(self, index: int) -> np.ndarray:
        """As in HandHeldRecording."""
        name = self._images.get(self._stems[index])
        if name is None:
            raise BadFrame("no colour image")
        return rgb_pixels(self._tree.read(name), name)

    def depth(self, index: int) -> np.ndarray:
        """As in HandHeldRecording; depths of low ARKit confidence become 0 (no return)."""
        return sure_depth(self._tree, self._depths, self._sure, self._stems[index])

    def _camera(self, name: str) -> _Camera:
        """Return the camera of a file. Raises StorageError naming the file."""
        try:
            fields: dict[str, Any] = json.loads(self._tree.read(name, _MAX_JSON))
            pose = np.eye(4)
            pose[:3] = [[float(fields[f"t_{row}{column}"]) for column in range(4)] for row in range(3)]
            fx, fy, cx, cy = (float(fields[key]) for key in ("fx", "fy", "cx", "cy"))
            width, height = (float(fields[key]) for key in ("width", "height"))
            if not (1 <= width < 1 << 14 and 1 <= height < 1 << 14 and math.isfinite(fx)):
                raise BadFrame(f"it has {width:g}x{height:g} pixels and a focal length of {fx:g}")
        except (BadFrame, ValueError, KeyError, TypeError, AttributeError) as error:
            raise StorageError(f"{self._tree.path}/{name} is no camera of Polycam's raw data ({error!r}): {_EXPORT}"
                               ) from error
        return _Camera(pose, np.array([[fx, 0, cx], [0, fy, cy], [0, 0, 1]]), int(width), int(height))
