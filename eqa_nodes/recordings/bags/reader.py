"""Opens bags without ROS, and finds the topics of the graph or of another robot in them."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any, NamedTuple, Protocol

from rosbags.interfaces import Connection, MessageDefinitionFormat
from rosbags.rosbag1 import Reader as Ros1Reader
from rosbags.typesys import Stores, get_types_from_idl, get_types_from_msg, get_typestore
from rosbags.typesys.store import Typestore

from eqa_nodes.core.errors import ConfigError, EqaError, StorageError, unknown
from eqa_nodes.core.storage.codec import loads
from eqa_nodes.recordings.bags.bag_files import SUFFIX, BagFiles, open_ros1, unpack_message
from eqa_nodes.recordings.bags.roles import ROLES, Head, TopicChoice, head_of, types_of
from eqa_nodes.recordings.bags.writer import KEYS
from eqa_nodes.wire.graph import TOPICS

_LAST_NS = 1_000_000_000  # the first part, before a bag's end, to be searched for a topic's last message


class BagMessage(NamedTuple):
    """A message of a bag: the graph's key of its topic, the time of recording, and its fields."""

    key: str
    log_ns: int
    message: Any


class Messages(Protocol):
    """Messages of an episode by the graph's keys of their topics, from a bag or from a live graph.

    path: source of the messages, for errors.
    """

    path: Path

    def count(self, key: str) -> int:
        """Return the number of messages of a topic."""

    def read(self, keys: Sequence[str], from_ns: int | None = None) -> Iterator[BagMessage]:
        """Yield the messages of some topics in order."""

    def last(self, key: str) -> Any | None:
        """Return the last message of a topic, None if it has no messages."""

    def missing(self, key: str) -> str:
        """Return why there is no topic for a key, as half a sentence; "" if there is no candidate at all."""


class MessageSource(Protocol):
    """A source of serialized messages: an open rosbags reader, or messages received from a robot."""

    @property
    def connections(self) -> list[Connection]:
        """Topics with their types and counts."""

    @property
    def start_time(self) -> int:
        """Time at which the first message was recorded, ns."""

    @property
    def end_time(self) -> int:
        """Time at which the last message was recorded, ns."""

    def messages(self, connections: Collection[Connection] = (),
                 start: int | None = None) -> Iterable[tuple[Connection, int, bytes]]:
        """Yield the messages of the given connections with their recording times, in order."""


class MessageDecoder:
    """Deserializes messages: standard ones by their standard definition (old bags contain none), all others by the
    definition in the bag. Messages of ROS 1 get the field names of ROS 2."""

    def __init__(self, ros1: bool = False) -> None:
        self._standard = Stores.ROS1_NOETIC if ros1 else Stores.ROS2_JAZZY
        self._ros1, self._store = ros1, _store(self._standard)

    def __call__(self, connection: Connection, data: bytes) -> Any:
        """Return a message."""
        kind = connection.msgtype
        if kind not in self._store.fielddefs:
            self._learn(connection)
        if not self._ros1:
            return self._store.deserialize_cdr(data, kind)
        message = self._store.deserialize_ros1(data, kind)
        return _lower_case(message) if kind == "sensor_msgs/msg/CameraInfo" else message

    def _learn(self, connection: Connection) -> None:
        text = connection.msgdef.data
        idl = connection.msgdef.format == MessageDefinitionFormat.IDL
        types = get_types_from_idl(text) if idl else get_types_from_msg(text, connection.msgtype)
        if self._store is _store(self._standard):  # shared by all bags
            self._store = get_typestore(self._standard)
        self._store.register({name: t for name, t in types.items() if name not in self._store.fielddefs})


@cache
def _store(standard: Stores) -> Typestore:
    """Return the standard messages: those that a history needs are the same in every release of ROS 2."""
    return get_typestore(standard)


def _lower_case(info: Any) -> SimpleNamespace:
    """Return a CameraInfo of ROS 1, whose matrices have upper-case names, with the names of ROS 2."""
    return SimpleNamespace(header=info.header, height=info.height, width=info.width,
                           distortion_model=info.distortion_model, binning_x=info.binning_x,
                           binning_y=info.binning_y, roi=info.roi, d=info.D, k=info.K, r=info.R, p=info.P)


