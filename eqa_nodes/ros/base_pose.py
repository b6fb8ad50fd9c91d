"""The robot's pose in the map, from the transforms that a node receives."""

from __future__ import annotations

import math
import threading
import time
from functools import partial
from typing import Any

from eqa_nodes.core.camera.jumps import ClockWatch
from eqa_nodes.core.errors import BadFrame, EqaError, StaleData
from eqa_nodes.core.types.geometry import Transform
from eqa_nodes.ros import messages
from eqa_nodes.ros.graph import TRANSFORMS
from eqa_nodes.ros.node import EqaNode
from eqa_nodes.ros.tf_buffer import TfBuffer


class BasePoseListener:
    """The newest pose of the base. changed: notified of each new pose; hold it while reading.

    newest: stamp and map_from_base, None before the first; received_s: when it arrived, by the wall clock.
    """

    def __init__(self, node: EqaNode, changed: threading.Condition) -> None:
        self._node, self._changed = node, changed
        names = self._names = node.config.node.tf
        self._tf = TfBuffer(corrected={names.odom_frame: (names.relocated_m or math.inf,
                                                          names.relocated_rad or math.inf)},
                            now=node.wall, ahead_s=names.time_jump_s)
        self._clock_watch = ClockWatch(names.time_jump_s)
        self.newest: tuple[int, Transform] | None = None
        self.received_s = time.monotonic()
        for key in TRANSFORMS:
            node.subscribe(key, partial(self._on_transforms, static=key == "tf_static"))

    @property
    def chain(self) -> str:
        """Return which transform that is, in words."""
        return f"transform from {self._names.map_frame} to {self._names.base_frame}"

    def wait(self, deadline_s: float) -> tuple[int, Transform]:
        """Return the newest; waits for the first. Raises StaleData at the deadline, seconds of the wall clock."""
        self._changed.wait_for(lambda: self.newest is not None, deadline_s)
        if self.newest is None:
            raise self.lost(deadline_s)
        return self.newest

    def lost(self, within_s: float) -> StaleData:
        """Return the error for a pose that has not arrived for this long."""
        return StaleData(f"no {self.chain} came within {within_s:g} s: is the robot localised?")

    def set_back(self, stamp_ns: int, by_ns: int) -> None:
        """Continue from an earlier stamp, after the clock was set back."""
        self._tf.set_back(stamp_ns, by_ns)
        self.newest = None

    def _on_transforms(self, message: Any, *, static: bool) -> None:
        with self._changed:
            newest_ns = moved_ns = 0
            moving = self._tf.moving(self._names.base_frame)
            for t in message.transforms:
                stamp = messages.ns_of(t.header.stamp)
                try:
                    self._tf.put(t.header.frame_id, t.child_frame_id, stamp, messages.transform_of(t), static)
                except EqaError as error:
                    self._node.count(str(error))
                else:
                    newest_ns = max(newest_ns, stamp)
                    moved_ns = stamp if t.child_frame_id.lstrip("/") == moving and not static else moved_ns
            before_ns = self.newest[0] if self.newest is not None else 0
            if moved_ns and self._clock_watch.set_back(moved_ns, before_ns):
                self.set_back(moved_ns, before_ns - moved_ns)
            self._locate(newest_ns)

    def _locate(self, stamp_ns: int) -> None:
        """Use the newest stamp at which the whole chain of transforms is known."""
        if self.newest is not None and stamp_ns <= self.newest[0]:
            return
        try:
            self.newest = stamp_ns, self._tf.lookup(self._names.map_frame, self._names.base_frame, stamp_ns)
        except BadFrame:  # a part of the chain has not come yet: the next message may bring it
            return
        self.received_s = time.monotonic()
        self._changed.notify_all()
