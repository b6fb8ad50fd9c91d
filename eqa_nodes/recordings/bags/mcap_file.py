"""Writes one MCAP file of a bag: flushed data survives a crash, and a missing end is repaired in place."""

from __future__ import annotations

import fcntl
import struct
from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import IO, Any, NamedTuple

from mcap.data_stream import RecordBuilder
from mcap.exceptions import McapError
from mcap.reader import make_reader
from mcap.records import (
    Channel,
    Chunk,
    ChunkIndex,
    DataEnd,
    Footer,
    Header,
    McapRecord,
    Message,
    MessageIndex,
    Schema,
    Statistics,
)
from mcap.stream_reader import StreamReader, breakup_chunk
from mcap.writer import MCAP0_MAGIC, CompressionType, Writer
from zstandard import ZstdError

from eqa_nodes.core.errors import StorageError
from eqa_nodes.recordings.bags.bag_files import unpacked

_COMPRESSIONS = {"none": CompressionType.NONE, "lz4": CompressionType.LZ4, "zstd": CompressionType.ZSTD}
_CHUNK_BYTES = 4 << 20
_SMALLEST = 45  # bytes of magic, footer and magic: a complete file is not smaller
# Errors of reading beyond the last whole chunk: a truncated file, or blocks that a power cut left empty.
_TORN = (McapError, StorageError, ZstdError, struct.error, ValueError, ArithmeticError, RuntimeError, EOFError,
         MemoryError)


class FileFacts(NamedTuple):
    """Summary of a file. Stamps in ns, 0 if there is no message; counts: topic -> number of messages."""

    name: str
    first_ns: int
    last_ns: int
    counts: Mapping[str, int]


class McapFile:
    """A file being written, which stays locked. Every method may raise OSError: then `cut` it and `seal` it."""

    def __init__(self, path: Path, compression: str) -> None:
        self.path = path
        self._counts: Counter[str] = Counter()
        self._stamps_ns = (0, 0)
        self._schemas: dict[str, int] = {}
        self._channels: dict[str, int] = {}
        self._whole = 0
        self._stream = _Raw(path, "xb")
        stream: Any = self._stream  # the MCAP writer uses only write, tell and flush
        self._writer = Writer(stream, chunk_size=_CHUNK_BYTES, compression=_COMPRESSIONS[compression])
        self._writer.start("ros2", "eqa_nodes")
        self._mark()

    @property
    def size(self) -> int:
        """Bytes on the disk."""
        return self._whole

    @property
    def facts(self) -> FileFacts:
        """Summary of the current content."""
        return FileFacts(self.path.name, *self._stamps_ns, dict(self._counts))

    def add(self, topic: str, type_name: str, text: str, metadata: dict[str, str]) -> None:
        """Register a topic; text: full definition of its type."""
        if type_name not in self._schemas:
            self._schemas[type_name] = self._writer.register_schema(type_name, "ros2msg", text.encode())
        self._channels[topic] = self._writer.register_channel(topic, "cdr", self._schemas[type_name], metadata)

    def write(self, topic: str, stamp_ns: int, cdr: bytes) -> None:
        """Append a message; it is on the disk after the next `flush`."""
        self._writer.add_message(self._channels[topic], stamp_ns, cdr, stamp_ns, self._counts[topic])
        first, last = self._stamps_ns if self._counts else (stamp_ns, stamp_ns)
        self._stamps_ns = min(first, stamp_ns), max(last, stamp_ns)
        self._counts[topic] += 1
        self._mark()

    def flush(self) -> None:
        """Flush everything to the operating system."""
        self._writer.flush()
        self._mark()

    def finish(self, metadata: str) -> None:
        """Write index and rosbag2's metadata, and close."""
        self._writer.add_metadata("rosbag2", {"serialized_metadata": metadata})
        self._writer.finish()
        self._mark()
        self._stream.close()

    def cut(self) -> None:
        """Truncate the file after the last whole chunk and close it, after a failed write."""
        self._stream.cut(self._whole)
        self._stream.close()

    def _mark(self) -> None:
        self._whole = self._stream.tell()  # the writer passes only whole chunks


class _Raw:
    """A locked file without a buffer: after a failed write, no buffered data can still reach the disk."""

    def __init__(self, path: Path, mode: str) -> None:
        """Raises BlockingIOError when another process has locked the file."""
        self._file = path.open(mode, buffering=0)
        self.tell, self.close = self._file.tell, self._file.close
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # until the file is closed or the process ends
        except OSError:
            self.close()
            raise

    def write(self, data: bytes) -> int:
        rest = memoryview(data)
        while rest:
            rest = rest[self._file.write(rest):]
        return len(data)

    def cut(self, size: int) -> None:
        """Truncate the file to `size` bytes and continue writing there."""
        self._file.truncate(size)
        self._file.seek(size)

    def flush(self) -> None:
        """Do nothing: there is no buffer."""


def read_facts(path: Path) -> tuple[FileFacts, dict[str, tuple[Schema, Channel]]] | None:
    """Return a file's summary and its topics with their types; None if it has no index (it was not closed)."""
    if path.stat().st_size < _SMALLEST:
        return None
    with path.open("rb") as stream:
        try:
            summary = make_reader(stream).get_summary()
        except _TORN:
            return None
    if summary is None or summary.statistics is None:
        return None
    s, topics = summary.statistics, {c.topic: (summary.schemas[c.schema_id], c) for c in summary.channels.values()
                                     if c.schema_id in summary.schemas}
    counts = {c.topic: s.channel_message_counts[c.id] for c in summary.channels.values()
              if c.id in s.channel_message_counts}
    return FileFacts(path.name, s.message_start_time, s.message_end_time, counts), topics


