"""The robot's pose in the map, from the transforms that a node receives."""

from __future__ import annotations

import math
import threading
import time
from functools import partial
from typing import Any

from eqa_nodes.core.camera.jumps import ClockJumpDetector
from eqa_nodes.core.errors import BadFrame, EqaError, StaleData
from eqa_nodes.core.types.geometry import Transform
from eqa_nodes.ros.node import EqaNode
from eqa_nodes.wire import messages
from eqa_nodes.wire.graph import TRANSFORMS
from eqa_nodes.wire.transforms import NoTransform, TfBuffer

_STEP_S = 1.0  # a longer step between two stamps of odometry is a clock jump
_SLOWEST = 10  # waits assume that simulated time is at most this many times slower than wall time


class OdometryTime:
    """Accumulates the time that passed in the stamps of odometry. seconds: the sum since it was last set to 0.

    Time that stands still adds nothing, a clock jump at most one second.
    """

    def __init__(self) -> None:
        self.seconds, self._newest_ns = 0.0, 0

    def take(self, stamp_ns: int) -> None:
        """Add the stamp of a message, ns. Call this for each message."""
        if self._newest_ns:
            self.seconds += min(max(0, stamp_ns - self._newest_ns) / 1e9, _STEP_S)
        self._newest_ns = stamp_ns


class BasePoseListener:
    """The newest pose of the base. changed: notified of each new pose; hold it while reading.

    newest: stamp and map_from_base, None before the first; heard_s: time of the last odometry, on the clock of the
    node's steady_s.
    """

    def __init__(self, node: EqaNode, changed: threading.Condition) -> None:
        self._node, self._changed = node, changed
        names = self._names = node.config.node.tf
        self._tf = TfBuffer(corrected={names.odom_frame: (names.relocated_m or math.inf,
                                                          names.relocated_rad or math.inf)},
                            now=node.wall, ahead_s=names.time_jump_s)
        self._clock_watch = ClockJumpDetector(names.time_jump_s)
        self._unplaced = OdometryTime(), OdometryTime()  # by transforms, by topic: since the newest pose
        self.newest: tuple[int, Transform] | None = None
        self._newest_ns = 0  # stamp of the newest odometry transform
        self.heard_s = node.steady_s()
        for key in TRANSFORMS:
            node.subscribe(key, partial(self._on_transforms, static=key == "tf_static"))

    @property
    def chain(self) -> str:
        """Return a description of the transform."""
        return f"transform from {self._names.map_frame} to {self._names.base_frame}"

    @property
    def behind_s(self) -> float:
        """Return the seconds of odometry, by its own stamps, since the newest pose."""
        return max(since.seconds for since in self._unplaced)

    def odometry(self, stamp_ns: int) -> None:
        """Add the stamp of an odometry message, ns. Odometry may continue while its transform does not."""
        self._heard(1, stamp_ns)

    def wait(self, deadline_s: float) -> tuple[int, Transform]:
        """Return the newest pose; wait for the first. Raises StaleData at the deadline.

        deadline_s: seconds of the wall clock, or of odometry if its time is slower.
        """
        end, before_s = time.monotonic() + _SLOWEST * deadline_s, self.behind_s
        while not self._changed.wait_for(lambda: self.newest is not None, deadline_s):
            if not 0 < self.behind_s - before_s < deadline_s or time.monotonic() > end:
                break
        if self.newest is None:
            raise StaleData(self.never())
        return self.newest

    def never(self) -> str:
        """Return the error message for no pose so far: the missing transform and the remedy."""
        return (f"no {self.chain} has arrived (none of {self._lacking()!r}): is the robot localised? Start AMCL or "
                "SLAM Toolbox, and give AMCL the robot's pose")

    def lost(self) -> StaleData:
        """Return the error for odometry that continues without a pose: the missing transform, and since when."""
        return StaleData(f"no {self.chain} for {self.behind_s:.1f} s of odometry (none of {self._lacking()!r}): is the "
                         "robot localised? Look whether AMCL or SLAM Toolbox runs and receives its scans")

    def silent(self) -> StaleData:
        """Return the error for a robot that sends neither transforms nor odometry any more."""
        silent_s = self._node.steady_s() - self.heard_s
        return StaleData(f"no {self.chain} and no odometry came for {silent_s:.0f} s: do the robot's drivers run?")

    def _lacking(self) -> str:
        """Return the frame whose transform is missing for the newest odometry."""
        try:
            self._tf.lookup(self._names.map_frame, self._names.base_frame, self._newest_ns)
        except NoTransform as error:
            return error.child
        except BadFrame:
            pass
        return self._names.base_frame

    def begin(self) -> None:
        """Forget contradicted transforms because an episode begins."""
        self._tf.forget_disputed()

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
            if moved_ns:
                self._newest_ns = moved_ns
                self._heard(0, moved_ns)
            for stamp_ns in (newest_ns, moved_ns):  # localisation may use stamps in the future
                self._locate(stamp_ns)

    def _heard(self, source: int, stamp_ns: int) -> None:
        self._unplaced[source].take(stamp_ns)
        self.heard_s = self._node.steady_s()

    def _locate(self, stamp_ns: int) -> None:
        """Use the newest stamp at which the whole chain of transforms is known."""
        if self.newest is not None and stamp_ns <= self.newest[0]:
            return
        try:
            self.newest = stamp_ns, self._tf.lookup(self._names.map_frame, self._names.base_frame, stamp_ns)
        except BadFrame:  # a part of the chain is missing; it may arrive with the next message
            return
        for unplaced in self._unplaced:
            unplaced.seconds = 0.0
        self._changed.notify_all()
