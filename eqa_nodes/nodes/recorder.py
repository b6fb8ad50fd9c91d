"""Records all topics of an episode history to one rosbag2 MCAP bag per episode, as received or compressed.

Images with private content are masked before any other processing.
"""

from __future__ import annotations

from collections import deque
from functools import partial
from pathlib import Path
from typing import Any

from eqa_nodes.config.nodes import RecorderSettings
from eqa_nodes.core.camera.jumps import ClockJumpDetector
from eqa_nodes.core.errors import StorageError
from eqa_nodes.core.storage.text import file_name
from eqa_nodes.recordings.bags.compress import COMPRESSED, ImageEncoder
from eqa_nodes.recordings.bags.recording import BagRecording
from eqa_nodes.recordings.bags.writer import BagTopic, definition, free_name, type_hash
from eqa_nodes.ros.diagnostics import StatusReport
from eqa_nodes.ros.observer import EpisodeNode
from eqa_nodes.ros.process import run_node
from eqa_nodes.ros.rates import OK, WARN, FlowStatus
from eqa_nodes.ros.recorded import IMAGES, PARTS, Masking, MessageCounts, WriteTracker
from eqa_nodes.wire import messages
from eqa_nodes.wire.camera_input import CameraInput
from eqa_nodes.wire.cdr import IMAGE
from eqa_nodes.wire.graph import CAMERA_TOPICS, KINDS, LABELS, NODES, SECOND, TOPICS, TRANSFORMS, Topic

OBSERVATION = ("color", "depth", "camera_info", "odom")  # an observation is acknowledged when these are all on disk
NEEDED = (*OBSERVATION, "tf")  # with the pose of the observation
LABELLED = LABELS["simulator"]  # the simulator's label image of an observation, and its label table
STAMPED = ("depth",)  # the part whose stamp identifies an observation if the stamps of its parts differ
RECORDED = tuple(key for key in NODES["recorder"].subscribes if all(key not in pair for pair in LABELS.values()))
_STATIC = 64  # messages of static transforms: a robot has one or two


