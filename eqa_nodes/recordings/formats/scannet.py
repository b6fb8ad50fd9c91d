"""Reads ScanNet's recordings: .sens files, and the folders that ScanNet's tools export from them.

ScanNet (Dai et al., CVPR 2017). Its world has z up and its floor at z = 0, as the reconstruction was aligned to it:
the map frame is that world if the detected floor agrees, else it is levelled; the base is on the floor below the
camera, with the camera's heading. A frame has the size of the colour image (as OpenEQA shows it); the depth of a pixel
is the nearest measurement. The few centimetres between the two cameras are ignored, as is usual with this data.
In its matrices the centre of the first pixel is at 0.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

from eqa_nodes.core.camera.image_geometry import returned
from eqa_nodes.core.errors import BadFrame, StorageError
from eqa_nodes.core.types.views import Frame
from eqa_nodes.recordings.episode_history import recorded_format
from eqa_nodes.recordings.formats.cameras import base_below, mount, onto_color, pinhole, rigid
from eqa_nodes.recordings.formats.map_frames import DepthView, find_map_frame
from eqa_nodes.wire.image_files import MAX_PIXELS, read_matrix, read_raw_depth, read_rgb, rgb_pixels

RATE_HZ = 30.0  # rate of the sensor; exported folders contain no times
DEPTH_UNIT = 1000.0  # depth units per metre in exported folders
_MAX_NAME = 1 << 12
_HEADER = struct.Struct("<64f2i4IfQ")  # four 4x4 matrices, two compressions, two sizes, depth unit, number of frames
_FRAME = struct.Struct("<16f4Q")  # camera-to-world, two times in microseconds, bytes of colour and of depth
_COLOR = {0: "raw", 1: "png", 2: "jpeg"}
_DEPTH = {0: "raw", 1: "zlib", 2: "occi"}


class Cameras(NamedTuple):
    """(4, 4) camera matrices of a recording, and the number of depth units per metre."""

    color: np.ndarray
    depth: np.ndarray
    unit: float = DEPTH_UNIT

    def frame(self, stamp_ns: int, rgb: np.ndarray, raw_depth: np.ndarray, map_from_camera: np.ndarray) -> Frame:
        """Return a frame of the colour camera's size. Raises BadFrame when matrices and images do not match.

        raw_depth: (h, w) integers, 0 = no return; map_from_camera: (4, 4), optical axes.
        """
        resized = rgb.shape[:2] == raw_depth.shape  # many exports resize colour to depth's size, but keep its matrix
        depth_k = pinhole(self.depth, raw_depth.shape, 0.0)
        color_k = depth_k if resized else pinhole(self.color, rgb.shape, 0.0)
        depth_m = np.divide(onto_color(returned(raw_depth), depth_k, color_k), np.float32(self.unit), dtype=np.float32)
        map_from_base = base_below(rigid(map_from_camera, "the camera's pose"), 0.0)
        return Frame(stamp_ns, rgb, depth_m, color_k, map_from_base, mount(map_from_base, map_from_camera))

    def depth_view(self, raw_depth: np.ndarray, world_from_camera: np.ndarray) -> DepthView:
        """Return the depth image with its camera and pose. Raises BadFrame as `frame` does."""
        depth_m = np.divide(returned(raw_depth), np.float32(self.unit), dtype=np.float32)
        return depth_m, pinhole(self.depth, raw_depth.shape, 0.0), rigid(world_from_camera, "the camera's pose")


class SensFile:
    """The frames of a .sens file (version 4), read by index; only one frame is held in memory.

    Stamps are the colour camera's; if these do not increase, frames follow at the sensor's rate.
    """

    def __init__(self, path: Path) -> None:
        """Find all frames. Raises StorageError naming the fault of the file, such as an early end."""
        self.path = Path(path)
        with self._open() as file:
            self._size = self.path.stat().st_size
            count = self._read_header(file)
            self._offsets, self._stamps = self._index(file, count)
        self._map_from_world, note = find_map_frame(path, len(self), self._depth_view, z_up=True)
        self.notes = (note,)

    def __len__(self) -> int:
        return len(self._offsets)

    def __getitem__(self, index: int) -> Frame:
        """Return one frame. Raises BadFrame when an image is damaged or the pose was lost."""
        world_from_camera, color, depth = self._stored(index)
        what = f"{index} of {self.path}"
        rgb, raw = rgb_pixels(color, what), self._depth(depth, what)
        if rgb.shape[:2] != self._color_shape:
            raise BadFrame(f"colour image {what} is {rgb.shape[:2]}, the file says {self._color_shape}")
        return self._cameras.frame(self._stamps[index], rgb, raw, self._map_from_world @ world_from_camera)

    def _stored(self, index: int) -> tuple[np.ndarray, bytes, bytes]:
        """Return the pose of a frame and its stored colour and depth. Raises BadFrame for a lost pose."""
        with self._open() as file:
            file.seek(self._offsets[index])
            *pose, _, _, n_color, n_depth = _FRAME.unpack(self._take(file, _FRAME.size, index))
            world_from_camera = rigid(np.array(pose).reshape(4, 4), f"pose of frame {index} of {self.path}")
            return world_from_camera, self._take(file, n_color, index), self._take(file, n_depth, index)

    def _depth_view(self, index: int) -> DepthView:
        world_from_camera, _, depth = self._stored(index)
        return self._cameras.depth_view(self._depth(depth, f"{index} of {self.path}"), world_from_camera)

    def _read_header(self, file: IO[bytes]) -> int:
        """Return the number of frames stated in the header."""
        version, length = struct.unpack("<IQ", self._take(file, 12))
        if version != 4 or length > _MAX_NAME:
            raise StorageError(f"{self.path} is not a .sens file of version 4: it begins with version {version} and a "
                               f"sensor name of {length} bytes")
        self._take(file, length)
        *floats, color, depth, cw, ch, dw, dh, unit, count = _HEADER.unpack(self._take(file, _HEADER.size))
        if max(cw * ch, dw * dh) > MAX_PIXELS or min(cw, ch, dw, dh) == 0:
            raise StorageError(f"{self.path} claims images of {cw}x{ch} and {dw}x{dh} pixels")
        if not 0 < unit < 1e6:
            raise StorageError(f"{self.path} has {unit} units of depth a metre")
        if color not in (1, 2) or depth not in (0, 1):
            raise StorageError(f"{self.path} has colour {_COLOR.get(color, color)} and depth {_DEPTH.get(depth, depth)}"
                               ": read are jpeg or png, and zlib or raw")
        self._color_shape, self._depth_shape, self._zlib = (ch, cw), (dh, dw), depth == 1
        color_matrix, _, depth_matrix, _ = np.array(floats).reshape(4, 4, 4)
        self._cameras = Cameras(color_matrix, depth_matrix, unit)
        return int(count)

    def _index(self, file: IO[bytes], count: int) -> tuple[list[int], list[int]]:
        """Return the offset and the stamp of each frame. The size of the file bounds the length of the lists."""
        offsets, stamps, last_ns = [], [], 0
        for i in range(count):
            offsets.append(file.tell())
            *_, stamp_us, _, n_color, n_depth = _FRAME.unpack(self._take(file, _FRAME.size, i))
            end = file.tell() + n_color + n_depth
            if end > self._size:
                raise StorageError(f"{self.path} ends within frame {i} of {count}: copy or download it again")
            file.seek(end)
            grows = last_ns < stamp_us * 1000 < 1 << 63
            last_ns = stamp_us * 1000 if grows else last_ns + round(1e9 / RATE_HZ)
            stamps.append(last_ns)
        return offsets, stamps

    def _depth(self, data: bytes, what: str) -> np.ndarray:
        height, width = self._depth_shape
        n = 2 * height * width
        if self._zlib:
            try:
                data = zlib.decompressobj().decompress(data, n + 1)
            except zlib.error as error:
                raise BadFrame(f"depth image {what} cannot be decompressed: {error}") from error
        if len(data) != n:
            raise BadFrame(f"depth image {what} holds {min(len(data), n + 1)} bytes or more, wanted {n}")
        return np.frombuffer(data, "<u2").reshape(height, width)

    def _take(self, file: IO[bytes], n: int, index: int | None = None) -> bytes:
        """Read exactly n bytes; n is at most the size of the file."""
        data = file.read(n) if n <= self._size else b""
        if len(data) < n:
            where = "its header" if index is None else f"frame {index}"
            raise StorageError(f"{self.path} ends within {where}: copy or download it again")
        return data

    @contextmanager
    def _open(self) -> Iterator[IO[bytes]]:
        try:
            with self.path.open("rb") as file:
                yield file
        except OSError as error:
            raise StorageError(f"{self.path} cannot be read: {error}") from error


class ScanNetFolder:
    """The frames of an exported folder: color/N.jpg, depth/N.png (mm), pose/N.txt, and two matrices in intrinsic/.

    N is the number of the sensor's frame, so a folder with every 20th frame has the right stamps.
    """

    def __init__(self, folder: Path) -> None:
        """Raises StorageError when no frame is complete or the camera matrices cannot be read."""
        self.folder = Path(folder)
        color, depth, pose = (numbered(self.folder / kind) for kind in ("color", "depth", "pose"))
        if not color.keys() & depth.keys() & pose.keys():
            raise StorageError(f"{folder} holds {len(color)} colour images, {len(depth)} depth images and {len(pose)} "
                               "poses, but no frame with all three")
        self.numbers, self._colors, self._depths, self._poses = sorted(color), color, depth, pose
        self._cameras = read_cameras(self.folder / "intrinsic")
        self._map_from_world, note = find_map_frame(folder, len(self), self._depth_view, z_up=True)
        self.notes = (note,)

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, index: int) -> Frame:
        """Return one frame. Raises BadFrame when it is incomplete, cannot be read or the pose was lost."""
        number, (raw, world_from_camera) = self.numbers[index], self._stored(index)
        return self._cameras.frame(round((number + 1) * 1e9 / RATE_HZ), read_rgb(self._colors[number]), raw,
                                   self._map_from_world @ world_from_camera)

    def _stored(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        return read_stored(self.numbers[index], self._depths, self._poses)

    def _depth_view(self, index: int) -> DepthView:
        return self._cameras.depth_view(*self._stored(index))


def read_cameras(folder: Path) -> Cameras:
    """Return the camera matrices intrinsic_{color,depth}.txt of a folder. Raises StorageError."""
    try:
        return Cameras(read_matrix(folder / "intrinsic_color.txt"), read_matrix(folder / "intrinsic_depth.txt"))
    except BadFrame as error:
        raise StorageError(str(error)) from error


def read_stored(number: int, depths: Mapping[int, Path], poses: Mapping[int, Path]) -> tuple[np.ndarray, np.ndarray]:
    """Return the stored depth image and pose of a frame. Raises BadFrame."""
    if number not in depths or number not in poses:
        raise BadFrame("no depth image" if number in poses else "no pose")
    return read_raw_depth(depths[number]), rigid(read_matrix(poses[number]), poses[number])


def numbered(folder: Path, ending: str = "", beginning: str = "") -> dict[int, Path]:
    """Return number -> file of a folder for names that are a number between a beginning and an ending."""
    pattern = re.compile(rf"{re.escape(beginning)}(\d{{1,9}}){re.escape(ending)}\.(?:jpe?g|png|txt)", re.ASCII)
    return {int(match[1]): path for path in sorted(folder.glob("*")) if (match := pattern.fullmatch(path.name))}


SENS = recorded_format("a ScanNet .sens file", lambda path: path.suffix == ".sens" and path.is_file(), SensFile)
SCANNET = recorded_format("a folder with color/, depth/, pose/ and intrinsic/",
                          lambda path: (path / "pose").is_dir() and (path / "intrinsic").is_dir(), ScanNetFolder)
