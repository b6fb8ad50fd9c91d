"""A simulated robot that others localise: time waits for observers only while somebody says where the robot is."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

import time
from typing import Any

import pytest
from diagnostic_msgs.msg import DiagnosticArray
from eqa_interfaces.srv import Act
from geometry_msgs.msg import PoseWithCovarianceStamped
from sensor_msgs.msg import Image
from std_msgs.msg import Header
from tf2_msgs.msg import TFMessage

from eqa_nodes.core.types.geometry import Pose2, pose2_of
from eqa_nodes.nodes.bridge_localised import PATIENCE_S, UNLOCALISED
from eqa_nodes.nodes.mapper import MapperNode
from eqa_nodes.ros import convert
from eqa_nodes.ros.interfaces import qos
from eqa_nodes.ros.observer import ObserverNode
from eqa_nodes.ros.remote import Remotes
from eqa_nodes.testing.amcl import Amcl
from eqa_nodes.testing.waiting import holds, until
from eqa_nodes.wire import messages
from eqa_nodes.wire.frame_assembler import EARLY
from eqa_nodes.wire.graph import TOPICS
from tests.fixtures.velocity_driver import START, WAIT_S, Driver

FOREVER_S = 20 * WAIT_S  # a test that waits for it as long fails
LATE = "observation that was not taken in by all observers"


def driver_of(ros: Any, **parameters: Any) -> Driver:
    return Driver(ros, senses__localisation__by="others", observers=["watcher"], repeat_s=0.2,
                  acknowledged_deadline_s=FOREVER_S, **parameters)


def domain(ros: Any) -> dict[str, str]:
    return {"ROS_DOMAIN_ID": str(ros.context.get_domain_id())}


class Watcher:
    """Acknowledges each image, while it is awake."""

    def __init__(self, driver: Driver) -> None:
        self.awake = False
        self._out = driver.node.create_publisher(Header, TOPICS["acknowledged"].name, qos("event"))
        driver.node.create_subscription(Image, TOPICS["depth"].name, self._on_depth, qos("frame"))

    def _on_depth(self, image: Any) -> None:
        if self.awake:
            self._out.publish(convert.header(messages.stamp_of(image), "watcher"))


def statuses(driver: Driver) -> list[Any]:
    """Return what the bridge says of the localisation on /diagnostics, as it comes."""
    heard: list[Any] = []
    driver.node.create_subscription(DiagnosticArray, "/diagnostics", lambda array: heard.extend(
        status for status in array.status if status.name == "bridge: localisation"), 10)
    return heard


def test_time_waits_once_for_images_that_nobody_localises_and_then_goes_on(ros: Any) -> None:
    driver = driver_of(ros)
    heard = statuses(driver)
    driver.reset()
    driver.until(lambda: bool(driver.depth))
    began_s, first = time.monotonic(), len(driver.depth)
    driver.later(5.0)
    assert time.monotonic() - began_s < WAIT_S and len(driver.depth) > first + 10
    assert driver.bridge.counts[UNLOCALISED] > 10 and not driver.bridge.counts[LATE]
    asked_s = time.monotonic()
    before = driver.act(Act.Request.STATUS)
    assert time.monotonic() - asked_s < 5.0 and before.error_code == 0
    driver.later(1.0)
    assert messages.ns_of(driver.act(Act.Request.STATUS).stamp) > messages.ns_of(before.stamp)
    bad = until(lambda: next((s for s in heard if s.level != b"\0"), None))
    assert "no transform from map to odom" in bad.message and "AMCL" in bad.message


def test_localised_time_waits_for_observers_and_when_that_ends_no_more(ros: Any) -> None:
    driver = driver_of(ros)
    watcher, heard = Watcher(driver), statuses(driver)
    with Amcl(domain(ros), START):
        driver.reset()
        driver.until(lambda: driver.bridge.counts["observation published again"] > 1)  # the first that is localised
        stood = driver.now_ns()
        time.sleep(2 * PATIENCE_S)
        assert driver.now_ns() - stood < 1e9  # it waits for the watcher
        watcher.awake = True
        driver.later(3.0)
        assert until(lambda: heard and heard[-1].level == b"\0")
        before = driver.bridge.counts[UNLOCALISED]
    driver.until(lambda: driver.bridge.counts[UNLOCALISED] > before)  # once the last transform, ahead, is over
    watcher.awake = False
    driver.later(5.0)
    assert until(lambda: heard[-1].level != b"\0") and not driver.bridge.counts[LATE]


def test_a_fixed_transform_localises_too(ros: Any) -> None:
    driver = driver_of(ros)
    fixed = driver.node.create_publisher(TFMessage, "/tf_static", qos("static"))
    fixed.publish(TFMessage(transforms=[
        convert.transform_msg(convert.MAP, convert.ODOM, 0, START.transform())]))
    driver.reset()
    driver.until(lambda: driver.bridge.counts["observation published again"] > 1)
    assert driver.bridge.counts[UNLOCALISED] <= 1


def test_amcl_is_silent_before_it_has_a_pose_and_corrects_after_motion_only(ros: Any) -> None:
    driver = Driver(ros, senses__localisation__by="others", senses__wheels__drift=0.1)
    told = driver.node.create_publisher(PoseWithCovarianceStamped, "initialpose", 1)
    with Amcl(domain(ros)) as amcl:
        driver.reset()
        driver.later(2.0)
        assert amcl.sent == 0
        estimate = PoseWithCovarianceStamped(header=convert.header(driver.now_ns()))
        estimate.pose.pose = convert.pose_msg(START.transform())
        assert holds(told.get_subscription_count)
        told.publish(estimate)
        driver.until(lambda: amcl.sent > 10)  # two seconds, and the first is before its transforms
        assert amcl.updates == 1  # it stands, and still says where, with each scan
        assert pose2_of(driver.placed(convert.MAP, convert.BASE, driver.now_ns())).distance(START) < 0.01
        driver.wanted = (0.4, 0.0)
        driver.until(lambda: driver.pose().x > 1.2)
        driver.wanted = None
        driver.until(lambda: driver.odom[-1].twist.twist.linear.x == 0.0)
        assert holds(lambda: amcl.updates >= 4)
        driver.later(2.0)
        assert amcl.updates <= 1 + driver.pose().x / 0.25
        metres = driver.act(Act.Request.STATUS).metres
        believed = pose2_of(driver.placed(convert.MAP, convert.BASE, driver.now_ns()))
        assert believed.distance(Pose2(START.x + metres, START.y, 0.0)) < 0.15


def test_an_observer_drops_what_was_seen_before_and_takes_in_the_rest(ros: Any) -> None:
    driver = Driver(ros, senses__localisation__by="others", observers=["mapper"], repeat_s=0.2,
                    acknowledged_deadline_s=FOREVER_S)
    mapper: ObserverNode[Any] = ros.add(MapperNode)
    begun = driver.reset(announce=False).episode
    Remotes(driver.node).service("reset_mapper").call(WAIT_S, episode=begun)
    driver._episode.publish(begun)
    driver.later(2.0)
    assert mapper.last_ns == -1 and not mapper.counts
    with Amcl(domain(ros), START):
        assert holds(lambda: mapper.last_ns > 0)
        assert mapper.counts[EARLY] > 5  # the two seconds before, and the one by which AMCL stamps ahead
        taken = mapper.last_ns
        driver.later(1.0)
        assert holds(lambda: mapper.last_ns > taken)
    assert not driver.bridge.counts[LATE]


@pytest.mark.parametrize("ahead_s", [1.0, 0.3])
def test_corrections_come_with_scans_and_are_stamped_ahead(ros: Any, ahead_s: float) -> None:
    driver = Driver(ros, senses__localisation__by="corrections", senses__localisation__ahead_s=ahead_s)
    stamps: list[int] = []
    driver.node.create_subscription(TFMessage, "/tf", lambda m: stamps.extend(
        messages.stamp_of(t) for t in m.transforms if t.child_frame_id == convert.ODOM), 10)
    first = messages.stamp_of(driver.reset().episode)
    driver.until(lambda: len(driver.scans) > 5)
    ahead = {messages.stamp_of(scan) + round(ahead_s * 1e9) for scan in driver.scans[:5]}
    assert holds(lambda: ahead <= {*stamps}) and set(stamps) - ahead - {first} == {
        s for s in stamps if s > max(ahead)}
    again = messages.stamp_of(driver.reset().episode)
    assert again > max(s for s in stamps if s < again) and again > driver.now_ns() - 1e9
    assert holds(lambda: again in stamps)  # it is told where the reset has placed the robot
