"""The common part of both commanders: Nav2's services, goals of other clients, halting, and one task at a time.

nav2_simple_commander's own service calls have no deadline, so both commanders use these.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from action_msgs.msg import GoalStatus, GoalStatusArray
from action_msgs.srv import CancelGoal
from geometry_msgs.msg import PoseStamped
from nav2_msgs.msg import CostmapFilterInfo
from rclpy.qos import DurabilityPolicy, QoSProfile

from eqa_nodes.core.driving.commander import Halted, TaskEnd, TaskState
from eqa_nodes.core.errors import BadFrame, NodeLost
from eqa_nodes.core.types.floor import GridMap
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.ros import convert
from eqa_nodes.ros.interfaces import interface
from eqa_nodes.ros.node import EqaNode
from eqa_nodes.wire import messages
from eqa_nodes.wire.graph import ACTIONS, CLEARING, GOAL_SENDERS, MANAGED, MOVERS, SERVICES, TOPICS

POLL_S = 0.02  # period of checks for answers
KEEP_OUT = 0  # type of a CostmapFilterInfo: keep-out zones and preferred lanes
# Nav2's costs (0..255) as cells: inscribed (99) and lethal (100) stay distinct, as in its own OccupancyGrid.
_CELLS = np.array([*(cost * 98 // 252 for cost in range(253)), 99, 100, -1], np.int8)
CONTROLLER = "follow_path"  # the action of the path-following controller
POLL_S = 0.02  # period of checks for answers
_UNDER_WAY = (GoalStatus.STATUS_ACCEPTED, GoalStatus.STATUS_EXECUTING, GoalStatus.STATUS_CANCELING)
_KEPT = 64  # number of remembered ids of our own goals
TOLD_S = 0.5  # time for the status of the replacing goal to arrive; it has another topic than the result
GONE_S = 2.0  # a server that is not visible for this time is gone


class Nav2Services:
    """Clients of Nav2's services for one node, and the format of its goals.

    All calls have deadlines; those of nav2_simple_commander have none, so both commanders use these.
    """

    def __init__(self, node: EqaNode, managed: tuple[str, ...]) -> None:
        self._map_frame, self._mask = node.config.node.tf.map_frame, node.out("keep_out_mask")
        node.out("keep_out_info").publish(CostmapFilterInfo(
            header=convert.header(0, self._map_frame), filter_mask_topic=TOPICS["keep_out_mask"].name,
            type=KEEP_OUT, base=0.0, multiplier=1.0))
        self._states = {name: self._client(node, MANAGED[name]) for name in managed}
        self._costmap = self._client(node, "get_global_costmap")
        self._clear = {key: self._client(node, key) for key in CLEARING}

    @staticmethod
    def _client(node: EqaNode, key: str) -> Any:
        port = SERVICES[key]
        return node.create_client(interface(port.type), port.name, callback_group=node.call_group)

    def missing(self, wait_s: float) -> str:
        """Return the managed nodes of Nav2 that are absent or not active, as an error message; "" = none. Waits wait_s.

        Nodes that do not answer are listed first: Nav2's lifecycle manager deactivates all others once one is gone.
        """
        asked = self._ask_all(wait_s)
        done = {name: future for name, future in asked.items() if future is not None and future.done()}
        states = {name: future.result().current_state.label for name, future in done.items()}
        absent = ", ".join(self._states[name].srv_name for name, future in asked.items() if future is None)
        silent = ", ".join(self._states[name].srv_name for name, future in asked.items()
                           if future is not None and name not in states)
        idle = (f"{name} of Nav2 is {state}, not active" for name, state in states.items() if state != "active")
        silent = silent and f"{silent} did not answer within {wait_s:g} s: does Nav2 hang?"
        return "; ".join(filter(None, (absent and f"no server for {absent}: is Nav2 up?", silent, *idle)))

    def _ask_all(self, wait_s: float) -> dict[str, Any]:
        """Request the state of all managed nodes at once; return their futures, done or not, None without a server."""
        asked: dict[str, Any] = dict.fromkeys(self._states)
        end = time.monotonic() + wait_s
        while True:
            for name, client in self._states.items():
                if asked[name] is None and client.service_is_ready():
                    asked[name] = client.call_async(client.srv_type.Request())
            if all(future and future.done() for future in asked.values()) or time.monotonic() >= end:
                break
            time.sleep(POLL_S)
        for name, future in asked.items():
            if future and not future.done():
                self._states[name].remove_pending_request(future)
        return asked

    def costmap(self, wait_s: float) -> GridMap:
        """See Commander.costmap."""
        costs = _called(self._costmap, wait_s).map
        if costs.header.frame_id.lstrip("/") != self._map_frame:
            raise BadFrame(f"the global costmap is in the frame {costs.header.frame_id!r}, and goals are in "
                           f"{self._map_frame!r}: set global_frame of Nav2's global_costmap")
        shape = (int(costs.metadata.size_y), int(costs.metadata.size_x))
        cells = _CELLS[np.asarray(costs.data, np.uint8).reshape(shape)]
        origin = costs.metadata.origin.position
        return GridMap(messages.stamp_of(costs), round(float(costs.metadata.resolution), 6),
                       (float(origin.x), float(origin.y)), cells, np.zeros(shape, bool))

    def goal(self, pose: Pose2) -> PoseStamped:
        """Return a goal for Nav2; stamp 0 means the latest transforms."""
        return convert.goal_msg(pose, 0, self._map_frame)

    def keep_out(self, mask: GridMap) -> None:
        """See Commander.keep_out."""
        self._mask.publish(convert.in_frame(convert.grid_msg(mask.cells, mask), self._map_frame))

    def clear_costmaps(self, wait_s: float) -> None:
        """See Commander.clear_costmaps."""
        for client in self._clear.values():
            _called(client, wait_s)


def _called(client: Any, wait_s: float) -> Any:
    """Call with an empty request and return the response. Raises NodeLost at the deadline."""
    end = time.monotonic() + wait_s
    if not client.wait_for_service(timeout_sec=wait_s):
        raise NodeLost(f"no server for {client.srv_name}: is Nav2 up?")
    future, done = client.call_async(client.srv_type.Request()), threading.Event()
    future.add_done_callback(lambda _: done.set())
    if not done.wait(max(0.1, end - time.monotonic())):
        client.remove_pending_request(future)
        raise NodeLost(f"{client.srv_name} did not answer within {wait_s:g} s: does Nav2 hang?")
    return future.result()


class HaltClients:
    """Clients of the cancel services of Nav2's actions for one node."""

    def __init__(self, node: EqaNode) -> None:
        self._senders, self._movers = ({name: self._client(node, name) for name in names}
                                       for names in (GOAL_SENDERS, MOVERS))

    @staticmethod
    def _client(node: EqaNode, name: str) -> Any:
        return node.create_client(CancelGoal, SERVICES[f"cancel_{name}"].name, callback_group=node.call_group)

    def halt(self, wait_s: float) -> Halted:
        """See Commander.halt. Actions that forward goals are cancelled first; only those that move the base are waited
        for."""
        for client in self._senders.values():
            if client.service_is_ready():
                client.call_async(CancelGoal.Request())  # neither id nor stamp: all goals
        asked = {name: client.call_async(CancelGoal.Request()) for name, client in self._movers.items()
                 if client.service_is_ready()}
        end = time.monotonic() + wait_s
        while not all(future.done() for future in asked.values()) and time.monotonic() < end:
            time.sleep(POLL_S)
        silent = [name for name, future in asked.items() if not future.done()]
        for name in silent:
            self._movers[name].remove_pending_request(asked[name])
        return Halted(CONTROLLER in asked and CONTROLLER not in silent, tuple(silent))


