"""A running graph's messages as a history: the frames of a camera, and the data of a trace if there is no bag.
"""

from __future__ import annotations

import math
import os
import queue
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from threading import Thread
from types import MappingProxyType
from typing import Any

import rclpy
from rclpy.context import Context
from rclpy.node import Node

from eqa_nodes.core.camera.config import TfConfig
from eqa_nodes.core.errors import BadFrame, BadPose, ConfigError, StaleData, StorageError, unknown
from eqa_nodes.core.types.views import Frame, Label, check_frame, clean_depth
from eqa_nodes.recordings.bags.reader import BagMessage
from eqa_nodes.recordings.episode_history import FramesAlone, RecordedFrame
from eqa_nodes.ros.interfaces import interface, qos
from eqa_nodes.ros.spinning import OneThread, spin
from eqa_nodes.ros.subscriptions import AdaptiveSubscriptions, message_alone
from eqa_nodes.wire import messages
from eqa_nodes.wire.frame_assembler import FrameAssembler
from eqa_nodes.wire.graph import SELDOM, TOPICS, TRANSFORMS
from eqa_nodes.wire.transforms import TfBuffer

# Large messages: only the last one is kept, and the last one before each message that was derived from it.
NEWEST = {"map": ("decision", "keyframes"), "explored": ("decision", "keyframes"), "color": ("decision",)}
IMAGES = ("color", "depth", "camera_info")
WAITING = 30  # frames that may wait for the reader; later ones are dropped and counted
QUIET_S = 10.0  # a camera without images for this long counts as switched off


class LiveMessages:
    """The messages of some topics of a graph since `begin`, in order of arrival. Implements recordings.Messages.

    Of topics in NEWEST only a few messages are kept. Static transforms are kept across episodes.
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
        """Drop messages older than an episode's first observation, and those without a stamp, such as answers."""
        with self._changed:
            self._kept = [r for r in self._kept if r.key == "tf_static" or r.log_ns >= stamp_ns]

    def await_message(self, key: str, stamp_ns: int, deadline_s: float) -> None:
        """Wait for a message of a topic with this stamp or a later one. Raises StaleData at the deadline."""
        def there() -> bool:
            return any(r.key == key and r.log_ns >= stamp_ns for r in self._kept)

        with self._changed:
            if not self._changed.wait_for(there, deadline_s):
                raise StaleData(f"the graph's topic {TOPICS[key].name} has not shown the end of the episode within "
                                f"{deadline_s:g} s: does this machine receive it?")

    def count(self, key: str) -> int:
        """Return the number of kept messages of a topic."""
        return sum(r.key == key for r in self._copy())

    def read(self, keys: Sequence[str], from_ns: int | None = None) -> Iterator[BagMessage]:
        """Yield the kept messages of some topics in order of arrival. from_ns: skip messages with older stamps."""
        return (r for r in self._copy() if r.key in keys and (from_ns is None or r.log_ns >= from_ns))

    def last(self, key: str) -> Any | None:
        """Return the last message of a topic, None if there is none."""
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
        """Drop the last message of a topic unless a later message was derived from it."""
        for index in range(len(self._kept) - 1, -1, -1):
            if self._kept[index].key == key:
                del self._kept[index]
                return
            if self._kept[index].key in NEWEST[key]:
                return


def _stamp_of(message: Any) -> int:
    """Return a message's stamp, ns; for transforms the newest one, -1 if a message has none."""
    if hasattr(message, "transforms"):
        return max((messages.stamp_of(t) for t in message.transforms), default=-1)
    return messages.stamp_of(message) if hasattr(message, "header") else -1


