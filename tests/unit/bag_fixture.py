"""Bags with known content, for tests: messages are serialized by their installed definitions."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from eqa_nodes.core.types.geometry import Pose2, Transform
from eqa_nodes.recordings.definitions import definition
from eqa_nodes.recordings.writer import BagTopic, BagWriter
from tests.unit.frame_fixture import MOUNT, frame

SECOND = 10**9
CAMERA = "camera_color_optical_frame"
TYPES = {
    "/camera/color/image_raw": "sensor_msgs/msg/Image", "/camera/depth/image_raw": "sensor_msgs/msg/Image",
    "/camera/color/camera_info": "sensor_msgs/msg/CameraInfo", "/labels/image_raw": "sensor_msgs/msg/Image",
    "/labels/table": "eqa_interfaces/msg/LabelArray", "/tf": "tf2_msgs/msg/TFMessage",
    "/tf_static": "tf2_msgs/msg/TFMessage", "/odom": "nav_msgs/msg/Odometry", "/question": "std_msgs/msg/String",
    "/answer": "std_msgs/msg/String", "/decision": "std_msgs/msg/String", "/map": "nav_msgs/msg/OccupancyGrid",
    "/explored": "nav_msgs/msg/OccupancyGrid", "/frontiers": "eqa_interfaces/msg/FrontierArray",
    "/keyframes": "eqa_interfaces/msg/Keyframe",
}
needs_messages = pytest.mark.skipif(
    not all(importlib.util.find_spec(p) for p in ("eqa_interfaces", "tf2_msgs", "sensor_msgs", "nav_msgs")),
    reason="the message packages are not installed: `make setup` installs them")


class Cdr:
    """Serializes messages by their installed definitions; fields that are not given are zero."""

    def __init__(self) -> None:
        self._store = get_typestore(Stores.EMPTY)
        for name in dict.fromkeys(TYPES.values()):
            self._store.register(get_types_from_msg(definition(name), name))

    def __call__(self, type_name: str, **fields: Any) -> bytes:
        return bytes(self._store.serialize_cdr(self.make(type_name, **fields), type_name))

    def make(self, type_name: str, **fields: Any) -> Any:
        members = dict(self._store.get_msgdef(type_name).fields)
        unknown = set(fields) - set(members)
        assert not unknown, unknown
        values = {n: fields[n] if n in fields else self._zero(t) for n, t in members.items()}
        return self._store.types[type_name](**values)

    def header(self, stamp_ns: int, frame_id: str) -> Any:
        stamp = self.make("builtin_interfaces/msg/Time", sec=stamp_ns // SECOND, nanosec=stamp_ns % SECOND)
        return self.make("std_msgs/msg/Header", stamp=stamp, frame_id=frame_id)

    def image(self, pixels: np.ndarray, encoding: str, stamp_ns: int) -> bytes:
        return self("sensor_msgs/msg/Image", header=self.header(stamp_ns, CAMERA), height=pixels.shape[0],
                    width=pixels.shape[1], encoding=encoding, step=pixels.strides[0],
                    data=np.frombuffer(pixels.tobytes(), np.uint8))

    def tf(self, parent: str, child: str, stamp_ns: int, t: Transform) -> Any:
        x, y, z = t.xyz
        translation = self.make("geometry_msgs/msg/Vector3", x=x, y=y, z=z)
        transform = self.make("geometry_msgs/msg/Transform", translation=translation, rotation=self.quaternion(t))
        return self.make("geometry_msgs/msg/TransformStamped", header=self.header(stamp_ns, parent),
                         child_frame_id=child, transform=transform)

    def pose(self, t: Transform) -> Any:
        x, y, z = t.xyz
        return self.make("geometry_msgs/msg/Pose", position=self.make("geometry_msgs/msg/Point", x=x, y=y, z=z),
                         orientation=self.quaternion(t))

    def quaternion(self, t: Transform) -> Any:
        return self.make("geometry_msgs/msg/Quaternion", **dict(zip("xyzw", t.xyzw, strict=True)))

    def text(self, text: str) -> bytes:
        return self("std_msgs/msg/String", data=text)

    def _zero(self, kind: Any) -> Any:
        node, detail = kind
        if node.name == "BASE":
            return {"string": "", "bool": False}.get(detail[0], 0)
        if node.name == "NAME":
            return self.make(detail)
        if node.name == "ARRAY":
            return np.zeros(detail[1], detail[0][1][0])
        return np.zeros(0, detail[0][1][0]) if detail[0][0].name == "BASE" and detail[0][1][0] != "string" else []


def topics_of(*names: str) -> dict[str, BagTopic]:
    return {name: BagTopic(TYPES[name]) for name in names}


def kettle(cdr: Cdr) -> Any:
    return cdr.make("eqa_interfaces/msg/Label", instance_id=1, kind="kettle", room="kitchen", attributes=["colour=red"])


def noise_of(count: int) -> str:
    """Text that does not compress."""
    return np.random.default_rng(0).integers(33, 126, count).astype(np.uint8).tobytes().decode()


def record_frames(cdr: Cdr, writer: BagWriter, count: int, base: str = "tf", first: int = 1) -> None:
    """Write frames `first` to `count`, a second apart, driving along x; base: how the pose is told, tf or odom."""
    writer.write("/tf_static", SECOND, cdr("tf2_msgs/msg/TFMessage", transforms=[
        cdr.tf("base_link", "camera_link", SECOND, Transform((0.0, 0.0, 1.2), (0.0, 0.0, 0.0, 1.0))),
        cdr.tf("camera_link", CAMERA, SECOND, Transform((0.0, 0.0, 0.0), MOUNT.xyzw))]))
    for i in range(first, count + 1):
        stamp, f = i * SECOND, frame(i * SECOND, Pose2(0.3 * i, 0.0, 0.1), {1: (0, 0, 12, 12)})
        identity = Transform.identity()
        if base == "tf":
            writer.write("/tf", stamp, cdr("tf2_msgs/msg/TFMessage", transforms=[
                cdr.tf("map", "odom", stamp, identity), cdr.tf("odom", "base_link", stamp, f.map_from_base)]))
        else:
            writer.write("/odom", stamp, cdr("nav_msgs/msg/Odometry", header=cdr.header(stamp, "odom"),
                         pose=cdr.make("geometry_msgs/msg/PoseWithCovariance", pose=cdr.pose(f.map_from_base))))
        k = f.intrinsics
        matrix = np.array([k.fx, 0, k.cx - 0.5, 0, k.fy, k.cy - 0.5, 0, 0, 1], np.float64)
        writer.write("/camera/color/camera_info", stamp, cdr(
            "sensor_msgs/msg/CameraInfo", header=cdr.header(stamp, CAMERA), width=k.width, height=k.height, k=matrix))
        writer.write("/camera/color/image_raw", stamp, cdr.image(f.rgb, "rgb8", stamp))
        writer.write("/camera/depth/image_raw", stamp, cdr.image(f.depth_m, "32FC1", stamp))


FRAME_TOPICS = ("/tf", "/tf_static", "/odom", "/camera/color/camera_info", "/camera/color/image_raw",
                "/camera/depth/image_raw")
