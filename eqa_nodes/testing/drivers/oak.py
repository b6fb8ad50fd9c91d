"""depthai_ros_driver 2.10 with an OAK-D: `camera.launch.py`, on a plain base.

Colour is rectified by a second node, image_proc; depth is aligned to it, with the same width, and in millimetres. The
colour sensor and the two depth sensors are not synchronised, so stamps differ by up to half a period. The image is sent
before its CameraInfo, and both only while there are subscribers. robot_state_publisher sends the frames.
"""

from __future__ import annotations

from eqa_nodes.testing.drivers import OPTICAL, Driver, Link, Offer, Stream, wide

_SIZE = (1280, 720)
LENS = (9.2, -71.5, 0.0007, -0.0005, 206.0, 9.1, -70.6, 203.7)  # as calibrated; k1 and k4 and so on nearly cancel out


def streams(root: str = "/oak", prefix: str = "oak", hz: float = 30.0) -> tuple[Stream, ...]:
    """Return the streams of a camera whose topics begin with root and whose frames begin with prefix."""
    frame = f"{prefix}_rgb_camera_optical_frame"
    return (
        Stream(f"{root}/rgb/image_raw", (f"{root}/rgb/camera_info",), frame, "bgr8", _SIZE, wide(_SIZE, 69.0), hz,
               Offer(depth=1), Offer(depth=1), "rational_polynomial", LENS, bent=True, apart_s=0.011, sent_s=0.06,
               lazy=True),
        # as wide as colour, without distortion: the driver publishes no coefficients for it
        Stream(f"{root}/stereo/image_raw", (f"{root}/stereo/camera_info",), frame, "16UC1", _SIZE, wide(_SIZE, 69.0),
               hz, Offer(depth=1), Offer(depth=1), "rational_polynomial", (0.0,) * 8, sent_s=0.09, lazy=True,
               lose_every=29, range_m=(0.7, 12.0)),
        # by image_proc's RectifyNode, which the launch file loads (rectify_rgb); it sends no CameraInfo
        Stream(f"{root}/rgb/image_rect", (), frame, "bgr8", _SIZE, wide(_SIZE, 69.0), hz, Offer(depth=1), apart_s=0.011,
               sent_s=0.08, lazy=True))


def links(body: str = "oak", prefix: str = "oak") -> tuple[Link, ...]:
    """Return the frames of a camera, below that of its body."""
    return (Link(body, f"{prefix}_rgb_camera_frame"),
            Link(f"{prefix}_rgb_camera_frame", f"{prefix}_rgb_camera_optical_frame", rpy=OPTICAL),
            Link(body, f"{prefix}_left_camera_frame", (0.0, 0.0375, 0.0)),
            Link(f"{prefix}_left_camera_frame", f"{prefix}_left_camera_optical_frame", rpy=OPTICAL))


DRIVER = Driver(
    ("github.com/luxonis/depthai-ros, branch jazzy, tag v2.10.3-jazzy, commit b39899f: "
     "depthai_ros_driver/src/dai_nodes/sensors/img_pub.cpp, rgb.cpp, stereo.cpp, "
     "src/param_handlers/sensor_param_handler.cpp, stereo_param_handler.cpp, launch/camera.launch.py, "
     "depthai_bridge/src/ImageConverter.cpp (calibrationToCameraInfo: eight coefficients)",),
    streams(), (Link("base_link", "oak-d-base-frame", (0.1, 0.0, 1.2), (0.0, 0.17, 0.0)),
                Link("oak-d-base-frame", "oak"), *links()), begin_s=2.0)
