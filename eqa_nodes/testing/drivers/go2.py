"""Unitree Go2 by go2_ros2_sdk: `robot.launch.py`, with a RealSense D435i on its back by realsense2_camera.

The robot's own camera has no depth and is distorted by its lens; it uses the topic names of many cameras. Odometry is
stamped on arrival. base_link is in the body, and base_footprint is its child at distance 0, so neither is on the
floor. The robot's description contains map > odom as a fixed joint, in addition to localisation's transform.
"""

from __future__ import annotations

from eqa_nodes.testing.drivers import OPTICAL, Base, Driver, Link, Offer, Stream
from eqa_nodes.testing.drivers.realsense import LINKS, streams

_OWN = Offer("best_effort", "volatile", 1)

DRIVER = Driver(
    ("github.com/abizovnuralem/go2_ros2_sdk, branch master, commit 7f005bb: "
     "go2_robot_sdk/go2_robot_sdk/infrastructure/ros2/ros2_publisher.py, presentation/go2_driver_node.py "
     "(topics, QoS), calibration/front_camera_720.yaml, urdf/go2_with_realsense.urdf, "
     "launch/robot.launch.py",
     "the depth camera's driver as in realsense.py"),
    (*streams(color=(640, 480), hz=15.0),
     Stream("/camera/image_raw", ("/camera/camera_info",), "front_camera", "bgr8", (1280, 720),
            (864.39938, 863.73849, 639.19798, 373.28118), 15.0, _OWN, _OWN,
            lens=(-0.354630, 0.102054, -0.001614, -0.001249, 0.0), bent=True,
            projection=(651.42609, 804.93951, 633.16224, 373.8537))),
    (Link("map", "odom"), Link("base_link", "base_footprint"),
     Link("base_link", "Head_upper", (0.285, 0.0, 0.01)),
     Link("Head_upper", "front_camera", (0.045, 0.0, 0.03), OPTICAL),
     Link("Head_upper", "camera_mount_link", (-0.0647, 0.0, 0.07)),
     Link("camera_mount_link", "camera_link", (0.0, 0.0, 0.0425), (0.0, 0.05, 0.0)), *LINKS),
    Base(odom="/odom", hz=18.0, height_m=0.37, arrival=True, sent_s=0.04, cmd_vel="/cmd_vel_out"), begin_s=2.0)
