"""The state of the robot that Nav2 drives, for the goal driver."""

from __future__ import annotations

import math
import threading
import time
from typing import Any

from eqa_nodes.core.camera.jumps import ClockJumpDetector
from eqa_nodes.core.driving.drive_budget import Odometer
from eqa_nodes.core.errors import BadFrame, StaleData
from eqa_nodes.core.types.floor import Travelled
from eqa_nodes.core.types.geometry import Pose2, Transform, pose2_of
from eqa_nodes.ros.base_pose import BasePoseListener
from eqa_nodes.ros.node import EqaNode
from eqa_nodes.wire import messages
from eqa_nodes.wire.graph import TOPICS, UNSTAMPED

COMMANDED_S = 0.5  # an older command has expired: bases then stop automatically


class RobotPlace:
    """Implements RobotState (core/driving/commander.py); its clock is that of the transforms' stamps.

    lost_s: the robot counts as lost after this time of odometry, by its stamps, without a pose in the map.
    silent_s: allowed time without odometry after the first message, s of the node's steady_s; 0 = unlimited.
    """

    def __init__(self, node: EqaNode, lost_s: float, silent_s: float = 0.0) -> None:
        self._node, self._lost_s, self._silent_s, self._changed = node, lost_s, silent_s, threading.Condition()
        self._place = BasePoseListener(node, self._changed)
        self._odometer, self._watch = Odometer(node.config.node.tf.relocated_m or math.inf), ClockJumpDetector(
            node.config.node.tf.time_jump_s)
        self._odom_received_s: float | None = None  # arrival of the last accepted odometry
        node.subscribe("odom", self._on_odom)
        self._commanded: tuple[float, float] = 0.0, -math.inf  # m/s, and arrival, monotonic clock
        cmd_vel = TOPICS["cmd_vel"]._replace(**({} if node.config.stamped else {"type": UNSTAMPED}))
        node.subscribe_any_type(cmd_vel, self._on_command)

    def pose(self) -> Pose2:
        return pose2_of(self._newest()[1])

    def now_s(self) -> float:
        return self._newest()[0] / 1e9

    def commanded_m_s(self) -> float:
        speed, received_s = self._commanded
        return speed if time.monotonic() - received_s < COMMANDED_S else 0.0

    def travelled(self) -> Travelled | None:
        with self._changed:
            if self._odom_received_s is None:
                return None
            silent_s = self._node.steady_s() - self._odom_received_s
            if self._silent_s and silent_s > self._silent_s:
                raise StaleData(f"odometry gave no place on {TOPICS['odom'].name} for {silent_s:.0f} s: does its "
                                "driver run? How far the robot drives is not known without it")
            return Travelled(0, self._odometer.metres)

    def _on_command(self, message: Any, _: Any) -> None:
        self._commanded = getattr(message, "twist", message).linear.x, time.monotonic()

    def _on_odom(self, message: Any) -> None:
        stamp, at = messages.stamp_of(message), messages.pose_of(message.pose.pose).xyz
        with self._changed:
            self._place.odometry(stamp)
            before = self._odometer.newest_ns
            if self._watch.set_back(stamp, before):
                self._odometer.set_back()
            try:
                self._odometer.take(stamp, at)
            except BadFrame as error:
                self._node.count(str(error))
            if self._odometer.newest_ns != before:
                self._odom_received_s = self._node.steady_s()

    def _newest(self) -> tuple[int, Transform]:
        with self._changed:
            newest = self._place.wait(self._lost_s)
            if self._place.behind_s > self._lost_s:
                raise self._place.lost()
            judged = self._silent_s and self._odom_received_s is not None  # then `travelled` checks it
            if not judged and self._node.steady_s() - self._place.heard_s > self._lost_s:
                raise self._place.silent()
            return newest