class RecorderNode(EpisodeNode[RecorderSettings]):
    """Acknowledges an observation when all its parts are on disk."""

    row = "recorder"

    def configure(self) -> None:
        super().configure()
        self._recording: BagRecording | None = None
        self._static: deque[bytes] = deque(maxlen=_STATIC)
        self._over = False  # the episode was ended, and none has begun
        self._newest_depth_ns = -1
        privacy, source = self.config.memory.privacy, self.config.labels_from
        self._labelled = self.config.labels and not privacy.active  # a label image shows what a mask hides
        self._stamped = (*OBSERVATION, LABELLED[0]) if self._labelled else OBSERVATION
        # Memory's views that arrived while no episode ran here.
        self._views: deque[bytes] = deque(maxlen=KINDS[TOPICS["keyframes"].qos].depth)
        self._table = b""  # the newest label table
        self._new_bag()
        self.diagnostics.add("recording", self._report)
        self.diagnostics.gauge("waits to be written [MB]", self._waiting_mb, self.config.bag.buffer_mb)
        self._clock_watch = ClockJumpDetector(self.config.node.tf.time_jump_s)
        self._topics = self._subscribed_topics()
        self._masking = Masking(privacy, self._keep, self._refuse, self.config.node.tf) if privacy.active else None
        for key, wire in self._topics.items():
            self._subscribe(wire, partial(self._record, key), raw=True)
        if self._masking is not None and privacy.kinds:
            for part, key in zip(LABELLED, LABELS[source], strict=True):
                self.subscribe(key, partial(self._see_labels, part))

    def prepare(self) -> None:
        ImageEncoder(self.config.bag)
        for name in {COMPRESSED, *(_topic(wire).type for wire in self._topics.values())}:
            type_hash(name, definition(name))

    def begin(self, episode: Any, late: bool) -> None:
        failed = self._end()
        self._over = not episode.episode_id
        if self._over:
            if failed:  # report acknowledged observations that are not in the bag to the caller
                raise StorageError(failed)
            return
        # Keep an existing bag: an earlier episode of the same name, or the bag of this node before it crashed.
        folder = free_name(Path(self.config.folder) / file_name(episode.episode_id))
        topics = {self._name(key): BagTopic((topic := _topic(wire)).type, topic.qos)
                  for key, wire in self._topics.items()}
        self._new_bag()
        if self._masking is not None:
            self._masking.begin()
        self._recording = BagRecording(folder, topics, self.config.bag,
                                       {self._name(key): key.removeprefix(SECOND) for key, wire in self._topics.items()
                                        if _topic(wire).type == IMAGE}, self._progress, self._renamed())
        for data in self._static:
            self._tally.take(self._name("tf_static"), None)
            self._keep("tf_static", self.starts_ns, data)
        if self._table:
            self._tally.take(self._name(LABELLED[1]), None)
            self._keep(LABELLED[1], self.starts_ns, self._table)
        while self._views:  # a late subscriber may receive memory's views before their episode
            self._record("keyframes", self._views.popleft())

    def _new_bag(self) -> None:
        matched = bool(self.config.node.camera.tolerance_s)  # a robot, which never repeats an image
        needed = (*NEEDED, LABELLED[0]) if self._labelled else NEEDED
        self._progress = WriteTracker(self, STAMPED if matched else needed, shown_again=not matched)
        self._tally = MessageCounts(self.diagnostics.lost, shown_again=not matched)
        self._newest_depth_ns = -1

    def release(self) -> None:
        try:
            self._end()
        except StorageError as error:
            self.get_logger().error(str(error))

    def ask_again(self, stamp_ns: int) -> None:
        """Mask an observation again when it is repeated: there was no space for one of its images."""
        if self._masking is not None:
            self._masking.ask_again(stamp_ns)

    def _end(self) -> str:
        """Close the bag; return the reason why data are missing, "" if all was written."""
        if self._masking is not None and self._recording is not None:
            self._masking.end()
        recording, self._recording = self._recording, None
        if recording is None:
            return ""
        recording.close()
        total, losses = sum(recording.counts.values()), self._tally.losses(recording.counts)
        if losses:
            self.get_logger().warning(f"bag {recording.bag.folder}: {total} messages. {'; '.join(losses)}")
        else:
            self.get_logger().info(f"bag {recording.bag.folder}: {total} messages, nothing was lost")
        return recording.failed

    def _report(self) -> StatusReport:
        """Report the messages of each topic that were received for this bag, and those that were lost."""
        recording = self._recording
        if recording is None:
            return StatusReport(FlowStatus(OK, "no bag is written"), {})
        lost = self._tally.in_transit().total() + recording.dropped.total()
        words = recording.failed or (f"{lost} messages are lost" if lost else "nothing is lost")
        return StatusReport(FlowStatus(WARN if lost or recording.failed else OK, words),
                            {"bag": recording.bag.folder, **self._tally.values(recording.counts, recording.dropped)})

    def _name(self, key: str) -> str:
        """Return the name of a topic in the bag."""
        name = _topic(self._topics[key]).name
        return name if self.config.bag.names == "graph" else self.resolve_topic_name(name)

    def _renamed(self) -> dict[str, str]:
        """Return the topic of the bag for each key of the graph, if the bag does not use the graph's names."""
        return {} if self.config.bag.names == "graph" else {key: self._name(key) for key in self._topics
                                                            if not key.startswith(SECOND)}

    def _waiting_mb(self) -> float:
        recording = self._recording
        return recording.waiting_mb if recording is not None else 0.0

    def _record(self, key: str, data: bytes) -> None:
        if self._masking is not None and key in TRANSFORMS:
            for reason in self._masking.put_transforms(data, static=key == "tf_static"):
                self.count(reason)
        if key == "tf_static" and data not in self._static:  # latched: it is sent once and belongs in every bag
            self._static.append(data)
        if key == LABELLED[1]:
            if messages.same_content(data, self._table):
                return  # a bag has a table where it changes
            self._table = data
        if self._recording is None:
            if key == "keyframes":
                self._views.append(data)
            if self._over and key == "depth":  # not recorded, but others wait for it
                self.acknowledge(messages.stamp_in(data))
            return
        if key == "keyframes" and messages.stamp_in(data) < self.starts_ns:
            return  # memory's publisher still has views of the episode before for late subscribers
        stamp = messages.stamp_in(data) if key in self._stamped else self.last_ns
        if key == "depth":  # compare depth stamps only: other topics may use another clock
            if self._clock_watch.set_back(stamp, self._newest_depth_ns):
                self._go_back(stamp)
            self._newest_depth_ns = max(self._newest_depth_ns, stamp)
        if key in self._stamped and stamp < self.starts_ns:
            self._tally.take_early(self._name(key))
            return
        self._tally.take(self._name(key), stamp if key in self._stamped else None)
        self.last_ns = max(self.last_ns, stamp)
        if self._masking is not None and key in PARTS:
            self._mask(self._masking, key, stamp, data)
        if self._masking is None or key not in IMAGES:
            self._keep(key, stamp, data)

    def _go_back(self, stamp: int) -> None:
        """Begin another bag because the clock was set back: stamps within one bag must increase."""
        self.count(f"time went back by {(self._newest_depth_ns - stamp) / 1e9:.0f} s: another bag begins")
        self.starts_ns, self.last_ns = min(self.starts_ns, stamp), -1
        try:
            self.begin(self.episode, late=True)
        except StorageError as error:
            self.count(str(error))

    def _subscribed_topics(self) -> dict[str, str]:
        """Return the recorded parts with the keys of their topics."""
        node = self.config.node
        recorded = (*RECORDED, *LABELLED) if self._labelled else RECORDED
        topics = dict(zip(recorded, recorded)) | CameraInput(node.camera, PARTS).topics()
        if node.second_camera.present:
            second = CameraInput(node.second_camera, PARTS).topics()
            topics |= {SECOND + part: SECOND + wire for part, wire in second.items()}
        return topics

    def _mask(self, masking: Masking, key: str, stamp: int, data: bytes) -> None:
        if stamp < masking.done_ns:
            self.count("observation from the past")
        elif stamp > masking.done_ns or not self._progress.acknowledge_again(stamp):
            masking.put(key, stamp, data)

    def _keep(self, key: str, stamp: int, data: bytes) -> None:
        """Record a message; a part of an observation only once."""
        part = key in self._stamped
        if self._recording is None or (part and not self._progress.wanted(key, stamp)):
            return
        tag = (key, stamp) if part else self._tag_of_transform(data) if key == "tf" else None
        name, at = self._name(key), stamp if part else max(stamp, self.starts_ns)
        try:
            self._recording.put(name, at, data, tag)
        except StorageError as error:
            self.count(str(error))
            self._progress.dropped(tag)

    def _tag_of_transform(self, data: bytes) -> tuple[str, int] | None:
        """Return the tag of a transform's observation. All transforms are recorded, the first of a stamp is tagged."""
        stamp = messages.stamp_in_tf(data)
        return ("tf", stamp) if stamp >= self.starts_ns and self._progress.wanted("tf", stamp) else None

    def _see_labels(self, part: str, message: Any) -> None:
        if self._masking is not None and self._recording is not None and messages.stamp_of(message) >= self.starts_ns:
            self._masking.put(part, messages.stamp_of(message), message)

    def _refuse(self, stamp: int, reason: str) -> None:
        self.count(f"images not recorded: {reason}")
        self._progress.without(stamp, (*IMAGES, "tf"))


def _topic(wire: str) -> Topic:
    return TOPICS.get(wire) or CAMERA_TOPICS[wire]


def main() -> int:
    """Run the node."""
    return run_node(RecorderNode)
