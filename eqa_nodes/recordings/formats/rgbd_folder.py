"""Reads folders of RGB-D images with their cameras and depth formats, in two layouts: Redwood and TUM RGB-D.

Redwood: color/, depth/ and trajectory.log. TUM: a line of rgb.txt and depth.txt has a stamp in seconds and a file, a
line of groundtruth.txt a stamp, a position and a quaternion x, y, z, w of the camera (optical axes) in a world with z
up; depth is registered to colour, 5000 steps per metre; files are matched by stamps; distortion is not corrected.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.camera.image_geometry import returned
from eqa_nodes.core.errors import BadFrame, BadPose, StorageError
from eqa_nodes.core.storage.text import by_number, inside
from eqa_nodes.core.types.views import Frame, Intrinsics
from eqa_nodes.recordings.episode_history import recorded_format
from eqa_nodes.recordings.formats.cameras import FARTHEST_M, base_below, camera_pose, mount, pinhole, rigid
from eqa_nodes.recordings.formats.map_frames import DepthView, find_map_frame
from eqa_nodes.wire.image_files import read_bounded, read_raw_depth, read_rgb, text_of

# PrimeSense as Redwood and Open3D publish it (principal point 319.5, 239.5 from the centre of the first pixel).
PRIMESENSE = Intrinsics(640, 480, 525.0, 525.0, 320.0, 240.0)
COLOURS, DEPTHS = ("color", "rgb"), ("depth",)
POSES_REMEDY = "Find the poses with RTAB-Map and read its database (docs/histories.md, A recording without poses)"
_TUM_STEPS = 5000.0  # per metre, in the depth images of the TUM RGB-D benchmark
_CAMERA_FILES = ("intrinsic.json", "camera_intrinsic.json", "intrinsics.json")


def read_depth(path: Path, steps_per_metre: float = 1000.0) -> np.ndarray:
    """Read a 16-bit depth image as (H, W) float32 metres, 0 = no return."""
    return (returned(read_raw_depth(path).astype(np.uint32)) / steps_per_metre).astype(np.float32)


def read_trajectory(path: Path) -> np.ndarray:
    """Return (n, 4, 4) camera-to-world matrices (OpenCV camera axes) of a .log file: a line of ids, then four rows."""
    try:
        poses = np.array(text_of(read_bounded(path)).split(), np.float64).reshape(-1, 19)[:, 3:].reshape(-1, 4, 4)
    except (BadFrame, ValueError) as error:
        raise StorageError(f"trajectory {path} cannot be read ({error}): expected ids and a 4x4 matrix for each pose"
                           ) from error
    rotations = poses[:, :3, :3]
    if not (np.abs(poses) <= FARTHEST_M).all() or not np.allclose(poses[:, 3], (0, 0, 0, 1)) or not np.allclose(
            rotations @ rotations.transpose(0, 2, 1), np.eye(3), atol=1e-3) or np.any(np.linalg.det(rotations) < 0):
        raise StorageError(f"trajectory {path} holds a matrix that is not a rigid transform")
    return poses


class FolderCamera:
    """The camera of a folder's images: from a file beside them (Open3D's JSON), else assumed.

    assumed: note on the assumption, "" if nothing is assumed.
    """

    def __init__(self, folder: Path, assumed: Intrinsics = PRIMESENSE, source: str = "a PrimeSense's") -> None:
        """Raises StorageError for an invalid camera file."""
        self._assumed, self._matrix = assumed, _matrix_of(folder)
        self.assumed = "" if self._matrix is not None else (
            f"the intrinsics are assumed: {source}, fx {assumed.fx:g}, fy {assumed.fy:g}, cx {assumed.cx - 0.5:g}, cy "
            f"{assumed.cy - 0.5:g} (a file {_CAMERA_FILES[0]} beside the images would give the right ones)")

    def of(self, image: np.ndarray) -> Intrinsics:
        """Return the intrinsics of an image. Raises BadFrame when they are for another size, or unknown."""
        if self._matrix is not None:
            return pinhole(self._matrix, image.shape, 0.0)
        if image.shape[:2] != (self._assumed.height, self._assumed.width):
            raise BadFrame(f"the camera of images of {image.shape[1]}x{image.shape[0]} is not known: put a file "
                           f"{_CAMERA_FILES[0]} beside them, as Open3D writes it")
        return self._assumed


def _matrix_of(folder: Path) -> np.ndarray | None:
    """Return the (3, 3) camera matrix that is in a file, None without such a file."""
    path = next((folder / name for name in _CAMERA_FILES if (folder / name).is_file()), None)
    if path is None:
        return None
    try:
        columns = json.loads(read_bounded(path, 1 << 16))["intrinsic_matrix"]
        return np.array(columns, np.float64).reshape(3, 3).T
    except (ValueError, KeyError, TypeError, BadPose) as error:
        raise StorageError(f"{path} is not the camera file that Open3D writes (intrinsic_matrix, by columns): "
                           f"{error}") from error


class RgbdFiles(NamedTuple):
    """Images of one time. pose: world_from_camera (4, 4); None if it is missing."""

    stamp_ns: int
    color: Path
    depth: Path | None
    pose: np.ndarray | None


class RgbdFolder:
    """The frames of a folder, in the map frame that `find_map_frame` finds: the floor defines gravity.

    notes: how up was found, and whether the intrinsics are assumed.
    """

    def __init__(self, name: object, moments: Sequence[RgbdFiles], camera: FolderCamera,
                 steps_per_metre: float = 1000.0, z_up: bool = False) -> None:
        """Raises StorageError if no image is usable."""
        self._moments, self._steps_per_metre = moments, steps_per_metre
        self._camera = camera
        found = find_map_frame(name, len(moments), self._seen, z_up)
        self._map_from_world = found.map_from_world
        self.notes = (found.note, *filter(None, [camera.assumed]))

    def __len__(self) -> int:
        return len(self._moments)

    def __iter__(self) -> Iterator[Frame]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: int) -> Frame:
        """Return one frame. Raises BadFrame when it is incomplete or cannot be read."""
        if not 0 <= index < len(self):
            raise IndexError(index)
        moment = self._moments[index]
        depth_m, k, world_from_camera = self._seen(index)
        rgb = read_rgb(moment.color)
        if rgb.shape[:2] != depth_m.shape:
            raise BadFrame(f"{moment.depth} is {depth_m.shape}, its colour image {rgb.shape[:2]}: wanted depth of the "
                           "size of colour")
        map_from_camera = self._map_from_world @ world_from_camera
        map_from_base = base_below(map_from_camera, 0.0)
        return Frame(moment.stamp_ns, rgb, depth_m, k, map_from_base, mount(map_from_base, map_from_camera))

    def _seen(self, index: int) -> DepthView:
        _, _, depth, pose = self._moments[index]
        if depth is None or pose is None:
            raise BadFrame("no depth image" if depth is None else "no pose")
        depth_m = read_depth(depth, self._steps_per_metre)
        return depth_m, self._camera.of(depth_m), rigid(pose, f"the pose of {depth}")


def read_redwood(folder: Path, rate_hz: float = 30.0) -> RgbdFolder:
    """Return the frames of Redwood's layout; stamps begin at one period.

    Raises StorageError when the numbers of colour images, depth images and poses differ.
    """
    colors, depths = images_in(folder, COLOURS), images_in(folder, DEPTHS)
    poses = read_trajectory(folder / "trajectory.log")
    if not len(colors) == len(depths) == len(poses) > 0:
        raise StorageError(f"{folder} holds {len(colors)} colour and {len(depths)} depth images for {len(poses)} "
                           "poses: the three numbers must be equal and not 0")
    moments = [RgbdFiles(round((i + 1) * 1e9 / rate_hz), *each)
               for i, each in enumerate(zip(colors, depths, poses, strict=True))]
    return RgbdFolder(folder, moments, FolderCamera(folder))


def images_in(folder: Path, names: Sequence[str]) -> list[Path]:
    """Return the images of the first of these folders that exists, in the order of their numbers."""
    found = [p for name in names if (folder / name).is_dir() for p in (folder / name).iterdir()
             if p.suffix.lower() in (".png", ".jpg", ".jpeg", ".pgm", ".ppm")]
    return sorted(found, key=lambda path: by_number(path.name))


def holds_rgbd(folder: Path) -> bool:
    """Return whether a folder has folders of colour and of depth images."""
    return any((folder / name).is_dir() for name in COLOURS) and any((folder / name).is_dir() for name in DEPTHS)


TUM_COLOURS, TUM_DEPTHS, POSES = "rgb.txt", "depth.txt", "groundtruth.txt"
_TOGETHER_S = 0.02  # maximum difference between matching stamps, as in the benchmark's associate.py
_LENSES = {"freiburg1": (517.3, 516.5, 318.6, 255.3), "freiburg2": (520.9, 521.0, 325.1, 249.7),
           "freiburg3": (535.4, 539.2, 320.1, 247.6)}  # fx, fy, cx, cy from the centre of the first pixel


def read_tum(folder: Path) -> RgbdFolder:
    """Return the frames of a sequence. Raises StorageError when a list cannot be read, or no frame is complete."""
    if not (folder / POSES).is_file():
        raise StorageError(f"{folder} has no {POSES}, which says where the camera was. {POSES_REMEDY}")
    colors, depths, poses = (list(_lines(folder / name)) for name in (TUM_COLOURS, TUM_DEPTHS, POSES))
    stamps = [stamp for stamp, _ in colors]
    at_depth, at_pose = (nearest(stamps, [stamp for stamp, _ in found]) for found in (depths, poses))
    moments = [RgbdFiles(round(stamp * 1e9), inside(folder, words[0]),
                      None if d < 0 else inside(folder, depths[d][1][0]),
                      None if p < 0 else _pose(folder, poses[p][1]))
               for (stamp, words), d, p in zip(colors, at_depth, at_pose, strict=True)]
    return RgbdFolder(folder, moments, _camera_of(folder), steps_per_metre=_TUM_STEPS, z_up=True)


def nearest(stamps: Sequence[float], others: Sequence[float]) -> list[int]:
    """Return for each stamp the index of the nearest other stamp, -1 if it is over 20 ms away. Stamps in seconds."""
    if not others or not stamps:
        return [-1] * len(stamps)
    from scipy.spatial import KDTree  # takes 0.1 s, which every start of eqa ask would pay

    apart, at = KDTree(np.array(others)[:, None]).query(np.array(stamps)[:, None])
    return np.where(apart <= _TOGETHER_S, at, -1).tolist()


def _camera_of(folder: Path) -> FolderCamera:
    """Return the camera of a sequence: its file, else the benchmark's for the Kinect in the folder's name."""
    named = re.search("freiburg[123]", folder.resolve().name)
    if named is None:
        return FolderCamera(folder)
    fx, fy, cx, cy = _LENSES[named[0]]
    return FolderCamera(folder, Intrinsics(640, 480, fx, fy, cx + 0.5, cy + 0.5), f"TUM's for {named[0]}")


def _pose(folder: Path, words: Sequence[str]) -> np.ndarray | None:
    try:
        return camera_pose(np.array(words, np.float64).reshape(7))
    except ValueError as error:
        raise StorageError(f"{folder / POSES}: {' '.join(words)!r:.80} is not a position and a quaternion: {error}"
                           ) from error


def _lines(path: Path) -> Iterator[tuple[float, list[str]]]:
    """Yield the stamp and the following words of each line, without comments. Raises StorageError naming the line.
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
            raise StorageError(f"{path}, line {number} is {line!r:.80}: expected a stamp in seconds and its entry")
        yield stamp, words


REDWOOD = recorded_format("a folder with color/, depth/ and trajectory.log",
                          lambda path: (path / "trajectory.log").is_file(), read_redwood)
TUM = recorded_format(f"a folder with {TUM_COLOURS}, {TUM_DEPTHS} and {POSES}",
                      lambda path: (path / TUM_COLOURS).is_file() and (path / TUM_DEPTHS).is_file(), read_tum)
