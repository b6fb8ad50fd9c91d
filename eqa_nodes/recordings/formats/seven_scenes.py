"""Sequences of 7-Scenes (Shotton et al., CVPR 2013): frame-NNNNNN.color.png, .depth.png (mm) and .pose.txt.

A pose is the depth camera's (optical axes), in the world of a reconstruction that says nothing about gravity. The data
set has no calibration. Its depth was fused with a focal length of 585 and the principal point at the centre; colour is
taken to have the Kinect's usual 525, with both cameras at one place.
"""

from __future__ import annotations

from pathlib import Path

from eqa_nodes.core.errors import StorageError
from eqa_nodes.core.traits import HistoryTraits
from eqa_nodes.core.types.views import Intrinsics
from eqa_nodes.recordings.episode_history import EpisodeHistory, RecordedHistory
from eqa_nodes.recordings.formats.rgbd_folder import PRIMESENSE, FolderCamera, RgbdFiles, RgbdFolder
from eqa_nodes.recordings.formats.scannet import RATE_HZ, numbered

_DEPTH = Intrinsics(640, 480, 585.0, 585.0, 320.0, 240.0)


class SevenScenesFormat:
    """The data set's sequences."""

    traits = HistoryTraits(looks_like="a folder with frame-NNNNNN.color.png, .depth.png and .pose.txt (7-Scenes)")

    @staticmethod
    def fits(path: Path) -> bool:
        """Return whether a path is such a folder."""
        return next(path.glob("frame-*.pose.txt"), None) is not None

    @staticmethod
    def open(path: Path) -> EpisodeHistory:
        """Return its history. Raises StorageError."""
        return RecordedHistory(path.name, read_seven_scenes(path))


def read_seven_scenes(folder: Path) -> RgbdFolder:
    """Return the frames of a sequence. Raises StorageError when no frame is complete."""
    color, depth, pose = (numbered(folder, f".{kind}", "frame-") for kind in ("color", "depth", "pose"))
    if not color.keys() & depth.keys() & pose.keys():
        raise StorageError(f"{folder} holds {len(color)} colour images, {len(depth)} depth images and {len(pose)} "
                           "poses, but no frame with all three")
    moments = [RgbdFiles(round((n + 1) * 1e9 / RATE_HZ), color[n], depth.get(n), pose.get(n)) for n in sorted(color)]
    return RgbdFolder(folder, moments, FolderCamera(folder, PRIMESENSE, "the Kinect's usual ones for colour"),
                      FolderCamera(folder, _DEPTH, "those of 7-Scenes for depth"))
