"""The atomic navigator behind Nav2's own actions: plans on the agent's map, acts by the bridge, sees every step."""

from __future__ import annotations

import threading
import traceback
from typing import Any

from rclpy.action import ActionServer, CancelResponse

from eqa_nodes import messages
from eqa_nodes.core.errors import EqaError
from eqa_nodes.core.geometry import Pose2, pose2_of
from eqa_nodes.core.navigation import ActOutcome, AtomicNavigator
from eqa_nodes.core.types import Action, GridMap, NavCode, NavResult
from eqa_nodes.graph import ACTIONS
from eqa_nodes.ros import convert
from eqa_nodes.ros.interfaces import interface
from eqa_nodes.ros.newest import Newest
from eqa_nodes.ros.node import EqaNode, run_node

_ACT = interface("eqa_interfaces/srv/Act").Request


class NavigatorNode(EqaNode):
    """Serves navigate_to_pose and spin with atomic actions."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__("navigator", **kwargs)
        self._act = self.remote("act")
        self._newest = Newest("map")
        self._busy = threading.Lock()
        self._last: Any = None  # response of the last action
        self.navigator = AtomicNavigator(self._step, self._view, self.config.navigator, now=self._now, pose=self._pose)
        self.hear("map", lambda message: self._newest.put("map", message))
        deadline = self.config.leg_deadline_s
        self._action("navigate_to_pose", lambda goal: self.navigator.go_to(messages.goal_of(goal.pose), deadline))
        self._action("spin", lambda goal: self.navigator.look_around(deadline))

    def _action(self, key: str, drive: Any) -> None:
        port = ACTIONS[key]
        ActionServer(self, interface(port.type), port.name, lambda handle: self._execute(port.type, handle, drive),
                     cancel_callback=self._cancel, callback_group=self.call_group)

    def _execute(self, type_name: str, handle: Any, drive: Any) -> Any:
        with self._busy:  # one body: a second goal waits for the first
            try:
                self._request(_ACT.STATUS)
                result = drive(handle.request)
            except EqaError as error:
                result = NavResult(NavCode.FAILED, str(error))
            except Exception as error:  # whoever asked for the drive must hear of it
                self.get_logger().error(traceback.format_exc())
                result = NavResult(NavCode.FAILED, f"navigator: {error!r}")
        response = interface(type_name).Result()
        response.error_code, response.error_msg = convert.NAV_ERRORS.get(result.code, 0), result.message
        if result.code is NavCode.SUCCEEDED:
            handle.succeed()
        elif result.code is NavCode.CANCELED and handle.is_cancel_requested:
            handle.canceled()
        else:
            handle.abort()
        return response

    def _cancel(self, _: Any) -> CancelResponse:
        self.navigator.cancel()
        return CancelResponse.ACCEPT

    def _step(self, action: Action) -> ActOutcome:
        self._request(int(action))
        return ActOutcome(self._pose(), self._last.collided)

    def _request(self, action: int) -> None:
        self._last = self._act.call(self.config.node.call_deadline_s, action=action)

    def _view(self) -> GridMap:
        newest = self._newest.at(messages.ns_of(self._last.stamp), self.config.map_deadline_s)
        return messages.grid_of(newest["map"])

    def _pose(self) -> Pose2:
        return pose2_of(messages.pose_of(self._last.pose))

    def _now(self) -> float:
        return messages.ns_of(self._last.stamp) / 1e9


def main() -> int:
    """Run the node."""
    return run_node(NavigatorNode)
