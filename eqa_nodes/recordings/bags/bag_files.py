"""Opens the files of a rosbag2 recording, including files without a message index and bags with missing files."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from heapq import merge
from pathlib import Path, PurePath
from typing import Any

import yaml
from rosbags.interfaces import Connection
from rosbags.rosbag2 import Reader
from rosbags.rosbag2.storage_mcap import McapReader

from eqa_nodes.recordings.bags.bounded import check_storage, leave_packed

_PLAIN = (".mcap", ".db3")


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
