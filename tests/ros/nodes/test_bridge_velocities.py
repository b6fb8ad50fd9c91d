"""A simulated robot that takes velocities: what it drives, what it tells of that, and what it refuses.

Waits are for what the robot tells, in its own time; nothing depends on how fast the machine is.
"""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from eqa_interfaces.srv import Act
from geometry_msgs.msg import Twist
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import PointCloud2

from eqa_nodes.core.components import SIMULATORS
from eqa_nodes.core.errors import ErrorCode
from eqa_nodes.core.types.geometry import Pose2, pose2_of
from eqa_nodes.ros import convert
from eqa_nodes.wire import messages
from eqa_nodes.wire.graph import TOPICS
from tests.fixtures.velocity_driver import START, WAIT_S, Driver


@pytest.fixture
def driver(ros: Any) -> Driver:
    return Driver(ros)


def test_it_drives_and_odometry_transforms_and_clock_agree(driver: Driver) -> None:
    driver.reset()
    driver.wanted = (0.4, 0.0)
    driver.until(lambda: driver.pose().x > START.x + 0.5)
    driver.wanted = None
    driver.until(lambda: driver.odom[-1].twist.twist.linear.x == 0.0)
    speeds = [m.twist.twist.linear.x for m in driver.odom]
    stamps = [messages.stamp_of(m) for m in driver.odom]
    assert max(speeds) == pytest.approx(0.4) and driver.pose().y == pytest.approx(START.y)
    for (a, b), (before, after) in zip(pairwise(speeds), pairwise(stamps), strict=True):
        assert abs(b - a) <= 1.5 * (after - before) / 1e9 + 1e-3  # accelerate_m_s2
    last = stamps[-1]
    driver.until(lambda: last in driver.clock)
    assert driver.clock == sorted(set(driver.clock))
    at = driver.tf.lookup(convert.MAP, convert.BASE, last)
    assert at == messages.pose_of(driver.odom[stamps.index(last)].pose.pose)
    status = driver.act(Act.Request.STATUS)
    assert status.steps == 0 and status.metres == pytest.approx(driver.pose().x - START.x)


def test_limits_hold_whatever_is_sent(driver: Driver) -> None:
    driver.reset()
    driver.wanted = (9.0, -9.0)
    driver.until(lambda: driver.odom[-1].twist.twist.angular.z < -1.49)
    driver.later(0.5)
    assert max(m.twist.twist.linear.x for m in driver.odom) <= 0.5 + 1e-6
    assert min(m.twist.twist.angular.z for m in driver.odom) >= -1.5 - 1e-6


def test_the_scan_measures_the_way_to_the_wall(driver: Driver) -> None:
    driver.reset(Pose2(4.5, 1.0, 0.0))
    driver.until(lambda: len(driver.scans) > 1)
    scan = driver.scans[-1]
    ahead = scan.ranges[round(-scan.angle_min / scan.angle_increment)]
    assert scan.header.frame_id == convert.SCAN and ahead == pytest.approx(1.0, abs=0.02)
    assert scan.angle_max == pytest.approx(scan.angle_min + (len(scan.ranges) - 1) * scan.angle_increment)
    stamp = messages.stamp_of(scan)
    driver.until(lambda: stamp in driver.depth)
    assert driver.tf.lookup(convert.BASE, convert.SCAN, stamp).xyz == (0.0, 0.0, pytest.approx(0.3))
    driver.tf.lookup(convert.MAP, convert.CAMERA, stamp)  # of exactly that moment


