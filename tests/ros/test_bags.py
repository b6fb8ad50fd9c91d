"""What rclpy serializes goes into bags as it is."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

from pathlib import Path

from geometry_msgs.msg import PoseStamped
from rclpy.serialization import serialize_message
from rosbags.highlevel import AnyReader

from eqa_nodes.recordings.bags.writer import BagTopic, BagWriter


def test_rclpy_bytes_are_recorded_as_they_are(tmp_path: Path) -> None:
    message = PoseStamped()
    message.header.frame_id, message.pose.position.x = "map", 1.5
    writer = BagWriter(tmp_path / "bag", {"goal_pose": BagTopic("geometry_msgs/msg/PoseStamped", "event")})
    writer.write("goal_pose", 1, serialize_message(message))
    writer.close()
    with AnyReader([tmp_path / "bag"]) as reader:
        (connection, _, data), = reader.messages()
        read = reader.deserialize(data, connection.msgtype)
    assert (connection.topic, read.header.frame_id, read.pose.position.x) == ("/goal_pose", "map", 1.5)
