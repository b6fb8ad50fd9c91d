"""What a running graph or robot sees, as an episode history: frames come as they are published."""

from __future__ import annotations

import math
import os
import queue
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import count
from threading import Thread
from types import MappingProxyType
from typing import Any

import rclpy
from rclpy.context import Context
from rclpy.node import Node

from eqa_nodes.core.camera.config import TfConfig
from eqa_nodes.core.errors import BadFrame, BadPose, ConfigError, StorageError, unknown
from eqa_nodes.core.types.views import Frame, Label, check_frame, clean_depth
from eqa_nodes.recordings.episode_history import FramesAlone, RecordedFrame
from eqa_nodes.ros.spinning import OneThread, spin
from eqa_nodes.ros.subscriptions import AdaptiveSubscriptions, message_alone
from eqa_nodes.wire import messages
from eqa_nodes.wire.frame_assembler import FrameAssembler
from eqa_nodes.wire.graph import SELDOM, TOPICS, TRANSFORMS
from eqa_nodes.wire.transforms import TfBuffer

IMAGES = ("color", "depth", "camera_info")
WAITING = 30  # frames that may wait for whoever reads; later ones are dropped and counted
QUIET_S = 10.0  # a camera that shows nothing for as long is taken for switched off


class LiveHistory(FramesAlone):
    """Listens while it is iterated over; a second iteration sees other frames. Its length is not known: 0.

    It takes in what the graph's own nodes take in: colour, depth and intrinsics of one stamp, and transforms from map
    over base_link to the camera. labels: filled in during the iteration, where they are wanted.
    """

    def __init__(self, namespace: str = "", remap: Mapping[str, str] = MappingProxyType({}), seconds: float = 0.0,
                 labels: bool = False, quiet_s: float = QUIET_S, domain_id: int | None = None) -> None:
        """remap: key of graph.TOPICS -> topic; seconds: from the first frame to the end, wall clock, 0 = until quiet.

        quiet_s: an iteration ends when nothing came for so long. domain_id: default: ROS_DOMAIN_ID. Raises ConfigError
        for a key that is none of the topics of an observation.
        """
        self._parts = IMAGES + ("labels",) * labels
        wanted = self._parts + ("label_table",) * labels + TRANSFORMS
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
        """Yield the frames as they come. Raises StorageError when none comes at all."""
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
        """Return what is missing."""
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
        _Ears(node, self, self._parts, self._topics, arrived)
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
    """Return the next frame; None when none came in time, or the time was over before."""
    try:
        return arrived.get(timeout=patience_s) if patience_s > 0 else None
    except queue.Empty:
        return None


class _Ears:
    """Subscriptions whose messages become frames in a queue."""

    def __init__(self, node: Node, history: LiveHistory, parts: tuple[str, ...], topics: Mapping[str, str],
                 arrived: queue.Queue[Frame]) -> None:
        self._history, self._arrived = history, arrived
        self._last_ns = -1
        self._tf = TfBuffer(now=time.time_ns, ahead_s=TfConfig().time_jump_s)
        self._frames = FrameAssembler(parts, self._tf, self._frame)
        self._frames.rejected = lambda _, reason: self._drop(reason)
        callbacks: dict[str, Any] = {part: partial(self._put, part) for part in parts}
        callbacks |= {"tf": partial(self._transforms, False), "tf_static": partial(self._transforms, True),
                      "label_table": self._frames.put_table}
        adaptive = AdaptiveSubscriptions(node)
        for key, topic in topics.items():
            adaptive.subscribe(TOPICS[key]._replace(name=topic), message_alone(callbacks[key]), seldom=key in SELDOM)

    def _put(self, part: str, message: Any) -> None:
        if messages.stamp_of(message) > self._last_ns:  # others were shown once more
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