def seal(path: Path) -> FileFacts:
    """Truncate an unclosed file after its last complete chunk, write its index, and return its summary.

    Works in place: it needs disk space only for the index, and may be killed and repeated. Without space for the index,
    the file gets an end without one (50 bytes), and readers scan it. Raises StorageError when another process writes
    the file, OSError when even that cannot be written.
    """
    try:
        stream = _Raw(path, "r+b")
    except BlockingIOError as error:
        raise StorageError(f"{path} is being written by another process: wait until it has ended") from error
    with closing(stream), path.open("rb") as reading:
        contents = _Contents()
        contents.read(reading)
        try:
            contents.write_end(stream, index=True)
        except OSError:
            contents.write_end(stream, index=False)
        return contents.facts(path.name)


class _Contents:
    """Content of a file up to its first damage, with its index. end: position of the damage, bytes."""

    def __init__(self) -> None:
        self.end = 0
        self._known: dict[tuple[type[McapRecord], int], Schema | Channel] = {}
        self._chunks: list[ChunkIndex] = []
        self._counts: Counter[int] = Counter()
        self._stamps_ns: list[int] = []  # the smallest and the largest
        self._open: tuple[ChunkIndex, list[McapRecord]] | None = None  # a chunk whose message indexes follow

    def read(self, stream: IO[bytes]) -> None:
        begin = len(MCAP0_MAGIC)
        try:
            for record in StreamReader(stream, emit_chunks=True).records:
                if isinstance(record, DataEnd):
                    return
                self._take(record, begin, stream.tell())
                begin = stream.tell()
        except _TORN:
            return  # end of the undamaged part, which is all that a repair keeps
        finally:
            if self._chunks and not any(chunk.message_index_offsets for chunk in self._chunks):
                self._take_bare()

    def _take_bare(self) -> None:
        """Add a chunk without a message index: some programs write none."""
        if self._open is not None and not self._open[0].message_index_offsets:
            index, inside = self._open
            self._chunks.append(index)
            self._count(inside)
            self._open, self.end = None, index.chunk_start_offset + index.chunk_length

    def _take(self, record: McapRecord, begin: int, end: int) -> None:
        if not isinstance(record, MessageIndex):
            self._take_bare()
        if isinstance(record, Chunk):
            inside = breakup_chunk(unpacked(record), validate_crc=True)
            self._open = ChunkIndex(
                chunk_start_offset=begin, chunk_length=end - begin, compression=record.compression,
                compressed_size=len(record.data), uncompressed_size=record.uncompressed_size,
                message_start_time=record.message_start_time, message_end_time=record.message_end_time,
                message_index_offsets={}, message_index_length=0), inside
            return
        if isinstance(record, MessageIndex) and self._open is not None:
            index, inside = self._open
            index.message_index_offsets[record.channel_id] = begin
            index.message_index_length = end - index.chunk_start_offset - index.chunk_length
            if index.message_index_offsets.keys() < {m.channel_id for m in inside if isinstance(m, Message)}:
                return
            self._chunks.append(index)
            self._open = None
            self._count(inside)
        self._count([record])
        self.end = end

    def _count(self, records: list[McapRecord]) -> None:
        for record in records:
            if isinstance(record, (Schema, Channel)):
                self._known.setdefault((type(record), record.id), record)
            elif isinstance(record, Message):
                self._counts[record.channel_id] += 1
                self._stamps_ns = [min([*self._stamps_ns, record.log_time]), max([*self._stamps_ns, record.log_time])]

    def facts(self, name: str) -> FileFacts:
        topics = {r.id: r.topic for r in self._known.values() if isinstance(r, Channel)}
        first, last = self._stamps_ns or (0, 0)
        return FileFacts(name, first, last, {topics[i]: n for i, n in self._counts.items() if i in topics})

    def write_end(self, stream: _Raw, index: bool) -> None:
        """Truncate the damaged end and write a valid one: the summary section, if any, and the footer."""
        stream.cut(self.end)
        builder = RecordBuilder()
        if not self.end:
            stream.write(MCAP0_MAGIC)
            Header("ros2", "eqa_nodes").write(builder)
        DataEnd(0).write(builder)
        stream.write(builder.end())
        start = stream.tell() if index else 0
        for record in self._index() if index else ():
            record.write(builder)
        Footer(start, 0, 0).write(builder)
        stream.write(builder.end() + MCAP0_MAGIC)

    def _index(self) -> list[McapRecord]:
        schemas, channels = ([r for r in self._known.values() if isinstance(r, kind)] for kind in (Schema, Channel))
        first, last = self._stamps_ns or (0, 0)
        statistics = Statistics(
            schema_count=len(schemas), channel_count=len(channels), chunk_count=len(self._chunks), attachment_count=0,
            metadata_count=0, message_count=self._counts.total(), channel_message_counts=dict(self._counts),
            message_start_time=first, message_end_time=last)
        return [*schemas, *channels, statistics, *self._chunks]
