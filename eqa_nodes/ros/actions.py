"""Action clients, action servers and services that lose nothing when many goals start, end or are cancelled at once.

Plain rclpy loses goals. A client may receive a reply before it has registered its own request (ros2/rclpy issue 1123;
in rclpy 9.1 a goal is registered twice, and the second registration is never answered). Services keep ten requests. A
server forgets a result after ten seconds. A request to cancel all goals skips the goal after one that has just ended.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from rclpy._rclpy_pybind11 import RCLError
from rclpy.action import ActionClient, ActionServer, CancelResponse
from rclpy.action.server import GoalEvent
from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy

DEPTH = 256  # requests, replies or feedback that may wait to be taken


def service_qos() -> QoSProfile:
    """Return the QoS profile of services: rclpy's own, which keeps ten requests, with a larger depth."""
    return QoSProfile(depth=DEPTH, history=HistoryPolicy.KEEP_LAST, reliability=ReliabilityPolicy.RELIABLE)


class ReliableActionClient(ActionClient):
    """An action client that handles no reply while it sends, so that each request is registered before its reply."""

    def __init__(self, node: Any, action_type: Any, name: str, callback_group: Any) -> None:
        deep = service_qos()
        super().__init__(node, action_type, name, callback_group=callback_group, goal_service_qos_profile=deep,
                         result_service_qos_profile=deep, cancel_service_qos_profile=deep,
                         feedback_sub_qos_profile=QoSProfile(depth=DEPTH))
        self._lock = threading.RLock()  # rclpy's own, where it has one, cannot be taken twice

    def take_data(self) -> Any:
        with self._lock:
            return super().take_data()

    def send_goal_async(self, *args: Any, **kwargs: Any) -> Any:
        with self._lock:
            return super().send_goal_async(*args, **kwargs)

    def _cancel_goal_async(self, goal_handle: Any) -> Any:
        with self._lock:
            return super()._cancel_goal_async(goal_handle)

    def _get_result_async(self, goal_handle: Any) -> Any:
        with self._lock:
            return super()._get_result_async(goal_handle)


class ConcurrentActionServer(ActionServer):
    """An action server with room for many goals at once."""

    def __init__(self, node: Any, action_type: Any, name: str, execute: Callable[[Any], Any], **options: Any) -> None:
        deep = service_qos()
        super().__init__(node, action_type, name, execute, goal_service_qos_profile=deep,
                         result_service_qos_profile=deep, cancel_service_qos_profile=deep,
                         feedback_pub_qos_profile=QoSProfile(depth=DEPTH), **options)

    async def _execute_cancel_request(self, request_header_and_message: Any) -> None:
        """Call off each goal that is meant. rclpy takes goals out of the list while it goes through it."""
        header, request = request_header_and_message
        with self._lock:
            response = self._handle.process_cancel_request(request, self._action_type.Impl.CancelGoalService.Response)
        response.goals_canceling = [info for info in response.goals_canceling if self._called_off(info)]
        try:
            with self._lock:
                self._handle.send_cancel_response(header, response)
        except RCLError:
            self._logger.warning("nobody is there any more to hear that goals are called off")

    def _called_off(self, info: Any) -> bool:
        """Ask the callback whether a goal may be cancelled; return whether it is being cancelled now."""
        handle = self._goal_handles.get(bytes(info.goal_id.uuid))
        if handle is None or self._cancel_callback(handle) is not CancelResponse.ACCEPT:
            return False
        try:
            handle._update_state(GoalEvent.CANCEL_GOAL)
        except RCLError:  # it has ended meanwhile
            return False
        return True
