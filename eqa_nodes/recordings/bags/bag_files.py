"""Opens the files of a rosbag2 recording or of a bag of ROS 1, within limits for data from strangers.

Files without a message index and bags with missing files can be read too. rosbags decompresses without a limit, into
memory (chunks and messages) or a temporary folder (files); here data that unpacks to more than it states, or to more
than a camera records, is refused. SQLite would execute any view that is stored in place of a table.
"""

from __future__ import annotations

import bz2
import shutil
import sqlite3
import tempfile
from collections.abc import Collection, Iterator
from contextlib import closing
from dataclasses import replace
from heapq import merge
from pathlib import Path, PurePath
from typing import Any

import yaml
from lz4.frame import LZ4FrameDecompressor
from mcap.records import Chunk
from rosbags.interfaces import Connection
from rosbags.rosbag1 import Reader as Ros1Reader
from rosbags.rosbag1 import reader as ros1
from rosbags.rosbag2 import Reader, storage_mcap
from rosbags.rosbag2.reader import DirectoryReader
from rosbags.rosbag2.storage_mcap import McapReader

from eqa_nodes.core.errors import StorageError
from eqa_nodes.core.storage.checks import check_tables

SUFFIX = ".bag"  # of ROS 1
_PLAIN = (".mcap", ".db3")
MAX_BYTES = 1 << 28  # limit of a chunk or a message: a hundred times the usual size
_MAX_METADATA = 4 << 20
_PIECE = 1 << 20
_SUFFIXES = (".db3", ".mcap", ".yaml", ".zstd")
_TABLES = ("messages", "metadata", "schema", "topics")  # in rosbag2's sqlite3 storage
_zstd: Any = storage_mcap.zstd  # the standard library's from Python 3.14 on, before that its backport


class BagFiles:
    """The open files of a recording, read as one. lost: names of missing files that metadata.yaml lists.

    packed: whether messages were compressed one by one; custom: custom_data that a recorder stored in the bag.
    """

    def __init__(self, path: Path) -> None:
        """Raises StorageError for files that may not be read; errors of rosbags for damaged files are passed on."""
        check_storage(path)
        information = _information(path)
        listed = [path / PurePath(str(name)).name for name in information.get("relative_file_paths") or ()]
        left = [file for file in listed if file.is_file()]
        self.lost = tuple(file.name for file in listed if not file.is_file()) if left else ()
        if any(file.suffix not in _PLAIN for file in left):
            self.lost = ()  # rosbags decompresses files only for a complete bag, and reports what is missing
        self._readers = [Reader(file) for file in left] if self.lost else [Reader(path)]
        self.packed, self._information = False, information
        self._connections: list[list[Connection]] = []

    def open(self) -> None:
        """Open all files; if one cannot be opened, close the others."""
        try:
            for reader in self._readers:
                reader.open()
        except BaseException:
            self.close()
            raise
        split = bool(self.lost) and str(self._information.get("compression_mode")).lower() == "message"
        self.packed = any(leave_packed(reader) for reader in self._readers) or split
        for reader in self._readers:
            _same_quality(reader)
            _count_chunks(reader)
        self._connections = [list(reader.connections) for reader in self._readers]

    def close(self) -> None:
        """Close the files that are open."""
        for reader in self._readers:
            if reader.is_open:
                reader.close()

    @property
    def custom(self) -> Any:
        """The custom_data that a recorder stored in the bag."""
        metadata: Any = self._readers[0].storage.metadata
        return (self._information.get("custom_data") if self.lost else metadata.custom) or {}

    @property
    def connections(self) -> list[Connection]:
        """Topics with their types and counts, for each file."""
        return [connection for connections in self._connections for connection in connections]

    @property
    def start_time(self) -> int:
        """Time at which the first message was recorded, ns."""
        return min(reader.start_time for reader in self._readers)

    @property
    def end_time(self) -> int:
        """Time at which the last message was recorded, ns."""
        return max(reader.end_time for reader in self._readers)

    def messages(self, connections: Collection[Connection] = (),
                 start: int | None = None) -> Iterator[tuple[Connection, int, bytes]]:
        """Yield the messages of the given connections with their recording times, in order."""
        wanted = {id(c) for c in connections}
        parts = [(reader, [c for c in own if id(c) in wanted])
                 for reader, own in zip(self._readers, self._connections, strict=True)]
        yield from merge(*(reader.messages(own, start) for reader, own in parts if own), key=lambda message: message[1])


