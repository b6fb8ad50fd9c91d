"""The atomic navigator behind Nav2's own actions: plans on the agent's map, acts through the bridge, sees every step."""

from __future__ import annotations

import threading
from typing import Any

from rclpy.action import ActionServer, CancelResponse

from eqa_nodes.core.agent import AgentConfig
from eqa_nodes.core.errors import EqaError
from eqa_nodes.core.geometry import pose2_of
from eqa_nodes.core.navigation import ActOutcome, AtomicNavigator, NavigatorConfig
from eqa_nodes.core.types import Action, GridMap, NavCode, NavResult
from eqa_nodes.graph import ACTIONS
from eqa_nodes.ros import convert
from eqa_nodes.ros.messages import interface
from eqa_nodes.ros.newest import Newest
from eqa_nodes.ros.node import EqaNode, call, run_node

# Nav2 reports failures as numbers of the server that failed; ours come after all of them (docs/architecture.md).
NAV_ERRORS = {NavCode.BLOCKED: 9901, NavCode.UNREACHABLE: 9902, NavCode.TIMEOUT: 9903, NavCode.FAILED: 9904,
              NavCode.CANCELED: 9905}
NAV_CODES = {number: code for code, number in NAV_ERRORS.items()}


class NavigatorNode(EqaNode):
    """Serves navigate_to_pose and spin with atomic actions."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__("navigator", **kwargs)
        self._act = self.client("act")
        self._newest = Newest("map")
        self._busy = threading.Lock()
        self._stamp_ns = 0
        self.navigator = AtomicNavigator(self._step, self._view, self._now, self.config.navigator)
        self.hear("map", lambda message: self._newest.put("map", message))
        self._action("navigate_to_pose", lambda goal: self.navigator.go_to(convert.goal_of(goal.pose), self.config.leg_deadline_s))
        self._action("spin", lambda goal: self.navigator.look_around(self.config.leg_deadline_s))

    def _action(self, key: str, drive: Any) -> None:
        port = ACTIONS[key]
        ActionServer(self, interface(port.type), port.name, lambda handle: self._execute(port.type, handle, drive),
                     cancel_callback=self._cancel, callback_group=self.call_group)

    def _execute(self, type_name: str, handle: Any, drive: Any) -> Any:
        with self._busy:  # one body: a second goal waits for the first
            try:
                self._observe()
                result = drive(handle.request)
            except EqaError as error:
                result = NavResult(NavCode.FAILED, str(error))
        response = interface(type_name).Result()
        response.error_code, response.error_msg = NAV_ERRORS.get(result.code, 0), result.message
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

    def _observe(self) -> None:
        self._request(interface("eqa_interfaces/srv/Act").Request.STATUS)

    def _step(self, action: Action) -> ActOutcome:
        response = self._request(int(action))
        return ActOutcome(pose2_of(convert.pose_of(response.pose)), response.collided)

    def _request(self, action: int) -> Any:
        request = interface("eqa_interfaces/srv/Act").Request(action=action)
        response = call(self._act, request, self.config.node.call_deadline_s)
        self._stamp_ns = convert.ns_of(response.stamp)
        return response

    def _view(self) -> GridMap:
        return convert.grid_of(self._newest.at(self._stamp_ns, self.config.map_deadline_s)["map"])

    def _now(self) -> float:
        return self._stamp_ns / 1e9


def main() -> int:
    """Run the node."""
    return run_node(NavigatorNode)