def test_depth_is_a_point_cloud_for_who_asks_for_it(driver: Driver) -> None:
    clouds: list[Any] = []
    driver.node.create_subscription(PointCloud2, TOPICS["points"].name, lambda m: driver._take(clouds.append, m),
                                    QoSProfile(depth=5, reliability=ReliabilityPolicy.BEST_EFFORT))
    driver.reset(Pose2(4.5, 1.0, 0.0))
    driver.until(lambda: len(clouds) > 0)
    points = np.frombuffer(clouds[0].data, "<f4").reshape(-1, 3)
    assert clouds[0].header.frame_id == convert.CAMERA and clouds[0].width == len(points) > 0
    assert [field.name for field in clouds[0].fields] == ["x", "y", "z"] and clouds[0].point_step == 12
    level = points[(abs(points[:, 1]) < 0.1) & (abs(points[:, 0]) < 0.2)]
    assert level[:, 2] == pytest.approx(1.0, abs=0.02)  # the wall, straight ahead
    driver.placed(convert.MAP, convert.CAMERA, messages.stamp_of(clouds[0]))


def test_odometry_drifts_and_corrections_bring_the_robot_back_in_the_map(ros: Any) -> None:
    driver = Driver(ros, senses__wheels__drift=0.2, senses__localisation__by="corrections",
                    senses__localisation__update_m=0.0, senses__localisation__error_m=0.0)
    driver.reset()
    driver.wanted = (0.4, 0.0)
    driver.until(lambda: driver.pose().x > 1.0)
    driver.wanted = None
    driver.until(lambda: driver.odom[-1].twist.twist.linear.x == 0.0)
    driver.later(2.0)  # a correction is of one second before
    metres = driver.act(Act.Request.STATUS).metres
    assert abs(driver.pose().x / metres - 1) == pytest.approx(0.2, abs=0.01)  # odometry began at 0
    believed = pose2_of(driver.placed(convert.MAP, convert.BASE, driver.now_ns()))
    assert believed.distance(Pose2(START.x + metres, START.y, 0.0)) < 0.01


def test_a_wall_stops_it(driver: Driver) -> None:
    driver.reset(Pose2(4.5, 1.0, 0.0))
    driver.wanted = (0.5, 0.0)
    driver.until(lambda: driver.pose().x > 5.28 and driver.odom[-1].twist.twist.linear.x < 0.01)
    driver.later(0.5)
    assert driver.pose().x <= 5.5 - 0.18 + 1e-6 and driver.act(Act.Request.STATUS).collided
    assert driver.bridge.counts["contact with an obstacle"] >= 1
    driver.wanted = (-0.2, 0.0)
    driver.until(lambda: driver.pose().x < 5.2)  # and lets it go again
    assert not driver.act(Act.Request.STATUS).collided


def test_without_commands_it_stops(driver: Driver) -> None:
    driver.reset()
    driver.wanted = (0.3, 0.5)
    driver.later(0.5)
    driver.wanted = None
    driver.until(lambda: driver.odom[-1].twist.twist.linear.x == 0.0 == driver.odom[-1].twist.twist.angular.z)
    stood = driver.pose()
    driver.later(0.5)
    assert driver.pose() == stood != START


def test_a_twist_without_stamp_does_too(ros: Any) -> None:
    driver = Driver(ros, stamped=False)
    driver.reset()
    driver.wanted = (0.0, 1.0)
    driver.until(lambda: driver.pose().yaw > 0.5)
    assert driver.pose()[:2] == pytest.approx(START[:2])
    driver.wanted = None
    driver.bridge._velocities._on_command(Twist(), {"source_timestamp": 1})  # sent long before, heard now
    assert driver.bridge.counts["command from before the episode"] >= 1  # one may have been on its way


def test_a_reset_places_it_and_forgets_what_was_sent(driver: Driver) -> None:
    first = messages.stamp_of(driver.reset().episode)
    driver.wanted = (0.5, 0.0)
    driver.until(lambda: driver.odom[-1].twist.twist.linear.x > 0.3)
    driver.wanted = None
    there = Pose2(2.75, 1.75, math.pi / 2)
    begun = messages.stamp_of(driver.reset(there).episode)
    driver.send(0.5, 0.0, first)  # from before
    driver.later(0.5)
    assert driver.pose() == pytest.approx(there) and first < begun <= min(
        messages.stamp_of(m) for m in driver.odom if messages.pose_of(m.pose.pose).xyz[:2] == (2.75, 1.75))
    assert driver.clock == sorted(set(driver.clock))
    assert driver.bridge.counts["command from before the episode"] >= 1  # one may have been on its way


