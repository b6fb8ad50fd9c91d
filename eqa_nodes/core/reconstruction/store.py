"""All blocks of a reconstruction: those in memory, and those on disk that have not been seen for longest."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from itertools import islice

import numpy as np

from eqa_nodes.core.errors import MapFull
from eqa_nodes.core.reconstruction.blocks import BLOCK_BYTES, Blocks, around, keys_of, places_of
from eqa_nodes.core.reconstruction.config import ReconstructionConfig
from eqa_nodes.core.reconstruction.spill import BlockFile

_FIRST_BLOCKS = 10_000  # room at the start; it doubles when it is full
_MOVED = 16  # this part of max_blocks is written to disk at once, so that not every frame writes
_TILE = 32  # blocks along the edge of a part that is extracted at once


class BlockStore:
    """At most max_blocks blocks in memory, any number on disk; each block is in one of the two."""

    def __init__(self, config: ReconstructionConfig) -> None:
        self._config = config
        self.memory = Blocks(config.voxel_m, min(_FIRST_BLOCKS, config.max_blocks))
        self.disk = BlockFile(config.spill_folder)
        self._seen: OrderedDict[int, None] = OrderedDict()  # keys in memory, the one seen longest ago first

    def __len__(self) -> int:
        return len(self.memory) + len(self.disk)

    def keys(self) -> np.ndarray:
        """Return the keys of all blocks, sorted."""
        return np.sort(np.concatenate([self.memory.keys(), self.disk.keys()])) if len(self) else np.empty(0, np.int64)

    def known(self, keys: np.ndarray) -> np.ndarray:
        """Return those of the keys whose blocks are here."""
        return keys[self.memory.holds(keys) | self.disk.holds(keys)] if len(keys) else keys

    def bring(self, keys: np.ndarray) -> None:
        """Make room in memory for these blocks, and read those of them that are on disk.

        Raises MapFull where they alone are too many, StorageError where the disk is full; nothing is lost then.
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
        """Return a copy of blocks that are here."""
        copied = Blocks(self._config.voxel_m, len(keys))
        held = self.memory.holds(keys) if len(keys) else np.empty(0, bool)
        for source, of in ((self.memory.take, keys[held]), (self.disk.read, keys[~held])):
            if len(of):
                copied.put(of, source(of))
        return copied

    def tiles(self) -> Iterator[tuple[np.ndarray, Blocks]]:
        """Yield parts that together are all: the keys (sorted) that one is for, and those blocks with the next ones."""
        keys = self.keys()
        tile = keys_of(np.floor_divide(places_of(keys), _TILE))
        for one in np.unique(tile):
            own = keys[tile == one]
            yield own, self.part(self.known(around(own)))

    def _move_to_disk(self, keys: np.ndarray, excess: int) -> None:
        """Write the blocks that were not seen for longest to disk, apart from these; at least so many."""
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
