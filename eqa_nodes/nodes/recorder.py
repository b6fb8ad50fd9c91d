"""Everything an episode history needs -> one rosbag2 MCAP bag an episode, as the bytes it came in or compressed."""

from __future__ import annotations

import threading
from functools import partial
from pathlib import Path
from typing import Any

from rclpy._rclpy_pybind11 import InvalidHandle, RCLError

from eqa_nodes import messages
from eqa_nodes.bags.recording import Listener, Recording
from eqa_nodes.bags.writer import BagTopic, free_name
from eqa_nodes.core.errors import StorageError
from eqa_nodes.graph import TOPICS
from eqa_nodes.ros.node import run_node
from eqa_nodes.ros.observer import EpisodeNode

OBSERVATION = ("color", "depth", "camera_info", "odom")  # an observation is taken in when all of these are on the disk
_UNFINISHED = 100  # observations that may lack a part: on a robot whose topics share no stamps all do


class RecorderNode(EpisodeNode):
    """Acknowledges an observation when all its parts are on the disk."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__("recorder", **kwargs)
        self._recording: Recording | None = None
        self._progress = _Progress(self)
        for key in self.spec.subscribes:
            self.hear(key, partial(self._record, key), raw=True)

    def begin(self, episode: Any, late: bool) -> None:
        self._end()
        if not episode.episode_id:
            return
        # A bag that is there stays: an earlier episode of the same name, or what this node wrote before it died.
        folder = free_name(Path(self.config.folder) / episode.episode_id)
        topics = {TOPICS[key].name: BagTopic(TOPICS[key].type, TOPICS[key].qos) for key in self.spec.subscribes}
        self._progress = _Progress(self)
        self._recording = Recording(folder, topics, self.config.bag,
                                    {TOPICS[role].name: role for role in ("color", "depth")}, self._progress)

    def destroy_node(self) -> None:
        try:
            self._end()
        except StorageError as error:
            self.get_logger().error(str(error))
        super().destroy_node()

    def _end(self) -> None:
        recording, self._recording = self._recording, None
        if recording is not None:
            recording.close()

    def _record(self, key: str, data: bytes) -> None:
        if self._recording is None:
            return
        part = key in OBSERVATION
        stamp = messages.stamp_in(data) if part else self.last_ns
        if part and (stamp < self.starts_ns or not self._progress.wanted(key, stamp)):
            return
        self.last_ns = max(self.last_ns, stamp)
        tag = (key, stamp) if part else None
        try:
            self._recording.put(TOPICS[key].name, max(stamp, self.starts_ns), data, tag)
        except StorageError as error:
            self.count(str(error))
            self._progress.dropped(tag)


class _Progress(Listener):
    """Which parts of which observations are on their way to the disk, and which observations are there."""

    def __init__(self, node: RecorderNode) -> None:
        self._node = node
        self._lock = threading.Lock()
        self._parts: dict[int, dict[str, bool]] = {}  # by stamp: the parts that came, and whether they are written
        self._written: list[int] = []
        self._durable_ns = -1

    def wanted(self, key: str, stamp_ns: int) -> bool:
        """Say whether a part is new; what is asked for again and on the disk already is acknowledged again."""
        with self._lock:
            if stamp_ns != self._durable_ns:
                parts = self._parts.setdefault(stamp_ns, {})
                new = key not in parts and stamp_ns not in self._written
                parts.setdefault(key, False)
                while len(self._parts) > _UNFINISHED:
                    del self._parts[next(iter(self._parts))]
                return new
        self._node.taken(stamp_ns)
        return False

    def written(self, tag: Any) -> bool:
        if tag is None:
            return False
        key, stamp_ns = tag
        with self._lock:
            parts = self._parts.get(stamp_ns, {})
            parts[key] = True
            if not all(parts.get(part, False) for part in OBSERVATION):
                return False
            del self._parts[stamp_ns]
            self._written.append(stamp_ns)
            return True

    def durable(self) -> None:
        with self._lock:
            stamps, self._written = self._written, []
            self._durable_ns = max([self._durable_ns, *stamps])
        for stamp_ns in stamps:
            try:
                self._node.taken(stamp_ns)
            except (InvalidHandle, RCLError):  # the graph ends while the last messages are written
                if self._node.context.ok():
                    raise

    def dropped(self, tag: Any) -> None:
        if tag is not None:
            key, stamp_ns = tag
            with self._lock:
                self._parts.get(stamp_ns, {}).pop(key, None)

    def refused(self, reason: str) -> None:
        self._node.count(reason)


def main() -> int:
    """Run the node."""
    return run_node(RecorderNode)
