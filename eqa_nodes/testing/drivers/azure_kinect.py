"""azure_kinect_ros_driver: `driver.launch.py depth_mode:=NFOV_UNBINNED color_resolution:=720P fps:=15`.

Colour is bgra8 and distorted by its lens; depth_to_rgb is distorted in the same way. The optical frame is named
rgb_camera_link. Each stamp is the device's time plus an offset that is first estimated and then set to the measured
one, so stamps jump once, after the first images. Depth is sent before colour, each before its CameraInfo.
"""

from __future__ import annotations

from typing import Any

from eqa_nodes.testing.drivers import Driver, Link, Offer, Stream, wide

_COLOR, _DEPTH, _ONE = (1280, 720), (640, 576), Offer(depth=1)
_LENS = (0.45, -2.6, 0.0006, -0.0002, 1.5, 0.33, -2.42, 1.43)  # k1 k2 p1 p2 k3 k4 k5 k6, as calibrated
_COMMON: dict[str, Any] = {
    "hz": 15.0, "offer": _ONE, "info_offer": _ONE, "model": "rational_polynomial", "lens": _LENS, "bent": True,
    "lazy": True, "sent_s": 0.06}

DRIVER = Driver(
    ("github.com/microsoft/Azure_Kinect_ROS_Driver, branch humble, commit 6ffb95a: src/k4a_ros_device.cpp "
     "(publishers, framePublisherThread, initializeTimestampOffset, updateTimestampOffset), "
     "src/k4a_calibration_transform_data.cpp, "
     "include/azure_kinect_ros_driver/k4a_calibration_transform_data.h (frames), launch/driver.launch.py, "
     "docs/usage.md",),
    (Stream("/depth_to_rgb/image_raw", ("/depth_to_rgb/camera_info",), "rgb_camera_link", "16UC1", _COLOR,
            wide(_COLOR, 90.0), **_COMMON, range_m=(0.5, 5.5)),
     Stream("/depth/image_raw", ("/depth/camera_info",), "depth_camera_link", "16UC1", _DEPTH, wide(_DEPTH, 75.0),
            **_COMMON, range_m=(0.5, 5.5)),
     Stream("/rgb/image_raw", ("/rgb/camera_info",), "rgb_camera_link", "bgra8", _COLOR, wide(_COLOR, 90.0), **_COMMON,
            apart_s=0.0002)),
    (Link("base_link", "camera_base", (0.1, 0.0, 1.2), (0.0, 0.07, 0.0)),
     # as in the driver: optical axes, and 6 degrees down, the direction of depth in NFOV modes
     Link("camera_base", "depth_camera_link", (0.0, 0.0, 0.0018), (-1.6755, 0.0, -1.5708)),
     Link("depth_camera_link", "rgb_camera_link", (0.032, 0.002, -0.004), (0.1047, 0.0, 0.0))),
    begin_s=4.0, step_s=-0.045)
