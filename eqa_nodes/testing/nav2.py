"""Stands in for Nav2, which is no wheel: its action servers, states and costmap, driving by cmd_vel on the map.

A planner on the grid and a pursuit of its path; as Nav2's, they know the robot by tf and send TwistStamped.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import rclpy
from geometry_msgs.msg import PoseStamped, TwistStamped
from nav2_msgs.action import NavigateToPose, Spin
from rclpy.action import ActionClient, ActionServer, CancelResponse
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.context import Context
from rclpy.executors import MultiThreadedExecutor
from rclpy.node import Node

from eqa_nodes.core.driving.keep_out_mask import with_mask
from eqa_nodes.core.driving.planning import along, forbidden, plan
from eqa_nodes.core.errors import BadFrame, BadPose
from eqa_nodes.core.types.floor import GridMap
from eqa_nodes.core.types.geometry import Pose2, pose2_of, wrap
from eqa_nodes.ros import convert, messages
from eqa_nodes.ros.graph import ACTIONS, TOPICS
from eqa_nodes.ros.interfaces import interface, qos
from eqa_nodes.ros.spinning import spin
from eqa_nodes.ros.tf_buffer import TfBuffer
from eqa_nodes.testing.scripted_nav2 import MANAGED, serve_costmaps, serve_states

RADIUS_M, NEAR_M, AHEAD_M, YAW_RAD = 0.18, 0.25, 0.4, 0.15
LOST_S = 60.0  # without a transform of the robot the drive ends; wall clock
REPLAN_S, PATIENCE_S = 1.0, 300.0  # simulated
NO_PATH, TF_ERROR, TIMEOUT = 208, 9002, 9003  # as Nav2's planner and navigator number them


class Failed(Exception):
    """Ends a drive; its arguments are Nav2's code and message."""


