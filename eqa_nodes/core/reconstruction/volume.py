"""A coloured surface out of depth images: a truncated signed distance field (Curless and Levoy 1996) over Open3D."""

from __future__ import annotations

import numpy as np

from eqa_nodes.core.errors import BadFrame, MapFull
from eqa_nodes.core.reconstruction.blocks import BLOCK as BLOCK
from eqa_nodes.core.reconstruction.blocks import BLOCK_BYTES, LARGEST, Blocks, spread
from eqa_nodes.core.reconstruction.config import ReconstructionConfig
from eqa_nodes.core.reconstruction.labels import LabelVotes
from eqa_nodes.core.reconstruction.live import Changed
from eqa_nodes.core.types.surfaces import Cloud, Mesh
from eqa_nodes.core.types.views import Frame, Intrinsics, check_frame, clean_depth

_FIRST_BLOCKS = 10_000  # room at the start; it doubles when it is full


class Reconstruction:
    """The surfaces that frames have shown, in the map frame. Its memory grows with them, up to max_blocks blocks."""

    def __init__(self, config: ReconstructionConfig = ReconstructionConfig()) -> None:
        """Raises MissingExtra without Open3D, ConfigError where the system lacks a library that it needs."""
        self.config, self.frames = config, 0
        self._blocks = Blocks(config.voxel_m, min(_FIRST_BLOCKS, config.max_blocks))
        self._votes = LabelVotes(config.voxel_m)
        self._changed: list[np.ndarray] = []  # keys of blocks, since `changed` was asked

    @property
    def blocks(self) -> int:
        """Blocks in use, each of BLOCK_BYTES."""
        return len(self._blocks)

    def add(self, frame: Frame) -> None:
        """Add what a frame shows; it changes nothing when it raises.

        Raises BadFrame for a frame that cannot be used, MapFull where it shows more than there is room for.
        """
        depth_m, camera_from_map = _checked(frame, self.config)
        shot = self._blocks.shot(depth_m, frame.rgb * np.float32(1 / 255), _matrix(frame.intrinsics), camera_from_map,
                                 self.config.range_m, self.config.truncation_m / self.config.voxel_m)
        keys = self._blocks.before(shot)
        self._check_room(keys)
        self._blocks.integrate(keys, shot)
        self._votes.add(frame, depth_m)
        self._changed.append(keys)
        self.frames += 1

    def mesh(self) -> Mesh:
        """Return the surfaces; without any, arrays of no rows."""
        mesh = self._blocks.mesh(self._weight)
        return mesh._replace(labels=self._votes.of(mesh.vertices)) if len(mesh.vertices) else mesh

    def cloud(self) -> Cloud:
        """Return points on the surfaces, about one for each voxel edge that they cross."""
        return self._blocks.cloud(self._weight)

    def changed(self) -> Changed:
        """Return a copy of what has changed since the last call, for `LivePoints`; frames may be added meanwhile."""
        touched = np.unique(np.concatenate(self._changed)) if self._changed else np.empty(0, np.int64)
        owners = self._here(spread(touched, -1))  # a point on an edge into a block is the block's before it
        part = self._blocks.part(self._here(spread(owners, 1)))
        self._changed = []
        return Changed(owners, part, self._weight)

    def _here(self, keys: np.ndarray) -> np.ndarray:
        return keys[self._blocks.holds(keys)] if len(keys) else keys

    @property
    def _weight(self) -> float:
        return self.config.min_views - 0.5  # Open3D compares with >=, or with >, by version

    def _check_room(self, keys: np.ndarray) -> None:
        """Raise MapFull where not all of these blocks find room."""
        if self.blocks + len(keys) <= self.config.max_blocks:
            return
        new = len(keys) - int(np.count_nonzero(self._blocks.holds(keys)))
        if self.blocks + new > self.config.max_blocks:
            raise MapFull(f"the reconstruction is full: {self.config.max_blocks} blocks "
                          f"({self.config.max_blocks * BLOCK_BYTES / 1e6:.0f} MB); raise max_blocks, or take larger "
                          "voxels")


def _checked(frame: Frame, config: ReconstructionConfig) -> tuple[np.ndarray, np.ndarray]:
    """Return depth (H, W) float32 metres without bad values, and camera_from_map (4, 4). Raises BadFrame."""
    if frame.rgb is None or not frame.rgb.size:
        raise BadFrame("the frame has no colour image: a reconstruction needs colour and depth")
    check_frame(frame)
    k = frame.intrinsics
    if not (0 < k.cx < k.width and 0 < k.cy < k.height):
        raise BadFrame(f"{k}: the principal point lies outside the image; is camera_info that of another size?")
    depth_m = np.ascontiguousarray(clean_depth(frame.depth_m, config.range_m)[0])
    if not depth_m.any():
        raise BadFrame(f"no depth within {config.range_m:g} m")
    map_from_camera = frame.map_from_camera()
    _check_place(map_from_camera[:3, 3], config)
    return depth_m, np.linalg.inv(map_from_camera)


def _check_place(xyz: np.ndarray, config: ReconstructionConfig) -> None:
    """Raise BadFrame for a camera so far away that its blocks have no number."""
    farthest_m = LARGEST * BLOCK * config.voxel_m / 2
    if np.abs(xyz).max() > farthest_m:
        raise BadFrame(f"the camera is at {np.round(xyz).tolist()} m, more than {farthest_m:.0f} m from the map's "
                       "origin: is its pose in the map frame, in metres?")


def _matrix(k: Intrinsics) -> np.ndarray:
    """Return the (3, 3) intrinsic matrix. Open3D cuts a projected coordinate to a pixel, so its centre is at +0.5."""
    return np.array([[k.fx, 0.0, k.cx], [0.0, k.fy, k.cy], [0.0, 0.0, 1.0]])
