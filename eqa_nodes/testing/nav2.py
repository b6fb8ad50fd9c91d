"""Stands in for Nav2, which has no wheel: its action servers, states and costmap; it drives by cmd_vel on the map.

It has a grid planner and a pursuit of its path; like Nav2's, they use the robot's tf and send TwistStamped. Nav2's
BT navigator is a separate process, here a separate context: the controller continues without it.
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

from eqa_nodes.core.driving.planning import along, forbidden, plan
from eqa_nodes.core.driving.zones import with_mask
from eqa_nodes.core.errors import BadFrame, BadPose
from eqa_nodes.core.types.floor import GridMap
from eqa_nodes.core.types.geometry import Pose2, pose2_of, wrap
from eqa_nodes.ros import convert
from eqa_nodes.ros.interfaces import interface, qos
from eqa_nodes.ros.spinning import spin
from eqa_nodes.testing.scripted_nav2 import MANAGED, serve_cancels, serve_costmaps, serve_states
from eqa_nodes.wire import messages
from eqa_nodes.wire.graph import ACTIONS, TOPICS
from eqa_nodes.wire.transforms import TfBuffer

RADIUS_M, YAW_RAD = 0.18, 0.15
LOST_S = 60.0  # time without a transform of the robot after which the drive ends; wall clock
REPLAN_S, PATIENCE_S = 1.0, 300.0  # simulated time
NO_PATH, TF_ERROR, TIMEOUT = 208, 9002, 9003  # error codes of Nav2's planner and navigator
NAVIGATOR = MANAGED[0]
NEAR_M, AHEAD_M = 0.25, 0.4
STEP_M, STEPS = 0.05, 200  # spacing and number of path points among which the nearest is searched
JOIN_S = 5.0


class Failed(Exception):
    """Ends a drive; its arguments are Nav2's code and message."""


class Controller:
    """Follows the newest path by velocities, in its own thread, until its end or a cancel, also if its sender ended."""

    def __init__(self, pose: Callable[[], Pose2], send: Callable[[float, float], None]) -> None:
        """pose: waits for the robot's next pose in the map, or raises Failed; send: sends m/s forward and rad/s."""
        self._pose, self._send = pose, send
        self._path: Any = None
        self._ended = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._work, name="controller", daemon=True)

    @property
    def following(self) -> bool:
        """Return whether there is a path to follow."""
        return self._path is not None

    def start(self) -> None:
        """Start waiting for paths."""
        self._thread.start()

    def follow(self, path: Any) -> None:
        """Follow a path, which replaces the previous one."""
        with self._changed:
            self._path = path
            self._changed.notify_all()

    def cancel(self) -> None:
        """Stop the robot if it follows a path."""
        with self._changed:
            if self._path is not None:
                self._path = None
                self._send(0.0, 0.0)

    def end(self) -> None:
        """End the thread."""
        with self._changed:
            self._ended, self._path = True, None
            self._changed.notify_all()
        self._thread.join(JOIN_S)

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._ended or self._path is not None)
                if self._ended:
                    return
            try:
                pose = self._pose()
            except Failed:
                self.cancel()
                continue
            with self._changed:
                if self._path is None:
                    continue
                if math.dist(pose[:2], self._path[-1][:2]) < NEAR_M:
                    self._path = None
                    self._send(0.0, 0.0)
                else:
                    self._send(*self._velocity(pose))

    def _velocity(self, pose: Pose2) -> tuple[float, float]:
        """Return the velocity towards a lookahead point on the path, ahead of its nearest point."""
        steps = [along(self._path, STEP_M * i)[0] for i in range(STEPS)]
        nearest = min(range(STEPS), key=lambda i: math.dist(steps[i][:2], pose[:2]))
        aim, _ = along(self._path, STEP_M * nearest + AHEAD_M)
        off = wrap(math.atan2(aim.y - pose.y, aim.x - pose.x) - pose.yaw)
        return 0.4 if abs(off) < 0.6 else 0.0, max(-1.2, min(1.2, 2.5 * off))


