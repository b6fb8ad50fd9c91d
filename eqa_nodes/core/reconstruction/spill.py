"""Blocks on disk: those that memory has no room for."""

from __future__ import annotations

import os
import tempfile
from typing import IO

import numpy as np

from eqa_nodes.core.errors import StorageError
from eqa_nodes.core.reconstruction.blocks import BLOCK, BLOCK_BYTES, FIELDS


class BlockFile:
    """A temporary file of blocks, found by their keys. The system removes it when the process ends."""

    def __init__(self, folder: str) -> None:
        """folder: of the file, which is made when the first block is written; "" = the system's own for such files."""
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
        """Return for each key whether its block is here, (n,) bool."""
        if not len(self._keys):
            return np.zeros(len(keys), bool)
        at = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.asarray(self._keys[at] == keys)

    def put(self, keys: np.ndarray, values: list[np.ndarray]) -> None:
        """Write blocks that are not here. Raises StorageError where they find no room; then none of them is here."""
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
        """Return the values of blocks that are here. Raises StorageError where they cannot be read."""
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
        """Forget blocks that are here; their room is used again."""
        at = np.searchsorted(self._keys, keys)
        self._free.extend(self._slots[at].tolist())
        self._keys, self._slots = np.delete(self._keys, at), np.delete(self._slots, at)

    def _opened(self) -> IO[bytes]:
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="eqa-blocks-", dir=self._folder or None, buffering=0)  # noqa: SIM115
        return self._file

    def _place(self) -> str:
        return self._folder or tempfile.gettempdir()
