"""The robot that Nav2 drives, as the driver sees it."""

from __future__ import annotations

import threading
import time

from eqa_nodes.core.geometry import Pose2, Transform, pose2_of
from eqa_nodes.ros.node import EqaNode
from eqa_nodes.ros.place import Place


class RobotPlace:
    """Implements Robot (core/driving/commander.py); its clock is that of the transforms' stamps.

    lost_s: without a transform the robot counts as lost, seconds of the wall clock.
    """

    def __init__(self, node: EqaNode, lost_s: float) -> None:
        self._lost_s, self._changed = lost_s, threading.Condition()
        self._place = Place(node, self._changed)

    def pose(self) -> Pose2:
        return pose2_of(self._newest()[1])

    def now_s(self) -> float:
        return self._newest()[0] / 1e9

    def _newest(self) -> tuple[int, Transform]:
        with self._changed:
            newest = self._place.wait(self._lost_s)
            if time.monotonic() - self._place.heard_s > self._lost_s:
                raise self._place.lost(self._lost_s)
            return newest
