"""Serves the atomic navigator as two actions: plans on the agent's map and acts through the bridge, step by step."""

from __future__ import annotations

import threading
import traceback
from typing import Any

from eqa_nodes.config.nodes import NavigatorSettings
from eqa_nodes.core.driving.atomic import ActOutcome, AtomicNavigator
from eqa_nodes.core.errors import EqaError, NavigationError
from eqa_nodes.core.types.floor import Action, Allowance, GridMap, NavCode, NavResult, Travelled
from eqa_nodes.core.types.geometry import Pose2, pose2_of
from eqa_nodes.ros import convert
from eqa_nodes.ros.interfaces import interface
from eqa_nodes.ros.node import EqaNode
from eqa_nodes.ros.process import run_node
from eqa_nodes.ros.subscriptions import LatestMessages
from eqa_nodes.wire import messages
from eqa_nodes.wire.graph import ACTIONS

_ACT = interface("eqa_interfaces/srv/Act").Request


class NavigatorNode(EqaNode[NavigatorSettings]):
    """Serves drive_to_pose and look_around with atomic actions."""

    row = "navigator"

    def configure(self) -> None:
        self._act = self.remote("act")
        self._newest = LatestMessages("map")
        self._busy = threading.Lock()
        self._last: Any = None  # response of the last action
        self.navigator = AtomicNavigator(self._step, self._view, self.config.navigator, self.config.robot,
                                         now=self._now, pose=self._pose,
                                         travelled=lambda: Travelled(self._last.steps, self._last.metres),
                                         drive=self.config.node.drive)
        self.subscribe("map", lambda message: self._newest.put("map", message))
        self._action("drive_to_pose", self._go_to)
        self._action("look_around", self._look_around)

    def reconfigured(self, old: NavigatorSettings, new: NavigatorSettings) -> None:
        self.navigator.config = new.navigator

    def _action(self, key: str, drive: Any) -> None:
        self.offer(key, lambda handle: self._execute(ACTIONS[key].type, handle, drive), lambda _: self.deactivate())

    def deactivate(self) -> None:
        self.navigator.cancel()

    def _execute(self, type_name: str, handle: Any, drive: Any) -> Any:
        with self._busy:  # one robot: a second goal waits for the first
            try:
                self._request(_ACT.STATUS)
                result = drive(handle.request, messages.allowance_of(handle.request.allowance))
            except EqaError as error:
                result = NavResult(NavCode.FAILED, str(error))
            except Exception as error:  # the client must be informed
                self.get_logger().error(traceback.format_exc())
                result = NavResult(NavCode.FAILED, f"navigator: {error!r}")
        return convert.end_goal(handle, interface(type_name).Result(), result)

    def _go_to(self, goal: Any, allowance: Allowance) -> NavResult:
        return self.navigator.go_to(messages.goal_of(goal.pose), self.config.leg_deadline_s, allowance)

    def _look_around(self, _: Any, allowance: Allowance) -> NavResult:
        return self.navigator.look_around(self.config.leg_deadline_s, allowance)

    def _step(self, action: Action) -> ActOutcome:
        steps = self._last.steps
        self._request(int(action))
        if self._last.steps != steps + 1:  # the client died or gave up without cancelling the drive
            raise NavigationError("another episode has begun: this drive was of the last one")
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
