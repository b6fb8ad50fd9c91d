"""Facts about a robot in one form, whether collected live, read from a bag, or constructed in tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rosbags.interfaces import Connection, ConnectionExtRosbag2, MessageDefinition, MessageDefinitionFormat

from eqa_nodes.recordings.bags.poses import BASES
from eqa_nodes.recordings.bags.reader import Bag, BagMessage
from eqa_nodes.recordings.bags.roles import ROLES
from eqa_nodes.wire import messages

ALSO = ("map", "clock")  # read besides images and poses


@dataclass
class HeardStream:
    """Messages of one topic or of one moving transform in order of arrival: header stamps and times of arrival, ns.

    Times of arrival are by the clock of the listener or recorder.
    """

    stamps_ns: list[int] = field(default_factory=list)
    received_ns: list[int] = field(default_factory=list)

    def add(self, stamp_ns: int, received_ns: int) -> None:
        """Add one message."""
        self.stamps_ns.append(stamp_ns)
        self.received_ns.append(received_ns)

    def age_s(self, clock: Clock) -> np.ndarray:
        """Return the age of each message on arrival, seconds by `clock`; (N,) float64."""
        return (clock.at(np.array(self.received_ns, np.int64)) - np.array(self.stamps_ns, np.int64)) / 1e9


class TfLink(NamedTuple):
    """A transform between a frame and its parent."""

    parent: str
    child: str
    static: bool


@dataclass
class Clock:
    """The clock: /clock (times of arrival and values) if it is published; else the listener's own clock."""

    received_ns: list[int] = field(default_factory=list)
    values_ns: list[int] = field(default_factory=list)

    @property
    def simulated(self) -> bool:
        """Return whether it is /clock."""
        return bool(self.received_ns)

    @property
    def step_s(self) -> float:
        """Step of /clock between two messages, by which stamps may be ahead of it."""
        return float(np.median(np.diff(self.values_ns))) / 1e9 if len(self.values_ns) > 1 else 0.0

    def at(self, received_ns: np.ndarray) -> np.ndarray:
        """Return the clock's last value at each time of arrival: (N,) int64, ns."""
        if not self.simulated:
            return received_ns
        at = np.searchsorted(np.array(self.received_ns, np.int64), received_ns, "right") - 1
        values: np.ndarray = np.array(self.values_ns, np.int64)[at.clip(0)]
        return values


class Grid(NamedTuple):
    """A map: its number of cells, and the share of them that is known."""

    width: int
    height: int
    resolution_m: float
    known: float


@dataclass
class RobotFacts:
    """streams: messages of color, depth, camera_info and odom, by role; cameras: frame ids in the headers of images.

    links: transforms with their messages (static ones: empty). odometry: frame_id and child_frame_id of odom.
    """

    streams: dict[str, HeardStream] = field(default_factory=dict)
    links: dict[TfLink, HeardStream] = field(default_factory=dict)
    cameras: dict[str, str] = field(default_factory=dict)
    odometry: tuple[str, str] = ("", "")
    clock: Clock = field(default_factory=Clock)
    grid: Grid | None = None

    def take(self, recorded: BagMessage) -> None:
        """Add a message of a bag role or of ALSO."""
        key, received_ns, message = recorded
        if key in ("tf", "tf_static"):
            for t in message.transforms:
                link = TfLink(t.header.frame_id.lstrip("/"), t.child_frame_id.lstrip("/"), key == "tf_static")
                stream = self.links.setdefault(link, HeardStream())
                if not link.static:
                    stream.add(messages.stamp_of(t), received_ns)
        elif key == "clock":
            self.clock.received_ns.append(received_ns)
            self.clock.values_ns.append(messages.ns_of(message.clock))
        elif key == "map":
            self.grid = _grid(message)
        else:
            self.streams.setdefault(key, HeardStream()).add(messages.stamp_of(message), received_ns)
            if key in ("color", "depth"):
                self.cameras[key] = message.header.frame_id.lstrip("/")
            elif key == "odom":
                self.odometry = message.header.frame_id.lstrip("/"), message.child_frame_id.lstrip("/")

    def move_by_odometry(self) -> None:
        """Use odometry if no transform moves the base, as histories of bags do (the graph does not)."""
        parents = self.parents()
        frames = {*parents, *(parent for above in parents.values() for parent in above)}
        base = next((name for name in BASES if name in frames), self.odometry[1] or BASES[0])
        if self.odometry[0] and base not in parents:
            self.links[TfLink(self.odometry[0], base, False)] = self.streams["odom"]

    def parents(self) -> Mapping[str, list[str]]:
        """Return child -> its parent frames, in order of arrival."""
        found: dict[str, list[str]] = {}
        for link in self.links:
            above = found.setdefault(link.child, [])
            above += [link.parent] if link.parent not in above else []
        return found


def _grid(message: Any) -> Grid:
    cells = np.asarray(message.data, np.int8)
    known = float((cells >= 0).mean()) if cells.size else 0.0
    return Grid(int(message.info.width), int(message.info.height), float(message.info.resolution), known)


_NO_DEFINITION = MessageDefinition(MessageDefinitionFormat.NONE, "")  # all roles have standard types


class ReceivedMessages:
    """Serialised messages with their times of arrival: a source for `Bag`. size: total bytes of the messages."""

    def __init__(self, types: Mapping[str, str]) -> None:
        """types: topic -> message type, of all topics that are published."""
        self.types = {**types, **dict.fromkeys(("/tf", "/tf_static"), ROLES["tf"][0])}  # published perhaps later
        self._messages: list[tuple[str, int, bytes]] = []
        self.counts, self.size = Counter[str](), 0

    def put(self, topic: str, received_ns: int, data: bytes) -> None:
        """Keep a message."""
        self._messages.append((topic, received_ns, data))
        self.counts[topic] += 1
        self.size += len(data)

    def bag(self, namespace: str, remap: Mapping[str, str]) -> Bag:
        """Return the messages as a bag, with topics found as in a bag. Raises the errors of Bag."""
        return Bag(Path("robot"), self, namespace, remap)

    @property
    def connections(self) -> list[Connection]:
        """Topics with their types and counts."""
        return [Connection(i, topic, kind, _NO_DEFINITION, "", self.counts[topic], ConnectionExtRosbag2("", []), self)
                for i, (topic, kind) in enumerate(sorted(self.types.items()))]

    @property
    def start_time(self) -> int:
        """Time of arrival of the first message, ns."""
        return self._messages[0][1] if self._messages else 0

    @property
    def end_time(self) -> int:
        """Time of arrival of the last message, ns."""
        return self._messages[-1][1] if self._messages else 0

    def messages(self, connections: Collection[Connection] = (),
                 start: int | None = None) -> Iterator[tuple[Connection, int, bytes]]:
        """Yield the messages of some connections in order of arrival."""
        wanted = {connection.topic: connection for connection in connections}
        for topic, received_ns, data in self._messages:
            if topic in wanted and (start is None or received_ns >= start):
                yield wanted[topic], received_ns, data
