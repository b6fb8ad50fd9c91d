"""Reads Record3D's recordings: .r3d files, zip archives of `metadata` (JSON) and rgbd/N.jpg, N.depth and N.conf.

Depth is float32 in metres, compressed with LZFSE, in the size dw x dh of the metadata; confidence is 0, 1 or 2, one
byte per pixel, also compressed. K is column-major and belongs to the colour image (w x h). A pose is a quaternion (x,
y, z, w) and a position in ARKit's axes (y up; camera axes right, up, back), for the images as stored.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from eqa_nodes.core.errors import BadFrame, MissingExtra, StorageError
from eqa_nodes.core.traits import HistoryTraits
from eqa_nodes.core.types.views import Intrinsics
from eqa_nodes.recordings.episode_history import EpisodeHistory, RecordedHistory
from eqa_nodes.recordings.formats.cameras import camera_pose, pinhole
from eqa_nodes.recordings.formats.export_files import ExportFiles
from eqa_nodes.recordings.formats.hand_held import HandHeldRecording, from_arkit, unsure_left_out
from eqa_nodes.wire.image_files import MAX_PIXELS, rgb_pixels

SUFFIX = ".r3d"
EXTRA = "phones"
_MAX_METADATA = 1 << 27
_RATE_HZ = 60.0  # default if the metadata has no rate
_SHARE = "export it in Record3D as \"Shareable/Internal format (.r3d)\""


class Record3dFormat:
    """The files that Record3D shares."""

    traits = HistoryTraits(library="lzfse", extra=EXTRA, looks_like="a .r3d file of Record3D")

    @staticmethod
    def fits(path: Path) -> bool:
        """Return whether a path is such a file, or its content as a folder, or another export of Record3D."""
        if path.is_dir():
            return ((path / "metadata").is_file() and (path / "rgbd").is_dir()) or is_exr(path)
        return path.suffix == SUFFIX and path.is_file()

    @staticmethod
    def open(path: Path) -> EpisodeHistory:
        """Return the history of a recording. Raises StorageError, MissingExtra."""
        if path.is_dir() and is_exr(path):
            raise StorageError(f"{path} is Record3D's export with EXR depth, which is not read: {_SHARE}")
        return RecordedHistory(path.stem, Record3dFile(path))


def is_exr(folder: Path) -> bool:
    """Return whether a folder is Record3D's export of JPEG and EXR images."""
    return (folder / "metadata.json").is_file() and next(folder.glob("depth/*.exr"), None) is not None


