"""The console finds the robot by its transforms, whatever its frames are called."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

import threading
from contextlib import closing
from typing import Any

import pytest
from tf2_msgs.msg import TFMessage

from eqa_nodes.console.robot import RosRobot
from eqa_nodes.core.camera.config import TfConfig
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.ros import convert
from eqa_nodes.ros.interfaces import qos
from eqa_nodes.wire.graph import TOPICS

WAIT_S = 60.0
USUAL, OWN = TfConfig(), TfConfig("r1/map", "r1/odom", "r1/base")
LOCALISED, DRIVEN = Pose2(1.0, 0.0, 0.0), Pose2(2.0, 0.5, 0.25)


@pytest.mark.parametrize("names", [USUAL, OWN], ids=["usual", "own"])
def test_the_robot_is_where_its_transforms_say(ros: Any, names: TfConfig) -> None:
    moved, node = threading.Event(), ros.plain("robot")
    out = node.create_publisher(TFMessage, TOPICS["tf"].name, qos("event"))
    message = TFMessage(transforms=[
        convert.transform_msg(names.map_frame, names.odom_frame, 1, LOCALISED.transform()),
        convert.transform_msg(names.odom_frame, names.base_frame, 1, DRIVEN.transform())])
    node.create_timer(0.05, lambda: out.publish(message))
    domain = {"ROS_DOMAIN_ID": str(ros.context.get_domain_id())}
    with closing(RosRobot(domain, moved.set, names=names)) as robot:
        assert moved.wait(WAIT_S)
        assert robot.live.trace().poses == [(1, pytest.approx(Pose2(3.0, 0.5, 0.25)))]
