"""The bridge is lock-step: an action ends when every observer has taken in what it showed, or with a named error."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

import math
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
from eqa_interfaces.msg import Episode
from eqa_interfaces.srv import Act
from sensor_msgs.msg import Image
from std_msgs.msg import Header
from tf2_msgs.msg import TFMessage

from eqa_nodes.core.errors import BadFrame, ErrorCode
from eqa_nodes.core.types.geometry import Pose2, Transform, camera_mount
from eqa_nodes.core.types.robot import RobotModel
from eqa_nodes.nodes.bridge import BridgeNode
from eqa_nodes.ros import convert
from eqa_nodes.ros.interfaces import qos
from eqa_nodes.ros.remote import Remotes
from eqa_nodes.testing.waiting import WAIT_S, until
from eqa_nodes.wire import messages
from eqa_nodes.wire.graph import TOPICS
from eqa_nodes.wire.transforms import TfBuffer

SMALL = {"robot__camera__width": 32, "robot__camera__height": 24}


class Driver:
    """A client of the bridge, and an observer that acknowledges depth images when told to."""

    def __init__(self, ros: Any, **parameters: Any) -> None:
        mine = {"observers": ["watcher"], "repeat_s": 0.2, "acknowledged_deadline_s": 30.0, **SMALL, **parameters}
        ros.add(BridgeNode, **mine)
        self.node = ros.plain("watcher")
        self.acknowledge, self.seen = True, []
        self.free = threading.Event()  # until it is set, a view is not finished with
        self.free.set()
        self._acknowledged = self.node.create_publisher(Header, TOPICS["acknowledged"].name, qos("event"))
        self.node.create_subscription(Image, TOPICS["depth"].name, self._on_depth, qos("frame"))
        remotes = Remotes(self.node)
        self._act, self._reset = remotes.service("act"), remotes.service("reset_simulator")

    def _on_depth(self, image: Image) -> None:
        self.seen.append(messages.ns_of(image.header.stamp))
        assert self.free.wait(WAIT_S)
        if self.acknowledge:
            self._acknowledged.publish(Header(stamp=image.header.stamp, frame_id="watcher"))

    def reset(self, scene: str = "toy:room", **fields: Any) -> Any:
        return self._reset.exchange(60.0, episode=Episode(scene=scene, episode_id="e", **fields))

    def act(self, action: int) -> Any:
        return self._act.exchange(60.0, action=action)


@pytest.fixture
def driver(ros: Any) -> Driver:
    return Driver(ros)


def test_nothing_is_shown_before_the_first_observe(driver: Driver) -> None:
    assert driver.act(Act.Request.STATUS).error_code == ErrorCode.SIMULATOR
    begun = driver.reset()
    assert begun.error_code == 0 and not driver.seen
    shown = driver.act(Act.Request.OBSERVE)
    assert shown.steps == 0
    assert driver.seen[-1] == messages.ns_of(shown.stamp) == messages.ns_of(begun.episode.header.stamp)


def test_an_action_waits_for_its_observer(driver: Driver) -> None:
    driver.reset()
    driver.act(Act.Request.OBSERVE)
    begun = len(driver.seen)
    driver.free.clear()
    with ThreadPoolExecutor(1) as client:
        turn = client.submit(driver.act, Act.Request.TURN_LEFT)
        until(lambda: len(driver.seen) > begun, "the turn is shown")
        assert not turn.done()
        driver.free.set()
        response = turn.result(WAIT_S)
    assert response.steps == 1
    assert messages.ns_of(response.stamp) == driver.seen[-1]


def test_an_observer_that_missed_a_message_is_shown_again(driver: Driver) -> None:
    driver.reset()
    driver.act(Act.Request.OBSERVE)
    driver.acknowledge = False
    threading.Timer(0.5, lambda: setattr(driver, "acknowledge", True)).start()
    response = driver.act(Act.Request.MOVE_FORWARD)
    stamp = messages.ns_of(response.stamp)
    assert response.error_code == 0 and response.steps == 1 and driver.seen.count(stamp) >= 2


def test_an_observer_that_is_gone_is_named(ros: Any) -> None:
    driver = Driver(ros, acknowledged_deadline_s=1.5)
    driver.reset()
    driver.acknowledge = False
    response = driver.act(Act.Request.OBSERVE)
    assert response.error_code == ErrorCode.NODE_LOST and "watcher did not take in" in response.error_message


def _start(x: float, y: float) -> dict[str, Any]:
    return {"use_start": True, "start": convert.pose_msg(Pose2(x, y, 0.0).transform())}


@pytest.mark.parametrize(("request_", "code", "complaint"), [
    ({"scene": "castle:1"}, ErrorCode.UNKNOWN_SCENE, "castle:1.*house"),
    ({"scene": "toy:cellar"}, ErrorCode.UNKNOWN_SCENE, "cellar.*flat.*room"),
    (_start(0.1, 0.1), ErrorCode.BAD_POSE, "free floor"), (_start(float("nan"), 0.0), ErrorCode.BAD_POSE, "nan")])
def test_bad_episodes_are_named_errors(driver: Driver, request_: dict[str, Any], code: ErrorCode,
                                       complaint: str) -> None:
    import re

    response = driver.reset(**request_)
    assert response.error_code == code and re.search(complaint, response.error_message)


def test_the_episode_ends_at_its_step_limit(driver: Driver) -> None:
    driver.reset(max_steps=1)
    driver.act(Act.Request.OBSERVE)
    assert driver.act(Act.Request.TURN_LEFT).error_code == 0
    over = driver.act(Act.Request.TURN_LEFT)
    assert over.error_code == ErrorCode.SIMULATOR and "over after 1 steps" in over.error_message


def test_stamps_never_go_back_over_episodes(driver: Driver) -> None:
    stamps = []
    for _ in range(2):
        stamps.append(messages.ns_of(driver.reset().episode.header.stamp))
        driver.act(Act.Request.OBSERVE)
        stamps.append(messages.ns_of(driver.act(Act.Request.TURN_RIGHT).stamp))
    assert stamps == sorted(set(stamps))


class Listener:
    """Hears transforms as tf2 does, and has a buffer of them."""

    def __init__(self, ros: Any) -> None:
        node = ros.plain("listener")
        self.tf, self.parents = TfBuffer(), dict[str, dict[str, str]]()
        for key in ("tf", "tf_static"):
            node.create_subscription(TFMessage, TOPICS[key].name, partial(self._on, key), qos(TOPICS[key].qos))

    def _on(self, key: str, message: TFMessage) -> None:
        for t in message.transforms:
            self.parents.setdefault(key, {})[t.child_frame_id] = t.header.frame_id
            self.tf.put(t.header.frame_id, t.child_frame_id, messages.stamp_of(t), messages.transform_of(t),
                        key == "tf_static")

    def camera(self, stamp: int) -> Transform:
        def there() -> bool:
            with suppress(BadFrame):
                return bool(self.tf.lookup(convert.MAP, convert.CAMERA, stamp))
            return False

        until(there, "the transforms of the observation")
        return self.tf.lookup(convert.BASE, convert.CAMERA, stamp)


def test_the_mount_is_static_and_the_head_tilts(driver: Driver, ros: Any) -> None:
    """Whoever composes the transforms gets the camera's pose bit for bit."""
    body = RobotModel()
    driver.reset()
    late = Listener(ros)  # static transforms are for late subscribers too
    first = messages.ns_of(driver.act(Act.Request.OBSERVE).stamp)
    for stamp, look_deg in ((first, 0.0), (messages.ns_of(driver.act(Act.Request.LOOK_DOWN).stamp), body.look_deg)):
        tilt_deg = body.camera.tilt_down_deg + look_deg
        assert late.camera(stamp) == camera_mount(body.camera.height_m, math.radians(tilt_deg)), tilt_deg
    assert late.parents == {"tf": {"odom": "map", "base_link": "odom", "camera_link": "camera_mount"},
                            "tf_static": {"camera_mount": "base_link",
                                          "camera_color_optical_frame": "camera_link"}}


def test_the_clock_starts_at_a_date(ros: Any) -> None:
    driver = Driver(ros, clock_start="2026-11-12T08:30+00:00")
    begun = messages.ns_of(driver.reset().episode.header.stamp)
    again = messages.ns_of(driver.reset().episode.header.stamp)
    assert 0 < begun - 1_794_472_200 * 10**9 < 60 * 10**9 and begun < again < begun + 60 * 10**9
