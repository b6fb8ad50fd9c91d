"""What drivers of cameras and robots publish, with the sources of these facts.

The facts are those of the drivers; eqa_nodes/config/profiles.py has what this project expects. Both are stated
independently, so that a mistake in one of them is found. To add a driver, add an entry to DRIVERS.
"""

from __future__ import annotations

import math
from typing import Any

from eqa_nodes.core.errors import ConfigError, unknown
from eqa_nodes.testing.drivers import OPTICAL, SENSOR_DATA, SYSTEM, Base, Driver, Link, Offer, Stream, wide

# realsense2_camera with a D435i: `rs_launch.py align_depth.enable:=true enable_sync:=true`, on a plain base.
#
# Its images have the QoS SYSTEM_DEFAULT; with Fast DDS their publishers are reliable and transient local, so a late
# subscriber first receives an old image. Frames of one frameset have the same stamp. If a frameset lacks colour, no
# aligned depth is sent. An image or CameraInfo is sent only while there are subscribers, the image first.
_RS_COLOR, _RS_DEPTH = (1280, 720), (848, 480)  # profiles of the driver's README for a D435
_RS_ROOT = "/camera/camera"
_RS_IMAGES: dict[str, Any] = {"hz": 30.0, "offer": SYSTEM, "lazy": True, "sent_s": 0.035}


def realsense_streams(root: str = _RS_ROOT, color: tuple[int, int] = _RS_COLOR, depth: tuple[int, int] = _RS_DEPTH,
                      hz: float = 30.0) -> tuple[Stream, ...]:
    """Return the streams of a camera whose topics begin with root."""
    common = {**_RS_IMAGES, "hz": hz}
    return (
        Stream(f"{root}/color/image_raw", (f"{root}/color/camera_info",), "camera_color_optical_frame", "rgb8", color,
               wide(color, 69.0), **common, lose_every=41),
        Stream(f"{root}/aligned_depth_to_color/image_raw", (f"{root}/aligned_depth_to_color/camera_info",),
               "camera_color_optical_frame", "16UC1", color, wide(color, 69.0), **common, lose_every=41,
               range_m=(0.2, 8.0)),
        Stream(f"{root}/depth/image_rect_raw", (f"{root}/depth/camera_info",), "camera_depth_optical_frame", "16UC1",
               depth, wide(depth, 87.0), **common, range_m=(0.2, 8.0)))


REALSENSE_LINKS = (
    Link("camera_link", "camera_depth_frame"), Link("camera_depth_frame", "camera_depth_optical_frame", rpy=OPTICAL),
    Link("camera_link", "camera_color_frame", (0.0, 0.0148, 0.0)),
    Link("camera_color_frame", "camera_color_optical_frame", rpy=OPTICAL))

REALSENSE = Driver(
    ("github.com/IntelRealSense/realsense-ros, branch ros2-development, commit ee94dc9: "
     "realsense2_camera/src/base_realsense_node.cpp (frame_callback, publishFrame, frameSystemTimeSec), "
     "rs_node_setup.cpp (startPublishers), tfs.cpp, include/constants.h (IMAGE_QOS, DEFAULT_QOS), "
     "launch/rs_launch.py (reconnect_timeout), README.md",),
    realsense_streams(), (Link("base_link", "camera_link", (0.1, 0.0, 1.2), (0.0, 0.17, 0.0)), *REALSENSE_LINKS),
    begin_s=1.0, gap=(20.0, 6.0))


# depthai_ros_driver 2.10 with an OAK-D: `camera.launch.py`, on a plain base.
#
# Colour is rectified by a second node, image_proc; depth is aligned to it, with the same width, in millimetres. The
# colour sensor and the two depth sensors are not synchronised: stamps differ by up to half a period. The image is sent
# before its CameraInfo, and both only while there are subscribers. robot_state_publisher sends the frames.
_OAK_SIZE = (1280, 720)
_OAK_LENS = (9.2, -71.5, 0.0007, -0.0005, 206.0, 9.1, -70.6, 203.7)  # as calibrated; k1 and k4 nearly cancel out


