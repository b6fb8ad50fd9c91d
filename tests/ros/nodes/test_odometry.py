"""The agent's odometry on a robot: metres from odom, the place from the transforms, no service to ask."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

import contextlib
import math
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from std_msgs.msg import Header
from tf2_msgs.msg import TFMessage

from eqa_nodes.core.errors import ConfigError, NodeLost, StaleData
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.nodes.agent import AgentNode
from eqa_nodes.nodes.nav2_navigator import Nav2NavigatorNode
from eqa_nodes.ros import convert
from eqa_nodes.ros.interfaces import interface, qos
from eqa_nodes.ros.nav2.place import RobotPlace
from eqa_nodes.testing.waiting import WAIT_S, holds, until
from eqa_nodes.wire.graph import TOPICS

SECOND = 1_000_000_000
CORRECTION = Pose2(10.0, 0.0, math.pi / 2)  # of odom in the map, as a localisation gives it


class Robot:
    """Publishes odometry and transforms, and the agent that hears them."""

    def __init__(self, ros: Any, **parameters: Any) -> None:
        self.agent = ros.add(AgentNode, odometry="topics", observers=["mapper"], **parameters)
        self.odometry = self.agent.odometry
        node = ros.plain("robot")
        self._out = {key: node.create_publisher(interface(TOPICS[key].type), TOPICS[key].name, qos(TOPICS[key].qos))
                     for key in ("odom", "tf", "tf_static", "acknowledged")}
        self.until(lambda: all(out.get_subscription_count() for out in self._out.values()))

    def until(self, done: Callable[[], bool]) -> None:
        """Wait until the agent has heard; it tells nobody, so it is asked again and again."""
        until(done, "the agent has heard it")

    def localise(self) -> None:
        link = convert.transform_msg(convert.MAP, convert.ODOM, SECOND, CORRECTION.transform())
        self._out["tf_static"].publish(interface("tf2_msgs/msg/TFMessage")(transforms=[link]))

    def drive(self, x: float, seconds: int) -> None:
        """Be at x in odom at a time, and wait until that was heard."""
        self.say(x, seconds)
        self.until(lambda: self.odometry.newest_ns >= seconds * SECOND)

    def say(self, x: float, seconds: int) -> None:
        """Tell that it is at x in odom at a time."""
        stamp, pose = seconds * SECOND, Pose2(x, 0.0, 0.0).transform()
        link = convert.transform_msg(convert.ODOM, convert.BASE, stamp, pose)
        self._out["tf"].publish(interface("tf2_msgs/msg/TFMessage")(transforms=[link]))
        odom = interface("nav_msgs/msg/Odometry")(header=convert.header(stamp, convert.ODOM))
        odom.pose.pose = convert.pose_msg(pose)
        self._out["odom"].publish(odom)

    def take(self, name: str, seconds: int) -> None:
        self._out["acknowledged"].publish(Header(stamp=convert.time_of(seconds * SECOND), frame_id=name))


def test_it_counts_metres_and_knows_the_place_in_the_map(ros: Any) -> None:
    robot = Robot(ros)
    robot.localise()
    for seconds, x in ((1, 0.0), (2, 0.5), (3, 0.2)):
        robot.drive(x, seconds)
    robot.until(lambda: robot.odometry.last()[0] == 3 * SECOND)
    robot.until(lambda: robot.odometry.travelled() == (0, pytest.approx(0.8)))  # odom may come after the transforms
    assert robot.odometry.last()[1] == pytest.approx(Pose2(10.0, 0.2, math.pi / 2))
    assert robot.odometry.robot().header.frame_id == convert.MAP
    robot.drive(5.0, 2)  # late, or shown again
    robot.drive(0.2, 4)
    assert robot.odometry.travelled() == (0, pytest.approx(0.8))


def test_an_episode_begins_when_its_observers_have_seen_it(ros: Any) -> None:
    robot = Robot(ros, observe_deadline_s=WAIT_S)
    robot.drive(0.0, 1)
    robot.drive(3.0, 2)  # placed there: not driven
    begun = threading.Event()

    def begin() -> None:
        robot.odometry.begin(2 * SECOND)
        begun.set()

    thread = threading.Thread(target=begin, daemon=True)
    thread.start()
    robot.until(lambda: robot.odometry.travelled().metres == 0.0)
    robot.take("mapper", 1)
    robot.take("memory", 2)  # nobody waits for it
    robot.drive(3.5, 3)
    robot.drive(4.0, 4)
    assert not begun.is_set()
    robot.take("mapper", 3)
    thread.join(WAIT_S)
    assert begun.is_set() and robot.odometry.travelled() == (0, pytest.approx(0.5))


def test_what_does_not_come_is_named(ros: Any) -> None:
    robot = Robot(ros, observe_deadline_s=0.2, node__call_deadline_s=0.2)
    robot.drive(0.0, 1)  # nothing says where odom is in the map
    with pytest.raises(StaleData, match="from map to base_link.*localised"):
        robot.odometry.last()
    with pytest.raises(NodeLost, match="mapper did not take in.*camera"):
        robot.odometry.begin(SECOND)


def test_an_unknown_odometry_is_named(ros: Any) -> None:
    with pytest.raises(ConfigError, match="'wheels'.*simulator"):
        ros.add(AgentNode, odometry="wheels")


def test_jumps_of_odometry_and_of_localisation_are_not_driven(ros: Any) -> None:
    robot = Robot(ros)
    robot.localise()
    for seconds, x in ((1, 0.0), (2, 0.5), (3, 40.0), (4, 40.5)):
        robot.drive(x, seconds)
        robot.until(lambda at=seconds: robot.odometry.newest_ns == at * SECOND)
    assert robot.odometry.travelled().metres == pytest.approx(1.0)
    assert robot.agent.counts == {"odometry jumped by 39.5 m, which was not driven": 1}


def test_one_transform_and_one_odometry_of_the_future_stop_nothing(ros: Any) -> None:
    robot = Robot(ros)
    robot.localise()
    now, hour = int(time.time()), 3600
    robot.until(lambda: robot.say(0.0, now - 1) or not robot.odometry.missing())
    robot.say(50.0, now + hour)
    robot.until(lambda: len(robot.agent.counts) == 2)
    assert robot.agent.counts == {"transform of 'base_link' is stamped in the future": 1,
                                  "odometry is stamped in the future": 1}
    robot.drive(0.5, now)
    robot.until(lambda: robot.odometry.last()[0] == now * SECOND)
    robot.until(lambda: robot.odometry.newest_ns == now * SECOND)  # what an episode begins with
    assert robot.odometry.travelled().metres == pytest.approx(0.5)


def test_a_clock_that_is_ahead_is_followed_there_and_back(ros: Any) -> None:
    robot = Robot(ros)
    robot.localise()
    now, hour = int(time.time()), 3600
    robot.until(lambda: robot.say(0.0, now - 1) or not robot.odometry.missing())
    for stamp in (now + hour, now + hour + 1, now + hour + 2):
        robot.say(0.0, stamp)
    robot.until(lambda: robot.odometry.newest_ns == (now + hour + 2) * SECOND)
    for stamp in range(now - 4, now + 1):
        robot.say(0.0, stamp)
    robot.until(lambda: robot.odometry.newest_ns == now * SECOND)
    robot.until(lambda: robot.odometry.last()[0] == now * SECOND)


@pytest.mark.parametrize("back_s", [5, 3600])
def test_where_the_robot_is_goes_on_without_odometry_when_the_clock_was_set_back(ros: Any, back_s: int) -> None:
    node = ros.add(Nav2NavigatorNode)
    place, out = RobotPlace(node, WAIT_S), ros.plain("robot").create_publisher(TFMessage, "/tf", qos("event"))
    assert holds(out.get_subscription_count)
    begin = 10_000
    stamps = [begin, begin + 1, *(begin + 1 - back_s + i for i in range(5))]
    for x, stamp in enumerate(stamps):
        links = [(convert.MAP, convert.ODOM, 0.0), (convert.ODOM, convert.BASE, float(x)), (convert.BASE, "arm", 0.0)]
        out.publish(TFMessage(transforms=[
            convert.transform_msg(parent, child, (stamp - 30 * (child == "arm")) * SECOND,
                                  Pose2(at, 0.0, 0.0).transform())
            for parent, child, at in links]))  # the arm's computer is always late
    assert holds(lambda: place.pose().x == len(stamps) - 1) and place.now_s() == stamps[-1]


def test_odometry_goes_on_when_its_clock_was_set_back(ros: Any) -> None:
    robot = Robot(ros)
    robot.localise()
    for seconds, x in ((100, 0.0), (101, 0.5)):
        robot.drive(x, seconds)
        robot.until(lambda at=seconds: robot.odometry.newest_ns == at * SECOND)
    for seconds, x in ((1, 5.0), (2, 5.5), (3, 6.0)):
        robot.drive(x, seconds)
    robot.until(lambda: robot.odometry.newest_ns == 3 * SECOND)
    robot.drive(6.5, 4)
    robot.until(lambda: robot.odometry.newest_ns == 4 * SECOND)
    robot.until(lambda: robot.odometry.last()[0] == 4 * SECOND)
    assert robot.odometry.travelled().metres == pytest.approx(1.0)
    assert robot.agent.counts == {"time went back by 98 s: where the robot is now counts": 1}


class Driven:
    """A robot whose localisation stamps ahead as AMCL, and what nav2_navigator knows of its place."""

    def __init__(self, ros: Any, lost_s: float, silent_s: float = 0.0, **parameters: Any) -> None:
        self.place = RobotPlace(ros.add(Nav2NavigatorNode, **parameters), lost_s, silent_s)
        node = ros.plain("robot")
        self._tf = node.create_publisher(TFMessage, "/tf", qos("event"))
        self._odom = node.create_publisher(interface(TOPICS["odom"].type), TOPICS["odom"].name, qos("event"))
        self.clock = node.create_publisher(interface("rosgraph_msgs/msg/Clock"), "/clock", qos("event"))
        assert holds(self._tf.get_subscription_count) and holds(self._odom.get_subscription_count)

    def send(self, parent: str, child: str, seconds: float, x: float = 0.0) -> None:
        at = convert.transform_msg(parent, child, round(seconds * SECOND), Pose2(x, 0.0, 0.0).transform())
        self._tf.publish(TFMessage(transforms=[at]))

    def odometry(self, seconds: float) -> None:
        self._odom.publish(interface("nav_msgs/msg/Odometry")(
            header=convert.header(round(seconds * SECOND), convert.ODOM)))

    def localised(self, until_s: int) -> None:
        """Drive until then, localised from 1 s ahead of the first scan on."""
        for seconds in range(until_s + 1):
            self.send(convert.MAP, convert.ODOM, seconds + 1.0)
            self.send(convert.ODOM, convert.BASE, seconds, float(seconds))
        assert holds(lambda: self._resent(until_s) == until_s)

    def _resent(self, seconds: int) -> float | None:
        """Send the newest transforms once more, which may have come before they were listened to; return the time."""
        if self.now() != seconds:
            self.send(convert.MAP, convert.ODOM, seconds + 1.0)
            self.send(convert.ODOM, convert.BASE, seconds, float(seconds))
        return self.now()

    def now(self) -> float | None:
        with contextlib.suppress(StaleData):
            return self.place.now_s()
        return None

    def error(self) -> str:
        """Wait until the place is not known, and return why."""
        def why() -> str:
            try:
                self.place.pose()
            except StaleData as error:
                return str(error)
            return ""

        return until(why)


@pytest.mark.parametrize("by_topic", [False, True])
def test_a_robot_is_lost_by_the_time_of_its_odometry_and_the_error_names_the_frame(ros: Any, by_topic: bool) -> None:
    robot = Driven(ros, lost_s=3.0, silent_s=WAIT_S)
    robot.localised(10)
    first = 0 if by_topic else 1  # the transform of odometry is localised until 11 s
    for seconds in range(11, 14 + first):
        robot.odometry(seconds) if by_topic else robot.send(convert.ODOM, convert.BASE, seconds)
    time.sleep(0.2)
    if not by_topic:
        assert holds(lambda: robot.now() == 11.0)  # not lost yet
        robot.send(convert.ODOM, convert.BASE, 15.0)
    else:
        robot.odometry(14.0), robot.odometry(15.0)
    why = robot.error()
    assert "4.0 s of odometry" in why and "\n" not in why and "AMCL" in why
    assert ("'base_link'" if by_topic else "'odom'") in why
    robot.send(convert.MAP, convert.ODOM, 17.0)
    robot.send(convert.ODOM, convert.BASE, 16.0)
    assert holds(lambda: robot.now() == 16.0)  # found again


def test_time_that_stands_still_loses_no_robot(ros: Any) -> None:
    """Nothing comes for longer than both limits: with simulated time, that is no failure."""
    robot = Driven(ros, lost_s=0.3, silent_s=0.3, use_sim_time=True)
    assert holds(robot.clock.get_subscription_count)
    robot.clock.publish(interface("rosgraph_msgs/msg/Clock")(clock=convert.time_of(10 * SECOND)))
    robot.localised(10)
    robot.odometry(10.0)
    assert holds(robot.place.travelled) is not None
    time.sleep(1.0)
    assert robot.now() == 10.0 and robot.place.travelled() is not None
    robot.clock.publish(interface("rosgraph_msgs/msg/Clock")(clock=convert.time_of(12 * SECOND)))
    with pytest.raises(StaleData, match="odometry gave no place"):
        until(lambda: not robot.place.travelled())


def test_a_robot_of_which_nothing_comes_is_named(ros: Any) -> None:
    robot = Driven(ros, lost_s=0.5)
    robot.localised(10)
    assert "drivers" in robot.error()


def test_a_robot_that_was_never_localised_is_named_with_its_frame(ros: Any) -> None:
    robot = Driven(ros, lost_s=0.5)
    robot.send(convert.ODOM, convert.BASE, 1.0)
    assert "none of 'odom'" in robot.error() and "give AMCL the robot's pose" in robot.error()