class Record3dFile(HandHeldRecording):
    """The frames of a recording of the LiDAR camera."""

    def __init__(self, path: Path) -> None:
        """Raises StorageError when the metadata cannot be read or no frame is complete, MissingExtra without lzfse.
        """
        try:
            import lzfse
        except ImportError as error:
            raise MissingExtra("lzfse", EXTRA) from error
        self._unpack, self._broken = lzfse.decompress, lzfse.error
        self._tree = ExportFiles(path, "metadata")
        self._images, self._depths, self._sure = (self._tree.names("rgbd", end) for end in (".jpg", ".depth", ".conf"))
        numbers = sorted(int(stem) for stem in self._images if stem.isascii() and stem.isdecimal())
        if not self._images.keys() & self._depths.keys() or numbers[-1:] != [len(numbers) - 1]:
            raise StorageError(f"{path} holds {len(self._images)} images and {len(self._depths)} depth images: wanted "
                               f"rgbd/0.jpg, rgbd/0.depth and so on without a gap; {_SHARE}")
        try:
            self._read_metadata(json.loads(self._tree.read("metadata", _MAX_METADATA)), len(numbers))
        except (BadFrame, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
            raise StorageError(f"{path}: its metadata is not that of a Record3D recording with poses ({error!r}): "
                               f"record with the LiDAR camera, and {_SHARE}") from error
        super().__init__(path, self._world_from_camera)

    def _read_metadata(self, fields: dict[str, Any], count: int) -> None:
        self._size = _size(fields["w"], fields["h"])
        self._depth_size = _size(fields["dw"], fields["dh"]) if "dw" in fields else None
        self._matrix = np.array(fields["K"], np.float64).reshape(3, 3).T
        lenses = np.array(fields.get("perFrameIntrinsicCoeffs") or np.empty((0, 4)), np.float64)
        self._lenses = lenses[:, :4] if len(lenses) == count else None  # fx, fy, cx, cy
        stamps = np.array(fields.get("frameTimestamps") or [], np.float64)
        if len(stamps) != count or np.any(np.diff(stamps) <= 0) or not np.all((stamps >= 0) & (stamps < 1e10)):
            stamps = (1 + np.arange(count)) / float(fields.get("fps") or _RATE_HZ)
        self._stamps_ns = [round(s * 1e9) for s in stamps.tolist()]
        poses = np.array(fields["poses"], np.float64).reshape(-1, 7)
        if len(poses) < count:
            raise BadFrame(f"{len(poses)} poses for {count} images")
        self._world_from_camera = [_pose(row) for row in poses[:count]]

    def stamp_ns(self, index: int) -> int:
        """As in HandHeldRecording."""
        return self._stamps_ns[index]

    def camera(self, index: int) -> Intrinsics:
        """As in HandHeldRecording."""
        matrix = self._matrix.copy()
        if self._lenses is not None:
            matrix[0, 0], matrix[1, 1], matrix[0, 2], matrix[1, 2] = self._lenses[index]
        width, height = self._size
        return pinhole(matrix, (height, width), 0.5)

    def rgb(self, index: int) -> np.ndarray:
        """As in HandHeldRecording."""
        name = self._images[str(index)]
        return rgb_pixels(self._tree.read(name), name)

    def depth(self, index: int) -> np.ndarray:
        """As in HandHeldRecording; depths of low ARKit confidence become 0 (no return)."""
        if str(index) not in self._depths:
            raise BadFrame("no depth image")
        depth_m = self._unpacked(self._depths[str(index)], np.dtype("<f4"))
        if str(index) in self._sure:
            depth_m = unsure_left_out(depth_m, self._unpacked(self._sure[str(index)], np.dtype("u1")),
                                      self._sure[str(index)])
        return depth_m

    def _unpacked(self, name: str, kind: np.dtype[Any]) -> np.ndarray:
        """Return the (dh, dw) values of a compressed file. Raises BadFrame."""
        packed = self._tree.read(name)
        width, height = self._depth_size or (0, 0)
        try:
            data = self._unpack(packed)
        except self._broken as error:
            raise BadFrame(f"{name} cannot be unpacked as LZFSE: {error}") from error
        if self._depth_size is None:  # missing in recordings of older versions
            width, height = _shaped(len(data) // kind.itemsize, self._size)
        if len(data) != width * height * kind.itemsize:
            raise BadFrame(f"{name} holds {len(data)} bytes, its size of {width}x{height} wants "
                           f"{width * height * kind.itemsize}")
        return np.frombuffer(data, kind).reshape(height, width)


def _size(width: Any, height: Any) -> tuple[int, int]:
    if min(int(width), int(height)) < 1 or int(width) * int(height) > MAX_PIXELS:
        raise BadFrame(f"images of {width}x{height}")
    return int(width), int(height)


def _shaped(count: int, size: tuple[int, int]) -> tuple[int, int]:
    """Return the width and height of `count` pixels with the aspect ratio of the colour image."""
    width = round(math.sqrt(count * size[0] / size[1]))
    return width, count // max(width, 1)


def _pose(row: np.ndarray) -> np.ndarray | None:
    """Return the pose of an image, None if it was lost."""
    pose = camera_pose(np.roll(row, 3))  # the quaternion comes first
    return None if pose is None else from_arkit(pose)