class LiveHistory(FramesAlone):
    """Subscribes while it is iterated over; a second iteration yields other frames. Its length is unknown: 0.

    It needs the same messages as the graph's own nodes: colour, depth and intrinsics of one stamp, and transforms from
    map over base_link to the camera. labels: label table, filled during the iteration if requested.
    """

    def __init__(self, namespace: str = "", remap: Mapping[str, str] = MappingProxyType({}), seconds: float = 0.0,
                 labels: bool = False, quiet_s: float = QUIET_S, domain_id: int | None = None) -> None:
        """remap: key of graph.TOPICS -> topic; seconds: duration from the first frame on, wall clock, 0 = unlimited.

        quiet_s: an iteration ends after this time without a frame; domain_id: None = ROS_DOMAIN_ID. Raises ConfigError
        for a key that is not a topic of an observation.
        """
        self._parts = IMAGES + ("labels", "label_table") * labels
        wanted = self._parts + TRANSFORMS
        for key in remap:
            if key not in wanted:
                raise ConfigError(unknown("topic", key, wanted))
        prefix = f"/{namespace.strip('/')}".rstrip("/")
        self._topics = {key: remap.get(key, os.path.join(prefix, TOPICS[key].name)) for key in wanted}
        self._seconds, self._quiet_s, self._domain_id = seconds, quiet_s, domain_id
        self.name = f"live {prefix or '/'}"
        self.dropped: Counter[str] = Counter()
        self.labels: Mapping[int, Label] = {}

    def __len__(self) -> int:
        return 0

    def recorded(self) -> Iterator[RecordedFrame]:
        """Yield the frames as they arrive. Raises StorageError if none arrives at all."""
        self.dropped = Counter()
        with self._listening() as (arrived, node):
            frame = _next(arrived, self._quiet_s)
            if frame is None:
                raise StorageError(self._silence(node))
            end = time.monotonic() + (self._seconds or math.inf)
            for index in count():
                if frame is None:
                    return
                yield RecordedFrame(index, -1, frame)
                frame = _next(arrived, min(self._quiet_s, end - time.monotonic()))

    def _silence(self, node: Node) -> str:
        """Return the error message for no frame: the missing publishers or the reasons of drops."""
        silent = [topic for key, topic in self._topics.items()
                  if key in self._parts and not node.count_publishers(topic)]
        reasons = "; ".join(f"{count} x {reason}" for reason, count in sorted(self.dropped.items()))
        return (f"no frame came within {self._quiet_s:g} s in ROS domain {node.context.get_domain_id()}: " + (
            f"no publisher on {', '.join(silent)} (remap, or say the namespace)" if silent else
            f"what came could not be used: {reasons or 'no transforms from map over base_link to the camera'}"))

    @contextmanager
    def _listening(self) -> Iterator[tuple[queue.Queue[Frame], Node]]:
        context = Context()
        domain = int(os.environ.get("ROS_DOMAIN_ID", "0")) if self._domain_id is None else self._domain_id
        rclpy.init(context=context, domain_id=domain)
        node = Node("eqa_live_history", context=context, enable_rosout=False, start_parameter_services=False)
        arrived: queue.Queue[Frame] = queue.Queue(WAITING)
        _HistorySubscriber(node, self, self._parts, self._topics, arrived)
        executor = OneThread(context=context)
        executor.add_node(node)
        thread = Thread(target=spin, args=(executor,), daemon=True)
        thread.start()
        try:
            yield arrived, node
        finally:
            rclpy.try_shutdown(context=context)
            thread.join(2.0)


def _next(arrived: queue.Queue[Frame], patience_s: float) -> Frame | None:
    """Return the next frame; None if none arrives in time. patience_s: time to wait, may be negative."""
    try:
        return arrived.get(timeout=patience_s) if patience_s > 0 else None
    except queue.Empty:
        return None


class _HistorySubscriber:
    """Subscriptions that put frames into a queue."""

    def __init__(self, node: Node, history: LiveHistory, parts: tuple[str, ...], topics: Mapping[str, str],
                 arrived: queue.Queue[Frame]) -> None:
        self._history, self._arrived = history, arrived
        self._last_ns = -1
        self._tf = TfBuffer(now=time.time_ns, ahead_s=TfConfig().time_jump_s)
        self._frames = FrameAssembler(parts, self._tf, self._frame)
        self._frames.rejected = lambda _, reason: self._drop(reason)
        callbacks: dict[str, Any] = {part: partial(self._put, part) for part in parts}
        callbacks |= {"tf": partial(self._transforms, False), "tf_static": partial(self._transforms, True)}
        adaptive = AdaptiveSubscriptions(node)
        for key, topic in topics.items():
            adaptive.subscribe(TOPICS[key]._replace(name=topic), message_alone(callbacks[key]), seldom=key in SELDOM)

    def _put(self, part: str, message: Any) -> None:
        if messages.stamp_of(message) > self._last_ns:  # older ones are repeated images
            self._frames.put(part, message)

    def _transforms(self, static: bool, message: Any) -> None:
        for t in message.transforms:
            parent, child, stamp = t.header.frame_id, t.child_frame_id, messages.stamp_of(t)
            try:
                self._tf.put(parent, child, stamp, messages.transform_of(t), static)
            except BadPose as error:
                self._drop(str(error))
        self._frames.retry()

    def _frame(self, frame: Frame, labels: Mapping[int, Label]) -> None:
        self._last_ns = frame.stamp_ns
        try:
            check_frame(frame)
            self._arrived.put_nowait(replace(frame, depth_m=clean_depth(frame.depth_m)[0]))
        except BadFrame as error:
            self._drop(str(error))
        except queue.Full:
            self._drop("came faster than it was read")
        self._history.labels = labels or self._history.labels

    def _drop(self, reason: str) -> None:
        self._history.dropped[reason] += 1