class Bag:
    """An open bag; its topics are chosen by type, count and name (`TopicChoice`), unless they are given.

    topics: key -> topic; unclear: role -> equally likely topics; lost: names of missing files of the bag.
    """

    def __init__(self, path: Path, reader: MessageSource, namespace: str = "", remap: Mapping[str, str] | None = None,
                 packed: bool = False, known: Mapping[str, str] = MappingProxyType({}),
                 decode: Callable[[Connection, bytes], Any] | None = None) -> None:
        """remap: role (one of ROLES) -> topic; packed: whether messages were compressed one by one; known: key ->
        topic; decode: function that deserializes a message (None: the CDR of ROS 2).

        Raises ConfigError for an unknown role, StorageError for an unknown topic.
        """
        self.path = path
        self.lost: tuple[str, ...] = getattr(reader, "lost", ())
        self._reader, self._packed = reader, packed
        self._decode = decode or MessageDecoder()
        self.types = {c.topic: c.msgtype for c in reader.connections}
        self.counts = Counter[str]()
        for c in reader.connections:
            self.counts[c.topic] += c.msgcount
        self._choice = TopicChoice(self.types, self.counts, cache(self._head), namespace.strip("/"))
        guessed = self._choice.guess({**known, **self._remapped(remap or {})})
        self.topics, self.unclear = guessed.topics, guessed.unclear
        self.keys = frozenset(self.topics)

    @property
    def start_ns(self) -> int:
        """Time at which the first message was recorded, ns; offsets into the bag are relative to it."""
        return int(self._reader.start_time)

    def count(self, key: str) -> int:
        """Return the number of messages of a topic."""
        return self.counts[self.topics.get(key, "")]

    def missing(self, key: str) -> str:
        """Return why no topic was chosen for a key, as half a sentence; "" if there is no candidate at all."""
        if key in self.unclear:
            named = f" or the topic with --remap {key}:=TOPIC" if key in ROLES else ""
            return f"{key} may be {' or '.join(self.unclear[key])}: name the robot with --namespace{named}"
        if wrong := {} if key in self.topics else self._choice.wrong(key):
            return (f"{' and '.join(f'{topic} is {kind}' for topic, kind in wrong.items())}, and {key} is read from "
                    f"{' or '.join(types_of(key))}: record or convert it to that")
        return ""

    def read(self, keys: Sequence[str], from_ns: int | None = None) -> Iterator[BagMessage]:
        """Yield the messages of some topics in the order they were recorded. Raises StorageError at damage.

        from_ns: skip messages recorded before this time. Raises StorageError for a key whose topic is ambiguous, except
        odometry, which is needed only in a bag without transforms of the base.
        """
        if unclear := [self.missing(key) for key in keys if key in self.unclear and key != "odom"]:
            raise StorageError(f"bag {self.path}: {'; '.join(unclear)}")
        wanted = [c for key in keys for c in self._connections(key)]
        key_of = {self.topics[key]: key for key in keys if key in self.topics}
        if not wanted:
            return
        with _readable(self.path):
            for connection, log_ns, data in self._reader.messages(wanted, from_ns):
                data = unpack_message(data) if self._packed else data
                yield BagMessage(key_of[connection.topic], log_ns, self._decode(connection, data))

    def last(self, key: str) -> Any | None:
        """Return the last message of a topic, None if it has none; decompresses only the end of the bag."""
        end, back = int(self._reader.end_time), _LAST_NS
        while self.count(key):
            if found := deque(self.read((key,), end - back), maxlen=1):
                return found[0].message
            if end - back < self.start_ns:
                break
            back *= 8
        return None

    def _connections(self, key: str) -> list[Connection]:
        return [c for c in self._reader.connections if c.topic == self.topics.get(key)]

    def _head(self, topic: str) -> Head:
        """Return the head of the first message of a topic, empty if there is none or it cannot be read."""
        if not self.counts[topic]:
            return Head()
        connections = [c for c in self._reader.connections if c.topic == topic]
        try:
            with _readable(self.path):
                for connection, _, data in self._reader.messages(connections):
                    data = unpack_message(data) if self._packed else data
                    return head_of(self._decode(connection, data))
        except StorageError:
            pass  # reading the topic reports it, if the topic is used at all
        return Head()

    def _remapped(self, remap: Mapping[str, str]) -> dict[str, str]:
        for role, topic in remap.items():
            if role not in ROLES:
                raise ConfigError(unknown("role", role, ROLES))
            if self.types.get(topic) not in ROLES[role]:
                has = sorted(t for t, type_name in self.types.items() if type_name in ROLES[role])
                raise StorageError(f"bag {self.path} has no topic {topic!r} of {' or '.join(ROLES[role])} for {role}: "
                                   f"it has {', '.join(has) or 'none'}")
        if twice := [topic for topic, n in Counter(remap.values()).items() if n > 1]:
            raise ConfigError(f"--remap gives {' and '.join(twice)} to several roles: a topic has one role")
        return dict(remap)


