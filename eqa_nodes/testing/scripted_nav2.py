"""A scripted Nav2 for tests: it accepts, rejects, fails, hangs, ignores a cancel, or ends."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import rclpy
from action_msgs.msg import GoalStatus
from action_msgs.srv import CancelGoal
from nav2_msgs.action import NavigateToPose, Spin
from nav2_msgs.srv import ClearEntireCostmap, GetCostmap
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.context import Context
from rclpy.executors import MultiThreadedExecutor
from rclpy.node import Node

from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.ros.interfaces import interface
from eqa_nodes.ros.spinning import spin
from eqa_nodes.wire import messages
from eqa_nodes.wire.graph import CLEARING, SERVICES

WAIT_S = 60.0
TF_ERROR = 9002  # error code of Nav2's navigator
MANAGED = ("bt_navigator", "planner_server", "controller_server", "behavior_server")
Deed = str | tuple[int, str]


def serve_states(node: Any, states: dict[str, str], group: Any = None) -> None:
    """Serve the lifecycle states of managed nodes; states may be changed later."""
    def say(name: str, response: Any) -> Any:
        response.current_state.label = states[name]
        return response

    for name in states:
        node.create_service(interface("lifecycle_msgs/srv/GetState"), f"{name}/get_state",
                            lambda _, response, name=name: say(name, response), callback_group=group)


def serve_costmaps(node: Any, costs: Any, group: Any = None, map_frame: str = "map") -> list[str]:
    """Serve the global costmap and its clearing; return a list that receives the names of cleared costmaps.

    costs: () -> (rows of 0..255, resolution, origin)."""
    cleared: list[str] = []

    def give(_: Any, response: Any) -> Any:
        rows, resolution, origin = costs()
        response.map.header.frame_id = map_frame
        meta = response.map.metadata
        meta.size_y, meta.size_x, meta.resolution = len(rows), len(rows[0]), resolution
        meta.origin.position.x, meta.origin.position.y = origin
        response.map.data = [int(cost) for row in rows for cost in row]
        return response

    def clear(key: str, response: Any) -> Any:
        cleared.append(key)
        return response

    node.create_service(GetCostmap, SERVICES["get_global_costmap"].name, give, callback_group=group)
    for key in CLEARING:
        node.create_service(ClearEntireCostmap, SERVICES[key].name, lambda _, response, key=key: clear(key, response),
                            callback_group=group)
    return cleared


def serve_cancels(node: Any, names: Sequence[str], cancel: Any, group: Any = None) -> dict[str, Any]:
    """Serve the cancel services of actions that the graph only cancels; cancel: called with the action's name.

    Like Nav2's, the servers reply even without a goal. Returns the services, by name.
    """
    def told(name: str, response: Any) -> Any:
        cancel(name)
        return response

    return {name: node.create_service(CancelGoal, SERVICES[f"cancel_{name}"].name,
                                      lambda _, response, name=name: told(name, response), callback_group=group)
            for name in names}


class ScriptedNav2:
    """Serves Nav2's names in a domain, in its own context; use with `with`.

    script: outcome of each goal: succeed | reject | run (until it is canceled, with feedback) | silent (run without
    feedback) | stubborn (a cancel does not end it) | late (succeeds when it is canceled) | unanswered (neither accepted
    nor rejected until `release`) | (error code, message). The last one is repeated. Like Nav2, it accepts goals in
    any frame and aborts those without a transform, and a goal aborts the previous one of the same action, with neither
    code nor message.
    arrive: called with each goal that succeeds, to move the robot there; without it the robot does not move.
    goals: received goals; running: set while one is executed; statuses: their results; halted: actions whose goals were
    all canceled. controller: stops | hangs (does not answer until `release`).
    """

    def __init__(self, domain: int, script: Sequence[Deed] = ("succeed",), states: dict[str, str] | None = None,
                 map_frame: str = "map", controller: str = "stops",
                 arrive: Callable[[Pose2], None] = lambda goal: None) -> None:
        self.halted: list[str] = []
        self._arrive = arrive
        self._controller = controller
        self._map_frame = map_frame
        self.script, self.states = list(script), states or dict.fromkeys(MANAGED, "active")
        self.goals: list[Pose2 | float] = []
        self.ended: list[int] = []
        self._newest: dict[Any, Any] = {}  # action -> its newest goal
        self.costs = ([[0] * 40] * 20, 0.25, (0.0, 0.0))
        self.running, self._released = threading.Event(), threading.Event()
        self._context = Context()
        rclpy.init(context=self._context, domain_id=domain)
        self._node = node = Node("nav2", context=self._context)
        group = ReentrantCallbackGroup()
        serve_states(node, self.states, group)
        self.cleared = serve_costmaps(node, lambda: self.costs, group, map_frame)
        serve_cancels(node, ("follow_path", "backup", "drive_on_heading", "assisted_teleop"), self._halt, group)
        self._servers = [
            ActionServer(node, kind, name, lambda handle, kind=kind: self._execute(handle, kind),
                         goal_callback=self._on_goal, cancel_callback=lambda _: CancelResponse.ACCEPT,
                         callback_group=group)
            for kind, name in ((NavigateToPose, "navigate_to_pose"), (Spin, "spin"))]
        self._executor = MultiThreadedExecutor(6, context=self._context)
        self._executor.add_node(node)
        self._thread = threading.Thread(target=spin, args=(self._executor,), daemon=True)

    def __enter__(self) -> ScriptedNav2:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.vanish()

    def vanish(self) -> None:
        """End like a killed process, even in the middle of a goal."""
        self.release()
        rclpy.try_shutdown(context=self._context)
        self._thread.join(WAIT_S)
        self._executor.shutdown(WAIT_S)  # a spinning executor holds its servers, which would still be discovered
        for server in self._servers:
            server.destroy()
        self._servers.clear()
        self._node.destroy_node()

    def end(self) -> None:
        """End the running goals, without an error code."""
        self._newest.clear()

    def release(self) -> None:
        """Send the withheld replies."""
        self._released.set()

    def _halt(self, name: str) -> None:
        if name == "follow_path" and self._controller == "hangs":
            self._released.wait(WAIT_S)
        self.halted.append(name)

    def _on_goal(self, goal: Any) -> GoalResponse:
        self.goals.append(messages.goal_of(goal.pose) if hasattr(goal, "pose") else float(goal.target_yaw))
        if self.script[0] == "unanswered":
            self._released.wait(WAIT_S)
        elif self.script[0] == "reject":
            self._next()
            return GoalResponse.REJECT
        return GoalResponse.ACCEPT

    def _next(self) -> Deed:
        return self.script.pop(0) if len(self.script) > 1 else self.script[0]

    def _execute(self, handle: Any, kind: Any) -> Any:
        deed, result = self._next(), kind.Result()
        self._newest[kind] = handle
        if hasattr(handle.request, "pose") and handle.request.pose.header.frame_id != self._map_frame:
            deed = TF_ERROR, f"no transform from {handle.request.pose.header.frame_id!r}"
        self.running.set()
        if isinstance(deed, tuple):
            result.error_code, result.error_msg = deed
            handle.abort()
        elif deed == "succeed" or not self._ran(handle, kind, deed):
            if kind is NavigateToPose:
                self._arrive(messages.goal_of(handle.request.pose))
            handle.succeed()
        elif handle.is_cancel_requested:
            handle.canceled()
        else:
            handle.abort()  # a newer goal replaced it
        self.running.clear()
        self.ended.append(handle.status)
        return result

    def _ran(self, handle: Any, kind: Any, deed: str) -> bool:
        """Run a goal until its end; return whether it was ended from outside."""
        while self._context.ok() and not (handle.is_cancel_requested and deed != "stubborn"):
            if kind not in self._newest or self._newest[kind] is not handle:
                return True
            if deed not in ("silent",):
                handle.publish_feedback(kind.Feedback())
            if self._released.wait(0.05) and deed == "stubborn":
                return False
        return deed != "late"

    def canceled(self) -> int:
        """Return the number of canceled goals."""
        return self.ended.count(GoalStatus.STATUS_CANCELED)
