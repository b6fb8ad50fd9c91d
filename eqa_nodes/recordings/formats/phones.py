"""Reads recordings of phone apps: Stray Scanner, Polycam and Record3D, as folders or as the archives that they share.

Worlds are ARKit's (y up). Depth of low confidence becomes 0 (no return).

Stray Scanner (the app's docs/format.md): frame N of rgb.mp4 (HEVC) belongs to line N of odometry.csv and to depth/N.png
(16 bits, millimetres); confidence/N.png is 0, 1 or 2. Camera axes are right, down, forward already.

Polycam's raw data (the layout of its project polyform): keyframes/{images,cameras,depth,confidence}, named by their
time in microseconds. Poses are row by row t_00 to t_23; depth has 16 bits, millimetres; confidence is 0, 127 or 255.
The corrected images are undistorted and their poses are optimised: they are used if the export has them.

Record3D: .r3d files, zip archives of `metadata` (JSON) and rgbd/N.jpg, N.depth and N.conf. Depth is float32 in metres,
compressed with LZFSE, in the size dw x dh of the metadata; confidence is 0, 1 or 2, one byte per pixel, compressed too.
K is column-major and belongs to the colour image (w x h). A pose is a quaternion (x, y, z, w) and a position.

Camera axes of the last two are right, up, back, for the images as stored.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Mapping
from io import StringIO
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from eqa_nodes.core.camera.image_geometry import metres
from eqa_nodes.core.errors import BadFrame, MissingExtra, StorageError
from eqa_nodes.core.types.views import Intrinsics
from eqa_nodes.recordings.episode_history import recorded_format
from eqa_nodes.recordings.formats.cameras import MAP_FROM_GL, camera_pose, pinhole
from eqa_nodes.recordings.formats.export_files import ExportFiles, holds
from eqa_nodes.recordings.formats.hand_held import HandHeldRecording, from_arkit
from eqa_nodes.recordings.formats.pictures import VideoImages
from eqa_nodes.wire.image_files import MAX_PIXELS, decode_image, raw_depth, rgb_pixels, text_of

_VIDEO, _POSES, _CAMERA = "rgb.mp4", "odometry.csv", "camera_matrix.csv"
_STRAY_COLUMNS = ("timestamp", "frame", "x", "y", "z", "qx", "qy", "qz", "qw")
_STRAY_LENS = ("fx", "fy", "cx", "cy")  # columns that newer versions add
_COPY = "copy the whole folder from the device again"
_ROOT = "keyframes"
_MAX_CAMERA = 1 << 16
_MICROSECONDS = re.compile(r"\d{1,15}", re.ASCII)
_POLYCAM_KINDS = (("corrected_images", "corrected_cameras"), ("images", "cameras"))  # the better one first
_RAW_DATA = "in Polycam switch on Developer mode, process the capture again, and export Raw Data"
_MAX_METADATA = 1 << 27
_RATE_HZ = 60.0  # default if the metadata has no rate
_SHARED = "export it in Record3D as \"Shareable/Internal format (.r3d)\""


def sure_depth(tree: ExportFiles, depths: Mapping[str, str], sure: Mapping[str, str], stem: str) -> np.ndarray:
    """Return (h, w) float32 metres of a 16-bit image in millimetres, without depths of low confidence.

    depths, sure: stem -> name of the images of depth and of confidence. Raises BadFrame if there is no depth image.
    """
    if stem not in depths:
        raise BadFrame("no depth image")
    depth_m = metres(raw_depth(tree.read(depths[stem]), depths[stem]))
    if stem in sure:
        depth_m = unsure_left_out(depth_m, np.array(decode_image(tree.read(sure[stem]), sure[stem])), sure[stem])
    return depth_m


def unsure_left_out(depth_m: np.ndarray, confidence: np.ndarray, what: object) -> np.ndarray:
    """Return depth with 0 where the device's confidence is 0. Raises BadFrame if the sizes differ."""
    if confidence.shape != depth_m.shape:
        raise BadFrame(f"{what} is {confidence.shape}, its depth {depth_m.shape}: both must have the same size")
    return np.where(confidence > 0, depth_m, np.float32(0))


class _StrayLine(NamedTuple):
    stamp_ns: int
    number: int
    world_from_camera: np.ndarray | None
    lens: tuple[float, float, float, float] | None


