"""Writes a bag in its own thread; senders wait for the disk only with messages that may not be dropped.

The queue is bounded. When it is full, the oldest images are dropped and counted; small messages (transforms, odometry,
answers) are never dropped.
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

ROOM_S = 10.0  # maximum time that a small message waits for space in the queue
_LARGE = (IMAGE, COMPRESSED, "sensor_msgs/msg/PointCloud2")


class _Item(NamedTuple):
    topic: str
    stamp_ns: int
    cdr: bytes
    tag: Any


class Listener:
    """Listener of a recording; called in the writing thread, `dropped` also in threads that send messages."""

    def written(self, tag: Any) -> bool:
        """Handle a written message; return True to flush it to the disk as soon as the queue is empty."""
        return False

    def durable(self) -> None:
        """Handle that all written messages are on the disk or were finally refused."""

    def dropped(self, tag: Any) -> None:
        """Handle a message that was dropped because the queue was full."""

    def refused(self, reason: str) -> None:
        """Handle the error of a message; called once for each message."""


class BagRecording:
    """A bag being recorded. counts: written messages by topic; dropped: images dropped from the full queue by topic.

    failed: why recording stopped, "" if it did not fail.
    """

    def __init__(self, folder: Path, topics: Mapping[str, BagTopic], config: RecordingConfig,
                 roles: Mapping[str, str], listener: Listener | None = None,
                 keys: Mapping[str, str] = MappingProxyType({})) -> None:
        """roles: topic -> color | depth; their images are compressed as configured. Raises the errors of BagWriter.

        keys: key of the graph -> topic, for bags whose topic names differ from the graph's.
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
        """Queue a serialized message. Raises StorageError if the bag is closed or a small one waits over ROOM_S."""
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
            self._listener.refused(f"{item.topic} dropped: the disk is slower than the incoming data")
        if not room and not large:
            raise StorageError(f"a message of {topic} was not recorded: nothing could be written to the disk for "
                               f"{ROOM_S:g} s")

    @property
    def waiting_mb(self) -> float:
        """Size of the queue, megabytes."""
        return self._bytes / 1e6

    def stored(self, topic: str) -> str:
        """Return the name of a topic in the bag."""
        return topic + self._encoder.suffix(self._roles[topic]) if topic in self._roles else topic

    def close(self) -> None:
        """Write the queue and close the bag; a second call does nothing. Raises StorageError when that fails."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join()
        self.bag.close()

    def _make_room(self, size: int, lost: list[_Item]) -> bool:
        """Drop the oldest images until `size` bytes fit; return whether they do."""
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
