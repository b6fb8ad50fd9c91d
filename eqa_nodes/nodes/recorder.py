"""Everything an episode history needs -> one rosbag2 MCAP bag an episode, as the bytes it came in or compressed.

Images that hide something are masked before anything else is done with them.
"""

from __future__ import annotations

import threading
from collections import deque
from functools import partial
from pathlib import Path
from typing import Any

from rclpy._rclpy_pybind11 import InvalidHandle, RCLError

from eqa_nodes import messages
from eqa_nodes.bags.cdr import IMAGE
from eqa_nodes.bags.recording import Listener, Recording
from eqa_nodes.bags.writer import BagTopic, free_name
from eqa_nodes.core.errors import StorageError
from eqa_nodes.core.jumps import ClockWatch
from eqa_nodes.core.names import file_name
from eqa_nodes.graph import CAMERA_TOPICS, LABELS, NODES, SECOND, TOPICS, TRANSFORMS, Topic
from eqa_nodes.ros.camera import Camera
from eqa_nodes.ros.masking import IMAGES, PARTS, Masking
from eqa_nodes.ros.observer import EpisodeNode
from eqa_nodes.ros.process import run_node

OBSERVATION = ("color", "depth", "camera_info", "odom")  # an observation is taken in when all of these are on the disk
NEEDED = (*OBSERVATION, "tf")  # and where it was made
STAMPED = ("depth",)  # what an observation is known by where stamps of one moment differ
RECORDED = tuple(key for key in NODES["recorder"].subscribes if all(key not in pair for pair in LABELS.values()))
_STATIC = 64  # messages of static transforms: a robot has one or two
_UNFINISHED = 100  # observations that may lack a part: on a robot whose topics share no stamps all do


