"""A coloured surface from depth images: a truncated signed distance field (Curless and Levoy 1996) with Open3D."""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from eqa_nodes.core.errors import BadFrame, MapFull
from eqa_nodes.core.reconstruction.blocks import BLOCK, BLOCK_BYTES, FIELDS, LARGEST, Blocks, around, keys_of, spread
from eqa_nodes.core.reconstruction.config import ReconstructionConfig
from eqa_nodes.core.reconstruction.live_points import ChangedBlocks
from eqa_nodes.core.types.views import Cloud, Frame, Intrinsics, Mesh, check_frame, clean_depth

_HALF = 1 << 15  # cells on each side of the map's origin along an axis: 655 m for cells of 2 cm
_PENDING = 2_000_000  # minimum number of pairs before a merge, whose cost grows with all stored ones
_REACH_CELLS = 1.8  # maximum distance of a vertex from the centre of the cell that labels it, in cells
_FIRST_BLOCKS = 10_000  # initial capacity, which is doubled when it is used up


class LabelVotes:
    """Counts the pixels that showed an instance, by cell of the map.

    Memory grows with the surfaces in labelled frames: 12 bytes for each cell and each instance seen in it.
    """

    def __init__(self, cell_m: float) -> None:
        """cell_m: edge length of a cell, metres."""
        self._cell_m, self.frames = cell_m, 0
        self._keys, self._counts = np.empty(0, np.uint64), np.empty(0, np.uint32)  # sorted by key
        self._new: list[tuple[np.ndarray, np.ndarray]] = []
        self._pending = 0

    def add(self, frame: Frame, depth_m: np.ndarray) -> None:
        """Count the labels of a frame, if it has any. depth_m: (H, W) float32, metres, 0 = not used."""
        if frame.labels is None:
            return
        self.frames += 1
        rows, columns = np.nonzero(depth_m)
        z, k = depth_m[rows, columns].astype(np.float64), frame.intrinsics
        seen = np.stack([(columns + 0.5 - k.cx) / k.fx * z, (rows + 0.5 - k.cy) / k.fy * z, z], axis=1)
        pose = frame.map_from_camera()
        keys, inside = self._keys_of(seen @ pose[:3, :3].T + pose[:3, 3], frame.labels[rows, columns])
        self._new.append(_counted(keys[inside], np.ones(int(inside.sum()), np.uint32)))
        self._pending += len(self._new[-1][0])
        if self._pending > max(_PENDING, len(self._keys)):
            self._merge()

    def of(self, points: np.ndarray) -> np.ndarray | None:
        """Return the instance (n,) uint16 of points (n, 3) metres, map frame; None if no frame had labels."""
        if not self.frames:
            return None
        self._merge()
        if not len(self._keys):
            return np.zeros(len(points), np.uint16)
        cells, labels = self._winners()
        away, nearest = cKDTree(cells).query(points, distance_upper_bound=_REACH_CELLS * self._cell_m)
        return np.where(np.isfinite(away), labels[np.minimum(nearest, len(labels) - 1)], 0).astype(np.uint16)

    def _keys_of(self, points: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return cell and label of each point as one key (n,) uint64, and whether it is inside the range (n,) bool."""
        cell = np.floor(points / self._cell_m).astype(np.int64) + _HALF
        inside: np.ndarray = np.all((cell >= 0) & (cell < 2 * _HALF), axis=1)
        x, y, z = cell.astype(np.uint64).T
        keys: np.ndarray = (x << 48) | (y << 32) | (z << 16) | labels.astype(np.uint64)
        return keys, inside

    def _merge(self) -> None:
        if self._new:
            keys, counts = zip((self._keys, self._counts), *self._new, strict=True)
            self._keys, self._counts = _counted(np.concatenate(keys), np.concatenate(counts))
            self._new, self._pending = [], 0

    def _winners(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the centres of all cells (n, 3) metres, and the most frequent instance (n,) uint16 of each."""
        cell = self._keys >> np.uint64(16)
        best = np.lexsort((self._counts, cell))
        last = np.append(cell[best][1:] != cell[best][:-1], True)
        keys = self._keys[best[last]]
        axes = [((keys >> np.uint64(shift)) & np.uint64(0xFFFF)).astype(np.float64) for shift in (48, 32, 16)]
        middles = (np.stack(axes, axis=1) - _HALF + 0.5) * self._cell_m
        return middles, (keys & np.uint64(0xFFFF)).astype(np.uint16)


def _counted(keys: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the unique keys, sorted, with the sums of their counts."""
    order = np.argsort(keys, kind="stable")
    keys, counts = keys[order], counts[order]
    first = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])) if len(keys) else np.empty(0, np.intp)
    return keys[first], np.add.reduceat(counts, first).astype(np.uint32) if len(first) else counts


class Reconstruction:
    """The surfaces seen in frames, in the map frame.

    Memory grows with them, up to max_blocks blocks; then frames that show more are refused.
    """

    def __init__(self, config: ReconstructionConfig = ReconstructionConfig()) -> None:
        """Raises MissingExtra without Open3D, ConfigError if the system lacks a library that it needs."""
        self.config, self.frames = config, 0
        self._blocks = Blocks(config.voxel_m, min(_FIRST_BLOCKS, config.max_blocks))
        self._votes = LabelVotes(config.voxel_m)
        self._changed: list[np.ndarray] = []  # keys of blocks changed since the last call of `changed`

    @property
    def blocks(self) -> int:
        """Number of blocks in memory, each of BLOCK_BYTES."""
        return len(self._blocks)

    def add(self, frame: Frame) -> None:
        """Add the surfaces in a frame, and fade those that it sees through; no surface changes if it raises.

        Raises BadFrame for an unusable frame, MapFull if its surfaces need more blocks than memory may hold.
        """
        depth_m, map_from_camera = _checked(frame, self.config)
        shot = self._blocks.shot(depth_m, frame.rgb * np.float32(1 / 255), _matrix(frame.intrinsics),
                                 np.linalg.inv(map_from_camera), self.config.range_m,
                                 self.config.truncation_m / self.config.voxel_m)
        free = self._known(seen_through(depth_m, frame.intrinsics, map_from_camera, self.config))
        keys = np.union1d(self._blocks.near(shot), free)
        self._make(keys[~self._blocks.holds(keys)])
        self._blocks.integrate(keys, shot)
        self._blocks.limit_weights(keys, self.config.max_weight)
        self._votes.add(frame, depth_m)
        self._changed.append(keys)
        self.frames += 1

    def mesh(self) -> Mesh:
        """Return the surfaces; arrays without rows if there are none."""
        mesh = self._blocks.mesh(self._weight)
        return mesh._replace(labels=self._votes.of(mesh.vertices)) if len(mesh.vertices) else mesh

    def cloud(self) -> Cloud:
        """Return points on the surfaces, about one per voxel edge that they cross."""
        return self._blocks.cloud(self._weight)

    def changed(self) -> ChangedBlocks:
        """Return a copy of the changes since the last call, for `LivePoints`; frames may be added in the meantime."""
        touched = np.unique(np.concatenate(self._changed)) if self._changed else np.empty(0, np.int64)
        owners = self._known(spread(touched, -1))  # a point on an edge into a block belongs to the one before it
        part = self._blocks.copy(self._known(around(owners)))
        self._changed = []
        return ChangedBlocks(owners, part, self._weight)

    def _known(self, keys: np.ndarray) -> np.ndarray:
        return keys[self._blocks.holds(keys)]

    def _make(self, keys: np.ndarray) -> None:
        """Add new, empty blocks. Raises MapFull."""
        limit = self.config.max_blocks
        if self.blocks + len(keys) > limit:
            raise MapFull(f"the surfaces need more blocks than memory may hold, max_blocks = {limit} "
                          f"({limit * BLOCK_BYTES / 1e6:.0f} MB): raise max_blocks, or take larger voxels")
        if len(keys):
            self._blocks.put(keys, [0.0] * len(FIELDS))

    @property
    def _weight(self) -> float:
        return self.config.min_views - 0.5  # Open3D compares with >= or >, depending on its version


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
    """Raise BadFrame for a camera too far away for the keys of its blocks."""
    farthest_m = LARGEST * BLOCK * config.voxel_m / 2
    if np.abs(xyz).max() > farthest_m:
        raise BadFrame(f"the camera is at {np.round(xyz).tolist()} m, more than {farthest_m:.0f} m from the map's "
                       "origin: is its pose in the map frame, in metres?")


def _matrix(k: Intrinsics) -> np.ndarray:
    """Return the (3, 3) intrinsic matrix. Open3D truncates projected coordinates, so pixel centres are at +0.5."""
    return np.array([[k.fx, 0.0, k.cx], [0.0, k.fy, k.cy], [0.0, 0.0, 1.0]])


def seen_through(depth_m: np.ndarray, k: Intrinsics, map_from_camera: np.ndarray,
                 config: ReconstructionConfig) -> np.ndarray:
    """Return the keys of the blocks between the camera and the surfaces that it sees, sorted, stored or not.

    depth_m: (H, W) float32, metres, 0 = no return, which frees nothing. Rays and their samples are at most a block
    apart, so that the cost depends only on the range and the size of a block.
    """
    block_m = BLOCK * config.voxel_m
    step = max(1, int(block_m * min(k.fx, k.fy) / config.range_m))
    depth_m = depth_m[step // 2::step, step // 2::step]
    v, u = np.indices(depth_m.shape) * step + step // 2 + 0.5
    rays = np.stack([(u - k.cx) / k.fx, (v - k.cy) / k.fy, np.ones_like(u)], axis=-1) @ map_from_camera[:3, :3].T
    samples_m = np.arange(block_m / 2, config.range_m, block_m)
    free = samples_m < (depth_m - config.truncation_m)[..., None]
    ray, sample = np.nonzero(free.reshape(-1, len(samples_m)))
    points = rays.reshape(-1, 3)[ray] * samples_m[sample, None] + map_from_camera[:3, 3]
    return np.unique(keys_of(np.floor(points / block_m).astype(np.int64)))