def oak_streams(root: str = "/oak", prefix: str = "oak", hz: float = 30.0) -> tuple[Stream, ...]:
    """Return the streams of a camera whose topics begin with root and whose frames begin with prefix."""
    frame, k = f"{prefix}_rgb_camera_optical_frame", wide(_OAK_SIZE, 69.0)
    return (
        Stream(f"{root}/rgb/image_raw", (f"{root}/rgb/camera_info",), frame, "bgr8", _OAK_SIZE, k, hz,
               Offer(depth=1), Offer(depth=1), "rational_polynomial", _OAK_LENS, bent=True, apart_s=0.011, sent_s=0.06,
               lazy=True),
        # as wide as colour, without distortion: the driver publishes no coefficients for it
        Stream(f"{root}/stereo/image_raw", (f"{root}/stereo/camera_info",), frame, "16UC1", _OAK_SIZE, k,
               hz, Offer(depth=1), Offer(depth=1), "rational_polynomial", (0.0,) * 8, sent_s=0.09, lazy=True,
               lose_every=29, range_m=(0.7, 12.0)),
        # by image_proc's RectifyNode, which the launch file loads (rectify_rgb); it sends no CameraInfo
        Stream(f"{root}/rgb/image_rect", (), frame, "bgr8", _OAK_SIZE, k, hz, Offer(depth=1), apart_s=0.011,
               sent_s=0.08, lazy=True))


def oak_links(body: str = "oak", prefix: str = "oak") -> tuple[Link, ...]:
    """Return the frames of a camera, below that of its body."""
    return (Link(body, f"{prefix}_rgb_camera_frame"),
            Link(f"{prefix}_rgb_camera_frame", f"{prefix}_rgb_camera_optical_frame", rpy=OPTICAL),
            Link(body, f"{prefix}_left_camera_frame", (0.0, 0.0375, 0.0)),
            Link(f"{prefix}_left_camera_frame", f"{prefix}_left_camera_optical_frame", rpy=OPTICAL))


OAK = Driver(
    ("github.com/luxonis/depthai-ros, branch jazzy, tag v2.10.3-jazzy, commit b39899f: "
     "depthai_ros_driver/src/dai_nodes/sensors/img_pub.cpp, rgb.cpp, stereo.cpp, "
     "src/param_handlers/sensor_param_handler.cpp, stereo_param_handler.cpp, launch/camera.launch.py, "
     "depthai_bridge/src/ImageConverter.cpp (calibrationToCameraInfo: eight coefficients)",),
    oak_streams(), (Link("base_link", "oak-d-base-frame", (0.1, 0.0, 1.2), (0.0, 0.17, 0.0)),
                Link("oak-d-base-frame", "oak"), *oak_links()), begin_s=2.0)


# zed_wrapper 5 with a ZED 2i: `zed_camera.launch.py camera_model:=zed2i publish_tf:=false`, on a plain base.
#
# Colour (bgra8) and depth (32FC1) are rectified, with the same viewpoint and stamp. Depth is NaN for points hidden from
# one eye, +inf beyond the range and -inf nearer than it. CameraInfo is on two topics for each image.
_ZED_SIZE, _ZED_ROOT, _ZED_FRAME = (1280, 720), "/zed/zed_node", "zed_left_camera_frame_optical"
_ZED_IMAGES: dict[str, Any] = {
    "frame": _ZED_FRAME, "size": _ZED_SIZE, "k": wide(_ZED_SIZE, 101.0), "hz": 30.0, "model": "rational_polynomial",
    "lens": (0.0,) * 8, "lazy": True, "sent_s": 0.03}

ZED = Driver(
    ("github.com/stereolabs/zed-ros2-wrapper, branch master, commit 33dfefa (v5.4.1): "
     "zed_components/src/zed_camera/src/zed_camera_component_video_depth.cpp (topics, fillCamInfo), "
     "zed_camera_component_main.cpp (initFrames, publishCameraTFs), src/tools/src/sl_tools.cpp "
     "(encodings), zed_wrapper/config/common_stereo.yaml, zed2i.yaml, launch/zed_camera.launch.py",),
    (Stream(f"{_ZED_ROOT}/rgb/color/rect/image", (
        f"{_ZED_ROOT}/rgb/color/rect/camera_info", f"{_ZED_ROOT}/rgb/color/rect/image/camera_info"), encoding="bgra8",
            **_ZED_IMAGES),
     Stream(f"{_ZED_ROOT}/depth/depth_registered", (f"{_ZED_ROOT}/depth/camera_info",
                                                f"{_ZED_ROOT}/depth/depth_registered/camera_info"), encoding="32FC1",
            nothing=(math.nan, math.inf, -math.inf), range_m=(0.3, 15.0), **_ZED_IMAGES)),
    (Link("base_link", "zed_camera_link", (0.1, 0.0, 1.2), (0.0, 0.17, 0.0)),
     Link("zed_camera_link", "zed_camera_center", (0.0, 0.0, 0.015)),
     Link("zed_camera_center", "zed_left_camera_frame", (-0.01, 0.06, 0.0)),
     Link("zed_left_camera_frame", _ZED_FRAME, rpy=OPTICAL)), begin_s=3.0)


