"""Writes rosbag2 bags (MCAP storage) from messages that are already serialized.

It uses the mcap package, not rosbags' writer: only mcap closes a chunk on demand, and a chunk on the disk survives a
crash of the recorder. `ros2 bag info` and `ros2 bag play`, Foxglove, rosbags and mcap read the result.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import chain, count
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from eqa_nodes.core.errors import ConfigError, StorageError
from eqa_nodes.recordings.bags.mcap_file import FileFacts, McapFile, seal
from eqa_nodes.recordings.options import RecordingConfig
from eqa_nodes.wire.graph import KINDS, Qos

KEYS = "eqa_topics"  # key in custom_data: JSON of the graph's keys and the names of their topics in the bag
FLUSH_S = 1.0  # maximum time of data that a killed recorder loses
FREE_BYTES = 500_000_000
_CHECK_BYTES = 32 << 20  # bytes written between two checks of the free space
_UNLIMITED = {"sec": 9223372036, "nsec": 854775807}
_TRANSFORMS = "tf2_msgs/msg/TFMessage"
_KEPT = 200  # maximum number of static transform messages that are repeated in the next file


class BagTopic(NamedTuple):
    """Type and QoS of a recorded topic. text: full definition of the type; empty = from the installed package.

    stream: each message is valid only at its own time, as with images, even if its publisher is latched.
    """

    type: str  # "sensor_msgs/msg/Image"
    qos: Qos | str = Qos()  # or a kind of the graph: frame | latched | event | clock
    text: str = ""
    stream: bool = False

    @property
    def latched(self) -> bool:
        """Whether only the newest message counts, also for late subscribers (depth 0: discovery does not report it)."""
        qos = _profile(self.qos)
        return qos.durability == "transient_local" and qos.depth <= 1 and not self.stream


class BagWriter:
    """Writes one bag: a folder with metadata.yaml and one MCAP file, or several if it is split. Not thread-safe.

    Each further file begins with the newest messages of latched topics, so that it can be read on its own. After a
    crash the flushed data remains; `recover` makes a complete bag of it. counts: written messages by topic.
    """

    def __init__(self, folder: Path, topics: Mapping[str, BagTopic], free_bytes: int = FREE_BYTES,
                 custom_data: Mapping[str, str] | None = None, config: RecordingConfig | None = None) -> None:
        """Create the folder. topics: by name; in the bag, names have a leading slash, as in rosbag2.

        free_bytes: recording ends cleanly when less disk space is left. Raises StorageError when the folder exists
        already or the disk is too full, ConfigError when a message type is unknown.
        """
        self.folder, self._config = Path(folder), config or RecordingConfig()
        self.counts = dict.fromkeys(topics, 0)
        self._topics = {name: _whole(topic) for name, topic in topics.items()}
        self._free_bytes, self._custom = free_bytes, dict(custom_data or {})
        self._latched: dict[str, dict[Any, bytes]] = {}
        self._closed: list[FileFacts] = []
        self._begun_ns = self._checked_at = self._before = 0
        self._first_ns: int | None = None
        self._stopped = ""
        check_free(self.folder.parent, free_bytes)
        try:
            self.folder.mkdir(parents=True)
            self._open()
        except FileExistsError as error:
            raise StorageError(f"bag {self.folder} exists already: name another folder, or remove it") from error
        except OSError as error:
            raise StorageError(f"bag {self.folder} cannot be created ({error}): name another folder") from error

    @property
    def file(self) -> Path:
        """Path of the file being written."""
        return self._file.path

    @property
    def size(self) -> int:
        """Total size of all files, bytes."""
        return self._before + self._file.size

    def add(self, name: str, topic: BagTopic) -> None:
        """Register a further topic. Raises ConfigError when its type is unknown."""
        self._topics[name] = _whole(topic)
        self.counts[name] = 0
        self._guarded(self._register, name)

    def write(self, topic: str, stamp_ns: int, cdr: bytes) -> int:
        """Append a serialized message; return its offset from the bag's first message in ns (`ros2 bag play` seeks it).

        Raises StorageError when the disk is full; the bag is then closed and complete up to this message.
        """
        if self._stopped:
            raise StorageError(self._stopped)
        if topic not in self._topics:
            raise StorageError(f"bag {self.folder} has no topic {topic!r}: it has {', '.join(sorted(self._topics))}")
        if self._first_ns is None:
            self._first_ns = self._begun_ns = stamp_ns
        if self._due(stamp_ns):
            self._split(stamp_ns)
        self._append(topic, stamp_ns, cdr)
        self._first_ns = min(self._first_ns, stamp_ns)
        if self._topics[topic].latched:
            self._keep(topic, cdr)
        if time.monotonic() - self._flushed_s >= FLUSH_S:
            self.flush()
        return self.offset_ns(stamp_ns)

    def flush(self) -> None:
        """Flush everything written so far to the operating system. Call it once a second while no messages arrive."""
        if self._stopped:
            return
        self._guarded(self._file.flush)
        self._flushed_s = time.monotonic()
        if self.size - self._checked_at >= _CHECK_BYTES:
            self._checked_at = self.size
            try:
                check_free(self.folder, self._free_bytes)
            except StorageError as error:
                self._finish(f"{error}; bag {self.folder} ends here")
                raise

    def offset_ns(self, stamp_ns: int) -> int:
        """Return the offset of a stamp from the bag's first message, ns."""
        return stamp_ns - (self._first_ns or 0)

    def close(self) -> None:
        """Write index and metadata.yaml; a second call does nothing."""
        if not self._stopped:
            self._finish(f"bag {self.folder} is closed")

    def _open(self) -> None:
        """Begin a file and flush it, so that even a file without messages can be recovered."""
        path = self.folder / f"{self.folder.name}_{len(self._closed)}.mcap"
        self._file = McapFile(path, self._config.compression)
        for name in self._topics:
            self._register(name)
        self._flushed_s = time.monotonic()

    def _register(self, name: str) -> None:
        topic = self._topics[name]
        self._file.add(_full(name), topic.type, topic.text, {
            "offered_qos_profiles": _yaml(_qos(topic.qos)), "topic_type_hash": type_hash(topic.type, topic.text)})

    def _append(self, topic: str, stamp_ns: int, cdr: bytes) -> None:
        self._guarded(self._file.write, _full(topic), stamp_ns, cdr)
        self.counts[topic] += 1

    def _due(self, stamp_ns: int) -> bool:
        c = self._config
        return bool((c.split_mb and self._file.size >= c.split_mb * 1e6)
                    or (c.split_s and stamp_ns - self._begun_ns >= c.split_s * 1e9))

    def _split(self, stamp_ns: int) -> None:
        self._end_file()
        self._before += self._file.size
        self._guarded(self._open)
        self._begun_ns = stamp_ns
        for name, held in self._latched.items():
            for cdr in held.values():
                self._append(name, stamp_ns, cdr)

    def _keep(self, topic: str, cdr: bytes) -> None:
        """Keep a latched message for the next file: the newest, or for transforms the newest of each set of frames."""
        held = self._latched.setdefault(topic, {})
        key = _children(cdr) if self._topics[topic].type == _TRANSFORMS else ()
        held.pop(key, None)
        held[key] = cdr
        if len(held) > _KEPT:
            del held[next(iter(held))]

    def _end_file(self) -> None:
        self._guarded(self._file.flush)
        facts = self._file.facts
        self._guarded(self._file.finish, _yaml(metadata([facts], self._topics, self._custom)))
        self._closed.append(facts)

    def _finish(self, why: str) -> None:
        self._end_file()
        self._guarded(write_metadata, self.folder, metadata(self._closed, self._topics, self._custom))
        self._stopped = why

    def _guarded(self, act: Callable[..., None], *arguments: Any) -> None:
        """Write; on failure, end the bag after its last whole chunk and raise StorageError with a remedy."""
        try:
            act(*arguments)
        except OSError as error:
            self._stopped = f"bag {self.folder} could not be written ({error}): free space there; {self._rescue()}"
            raise StorageError(self._stopped) from error

    def _rescue(self) -> str:
        """Close the file without the chunk that failed, which leaves space for index and metadata."""
        try:
            if len(self._closed) < 1 or self._closed[-1].name != self.file.name:
                self._file.cut()
                self._closed.append(seal(self.file))
            write_metadata(self.folder, metadata(self._closed, self._topics, self._custom))
        except OSError:
            return f"then run `python -m eqa_nodes.recordings.bags.recover {self.folder}`: what was flushed is intact"
        return "the bag ends with what was flushed, and can be read"


