"""Folders of RGB-D images with a trajectory (the Redwood layout: color/, depth/, trajectory.log), and depth formats."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from eqa_nodes.core.errors import BadFrame, StorageError
from eqa_nodes.core.traits import HistoryTraits
from eqa_nodes.core.types.views import Frame, Intrinsics
from eqa_nodes.recordings.cameras import FARTHEST_M, base_below, heights, mount
from eqa_nodes.recordings.episode_history import EpisodeHistory, RecordedHistory
from eqa_nodes.recordings.files import read_bounded, read_raw_depth, read_rgb

# PrimeSense as Redwood and Open3D publish it (principal point 319.5, 239.5 from the centre of the first pixel).
PRIMESENSE = Intrinsics(640, 480, 525.0, 525.0, 320.0, 240.0)
_LEVEL = np.cos(np.radians(20.0))  # a first camera that is tilted less has one of the world's axes for its vertical


class RedwoodFormat:
    """Redwood's folders."""

    traits = HistoryTraits(looks_like="a folder with color/, depth/ and trajectory.log")

    @staticmethod
    def fits(path: Path) -> bool:
        """Return whether a path is such a folder."""
        return (path / "trajectory.log").is_file()

    @staticmethod
    def open(path: Path) -> EpisodeHistory:
        """Return its history. Raises StorageError."""
        return RecordedHistory(path.name, RgbdFolder(path))


def _millimetres(raw: np.ndarray) -> np.ndarray:
    """Metres of millimetres: Redwood, ScanNet, most cameras."""
    return raw / 1000.0


def _tum(raw: np.ndarray) -> np.ndarray:
    """Metres of steps of 0.2 mm (TUM RGB-D benchmark: 5000 a metre)."""
    return raw / 5000.0


def _sun(raw: np.ndarray) -> np.ndarray:
    """Metres of millimetres whose 16 bits are rotated to the left by three (SUN RGB-D)."""
    return ((raw >> 3 | raw << 13) & 0xFFFF) / 1000.0


def _nyu(raw: np.ndarray) -> np.ndarray:
    """Metres of raw Kinect disparity in swapped bytes; 2047 = no return (constants of the NYU Depth V2 toolbox)."""
    disparity = ((raw & 0xFF) << 8 | raw >> 8).astype(np.float64)
    return np.where(disparity < 1092.0, 351.3 / np.maximum(1092.5 - disparity, 0.5), 0.0)


# raw: (H, W) uint32 as stored -> metres, 0 = no return.
DEPTH_FORMATS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "mm": _millimetres, "tum": _tum, "sun": _sun, "nyu": _nyu}


def read_depth(path: Path, depth_format: str = "mm") -> np.ndarray:
    """Return (H, W) float32 metres, 0 = no return, of a 16-bit depth image. depth_format: one of DEPTH_FORMATS."""
    return DEPTH_FORMATS[depth_format](read_raw_depth(path).astype(np.uint32)).astype(np.float32)


def read_trajectory(path: Path) -> np.ndarray:
    """Return (n, 4, 4) camera-to-world matrices (OpenCV camera axes) of a .log file: a line of ids, then four rows."""
    try:
        poses = np.array(read_bounded(path).split(), np.float64).reshape(-1, 19)[:, 3:].reshape(-1, 4, 4)
    except (BadFrame, ValueError) as error:
        raise StorageError(f"trajectory {path} cannot be read ({error}): wanted ids and a 4x4 matrix each") from error
    rotations = poses[:, :3, :3]
    if not (np.abs(poses) <= FARTHEST_M).all() or not np.allclose(poses[:, 3], (0, 0, 0, 1)) or not np.allclose(
            rotations @ rotations.transpose(0, 2, 1), np.eye(3), atol=1e-3) or np.any(np.linalg.det(rotations) < 0):
        raise StorageError(f"trajectory {path} holds a matrix that is not a rigid transform")
    return poses


class RgbdFolder:
    """The frames of a folder, in the map frame: z up, x where the first camera looks, origin on the floor below it.

    Up is the world's axis that the first camera's own up is nearest to; where none is within 20 degrees, the first
    camera is taken to be level. The floor is where the lowest points of the first frame lie (their 2nd percentile).
    """

    def __init__(self, folder: Path, intrinsics: Intrinsics = PRIMESENSE, depth_format: str = "mm",
                 rate_hz: float = 30.0) -> None:
        """Raises StorageError when the folder does not hold as many images of each kind as poses."""
        self.folder, self._intrinsics, self._format = Path(folder), intrinsics, depth_format
        self._period_ns = round(1e9 / rate_hz)
        self._colors, self._depths = (sorted((self.folder / kind).glob("*.*")) for kind in ("color", "depth"))
        self._poses = read_trajectory(self.folder / "trajectory.log")
        if not len(self._colors) == len(self._depths) == len(self._poses) > 0:
            raise StorageError(f"{folder} holds {len(self._colors)} colour and {len(self._depths)} depth images for "
                               f"{len(self._poses)} poses: wanted as many of each, at least one")
        self._map_from_world = self._align()

    def __len__(self) -> int:
        return len(self._poses)

    def __iter__(self) -> Iterator[Frame]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: int) -> Frame:
        """Return one frame; stamps begin at one period."""
        if not 0 <= index < len(self):
            raise IndexError(index)
        map_from_camera = self._map_from_world @ self._poses[index]
        map_from_base = base_below(map_from_camera, 0.0)
        rgb, depth_m = read_rgb(self._colors[index]), read_depth(self._depths[index], self._format)
        return Frame((index + 1) * self._period_ns, rgb, depth_m, self._intrinsics, map_from_base,
                     mount(map_from_base, map_from_camera))

    def _align(self) -> np.ndarray:
        """Return map_from_world."""
        first = self._poses[0]
        up = -first[:3, 1]  # the camera's y axis points down
        nearest = int(np.argmax(np.abs(up)))
        if abs(up[nearest]) > _LEVEL:
            up = np.eye(3)[nearest] * np.sign(up[nearest])
        forward = first[:3, 2] - up * (up @ first[:3, 2])
        forward /= np.linalg.norm(forward)
        rotation = np.stack([forward, np.cross(up, forward), up])
        aligned = np.eye(4)
        aligned[:3, :3] = rotation
        aligned[:3, 3] = -rotation @ first[:3, 3]
        aligned[2, 3] -= self._lowest(aligned @ first)
        return aligned

    def _lowest(self, map_from_camera: np.ndarray) -> float:
        """Return the height of the floor in the first frame."""
        found = heights(read_depth(self._depths[0], self._format), self._intrinsics, map_from_camera)
        if not len(found):
            raise BadFrame(f"{self._depths[0]} holds no depth at all")
        return float(np.percentile(found, 2))

