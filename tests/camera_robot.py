"""A robot in a small house, whose camera publishes as it is told: what every robot publishes differently."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import CompressedImage, Image
from tf2_msgs.msg import TFMessage

from eqa_nodes.core.camera.config import CameraConfig
from eqa_nodes.core.types.geometry import Pose2, Transform, compose
from eqa_nodes.core.types.views import Frame
from eqa_nodes.ros import convert
from eqa_nodes.ros.camera import CameraInput as Heard
from eqa_nodes.ros.graph import CAMERA_TOPICS, SECOND, TOPICS
from eqa_nodes.ros.interfaces import interface
from tests.unit.foreign_fixture import depth_png, inverse_depth_png, jpeg
from tests.unit.house_views import BACK, BENT, BESIDE, CAMERA, DEPTH_K, MOUNT, WAY, Shot, bent, shots

STEP_NS, BEGIN_NS = 100_000_000, 1_000_000_000_000
DEPTH_FRAME, CAMERA2 = "camera_depth_optical_frame", "camera2_color_optical_frame"
JUMP = Pose2(3.0, 0.5, 0.9).transform()  # of odom in the map, when the robot is found elsewhere


@dataclass(frozen=True)
class Ways:
    """How the robot publishes. camera: what nodes are told, and so what its images are."""

    camera: CameraConfig = CameraConfig()
    depth: str = "32FC1"
    reliable: bool = True
    color_late_ns: int = 0
    base: str = convert.BASE
    tf_late: bool = False  # transforms come after the next image
    back_at: int = -1  # the moment from which on the clock is set back
    jump_at: int = -1  # ... and localisation is elsewhere
    ahead: bool = False  # all stamps lie an hour in the future


class CameraRobot:
    """Publishes on the graph's topics; moments are numbered as WAY is."""

    def __init__(self, node: Any, ways: Ways, second: bool = False) -> None:
        self._ways, self._node, self._second = ways, node, second
        self._hour_ns = time.time_ns() + 3_600_000_000_000
        reliability = ReliabilityPolicy.RELIABLE if ways.reliable else ReliabilityPolicy.BEST_EFFORT
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self._images = QoSProfile(depth=5, reliability=reliability)
        self._topics = Heard(ways.camera, ("color", "depth", "camera_info")).topics()
        self._out = {part: self._publisher(key) for part, key in self._topics.items()}
        if second:
            self._out |= {SECOND + part: self._publisher(SECOND + key) for part, key in self._topics.items()}
        self._tf = node.create_publisher(TFMessage, "/tf", 100)
        self._static = node.create_publisher(TFMessage, "/tf_static", latched)
        self._static.publish(TFMessage(transforms=[
            convert.transform_msg(ways.base, convert.CAMERA, 1, MOUNT),
            convert.transform_msg(ways.base, CAMERA2, 1, compose(BACK, MOUNT)),
            convert.transform_msg(convert.CAMERA, DEPTH_FRAME, 1, BESIDE)]))

    def _publisher(self, key: str) -> Any:
        topic = TOPICS.get(key) or CAMERA_TOPICS[key]
        return self._node.create_publisher(interface(topic.type), topic.name, self._images)

    def listened_to(self, nodes: int, *unheard: str) -> bool:
        """Say whether so many nodes hear its transforms, and somebody all parts of its images but these."""
        return (self._tf.get_subscription_count() >= nodes and self._static.get_subscription_count() >= nodes
                and all(out.get_subscription_count() for part, out in self._out.items() if part not in unheard))

    def stamp(self, number: int) -> int:
        """Return the stamp of a moment: of its depth."""
        if self._ways.ahead:
            return self._hour_ns + STEP_NS * number
        back = 100_000_000_000 if 0 <= self._ways.back_at <= number else 0
        return BEGIN_NS + STEP_NS * number - back

    def show(self, number: int) -> None:
        """Publish one moment, with its transforms or, where these are late, those of the moment before."""
        if not self._ways.tf_late:
            self.place(number)
        elif number:
            self.place(number - 1)
        for part, message in self._messages(number, shots()[number]):
            self._out[part].publish(message)
        if self._second:
            for part, message in self._messages(number, shots(compose(BACK, MOUNT))[number]):
                message.header.frame_id = CAMERA2
                message.header.stamp = convert.time_of(self.stamp(number) + STEP_NS // 2)
                self._out[SECOND + part].publish(message)

    def place(self, number: int) -> None:
        """Publish where the robot is at a moment, and half a step later."""
        map_from_odom = JUMP if 0 <= self._ways.jump_at <= number else Transform.identity()
        base = shots()[number].map_from_base
        for stamp in (self.stamp(number), self.stamp(number) + STEP_NS // 2):
            self._tf.publish(TFMessage(transforms=[
                convert.transform_msg(convert.MAP, convert.ODOM, stamp, map_from_odom),
                convert.transform_msg(convert.ODOM, self._ways.base, stamp, base)]))

    def _messages(self, number: int, shot: Shot) -> Iterator[tuple[str, Any]]:
        """Yield the messages of a moment by their parts, colour last."""
        camera, stamp = self._ways.camera, self.stamp(number)
        late, lens = stamp + self._ways.color_late_ns, camera.lens == "distorted"
        rgb, depth_m = bent(number) if lens else shot[:2]
        depth_m = shot.depth_beside_m if camera.align else depth_m
        frame = DEPTH_FRAME if camera.align else convert.CAMERA
        if "depth_camera_info" in self._topics:
            info = convert.camera_info_msg(DEPTH_K, stamp)
            info.header.frame_id = frame
            yield "depth_camera_info", info
        info = convert.camera_info_msg(CAMERA.intrinsics, late)
        if lens:
            info.d = list(BENT)
        yield "camera_info", info
        yield "depth", self._depth(depth_m, stamp, frame)
        yield "color", convert.image_msg(rgb, "rgb8", late) if not camera.compressed else CompressedImage(
            header=convert.header(late, convert.CAMERA), format="rgb8; jpeg compressed bgr8", data=jpeg(rgb))

    def _depth(self, depth_m: np.ndarray, stamp: int, frame: str) -> Image | CompressedImage:
        header = convert.header(stamp, frame)
        if self._ways.camera.compressed_depth:
            data = depth_png(depth_m) if self._ways.depth == "16UC1" else inverse_depth_png(depth_m)
            return CompressedImage(header=header, format=f"{self._ways.depth}; compressedDepth png", data=data)
        unit = self._ways.camera.depth_unit_m or (0.001 if self._ways.depth == "16UC1" else 1.0)
        pixels = depth_m if unit == 1.0 else np.rint(depth_m / np.float32(unit))
        message = convert.image_msg(pixels, self._ways.depth, stamp)
        message.header = header
        return message


def expected(begin: int = 0, end: int = len(WAY), jumped: bool = False) -> list[Frame]:
    """Return the frames of moments as a perfect camera gives them."""
    place = JUMP if jumped else Transform.identity()
    return [Frame(BEGIN_NS + STEP_NS * i, s.rgb, s.depth_m, CAMERA.intrinsics, compose(place, s.map_from_base), MOUNT)
            for i, s in list(enumerate(shots()))[begin:end]]
