"""The agent's odometry: of a simulator that counts, or of topics, as on a robot."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

from geometry_msgs.msg import PoseStamped
from std_msgs.msg import Header

from eqa_nodes import messages
from eqa_nodes.core.errors import BadFrame, EqaError, NodeLost, StaleData
from eqa_nodes.core.geometry import Pose2, Transform, pose2_of
from eqa_nodes.core.types import Travelled
from eqa_nodes.graph import TRANSFORMS
from eqa_nodes.ros import convert
from eqa_nodes.ros.node import EqaNode
from eqa_nodes.ros.tf_buffer import TfBuffer


class RosOdometry(Protocol):
    """Odometry (core/protocols.py) of the graph. newest_ns: the last stamp that was heard of, 0 before the first."""

    newest_ns: int

    def begin(self, starts_ns: int) -> None:
        """Count from here: an episode begins. Returns when its first observation has been taken in by all."""

    def robot(self) -> PoseStamped:
        """Return where the robot was at the last observation, map frame."""

    def travelled(self) -> Travelled:
        """Return the counts up to now."""

    def last(self) -> tuple[int, Pose2]:
        """Return stamp and pose of the last observation."""


class BridgeOdometry:
    """Counts and pose as the simulator's bridge reports them."""

    def __init__(self, node: EqaNode) -> None:
        self._client, self._config = node.remote("act"), node.config
        self.newest_ns = 0

    def begin(self, starts_ns: int) -> None:
        self._client.call(self._config.observe_deadline_s, action=self._client.Request.OBSERVE)

    def status(self) -> Any:
        """Return the Act response of the last action."""
        status = self._client.call(self._config.node.call_deadline_s, action=self._client.Request.STATUS)
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


class TopicOdometry:
    """Metres by `odom`, the pose in the map by the transforms; no steps are counted.

    An observation counts as taken in when each observer says so on `taken`, as in lock-step.
    """

    def __init__(self, node: EqaNode) -> None:
        self._node, self._config = node, node.config
        self.newest_ns = 0
        self._metres = 0.0
        self._before: tuple[float, ...] = ()
        self._tf = TfBuffer()
        self._place: tuple[int, Transform] | None = None
        self._taken: dict[str, int] = {}
        self._heard = threading.Condition()
        node.hear("odom", self._on_odom)
        node.hear("taken", self._on_taken)
        for key in TRANSFORMS:
            node.hear(key, partial(self._on_transforms, static=key == "tf_static"))

    def begin(self, starts_ns: int) -> None:
        """Raises NodeLost naming the observers that have not taken in an observation before the deadline."""
        deadline = self._config.observe_deadline_s
        with self._heard:
            self._metres, self._before = 0.0, ()
            self._wait(lambda: not self._behind(starts_ns), deadline, lambda: NodeLost(
                f"{', '.join(self._behind(starts_ns))} did not take in an observation from {starts_ns / 1e9:.3f} s on "
                f"within {deadline:g} s: does the camera publish?"))

    def travelled(self) -> Travelled:
        with self._heard:
            return Travelled(0, self._metres)

    def robot(self) -> PoseStamped:
        stamp, place = self._placed()
        return PoseStamped(header=convert.header(stamp), pose=convert.pose_msg(place))

    def last(self) -> tuple[int, Pose2]:
        stamp, place = self._placed()
        return stamp, pose2_of(place)

    def _placed(self) -> tuple[int, Transform]:
        """Return the newest stamp and map_from_base; waits for the first. Raises StaleData at the deadline."""
        deadline = self._config.node.call_deadline_s
        with self._heard:
            self._wait(lambda: self._place is not None, deadline, lambda: StaleData(
                f"no transform from {convert.MAP} to {convert.BASE} came within {deadline:g} s: is the robot "
                "localised?"))
            assert self._place is not None
            return self._place

    def _wait(self, done: Callable[[], bool], deadline_s: float, late: Callable[[], EqaError]) -> None:
        if not self._heard.wait_for(done, deadline_s):
            raise late()

    def _behind(self, stamp_ns: int) -> list[str]:
        return [name for name in self._config.observers if self._taken.get(name, -1) < stamp_ns]

    def _on_odom(self, message: Any) -> None:
        stamp, at = messages.stamp_of(message), messages.pose_of(message.pose.pose).xyz
        with self._heard:
            if stamp <= self.newest_ns:  # published again, or late
                return
            self._metres += math.dist(self._before or at, at)
            self._before, self.newest_ns = at, stamp

    def _on_taken(self, header: Any) -> None:
        with self._heard:
            self._taken[header.frame_id] = messages.ns_of(header.stamp)
            self._heard.notify_all()

    def _on_transforms(self, message: Any, *, static: bool) -> None:
        with self._heard:
            for t in message.transforms:
                stamp = messages.ns_of(t.header.stamp)
                try:
                    self._tf.put(t.header.frame_id, t.child_frame_id, stamp, messages.transform_of(t), static)
                except EqaError as error:
                    self._node.count(str(error))
            self._locate(max((messages.ns_of(t.header.stamp) for t in message.transforms), default=0))

    def _locate(self, stamp_ns: int) -> None:
        """Take the newest stamp at which the whole chain of transforms is known."""
        if self._place is not None and stamp_ns <= self._place[0]:
            return
        try:
            self._place = stamp_ns, self._tf.lookup(convert.MAP, convert.BASE, stamp_ns)
        except BadFrame:  # a part of the chain has not come yet: the next message may bring it
            return
        self._heard.notify_all()


ODOMETRIES: dict[str, Callable[[EqaNode], RosOdometry]] = {"simulator": BridgeOdometry, "topics": TopicOdometry}