class StandIn:
    """Serves navigate_to_pose and spin in a graph's domain; use with `with`.

    sent: how many velocities; goals: how many it carried out; by_topic: how many of those came by goal_pose.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.sent = self.goals = self.by_topic = 0
        self._newest: dict[Any, Any] = {}  # action -> its goal that came last
        self._context = Context()
        rclpy.init(context=self._context, domain_id=int(environment["ROS_DOMAIN_ID"]))
        self._node = Node("nav2", context=self._context)
        self._tf, self._now_ns = TfBuffer(), 0
        self._grid: GridMap | None = None
        self._mask: GridMap | None = None  # of the keepout filter
        self._changed = threading.Condition()
        group = ReentrantCallbackGroup()
        serve_states(self._node, dict.fromkeys(MANAGED, "active"), group)
        serve_costmaps(self._node, self._costs, group)
        self._out = self._node.create_publisher(TwistStamped, TOPICS["cmd_vel"].name, 1)
        for key, take in (("tf", self._on_tf), ("map", self._on_map), ("keep_out_mask", self._on_mask)):
            self._node.create_subscription(interface(TOPICS[key].type), TOPICS[key].name, take, qos(TOPICS[key].qos),
                                           callback_group=group)
        self._servers = [
            ActionServer(self._node, kind, ACTIONS[key].name,
                         lambda handle, kind=kind, drive=drive: self._execute(handle, kind, drive),
                         cancel_callback=lambda _: CancelResponse.ACCEPT, callback_group=group)
            for key, kind, drive in (("navigate_to_pose", NavigateToPose, self._go), ("spin", Spin, self._turn))]
        self._own = ActionClient(self._node, NavigateToPose, ACTIONS["navigate_to_pose"].name, callback_group=group)
        self._node.create_subscription(PoseStamped, "goal_pose", self._on_goal_pose, 1, callback_group=group)
        self._executor = MultiThreadedExecutor(4, context=self._context)
        self._executor.add_node(self._node)
        self._thread = threading.Thread(target=spin, args=(self._executor,), daemon=True)

    def __enter__(self) -> StandIn:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        rclpy.try_shutdown(context=self._context)
        self._thread.join(5.0)
        for port in (self._own, *self._servers):
            port.destroy()
        self._node.destroy_node()  # one that is only stopped is still discovered

    def _on_goal_pose(self, pose: Any) -> None:
        """Drive there, as Nav2 does when RViz says so: no gate of ours stands before this topic."""
        self.by_topic += 1
        self._own.send_goal_async(NavigateToPose.Goal(pose=pose))

    def _on_tf(self, message: Any) -> None:
        with self._changed:
            for t in message.transforms:
                stamp = messages.stamp_of(t)
                self._tf.put(t.header.frame_id, t.child_frame_id, stamp, messages.transform_of(t))
                if t.child_frame_id == convert.BASE:  # AMCL stamps its own ahead
                    self._now_ns = max(self._now_ns, stamp)
            self._changed.notify_all()

    def _on_map(self, message: Any) -> None:
        self._grid = messages.grid_of(message)

    def _on_mask(self, message: Any) -> None:
        self._mask = messages.grid_of(message)

    def _costs(self) -> tuple[list[list[int]], float, tuple[float, float]]:
        """Return the map as a costmap: what is nearer to an obstacle than the robot's radius touches it."""
        grid: GridMap | None = self._grid
        if grid is None:
            return [[255]], 1.0, (0.0, 0.0)
        costs = np.where(forbidden(grid, RADIUS_M), 253, 0)
        costs[grid.cells == 100], costs[grid.cells == -1] = 254, 255
        return costs.tolist(), grid.resolution_m, grid.origin

    def _execute(self, handle: Any, kind: Any, drive: Any) -> Any:
        """Drive; a newer goal of the same action ends this one, which is aborted with neither code nor message."""
        self.goals += 1
        result, self._newest[kind] = kind.Result(), handle

        def going_on() -> bool:
            return not handle.is_cancel_requested and self._newest[kind] is handle

        try:
            drive(handle.request, going_on)
        except Failed as failed:
            result.error_code, result.error_msg = failed.args
            handle.abort()
        else:
            if handle.is_cancel_requested:
                handle.canceled()
            elif going_on():
                handle.succeed()
            else:
                handle.abort()
                return result  # the robot is the newer goal's
        self._send(0.0, 0.0)
        return result

    def _go(self, request: Any, going_on: Callable[[], bool]) -> None:
        """Drive along a path that is planned again each second, then turn to the goal's heading."""
        goal, planned_ns = messages.goal_of(request.pose), 0
        path: Any = []
        pose, began_ns = self._pose(), self._now_ns
        while going_on():
            if self._now_ns - began_ns > PATIENCE_S * 1e9:
                raise Failed(TIMEOUT, f"not there after {PATIENCE_S} s")
            if not path or self._now_ns - planned_ns > REPLAN_S * 1e9:
                path, planned_ns = self._planned(pose, goal), self._now_ns
            if math.dist(pose[:2], path[-1][:2]) < NEAR_M:
                break
            self._pursue(pose, path)
            pose = self._pose()
        self._turn_by(wrap(goal.yaw - pose.yaw), going_on)

    def _planned(self, pose: Pose2, goal: Pose2) -> Any:
        grid: GridMap | None = self._grid
        try:
            if grid is not None and self._mask is not None:
                grid = with_mask(grid, self._mask)
            path = plan(grid, pose, goal, RADIUS_M) if grid is not None else None
        except BadPose as error:
            raise Failed(NO_PATH, str(error)) from error
        if not path:
            raise Failed(NO_PATH, f"no path to {goal}")
        return path

    def _pursue(self, pose: Pose2, path: Any) -> None:
        """Send the velocity towards a point some way along the path, from where the path is nearest."""
        steps = [along(path, 0.05 * i)[0] for i in range(200)]
        nearest = min(range(200), key=lambda i: math.dist(steps[i][:2], pose[:2]))
        aim, _ = along(path, 0.05 * nearest + AHEAD_M)
        off = wrap(math.atan2(aim.y - pose.y, aim.x - pose.x) - pose.yaw)
        self._send(0.4 if abs(off) < 0.6 else 0.0, max(-1.2, min(1.2, 2.5 * off)))

    def _turn(self, request: Any, going_on: Callable[[], bool]) -> None:
        self._turn_by(float(request.target_yaw), going_on)

    def _turn_by(self, angle: float, going_on: Callable[[], bool]) -> None:
        pose, turned, began_ns = self._pose(), 0.0, self._now_ns
        while abs(angle - turned) > YAW_RAD and going_on():
            if self._now_ns - began_ns > PATIENCE_S * 1e9:
                raise Failed(TIMEOUT, f"not turned after {PATIENCE_S} s")
            self._send(0.0, math.copysign(min(1.0, 0.3 + abs(angle - turned)), angle - turned))
            now = self._pose()
            turned, pose = turned + wrap(now.yaw - pose.yaw), now

    def _pose(self) -> Pose2:
        """Wait for the next transform of the robot, and return where it is in the map."""
        with self._changed:
            before = self._now_ns
            if not self._changed.wait_for(lambda: self._now_ns > before and self._placed() is not None, LOST_S):
                raise Failed(TF_ERROR, "no transform of the robot came")
            placed = self._placed()
            assert placed is not None  # nothing has come since
            return placed

    def _placed(self) -> Pose2 | None:
        """Return where the robot is in the map, None where nobody localises it now."""
        try:
            return pose2_of(self._tf.lookup(convert.MAP, convert.BASE, self._now_ns))
        except BadFrame:
            return None

    def _send(self, forward: float, turn: float) -> None:
        message = TwistStamped(header=convert.header(self._now_ns, convert.BASE))
        message.twist.linear.x, message.twist.angular.z = forward, turn
        self.sent += 1
        self._out.publish(message)