# azure_kinect_ros_driver: `driver.launch.py depth_mode:=NFOV_UNBINNED color_resolution:=720P fps:=15`.
#
# Colour is bgra8 and distorted by its lens; depth_to_rgb is distorted in the same way. The optical frame is named
# rgb_camera_link. Each stamp is the device's time plus an offset that is first estimated and then set to the measured
# one, so stamps jump once, after the first images. Depth is sent before colour, each before its CameraInfo.
_K4A_COLOR, _K4A_DEPTH, _K4A_OFFER = (1280, 720), (640, 576), Offer(depth=1)
_K4A_LENS = (0.45, -2.6, 0.0006, -0.0002, 1.5, 0.33, -2.42, 1.43)  # k1 k2 p1 p2 k3 k4 k5 k6, as calibrated
_K4A_IMAGES: dict[str, Any] = {
    "hz": 15.0, "offer": _K4A_OFFER, "info_offer": _K4A_OFFER, "model": "rational_polynomial", "lens": _K4A_LENS,
    "bent": True, "lazy": True, "sent_s": 0.06}

AZURE_KINECT = Driver(
    ("github.com/microsoft/Azure_Kinect_ROS_Driver, branch humble, commit 6ffb95a: src/k4a_ros_device.cpp "
     "(publishers, framePublisherThread, initializeTimestampOffset, updateTimestampOffset), "
     "src/k4a_calibration_transform_data.cpp, "
     "include/azure_kinect_ros_driver/k4a_calibration_transform_data.h (frames), launch/driver.launch.py, "
     "docs/usage.md",),
    (Stream("/depth_to_rgb/image_raw", ("/depth_to_rgb/camera_info",), "rgb_camera_link", "16UC1", _K4A_COLOR,
            wide(_K4A_COLOR, 90.0), **_K4A_IMAGES, range_m=(0.5, 5.5)),
     Stream("/depth/image_raw", ("/depth/camera_info",), "depth_camera_link", "16UC1", _K4A_DEPTH,
            wide(_K4A_DEPTH, 75.0), **_K4A_IMAGES, range_m=(0.5, 5.5)),
     Stream("/rgb/image_raw", ("/rgb/camera_info",), "rgb_camera_link", "bgra8", _K4A_COLOR, wide(_K4A_COLOR, 90.0),
            **_K4A_IMAGES, apart_s=0.0002)),
    (Link("base_link", "camera_base", (0.1, 0.0, 1.2), (0.0, 0.07, 0.0)),
     # as in the driver: optical axes, and 6 degrees down, the direction of depth in NFOV modes
     Link("camera_base", "depth_camera_link", (0.0, 0.0, 0.0018), (-1.6755, 0.0, -1.5708)),
     Link("depth_camera_link", "rgb_camera_link", (0.032, 0.002, -0.004), (0.1047, 0.0, 0.0))),
    begin_s=4.0, step_s=-0.045)


