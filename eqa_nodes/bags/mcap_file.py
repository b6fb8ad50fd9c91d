"""One MCAP file of a bag: written so that what was flushed survives, and mended in place when its end is missing."""

from __future__ import annotations

import fcntl
import struct
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
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

_COMPRESSIONS = {"none": CompressionType.NONE, "lz4": CompressionType.LZ4, "zstd": CompressionType.ZSTD}
_CHUNK_BYTES = 4 << 20
_SMALLEST = 45  # magic, footer and magic: nothing less is a whole file
# What reading beyond the last whole chunk raises: cut short, or blocks that a power cut left empty.
_TORN = (McapError, ZstdError, struct.error, ValueError, RuntimeError, EOFError, MemoryError)


class FileFacts(NamedTuple):
    """What a file holds. Stamps in ns, 0 where there is no message; counts: messages by topic."""

    name: str
    first_ns: int
    last_ns: int
    counts: Mapping[str, int]


class McapFile:
    """A file that is being written, locked for as long. Every method may raise OSError: then `cut` it and `seal` it."""

    def __init__(self, path: Path, compression: str) -> None:
        self.path = path
        self._counts: Counter[str] = Counter()
        self._stamps_ns = (0, 0)
        self._schemas: dict[str, int] = {}
        self._channels: dict[str, int] = {}
        self._whole = 0
        self._stream = _Unbuffered(path)
        stream: Any = self._stream  # write, tell and flush are all that the MCAP writer uses
        self._writer = Writer(stream, chunk_size=_CHUNK_BYTES, compression=_COMPRESSIONS[compression])
        self._writer.start("ros2", "eqa_nodes")
        self._mark()

    @property
    def size(self) -> int:
        """Bytes on the disk."""
        return self._whole

    @property
    def facts(self) -> FileFacts:
        """What it holds now."""
        return FileFacts(self.path.name, *self._stamps_ns, dict(self._counts))

    def add(self, topic: str, type_name: str, text: str, metadata: dict[str, str]) -> None:
        """Make a topic known; text: its type's whole definition."""
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
        """Hand everything written so far to the operating system."""
        self._writer.flush()
        self._mark()

    def finish(self, metadata: str) -> None:
        """Write index and rosbag2's metadata, and close."""
        self._writer.add_metadata("rosbag2", {"serialized_metadata": metadata})
        self._writer.finish()
        self._mark()
        self._stream.close()

    def cut(self) -> None:
        """After a failed write: back to the last whole chunk, and close."""
        self._stream.truncate(self._whole)
        self._stream.close()

    def _mark(self) -> None:
        self._whole = self._stream.tell()  # the writer hands over whole chunks only


class _Unbuffered:
    """A file without a buffer: after a failed write nothing is left that could still reach the disk."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("xb", buffering=0)
        _locked(self._file)
        self.tell, self.truncate, self.close = self._file.tell, self._file.truncate, self._file.close

    def write(self, data: bytes) -> int:
        rest = memoryview(data)
        while rest:
            rest = rest[self._file.write(rest):]
        return len(data)

    def flush(self) -> None:
        """Do nothing: there is no buffer."""


def _locked(file: IO[bytes]) -> None:
    """Lock a file until it is closed, or its process dies. Raises BlockingIOError when another process has it."""
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def read_facts(path: Path) -> tuple[FileFacts, dict[str, tuple[Schema, Channel]]] | None:
    """Return what a file holds, and its topics with their types; None when it has no index: it was not closed."""
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


def seal(path: Path) -> None:
    """Cut a file that was not closed after its last whole chunk, and write its index there.

    In place: it needs no more room than the index, and may be killed and repeated. Raises StorageError when the file
    is being written by another process, OSError when the disk refuses.
    """
    with _exclusive(path) as stream:
        contents = _Contents()
        contents.read(stream)
        stream.seek(contents.end)
        stream.truncate()
        try:
            contents.write_end(stream)
            stream.flush()
        except OSError:
            stream.truncate(contents.end)
            raise


@contextmanager
def _exclusive(path: Path) -> Iterator[IO[bytes]]:
    with path.open("r+b") as stream:
        try:
            _locked(stream)
        except BlockingIOError as error:
            raise StorageError(f"{path} is being written by another process: wait until it has ended") from error
        yield stream


class _Contents:
    """What a file holds up to its first damage, and the index of it. end: where that is."""

    def __init__(self) -> None:
        self.end = 0
        self._known: dict[tuple[type[McapRecord], int], Schema | Channel] = {}
        self._chunks: list[ChunkIndex] = []
        self._counts: Counter[int] = Counter()
        self._stamps_ns: list[int] = []  # the smallest and the greatest
        self._open: tuple[ChunkIndex, list[McapRecord]] | None = None  # a chunk whose message indexes are to come

    def read(self, stream: IO[bytes]) -> None:
        begin = len(MCAP0_MAGIC)
        try:
            for record in StreamReader(stream, emit_chunks=True).records:
                if isinstance(record, DataEnd):
                    return
                self._take(record, begin, stream.tell())
                begin = stream.tell()
        except _TORN:
            return  # the end of what is whole: that is what mending means

    def _take(self, record: McapRecord, begin: int, end: int) -> None:
        if isinstance(record, Chunk):
            inside = breakup_chunk(record, validate_crc=True)
            self._open = ChunkIndex(end - begin, begin, record.compression, len(record.data), record.message_end_time,
                                    0, {}, record.message_start_time, record.uncompressed_size), inside
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

    def write_end(self, stream: IO[bytes]) -> None:
        """Write what an MCAP file ends with: the summary section and the footer."""
        builder = RecordBuilder()
        if not self.end:
            stream.write(MCAP0_MAGIC)
            Header("ros2", "eqa_nodes").write(builder)
        DataEnd(0).write(builder)
        stream.write(builder.end())
        start = stream.tell()
        schemas, channels = ([r for r in self._known.values() if isinstance(r, kind)] for kind in (Schema, Channel))
        first, last = self._stamps_ns or (0, 0)
        statistics = Statistics(0, len(channels), dict(self._counts), len(self._chunks), self._counts.total(), last,
                                first, 0, len(schemas))
        for record in (*schemas, *channels, statistics, *self._chunks):
            record.write(builder)
        Footer(start, 0, 0).write(builder)
        stream.write(builder.end() + MCAP0_MAGIC)
