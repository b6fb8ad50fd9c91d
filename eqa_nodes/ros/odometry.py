"""The agent's odometry: counts of a simulator, or topics, as on a robot."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Any, Protocol

from geometry_msgs.msg import PoseStamped
from std_msgs.msg import Header

from eqa_nodes.core.camera.jumps import ClockJumpDetector
from eqa_nodes.core.driving.drive_budget import Odometer
from eqa_nodes.core.errors import BadFrame, NodeLost
from eqa_nodes.core.types.floor import Travelled
from eqa_nodes.core.types.geometry import Pose2, Transform, pose2_of
from eqa_nodes.ros import convert
from eqa_nodes.ros.base_pose import BasePoseListener
from eqa_nodes.ros.node import EqaNode
from eqa_nodes.ros.observation import REFUSED, Acknowledgements
from eqa_nodes.wire import messages
from eqa_nodes.wire.graph import TOPICS


class RosOdometry(Protocol):
    """Odometry (core/protocols.py) of the graph."""

    @property
    def newest_ns(self) -> int:
        """Return the last received stamp, 0 before the first."""

    def begin(self, starts_ns: int) -> None:
        """Start counting because an episode begins. Returns when all have acknowledged its first observation."""

    def robot(self) -> PoseStamped:
        """Return the robot's pose at the last observation, map frame."""

    def travelled(self) -> Travelled:
        """Return the counts so far."""

    def last(self) -> tuple[int, Pose2]:
        """Return stamp and pose of the last observation."""

    def missing(self) -> str:
        """Return a description of the messages that an episode needs and that have not arrived yet; "" if none."""


class BridgeOdometry:
    """Counts and pose as the simulator's bridge reports them."""

    def __init__(self, node: EqaNode) -> None:
        self._client, self._node = node.remote("act"), node
        self.newest_ns = 0

    def begin(self, starts_ns: int) -> None:
        self._client.call(self._node.config.observe_deadline_s, action=self._client.Request.OBSERVE)

    def status(self) -> Any:
        """Return the Act response of the last action."""
        status = self._client.call(self._node.config.node.call_deadline_s, action=self._client.Request.STATUS)
        self.newest_ns = messages.ns_of(status.stamp)
        return status

    def travelled(self) -> Travelled:
        status = self.status()
        return Travelled(status.steps, status.metres)

    def robot(self) -> PoseStamped:
        status = self.status()
        return PoseStamped(header=Header(stamp=status.stamp, frame_id=convert.MAP), pose=status.pose)

    def last(self) -> tuple[int, Pose2]:
        status = self.status()
        return messages.ns_of(status.stamp), pose2_of(messages.pose_of(status.pose))

    def missing(self) -> str:
        return ""  # the simulator reports its own errors


class TopicOdometry:
    """Distance from `odom`, the pose in the map from transforms; steps are not counted.

    Corrections by localisation and jumps of odometry do not count as distance; jumps are counted. An observation is
    complete when each observer has acknowledged it, as in lock-step.
    """

    def __init__(self, node: EqaNode) -> None:
        self._node = node
        self._odometer = Odometer(node.config.node.tf.relocated_m or math.inf)
        self._clock_watch = ClockJumpDetector(node.config.node.tf.time_jump_s)
        self._stray = node.future_watch()
        self._changed = threading.Condition()
        node.subscribe("odom", self._on_odom)
        self._acknowledged = Acknowledgements(node)
        self._place = BasePoseListener(node, self._changed)

    @property
    def newest_ns(self) -> int:
        """Return the newest received stamp, 0 before the first."""
        return max(self._odometer.newest_ns, self._place.newest[0] if self._place.newest is not None else 0)

    def missing(self) -> str:
        odom = "" if self._odometer.newest_ns else (f"no odometry has arrived on {TOPICS['odom'].name}: does the robot "
                                                    "publish it?")
        place = "" if self._place.newest is not None else self._place.never()
        return "; ".join(filter(None, (odom, place)))

    def begin(self, starts_ns: int) -> None:
        """Raises NodeLost naming the observers that acknowledge no observation before the deadline."""
        deadline = self._node.config.observe_deadline_s
        with self._changed:
            self._odometer.begin()
            self._place.begin()
        if behind := self._acknowledged.wait(starts_ns, deadline):
            raise NodeLost(f"{', '.join(behind)} did not take in an observation from {starts_ns / 1e9:.3f} s on within "
                           f"{deadline:g} s: does the camera publish? Else " + REFUSED)

    def travelled(self) -> Travelled:
        with self._changed:
            return Travelled(0, self._odometer.metres)

    def robot(self) -> PoseStamped:
        stamp, place = self._placed()
        return PoseStamped(header=convert.header(stamp), pose=convert.pose_msg(place))

    def last(self) -> tuple[int, Pose2]:
        stamp, place = self._placed()
        return stamp, pose2_of(place)

    def _placed(self) -> tuple[int, Transform]:
        """Return the newest stamp and map_from_base; wait for the first. Raises StaleData at the deadline."""
        with self._changed:
            return self._place.wait(self._node.config.node.call_deadline_s)

    def _on_odom(self, message: Any) -> None:
        stamp, at = messages.stamp_of(message), messages.pose_of(message.pose.pose).xyz
        if self._stray(stamp):
            self._node.count("odometry is stamped in the future")
            return
        with self._changed:
            self._place.odometry(stamp)
            if self._clock_watch.set_back(stamp, self._odometer.newest_ns):
                self._go_back(stamp)
            try:
                self._odometer.take(stamp, at)
            except BadFrame as error:
                self._node.count(str(error))

    def _go_back(self, stamp_ns: int) -> None:
        """Continue from an earlier stamp, ns."""
        back_ns = self._odometer.newest_ns - stamp_ns
        self._node.count(f"time went back by {back_ns / 1e9:.0f} s: where the robot is now counts")
        self._place.set_back(stamp_ns, back_ns)
        self._odometer.set_back()


ODOMETRIES: dict[str, Callable[[EqaNode], RosOdometry]] = {"simulator": BridgeOdometry, "topics": TopicOdometry}