# Hello Robot Stretch: `stretch_driver.launch.py broadcast_odom_tf:=True` and `d435i_high_resolution.launch.py`.
#
# The camera is mounted on its side: its images are turned by a quarter to the left. The head moves on /tf. The driver
# resets the camera at its start (initial_reset), so the images begin seconds later. base_link is on the floor.
STRETCH = Driver(
    ("github.com/hello-robot/stretch_ros2, branch humble, commit b77baa1: "
     "stretch_core/stretch_core/stretch_driver.py (odometry, base_footprint), "
     "launch/stretch_driver.launch.py, launch/d435i_basic.launch.py (camera_namespace, initial_reset), "
     "launch/d435i_high_resolution.launch.py, stretch_description/batch/prince/urdf/stretch_d435i.xacro",
     "the camera's driver as that of REALSENSE"),
    realsense_streams("/camera", (1280, 720), (1280, 720), 15.0),
    (Link("base_link", "link_mast", (-0.067, 0.135, 0.028)), Link("link_mast", "link_head", (0.0, 0.0, 1.33)),
     Link("link_head", "link_head_pan", (0.135, -0.073, -0.027), hz=30.0),
     Link("link_head_pan", "link_head_tilt", (0.008, 0.011, 0.04), (0.0, 0.35, 0.0), hz=30.0),
     Link("link_head_tilt", "camera_bottom_screw_frame", (0.03, 0.0182, 0.0122), (math.pi / 2, 0.0, 0.0)),
     Link("camera_bottom_screw_frame", "camera_link", (0.0106, 0.0175, 0.0125)), *REALSENSE_LINKS),
    Base(odom="/odom", offer=Offer(depth=1), also=("base_footprint",), hz=30.0, sent_s=0.01,
         cmd_vel="/stretch/cmd_vel"),
    begin_s=5.0)


# TurtleBot 4 whose OAK-D Pro publishes colour and depth, with image_proc's rectify_node beside it.
#
# The robot as shipped has neither: its camera publishes only a preview of 250x250, without depth. The topics of both
# are imitated. Create 3 sends odometry and its two frames from another computer; its documents state no QoS, so the
# weakest are used. Frames of the body are from robot_state_publisher.
_OAKD_ROOT, _OAKD_PREVIEW = "/oakd", (250, 250)

TURTLEBOT4 = Driver(
    ("github.com/turtlebot/turtlebot4_robot, branch jazzy, commit 629d969: "
     "turtlebot4_bringup/config/oakd_pro.yaml, config/republisher.yaml, launch/oakd.launch.py, "
     "launch/robot.launch.py",
     "github.com/turtlebot/turtlebot4, branch humble, commit d688175: "
     "turtlebot4_description/urdf/standard/turtlebot4.urdf.xacro, urdf/sensors/oakd.urdf.xacro, "
     "turtlebot4_navigation/config/localization.yaml",
     "github.com/iRobotEducation/create3_docs, commit 53f188f: docs/api/ros2.md (frames of odometry)",
     "the camera's driver as that of OAK"),
    (*oak_streams(_OAKD_ROOT, "oakd"),
     Stream(f"{_OAKD_ROOT}/rgb/preview/image_raw", (f"{_OAKD_ROOT}/rgb/preview/camera_info",),
            "oakd_rgb_camera_optical_frame", "bgr8", _OAKD_PREVIEW, wide(_OAKD_PREVIEW, 42.0), 30.0, Offer(depth=1),
            Offer(depth=1), lazy=True)),
    (Link("base_link", "shell_link", (0.0, 0.0, 0.0942)),
     Link("shell_link", "oakd_camera_bracket", (-0.118, 0.0, 0.05257)),
     Link("oakd_camera_bracket", "oakd_link", (0.0584, 0.0, 0.09676)), *oak_links("oakd_link", "oakd")),
    Base(offer=SENSOR_DATA, also=("base_footprint",), hz=20.0, sent_s=0.02), begin_s=2.0)


# Unitree Go2 by go2_ros2_sdk: `robot.launch.py`, with a RealSense D435i on its back by realsense2_camera.
#
# The robot's own camera has no depth and is distorted by its lens; it uses the topic names of many cameras. Odometry is
# stamped on arrival. base_link is in the body, and base_footprint is its child at distance 0, so neither is on the
# floor. The robot's description contains map > odom as a fixed joint, in addition to localisation's transform.
_GO2_OFFER = Offer("best_effort", "volatile", 1)

