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

_STEP_S = 1.0  # a longer step between two stamps of odometry is a jump of its clock
_SLOWEST = 10  # simulated time that goes slower than by this factor is not waited for


class OdometryTime:
    """Adds up how far the stamps of odometry have gone on. seconds: since they were last set to 0.

    Time that stands still adds nothing, and a clock that jumps as good as nothing.
    """

    def __init__(self) -> None:
        self.seconds, self._newest_ns = 0.0, 0

    def take(self, stamp_ns: int) -> None:
        """Take in the stamp of each message."""
        if self._newest_ns:
            self.seconds += min(max(0, stamp_ns - self._newest_ns) / 1e9, _STEP_S)
        self._newest_ns = stamp_ns


class BasePoseListener:
    """The newest pose of the base. changed: notified of each new pose; hold it while reading.

    newest: stamp and map_from_base, None before the first; heard_s: when odometry was heard last, of the node's
    steady_s.
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
        self._newest_ns = 0  # of the transforms of odometry
        self.heard_s = node.steady_s()
        for key in TRANSFORMS:
            node.subscribe(key, partial(self._on_transforms, static=key == "tf_static"))

    @property
    def chain(self) -> str:
        """Return which transform that is, in words."""
        return f"transform from {self._names.map_frame} to {self._names.base_frame}"

    @property
    def behind_s(self) -> float:
        """Return by how many seconds of its own stamps odometry has gone on since the newest pose."""
        return max(since.seconds for since in self._unplaced)

    def odometry(self, stamp_ns: int) -> None:
        """Take in the stamp of a message of odometry, which may go on where its transform does not."""
        self._heard(1, stamp_ns)

    def wait(self, deadline_s: float) -> tuple[int, Transform]:
        """Return the newest; waits for the first. Raises StaleData at the deadline.

        That is seconds of the wall clock, or of odometry where its time goes slower.
        """
        end, before_s = time.monotonic() + _SLOWEST * deadline_s, self.behind_s
        while not self._changed.wait_for(lambda: self.newest is not None, deadline_s):
            if not 0 < self.behind_s - before_s < deadline_s or time.monotonic() > end:
                break
        if self.newest is None:
            raise StaleData(self.never())
        return self.newest

    def never(self) -> str:
        """Return in words that no pose has come, what is missing, and the remedy."""
        return (f"no {self.chain} has come (none of {self._lacking()!r}): is the robot localised? Start AMCL or SLAM "
                "Toolbox, and give AMCL the robot's pose")

    def lost(self) -> StaleData:
        """Return the error for odometry that goes on without a pose: which transform is missing, for how long."""
        return StaleData(f"no {self.chain} for {self.behind_s:.1f} s of odometry (none of {self._lacking()!r}): is the "
                         "robot localised? Look whether AMCL or SLAM Toolbox runs and receives its scans")

    def silent(self) -> StaleData:
        """Return the error for a robot of which neither transforms nor odometry come any more."""
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
        """Forget transforms that others disputed: an episode begins."""
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
            for stamp_ns in (newest_ns, moved_ns):  # localisation may stamp its own ahead
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
        except BadFrame:  # a part of the chain has not come yet: the next message may bring it
            return
        for unplaced in self._unplaced:
            unplaced.seconds = 0.0
        self._changed.notify_all()
