"""Detects objects in images: publishes an instance image with its table, like a simulator's labels, and 3D boxes."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, cast

import numpy as np

from eqa_nodes.config.nodes import PerceptionSettings
from eqa_nodes.core.errors import BadFrame, EqaError, ModelError
from eqa_nodes.core.perception.tracking import Perceived, not_looked_at
from eqa_nodes.core.types.views import Frame, Label
from eqa_nodes.perception import open_perceiver
from eqa_nodes.perception.received import ReceivedDetector, ReceivedMessage
from eqa_nodes.ros import convert
from eqa_nodes.ros.observer import ObserverNode
from eqa_nodes.ros.process import run_node
from eqa_nodes.ros.subscriptions import message_alone
from eqa_nodes.wire import detection_messages, messages
from eqa_nodes.wire.detection_matching import DetectionMatching
from eqa_nodes.wire.detection_messages import DETECTION_TYPES
from eqa_nodes.wire.frame_assembler import PENDING
from eqa_nodes.wire.graph import LABEL_INFO, Topic

_AFTER_A_RESTART = 30_001  # its first instance number: memory still has the earlier numbers


class PerceptionNode(ObserverNode[PerceptionSettings]):
    """Processes every observation in lock-step or, with `newest`, the newest one whenever the detector is free."""

    row = "perception"
    two_cameras = False

    def configure(self) -> None:
        super().configure()
        self.perceiver = open_perceiver(self.config.detector, self.config.perceiver)
        self._last: Perceived | None = None
        self._changed, self._looking = threading.Condition(), threading.Lock()
        self._next: tuple[Frame, Mapping[int, Label]] | None = None
        for key in self.spec.publishes:
            self.out(key)
        self._over = False
        self._matching = self._received_detections()
        if self.config.newest:
            threading.Thread(target=self._look_at_newest, daemon=True).start()

    def _received_detections(self) -> DetectionMatching | None:
        """Subscribe to another node's detections if they are configured. Raises ConfigError for a missing type."""
        if not isinstance(self.perceiver.detector, ReceivedDetector):
            return None
        config = self.config
        matching = DetectionMatching(round(config.detections_tolerance_s * 1e9), PENDING, self.count)
        self.diagnostics.gauge("images that wait for detections", lambda: matching.waiting, PENDING)
        topic = Topic(config.detections_topic, config.detections_type, "frame")
        self.subscribe_any_type(topic, message_alone(self._detected))
        if config.detections_table:
            self.subscribe_any_type(Topic(config.detections_table, LABEL_INFO, "latched"),
                                    message_alone(self._named_classes))
        return matching

    def release(self) -> None:
        self._over = True

    def begin(self, episode: Any, late: bool) -> None:
        """Number instances from 1; continue the numbering if memory may contain earlier ones."""
        self._reset_perceiver(_AFTER_A_RESTART if late else 0 if episode.keep_memory else 1)

    def set_back(self, stamp_ns: int) -> None:
        self._reset_perceiver(0)

    def relocated(self) -> str:
        self._reset_perceiver(0)
        return "what was followed is forgotten"

    def _reset_perceiver(self, first: int) -> None:
        with self._changed, self._looking:
            self._last = self._next = None
            if self._matching is not None:
                self._matching.clear()
            self.perceiver.reset(first)

    def reconfigured(self, old: PerceptionSettings, new: PerceptionSettings) -> None:
        with self._looking:
            self.perceiver.configure(new.perceiver)

    def take(self, frame: Frame, labels: Mapping[int, Label]) -> None:
        if self._matching is None:
            self._look_or_queue(frame, labels)
        else:
            self._process(self._matching.put_image(frame.stamp_ns, frame))

    def _detected(self, message: Any) -> None:
        """Match detections of another node with their image."""
        if self._matching is not None and self.episode is not None:
            self._process(self._matching.put_message(messages.stamp_of(message), message))

    def _named_classes(self, message: Any) -> None:
        cast(ReceivedDetector, self.perceiver.detector).names = detection_messages.label_names(message)

    def _process(self, matched: list[tuple[Frame, Any]]) -> None:
        """Process images with their messages of detections."""
        detector, kind = cast(ReceivedDetector, self.perceiver.detector), self.config.detections_type
        for frame, message in matched:
            try:
                source = np.eye(4)
                if DETECTION_TYPES[kind].placed:
                    frame_id, map_frame = str(message.header.frame_id), self.config.node.tf.map_frame
                    source = self.tf.lookup(map_frame, frame_id, frame.stamp_ns).matrix()
                detector.put(frame.stamp_ns, ReceivedMessage(kind, message, source))
                self._look_or_queue(frame, {})
            except EqaError as error:
                self.count(str(error) if not isinstance(error, BadFrame) else
                           f"detections in the frame {message.header.frame_id!r} have no transform into the map")

    def _look_or_queue(self, frame: Frame, labels: Mapping[int, Label]) -> None:
        if not self.config.newest:
            self._look(frame, labels)
            return
        with self._changed:
            if self._next is not None:
                self.count("pictures passed over: the detector was busy")
            self._next = (frame, labels)
            self._changed.notify()

    def republish(self) -> None:
        if self._last is not None:
            self._report(self._last)

    def _look_at_newest(self) -> None:
        while self.context.ok() and not self._over:
            with self._changed:
                if not self._changed.wait_for(lambda: self._next is not None, 0.5) or self._next is None:
                    continue
                (frame, labels), self._next = self._next, None
            try:
                self._look(frame, labels)
            except EqaError as error:
                self.count(str(error))

    def _look(self, frame: Frame, labels: Mapping[int, Label]) -> None:
        with self._looking:
            broken = self.perceiver.broken
            try:
                self._last = self.perceiver.take(frame, labels)
            except ModelError as error:  # memory waits for an answer, so it gets an empty one
                self.count(str(error))
                self._last = not_looked_at(frame)
            if self.perceiver.broken > broken:
                self.count("pictures for which the detector gave invalid boxes, scores or masks")
            self._report(self._last)

    def _report(self, p: Perceived) -> None:
        stamp = p.frame.stamp_ns
        self.send("detected_table", convert.label_table_msg(p.table, stamp))
        self.send("detected", convert.image_msg(cast(np.ndarray, p.frame.labels), "16UC1", stamp))
        self.send("detections", convert.detections_msg(p, stamp))


def main() -> int:
    """Run the node."""
    return run_node(PerceptionNode)