class StrayRecording(HandHeldRecording):
    """The frames of a recording; the video is decoded once, in order."""

    def __init__(self, path: Path) -> None:
        """Raises StorageError naming the file that cannot be read, MissingExtra without PyAV."""
        self._tree = ExportFiles(path, _VIDEO)
        self._video = VideoImages(f"{path}/{_VIDEO}", lambda: self._tree.opened(_VIDEO), remedy=_COPY)
        self._depths, self._sure = (self._tree.names(kind, ".png") for kind in ("depth", "confidence"))
        if not self._depths:
            raise StorageError(f"{path} holds no depth/*.png: {_COPY}; a device without LiDAR has no depth")
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

    def _read_lines(self) -> list[_StrayLine]:
        """Return the lines of odometry.csv. Raises StorageError naming the line."""
        rows = csv.reader(())
        lines: list[_StrayLine] = []
        try:
            text = text_of(self._tree.read(_POSES))
            rows = csv.reader(StringIO(text, newline=""), skipinitialspace=True)
            names = [name.strip() for name in next(rows, [])]
            if missing := [name for name in _STRAY_COLUMNS if name not in names]:
                raise BadFrame(f"it has no column {missing[0]}")
            lines.extend(_stray_line(dict(zip(names, row, strict=True))) for row in rows if row)
        except (BadFrame, ValueError, OverflowError, csv.Error) as error:
            raise StorageError(f"{self._tree.path}/{_POSES}, line {rows.line_num} cannot be read ({error}): {_COPY}"
                               ) from error
        if any(b.stamp_ns <= a.stamp_ns or b.number <= a.number for a, b in pairwise(lines)):
            raise StorageError(f"{self._tree.path}/{_POSES}: times or frames do not grow from line to line: {_COPY}")
        return lines

    def _read_matrix(self) -> np.ndarray:
        try:
            numbers = text_of(self._tree.read(_CAMERA, 1 << 16)).replace(",", " ").split()
            return np.array(numbers, np.float64).reshape(3, 3)
        except (BadFrame, ValueError) as error:
            raise StorageError(f"{self._tree.path}/{_CAMERA} is not a 3x3 matrix ({error}). The app writes it when a "
                               f"recording ends: {_COPY}") from error


def _stray_line(fields: dict[str, str]) -> _StrayLine:
    stamp_s, number = float(fields["timestamp"]), int(fields["frame"])
    if not 0 <= stamp_s < 1e10 or not 0 <= number < 1 << 31:
        raise BadFrame(f"frame {number} at {stamp_s} s")
    lens = tuple(float(fields[name]) for name in _STRAY_LENS) if set(_STRAY_LENS) <= fields.keys() else None
    pose = camera_pose(np.array([float(fields[name]) for name in _STRAY_COLUMNS[2:]]))
    return _StrayLine(round(stamp_s * 1e9), number, None if pose is None else MAP_FROM_GL @ pose,
                 lens)  # type: ignore[arg-type]


class _PolycamCamera(NamedTuple):
    world_from_camera: np.ndarray
    matrix: np.ndarray
    width: int
    height: int