class OtherGoals:
    """Tracks all goals of navigate_to_pose by the status that its server publishes."""

    def __init__(self, node: EqaNode) -> None:
        self._own: deque[bytes] = deque(maxlen=_KEPT)
        self._status: list[Any] = []
        self._changed = threading.Condition()
        self._subscription = node.create_subscription(
            GoalStatusArray, f"{ACTIONS['navigate_to_pose'].name}/_action/status", self._on_status,
            QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL), callback_group=node.call_group)

    def ours(self, goal_id: Any) -> None:
        """Register our own goal (UUID message) before it is sent."""
        with self._changed:
            self._own.append(bytes(goal_id.uuid))

    def under_way(self) -> bool:
        """Return whether Nav2 executes another client's goal."""
        with self._changed:
            return any(one.status in _UNDER_WAY for one in self._foreign())

    def came_later(self, within_s: float) -> bool:
        """Return whether another client's goal arrived after our last one; wait up to `within_s` for its status."""
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


class Nav2Task(Protocol):
    """One goal in progress."""

    @property
    def received_s(self) -> float:
        """Return the arrival of its server's last message, monotonic clock, s."""

    def poll(self, wait_s: float) -> TaskEnd | None:
        """Return the end of the task, None while it runs. It also ends if its server is gone or does not answer."""

    def cancel(self) -> None:
        """Cancel it, at once or as soon as it is accepted."""


class Presence:
    """Watches the presence of a server. seen: returns whether the server is visible now."""

    def __init__(self, seen: Callable[[], bool]) -> None:
        self._seen, self._seen_s = seen, time.monotonic()

    def gone(self) -> bool:
        """Return whether the server was not visible for GONE_S. Call this often."""
        now = time.monotonic()
        if self._seen():
            self._seen_s = now
        return now - self._seen_s > GONE_S


class TaskCommander(Nav2Services):
    """Implements Commander, except for the start of tasks: subclasses start them and store them in `task`."""

    task: Nav2Task | None = None

    def __init__(self, node: EqaNode) -> None:
        super().__init__(node, node.config.managed)
        self.others, self._halting = OtherGoals(node), HaltClients(node)

    def poll(self, wait_s: float) -> TaskEnd | None:
        end = self.task.poll(wait_s) if self.task is not None else TaskEnd(TaskState.LOST, 0, "no goal was sent")
        if end == TaskEnd(TaskState.ABORTED) and self.others.came_later(TOLD_S):  # Nav2 gives no reason for this one
            return TaskEnd(TaskState.REPLACED)
        return end

    def others_drive(self) -> bool:
        return self.others.under_way()

    def cancel(self) -> None:
        if self.task is not None:
            self.task.cancel()

    def halt(self, wait_s: float) -> Halted:
        return self._halting.halt(wait_s)

    def silent_s(self) -> float:
        return time.monotonic() - self.task.received_s if self.task is not None else 0.0
