"""Messages received from a robot for some seconds, kept in memory and read like a bag, with the same checks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from rosbags.interfaces import Connection, ConnectionExtRosbag2, MessageDefinition, MessageDefinitionFormat

from eqa_nodes.recordings.bags.reader import Bag
from eqa_nodes.recordings.bags.roles import ROLES

_NO_DEFINITION = MessageDefinition(MessageDefinitionFormat.NONE, "")  # all roles have standard types


class ReceivedMessages:
    """Serialized messages with their times of arrival: a source of `Bag`. size: bytes of all that came."""

    def __init__(self, types: Mapping[str, str]) -> None:
        """types: topic -> message type, of all topics that are published."""
        self.types = {**types, **dict.fromkeys(("/tf", "/tf_static"), ROLES["tf"][0])}  # which may come later
        self._messages: list[tuple[str, int, bytes]] = []
        self.counts, self.size = Counter[str](), 0

    def put(self, topic: str, received_ns: int, data: bytes) -> None:
        """Keep a message."""
        self._messages.append((topic, received_ns, data))
        self.counts[topic] += 1
        self.size += len(data)

    def bag(self, namespace: str, remap: Mapping[str, str]) -> Bag:
        """Return what came, with topics found as in a bag. Raises as Bag does."""
        return Bag(Path("robot"), self, namespace, remap)

    @property
    def connections(self) -> list[Connection]:
        """Topics with their types and counts."""
        return [Connection(i, topic, kind, _NO_DEFINITION, "", self.counts[topic], ConnectionExtRosbag2("", []), self)
                for i, (topic, kind) in enumerate(sorted(self.types.items()))]

    @property
    def start_time(self) -> int:
        """When the first message came, ns."""
        return self._messages[0][1] if self._messages else 0

    @property
    def end_time(self) -> int:
        """When the last one came."""
        return self._messages[-1][1] if self._messages else 0

    def messages(self, connections: Collection[Connection] = (),
                 start: int | None = None) -> Iterator[tuple[Connection, int, bytes]]:
        """Yield messages of some connections as they came."""
        wanted = {connection.topic: connection for connection in connections}
        for topic, received_ns, data in self._messages:
            if topic in wanted and (start is None or received_ns >= start):
                yield wanted[topic], received_ns, data
