"""Blocks of voxels of a truncated signed distance field, addressed by place: Open3D's sparse VoxelBlockGrid.

A place is a row (3,) int32: the block's lowest corner in the map frame divided by its edge, BLOCK * voxel_m. A key is
a place encoded as one int64.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from eqa_nodes.core.errors import ConfigError, MissingExtra
from eqa_nodes.core.types.views import Cloud, Mesh

BLOCK = 8  # voxels along the edge of a block
BLOCK_BYTES = BLOCK ** 3 * (1 + 1 + 3) * 4  # distance, weight and colour, float32
FIELDS = (("tsdf", (1,)), ("weight", (1,)), ("color", (3,)))
LARGEST = 1 << 20  # places lie between -LARGEST and LARGEST
_BITS = 21
_AHEAD = np.array([(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)], np.int32)


def open3d() -> Any:
    """Return the module. Raises MissingExtra without it, ConfigError if the system lacks a library that it needs."""
    try:
        import open3d as library
    except ModuleNotFoundError as error:
        raise MissingExtra(error.name or "open3d", "map3d") from error
    except ImportError as error:  # its wheel needs system libraries
        raise ConfigError(f"open3d cannot be loaded ({error}): install that library; on Debian or Ubuntu: "
                          "apt-get install libusb-1.0-0 libgl1") from error
    return library


class RgbdShot(NamedTuple):
    """A depth and a colour image in Open3D's form, and the further arguments of its calls."""

    depth: Any
    colour: Any
    camera: tuple[Any, ...]


def keys_of(places: np.ndarray) -> np.ndarray:
    """Return keys (n,) int64 of places (n, 3), which sort like (x, y, z)."""
    x, y, z = (places.astype(np.int64) + LARGEST).T
    keys: np.ndarray = (x << 2 * _BITS) | (y << _BITS) | z
    return keys


def places_of(keys: np.ndarray) -> np.ndarray:
    """Return places (n, 3) int32 of keys (n,)."""
    mask = (1 << _BITS) - 1
    return (np.stack([keys >> 2 * _BITS, keys >> _BITS & mask, keys & mask], axis=1) - LARGEST).astype(np.int32)


def spread(keys: np.ndarray, way: int) -> np.ndarray:
    """Return these keys and those of the adjacent blocks along x, y and z, unique. way: 1 or -1 along the axes."""
    places = places_of(keys)[:, None] + way * _AHEAD
    return np.unique(keys_of(places.reshape(-1, 3)))


def around(keys: np.ndarray) -> np.ndarray:
    """Return these keys and those of all blocks that their surfaces depend on; rounding may move a point one block."""
    return np.union1d(spread(keys, 1), spread(keys, -1))


class Blocks:
    """Blocks in memory. The capacity is doubled when it is used up."""

    def __init__(self, voxel_m: float, room: int) -> None:
        """room: initial capacity in blocks. Raises MissingExtra without Open3D, ConfigError if it cannot be loaded."""
        self._o3d, self.voxel_m = open3d(), voxel_m
        core = self._o3d.core
        self._grid = self._o3d.t.geometry.VoxelBlockGrid(
            [name for name, _ in FIELDS], [core.float32] * len(FIELDS), [shape for _, shape in FIELDS], voxel_m, BLOCK,
            max(room, 1), core.Device("CPU:0"))

    def __len__(self) -> int:
        return int(self._grid.hashmap().size())

    def keys(self) -> np.ndarray:
        """Return the keys of all blocks, sorted."""
        table = self._grid.hashmap()
        return np.sort(keys_of(table.key_tensor().numpy()[table.active_buf_indices().numpy()]))

    def shot(self, depth_m: np.ndarray, colour: np.ndarray, matrix: np.ndarray, camera_from_map: np.ndarray,
             range_m: float, truncation: float) -> RgbdShot:
        """Return images for `near` and `integrate`. colour: float32, 0 to 1; truncation: distance in voxels."""
        core, image = self._o3d.core, self._o3d.t.geometry.Image
        return RgbdShot(image(core.Tensor.from_numpy(depth_m)), image(core.Tensor.from_numpy(colour)),
                    (core.Tensor(matrix), core.Tensor(camera_from_map), 1.0, range_m, truncation))

    def near(self, shot: RgbdShot) -> np.ndarray:
        """Return the keys of the blocks near the surfaces in a shot, sorted."""
        return np.sort(keys_of(self._grid.compute_unique_block_coordinates(shot.depth, *shot.camera).numpy()))

    def holds(self, keys: np.ndarray) -> np.ndarray:
        """Return for each key whether its block is stored, (n,) bool."""
        if not len(keys):
            return np.zeros(0, bool)
        return np.asarray(self._grid.hashmap().find(self._tensor(keys))[1].numpy())

    def rows(self, keys: np.ndarray) -> np.ndarray:
        """Return the rows (n,) of stored blocks in the arrays of `values`; valid until the capacity changes."""
        rows: np.ndarray = self._grid.hashmap().find(self._tensor(keys))[0].numpy()
        return rows

    def values(self) -> list[np.ndarray]:
        """Return the arrays of FIELDS, (rows, BLOCK, BLOCK, BLOCK, channels) float32, without copying."""
        return [self._grid.attribute(name).numpy() for name, _ in FIELDS]

    def put(self, keys: np.ndarray, values: list[np.ndarray] | list[float]) -> None:
        """Add new blocks, with values in the order of the keys or one value per field."""
        self._grid.hashmap().activate(self._tensor(keys))
        rows = self.rows(keys)
        for held, new in zip(self.values(), values, strict=True):
            held[rows] = new

    def copy(self, keys: np.ndarray) -> Blocks:
        """Return a copy of some stored blocks."""
        copied = Blocks(self.voxel_m, len(keys))
        if len(keys):
            rows = self.rows(keys)
            copied.put(keys, [held[rows] for held in self.values()])
        return copied

    def integrate(self, keys: np.ndarray, shot: RgbdShot) -> None:
        """Update blocks with a shot; new ones begin empty."""
        self._grid.integrate(self._tensor(keys), shot.depth, shot.colour, *shot.camera)

    def limit_weights(self, keys: np.ndarray, most: float) -> None:
        """Limit the weights of all voxels of these blocks."""
        rows, weights = self.rows(keys), self.values()[1]
        weights[rows] = np.minimum(weights[rows], np.float32(most))

    def mesh(self, weight: float) -> Mesh:
        """Return the surface between voxels of at least this weight; arrays without rows if there is none."""
        if not len(self):
            return Mesh(np.empty((0, 3), np.float32), np.empty((0, 3), np.int32), np.empty((0, 3), np.uint8))
        found = self._grid.extract_triangle_mesh(weight)
        return Mesh(found.vertex.positions.numpy(), found.triangle.indices.numpy().astype(np.int32),
                    _bytes(found.vertex.colors.numpy()))

    def cloud(self, weight: float) -> Cloud:
        """Return the points at which surfaces cross edges between voxels of at least this weight."""
        if not len(self):
            return Cloud(np.empty((0, 3), np.float32), np.empty((0, 3), np.uint8))
        found = self._grid.extract_point_cloud(weight)
        return Cloud(found.point.positions.numpy(), _bytes(found.point.colors.numpy()))

    def _tensor(self, keys: np.ndarray) -> Any:
        return self._o3d.core.Tensor(np.ascontiguousarray(places_of(keys)))


def _bytes(colours: np.ndarray) -> np.ndarray:
    """Return Open3D's colours (n, 3), float 0 to 1, as uint8."""
    return np.rint(np.clip(colours, 0.0, 1.0) * 255).astype(np.uint8)
