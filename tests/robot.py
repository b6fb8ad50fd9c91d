"""A robot that publishes as camera drivers do, in a process of its own: `python -m tests.robot`.

Colour and depth are best effort, static transforms are latched. Stamps keep to the rate also where the machine does
not, so that a gap between them is a lost message. It says "publishing" when it begins and ends when
its standard input closes.
"""

from __future__ import annotations

import argparse
import select
import sys
import time
from typing import Any

import numpy as np
import rclpy
from nav_msgs.msg import Odometry
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import CameraInfo, Image
from tf2_msgs.msg import TFMessage

from eqa_nodes.core.types.geometry import Pose2, camera_mount
from eqa_nodes.core.types.views import Intrinsics
from eqa_nodes.ros import convert

COLOR, DEPTH, INFO, ODOM = "/cam/color/image_raw", "/cam/depth/image_raw", "/cam/color/camera_info", "/wheel/odom"


class Robot:
    """Publishes ramps with noise; the depth begins at 2 m and grows by a millimetre a column, as 16UC1."""

    def __init__(self, node: Node) -> None:
        width, height = 64, 48
        sensor = QoSProfile(depth=5, reliability=ReliabilityPolicy.BEST_EFFORT)
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self._out: dict[str, Any] = {
            name: node.create_publisher(kind, name, qos) for name, kind, qos in (
                (COLOR, Image, sensor), (DEPTH, Image, sensor), (INFO, CameraInfo, sensor), (ODOM, Odometry, 10),
                ("/tf", TFMessage, 100), ("/tf_static", TFMessage, latched))}
        self._k = Intrinsics(width, height, 0.8 * width, 0.8 * width, width / 2, height / 2)
        random = np.random.default_rng(0)
        base = np.linspace(0, 200, height * width * 3).reshape(height, width, 3)
        millimetres = 2000 + np.arange(width)[None, :] + np.zeros((height, 1))
        self._scenes = []
        for _ in range(8):
            rgb = (base + random.normal(20, 2, base.shape)).clip(0, 255).astype(np.uint8)
            self._scenes.append((rgb, (millimetres + random.normal(0, 4, (height, width))).astype(np.uint16)))
        mount = convert.transform_msg(convert.BASE, convert.CAMERA, 1, camera_mount(1.2, 0.0))
        self._out["/tf_static"].publish(TFMessage(transforms=[mount]))

    def show(self, number: int, stamp: int) -> None:
        """Publish one moment."""
        rgb, depth = self._scenes[number % len(self._scenes)]
        pose = Pose2(0.01 * number, 0.0, 0.0).transform()
        odometry = Odometry(header=convert.header(stamp, "odom"), child_frame_id="base_link")
        odometry.pose.pose = convert.pose_msg(pose)
        for name, message in (
                ("/tf", TFMessage(transforms=[convert.transform_msg(convert.MAP, convert.BASE, stamp, pose)])),
                (ODOM, odometry), (INFO, convert.camera_info_msg(self._k, stamp)),
                (COLOR, convert.image_msg(rgb, "rgb8", stamp)),
                (DEPTH, convert.image_msg(depth, "16UC1", stamp))):
            self._out[name].publish(message)


def main() -> None:
    """Publish until standard input closes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--hz", type=float, default=20.0)
    arguments = parser.parse_args()
    rclpy.init()
    robot = Robot(Node("robot", start_parameter_services=False))
    print("publishing", flush=True)
    begin, begin_ns, number = time.monotonic(), time.time_ns(), 0
    while not select.select([sys.stdin], [], [], max(0.0, begin + number / arguments.hz - time.monotonic()))[0]:
        robot.show(number, begin_ns + round(1e9 * number / arguments.hz))
        number += 1


if __name__ == "__main__":
    main()
