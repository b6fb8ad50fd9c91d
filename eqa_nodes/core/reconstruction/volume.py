"""A coloured surface out of depth images: a truncated signed distance field (Curless and Levoy 1996) over Open3D."""

from __future__ import annotations

import numpy as np

from eqa_nodes.core.errors import BadFrame
from eqa_nodes.core.reconstruction.blocks import BLOCK, LARGEST, around, spread
from eqa_nodes.core.reconstruction.carving import seen_through
from eqa_nodes.core.reconstruction.config import ReconstructionConfig
from eqa_nodes.core.reconstruction.labels import LabelVotes
from eqa_nodes.core.reconstruction.live import ChangedBlocks
from eqa_nodes.core.reconstruction.store import BlockStore
from eqa_nodes.core.reconstruction.tiles import joined, own_cloud, own_mesh
from eqa_nodes.core.types.surfaces import Cloud, Mesh
from eqa_nodes.core.types.views import Frame, Intrinsics, check_frame, clean_depth

_AT_ONCE = 40_000  # blocks that are extracted together; extraction takes as much memory again as they do


class Reconstruction:
    """The surfaces that frames have shown, in the map frame.

    Its memory grows with them, up to max_blocks blocks; those that were not seen for longest are on disk.
    """

    def __init__(self, config: ReconstructionConfig = ReconstructionConfig()) -> None:
        """Raises MissingExtra without Open3D, ConfigError where the system lacks a library that it needs."""
        self.config, self.frames = config, 0
        self._store = BlockStore(config)
        self._votes = LabelVotes(config.voxel_m)
        self._changed: list[np.ndarray] = []  # keys of blocks, since `changed` was asked

    @property
    def blocks(self) -> int:
        """Blocks in memory, each of BLOCK_BYTES."""
        return len(self._store.memory)

    @property
    def spilled(self) -> int:
        """Blocks on disk, as large."""
        return len(self._store.disk)

    def add(self, frame: Frame) -> None:
        """Add what a frame shows, and let fade what it shows to be gone; no surface changes when it raises.

        Raises BadFrame for a frame that cannot be used, MapFull where it alone shows more than memory may hold,
        StorageError where blocks have to go to disk, and that is full.
        """
        depth_m, map_from_camera = _checked(frame, self.config)
        memory = self._store.memory
        shot = memory.shot(depth_m, frame.rgb * np.float32(1 / 255), _matrix(frame.intrinsics),
                           np.linalg.inv(map_from_camera), self.config.range_m,
                           self.config.truncation_m / self.config.voxel_m)
        free = self._store.known(seen_through(depth_m, frame.intrinsics, map_from_camera, self.config))
        keys = np.union1d(memory.near(shot), free)
        self._store.bring(keys)
        memory.integrate(keys, shot)
        memory.limit_weights(keys, self.config.max_weight)
        self._votes.add(frame, depth_m)
        self._changed.append(keys)
        self.frames += 1

    def mesh(self) -> Mesh:
        """Return the surfaces; without any, arrays of no rows."""
        if self._at_once:
            mesh = self._store.memory.mesh(self._weight)
        else:
            mesh = joined([own_mesh(part, own, self._weight) for own, part in self._store.tiles()])
        return mesh._replace(labels=self._votes.of(mesh.vertices)) if len(mesh.vertices) else mesh

    def cloud(self) -> Cloud:
        """Return points on the surfaces, about one for each voxel edge that they cross."""
        if self._at_once:
            return self._store.memory.cloud(self._weight)
        clouds = [own_cloud(part, own, self._weight)[0] for own, part in self._store.tiles()]
        return Cloud(np.concatenate([cloud.points for cloud in clouds]),
                     np.concatenate([cloud.colours for cloud in clouds]))

    def changed(self) -> ChangedBlocks:
        """Return a copy of what has changed since the last call, for `LivePoints`; frames may be added meanwhile."""
        touched = np.unique(np.concatenate(self._changed)) if self._changed else np.empty(0, np.int64)
        owners = self._store.known(spread(touched, -1))  # a point on an edge into a block is the block's before it
        part = self._store.part(self._store.known(around(owners)))
        self._changed = []
        return ChangedBlocks(owners, part, self._weight)

    @property
    def _at_once(self) -> bool:
        return not self.spilled and self.blocks <= _AT_ONCE

    @property
    def _weight(self) -> float:
        return self.config.min_views - 0.5  # Open3D compares with >=, or with >, by version


def _checked(frame: Frame, config: ReconstructionConfig) -> tuple[np.ndarray, np.ndarray]:
    """Return depth (H, W) float32 metres without bad values, and map_from_camera (4, 4). Raises BadFrame."""
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
    return depth_m, map_from_camera


def _check_place(xyz: np.ndarray, config: ReconstructionConfig) -> None:
    """Raise BadFrame for a camera so far away that its blocks have no number."""
    farthest_m = LARGEST * BLOCK * config.voxel_m / 2
    if np.abs(xyz).max() > farthest_m:
        raise BadFrame(f"the camera is at {np.round(xyz).tolist()} m, more than {farthest_m:.0f} m from the map's "
                       "origin: is its pose in the map frame, in metres?")


def _matrix(k: Intrinsics) -> np.ndarray:
    """Return the (3, 3) intrinsic matrix. Open3D cuts a projected coordinate to a pixel, so its centre is at +0.5."""
    return np.array([[k.fx, 0.0, k.cx], [0.0, k.fy, k.cy], [0.0, 0.0, 1.0]])
