"""TurtleBot 4 whose OAK-D Pro publishes colour and depth, with image_proc's rectify_node beside it.

The robot as shipped has neither: its camera publishes only a preview of 250x250, without depth. The topics of both are
imitated. Create 3 sends odometry and its two frames from another computer; its documents state no QoS, so this module
uses the weakest. Frames of the body are from robot_state_publisher.
"""

from __future__ import annotations

from eqa_nodes.testing.drivers import SENSOR_DATA, Base, Driver, Link, Offer, Stream, wide
from eqa_nodes.testing.drivers.oak import links, streams

_ROOT, _SMALL = "/oakd", (250, 250)

DRIVER = Driver(
    ("github.com/turtlebot/turtlebot4_robot, branch jazzy, commit 629d969: "
     "turtlebot4_bringup/config/oakd_pro.yaml, config/republisher.yaml, launch/oakd.launch.py, "
     "launch/robot.launch.py",
     "github.com/turtlebot/turtlebot4, branch humble, commit d688175: "
     "turtlebot4_description/urdf/standard/turtlebot4.urdf.xacro, urdf/sensors/oakd.urdf.xacro, "
     "turtlebot4_navigation/config/localization.yaml",
     "github.com/iRobotEducation/create3_docs, commit 53f188f: docs/api/ros2.md (frames of odometry)",
     "the camera's driver as in oak.py"),
    (*streams(_ROOT, "oakd"),
     Stream(f"{_ROOT}/rgb/preview/image_raw", (f"{_ROOT}/rgb/preview/camera_info",), "oakd_rgb_camera_optical_frame",
            "bgr8", _SMALL, wide(_SMALL, 42.0), 30.0, Offer(depth=1), Offer(depth=1), lazy=True)),
    (Link("base_link", "shell_link", (0.0, 0.0, 0.0942)),
     Link("shell_link", "oakd_camera_bracket", (-0.118, 0.0, 0.05257)),
     Link("oakd_camera_bracket", "oakd_link", (0.0584, 0.0, 0.09676)), *links("oakd_link", "oakd")),
    Base(offer=SENSOR_DATA, also=("base_footprint",), hz=20.0, sent_s=0.02), begin_s=2.0)