def metadata(files: Sequence[FileFacts], topics: Mapping[str, BagTopic], custom: Mapping[str, str]) -> dict[str, Any]:
    """Return the content of metadata.yaml of a bag, version 9."""
    counts = sum((Counter(file.counts) for file in files), Counter[str]())
    listed = [{"message_count": counts[_full(name)], "topic_metadata": {
        "name": _full(name), "type": t.type, "serialization_format": "cdr", "offered_qos_profiles": _qos(t.qos),
        "type_description_hash": type_hash(t.type, t.text)}} for name, t in topics.items()]
    return {"version": 9, "storage_identifier": "mcap", **_span(files), "topics_with_message_count": listed,
            "compression_format": "", "compression_mode": "", "relative_file_paths": [file.name for file in files],
            "files": [{"path": file.name, **_span([file])} for file in files], "custom_data": dict(custom) or None,
            "ros_distro": os.environ.get("ROS_DISTRO", "unknown")}


def write_metadata(folder: Path, facts: dict[str, Any]) -> None:
    """Write metadata.yaml atomically."""
    part = folder / "metadata.yaml.part"
    try:
        part.write_text(_yaml({"rosbag2_bagfile_information": facts}))
        part.replace(folder / "metadata.yaml")
    except OSError:
        part.unlink(missing_ok=True)
        raise


