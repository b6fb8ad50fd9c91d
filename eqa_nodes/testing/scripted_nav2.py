"""A Nav2 that does what a test tells it: takes, refuses, fails, hangs, ignores a cancel, and goes away."""

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
TF_ERROR = 9002  # of Nav2's navigator
MANAGED = ("bt_navigator", "planner_server", "controller_server", "behavior_server")
Deed = str | tuple[int, str]


def serve_states(node: Any, states: dict[str, str], group: Any = None) -> None:
    """Serve the lifecycle state of managed nodes; a state may be changed later."""
    def say(name: str, response: Any) -> Any:
        response.current_state.label = states[name]
        return response

    for name in states:
        node.create_service(interface("lifecycle_msgs/srv/GetState"), f"{name}/get_state",
                            lambda _, response, name=name: say(name, response), callback_group=group)


def serve_costmaps(node: Any, costs: Any, group: Any = None, map_frame: str = "map") -> list[str]:
    """Serve the global costmap, costs: () -> (rows of 0..255, resolution, origin), and clearing; return what was."""
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
    """Serve the cancel services of actions that the graph only ever cancels; cancel: name -> what is done.

    A server of Nav2 answers also where it has no goal. Returns the services, by name.
    """
    def told(name: str, response: Any) -> Any:
        cancel(name)
        return response

    return {name: node.create_service(CancelGoal, SERVICES[f"cancel_{name}"].name,
                                      lambda _, response, name=name: told(name, response), callback_group=group)
            for name in names}


class ScriptedNav2:
    """Serves Nav2's names in a domain, in a context of its own; use with `with`.

    script: what each goal does: succeed | reject | run (until it is canceled, with feedback) | silent (so without it)
    | stubborn (a cancel does not end it) | late (succeeds when it is canceled) | unanswered (neither accepted nor
    rejected until `release`) | (error code, message). The last one goes on for ever. As Nav2 does, it takes goals
    in any frame and gives up those that no transform leads to, and a goal ends the one before it of the same action:
    that is aborted, with neither code nor message.
    arrive: called with each goal that succeeds, for what moves the robot there; without it Nav2's word is not true.
    goals: what came; running: set while one is carried out; statuses: how those ended; halted: whose goals were all
    canceled. controller: stops | hangs (does not answer until `release`).
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
        self._newest: dict[Any, Any] = {}  # action -> its goal that came last
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
        """Go away, in the middle of a goal too."""
        self.release()
        rclpy.try_shutdown(context=self._context)
        self._thread.join(WAIT_S)
        self._executor.shutdown(WAIT_S)  # in the middle of a pass it holds its servers, and they are still discovered
        for server in self._servers:
            server.destroy()
        self._servers.clear()
        self._node.destroy_node()

    def end(self) -> None:
        """End what runs, without a code."""
        self._newest.clear()

    def release(self) -> None:
        """Answer what was not answered."""
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
            handle.abort()  # a newer goal took its place
        self.running.clear()
        self.ended.append(handle.status)
        return result

    def _ran(self, handle: Any, kind: Any, deed: str) -> bool:
        """Run until it is over; say whether it was ended from outside."""
        while self._context.ok() and not (handle.is_cancel_requested and deed != "stubborn"):
            if kind not in self._newest or self._newest[kind] is not handle:
                return True
            if deed not in ("silent",):
                handle.publish_feedback(kind.Feedback())
            if self._released.wait(0.05) and deed == "stubborn":
                return False
        return deed != "late"

    def canceled(self) -> int:
        """Count the goals that ended canceled."""
        return self.ended.count(GoalStatus.STATUS_CANCELED)
