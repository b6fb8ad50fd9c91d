"""Recordings of CODa, which NaVQA's questions are about: colour images with poses and stamps, without depth here.

Two layouts are read: what ReMEmbR's preprocess_coda.py leaves of a sequence, SEQUENCE/<seconds>.pkl with "cam0" (blue,
green, red), "position" and "rotation" (x, y, z, w); and CODa's own, 2d_rect/cam0/SEQUENCE/2d_rect_cam0_SEQUENCE_N.png
(or .jpg) with timestamps/SEQUENCE.txt (seconds, one a frame) and poses/dense/SEQUENCE.txt (seconds, x, y, z, and w, x,
y, z of the rotation). The pickles are read as data. A pose is that of the robot's lidar in the map of its sequence.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from eqa_nodes.core.errors import BadFrame, StorageError
from eqa_nodes.core.traits import HistoryTraits
from eqa_nodes.core.types.geometry import Transform
from eqa_nodes.recordings.episode_history import EpisodeHistory
from eqa_nodes.recordings.formats.agent_state import PICKLED_NAMES, pickled_array
from eqa_nodes.recordings.formats.pictures import ColourHistory, Picture
from eqa_nodes.recordings.formats.plain_pickle import PickledCall, load_plain
from eqa_nodes.wire.image_files import read_bounded, read_rgb, text_of

_PICKLED = re.compile(r"(\d{9,10}(?:\.\d+)?)\.pkl", re.ASCII)
_OWN = re.compile(r"2d_rect_cam0_(\w+)_(\d+)\.(?:png|jpe?g)", re.ASCII)
_MAX_BYTES = 1 << 26  # a pickle holds one image of 1224x1024 and boxes
_MAX_TEXT = 1 << 26
_NEAR_S = 0.5  # the pose of an image is the nearest, no farther in time


class CodaFormat:
    """Sequences of CODa."""

    traits = HistoryTraits(looks_like="a sequence of CODa: <seconds>.pkl as ReMEmbR makes them, or "
                           "2d_rect/cam0/SEQUENCE")

    @staticmethod
    def fits(path: Path) -> bool:
        """Return whether a path is a folder of one sequence in either layout."""
        return path.is_dir() and any(_PICKLED.fullmatch(p.name) or _OWN.fullmatch(p.name) for p in path.iterdir())

    @staticmethod
    def open(path: Path) -> EpisodeHistory:
        """Return its history. Raises StorageError."""
        return read_coda(path)


@dataclass(frozen=True)
class PickledPicture(Picture):
    """An image in a pickle of ReMEmbR's, with its pose."""

    def rgb(self) -> np.ndarray:
        """As in Picture."""
        pixels = self._array("cam0")
        if pixels.ndim != 3 or pixels.shape[2] != 3 or pixels.dtype != np.uint8 or not pixels.size:
            raise BadFrame(f"{self.path} holds cam0 of {pixels.shape} {pixels.dtype}: expected an image of 8 bits")
        return np.ascontiguousarray(pixels[..., ::-1])

    def map_from_base(self) -> Transform:
        """As in Picture."""
        return pose_of([*self._array("position").ravel().tolist(), *self._array("rotation").ravel().tolist()],
                       str(self.path))

    def _array(self, name: str) -> np.ndarray:
        try:
            fields = load_plain(read_bounded(self.path, _MAX_BYTES), PICKLED_NAMES, self.path)
            if type(fields) is not dict or type(fields.get(name)) is not PickledCall:
                raise BadFrame(f"{self.path} has no {name}")
            return pickled_array(fields[name])
        except (StorageError, ValueError, TypeError) as error:
            raise BadFrame(f"{self.path} cannot be read: {error}") from error


@dataclass(frozen=True)
class PosedPicture(Picture):
    """An image of CODa's own layout with the pose that is nearest in time."""

    pose: tuple[float, ...] = ()

    def rgb(self) -> np.ndarray:
        """As in Picture."""
        return read_rgb(self.path)

    def map_from_base(self) -> Transform:
        """As in Picture."""
        return pose_of(self.pose, f"the pose of {self.path}")


def pose_of(numbers: list[float] | tuple[float, ...], what: str) -> Transform:
    """Return x, y, z and a rotation x, y, z, w as a transform. Raises BadFrame."""
    if len(numbers) != 7 or not np.isfinite(numbers).all() or abs(np.linalg.norm(numbers[3:]) - 1) > 1e-2:
        raise BadFrame(f"{what} is {list(numbers)}: expected x, y, z and a unit quaternion")
    x, y, z, *rotation = numbers
    qx, qy, qz, qw = (np.asarray(rotation) / np.linalg.norm(rotation)).tolist()
    return Transform((x, y, z), (qx, qy, qz, qw))


def read_coda(folder: Path) -> ColourHistory:
    """Return a sequence. Raises StorageError naming what is missing."""
    pickled = sorted((float(found[1]), p) for p in folder.iterdir() if (found := _PICKLED.fullmatch(p.name)))
    if pickled:
        return ColourHistory(folder.name, tuple(PickledPicture(i, round(s * 1e9), p)
                                                for i, (s, p) in enumerate(pickled)))
    own = sorted((int(found[2]), found[1], p) for p in folder.iterdir() if (found := _OWN.fullmatch(p.name)))
    if not own:
        raise StorageError(f"{folder} holds no images of CODa's camera cam0")
    root, sequence = folder.resolve().parents[2], own[0][1]
    stamps, poses = read_table(root / "timestamps" / f"{sequence}.txt", 1)[:, 0], read_poses(root, sequence)
    pictures: list[Picture] = []
    for number, _, path in own:
        if number >= len(stamps):
            raise StorageError(f"{path} has no line in {root / 'timestamps' / f'{sequence}.txt'}")
        near = int(np.abs(poses[:, 0] - stamps[number]).argmin())
        if abs(poses[near, 0] - stamps[number]) <= _NEAR_S:
            x, y, z, qw, qx, qy, qz = poses[near, 1:].tolist()
            pictures.append(PosedPicture(number, round(float(stamps[number]) * 1e9), path,
                                         (x, y, z, qx, qy, qz, qw)))
    return ColourHistory(sequence, tuple(pictures))


def read_poses(root: Path, sequence: str) -> np.ndarray:
    """Return (n, 8) float64: seconds, x, y, z, and w, x, y, z of the rotation. Raises StorageError."""
    return read_table(root / "poses" / "dense" / f"{sequence}.txt", 8)


def read_table(path: Path, columns: int) -> np.ndarray:
    """Return (n, columns) finite numbers of a text file. Raises StorageError naming the file that is missing."""
    try:
        table = np.array(text_of(read_bounded(path, _MAX_TEXT)).split(), np.float64).reshape(-1, columns)
    except BadFrame as error:
        raise StorageError(f"{error}: it is part of CODa, whose devkit downloads a sequence with all its files"
                           ) from error
    except ValueError as error:
        raise StorageError(f"{path} does not hold {columns} numbers a line: {error}") from error
    if not len(table) or not np.isfinite(table).all():
        raise StorageError(f"{path} holds no numbers, or some that are not finite")
    return table
