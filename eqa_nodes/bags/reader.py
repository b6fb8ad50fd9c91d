"""Opens bags without ROS, finds the graph's topics in them, and knows where the robot was."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from rosbags.highlevel import AnyReader, AnyReaderError
from rosbags.interfaces import Connection

from eqa_nodes import messages
from eqa_nodes.core.errors import BadPose, StorageError
from eqa_nodes.core.geometry import Transform
from eqa_nodes.graph import TOPICS
from eqa_nodes.ros.tf_buffer import TfBuffer

_FOREVER_NS = 1 << 63


class Recorded(NamedTuple):
    """A message of a bag: the graph's key of its topic, when it was recorded, and its fields."""

    key: str
    log_ns: int
    message: Any


class Bag:
    """An open bag; topics are found by their names in the graph, under any one namespace."""

    def __init__(self, path: Path, reader: AnyReader, namespace: str = "") -> None:
        self.path = path
        self._reader = reader
        self._connections = {key: found for key, topic in TOPICS.items()
                             if (found := self._find(topic.name.lstrip("/"), namespace.strip("/")))}
        self.keys = frozenset(self._connections)

    def count(self, key: str) -> int:
        """Return how many messages of a topic there are."""
        return sum(c.msgcount for c in self._connections.get(key, ()))

    def read(self, keys: Sequence[str]) -> Iterator[Recorded]:
        """Yield the messages of some topics in the order they were recorded. Raises StorageError at damage."""
        key_of = {c.topic: key for key in keys for c in self._connections.get(key, ())}
        wanted = [c for key in keys for c in self._connections.get(key, ())]
        if not wanted:
            return
        with _readable(self.path):
            for connection, log_ns, data in self._reader.messages(wanted):
                yield Recorded(key_of[connection.topic], log_ns, self._reader.deserialize(data, connection.msgtype))

    def _find(self, name: str, namespace: str) -> list[Connection]:
        """Return the connections of one topic: in the namespace, else outside of any, else in the only one there is."""
        for wanted in ([f"/{namespace}/{name}"] if namespace else []) + [f"/{name}"]:
            found = [c for c in self._reader.connections if c.topic == wanted]
            if found:
                return found
        found = [c for c in self._reader.connections if not namespace and c.topic.endswith(f"/{name}")]
        topics = sorted({c.topic for c in found})
        if len(topics) > 1:
            raise StorageError(f"bag {self.path} has {' and '.join(topics)}: say which namespace is meant")
        return found


@contextmanager
def open_bag(path: Path, namespace: str = "") -> Iterator[Bag]:
    """Open a bag folder or a single MCAP file. Raises StorageError when it is absent, damaged or was never closed."""
    path = Path(path)
    if path.is_dir() and not (path / "metadata.yaml").is_file():
        raise StorageError(f"bag {path} was not closed, or is still being recorded: when nobody records it, run "
                           f"`python -m eqa_nodes.bags.recover {path}`")
    with _readable(path):
        reader = AnyReader([path])
        reader.open()
    try:
        yield Bag(path, reader, namespace)
    finally:
        reader.close()


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except (AnyReaderError, OSError) as error:
        raise StorageError(f"bag {path} cannot be read: {error}") from error


class Poses:
    """Where the robot was: all of a bag's transforms; odometry where no transform moves the base.

    Without a map frame, odometry's frame stands for it. invalid: transforms that are not finite and rigid, by child.
    """

    def __init__(self, bag: Bag, base: str = "base_link") -> None:
        self._buffer = TfBuffer(keep_ns=_FOREVER_NS)
        self._base = base
        self.invalid: Counter[str] = Counter()
        self.stamps_ns: list[int] = []  # at which the base's pose was recorded
        self._parents: dict[str, str] = {}
        for key, _, message in bag.read(("tf", "tf_static")):
            for t in message.transforms:
                self._put(t.header, t.child_frame_id, messages.transform_of(t), key == "tf_static")
        if base not in self._parents:
            for _, _, message in bag.read(("odom",)):
                self._put(message.header, base, messages.pose_of(message.pose.pose), False)
        self.fixed = "map" if "map" in self._parents.values() else "odom"
        if self.fixed not in self._parents.values():
            raise StorageError(f"bag {bag.path} does not say where the robot was: it has no transforms from map or "
                               "odom and no odometry; record /tf, /tf_static and odom")
        self.stamps_ns = sorted(set(self.stamps_ns))

    def base(self, stamp_ns: int) -> Transform:
        """Return map_from_base. Raises BadFrame when it is not known at the stamp."""
        return self._buffer.lookup(self.fixed, self._base, stamp_ns)

    def camera(self, frame: str, stamp_ns: int) -> Transform:
        """Return base_from_camera of an optical frame. Raises BadFrame when it is not known."""
        return self._buffer.lookup(self._base, _name(frame), stamp_ns)

    def _put(self, header: Any, child: str, transform: Transform, static: bool) -> None:
        parent, child, stamp_ns = _name(header.frame_id), _name(child), messages.ns_of(header.stamp)
        try:
            self._buffer.put(parent, child, stamp_ns, transform, static)
        except BadPose:
            self.invalid[child] += 1
            return
        self._parents[child] = parent
        if child == self._base:
            self.stamps_ns.append(stamp_ns)


def _name(frame: str) -> str:
    """Frame names of old recordings begin with a slash."""
    return frame.lstrip("/")


