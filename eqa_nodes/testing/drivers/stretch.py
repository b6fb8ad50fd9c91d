"""Hello Robot Stretch: `stretch_driver.launch.py broadcast_odom_tf:=True` and `d435i_high_resolution.launch.py`.

The camera is mounted on its side: its images are turned by a quarter to the left. The head moves on /tf. The driver
resets the camera at its start (initial_reset), so the images begin seconds later. base_link is on the floor.
"""

from __future__ import annotations

import math

from eqa_nodes.testing.drivers import Base, Driver, Link, Offer
from eqa_nodes.testing.drivers.realsense import LINKS, streams

DRIVER = Driver(
    ("github.com/hello-robot/stretch_ros2, branch humble, commit b77baa1: "
     "stretch_core/stretch_core/stretch_driver.py (odometry, base_footprint), "
     "launch/stretch_driver.launch.py, launch/d435i_basic.launch.py (camera_namespace, initial_reset), "
     "launch/d435i_high_resolution.launch.py, stretch_description/batch/prince/urdf/stretch_d435i.xacro",
     "the camera's driver as in realsense.py"),
    streams("/camera", (1280, 720), (1280, 720), 15.0),
    (Link("base_link", "link_mast", (-0.067, 0.135, 0.028)), Link("link_mast", "link_head", (0.0, 0.0, 1.33)),
     Link("link_head", "link_head_pan", (0.135, -0.073, -0.027), hz=30.0),
     Link("link_head_pan", "link_head_tilt", (0.008, 0.011, 0.04), (0.0, 0.35, 0.0), hz=30.0),
     Link("link_head_tilt", "camera_bottom_screw_frame", (0.03, 0.0182, 0.0122), (math.pi / 2, 0.0, 0.0)),
     Link("camera_bottom_screw_frame", "camera_link", (0.0106, 0.0175, 0.0125)), *LINKS),
    Base(odom="/odom", offer=Offer(depth=1), also=("base_footprint",), hz=30.0, sent_s=0.01,
         cmd_vel="/stretch/cmd_vel"),
    begin_s=5.0)
