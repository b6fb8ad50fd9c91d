"""Writes rosbag2 bags (MCAP storage) from messages that are already serialized.

The mcap package rather than rosbags' writer: only it closes a chunk on demand, and a chunk that is on the disk survives
the recorder. `ros2 bag info` and `ros2 bag play`, Foxglove, rosbags and mcap read the result.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Mapping
from itertools import chain, count
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from mcap.writer import CompressionType, Writer

from eqa_nodes.bags.definitions import definition, type_hash
from eqa_nodes.core.errors import StorageError
from eqa_nodes.graph import KINDS, Qos

FLUSH_S = 1.0  # what a killed recorder loses at most
FREE_BYTES = 500_000_000
_CHUNK_BYTES = 4 << 20
_CHECK_BYTES = 32 << 20  # written between two looks at the free space
_UNLIMITED = {"sec": 9223372036, "nsec": 854775807}


class BagTopic(NamedTuple):
    """What is recorded under a topic's name. text: the whole definition; empty = of the installed package."""

    type: str  # "sensor_msgs/msg/Image"
    qos: Qos | str = Qos()  # or a kind of the graph: frame | latched | event | clock
    text: str = ""


class _Unbuffered:
    """A file without a buffer: after a failed write nothing is left that could still reach the disk."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("xb", buffering=0)

    def write(self, data: bytes) -> int:
        rest = memoryview(data)
        while rest:
            rest = rest[self._file.write(rest):]
        return len(data)

    def cut(self, size: int) -> None:
        self._file.truncate(size)
        self._file.close()

    def tell(self) -> int:
        return self._file.tell()

    def flush(self) -> None:
        """Do nothing: there is no buffer."""

    def close(self) -> None:
        self._file.close()


class BagWriter:
    """One bag: a folder with metadata.yaml and one MCAP file. Not thread-safe.

    A killed writer leaves what was flushed; `recover` makes a whole bag of it. counts: messages written, by topic.
    """

    def __init__(self, folder: Path, topics: Mapping[str, BagTopic], free_bytes: int = FREE_BYTES,
                 custom_data: Mapping[str, str] | None = None) -> None:
        """Create the folder. topics by name; the bag has them with a leading slash, as rosbag2 records them.

        free_bytes: recording ends cleanly when the disk has less left. Raises StorageError when the folder exists
        already or the disk is too full, ConfigError when a message type is unknown.
        """
        self.folder = Path(folder)
        self.file = self.folder / f"{self.folder.name}_0.mcap"
        self.counts = dict.fromkeys(topics, 0)
        self._topics = {name: t._replace(text=t.text or definition(t.type)) for name, t in topics.items()}
        self._free_bytes, self._custom = free_bytes, dict(custom_data or {})
        self._first_ns = self._last_ns = self._checked_at = self._whole = 0
        self._stopped = ""
        self._check_free(self.folder.parent)
        try:
            self.folder.mkdir(parents=True)
            self._stream = _Unbuffered(self.file)
        except FileExistsError as error:
            raise StorageError(f"bag {self.folder} exists already: name another folder, or remove it") from error
        except OSError as error:
            raise StorageError(f"bag {self.folder} cannot be created ({error}): name another folder") from error
        stream: Any = self._stream  # write, tell and flush are all that the MCAP writer uses
        self._writer = Writer(stream, chunk_size=_CHUNK_BYTES, compression=CompressionType.LZ4)
        self._begin()

    def write(self, topic: str, stamp_ns: int, cdr: bytes) -> int:
        """Append a serialized message; return its offset from the bag's first message in ns (`ros2 bag play` seeks it).

        Raises StorageError when the disk is full: what was written up to then is closed and whole.
        """
        if self._stopped:
            raise StorageError(self._stopped)
        if topic not in self._channels:
            raise StorageError(f"bag {self.folder} has no topic {topic!r}: it has {', '.join(sorted(self._topics))}")
        if not any(self.counts.values()):
            self._first_ns = self._last_ns = stamp_ns
        self._guarded(self._writer.add_message, self._channels[topic], stamp_ns, cdr, stamp_ns, self.counts[topic])
        self.counts[topic] += 1
        self._first_ns, self._last_ns = min(self._first_ns, stamp_ns), max(self._last_ns, stamp_ns)
        if time.monotonic() - self._flushed_s >= FLUSH_S:
            self.flush()
        return self.offset_ns(stamp_ns)

    def flush(self) -> None:
        """Hand everything written so far to the operating system. Call it once a second while no messages come."""
        if self._stopped:
            return
        self._guarded(self._writer.flush)
        self._flushed_s = time.monotonic()
        if self._whole - self._checked_at >= _CHECK_BYTES:
            self._checked_at = self._whole
            try:
                self._check_free(self.folder)
            except StorageError as error:
                self._finish(f"{error}; bag {self.folder} ends here")
                raise

    def offset_ns(self, stamp_ns: int) -> int:
        """Return how far into the bag a stamp lies."""
        return stamp_ns - self._first_ns

    def close(self) -> None:
        """Write index and metadata.yaml; a second call does nothing."""
        if not self._stopped:
            self._finish(f"bag {self.folder} is closed")

    def _begin(self) -> None:
        """Write the schemas and topics and flush them, so that even an empty bag says what it would have held."""
        schemas: dict[str, int] = {}
        self._channels: dict[str, int] = {}
        self._guarded(self._writer.start, "ros2", "eqa_nodes")
        for name, topic in self._topics.items():
            if topic.type not in schemas:
                schemas[topic.type] = self._writer.register_schema(topic.type, "ros2msg", topic.text.encode())
            facts = {"offered_qos_profiles": _yaml(_qos(topic.qos)),
                     "topic_type_hash": type_hash(topic.type, topic.text)}
            self._channels[name] = self._writer.register_channel(_full(name), "cdr", schemas[topic.type], facts)
        self._flushed_s = time.monotonic()

    def _guarded(self, act: Any, *arguments: Any) -> None:
        """Write; on failure cut the file back to its last whole chunk and say what to do."""
        try:
            act(*arguments)
            self._whole = self._stream.tell()  # mcap writes whole chunks only
        except OSError as error:
            self._stopped = (f"bag {self.folder} could not be written ({error}): free space there, then run "
                             f"`python -m eqa_nodes.bags.recover {self.folder}`; what was flushed is intact")
            self._stream.cut(self._whole)
            raise StorageError(self._stopped) from error

    def _finish(self, why: str) -> None:
        facts = self._metadata()
        self._guarded(self._writer.add_metadata, "rosbag2", {"serialized_metadata": _yaml(facts)})
        self._guarded(self._writer.finish)
        part = self.folder / "metadata.yaml.part"
        self._guarded(part.write_text, _yaml({"rosbag2_bagfile_information": facts}))
        part.replace(self.folder / "metadata.yaml")
        self._stream.close()
        self._stopped = why

    def _metadata(self) -> dict[str, Any]:
        """Return rosbag2's facts of the bag, version 9."""
        total = sum(self.counts.values())
        span = {"starting_time": {"nanoseconds_since_epoch": self._first_ns},
                "duration": {"nanoseconds": self._last_ns - self._first_ns}, "message_count": total}
        topics = [{"message_count": self.counts[name], "topic_metadata": {
            "name": _full(name), "type": t.type, "serialization_format": "cdr", "offered_qos_profiles": _qos(t.qos),
            "type_description_hash": type_hash(t.type, t.text)}} for name, t in self._topics.items()]
        return {"version": 9, "storage_identifier": "mcap", **span, "topics_with_message_count": topics,
                "compression_format": "", "compression_mode": "", "relative_file_paths": [self.file.name],
                "files": [{"path": self.file.name, **span}], "custom_data": self._custom or None,
                "ros_distro": os.environ.get("ROS_DISTRO", "unknown")}

    def _check_free(self, folder: Path) -> None:
        existing = next(p for p in (folder, *folder.absolute().parents) if p.exists())
        free = shutil.disk_usage(existing).free
        if free < self._free_bytes:
            raise StorageError(f"only {free / 1e6:.0f} MB are free at {existing}, recording wants "
                               f"{self._free_bytes / 1e6:.0f}: free space there, or record elsewhere")


def _yaml(value: Any) -> str:
    return yaml.safe_dump(value, sort_keys=False)


def _full(name: str) -> str:
    return "/" + name.lstrip("/")


def _qos(profile: Qos | str) -> list[dict[str, Any]]:
    """Return a profile as rosbag2 writes it since version 9; times without a limit as DDS has them."""
    qos = KINDS[profile] if isinstance(profile, str) else profile
    return [{"history": qos.history, "depth": qos.depth, "reliability": qos.reliability, "durability": qos.durability,
             "deadline": dict(_UNLIMITED), "lifespan": dict(_UNLIMITED), "liveliness": "automatic",
             "liveliness_lease_duration": dict(_UNLIMITED), "avoid_ros_namespace_conventions": False}]


def free_name(folder: Path) -> Path:
    """Return the folder, or its first neighbour name-2, name-3 ... that does not exist."""
    names = chain((folder.name,), (f"{folder.name}-{i}" for i in count(2)))
    return next(path for name in names if not (path := folder.with_name(name)).exists())
