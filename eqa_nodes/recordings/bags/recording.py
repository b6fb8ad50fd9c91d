"""A bag that is written by its own thread; senders wait for the disk only when nothing may be dropped.

What waits is bounded. Beyond that the oldest images are dropped and counted; small messages (transforms, odometry,
answers) never are.
"""

from __future__ import annotations

import json
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from eqa_nodes.core.errors import BadFrame, StorageError
from eqa_nodes.recordings.bags.compress import COMPRESSED, ImageEncoder
from eqa_nodes.recordings.bags.writer import FLUSH_S, KEYS, BagTopic, BagWriter
from eqa_nodes.recordings.options import RecordingConfig
from eqa_nodes.wire.cdr import IMAGE
from eqa_nodes.wire.graph import absolute

ROOM_S = 10.0  # that a small message waits for room
_LARGE = (IMAGE, COMPRESSED, "sensor_msgs/msg/PointCloud2")


class _Item(NamedTuple):
    topic: str
    stamp_ns: int
    cdr: bytes
    tag: Any


class Listener:
    """Listener of a recording; called in the writing thread, `dropped` also in threads that send messages."""

    def written(self, tag: Any) -> bool:
        """Hear that a message was written; True: bring it to the disk as soon as nothing else waits."""
        return False

    def durable(self) -> None:
        """Hear that all that was written is on the disk, or refused for good."""

    def dropped(self, tag: Any) -> None:
        """Hear that there was no room for a message."""

    def refused(self, reason: str) -> None:
        """Hear what went wrong with a message; it is called once for each."""


class BagRecording:
    """A bag in the making. counts: messages written; dropped: images for which there was no room; by topic.

    failed: why nothing more is written, "" while all is well.
    """

    def __init__(self, folder: Path, topics: Mapping[str, BagTopic], config: RecordingConfig,
                 roles: Mapping[str, str], listener: Listener | None = None,
                 keys: Mapping[str, str] = MappingProxyType({})) -> None:
        """roles: topic -> color | depth, whose images are compressed as configured. Raises as BagWriter.

        keys: key of the graph -> topic, for bags whose topics have other names than the graph's.
        """
        self._topics, self._config, self._listener = dict(topics), config, listener or Listener()
        self._encoder = ImageEncoder(config)
        self._roles = {name: role for name, role in roles.items()
                       if topics[name].type == IMAGE and self._encoder.suffix(role)}
        self.counts, self.dropped = dict.fromkeys(topics, 0), Counter[str]()
        self.failed = ""
        known = {KEYS: json.dumps({key: absolute(self.stored(name)) for key, name in keys.items()})} if keys else None
        self.bag = BagWriter(folder, {self.stored(name): self._stored(name) for name in topics}, config=config,
                             custom_data=known)
        self._changed = threading.Condition()
        self._waiting: deque[_Item] = deque()
        self._bytes = 0
        self._closing = self._urgent = False
        self._thread = threading.Thread(target=self._run, name="recording", daemon=True)
        self._thread.start()

    def put(self, topic: str, stamp_ns: int, cdr: bytes, tag: Any = None) -> None:
        """Take in a serialized message. Raises StorageError when a small one finds no room in ROOM_S, or at the end."""
        if self._closing or not self._thread.is_alive():
            raise StorageError(f"a message of {topic} was not recorded: bag {self.bag.folder} is closed")
        lost: list[_Item] = []
        item, large = _Item(topic, stamp_ns, cdr, tag), self._large(topic)
        with self._changed:
            room = self._changed.wait_for(lambda: self._make_room(len(cdr), lost), 0.0 if large else ROOM_S)
            if room:
                self._waiting.append(item)
                self._bytes += len(cdr)
                self._changed.notify_all()
            elif large:
                lost.append(item)
        for item in lost:
            self.dropped[item.topic] += 1
            self._listener.dropped(item.tag)
            self._listener.refused(f"{item.topic} dropped: the disk is slower than what comes in")
        if not room and not large:
            raise StorageError(f"a message of {topic} was not recorded: the disk took nothing for {ROOM_S:g} s")

    @property
    def waiting_mb(self) -> float:
        """Megabytes that wait to be written."""
        return self._bytes / 1e6

    def stored(self, topic: str) -> str:
        """Return the name that a topic has in the bag."""
        return topic + self._encoder.suffix(self._roles[topic]) if topic in self._roles else topic

    def close(self) -> None:
        """Write what waits, and close the bag; a second call does nothing. Raises StorageError when that fails."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join()
        self.bag.close()

    def _make_room(self, size: int, lost: list[_Item]) -> bool:
        """Drop the oldest images until `size` bytes fit; say whether they do."""
        limit = self._config.buffer_mb * 1e6
        while self._waiting and self._bytes + size > limit:
            image = next((i for i, item in enumerate(self._waiting) if self._large(item.topic)), None)
            if image is None:
                return False
            lost.append(self._waiting[image])
            self._bytes -= len(self._waiting[image].cdr)
            del self._waiting[image]
        return True

    def _large(self, topic: str) -> bool:
        return self._topics[topic].type in _LARGE

    def _run(self) -> None:
        done, flushed_s = False, time.monotonic()
        while not done:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._closing or self._urgent, FLUSH_S)
                item = self._waiting.popleft() if self._waiting else None
                self._bytes -= len(item.cdr) if item else 0
                self._changed.notify_all()
                idle, done = not self._waiting, self._closing and item is None
            if item is not None:
                self._write(item)
                self._urgent |= self._listener.written(item.tag)
            if done or (self._urgent and idle) or time.monotonic() - flushed_s >= FLUSH_S:
                self._guarded(self.bag.flush)
                flushed_s, self._urgent = time.monotonic(), False
                self._listener.durable()

    def _write(self, item: _Item) -> None:
        name, cdr = item.topic, item.cdr
        if name in self._roles:
            try:
                cdr = self._encoder.encode(self._roles[name], cdr)
                name = self.stored(name)
            except BadFrame as error:
                self._listener.refused(f"{name} is recorded as it is: {error}")
                if name not in self.bag.counts and not self._guarded(self.bag.add, name, self._topics[name]):
                    return
        if self._guarded(self.bag.write, name, item.stamp_ns, cdr):
            self.counts[item.topic] += 1

    def _guarded(self, act: Callable[..., Any], *arguments: Any) -> bool:
        try:
            act(*arguments)
        except StorageError as error:
            self.failed = str(error)
            self._listener.refused(str(error))
            return False
        return True

    def _stored(self, name: str) -> BagTopic:
        topic = self._topics[name]
        return topic._replace(type=COMPRESSED, text="") if name in self._roles else topic
