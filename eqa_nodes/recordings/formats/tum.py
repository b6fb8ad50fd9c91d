"""Sequences of the TUM RGB-D benchmark: rgb.txt, depth.txt and groundtruth.txt, as its documentation describes them.

A line of the first two is a stamp in seconds and a file, one of the last a stamp, a position and a quaternion x, y, z,
w of the camera (optical axes) in a world with z up. Depth is registered to colour, 5000 steps a metre. What belongs
together is found by the stamps. Distortion is not corrected (the images of freiburg1 and freiburg2 have some).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from scipy.spatial import KDTree

from eqa_nodes.core.errors import BadFrame, StorageError
from eqa_nodes.core.storage.text import inside
from eqa_nodes.core.traits import HistoryTraits
from eqa_nodes.core.types.views import Intrinsics
from eqa_nodes.recordings.episode_history import EpisodeHistory, RecordedHistory
from eqa_nodes.recordings.formats.cameras import camera_pose
from eqa_nodes.recordings.formats.rgbd_folder import FolderCamera, RgbdFiles, RgbdFolder
from eqa_nodes.wire.image_files import read_bounded, text_of

COLOURS, DEPTHS, POSES = "rgb.txt", "depth.txt", "groundtruth.txt"
_TOGETHER_S = 0.02  # at most between the stamps of one moment, as in the benchmark's associate.py
_LENSES = {"freiburg1": (517.3, 516.5, 318.6, 255.3), "freiburg2": (520.9, 521.0, 325.1, 249.7),
           "freiburg3": (535.4, 539.2, 320.1, 247.6)}  # fx, fy, cx, cy from the centre of the first pixel


class TumFormat:
    """The benchmark's sequences."""

    traits = HistoryTraits(looks_like=f"a folder with {COLOURS}, {DEPTHS} and {POSES}")

    @staticmethod
    def fits(path: Path) -> bool:
        """Return whether a path is such a folder; the ground truth may be missing."""
        return (path / COLOURS).is_file() and (path / DEPTHS).is_file()

    @staticmethod
    def open(path: Path) -> EpisodeHistory:
        """Return its history. Raises StorageError."""
        return RecordedHistory(path.name, read_tum(path))


def read_tum(folder: Path) -> RgbdFolder:
    """Return the frames of a sequence. Raises StorageError when a list cannot be read, or no image has all it needs."""
    if not (folder / POSES).is_file():
        raise StorageError(f"{folder} has no {POSES}, which says where the camera was: `eqa history localise {folder} "
                           "--depth-format tum --out DIR` finds its poses")
    colors, depths, poses = (list(_lines(folder / name)) for name in (COLOURS, DEPTHS, POSES))
    stamps = [stamp for stamp, _ in colors]
    at_depth, at_pose = (nearest(stamps, [stamp for stamp, _ in found]) for found in (depths, poses))
    moments = [RgbdFiles(round(stamp * 1e9), inside(folder, words[0]),
                      None if d < 0 else inside(folder, depths[d][1][0]),
                      None if p < 0 else _pose(folder, poses[p][1]))
               for (stamp, words), d, p in zip(colors, at_depth, at_pose, strict=True)]
    return RgbdFolder(folder, moments, camera_of(folder), depth_format="tum", z_up=True)


def nearest(stamps: Sequence[float], others: Sequence[float]) -> list[int]:
    """Return which of the other stamps is nearest to each, -1 where that is more than 20 ms away. Seconds."""
    if not others or not stamps:
        return [-1] * len(stamps)
    apart, at = KDTree(np.array(others)[:, None]).query(np.array(stamps)[:, None])
    return np.where(apart <= _TOGETHER_S, at, -1).tolist()


def camera_of(folder: Path, given: tuple[float, ...] = ()) -> FolderCamera:
    """Return the camera of a sequence: where none is given, the benchmark's for the Kinect that the folder names."""
    named = re.search("freiburg[123]", folder.resolve().name)
    if named is None:
        return FolderCamera(folder, given=given)
    fx, fy, cx, cy = _LENSES[named[0]]
    return FolderCamera(folder, Intrinsics(640, 480, fx, fy, cx + 0.5, cy + 0.5), f"TUM's for {named[0]}", given)


def _pose(folder: Path, words: Sequence[str]) -> np.ndarray | None:
    try:
        return camera_pose(np.array(words, np.float64).reshape(7))
    except ValueError as error:
        raise StorageError(f"{folder / POSES}: {' '.join(words)!r:.80} is not a position and a quaternion: {error}"
                           ) from error


def _lines(path: Path) -> Iterator[tuple[float, list[str]]]:
    """Yield the stamp and the words after it of each line that is not a comment. Raises StorageError naming the line.
    """
    try:
        lines = text_of(read_bounded(path)).splitlines()
    except BadFrame as error:
        raise StorageError(str(error)) from error
    for number, line in enumerate(lines, start=1):
        first, *words = line.replace(",", " ").split() or ["#"]
        if first.startswith("#"):
            continue
        try:
            stamp = float(first)
        except ValueError:
            stamp = -1.0
        if not 0 <= stamp < 1e10 or not words:
            raise StorageError(f"{path}, line {number} is {line!r:.80}: wanted a stamp in seconds, and what was then")
        yield stamp, words
