"""A commander over Nav2's actions, for machines without nav2_simple_commander and under access control."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from action_msgs.msg import GoalStatus
from builtin_interfaces.msg import Duration

from eqa_nodes.core.driving.commander import TaskEnd, TaskState
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.ros.actions import ReliableActionClient
from eqa_nodes.ros.interfaces import interface
from eqa_nodes.ros.nav2.tasks import Presence, TaskCommander
from eqa_nodes.ros.node import EqaNode
from eqa_nodes.ros.remote import cancel_goal, new_id
from eqa_nodes.wire.graph import ACTIONS

STATES = {GoalStatus.STATUS_SUCCEEDED: TaskState.SUCCEEDED, GoalStatus.STATUS_CANCELED: TaskState.CANCELED}


class WireCommander(TaskCommander):
    """Implements Commander with action clients of a node, whose executor must have a free thread."""

    def __init__(self, node: EqaNode) -> None:
        super().__init__(node)
        self._answer_s = node.config.driving.wait.answer_s
        self._to_pose, self._spin = (
            ReliableActionClient(node, interface(ACTIONS[key].type), ACTIONS[key].name, node.call_group)
            for key in ("navigate_to_pose", "spin"))

    def go_to(self, goal: Pose2) -> None:
        kind = interface(ACTIONS["navigate_to_pose"].type)
        self.task = WireTask(self._to_pose, kind.Goal(pose=self.goal(goal)), self._answer_s, self.others.ours)

    def turn(self, angle_rad: float, allowance_s: float) -> None:
        goal = interface(ACTIONS["spin"].type).Goal(target_yaw=angle_rad, time_allowance=Duration(sec=int(allowance_s)))
        self.task = WireTask(self._spin, goal, self._answer_s)

    def close(self) -> None:
        """End the action clients."""
        self._to_pose.destroy()
        self._spin.destroy()


class WireTask:
    """Implements Nav2Task with an action client."""

    def __init__(self, client: Any, goal: Any, answer_s: float, told: Callable[[Any], None] = lambda _: None) -> None:
        """answer_s: deadline for the answer to the goal, s; told: called with the goal's id before the goal is sent."""
        self._client, self._answer_s = client, answer_s
        self._done, self._end = threading.Event(), TaskEnd(TaskState.LOST)
        self._handle: Any = None
        self._canceled = False
        self._sent_s = self.received_s = time.monotonic()
        self._server = Presence(client.server_is_ready)
        self._id = new_id()
        told(self._id)
        sent = client.send_goal_async(goal, feedback_callback=self._on_feedback, goal_uuid=self._id)
        sent.add_done_callback(self._on_answer)

    def poll(self, wait_s: float) -> TaskEnd | None:
        if self._done.wait(wait_s):
            return self._end
        if self._server.gone():
            return self._given_up(f"no server for {self._client._action_name}")
        if self._handle is None and time.monotonic() - self._sent_s > self._answer_s:
            return self._given_up(f"no answer to the goal within {self._answer_s:g} s")
        return None

    def cancel(self) -> None:
        self._canceled = True
        if self._handle is not None and not self._done.is_set():
            self._handle.cancel_goal_async()

    def _given_up(self, why: str) -> TaskEnd:
        self.cancel()  # in case it is accepted after all
        cancel_goal(self._client, self._id)
        return TaskEnd(TaskState.LOST, 0, why)

    def _on_feedback(self, _: Any) -> None:
        self.received_s = time.monotonic()

    def _on_answer(self, future: Any) -> None:
        handle = future.result()
        if not handle.accepted:
            self._finish(TaskEnd(TaskState.REJECTED))
            return
        self._handle, self.received_s = handle, time.monotonic()
        handle.get_result_async().add_done_callback(self._on_result)
        if self._canceled:
            handle.cancel_goal_async()

    def _on_result(self, future: Any) -> None:
        response = future.result()
        self._finish(end_of(response.status, response.result))

    def _finish(self, end: TaskEnd) -> None:
        self._end = end
        self._done.set()


def end_of(status: int, result: Any) -> TaskEnd:
    """Convert a goal's status and result to the end of a task; Humble's results have neither code nor message."""
    return TaskEnd(STATES.get(status, TaskState.ABORTED), int(getattr(result, "error_code", 0)),
                   str(getattr(result, "error_msg", "")))
