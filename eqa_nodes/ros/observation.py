"""Publishes observations of a simulator or a recording as a robot would, and waits for acknowledgements.

Lock-step consists of that wait: when `await_observers` returns, no observer is behind the observation.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from rclpy.serialization import serialize_message
from rosgraph_msgs.msg import Clock

from eqa_nodes.core.errors import NodeLost
from eqa_nodes.core.types.geometry import LocalisedPose, Transform, head_of
from eqa_nodes.core.types.views import Frame, Label
from eqa_nodes.ros import convert
from eqa_nodes.ros.interfaces import interface
from eqa_nodes.ros.node import EqaNode
from eqa_nodes.wire import messages

Link = tuple[str, str, Transform]  # parent frame, child frame, parent_from_child
REFUSED = "its images or transforms were refused, or none came; /diagnostics and the node's log say which"
OBSERVATION = ("color", "depth", "camera_info", "labels", "label_table", "odom", "tf", "clock")


class Acknowledgements:
    """The newest observation that each observer of a node's settings has acknowledged."""

    def __init__(self, node: EqaNode) -> None:
        self._node = node
        self._newest: dict[str, int] = {}
        self._changed = threading.Condition()
        node.subscribe("acknowledged", self._on_acknowledged)  # on the listener node, since a callback waits for it

    def wait(self, stamp_ns: int, within_s: float) -> list[str]:
        """Return the observers that do not acknowledge this observation or a later one within the time."""
        with self._changed:
            self._changed.wait_for(lambda: not self._behind(stamp_ns), within_s)
            return self._behind(stamp_ns)

    def _behind(self, stamp_ns: int) -> list[str]:
        return [name for name in self._node.config.observers if self._newest.get(name, -1) < stamp_ns]

    def _on_acknowledged(self, header: Any) -> None:
        with self._changed:
            self._newest[header.frame_id] = messages.ns_of(header.stamp)
            self._changed.notify_all()