class Part:
    """One of Nav2's processes: a context, a node, and a thread that spins it. servers: destroyed at its end."""

    def __init__(self, name: str, domain: int, threads: int = 4) -> None:
        self.context = Context()
        rclpy.init(context=self.context, domain_id=domain)
        self.node, self.group = Node(name, context=self.context), ReentrantCallbackGroup()
        self.servers: list[Any] = []
        self._executor = MultiThreadedExecutor(threads, context=self.context)
        self._executor.add_node(self.node)
        self._thread = threading.Thread(target=spin, args=(self._executor,), daemon=True)

    def serve(self, kind: Any, name: str, execute: Callable[[Any], Any]) -> None:
        """Serve an action; every goal and every cancel is accepted."""
        self.servers.append(ActionServer(self.node, kind, name, execute, callback_group=self.group,
                                         cancel_callback=lambda _: CancelResponse.ACCEPT))

    def start(self) -> None:
        """Start spinning."""
        self._thread.start()

    def end(self) -> None:
        """End like a killed process, even in the middle of a goal; a second call does nothing."""
        if not self.context.ok():
            return
        rclpy.try_shutdown(context=self.context)
        self._thread.join(5.0)
        for server in self.servers:
            server.destroy()
        self.node.destroy_node()  # a stopped node would still be discovered


