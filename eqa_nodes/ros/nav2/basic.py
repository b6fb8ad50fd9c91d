"""A commander over nav2_simple_commander's BasicNavigator, which spins itself and therefore runs in its own thread.

Checked against the sources of Humble, Jazzy and Kilted. Its waits without a deadline are either not used (services,
waiting for Nav2 to be active, for a cancel response) or bounded by replacing its action clients.
"""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable
from typing import Any

import rclpy
from nav2_simple_commander.robot_navigator import BasicNavigator, TaskResult
from rclpy.node import Node
from rclpy.task import Future

from eqa_nodes.core.driving.commander import TaskEnd, TaskState
from eqa_nodes.core.errors import ConfigError, NodeLost
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.ros.nav2.tasks import GONE_S, Presence, TaskCommander
from eqa_nodes.ros.node import EqaNode
from eqa_nodes.ros.remote import cancel_goal, new_id

NAME = "nav2_commander"
IDLE_S = 0.05  # period of checks for a new goal
STATES = {TaskResult.SUCCEEDED: TaskState.SUCCEEDED, TaskResult.CANCELED: TaskState.CANCELED}


class SimpleCommander(TaskCommander):
    """Implements Commander. One thread gives goals to BasicNavigator and spins it."""

    def __init__(self, node: EqaNode) -> None:
        if node.context is not rclpy.get_default_context():
            raise ConfigError("nav2_simple_commander works in rclpy's default context only: set commander to wire")
        super().__init__(node)
        self._node = node
        self._navigator = _Navigator(node_name=NAME, namespace=node.get_namespace())
        answer_s = node.config.driving.wait.answer_s
        self._to_pose = self._navigator.nav_to_pose_client = Bounded(self._navigator.nav_to_pose_client, answer_s,
                                                                               self.others.ours)
        self._spin = self._navigator.spin_client = Bounded(self._navigator.spin_client, answer_s)
        self.task: _Goal | None = None
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._work, name=NAME, daemon=True)
        self._thread.start()

    def go_to(self, goal: Pose2) -> None:
        self.task = _Goal(self._to_pose, lambda: self._navigator.goToPose(self.goal(goal)))

    def turn(self, angle_rad: float, allowance_s: float) -> None:
        self.task = _Goal(self._spin, lambda: self._navigator.spin(angle_rad, int(allowance_s)))

    def close(self) -> None:
        """End the thread and BasicNavigator's node."""
        self._closed.set()
        self._thread.join(GONE_S)
        self._navigator.destroy_node()

    def _work(self) -> None:
        while not self._closed.is_set() and self._node.context.ok():
            goal = self.task
            try:
                if goal is None or goal.done.is_set():
                    rclpy.spin_once(self._navigator, timeout_sec=IDLE_S)  # receives late answers too
                else:
                    self._advance(goal)
            except Exception as error:  # the thread must survive, because later goals need it
                if self._node.context.ok():
                    self._node.get_logger().error(f"BasicNavigator: {traceback.format_exc()}")
                    if goal is not None:
                        goal.finish(TaskEnd(TaskState.LOST, 0, f"nav2_simple_commander failed: {error!r}"))

    def _advance(self, goal: _Goal) -> None:
        """Begin a goal, forward its cancellation, or wait briefly for its end."""
        if not goal.begun:
            self._begin(goal)
        elif goal.cancel_due():
            self._navigator.goal_handle.cancel_goal_async()
        elif self._navigator.isTaskComplete():
            goal.finish(self._end())

    def _begin(self, goal: _Goal) -> None:
        goal.begun = True
        self._navigator.goal_handle = self._navigator.result_future = None
        try:
            goal.begin()
        except NodeLost as error:
            goal.finish(TaskEnd(TaskState.LOST, 0, str(error)))
            return
        except AttributeError:  # raised if a goal was not accepted: Kilted when rejected, Humble without an answer
            if getattr(self._navigator.goal_handle, "accepted", False):
                raise
        handle = self._navigator.goal_handle
        if handle is None and goal.canceled:
            goal.finish(TaskEnd(TaskState.CANCELED))
        elif handle is None:
            goal.finish(TaskEnd(TaskState.LOST, 0, f"no answer to the goal within {goal.client.answer_s:g} s"))
        elif not handle.accepted:
            goal.finish(TaskEnd(TaskState.REJECTED))

    def _end(self) -> TaskEnd:
        """Return the end of the task; getTaskError exists from Kilted on, the error fields of results from Jazzy on."""
        state = STATES.get(self._navigator.getResult(), TaskState.ABORTED)
        if hasattr(self._navigator, "getTaskError"):
            return TaskEnd(state, *self._navigator.getTaskError())
        result = self._navigator.result_future.result().result
        return TaskEnd(state, int(getattr(result, "error_code", 0)), str(getattr(result, "error_msg", "")))


