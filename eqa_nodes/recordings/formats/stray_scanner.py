"""Reads Stray Scanner's recordings: rgb.mp4, odometry.csv, camera_matrix.csv, depth/N.png and confidence/N.png.

The layout is described in the app's docs/format.md. Frame N of the video belongs to line N of odometry.csv and to
depth/N.png (16 bits, millimetres); confidence is 0, 1 or 2. The world of the poses is ARKit's (y up); camera axes are
already right, down, forward. The video is HEVC, decoded with PyAV.
"""

from __future__ import annotations

import csv
from io import StringIO
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.errors import BadFrame, StorageError
from eqa_nodes.core.traits import HistoryTraits
from eqa_nodes.core.types.views import Intrinsics
from eqa_nodes.recordings.episode_history import EpisodeHistory, RecordedHistory
from eqa_nodes.recordings.formats.cameras import MAP_FROM_GL, camera_pose, pinhole
from eqa_nodes.recordings.formats.export_files import ExportFiles, holds
from eqa_nodes.recordings.formats.hand_held import HandHeldRecording, sure_depth
from eqa_nodes.recordings.formats.video_file import VideoImages
from eqa_nodes.wire.image_files import text_of

VIDEO, POSES, CAMERA = "rgb.mp4", "odometry.csv", "camera_matrix.csv"
_COLUMNS = ("timestamp", "frame", "x", "y", "z", "qx", "qy", "qz", "qw")
_LENS = ("fx", "fy", "cx", "cy")  # columns that newer versions add
_AGAIN = "copy the whole folder from the device again"


class StrayFormat:
    """The folders that Stray Scanner records."""

    traits = HistoryTraits(library="av", extra="video", looks_like="a folder or .zip of Stray Scanner, with rgb.mp4, "
                           "odometry.csv and depth/")

    @staticmethod
    def fits(path: Path) -> bool:
        """Return whether a path is such a folder or archive."""
        return holds(path, VIDEO, POSES)

    @staticmethod
    def open(path: Path) -> EpisodeHistory:
        """Return the history of a recording. Raises StorageError, MissingExtra."""
        return RecordedHistory(path.stem, StrayRecording(path))


class _Line(NamedTuple):
    stamp_ns: int
    number: int
    world_from_camera: np.ndarray | None
    lens: tuple[float, float, float, float] | None


class StrayRecording(HandHeldRecording):
    """The frames of a recording; the video is decoded once, in order."""

    def __init__(self, path: Path) -> None:
        """Raises StorageError naming the file that cannot be read, MissingExtra without PyAV."""
        self._tree = ExportFiles(path, VIDEO)
        self._video = VideoImages(f"{path}/{VIDEO}", lambda: self._tree.opened(VIDEO), remedy=_AGAIN)
        self._depths, self._sure = (self._tree.names(kind, ".png") for kind in ("depth", "confidence"))
        if not self._depths:
            raise StorageError(f"{path} holds no depth/*.png: {_AGAIN}; a device without LiDAR has no depth")
        self._lines = self._read_lines()
        self._matrix = self._read_matrix()
        super().__init__(path, [line.world_from_camera for line in self._lines])

    def stamp_ns(self, index: int) -> int:
        """As in HandHeldRecording."""
        return self._lines[index].stamp_ns

    def camera(self, index: int) -> Intrinsics:
        """As in HandHeldRecording."""
        matrix, lens = self._matrix, self._lines[index].lens
        if lens is not None:
            matrix = np.array([[lens[0], 0, lens[2]], [0, lens[1], lens[3]], [0, 0, 1]])
        return pinhole(matrix, self._video.shape, 0.5)

    def rgb(self, index: int) -> np.ndarray:
        """As in HandHeldRecording."""
        return self._video.image(self._lines[index].number)

    def depth(self, index: int) -> np.ndarray:
        """As in HandHeldRecording; depths of low ARKit confidence become 0 (no return)."""
        return sure_depth(self._tree, self._depths, self._sure, f"{self._lines[index].number:06d}")

    def _read_lines(self) -> list[_Line]:
        """Return the lines of odometry.csv. Raises StorageError naming the line."""
        rows = csv.reader(())
        lines: list[_Line] = []
        try:
            text = text_of(self._tree.read(POSES))
            rows = csv.reader(StringIO(text, newline=""), skipinitialspace=True)
            names = [name.strip() for name in next(rows, [])]
            if missing := [name for name in _COLUMNS if name not in names]:
                raise BadFrame(f"it has no column {missing[0]}")
            lines.extend(_line(dict(zip(names, row, strict=True))) for row in rows if row)
        except (BadFrame, ValueError, OverflowError, csv.Error) as error:
            raise StorageError(f"{self._tree.path}/{POSES}, line {rows.line_num} cannot be read ({error}): {_AGAIN}"
                               ) from error
        if any(b.stamp_ns <= a.stamp_ns or b.number <= a.number for a, b in pairwise(lines)):
            raise StorageError(f"{self._tree.path}/{POSES}: times or frames do not grow from line to line: {_AGAIN}")
        return lines

    def _read_matrix(self) -> np.ndarray:
        try:
            numbers = text_of(self._tree.read(CAMERA, 1 << 16)).replace(",", " ").split()
            return np.array(numbers, np.float64).reshape(3, 3)
        except (BadFrame, ValueError) as error:
            raise StorageError(f"{self._tree.path}/{CAMERA} is no 3x3 matrix ({error}): it is written when a recording "
                               f"ends; {_AGAIN}") from error


def _line(fields: dict[str, str]) -> _Line:
    stamp_s, number = float(fields["timestamp"]), int(fields["frame"])
    if not 0 <= stamp_s < 1e10 or not 0 <= number < 1 << 31:
        raise BadFrame(f"frame {number} at {stamp_s} s")
    lens = tuple(float(fields[name]) for name in _LENS) if set(_LENS) <= fields.keys() else None
    pose = camera_pose(np.array([float(fields[name]) for name in _COLUMNS[2:]]))
    return _Line(round(stamp_s * 1e9), number, None if pose is None else MAP_FROM_GL @ pose,
                 lens)  # type: ignore[arg-type]