class StandIn:
    """Serves navigate_to_pose and spin in a graph's domain; use with `with`.

    sent: number of velocities; goals: number of executed goals; by_topic: number of those received on goal_pose;
    halted: number of times that all goals of the controller were canceled from outside.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.sent = self.goals = self.by_topic = self.halted = 0
        self._newest: dict[Any, Any] = {}  # action -> its newest goal
        self._domain = int(environment["ROS_DOMAIN_ID"])
        self._rest = Part("nav2", self._domain)
        self._tf, self._now_ns = TfBuffer(), 0
        self._grid: GridMap | None = None
        self._mask: GridMap | None = None  # mask of the keepout filter
        self._changed = threading.Condition()
        node, group = self._rest.node, self._rest.group
        self._controller = Controller(self._pose, self._send)
        serve_states(node, dict.fromkeys(MANAGED[1:], "active"), group)
        serve_costmaps(node, self._costs, group)
        serve_cancels(node, ("follow_path", "backup", "drive_on_heading", "assisted_teleop"), self._halt, group)
        self._out = node.create_publisher(TwistStamped, TOPICS["cmd_vel"].name, 1)
        for key, take in (("tf", self._on_tf), ("map", self._on_map), ("keep_out_mask", self._on_mask)):
            node.create_subscription(interface(TOPICS[key].type), TOPICS[key].name, take, qos(TOPICS[key].qos),
                                     callback_group=group)
        self._rest.serve(Spin, ACTIONS["spin"].name, lambda handle: self._execute(handle, self._rest, Spin, self._turn))
        self._navigator = self._new_navigator()

    def _new_navigator(self) -> Part:
        part = Part(NAVIGATOR, self._domain)
        serve_states(part.node, {NAVIGATOR: "active"}, part.group)
        name = ACTIONS["navigate_to_pose"].name
        part.serve(NavigateToPose, name, lambda handle: self._execute(handle, part, NavigateToPose, self._go))
        own = ActionClient(part.node, NavigateToPose, name, callback_group=part.group)
        part.servers.append(own)
        part.node.create_subscription(PoseStamped, "goal_pose", lambda pose: self._on_goal_pose(own, pose), 1,
                                      callback_group=part.group)
        return part

    def __enter__(self) -> StandIn:
        for part in (self._rest, self._navigator):
            part.start()
        self._controller.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._controller.end()
        for part in (self._navigator, self._rest):
            part.end()

    def kill_navigator(self) -> None:
        """Kill the BT navigator; the controller is not notified and follows its last path to the end."""
        self._navigator.end()

    def start_navigator(self) -> None:
        """Start a new BT navigator if the last one was killed."""
        if not self._navigator.context.ok():
            self._navigator = self._new_navigator()
            self._navigator.start()

    @property
    def following(self) -> bool:
        """Return whether the controller follows a path."""
        return self._controller.following

    def _halt(self, name: str) -> None:
        if name == "follow_path":
            self.halted += 1
            self._controller.cancel()

    def _on_goal_pose(self, own: Any, pose: Any) -> None:
        """Drive to a goal from RViz, as Nav2 does; none of our gates checks this topic."""
        self.by_topic += 1
        own.send_goal_async(NavigateToPose.Goal(pose=pose))

    def _on_tf(self, message: Any) -> None:
        with self._changed:
            for t in message.transforms:
                stamp = messages.stamp_of(t)
                self._tf.put(t.header.frame_id, t.child_frame_id, stamp, messages.transform_of(t))
                if t.child_frame_id == convert.BASE:  # AMCL stamps ahead; as in tf2, older ones are too late
                    self._now_ns = max(self._now_ns, stamp)
            self._changed.notify_all()

    def _on_map(self, message: Any) -> None:
        self._grid = messages.grid_of(message)

    def _on_mask(self, message: Any) -> None:
        self._mask = messages.grid_of(message)

    def _costs(self) -> tuple[list[list[int]], float, tuple[float, float]]:
        """Return the map as a costmap: cells nearer to an obstacle than the robot's radius are in collision."""
        grid: GridMap | None = self._grid
        if grid is None:
            return [[255]], 1.0, (0.0, 0.0)
        costs = np.where(forbidden(grid, RADIUS_M), 253, 0)
        costs[grid.cells == 100], costs[grid.cells == -1] = 254, 255
        return costs.tolist(), grid.resolution_m, grid.origin

    def _execute(self, handle: Any, part: Part, kind: Any, drive: Any) -> Any:
        """Execute a goal; a newer goal of the same action aborts it, with neither code nor message."""
        self.goals += 1
        result, self._newest[kind] = kind.Result(), handle

        def going_on() -> bool:
            if not part.context.ok() or handle.is_cancel_requested or self._newest[kind] is not handle:
                return False
            handle.publish_feedback(kind.Feedback())
            return True

        failed = self._failed(drive, handle.request, going_on)
        if not part.context.ok():  # killed: no result is sent
            return result
        if failed is not None:
            result.error_code, result.error_msg = failed.args
            handle.abort()
        elif handle.is_cancel_requested:
            handle.canceled()
        elif self._newest[kind] is handle:
            handle.succeed()
        else:
            handle.abort()
            return result  # the newer goal controls the robot
        self._controller.cancel()
        self._send(0.0, 0.0)
        return result

    @staticmethod
    def _failed(drive: Any, request: Any, going_on: Callable[[], bool]) -> Failed | None:
        try:
            drive(request, going_on)
        except Failed as failed:
            return failed
        return None

    def _go(self, request: Any, going_on: Callable[[], bool]) -> None:
        """Let the controller follow a path that is replanned each second, then turn to the goal's heading."""
        goal, pose = messages.goal_of(request.pose), self._pose()
        began_ns, planned_ns = self._now_ns, 0
        while going_on():
            if self._now_ns - began_ns > PATIENCE_S * 1e9:
                raise Failed(TIMEOUT, f"not there after {PATIENCE_S} s")
            if not planned_ns or self._now_ns - planned_ns > REPLAN_S * 1e9:
                path, planned_ns = self._planned(pose, goal), self._now_ns
                self._controller.follow(path)
            if math.dist(pose[:2], path[-1][:2]) < NEAR_M:
                self._controller.cancel()
                self._turn_by(wrap(goal.yaw - pose.yaw), going_on)
                return
            pose = self._pose()

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
        """Wait for the next transform of the robot, and return its pose in the map."""
        with self._changed:
            before = self._now_ns
            if not self._changed.wait_for(lambda: self._now_ns > before and self._placed() is not None, LOST_S):
                raise Failed(TF_ERROR, "no transform of the robot was received")
            placed = self._placed()
            assert placed is not None  # no transform has arrived since
            return placed

    def _placed(self) -> Pose2 | None:
        """Return the robot's pose in the map, None if it is not localised now."""
        try:
            return pose2_of(self._tf.lookup(convert.MAP, convert.BASE, self._now_ns))
        except BadFrame:
            return None

    def _send(self, forward: float, turn: float) -> None:
        message = TwistStamped(header=convert.header(self._now_ns, convert.BASE))
        message.twist.linear.x, message.twist.angular.z = forward, turn
        self.sent += 1
        self._out.publish(message)
