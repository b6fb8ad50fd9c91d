"""Connects the agent to Nav2: sends the agent's goals, keeps the robot within its limits, and recovers."""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable
from typing import Any

from eqa_nodes.config.nodes import Nav2NavigatorSettings
from eqa_nodes.core.driving.drive_budget import Gates
from eqa_nodes.core.driving.driver import MAY_DRIVE, GoalDriver, Interrupt
from eqa_nodes.core.errors import BadFrame, EqaError
from eqa_nodes.core.types.floor import Allowance, NavCode, NavResult
from eqa_nodes.ros import convert
from eqa_nodes.ros.interfaces import interface
from eqa_nodes.ros.nav2 import commander_of
from eqa_nodes.ros.nav2.place import RobotPlace
from eqa_nodes.ros.node import EqaNode
from eqa_nodes.ros.process import run_node
from eqa_nodes.wire import messages
from eqa_nodes.wire.graph import ACTIONS

CANCEL_S = 1.5  # deadline for a drive to end with the node
Drive = Callable[[Any, Interrupt, Allowance], NavResult]


class Nav2NavigatorNode(EqaNode[Nav2NavigatorSettings]):
    """Serves drive_to_pose and look_around with Nav2. A new goal cancels the previous one."""

    row = "nav2_navigator"

    def configure(self) -> None:
        driving = self.config.driving
        self.gates, self._commander = Gates(driving.gates), commander_of(self)
        robot = RobotPlace(self, driving.gates.place_s, driving.gates.odom_s)
        self._driver = GoalDriver(self._commander, robot, self.gates, driving, self.config.robot.radius_m,
                              self.config.node.drive)
        self._busy, self._turn, self._halting = threading.Lock(), threading.Lock(), threading.Lock()
        self._newest = Interrupt()  # interrupt of the newest goal
        self._goals: dict[bytes, Interrupt] = {}
        self.subscribe("stop", self._on_stop)
        self.subscribe("battery", self._on_battery)
        self.subscribe("localisation", self._on_localisation)
        deadline = self.config.leg_deadline_s
        self._action("drive_to_pose", lambda goal, interrupt, allowance: self._driver.go_to(
            messages.goal_of(goal.pose), deadline, interrupt, allowance))
        self._action("look_around", lambda goal, interrupt, allowance: self._driver.look_around(
            deadline, interrupt, allowance))

    def deactivate(self) -> None:
        self._newest.set("the node was deactivated")
        if self._busy.acquire(timeout=min(CANCEL_S, self.config.driving.wait.cancel_s)):  # a drive cancels its goal
            self._busy.release()

    def release(self) -> None:
        self._commander.close()

    def _on_stop(self, message: Any) -> None:
        self.gates.set_stop(message.data)
        if message.data:  # also goals of other clients and abandoned goals
            threading.Thread(target=self._halt, name="halt", daemon=True).start()

    def _halt(self) -> None:
        if not self._halting.acquire(blocking=False):  # some operators publish stop many times a second
            return
        try:
            silent = self._commander.halt(self.config.driving.wait.cancel_s).silent
        finally:
            self._halting.release()
        if silent:
            self.count("stop that Nav2 did not confirm")
            self.get_logger().error(f"{', '.join(silent)} of Nav2 did not confirm the operator's stop: {MAY_DRIVE}")

    def _on_battery(self, message: Any) -> None:
        try:
            self.gates.set_battery(float(message.percentage), time.monotonic())
        except BadFrame:
            self.count("battery_state without a charge of 0..1")

    def _on_localisation(self, message: Any) -> None:
        try:
            self.gates.set_covariance(message.pose.covariance)
        except BadFrame:
            self.count("amcl_pose without a covariance")

    def _action(self, key: str, drive: Drive) -> None:
        self.offer(key, lambda handle: self._execute(ACTIONS[key].type, handle, drive), self._on_cancel,
                   self._on_accepted)

    def _on_accepted(self, handle: Any) -> None:
        with self._turn:
            self._newest.set("a newer goal took its place")
            self._newest = self._goals[bytes(handle.goal_id.uuid)] = Interrupt()
        handle.execute()

    def _on_cancel(self, handle: Any) -> None:
        interrupt = self._goals.get(bytes(handle.goal_id.uuid))
        if interrupt is not None:
            interrupt.set("canceled")

    def _execute(self, type_name: str, handle: Any, drive: Drive) -> Any:
        identity = bytes(handle.goal_id.uuid)
        with self._busy:  # one robot: the previous goal was already cancelled
            try:
                result = drive(handle.request, self._goals[identity],
                               messages.allowance_of(handle.request.allowance))
            except EqaError as error:  # the goal is invalid
                result = NavResult(NavCode.FAILED, str(error))
            except Exception as error:  # the client must be informed
                self.get_logger().error(traceback.format_exc())
                result = NavResult(NavCode.FAILED, f"nav2_navigator: {error!r}")
        del self._goals[identity]
        if result.code not in (NavCode.SUCCEEDED, NavCode.CANCELED) and not result.code.limit:
            self.get_logger().warning(result.message)
            self.count(f"drive {result.code.value}")
        return convert.end_goal(handle, interface(type_name).Result(), result)


def main() -> int:
    """Run the node."""
    return run_node(Nav2NavigatorNode)
