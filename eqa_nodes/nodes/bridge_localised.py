"""Checks whether another node, such as AMCL, has localised the simulated robot at the stamps of its images.

Observers acknowledge an image once its pose is known. AMCL publishes no transform before it has a map, the robot's
initial pose and a scan. Scans need simulated time to advance, so waiting for acknowledgements would be a deadlock.
"""

from __future__ import annotations

import threading
from functools import partial
from typing import Any

from eqa_nodes.core.errors import BadFrame, EqaError
from eqa_nodes.ros.node import EqaNode
from eqa_nodes.ros.rates import OK, WARN, FlowStatus, StatusReport
from eqa_nodes.wire import messages
from eqa_nodes.wire.graph import TRANSFORMS
from eqa_nodes.wire.transforms import NoTransform, TfBuffer

STATUS = "localisation"  # on /diagnostics
PATIENCE_S = 1.0  # wall clock
UNLOCALISED = "image without localisation"


class ForeignLocalisation:
    """Buffers the transforms from map to odom of other nodes, as observers do."""

    def __init__(self, node: EqaNode) -> None:
        self._node, self._names = node, node.config.node.tf
        self._tf, self._changed = TfBuffer(), threading.Condition()
        self._newest_ns, self._fixed = 0, False
        self._lost_ns: int | None = None  # stamp of the first unlocalised image since the last localised one
        for key in TRANSFORMS:
            node.subscribe(key, partial(self._on_transforms, static=key == "tf_static"))
        node.diagnostics.add(STATUS, self.report)

    def localised(self, stamp_ns: int) -> bool:
        """Return whether the image of this stamp is localised. Waits for that, unless the previous image failed."""
        with self._changed:
            if self._lost_ns is None and not self._too_early(stamp_ns):
                self._changed.wait_for(lambda: self._knows(stamp_ns), PATIENCE_S)
            if self._knows(stamp_ns):
                self._lost_ns = None
                return True
            self._lost_ns = stamp_ns if self._lost_ns is None else self._lost_ns
        self._node.count(UNLOCALISED)
        return False

    def report(self) -> StatusReport:
        """Return the status: the stamp since which images are not localised, and the remedy."""
        values = {"newest transform [s]": f"{self._newest_ns / 1e9:.3f}"} if self._newest_ns else {}
        lost_ns = self._lost_ns
        if lost_ns is None:
            return StatusReport(FlowStatus(OK, "the robot is localised"), values)
        return StatusReport(FlowStatus(WARN, (
            f"no transform from {self._names.map_frame} to {self._names.odom_frame} for the images from "
            f"{lost_ns / 1e9:.3f} s on: start AMCL or SLAM Toolbox, and give AMCL the robot's pose")), values)

    def _knows(self, stamp_ns: int) -> bool:
        return self._lacking(stamp_ns) is None

    def _too_early(self, stamp_ns: int) -> bool:
        """Return whether the image is older than all transforms, so that its own will never arrive."""
        lacking = self._lacking(stamp_ns)
        return isinstance(lacking, NoTransform) and lacking.early

    def _lacking(self, stamp_ns: int) -> BadFrame | None:
        try:
            self._tf.lookup(self._names.map_frame, self._names.odom_frame, stamp_ns)
        except BadFrame as error:
            return error
        return None

    def _on_transforms(self, message: Any, *, static: bool) -> None:
        for t in message.transforms:
            if t.child_frame_id.lstrip("/") == self._names.odom_frame:
                self._take(t, static)

    def _take(self, t: Any, static: bool) -> None:
        stamp_ns = messages.ns_of(t.header.stamp)
        with self._changed:
            try:
                self._tf.put(t.header.frame_id, t.child_frame_id, stamp_ns, messages.transform_of(t), static)
            except EqaError as error:
                self._node.count(str(error))
                return
            self._newest_ns = stamp_ns
            self._changed.notify_all()