def is_bag(path: Path) -> bool:
    """Return whether a path is a rosbag2 folder or file, or a bag of ROS 1."""
    if path.is_dir():
        return (path / "metadata.yaml").is_file() or any(next(path.glob(p), None) for p in ("*.mcap", "*.db3"))
    return path.suffix in (".mcap", ".db3", SUFFIX) and path.is_file()


@contextmanager
def open_bag(path: Path, namespace: str = "", remap: Mapping[str, str] | None = None) -> Iterator[Bag]:
    """Open a bag folder, a single MCAP or sqlite3 file, or a bag of ROS 1; missing files of a bag are skipped.

    Raises StorageError when the path does not exist, is not a bag, is damaged or was never closed, or when the bag
    lacks the namespace or a topic of `remap`.
    """
    path = Path(path)
    if path.exists() and not is_bag(path):
        raise StorageError(f"{path} is not a bag: a bag is a rosbag2 folder with metadata.yaml, a .mcap or .db3 file, "
                           "or a .bag file of ROS 1")
    if path.is_dir() and not (path / "metadata.yaml").is_file():
        help_ = (f"name its file {file}, or run `ros2 bag reindex`" if (file := next(path.glob("*.db3"), None)) else
                 f"if it is not being recorded, run `python -m eqa_nodes.recordings.bags.recover {path}`")
        raise StorageError(f"bag {path} was not closed, or is still being recorded: {help_}")
    with _readable(path):
        reader = open_ros1(path) if path.suffix == SUFFIX else BagFiles(path)
        reader.open()
    try:
        with _readable(path):
            bag = Bag(path, reader, namespace, remap, *_reading(reader))
        _check_namespace(bag, namespace.strip("/"))
        yield bag
    finally:
        reader.close()


def _reading(reader: BagFiles | Ros1Reader) -> tuple[bool, Mapping[str, str], Callable[[Connection, bytes], Any]]:
    """Return the arguments packed, known and decode of a Bag for an open reader."""
    if isinstance(reader, Ros1Reader):
        return False, {}, MessageDecoder(ros1=True)
    return reader.packed, _known(reader), MessageDecoder()


def _known(reader: BagFiles) -> dict[str, str]:
    """Return the topics of the graph that the recorder named in the bag, if they exist and have the right type."""
    said = loads(reader.custom.get(KEYS) or "{}")
    types = {c.topic: c.msgtype for c in reader.connections}
    if not isinstance(said, dict) or not all(isinstance(topic, str) for topic in said.values()):
        raise StorageError(f"{KEYS} in its custom_data is not a JSON object of keys and topics: remove it")
    return {key: topic for key, topic in said.items() if key in TOPICS and types.get(topic) in types_of(key)}


def _check_namespace(bag: Bag, namespace: str) -> None:
    """Raise StorageError for a namespace without topics."""
    if namespace and not any(topic.startswith(f"/{namespace}/") for topic in bag.types):
        first = sorted({topic.split("/")[1] for topic in bag.types if topic.count("/") > 1})
        raise StorageError(f"bag {bag.path} has no topic in the namespace {namespace!r}: its topics are in "
                           f"{', '.join(first) or 'none'}")


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Convert the various exceptions that bag readers raise for damaged bags to StorageError."""
    try:
        yield
    except EqaError:
        raise
    except Exception as error:
        raise StorageError(f"bag {path} cannot be read: {type(error).__name__}: {error}"
                           + _remedy(path, error)) from error


def _remedy(path: Path, error: Exception) -> str:
    """Return how to repair a truncated file, "" for other damage."""
    if path.suffix == SUFFIX and "index" in str(error).lower():
        return f" It was cut off: repair it in place with rosbag reindex {path} (ROS 1)"
    if "end magic" not in str(error):
        return ""
    folder = path if path.is_dir() else "FOLDER, with the file in it"
    return f" It was cut off: repair it in place with python -m eqa_nodes.recordings.bags.recover {folder}"