GO2 = Driver(
    ("github.com/abizovnuralem/go2_ros2_sdk, branch master, commit 7f005bb: "
     "go2_robot_sdk/go2_robot_sdk/infrastructure/ros2/ros2_publisher.py, presentation/go2_driver_node.py "
     "(topics, QoS), calibration/front_camera_720.yaml, urdf/go2_with_realsense.urdf, "
     "launch/robot.launch.py",
     "the depth camera's driver as that of REALSENSE"),
    (*realsense_streams(color=(640, 480), hz=15.0),
     Stream("/camera/image_raw", ("/camera/camera_info",), "front_camera", "bgr8", (1280, 720),
            (864.39938, 863.73849, 639.19798, 373.28118), 15.0, _GO2_OFFER, _GO2_OFFER,
            lens=(-0.354630, 0.102054, -0.001614, -0.001249, 0.0), bent=True,
            projection=(651.42609, 804.93951, 633.16224, 373.8537))),
    (Link("map", "odom"), Link("base_link", "base_footprint"),
     Link("base_link", "Head_upper", (0.285, 0.0, 0.01)),
     Link("Head_upper", "front_camera", (0.045, 0.0, 0.03), OPTICAL),
     Link("Head_upper", "camera_mount_link", (-0.0647, 0.0, 0.07)),
     Link("camera_mount_link", "camera_link", (0.0, 0.0, 0.0425), (0.0, 0.05, 0.0)), *REALSENSE_LINKS),
    Base(odom="/odom", hz=18.0, height_m=0.37, arrival=True, sent_s=0.04, cmd_vel="/cmd_vel_out"), begin_s=2.0)


# Boston Dynamics Spot: `spot_driver.launch.py spot_name:=spot` (frames then begin with spot/), front left camera.
#
# Everything is reliable and transient local. The camera is mounted rotated: its images are turned by about a quarter.
# Colour and depth are registered but are from two sensors, a few milliseconds apart. Frames of the cameras are sent
# after the first images. The body's frame is at a height of 0.5 m, and no frame on the floor moves only with it.
_SPOT_OFFER, _SPOT_SIZE, _SPOT_FRAME = Offer(durability="transient_local"), (640, 480), "spot/frontleft_fisheye"
_SPOT_IMAGES: dict[str, Any] = {
    "frame": _SPOT_FRAME, "size": _SPOT_SIZE, "k": wide(_SPOT_SIZE, 88.0), "hz": 15.0, "offer": _SPOT_OFFER,
    "info_offer": _SPOT_OFFER, "sent_s": 0.12}

SPOT = Driver(
    ("github.com/bdaiinstitute/spot_ros2, branch main, commit bdee4a4: "
     "spot_driver/src/images/images_middleware_handle.cpp, spot_image_publisher.cpp, "
     "src/api/default_image_client.cpp, spot_image_sources.cpp, src/conversions/decompress_images.cpp, "
     "robot_state.cpp, src/robot_state/state_middleware_handle.cpp, "
     "src/interfaces/rclcpp_tf_broadcaster_interface.cpp, "
     "include/spot_driver/api/middleware_handle_base.hpp (QoS)",
     "the angle of the front cameras' pictures as the Spot SDK's image viewer turns them (78 degrees)"),
    (Stream("/spot/camera/frontleft/image", ("/spot/camera/frontleft/camera_info",), encoding="bgr8", apart_s=0.012,
            lose_every=23, **_SPOT_IMAGES),
     Stream("/spot/depth_registered/frontleft/image", ("/spot/depth_registered/frontleft/camera_info",),
            encoding="16UC1", range_m=(0.3, 4.0), **_SPOT_IMAGES)),
    (Link("spot/body", "spot/head"),
     # optical axes, turned by 78 degrees about the viewing axis, and 30 degrees down
     Link("spot/head", "spot/frontleft", (0.415, 0.037, 0.02), (math.radians(78.0), math.radians(30.0), 0.0)),
     Link("spot/frontleft", _SPOT_FRAME, rpy=(-math.pi / 2, 0.0, -math.pi / 2))),
    Base(odom="/spot/odometry", offer=Offer(durability="transient_local", depth=1), odom_frame="spot/odom",
         frame="spot/body", hz=50.0, height_m=0.52, sent_s=0.03, cmd_vel="/spot/cmd_vel"),
    statics_late=True, begin_s=1.0)

DRIVERS = {"azure_kinect": AZURE_KINECT, "go2": GO2, "oak": OAK, "realsense": REALSENSE, "spot": SPOT,
           "stretch": STRETCH, "turtlebot4": TURTLEBOT4, "zed": ZED}


def driver(name: str) -> Driver:
    """Return what a driver publishes. Raises ConfigError for an unknown name."""
    if name not in DRIVERS:
        raise ConfigError(unknown("driver", name, DRIVERS))
    return DRIVERS[name]