def check_free(folder: Path, free_bytes: int) -> None:
    """Raise StorageError when the disk of a folder, which need not exist yet, has less free space."""
    existing = next(p for p in (folder, *folder.absolute().parents) if p.exists())
    free = shutil.disk_usage(existing).free
    if free < free_bytes:
        raise StorageError(f"only {free / 1e6:.0f} MB are free at {existing}, recording needs {free_bytes / 1e6:.0f}: "
                           "free space there, or record elsewhere")


def free_name(folder: Path) -> Path:
    """Return the folder, or if it exists the first of name-2, name-3 ... that does not."""
    names = chain((folder.name,), (f"{folder.name}-{i}" for i in count(2)))
    return next(path for name in names if not (path := folder.with_name(name)).exists())


def _span(files: Sequence[FileFacts]) -> dict[str, Any]:
    held = [file for file in files if file.counts]
    first, last = min((f.first_ns for f in held), default=0), max((f.last_ns for f in held), default=0)
    return {"starting_time": {"nanoseconds_since_epoch": first}, "duration": {"nanoseconds": last - first},
            "message_count": sum(sum(file.counts.values()) for file in files)}


def _whole(topic: BagTopic) -> BagTopic:
    return topic._replace(text=topic.text or definition(topic.type))


def _children(cdr: bytes) -> tuple[str, ...]:
    """Return the child frames of a tf2_msgs/TFMessage."""
    return tuple(t.child_frame_id for t in _standard().deserialize_cdr(cdr, _TRANSFORMS).transforms)


@cache
def _standard() -> Any:
    from rosbags.typesys import Stores, get_typestore

    return get_typestore(Stores.ROS2_HUMBLE)


def _yaml(value: Any) -> str:
    return yaml.safe_dump(value, sort_keys=False)


def _full(name: str) -> str:
    return "/" + name.lstrip("/")


def _profile(qos: Qos | str) -> Qos:
    return KINDS[qos] if isinstance(qos, str) else qos


def _qos(profile: Qos | str) -> list[dict[str, Any]]:
    """Return a QoS profile as rosbag2 writes it since version 9; unlimited durations as in DDS."""
    qos = _profile(profile)
    return [{"history": qos.history, "depth": qos.depth, "reliability": qos.reliability, "durability": qos.durability,
             "deadline": dict(_UNLIMITED), "lifespan": dict(_UNLIMITED), "liveliness": "automatic",
             "liveliness_lease_duration": dict(_UNLIMITED), "avoid_ros_namespace_conventions": False}]


_SEPARATOR = "=" * 80
_PRIMITIVE = frozenset(("bool", "byte", "char", "float32", "float64", "int8", "uint8", "int16", "uint16", "int32",
                        "uint32", "int64", "uint64", "string", "wstring"))


def definition(type_name: str) -> str:
    """Return the schema of "package/msg/Name" in MCAP's ros2msg encoding. Raises ConfigError when one is missing.

    Definitions are searched in share/<package>/msg of the sourced ROS environment, then of this Python's.
    """
    texts: dict[str, str] = {}
    waiting = [type_name]
    while waiting:
        name = waiting.pop(0)
        if name not in texts:
            texts[name] = _text(name)
            waiting += _used(texts[name], name.split("/")[0])
    first, *others = texts
    return texts[first] + "".join(f"\n{_SEPARATOR}\nMSG: {_short(name)}\n{texts[name]}" for name in others)


@cache
def type_hash(type_name: str, text: str) -> str:
    """Return the RIHS01 hash of a type with the full definition `text`; rosbag2 checks it when it plays a bag."""
    from rosbags.typesys import Stores, get_types_from_msg, get_typestore

    store = get_typestore(Stores.EMPTY)
    store.register(get_types_from_msg(text, type_name))
    return store.hash_rihs01(type_name)


def _text(name: str) -> str:
    if not re.fullmatch(r"\w+/msg/\w+", name):
        raise ConfigError(f"{name!r:.80} is not the name of a message type such as std_msgs/msg/String")
    package, _, message = name.split("/")
    prefixes = [*filter(None, os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)), sys.prefix]
    for prefix in prefixes:
        path = Path(prefix, "share", package, "msg", f"{message}.msg")
        if path.is_file():
            return path.read_text(encoding="utf-8").rstrip("\n") + "\n"
    raise ConfigError(f"no definition of message type {name} in share/{package}/msg of {', '.join(prefixes)}: "
                      "install or build that package, or source the ROS environment that has it")


def _used(text: str, package: str) -> list[str]:
    """Return the message types of the fields in a .msg text, in order."""
    found = []
    for line in text.splitlines():
        match = re.match(r"([A-Za-z][\w/]*)", line)
        if match and match[1] not in _PRIMITIVE:
            home, _, name = match[1].rpartition("/")
            found.append(f"{home.split('/')[0] or ('std_msgs' if name == 'Header' else package)}/msg/{name}")
    return found


def _short(name: str) -> str:
    """Return "package/Name"."""
    package, _, message = name.split("/")
    return f"{package}/{message}"
