"""Stands in for AMCL, which has no wheel: publishes transforms like nav2_amcl (Kilted), without its filter.

The pose is from the simulator's service act, with an error; timing and stamps are AMCL's: nothing until the initial
pose is set and the next scan arrives; then a transform for each scan, stamped later by transform_tolerance; corrected
by a scan once odometry has moved by update_min_d or update_min_a since the last correction.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import rclpy
from geometry_msgs.msg import PoseWithCovarianceStamped
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy, qos_profile_sensor_data

from eqa_nodes.core.errors import BadFrame, EqaError
from eqa_nodes.core.types.geometry import Pose2, Transform, compose, inverse, pose2_of, wrap
from eqa_nodes.ros import convert
from eqa_nodes.ros.interfaces import interface, qos
from eqa_nodes.ros.remote import Remotes
from eqa_nodes.ros.spinning import spin
from eqa_nodes.testing.scripted_nav2 import serve_states
from eqa_nodes.wire import messages
from eqa_nodes.wire.graph import TOPICS, TRANSFORMS
from eqa_nodes.wire.transforms import TfBuffer

UPDATE_MIN_D, UPDATE_MIN_A, TRANSFORM_TOLERANCE_S = 0.25, 0.2, 1.0  # defaults of nav2_amcl
SCANS = 10  # maximum number of scans that wait for a transform of odometry
ERROR_M, ERROR_RAD, SEED = 0.03, 0.02, 7  # standard deviations
CALL_S, ODOMETRY_S = 10.0, 1.0  # deadlines of the service act, and of the odometry transform at that time


class Amcl:
    """Publishes map to odom and amcl_pose in a graph's domain; use with `with`.

    pose: initial pose of the robot in the map, as with set_initial_pose; None waits for one on initialpose. sent:
    number of transforms; updates: number of corrections. Unlike AMCL, it does not wait for a map.
    """

    def __init__(self, environment: Mapping[str, str], pose: Pose2 | None = None) -> None:
        self.sent = self.updates = 0
        self._given, self._map_from_odom = pose, Transform.identity()
        self._known, self._updated = False, Pose2(0.0, 0.0, 0.0)
        self._tf, self._scans, self._ended = TfBuffer(), deque[Any](maxlen=SCANS), False
        self._changed, self._random = threading.Condition(), np.random.default_rng(SEED)
        self._context = Context()
        rclpy.init(context=self._context, domain_id=int(environment["ROS_DOMAIN_ID"]))
        self._node = node = Node("amcl", context=self._context)
        serve_states(node, {"amcl": "active"})
        self._act = Remotes(node).service("act")
        self._out = node.create_publisher(interface(TOPICS["tf"].type), TOPICS["tf"].name, qos(TOPICS["tf"].qos))
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL,
                             reliability=ReliabilityPolicy.RELIABLE)
        self._pose_out = node.create_publisher(PoseWithCovarianceStamped, TOPICS["localisation"].name, latched)
        node.create_subscription(PoseWithCovarianceStamped, "initialpose", self._on_initial_pose, 10)
        node.create_subscription(interface(TOPICS["scan"].type), TOPICS["scan"].name, self._on_scan,
                                 qos_profile_sensor_data)
        for key in TRANSFORMS:
            node.create_subscription(interface(TOPICS[key].type), TOPICS[key].name, self._taking(key == "tf_static"),
                                     qos(TOPICS[key].qos))
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(node)
        self._threads = [threading.Thread(target=spin, args=(self._executor,), daemon=True),
                         threading.Thread(target=self._localise, daemon=True)]

    def __enter__(self) -> Amcl:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._ended = True
            self._changed.notify_all()
        rclpy.try_shutdown(context=self._context)
        for thread in self._threads:
            thread.join(5.0)
        self._node.destroy_node()  # a stopped node would still be discovered

    def set_pose(self, pose: Pose2) -> None:
        """Set the robot's pose, as a message on initialpose does."""
        with self._changed:
            self._given = pose

    def _on_initial_pose(self, message: Any) -> None:
        if message.header.frame_id.lstrip("/") != convert.MAP:
            self._node.get_logger().warning(f"ignoring initial pose in frame {message.header.frame_id!r}")
            return
        self.set_pose(pose2_of(messages.pose_of(message.pose.pose)))

    def _on_scan(self, message: Any) -> None:
        with self._changed:
            self._scans.append(message)
            self._changed.notify_all()

    def _taking(self, static: bool) -> Callable[[Any], None]:
        def take(message: Any) -> None:
            with self._changed:
                for t in message.transforms:
                    if t.child_frame_id.lstrip("/") != convert.ODOM:  # skip its own transform
                        self._tf.put(t.header.frame_id, t.child_frame_id, messages.stamp_of(t),
                                     messages.transform_of(t), static)
                self._changed.notify_all()

        return take

    def _localise(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._ended or self._next() is not None)
                if self._ended:
                    return
                found = self._next()
                assert found is not None
                scan, odom_from_base = found
                while self._scans.popleft() is not scan:
                    pass
            self._scanned(messages.stamp_of(scan), odom_from_base)

    def _next(self) -> tuple[Any, Transform] | None:
        """Return the oldest usable scan, and the odometry at its stamp."""
        for scan in self._scans:
            stamp_ns = messages.stamp_of(scan)
            try:
                self._tf.lookup(convert.ODOM, scan.header.frame_id, stamp_ns)
                return scan, self._tf.lookup(convert.ODOM, convert.BASE, stamp_ns)
            except BadFrame:
                continue
        return None

    def _scanned(self, stamp_ns: int, odom_from_base: Transform) -> None:
        odom = pose2_of(odom_from_base)
        with self._changed:
            given, self._given = self._given, None
        if given is not None:
            self._known = True
            self._update(stamp_ns, compose(given.transform(), inverse(odom.transform())), odom)
        elif self._known and self._moved(odom) and (corrected := self._corrected()) is not None:
            self._update(stamp_ns, corrected, odom)
        if self._known:
            self._send(stamp_ns)

    def _moved(self, odom: Pose2) -> bool:
        was = self._updated
        return (max(abs(odom.x - was.x), abs(odom.y - was.y)) > UPDATE_MIN_D
                or abs(wrap(odom.yaw - was.yaw)) > UPDATE_MIN_A)

    def _corrected(self) -> Transform | None:
        """Return map_from_odom from the simulator, with an error; None if its reply is not usable."""
        try:
            status = self._act.call(CALL_S, action=self._act.Request.STATUS)
            odom_from_base = self._odometry(messages.ns_of(status.stamp))
        except EqaError as error:  # the next scan tries again
            self._node.get_logger().warning(str(error))
            return None
        x, y, yaw = pose2_of(messages.pose_of(status.pose))
        dx, dy, turn = self._random.normal(0.0, (ERROR_M, ERROR_M, ERROR_RAD))
        return compose(Pose2(x + dx, y + dy, yaw + turn).transform(), inverse(pose2_of(odom_from_base).transform()))

    def _odometry(self, stamp_ns: int) -> Transform:
        """Wait for odom_from_base at a stamp and return it. Raises BadFrame when it does not arrive."""
        end = time.monotonic() + ODOMETRY_S
        with self._changed:
            while True:
                try:
                    return self._tf.lookup(convert.ODOM, convert.BASE, stamp_ns)
                except BadFrame:
                    if not self._changed.wait(end - time.monotonic()):
                        raise

    def _update(self, stamp_ns: int, map_from_odom: Transform, odom: Pose2) -> None:
        self._map_from_odom, self._updated = map_from_odom, odom
        pose = PoseWithCovarianceStamped(header=convert.header(stamp_ns))
        pose.pose.pose = convert.pose_msg(compose(map_from_odom, odom.transform()))
        pose.pose.covariance[0] = pose.pose.covariance[7] = ERROR_M ** 2
        pose.pose.covariance[35] = ERROR_RAD ** 2
        if self._context.ok():
            self._pose_out.publish(pose)
        self.updates += 1

    def _send(self, stamp_ns: int) -> None:
        ahead_ns = stamp_ns + round(TRANSFORM_TOLERANCE_S * 1e9)
        link = convert.transform_msg(convert.MAP, convert.ODOM, ahead_ns, self._map_from_odom)
        if self._context.ok():
            self._out.publish(interface(TOPICS["tf"].type)(transforms=[link]))
        self.sent += 1