def _information(path: Path) -> dict[str, Any]:
    """Return the content of metadata.yaml, empty if it cannot be read: rosbags reports its faults."""
    try:
        said = yaml.safe_load((path / "metadata.yaml").read_text())["rosbag2_bagfile_information"]
        files = said.get("relative_file_paths") if isinstance(said, dict) else None
        return said if isinstance(files, list) and all(isinstance(file, str) for file in files) else {}
    except (OSError, ValueError, TypeError, KeyError, RecursionError, yaml.YAMLError):
        return {}


def _same_quality(reader: Reader) -> None:
    """Let rosbags find the topics of metadata.yaml in each file: it treats a topic with another QoS as a different
    topic, for example in a file that states no QoS."""
    storage: Any = reader.storage
    qualities = {c.topic: c.ext for c in storage.connections}
    for part in getattr(storage, "storages", ()):
        part.connections[:] = [c._replace(ext=qualities.get(c.topic, c.ext)) for c in part.connections]


def _count_chunks(reader: Reader) -> None:
    """Let rosbags read chunks without a message index, which it treats as empty."""
    storage: Any = reader.storage
    for part in getattr(storage, "storages", [storage]):
        bare = [chunk for chunk in part.chunks if not chunk.channel_count] if isinstance(part, McapReader) else []
        for chunk in bare:
            chunk.channel_count.update(dict.fromkeys(part.channels, 1))
        if bare and not any(part.statistics.channel_message_counts.values()):  # the counts come from that index
            part.meta_scan()
            found = part.statistics
            part.connections[:] = [c._replace(msgcount=found.channel_message_counts.get(c.id, 0))
                                   for c in part.connections]
            part.metadata = part.metadata._replace(
                start_time=found.start_time, end_time=found.end_time + 1, message_count=found.message_count,
                duration=found.end_time + 1 - found.start_time)



def unpack_lz4(data: bytes, size: int) -> bytes:
    """Return `size` bytes of an LZ4 frame. Raises StorageError when its size differs."""
    return _whole(LZ4FrameDecompressor(), data, size)


def unpack_zstd(data: bytes, size: int) -> bytes:
    """Return `size` bytes of a zstd frame. Raises StorageError when its size differs."""
    return _whole(_zstd.ZstdDecompressor(), data, size)


def unpack_message(data: bytes) -> bytes:
    """Return a message that was compressed on its own. Raises StorageError when it is too large or cut short."""
    return _limited(_zstd.ZstdDecompressor(), data, "message")


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


def open_ros1(path: Path) -> Ros1Reader:
    """Return the reader of a bag, not yet open. Raises StorageError if the path is not a regular file."""
    if not path.is_file():  # opening a pipe would wait for its writer
        raise StorageError(f"{path} is not a plain file")
    return Ros1Reader(path)


def _limited(decompressor: Any, data: bytes, what: str) -> bytes:
    """Return the decompressed data. Raises StorageError when it is too large or cut short."""
    raw: bytes = decompressor.decompress(data, max_length=MAX_BYTES + 1)
    if len(raw) > MAX_BYTES or not decompressor.eof:
        raise StorageError(f"a compressed {what} of {len(data)} bytes is cut short, or unpacks to more than "
                           f"{MAX_BYTES} bytes, which is the limit")
    return raw


ros1.decompressors.update(bz2=lambda data: _limited(bz2.BZ2Decompressor(), data, "chunk"),
                          lz4=lambda data: _limited(LZ4FrameDecompressor(), data, "chunk"))
