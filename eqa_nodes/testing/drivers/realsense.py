"""realsense2_camera with a D435i: `rs_launch.py align_depth.enable:=true enable_sync:=true`, on a plain base.

Its images have the QoS SYSTEM_DEFAULT; with Fast DDS their publishers are reliable and transient local, so a late
subscriber first receives an old image. Frames of one frameset have the same stamp. If a frameset lacks colour, no
aligned depth is sent. An image or CameraInfo is sent only while there are subscribers, the image first.
"""

from __future__ import annotations

from typing import Any

from eqa_nodes.testing.drivers import OPTICAL, SYSTEM, Driver, Link, Stream, wide

_COLOR, _DEPTH = (1280, 720), (848, 480)  # profiles of the driver's README for a D435
_ROOT = "/camera/camera"
_SIZED: dict[str, Any] = {"hz": 30.0, "offer": SYSTEM, "lazy": True, "sent_s": 0.035}


def streams(root: str = _ROOT, color: tuple[int, int] = _COLOR, depth: tuple[int, int] = _DEPTH,
            hz: float = 30.0) -> tuple[Stream, ...]:
    """Return the streams of a camera whose topics begin with root."""
    common = {**_SIZED, "hz": hz}
    return (
        Stream(f"{root}/color/image_raw", (f"{root}/color/camera_info",), "camera_color_optical_frame", "rgb8", color,
               wide(color, 69.0), **common, lose_every=41),
        Stream(f"{root}/aligned_depth_to_color/image_raw", (f"{root}/aligned_depth_to_color/camera_info",),
               "camera_color_optical_frame", "16UC1", color, wide(color, 69.0), **common, lose_every=41,
               range_m=(0.2, 8.0)),
        Stream(f"{root}/depth/image_rect_raw", (f"{root}/depth/camera_info",), "camera_depth_optical_frame", "16UC1",
               depth, wide(depth, 87.0), **common, range_m=(0.2, 8.0)))


LINKS = (
    Link("camera_link", "camera_depth_frame"), Link("camera_depth_frame", "camera_depth_optical_frame", rpy=OPTICAL),
    Link("camera_link", "camera_color_frame", (0.0, 0.0148, 0.0)),
    Link("camera_color_frame", "camera_color_optical_frame", rpy=OPTICAL))

DRIVER = Driver(
    ("github.com/IntelRealSense/realsense-ros, branch ros2-development, commit ee94dc9: "
     "realsense2_camera/src/base_realsense_node.cpp (frame_callback, publishFrame, frameSystemTimeSec), "
     "rs_node_setup.cpp (startPublishers), tfs.cpp, include/constants.h (IMAGE_QOS, DEFAULT_QOS), "
     "launch/rs_launch.py (reconnect_timeout), README.md",),
    streams(), (Link("base_link", "camera_link", (0.1, 0.0, 1.2), (0.0, 0.17, 0.0)), *LINKS), begin_s=1.0,
    gap=(20.0, 6.0))
