"""zed_wrapper 5 with a ZED 2i: `zed_camera.launch.py camera_model:=zed2i publish_tf:=false`, on a plain base.

Colour (bgra8) and depth (32FC1) are rectified, with the same viewpoint and stamp. Depth is NaN for points hidden from
one eye, +inf beyond the range and -inf nearer than it. CameraInfo is on two topics for each image.
"""

from __future__ import annotations

import math
from typing import Any

from eqa_nodes.testing.drivers import OPTICAL, Driver, Link, Stream, wide

_SIZE, _ROOT, _FRAME = (1280, 720), "/zed/zed_node", "zed_left_camera_frame_optical"
_COMMON: dict[str, Any] = {
    "frame": _FRAME, "size": _SIZE, "k": wide(_SIZE, 101.0), "hz": 30.0, "model": "rational_polynomial", "lens":
    (0.0,) * 8, "lazy": True, "sent_s": 0.03}

DRIVER = Driver(
    ("github.com/stereolabs/zed-ros2-wrapper, branch master, commit 33dfefa (v5.4.1): "
     "zed_components/src/zed_camera/src/zed_camera_component_video_depth.cpp (topics, fillCamInfo), "
     "zed_camera_component_main.cpp (initFrames, publishCameraTFs), src/tools/src/sl_tools.cpp "
     "(encodings), zed_wrapper/config/common_stereo.yaml, zed2i.yaml, launch/zed_camera.launch.py",),
    (Stream(f"{_ROOT}/rgb/color/rect/image", (
        f"{_ROOT}/rgb/color/rect/camera_info", f"{_ROOT}/rgb/color/rect/image/camera_info"), encoding="bgra8",
            **_COMMON),
     Stream(f"{_ROOT}/depth/depth_registered", (f"{_ROOT}/depth/camera_info",
                                                f"{_ROOT}/depth/depth_registered/camera_info"), encoding="32FC1",
            nothing=(math.nan, math.inf, -math.inf), range_m=(0.3, 15.0), **_COMMON)),
    (Link("base_link", "zed_camera_link", (0.1, 0.0, 1.2), (0.0, 0.17, 0.0)),
     Link("zed_camera_link", "zed_camera_center", (0.0, 0.0, 0.015)),
     Link("zed_camera_center", "zed_left_camera_frame", (-0.01, 0.06, 0.0)),
     Link("zed_left_camera_frame", _FRAME, rpy=OPTICAL)), begin_s=3.0)
