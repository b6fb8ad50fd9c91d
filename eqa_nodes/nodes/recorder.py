"""Everything an episode history needs -> one rosbag2 MCAP bag an episode; messages pass as the bytes they came in."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from rclpy.clock import Clock, ClockType

from eqa_nodes import messages
from eqa_nodes.bags.writer import FLUSH_S, BagTopic, BagWriter, free_name
from eqa_nodes.core.errors import StorageError
from eqa_nodes.graph import TOPICS
from eqa_nodes.ros.node import run_node
from eqa_nodes.ros.observer import EpisodeNode

OBSERVATION = ("color", "depth", "camera_info", "odom")  # an observation is taken in when all of these are written


class RecorderNode(EpisodeNode):
    """Acknowledges an observation when all its parts are in the bag."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__("recorder", **kwargs)
        self._bag: BagWriter | None = None
        self._parts: dict[int, set[str]] = {}
        for key in self.spec.subscribes:
            self.hear(key, partial(self._record, key), raw=True)
        self.create_timer(FLUSH_S, self._flush, callback_group=self.data_group,
                          clock=Clock(clock_type=ClockType.STEADY_TIME))

    def begin(self, episode: Any, late: bool) -> None:
        if self._bag is not None:
            self._bag.close()
            self._bag = None
        self._parts.clear()
        if not episode.episode_id:
            return
        # A bag that is there stays: an earlier episode of the same name, or what this node wrote before it died.
        folder = free_name(Path(self.config.folder) / episode.episode_id)
        self._bag = BagWriter(folder, {TOPICS[key].name: BagTopic(TOPICS[key].type, TOPICS[key].qos)
                                       for key in self.spec.subscribes})

    def destroy_node(self) -> None:
        if self._bag is not None:
            self._bag.close()
        super().destroy_node()

    def _record(self, key: str, data: bytes) -> None:
        if self._bag is None:
            return
        stamp = messages.stamp_in(data) if key in OBSERVATION else self.last_ns
        if key in OBSERVATION and stamp < self.starts_ns:
            return
        if key in OBSERVATION and stamp <= self.last_ns:  # asked for again
            self.taken(stamp)
            return
        try:
            self._bag.write(TOPICS[key].name, max(stamp, self.starts_ns), data)
        except StorageError as error:
            self.count(str(error))
        if key in OBSERVATION:
            self._complete(key, stamp)

    def _flush(self) -> None:
        """Bring what came in to the disk, also when nothing comes after it."""
        if self._bag is not None:
            try:
                self._bag.flush()
            except StorageError as error:
                self.count(str(error))

    def _complete(self, key: str, stamp: int) -> None:
        have = self._parts.setdefault(stamp, set())
        have.add(key)
        if have == set(OBSERVATION):
            del self._parts[stamp]
            self.last_ns = stamp
            self.taken(stamp)


def main() -> int:
    """Run the node."""
    return run_node(RecorderNode)
