"""Goals that other clients give Nav2, as an operator does in RViz: ours do not take their place again."""

from __future__ import annotations

import threading
from collections import deque
from typing import Any

from action_msgs.msg import GoalStatus, GoalStatusArray
from rclpy.qos import DurabilityPolicy, QoSProfile

from eqa_nodes.ros.node import EqaNode
from eqa_nodes.wire import messages
from eqa_nodes.wire.graph import ACTIONS

_UNDER_WAY = (GoalStatus.STATUS_ACCEPTED, GoalStatus.STATUS_EXECUTING, GoalStatus.STATUS_CANCELING)
_KEPT = 64  # of our own goals


class OtherGoals:
    """Hears of all goals of navigate_to_pose, from the status that its server publishes."""

    def __init__(self, node: EqaNode) -> None:
        self._own: deque[bytes] = deque(maxlen=_KEPT)
        self._status: list[Any] = []
        self._changed = threading.Condition()
        self._subscription = node.create_subscription(
            GoalStatusArray, f"{ACTIONS['navigate_to_pose'].name}/_action/status", self._on_status,
            QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL), callback_group=node.call_group)

    def ours(self, goal_id: Any) -> None:
        """Hear of a goal (UUID message) before it is sent."""
        with self._changed:
            self._own.append(bytes(goal_id.uuid))

    def under_way(self) -> bool:
        """Return whether Nav2 carries out another client's goal."""
        with self._changed:
            return any(one.status in _UNDER_WAY for one in self._foreign())

    def came_later(self, within_s: float) -> bool:
        """Return whether another client's goal came after our last one; waits so long to hear of it."""
        with self._changed:
            return self._changed.wait_for(self._later, within_s)

    def _later(self) -> bool:
        last = self._own[-1] if self._own else b""
        ours = [messages.ns_of(one.goal_info.stamp) for one in self._status if _id(one) == last]
        return bool(ours) and any(messages.ns_of(one.goal_info.stamp) > ours[0] for one in self._foreign())

    def _foreign(self) -> list[Any]:
        return [one for one in self._status if _id(one) not in self._own]

    def _on_status(self, message: Any) -> None:
        with self._changed:
            self._status = list(message.status_list)
            self._changed.notify_all()


def _id(status: Any) -> bytes:
    return bytes(status.goal_info.goal_id.uuid)
