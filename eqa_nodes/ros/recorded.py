"""State of a bag while it is recorded: observations on disk, missing messages, and masked images.
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from rclpy._rclpy_pybind11 import InvalidHandle, RCLError

from eqa_nodes.core.camera.config import TfConfig
from eqa_nodes.core.camera.privacy import PrivacyConfig, hidden_in
from eqa_nodes.core.errors import BadFrame
from eqa_nodes.core.types.views import Frame, Label, check_frame
from eqa_nodes.recordings.bags.recording import Listener
from eqa_nodes.wire.cdr import decoded, without
from eqa_nodes.wire.frame_assembler import FrameAssembler
from eqa_nodes.wire.graph import TOPICS
from eqa_nodes.wire.transforms import TfBuffer

_REMEMBERED = 100  # number of stamps per topic kept to detect repeated messages, and of unfinished observations
IMAGES = ("color", "depth")
PARTS = (*IMAGES, "camera_info")
_TIMES = 3  # an observation that lacks one of _WHERE is refused after lock-step has shown it this many times
_WHERE = ("no transform", "no labels", "no label_table", "no labels and label_table")


class Observer(Protocol):
    """The node that records."""

    context: Any

    def acknowledge(self, stamp_ns: int) -> None:
        """Acknowledge an observation."""

    def count(self, reason: str) -> None:
        """Count a refused message by its reason."""

    def ask_again(self, stamp_ns: int) -> None:
        """Accept an observation again when it is published again."""


class _Recent:
    """The stamps of the newest messages of each part."""

    def __init__(self) -> None:
        self._stamps: dict[str, deque[int]] = {}

    def new(self, key: str, stamp_ns: int) -> bool:
        """Add a stamp; return whether it is new."""
        stamps = self._stamps.setdefault(key, deque(maxlen=_REMEMBERED))
        new = stamp_ns not in stamps
        if new:
            stamps.append(stamp_ns)
        return new

    def forget(self, key: str, stamp_ns: int) -> None:
        """Forget a stamp, so that it counts as new when it arrives again."""
        if stamp_ns in (stamps := self._stamps.get(key, deque())):
            stamps.remove(stamp_ns)


class WriteTracker(Listener):
    """Tracks the parts of observations that are being written, and the observations that are on disk."""

    def __init__(self, node: Observer, needed: tuple[str, ...], shown_again: bool) -> None:
        """needed: parts that must be on disk before an observation is acknowledged.

        shown_again: the publisher repeats an observation until it is acknowledged, so a part with a known stamp is the
        same message. Otherwise each message is a new one, whatever its stamp.
        """
        self._node, self._needed, self._shown_again = node, needed, shown_again
        self._lock = threading.Lock()
        self._seen = _Recent()
        self._parts: dict[int, set[str]] = {}  # by stamp: parts on disk of incomplete observations
        self._written: list[int] = []
        self._durable_ns = -1

    def wanted(self, key: str, stamp_ns: int) -> bool:
        """Return whether a part is new. A repeated part of an observation on disk is acknowledged again."""
        if not self._shown_again:
            return True
        with self._lock:
            new = self._seen.new(key, stamp_ns)
        if not new:
            self.acknowledge_again(stamp_ns)
        return new

    def acknowledge_again(self, stamp_ns: int) -> bool:
        """Return whether an observation is already on disk, and acknowledge it again if so."""
        with self._lock:
            there = stamp_ns == self._durable_ns
        if there:
            self._node.acknowledge(stamp_ns)
        return there

    def without(self, stamp_ns: int, parts: tuple[str, ...]) -> None:
        """Note that these parts are refused permanently: the observation is complete without them."""
        for key in parts:
            if self.wanted(key, stamp_ns):
                self.written((key, stamp_ns))

    def written(self, tag: Any) -> bool:
        if tag is None or tag[0] not in self._needed:
            return False
        key, stamp_ns = tag
        with self._lock:
            parts = self._parts.setdefault(stamp_ns, set())
            parts.add(key)
            while len(self._parts) > _REMEMBERED:
                del self._parts[next(iter(self._parts))]
            if len(parts) < len(self._needed):
                return False
            self._parts.pop(stamp_ns, None)
            self._written.append(stamp_ns)
            return True

    def durable(self) -> None:
        with self._lock:
            stamps, self._written = self._written, []
            self._durable_ns = max([self._durable_ns, *stamps])
        for stamp_ns in stamps:
            try:
                self._node.acknowledge(stamp_ns)
            except (InvalidHandle, RCLError):  # the graph ends while the last messages are written
                if self._node.context.ok():
                    raise

    def dropped(self, tag: Any) -> None:
        if tag is not None:
            key, stamp_ns = tag
            with self._lock:
                self._seen.forget(key, stamp_ns)
            self._node.ask_again(stamp_ns)

    def refused(self, reason: str) -> None:
        self._node.count(reason)


class MessageCounts:
    """Counts the messages of each topic that arrived for one bag, and those that are not in it.

    came: messages that belong in the bag; early: messages from before its episode.
    """

    def __init__(self, lost: Callable[[], Mapping[str, int]], shown_again: bool) -> None:
        """lost: returns the number of messages of each topic that never arrived; shown_again: as in `WriteTracker`."""
        self.came, self.early = Counter[str](), Counter[str]()
        self._seen = _Recent() if shown_again else None
        self._lost, self._before = lost, Counter(lost())

    def take(self, topic: str, stamp_ns: int | None) -> None:
        """Count a message that belongs in the bag; repeats are not counted. stamp_ns: stamp of a part, else None."""
        self.came[topic] += self._seen is None or stamp_ns is None or self._seen.new(topic, stamp_ns)

    def take_early(self, topic: str) -> None:
        """Count a message from before the episode."""
        self.early[topic] += 1

    def in_transit(self) -> Counter[str]:
        """Return the number of messages of each topic lost between their publisher and this recorder."""
        return +(Counter(self._lost()) - self._before)

    def values(self, written: Mapping[str, int], dropped: Mapping[str, int]) -> dict[str, str]:
        """Return the counts of each topic for diagnostics. dropped: messages for which the buffer had no space."""
        transit = self.in_transit()
        return {topic: f"{self.came[topic]} came, {written.get(topic, 0)} written, {transit[topic]} lost on the way, "
                       f"{dropped.get(topic, 0)} dropped, {self.early[topic]} from before the episode"
                for topic in sorted({*self.came, *transit, *self.early})}

    def losses(self, written: Mapping[str, int]) -> list[str]:
        """Return, after the bag is written, one sentence for each topic with messages that are not in the bag."""
        transit, report = self.in_transit(), []
        for topic in sorted({*self.came, *transit, *self.early}):
            words = [f"{n} {what}" for n, what in (
                (transit[topic], "lost on the way to the recorder"),
                (self.came[topic] - written.get(topic, 0), "that came and were dropped or refused"),
                (self.early[topic], "stamped before the episode began")) if n > 0]
            if words:
                report.append(f"{topic}: {written.get(topic, 0)} recorded, and not {' and not '.join(words)}")
        return report


class Masking:
    """Collects the parts of observations; passes on the masked images of complete ones and refuses the others.

    Images that cannot be masked are refused: no image passes unmasked. done_ns: stamp of the newest observation that
    was passed on or refused.
    """

    def __init__(self, config: PrivacyConfig, keep: Callable[[str, int, bytes], None],
                 refuse: Callable[[int, str], None], frames: TfConfig = TfConfig()) -> None:
        """keep: called with key of graph.TOPICS, stamp and serialized message; refuse: with stamp and reason."""
        self._config, self._keep, self._refuse = config, keep, refuse
        labels = ("labels", "label_table") if config.kinds else ()
        self._frames = FrameAssembler(PARTS + labels, TfBuffer(), self._mask, frames=frames)
        self._frames.rejected = self._rejected
        self._images: dict[int, dict[str, Any]] = {}
        self.done_ns = -1
        self._shown = (-1, 0)  # stamp of the last depth image, and how often it arrived

    def begin(self) -> None:
        """Forget everything but the transforms: an episode begins."""
        self._frames.clear()
        self._images.clear()
        self.done_ns, self._shown = -1, (-1, 0)

    def end(self) -> None:
        """Refuse all incomplete observations."""
        self._frames.finish()

    def ask_again(self, stamp_ns: int) -> None:
        """Accept an observation again when it is repeated, because its images were not kept."""
        self.done_ns = min(self.done_ns, stamp_ns - 1)

    def put(self, key: str, stamp_ns: int, message: Any) -> None:
        """Add a part of an observation later than done_ns; others are ignored.

        key: color | depth | camera_info, serialized, or labels | label_table, a message.
        """
        if stamp_ns <= self.done_ns:
            return
        try:
            message = decoded(message, TOPICS[key].type) if key in PARTS else message
        except BadFrame as error:
            self._frames.give_up(stamp_ns, str(error))
            return
        if key in IMAGES:
            self._images.setdefault(stamp_ns, {})[key] = message
        self._frames.put(key, message)
        if key == "depth":
            self._shown = (stamp_ns, self._shown[1] + 1 if self._shown[0] == stamp_ns else 1)
            if self._shown[1] >= _TIMES and self._frames.lacking(stamp_ns) in _WHERE:
                self._frames.give_up(stamp_ns)

    def put_transforms(self, cdr: bytes, static: bool) -> list[str]:
        """Add a serialized tf2_msgs/TFMessage; return the reasons for refused transforms."""
        try:
            return self._frames.put_transforms(decoded(cdr, TOPICS["tf"].type), static)
        except BadFrame as error:
            return [str(error)]

    def _mask(self, frame: Frame, labels: Mapping[int, Label]) -> None:
        try:
            check_frame(frame)
            hidden = hidden_in(frame, labels, self._config)
            kept = {key: without(self._images[frame.stamp_ns][key], hidden) for key in IMAGES}
        except BadFrame as error:
            self._rejected(frame.stamp_ns, str(error))
            return
        self._finished(frame.stamp_ns)
        for key, cdr in kept.items():
            self._keep(key, frame.stamp_ns, cdr)

    def _rejected(self, stamp_ns: int, reason: str) -> None:
        self._finished(stamp_ns)
        self._refuse(stamp_ns, reason)

    def _finished(self, stamp_ns: int) -> None:
        self._images.pop(stamp_ns, None)
        self.done_ns = max(self.done_ns, stamp_ns)
