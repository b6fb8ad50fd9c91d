"""Messages of a running graph's episode, kept while it lasts: a trace is made from them where no bag is at hand."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rclpy.node import Node

from eqa_nodes.core.errors import StaleData
from eqa_nodes.recordings.bags.reader import BagMessage
from eqa_nodes.ros.interfaces import interface, qos
from eqa_nodes.wire import messages
from eqa_nodes.wire.graph import TOPICS

# Large messages: of these the last one is of use, and the last one before each message that was made on it.
NEWEST = {"map": ("decision", "keyframes"), "explored": ("decision", "keyframes"), "color": ("decision",)}


class LiveMessages:
    """What a graph publishes on some topics since `begin`, in the order of arrival. Implements recordings.Messages.

    Of topics in NEWEST only a few messages are kept. Static transforms stay from one episode to the next.
    """

    def __init__(self, keys: Sequence[str]) -> None:
        self.path, self._keys = Path("live"), tuple(keys)
        self._kept: list[BagMessage] = []
        self._changed = threading.Condition()

    def listen(self, node: Node) -> None:
        """Subscribe with this node."""
        for key in self._keys:
            topic = TOPICS[key]
            node.create_subscription(interface(topic.type), topic.name, partial(self._take, key), qos(topic.qos))

    def begin(self, stamp_ns: int) -> None:
        """Drop what is older than an episode's first observation, and what has no stamp, such as answers."""
        with self._changed:
            self._kept = [r for r in self._kept if r.key == "tf_static" or r.log_ns >= stamp_ns]

    def await_message(self, key: str, stamp_ns: int, deadline_s: float) -> None:
        """Wait until a message of a topic with this stamp or a later one is here. Raises StaleData at the deadline."""
        def there() -> bool:
            return any(r.key == key and r.log_ns >= stamp_ns for r in self._kept)

        with self._changed:
            if not self._changed.wait_for(there, deadline_s):
                raise StaleData(f"the graph's topic {TOPICS[key].name} has not shown the end of the episode within "
                                f"{deadline_s:g} s: does this machine receive it?")

    def count(self, key: str) -> int:
        """Return how many messages of a topic are kept."""
        return sum(r.key == key for r in self._copy())

    def read(self, keys: Sequence[str], from_ns: int | None = None) -> Iterator[BagMessage]:
        """Yield the kept messages of some topics in the order of arrival. from_ns: leave out what is older."""
        return (r for r in self._copy() if r.key in keys and (from_ns is None or r.log_ns >= from_ns))

    def last(self, key: str) -> Any | None:
        """Return the last message of a topic, None where there is none."""
        return next((r.message for r in reversed(self._copy()) if r.key == key), None)

    def missing(self, key: str) -> str:
        """Return "": the topics of a graph are known."""
        return ""

    def _copy(self) -> list[BagMessage]:
        with self._changed:
            return list(self._kept)

    def _take(self, key: str, message: Any) -> None:
        with self._changed:
            if key in NEWEST:
                self._forget(key)
            self._kept.append(BagMessage(key, _stamp_of(message), message))
            self._changed.notify_all()

    def _forget(self, key: str) -> None:
        """Drop the last message of a topic where nothing was made on it."""
        for index in range(len(self._kept) - 1, -1, -1):
            if self._kept[index].key == key:
                del self._kept[index]
                return
            if self._kept[index].key in NEWEST[key]:
                return


def _stamp_of(message: Any) -> int:
    """Return a message's stamp, ns; of transforms the newest one, -1 where a message has none."""
    if hasattr(message, "transforms"):
        return max((messages.stamp_of(t) for t in message.transforms), default=-1)
    return messages.stamp_of(message) if hasattr(message, "header") else -1
