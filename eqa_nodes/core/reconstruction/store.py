"""All blocks of a reconstruction: in memory, and the least recently seen ones on disk."""

from __future__ import annotations

import os
import tempfile
from collections import OrderedDict
from collections.abc import Iterator
from itertools import islice
from typing import IO, NamedTuple

import numpy as np

from eqa_nodes.core.errors import MapFull, StorageError
from eqa_nodes.core.reconstruction.blocks import BLOCK, BLOCK_BYTES, FIELDS, Blocks, around, keys_of, places_of
from eqa_nodes.core.reconstruction.config import ReconstructionConfig
from eqa_nodes.core.types.views import Cloud, Mesh

_FIRST_BLOCKS = 10_000  # initial capacity, which is doubled when it is used up
_MOVED = 16  # 1 / 16 of max_blocks is written to disk at once, so that not every frame writes
_TILE = 32  # blocks along the edge of a tile that is extracted at once
_ON_VOXEL = 1e-3  # share of a voxel within which a coordinate is rounded to the voxel
_COARSER = 1.2


class BlockFile:
    """A temporary file of blocks, addressed by keys. The system removes it when the process ends."""

    def __init__(self, folder: str) -> None:
        """folder: folder of the file, which is created with the first block; "" = the system's temporary folder."""
        self._folder = folder
        self._file: IO[bytes] | None = None
        self._keys, self._slots = np.empty(0, np.int64), np.empty(0, np.int64)  # sorted by key
        self._free: list[int] = []
        self._end = 0

    def __len__(self) -> int:
        return len(self._keys)

    def keys(self) -> np.ndarray:
        """Return the keys of all blocks, sorted."""
        return self._keys

    def holds(self, keys: np.ndarray) -> np.ndarray:
        """Return for each key whether its block is stored, (n,) bool."""
        if not len(self._keys):
            return np.zeros(len(keys), bool)
        at = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.asarray(self._keys[at] == keys)

    def put(self, keys: np.ndarray, values: list[np.ndarray]) -> None:
        """Write new blocks. Raises StorageError if the disk is full; then none of them is stored."""
        records = np.concatenate([part.reshape(len(keys), -1) for part in values], axis=1)
        reused = min(len(self._free), len(keys))
        slots = [*self._free[:reused], *range(self._end, self._end + len(keys) - reused)]
        try:
            number = self._opened().fileno()
            for slot, record in zip(slots, records, strict=True):
                if os.pwrite(number, record.tobytes(), slot * BLOCK_BYTES) != BLOCK_BYTES:
                    raise OSError("the disk is full")
        except OSError as error:
            raise StorageError(f"the reconstruction's blocks cannot be written to {self._place()}: {error}; free some "
                               "room there, name another spill_folder, or raise max_blocks") from error
        del self._free[:reused]
        self._end += len(keys) - reused
        order = np.argsort(together := np.concatenate([self._keys, keys]))
        self._keys, self._slots = together[order], np.concatenate([self._slots, slots]).astype(np.int64)[order]

    def read(self, keys: np.ndarray) -> list[np.ndarray]:
        """Return the values of stored blocks. Raises StorageError if they cannot be read."""
        records = np.empty((len(keys), BLOCK_BYTES // 4), np.float32)
        if len(keys):
            number = self._opened().fileno()
            for record, slot in zip(records, self._slots[np.searchsorted(self._keys, keys)], strict=True):
                read = os.pread(number, BLOCK_BYTES, int(slot) * BLOCK_BYTES)
                if len(read) != BLOCK_BYTES:
                    raise StorageError(f"the reconstruction's blocks in {self._place()} cannot be read: {len(read)} of "
                                       f"{BLOCK_BYTES} bytes came")
                record[:] = np.frombuffer(read, np.float32)
        ends = np.cumsum([BLOCK ** 3 * shape[0] for _, shape in FIELDS])[:-1]
        return [part.reshape(len(keys), BLOCK, BLOCK, BLOCK, -1) for part in np.split(records, ends, axis=1)]

    def remove(self, keys: np.ndarray) -> None:
        """Remove stored blocks; their space is reused."""
        at = np.searchsorted(self._keys, keys)
        self._free.extend(self._slots[at].tolist())
        self._keys, self._slots = np.delete(self._keys, at), np.delete(self._slots, at)

    def _opened(self) -> IO[bytes]:
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="eqa-blocks-", dir=self._folder or None, buffering=0)  # noqa: SIM115
        return self._file

    def _place(self) -> str:
        return self._folder or tempfile.gettempdir()


class BlockStore:
    """Keeps at most max_blocks blocks in memory and the others on disk; each block is in one of the two."""

    def __init__(self, config: ReconstructionConfig) -> None:
        self._config = config
        self.memory = Blocks(config.voxel_m, min(_FIRST_BLOCKS, config.max_blocks))
        self.disk = BlockFile(config.spill_folder)
        self._seen: OrderedDict[int, None] = OrderedDict()  # keys in memory, least recently seen first

    def __len__(self) -> int:
        return len(self.memory) + len(self.disk)

    def keys(self) -> np.ndarray:
        """Return the keys of all blocks, sorted."""
        return np.sort(np.concatenate([self.memory.keys(), self.disk.keys()])) if len(self) else np.empty(0, np.int64)

    def known(self, keys: np.ndarray) -> np.ndarray:
        """Return the keys whose blocks are stored."""
        return keys[self.memory.holds(keys) | self.disk.holds(keys)] if len(keys) else keys

    def bring(self, keys: np.ndarray) -> None:
        """Load these blocks into memory: make room, read stored ones from disk, and add new ones.

        Raises MapFull if they alone are too many, StorageError if the disk is full; nothing is lost then.
        """
        held = self.memory.holds(keys)
        excess = len(self.memory) + int(np.count_nonzero(~held)) - self._config.max_blocks
        if excess > 0:
            self._move_to_disk(keys, excess)
        absent = keys[~held]
        returns = self.disk.holds(absent)
        if len(back := absent[returns]):
            self.memory.put(back, self.disk.read(back))
            self.disk.remove(back)
        if len(new := absent[~returns]):
            self.memory.put_empty(new)
        for key in keys.tolist():
            self._seen[key] = None
            self._seen.move_to_end(key)

    def part(self, keys: np.ndarray) -> Blocks:
        """Return a copy of stored blocks."""
        copied = Blocks(self._config.voxel_m, len(keys))
        held = self.memory.holds(keys) if len(keys) else np.empty(0, bool)
        for source, of in ((self.memory.take, keys[held]), (self.disk.read, keys[~held])):
            if len(of):
                copied.put(of, source(of))
        return copied

    def tiles(self) -> Iterator[tuple[np.ndarray, Blocks]]:
        """Yield tiles that together cover all blocks: sorted keys of the tile, and its blocks with their neighbours."""
        keys = self.keys()
        tile = keys_of(np.floor_divide(places_of(keys), _TILE))
        for one in np.unique(tile):
            own = keys[tile == one]
            yield own, self.part(self.known(around(own)))

    def _move_to_disk(self, keys: np.ndarray, excess: int) -> None:
        """Move at least `excess` of the least recently seen blocks to disk, except these."""
        kept, limit = set(keys.tolist()), self._config.max_blocks
        if len(kept) > limit:
            raise MapFull(f"one frame shows more blocks than memory may hold, max_blocks = {limit} "
                          f"({limit * BLOCK_BYTES / 1e6:.0f} MB): raise max_blocks, or take larger voxels")
        old = (key for key in self._seen if key not in kept)
        moved = np.sort(np.fromiter(islice(old, max(excess, limit // _MOVED)), np.int64))
        self.disk.put(moved, self.memory.take(moved))
        self.memory.erase(moved)
        for key in moved.tolist():
            del self._seen[key]


def own_mesh(part: Blocks, own: np.ndarray, weight: float) -> Mesh:
    """Return the mesh of the triangles of a part that lie in the blocks of the keys `own`."""
    mesh = part.mesh(weight)
    if not len(mesh.triangles):
        return mesh
    middles = mesh.vertices[mesh.triangles].mean(axis=1, dtype=np.float64)
    inside = np.isin(keys_of(np.floor(middles / (part.voxel_m * BLOCK)).astype(np.int64)), own)
    used, triangles = np.unique(mesh.triangles[inside], return_inverse=True)
    return Mesh(mesh.vertices[used], triangles.reshape(-1, 3).astype(np.int32), mesh.colours[used])


def joined(meshes: list[Mesh]) -> Mesh:
    """Return several meshes as one, with equal vertices merged."""
    first = np.cumsum([0, *(len(mesh.vertices) for mesh in meshes)])[:-1]
    vertices = np.concatenate([mesh.vertices for mesh in meshes])
    rows = np.ascontiguousarray(vertices).view([("", vertices.dtype)] * 3).reshape(-1)
    _, kept, same = np.unique(rows, return_index=True, return_inverse=True)
    triangles = np.concatenate([mesh.triangles + start for mesh, start in zip(meshes, first, strict=True)])
    colours = np.concatenate([mesh.colours for mesh in meshes])
    return Mesh(vertices[kept], same.reshape(-1)[triangles].astype(np.int32), colours[kept])


def own_cloud(part: Blocks, own: np.ndarray, weight: float) -> tuple[Cloud, np.ndarray]:
    """Return the points of a part in the blocks of the keys `own`, and the keys of their blocks, sorted by both."""
    found = part.cloud(weight)
    owners = keys_of(_places(found.points, part.voxel_m))
    order = np.lexsort((*found.points.T, owners))  # Open3D's order differs from run to run
    order = order[np.isin(owners[order], own)]
    return Cloud(found.points[order], found.colours[order]), owners[order]


def _places(points: np.ndarray, voxel_m: float) -> np.ndarray:
    """Return the places of the blocks of points (n, 3). A point lies on an edge between two voxels."""
    at = points.astype(np.float64) / voxel_m
    nearest = np.rint(at)
    voxel = np.where(np.abs(at - nearest) < _ON_VOXEL, nearest, np.floor(at))
    places: np.ndarray = np.floor_divide(voxel, BLOCK).astype(np.int64)
    return places


class ChangedBlocks(NamedTuple):
    """A copy of the changes since the last one. owners: sorted keys of the blocks whose points are new.

    blocks: those and the neighbours that their points depend on; weight: minimum weight of a surface.
    """

    owners: np.ndarray
    blocks: Blocks
    weight: float


class LivePoints:
    """Points on all surfaces, updated by changes. The same changes give the same points in the same order."""

    def __init__(self, voxel_m: float) -> None:
        self._voxel_m = voxel_m
        self._owners = np.empty(0, np.int64)
        self._all = Cloud(np.empty((0, 3), np.float32), np.empty((0, 3), np.uint8))

    def update(self, changed: ChangedBlocks) -> None:
        """Replace the points of the changed blocks. It takes about a second for a hundred thousand points."""
        found, owners = own_cloud(changed.blocks, changed.owners, changed.weight)
        kept = ~np.isin(self._owners, changed.owners)
        self._owners = np.concatenate([self._owners[kept], owners])
        self._all = Cloud(np.concatenate([self._all.points[kept], found.points]),
                          np.concatenate([self._all.colours[kept], found.colours]))

    def cloud(self, most: int) -> Cloud:
        """Return at most `most` points: one per cell of a grid, with cells enlarged as needed."""
        points, cell_m = self._all.points, self._voxel_m * max(1.0, np.sqrt(len(self._all.points) / most))
        chosen = np.arange(len(points))
        while len(chosen) > most:
            cells = keys_of(np.floor(points / cell_m).astype(np.int64))
            chosen = np.sort(np.unique(cells, return_index=True)[1])
            cell_m *= _COARSER
        return Cloud(points[chosen], self._all.colours[chosen])