class _Named(Node):
    """Keeps its own name even if launch sets the node name of the process on the command line."""

    def __init__(self, *, node_name: str, namespace: str) -> None:
        super().__init__(node_name, namespace=namespace, cli_args=["--ros-args", "-r", f"__node:={node_name}"])


class _Navigator(BasicNavigator, _Named):
    """BasicNavigator with _Named as its next class, whose constructor it calls with its own argument names."""


class _Goal:
    """Implements Nav2Task: begun by the commander's thread, polled and cancelled by other threads."""

    def __init__(self, client: Bounded, begin: Callable[[], Any]) -> None:
        self.client, self.begin = client, begin
        self.begun = self.canceled = self._passed_on = False
        self.done, self._end = threading.Event(), TaskEnd(TaskState.LOST)
        client.received_s = time.monotonic()
        self._server = Presence(client.server_is_ready)

    @property
    def received_s(self) -> float:
        return self.client.received_s

    def poll(self, wait_s: float) -> TaskEnd | None:
        if self.done.wait(wait_s):
            return self._end
        if self._server.gone():
            self.finish(TaskEnd(TaskState.LOST, 0, f"no server for {self.client.name}"))
            return self._end
        return None

    def cancel(self) -> None:
        self.canceled = True
        self.client.call_off()

    def cancel_due(self) -> bool:
        """Return whether a cancellation has to be forwarded; true only once."""
        due = self.canceled and not self._passed_on
        self._passed_on |= due
        return due

    def finish(self, end: TaskEnd) -> None:
        """Set the end of the task; only the first call counts."""
        if not self.done.is_set():
            self._end = end
            self.done.set()


class Bounded:
    """Replaces one of BasicNavigator's action clients with bounded waits. A goal accepted after a wait has ended is
    cancelled. received_s: arrival of the server's last message, monotonic clock, s."""

    def __init__(self, client: Any, answer_s: float, told: Callable[[Any], None] = lambda _: None) -> None:
        """answer_s: deadline for the answer to a goal, s; told: called with each goal's id before the goal is sent."""
        self._client, self.answer_s, self._told = client, answer_s, told
        self.name, self.server_is_ready, self.destroy = client._action_name, client.server_is_ready, client.destroy
        self.received_s = time.monotonic()
        self._lock = threading.Lock()
        self._call_off: Callable[[], None] = lambda: None  # for the goal that was sent last

    def wait_for_server(self, timeout_sec: float | None = None) -> bool:
        """Return True, or raise NodeLost: BasicNavigator would repeat its wait forever."""
        if not self._client.wait_for_server(timeout_sec=GONE_S):
            raise NodeLost(f"no server for {self.name}")
        return True

    def send_goal_async(self, goal: Any, feedback_callback: Any = None, **kwargs: Any) -> Any:
        """Return a future of the goal's handle, or of None if no answer arrives in time."""
        def feedback_received(message: Any) -> None:
            self.received_s = time.monotonic()
            if feedback_callback is not None:
                feedback_callback(message)

        answer, goal_id = Future(), new_id()
        self._told(goal_id)
        sent = self._client.send_goal_async(goal, feedback_callback=feedback_received, goal_uuid=goal_id, **kwargs)

        def call_off() -> None:
            if self._settle(answer, None):
                cancel_goal(self._client, goal_id)

        self._call_off = call_off
        timer = threading.Timer(self.answer_s, call_off)
        timer.daemon = True
        timer.start()
        sent.add_done_callback(lambda done: self._on_answer(answer, done.result(), timer))
        return answer

    def call_off(self) -> None:
        """Stop waiting for the answer to the last goal, and cancel that goal."""
        self._call_off()

    def _on_answer(self, answer: Any, handle: Any, timer: threading.Timer) -> None:
        timer.cancel()
        self.received_s = time.monotonic()
        if not self._settle(answer, handle) and handle.accepted:
            handle.cancel_goal_async()

    def _settle(self, answer: Any, handle: Any) -> bool:
        with self._lock:
            if answer.done():
                return False
            answer.set_result(handle)
            return True