def test_nothing_is_shown_before_the_episode_is_announced(driver: Driver) -> None:
    begun = driver.reset(announce=False).episode
    driver.later(1.0)
    assert not driver.depth and not driver.scans
    driver._episode.publish(begun)
    driver.until(lambda: bool(driver.depth))
    assert driver.depth[0] >= messages.stamp_of(begun)


def test_a_reset_that_fails_leaves_no_episode_and_the_next_one_begins(driver: Driver) -> None:
    begun = messages.stamp_of(driver.reset().episode)
    assert driver.reset(Pose2(0.1, 0.1, 0.0)).error_code == ErrorCode.BAD_POSE
    assert "the bridge has no episode" in driver.act(Act.Request.STATUS).error_message
    again = driver.reset()
    assert again.error_code == 0 and messages.stamp_of(again.episode) > begun
    assert driver.clock == sorted(set(driver.clock))


@pytest.mark.parametrize("action", [Act.Request.MOVE_FORWARD, Act.Request.OBSERVE])
def test_atomic_actions_are_refused(driver: Driver, action: int) -> None:
    assert driver.act(Act.Request.STATUS).error_code == ErrorCode.SIMULATOR  # no episode
    driver.reset()
    refused = driver.act(action)
    assert refused.error_code == ErrorCode.SIMULATOR and "cmd_vel" in refused.error_message
    assert driver.act(Act.Request.STATUS).error_code == 0


def test_a_command_that_is_none_is_counted(driver: Driver) -> None:
    driver.reset()
    for forward in (math.nan, math.inf):
        driver.send(forward, 0.0, driver.now_ns())
    driver.until(lambda: driver.bridge.counts["command of a velocity that is not finite"] == 2)
    assert driver.pose() == START


def test_time_waits_for_who_takes_it_in(ros: Any) -> None:
    """An observer that says nothing: time stands still until the deadline, is not silently lost, and goes on."""
    driver = Driver(ros, observers=["watcher"], acknowledged_deadline_s=0.5, repeat_s=0.2)
    driver.reset()
    driver.until(lambda: driver.bridge.counts["observation that was not taken in by all observers"] > 1)
    assert driver.bridge.counts["time waited for those who take in what was shown"] > 0
    assert driver.bridge.counts["observation published again"] > 0
    assert driver.clock == sorted(set(driver.clock))


def test_a_simulator_without_velocities_is_named(ros: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class Photograph:
        """Of the world; takes no velocities."""

    monkeypatch.setitem(SIMULATORS, "photograph", Photograph)
    refused = Driver(ros).reset(scene="photograph:1")
    assert refused.error_code == ErrorCode.SIMULATOR and "Photograph takes no velocities" in refused.error_message


def test_a_reset_does_not_wait_for_who_is_gone(ros: Any) -> None:
    driver = Driver(ros, observers=["watcher"], acknowledged_deadline_s=10 * WAIT_S, repeat_s=0.2)
    driver.reset()
    driver.until(lambda: driver.bridge.counts["time waited for those who take in what was shown"] > 0)
    there = Pose2(2.75, 1.75, 1.0)
    assert driver.reset(there).error_code == 0
    driver.until(lambda: driver.pose() == pytest.approx(there))


def test_it_drives_at_a_date_as_at_the_begin_of_time(ros: Any) -> None:
    driver, date_ns = Driver(ros, clock_start="2026-11-12T08:30+00:00"), 1_794_472_200 * 10**9
    driver.reset()
    driver.wanted = (0.4, 0.0)
    driver.until(lambda: driver.pose().x > START.x + 0.2)
    driver.wanted = None
    driver.until(lambda: driver.odom[-1].twist.twist.linear.x == 0.0)
    assert min(messages.stamp_of(m) for m in driver.odom) >= date_ns and min(driver.clock) >= date_ns
