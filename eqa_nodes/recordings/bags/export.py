"""Writes an episode history as a bag with standard messages that common tools play, without ROS.

Images (depth as 32FC1), stamps, intrinsics and poses are bit-identical when they are read again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from eqa_nodes.core.types.geometry import Transform
from eqa_nodes.core.types.views import Frame, Intrinsics, Label
from eqa_nodes.recordings.bags.writer import BagTopic, BagWriter, definition
from eqa_nodes.recordings.episode_history import no_frame
from eqa_nodes.wire.graph import TOPICS

_CAMERA = "camera_color_optical_frame"


def write_bag(frames: Iterable[Frame], folder: Path, progress: Callable[[int], None] = lambda written: None,
              labels: Mapping[int, Label] | None = None) -> Counter[str]:
    """Write frames as a bag, one at a time; return the number of frames that could not be stored, by reason.

    progress: called with the number of written frames. labels: id in label images -> label (privileged), written beside
    the label images. Raises StorageError when the folder exists, there is no frame or the disk fails, ConfigError if
    there are labels but eqa_interfaces, which defines their message, is not installed.
    """
    reading = iter(frames)
    first = next(reading, None)
    if first is None:
        raise no_frame(frames)
    table = labels if first.labels is not None and labels else {}
    keys = ["tf", "camera_info", "color", "depth", *(["labels"] if first.labels is not None else []),
            *(["label_table"] if table else [])]
    messages, lost = FrameMessages(), Counter[str]()
    topics = {TOPICS[key].name: BagTopic(TOPICS[key].type, TOPICS[key].qos, messages.definition(TOPICS[key].type))
              for key in keys}
    with closing(BagWriter(folder, topics)) as writer:
        if table:
            writer.write(TOPICS["label_table"].name, first.stamp_ns, messages.label_table(table, first.stamp_ns))
        for i, frame in enumerate(chain((first,), reading), start=1):
            for key, cdr in messages.of(frame):
                if key in keys:
                    writer.write(TOPICS[key].name, frame.stamp_ns, cdr)
                else:
                    lost[f"frames with {key}"] += 1
            progress(i)
    return lost


class FrameMessages:
    """Serializes frames."""

    def __init__(self) -> None:
        self._store = get_typestore(Stores.ROS2_HUMBLE)

    def definition(self, type_name: str) -> str:
        """Return a type's full definition as bags contain it. Raises ConfigError for a type that is not installed."""
        if type_name not in self._store.fielddefs:
            text = definition(type_name)
            known = self._store.fielddefs
            self._store.register({n: t for n, t in get_types_from_msg(text, type_name).items() if n not in known})
            return text
        text, _ = self._store.generate_msgdef(type_name, ros_version=2)
        return text

    def of(self, frame: Frame) -> Iterator[tuple[str, bytes]]:
        """Yield key and serialized message, transforms first, so that a player knows the pose of each image."""
        stamp = frame.stamp_ns
        yield "tf", self._cdr("tf2_msgs/msg/TFMessage", transforms=[
            self._tf("map", "base_link", stamp, frame.map_from_base),
            self._tf("base_link", _CAMERA, stamp, frame.base_from_camera)])
        yield "camera_info", self._camera_info(frame.intrinsics, stamp)
        yield "color", self._image(frame.rgb, "rgb8", stamp)
        yield "depth", self._image(frame.depth_m, "32FC1", stamp)
        if frame.labels is not None:
            yield "labels", self._image(frame.labels, "16UC1", stamp)

    def label_table(self, labels: Mapping[int, Label], stamp_ns: int) -> bytes:
        """Return the serialized table of the ids in label images."""
        of = [self._make("eqa_interfaces/msg/Label", instance_id=i, kind=label.kind, room=label.room,
                         attributes=[f"{name}={value}" for name, value in sorted(label.attributes.items())])
              for i, label in sorted(labels.items())]
        return self._cdr("eqa_interfaces/msg/LabelArray", header=self._header(stamp_ns, ""), labels=of)

    def _cdr(self, type_name: str, **fields: Any) -> bytes:
        return bytes(self._store.serialize_cdr(self._make(type_name, **fields), type_name))

    def _make(self, type_name: str, **fields: Any) -> Any:
        return self._store.types[type_name](**fields)

    def _header(self, stamp_ns: int, frame_id: str) -> Any:
        stamp = self._make("builtin_interfaces/msg/Time", sec=stamp_ns // 10**9, nanosec=stamp_ns % 10**9)
        return self._make("std_msgs/msg/Header", stamp=stamp, frame_id=frame_id)

    def _tf(self, parent: str, child: str, stamp_ns: int, t: Transform) -> Any:
        x, y, z = t.xyz
        qx, qy, qz, qw = t.xyzw
        moved = self._make("geometry_msgs/msg/Transform",
                           translation=self._make("geometry_msgs/msg/Vector3", x=x, y=y, z=z),
                           rotation=self._make("geometry_msgs/msg/Quaternion", x=qx, y=qy, z=qz, w=qw))
        return self._make("geometry_msgs/msg/TransformStamped", header=self._header(stamp_ns, parent),
                          child_frame_id=child, transform=moved)

    def _camera_info(self, k: Intrinsics, stamp_ns: int) -> bytes:
        cx, cy = k.cx - 0.5, k.cy - 0.5  # in messages the centre of the first pixel is at 0
        roi = self._make("sensor_msgs/msg/RegionOfInterest", x_offset=0, y_offset=0, height=0, width=0,
                         do_rectify=False)
        return self._cdr("sensor_msgs/msg/CameraInfo", header=self._header(stamp_ns, _CAMERA), height=k.height,
                         width=k.width, distortion_model="plumb_bob", d=np.zeros(5), binning_x=0, binning_y=0, roi=roi,
                         k=np.array([k.fx, 0, cx, 0, k.fy, cy, 0, 0, 1]), r=np.eye(3).ravel(),
                         p=np.array([k.fx, 0, cx, 0, 0, k.fy, cy, 0, 0, 0, 1, 0]))

    def _image(self, pixels: np.ndarray, encoding: str, stamp_ns: int) -> bytes:
        pixels = np.ascontiguousarray(pixels)
        return self._cdr("sensor_msgs/msg/Image", header=self._header(stamp_ns, _CAMERA), height=pixels.shape[0],
                         width=pixels.shape[1], encoding=encoding, is_bigendian=0, step=pixels.strides[0],
                         data=pixels.reshape(-1).view(np.uint8))