class PolycamExport(HandHeldRecording):
    """The keyframes of an export, in order of time."""

    def __init__(self, path: Path) -> None:
        """Raises StorageError when a keyframe's camera cannot be read, or none has image, camera and depth."""
        self._tree = ExportFiles(path, f"{_ROOT}/")
        self._depths, self._sure = (self._tree.names(f"{_ROOT}/{kind}", ".png") for kind in ("depth", "confidence"))
        kinds = [(self._tree.names(f"{_ROOT}/{images}", ".jpg"), self._tree.names(f"{_ROOT}/{cameras}", ".json"))
                 for images, cameras in _POLYCAM_KINDS]
        self._images, cameras = next((kind for kind in kinds if kind[0].keys() & kind[1].keys()), kinds[-1])
        if not self._images.keys() & cameras.keys() & self._depths.keys():
            raise StorageError(f"{path} holds {len(self._images)} images, {len(cameras)} cameras and "
                               f"{len(self._depths)} depth images, but no keyframe with all three: {_RAW_DATA}")
        if wrong := next((stem for stem in cameras if not _MICROSECONDS.fullmatch(stem)), None):
            raise StorageError(f"{path}: {cameras[wrong]} is not named by its time in microseconds: {_RAW_DATA}")
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

    def _camera(self, name: str) -> _PolycamCamera:
        """Return the camera of a file. Raises StorageError naming the file."""
        try:
            fields: dict[str, Any] = json.loads(self._tree.read(name, _MAX_CAMERA))
            pose = np.eye(4)
            pose[:3] = [[float(fields[f"t_{row}{column}"]) for column in range(4)] for row in range(3)]
            fx, fy, cx, cy = (float(fields[key]) for key in ("fx", "fy", "cx", "cy"))
            width, height = (float(fields[key]) for key in ("width", "height"))
            if not (1 <= width < 1 << 14 and 1 <= height < 1 << 14 and math.isfinite(fx)):
                raise BadFrame(f"it has {width:g}x{height:g} pixels and a focal length of {fx:g}")
        except (BadFrame, ValueError, KeyError, TypeError, AttributeError) as error:
            raise StorageError(f"{self._tree.path}/{name} is not a camera of Polycam's raw data ({error!r}): "
                               f"{_RAW_DATA}") from error
        return _PolycamCamera(pose, np.array([[fx, 0, cx], [0, fy, cy], [0, 0, 1]]), int(width), int(height))


class Record3dFile(HandHeldRecording):
    """The frames of a recording of the LiDAR camera."""

    def __init__(self, path: Path) -> None:
        """Raises StorageError when the metadata cannot be read or no frame is complete, MissingExtra without lzfse.
        """
        if path.is_dir() and _is_exr(path):
            raise StorageError(f"{path} is Record3D's export with EXR depth, which is not read: {_SHARED}")
        try:
            import lzfse
        except ImportError as error:
            raise MissingExtra("lzfse", "phones") from error
        self._unpack, self._broken = lzfse.decompress, lzfse.error
        self._tree = ExportFiles(path, "metadata")
        self._images, self._depths, self._sure = (self._tree.names("rgbd", end) for end in (".jpg", ".depth", ".conf"))
        numbers = sorted(int(stem) for stem in self._images if stem.isascii() and stem.isdecimal())
        if not self._images.keys() & self._depths.keys() or numbers[-1:] != [len(numbers) - 1]:
            raise StorageError(f"{path} holds {len(self._images)} images and {len(self._depths)} depth images: wanted "
                               f"rgbd/0.jpg, rgbd/0.depth and so on without a gap; {_SHARED}")
        try:
            self._read_metadata(json.loads(self._tree.read("metadata", _MAX_METADATA)), len(numbers))
        except (BadFrame, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
            raise StorageError(f"{path}: its metadata is not that of a Record3D recording with poses ({error!r}): "
                               f"record with the LiDAR camera, and {_SHARED}") from error
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
        self._world_from_camera = [_record3d_pose(row) for row in poses[:count]]

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


def _record3d_pose(row: np.ndarray) -> np.ndarray | None:
    """Return the pose of an image, None if it was lost."""
    pose = camera_pose(np.roll(row, 3))  # the quaternion comes first
    return None if pose is None else from_arkit(pose)


def _is_record3d(path: Path) -> bool:
    if path.is_dir():
        return ((path / "metadata").is_file() and (path / "rgbd").is_dir()) or _is_exr(path)
    return path.suffix == ".r3d" and path.is_file()


def _is_exr(folder: Path) -> bool:
    """Return whether a folder is Record3D's export of JPEG and EXR images."""
    return (folder / "metadata.json").is_file() and next(folder.glob("depth/*.exr"), None) is not None


STRAY = recorded_format(f"a folder or .zip of Stray Scanner, with {_VIDEO}, {_POSES} and depth/",
                        lambda path: holds(path, _VIDEO, _POSES), StrayRecording, "av", "video")
POLYCAM = recorded_format(
    f"a folder or .zip of Polycam's raw data, with {_ROOT}/",
    lambda path: holds(path, f"{_ROOT}/cameras") or holds(path, f"{_ROOT}/corrected_cameras"), PolycamExport)
RECORD3D = recorded_format("a .r3d file of Record3D", _is_record3d, Record3dFile, "lzfse", "phones")