class Observations:
    """Publishes frames for a node whose row has OBSERVATION and `taken`.

    Its settings have observers, acknowledged_deadline_s and repeat_s.
    """

    def __init__(self, node: EqaNode) -> None:
        self._node = node
        self._fixed: list[Link] = []  # the links that were last published on tf_static
        self._tabled: Mapping[int, Label] | None = None
        self._table_cdr = b""  # the serialized table of these labels
        self._has_head = "tf_static" in node.spec.publishes
        for key in (*OBSERVATION, *["tf_static"] * self._has_head):
            node.out(key)
        self._acknowledged = Acknowledgements(node)

    def publish(self, frame: Frame, labels: Mapping[int, Label], again: bool = False) -> None:
        """Publish an observation: clock, transforms, odometry and images."""
        self._node.send("clock", Clock(clock=convert.time_of(frame.stamp_ns)))
        self.tell_fixed(frame.stamp_ns, frame.base_from_camera, again=again)
        place = LocalisedPose(Transform.identity(), frame.map_from_base)
        self.tell_place(frame.stamp_ns, place, frame.base_from_camera)
        self.show(frame, labels)

    def tell_fixed(self, stamp_ns: int, base_from_camera: Transform,
                   mounts: Mapping[str, Transform] = MappingProxyType({}), again: bool = False) -> None:
        """Publish the robot's fixed transforms on tf_static: the camera's mount and lens, and `mounts` by frame.

        Published only if they have changed, or with `again`. A node without tf_static publishes nothing, such as
        the one of a recording, in which the camera may have moved freely.
        """
        mount, _, lens = head_of(base_from_camera)
        links = [(convert.BASE, convert.MOUNT, mount), (convert.LINK, convert.CAMERA, lens),
                 *((convert.BASE, frame, transform) for frame, transform in mounts.items())]
        if self._has_head and (again or links != self._fixed):
            self._fixed = links
            self._send_links("tf_static", stamp_ns, links)

    def tell_place(self, stamp_ns: int, place: LocalisedPose, base_from_camera: Transform,
                   velocity: tuple[float, float] = (0.0, 0.0)) -> None:
        """Publish tf and odom: pose of the base, tilt of the head. velocity: m/s and rad/s."""
        camera = ((convert.MOUNT, convert.LINK, head_of(base_from_camera)[1]) if self._has_head else
                  (convert.BASE, convert.CAMERA, base_from_camera))
        known = [] if place.map_from_odom is None else [(convert.MAP, convert.ODOM, place.map_from_odom)]
        self._send_links("tf", stamp_ns, [*known, (convert.ODOM, convert.BASE, place.odom_from_base), camera])
        self._node.send("odom", _odometry(stamp_ns, place.odom_from_base, velocity))

    def tell_correction(self, stamp_ns: int, map_from_odom: Transform) -> None:
        """Publish the correction by localisation on tf."""
        self._send_links("tf", stamp_ns, [(convert.MAP, convert.ODOM, map_from_odom)])

    def _send_links(self, key: str, stamp_ns: int, links: Sequence[Link]) -> None:
        self._node.send(key, interface("tf2_msgs/msg/TFMessage")(transforms=[
            convert.transform_msg(parent, child, stamp_ns, transform) for parent, child, transform in links]))

    def show(self, frame: Frame, labels: Mapping[int, Label]) -> None:
        """Publish the images, and the label table of their stamp: messages of different topics may arrive in any order.
        """
        stamp, send = frame.stamp_ns, self._node.send
        send("camera_info", convert.camera_info_msg(frame.intrinsics, stamp))
        if frame.labels is not None:
            send("label_table", self._table(labels, stamp))
            send("labels", convert.image_msg(frame.labels, "16UC1", stamp))
        send("color", convert.image_msg(frame.rgb, "rgb8", stamp))
        send("depth", convert.image_msg(frame.depth_m, "32FC1", stamp))

    def _table(self, labels: Mapping[int, Label], stamp_ns: int) -> bytes:
        """Return a serialized label table: making one takes longer than two images, and it seldom changes."""
        if labels != self._tabled:
            message = convert.in_frame(convert.label_table_msg(labels, stamp_ns), self._node.config.node.tf.map_frame)
            self._tabled, self._table_cdr = dict(labels), serialize_message(message)
        return messages.stamped(self._table_cdr, stamp_ns)

    def await_observers(self, frame: Frame, labels: Mapping[int, Label],
                        repeat: Callable[[], None] | None = None) -> None:
        """Wait until all observers have acknowledged the observation. Raises NodeLost naming those that have not.

        repeat: publishes it again for observers that missed a part; by default everything is published again.
        """
        stamp, config = frame.stamp_ns, self._node.config
        end = time.monotonic() + config.acknowledged_deadline_s
        while behind := self._acknowledged.wait(stamp, config.repeat_s):
            if time.monotonic() > end:
                raise NodeLost(f"{', '.join(behind)} did not take in the observation at {stamp / 1e9:.3f} s within "
                               f"{config.acknowledged_deadline_s:g} s: " + REFUSED)
            self._node.count("observation published again")
            if repeat is None:
                self.publish(frame, labels, again=True)
            else:
                repeat()


def offset_after(newest_ns: int, first_ns: int) -> int:
    """Return the offset for the stamps of an episode whose first is `first_ns`: published stamps must increase.

    This holds also if the next scene has another clock, and if the publishing node was restarted (the request for the
    episode contains the newest stamp that others have seen).
    """
    return max(0, newest_ns + 1 - first_ns)


def _odometry(stamp_ns: int, odom_from_base: Transform, velocity: tuple[float, float]) -> Any:
    message = interface("nav_msgs/msg/Odometry")(header=convert.header(stamp_ns, convert.ODOM),
                                                 child_frame_id=convert.BASE)
    message.pose.pose = convert.pose_msg(odom_from_base)
    message.twist.twist.linear.x, message.twist.twist.angular.z = velocity
    return message