class RecorderNode(EpisodeNode):
    """Acknowledges an observation when all its parts are on the disk."""

    row = "recorder"

    def configure(self) -> None:
        super().configure()
        self._recording: Recording | None = None
        self._static: deque[bytes] = deque(maxlen=_STATIC)
        self._over = False  # the episode was ended, and none has begun
        self._progress = _Progress(self)
        self.diagnostics.gauge("waits to be written [MB]", self._waiting_mb, self.config.bag.buffer_mb)
        self._clock_watch = ClockWatch(self.config.node.tf.time_jump_s)
        self._topics = self._heard()
        privacy, source = self.config.privacy, self.config.labels_from
        detected = source == "detector"
        self._masking = Masking(privacy, self._keep, self._refuse, detected,
                                self.config.node.tf) if privacy.active else None
        for key, wire in self._topics.items():
            self._subscribe(wire, partial(self._record, key), raw=True)
        if self._masking is not None and privacy.kinds:
            image, table = LABELS[source]
            self.hear(image, partial(self._see_labels, "labels"))
            self.hear(table, partial(self._see_labels, "label_table") if detected else self._masking.put_table)

    def begin(self, episode: Any, late: bool) -> None:
        failed = self._end()
        self._over = not episode.episode_id
        if self._over:
            if failed:  # observations were acknowledged that are not in the bag: who ends the episode must hear of it
                raise StorageError(failed)
            return
        # A bag that is there stays: an earlier episode of the same name, or what this node wrote before it died.
        folder = free_name(Path(self.config.folder) / file_name(episode.episode_id))
        topics = {(topic := _topic(wire)).name: BagTopic(topic.type, topic.qos) for wire in self._topics.values()}
        self._progress = _Progress(self)
        if self._masking is not None:
            self._masking.begin()
        self._recording = Recording(folder, topics, self.config.bag,
                                    {_topic(wire).name: key.removeprefix(SECOND) for key, wire in self._topics.items()
                                     if _topic(wire).type == IMAGE}, self._progress)
        for data in self._static:
            self._keep("tf_static", self.starts_ns, data)

    def release(self) -> None:
        try:
            self._end()
        except StorageError as error:
            self.get_logger().error(str(error))

    def ask_again(self, stamp_ns: int) -> None:
        """Mask an observation once more when it comes again: there was no room for an image."""
        if self._masking is not None:
            self._masking.ask_again(stamp_ns)

    def _end(self) -> str:
        """Close the bag; return why not all was written, "" when all was."""
        if self._masking is not None and self._recording is not None:
            self._masking.end()
        recording, self._recording = self._recording, None
        if recording is None:
            return ""
        recording.close()
        return recording.failed

    def _waiting_mb(self) -> float:
        recording = self._recording
        return recording.waiting_mb if recording is not None else 0.0

    def _record(self, key: str, data: bytes) -> None:
        if self._masking is not None and key in TRANSFORMS:
            for reason in self._masking.put_transforms(data, static=key == "tf_static"):
                self.count(reason)
        if key == "tf_static" and data not in self._static:  # latched: it comes once, and belongs into every bag
            self._static.append(data)
        if self._recording is None:
            if self._over and key == "depth":  # a robot goes on: nobody is to wait for what is not kept
                self.taken(messages.stamp_in(data))
            return
        stamp = messages.stamp_in(data) if key in OBSERVATION else self.last_ns
        if key == "depth" and self._clock_watch.set_back(stamp, self.last_ns):
            self._go_back(stamp)
        if key in OBSERVATION and stamp < self.starts_ns:
            return
        self.last_ns = max(self.last_ns, stamp)
        if self._masking is not None and key in PARTS:
            self._mask(self._masking, key, stamp, data)
        if self._masking is None or key not in IMAGES:
            self._keep(key, stamp, data)

    def _go_back(self, stamp: int) -> None:
        """Write a bag of its own from here on: the clock was set back, and within a bag time goes on."""
        self.count(f"time went back by {(self.last_ns - stamp) / 1e9:.0f} s: another bag begins")
        self.starts_ns, self.last_ns = min(self.starts_ns, stamp), -1
        try:
            self.begin(self.episode, late=True)
        except StorageError as error:
            self.count(str(error))

    def _heard(self) -> dict[str, str]:
        """Return what is recorded: the key of its topic by the part that it is."""
        node = self.config.node
        heard = dict(zip(RECORDED, RECORDED)) | Camera(node.camera, PARTS).topics()
        if node.second_camera.present:
            second = Camera(node.second_camera, PARTS).topics()
            heard |= {SECOND + part: SECOND + wire for part, wire in second.items()}
        return heard

    def _mask(self, masking: Masking, key: str, stamp: int, data: bytes) -> None:
        if stamp < masking.done_ns:
            self.count("observation from the past")
        elif stamp > masking.done_ns or not self._progress.again(stamp):
            masking.put(key, stamp, data)

    def _keep(self, key: str, stamp: int, data: bytes) -> None:
        """Record a message; a part of an observation only once."""
        part = key in OBSERVATION
        if self._recording is None or (part and not self._progress.wanted(key, stamp)):
            return
        tag = (key, stamp) if part else self._tag_of_transform(data) if key == "tf" else None
        name, at = _topic(self._topics[key]).name, stamp if part else max(stamp, self.starts_ns)
        try:
            self._recording.put(name, at, data, tag)
        except StorageError as error:
            self.count(str(error))
            self._progress.dropped(tag)

    def _tag_of_transform(self, data: bytes) -> tuple[str, int] | None:
        """Return which observation a transform belongs to: each is recorded, the first of a stamp counts."""
        stamp = messages.stamp_in_tf(data)
        return ("tf", stamp) if stamp >= self.starts_ns and self._progress.wanted("tf", stamp) else None

    def _see_labels(self, part: str, message: Any) -> None:
        if self._masking is not None and self._recording is not None and messages.stamp_of(message) >= self.starts_ns:
            self._masking.put(part, messages.stamp_of(message), message)

    def _refuse(self, stamp: int, reason: str) -> None:
        self.count(f"images not recorded: {reason}")
        self._progress.without_images(stamp)


class _Progress(Listener):
    """Which parts of which observations are on their way to the disk, and which observations are there."""

    def __init__(self, node: RecorderNode) -> None:
        self._node = node
        self._needed = STAMPED if node.config.node.camera.tolerance_s else NEEDED
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

    def again(self, stamp_ns: int) -> bool:
        """Say whether an observation is on the disk already; then it is acknowledged again."""
        with self._lock:
            there = stamp_ns == self._durable_ns
        if there:
            self._node.taken(stamp_ns)
        return there

    def without_images(self, stamp_ns: int) -> None:
        """Hear that the images of an observation are refused for good: it is there when its other parts are."""
        for key in (*IMAGES, "tf"):
            if self.wanted(key, stamp_ns):
                self.written((key, stamp_ns))

    def written(self, tag: Any) -> bool:
        if tag is None:
            return False
        key, stamp_ns = tag
        with self._lock:
            parts = self._parts.get(stamp_ns, {})
            parts[key] = True
            if not all(parts.get(part, False) for part in self._needed):
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
            self._node.ask_again(stamp_ns)

    def refused(self, reason: str) -> None:
        self._node.count(reason)


def _topic(wire: str) -> Topic:
    return TOPICS.get(wire) or CAMERA_TOPICS[wire]


def main() -> int:
    """Run the node."""
    return run_node(RecorderNode)
