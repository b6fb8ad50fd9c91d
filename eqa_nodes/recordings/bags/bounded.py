"""Limits for untrusted bags: refuses data that unpacks to more than it states, or to more than a camera records.

rosbags decompresses without a limit, into memory (chunks and messages) or a temporary folder (files); SQLite executes
any view that is stored in place of a table.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from lz4.frame import LZ4FrameDecompressor
from mcap.records import Chunk
from rosbags.rosbag2 import storage_mcap
from rosbags.rosbag2.reader import DirectoryReader

from eqa_nodes.core.errors import StorageError
from eqa_nodes.core.storage.checks import check_tables

MAX_BYTES = 1 << 28  # limit of a chunk or a message: a hundred times the usual size
_MAX_METADATA = 4 << 20
_PIECE = 1 << 20
_SUFFIXES = (".db3", ".mcap", ".yaml", ".zstd")
_TABLES = ("messages", "metadata", "schema", "topics")  # in rosbag2's sqlite3 storage
_zstd: Any = storage_mcap.zstd  # the standard library's from Python 3.14 on, before that its backport


def unpack_lz4(data: bytes, size: int) -> bytes:
    """Return `size` bytes of an LZ4 frame. Raises StorageError when its size differs."""
    return _whole(LZ4FrameDecompressor(), data, size)


def unpack_zstd(data: bytes, size: int) -> bytes:
    """Return `size` bytes of a zstd frame. Raises StorageError when its size differs."""
    return _whole(_zstd.ZstdDecompressor(), data, size)


def unpack_message(data: bytes) -> bytes:
    """Return a message that was compressed on its own. Raises StorageError when it is too large or cut short."""
    decompressor = _zstd.ZstdDecompressor()
    raw: bytes = decompressor.decompress(data, max_length=MAX_BYTES + 1)
    if len(raw) > MAX_BYTES or not decompressor.eof:
        raise StorageError(f"a compressed message of {len(data)} bytes is cut short, or unpacks to more than the "
                           f"{MAX_BYTES} that are read")
    return raw


def unpacked(chunk: Chunk) -> Chunk:
    """Return an MCAP chunk, decompressed. Raises StorageError for an unknown compression or a wrong size."""
    if chunk.compression not in storage_mcap.DECOMPRESSORS:
        raise StorageError(f"a chunk is compressed with {chunk.compression!r}, which is not known")
    data = storage_mcap.DECOMPRESSORS[chunk.compression](chunk.data, chunk.uncompressed_size)
    return replace(chunk, compression="", data=data)


def _whole(decompressor: Any, data: bytes, size: int) -> bytes:
    if size > MAX_BYTES:
        raise StorageError(f"a chunk claims to unpack to {size} bytes, at most {MAX_BYTES} are read")
    raw: bytes = decompressor.decompress(data, max_length=size + 1)
    if len(raw) != size:
        raise StorageError(f"a chunk claims to unpack to {size} bytes, and does not")
    return raw


storage_mcap.DECOMPRESSORS.update(lz4=unpack_lz4, zstd=unpack_zstd)


def check_storage(path: Path) -> None:
    """Check the files of a bag before they are opened. Raises StorageError for files that may not be read."""
    for file in sorted(path.iterdir()) if path.is_dir() else [path]:
        if file.suffix in _SUFFIXES and not file.is_file():  # opening a pipe would wait for its writer
            raise StorageError(f"{file} is not a plain file")
        if file.suffix == ".yaml" and file.stat().st_size > _MAX_METADATA:
            raise StorageError(f"{file} has {file.stat().st_size} bytes, at most {_MAX_METADATA} are read")
        if file.suffix == ".zstd":
            _check_room(file)
        elif file.suffix == ".db3":
            _check_tables(file)


def _check_room(file: Path) -> None:
    """Raise StorageError for a compressed file that unpacks to more than fits into the temporary folder."""
    free = shutil.disk_usage(tempfile.gettempdir()).free
    room = free - free // 10
    with file.open("rb") as packed, _zstd.open(packed, "rb") as unpacked:
        while piece := unpacked.read(_PIECE):
            room -= len(piece)
            if room < 0:
                raise StorageError(f"{file} unpacks to more than fits into {tempfile.gettempdir()}: {free / 1e6:.0f} "
                                   "MB are free there; name another folder (TMPDIR)")


def _check_tables(file: Path) -> None:
    with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as database:
        check_tables(file, database, _TABLES)


def leave_packed(reader: Any) -> bool:
    """Stop an open rosbags Reader from decompressing messages that were compressed one by one.

    Return whether they were; `unpack_message` decompresses them.
    """
    storage = reader.storage
    packed = isinstance(storage, DirectoryReader) and storage.metadata.compression_mode == "message"
    if packed:
        storage.metadata = storage.metadata._replace(compression_mode=None)
    return packed
