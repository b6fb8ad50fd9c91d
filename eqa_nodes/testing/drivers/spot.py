"""Boston Dynamics Spot: `spot_driver.launch.py spot_name:=spot` (frames then begin with spot/), front left camera.

Everything is reliable and transient local. The camera is mounted rotated: its images are turned by about a quarter.
Colour and depth are registered but are from two sensors, a few milliseconds apart. Frames of the cameras are sent after
the first images. The body's frame is at a height of 0.5 m, and no frame on the floor moves only with it.
"""

from __future__ import annotations

import math
from typing import Any

from eqa_nodes.testing.drivers import Base, Driver, Link, Offer, Stream, wide

_KEPT, _SIZE, _FRAME = Offer(durability="transient_local"), (640, 480), "spot/frontleft_fisheye"
_COMMON: dict[str, Any] = {
    "frame": _FRAME, "size": _SIZE, "k": wide(_SIZE, 88.0), "hz": 15.0, "offer": _KEPT, "info_offer": _KEPT,
    "sent_s": 0.12}

DRIVER = Driver(
    ("github.com/bdaiinstitute/spot_ros2, branch main, commit bdee4a4: "
     "spot_driver/src/images/images_middleware_handle.cpp, spot_image_publisher.cpp, "
     "src/api/default_image_client.cpp, spot_image_sources.cpp, src/conversions/decompress_images.cpp, "
     "robot_state.cpp, src/robot_state/state_middleware_handle.cpp, "
     "src/interfaces/rclcpp_tf_broadcaster_interface.cpp, "
     "include/spot_driver/api/middleware_handle_base.hpp (QoS)",
     "the angle of the front cameras' pictures as the Spot SDK's image viewer turns them (78 degrees)"),
    (Stream("/spot/camera/frontleft/image", ("/spot/camera/frontleft/camera_info",), encoding="bgr8", apart_s=0.012,
            lose_every=23, **_COMMON),
     Stream("/spot/depth_registered/frontleft/image", ("/spot/depth_registered/frontleft/camera_info",),
            encoding="16UC1", range_m=(0.3, 4.0), **_COMMON)),
    (Link("spot/body", "spot/head"),
     # optical axes, turned by 78 degrees about the viewing axis, and 30 degrees down
     Link("spot/head", "spot/frontleft", (0.415, 0.037, 0.02), (math.radians(78.0), math.radians(30.0), 0.0)),
     Link("spot/frontleft", _FRAME, rpy=(-math.pi / 2, 0.0, -math.pi / 2))),
    Base(odom="/spot/odometry", offer=Offer(durability="transient_local", depth=1), odom_frame="spot/odom",
         frame="spot/body", hz=50.0, height_m=0.52, sent_s=0.03, cmd_vel="/spot/cmd_vel"),
    statics_late=True, begin_s=1.0)
