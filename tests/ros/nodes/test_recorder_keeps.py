"""Whatever order and whatever stamps a robot's topics have, each message is in the bag, or is counted as lost."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from eqa_interfaces.msg import Episode
from rosbags.highlevel import AnyReader

from eqa_nodes.core.types.views import Intrinsics
from eqa_nodes.nodes.recorder import OBSERVATION, RecorderNode
from eqa_nodes.ros import convert
from eqa_nodes.ros.interfaces import interface, qos
from eqa_nodes.ros.rates import WARN
from eqa_nodes.ros.remote import Remotes
from eqa_nodes.testing.waiting import until
from eqa_nodes.wire.graph import TOPICS
from tests.fixtures.recorder_rig import LOSSLESS, no_room_once

K = Intrinsics(16, 12, 8.0, 8.0, 8.0, 6.0)
RGB, DEPTH = np.full((12, 16, 3), 90, np.uint8), np.full((12, 16), 2000, np.uint16)
MS, BEGIN_NS = 1_000_000, 1_000_000_000_000
WAIT_S = 60.0
Moment = Iterator[tuple[str, int]]


class Robot:
    """Publishes parts of moments, with any stamps and in any order; nothing is shown again."""

    def __init__(self, ros: Any, folder: Path, **parameters: Any) -> None:
        self.folder = folder / "walk"
        self.recorder = ros.add(RecorderNode, folder=str(folder), **LOSSLESS | parameters)
        node = ros.plain("robot")
        self.out = {key: node.create_publisher(interface(TOPICS[key].type), TOPICS[key].name, qos(TOPICS[key].qos))
                     for key in OBSERVATION}
        self._reset = Remotes(node).service("reset_recorder")
        until(lambda: all(out.get_subscription_count() for out in self.out.values()))
        self._begin("walk")
        self.sent = Counter[str]()

    def _begin(self, episode_id: str) -> None:
        episode = Episode(episode_id=episode_id)
        episode.header.stamp.sec = BEGIN_NS // 10**9 - 1
        assert self._reset.call(WAIT_S, episode=episode).error_code == 0

    def show(self, moment: Moment) -> None:
        """Publish the parts of a moment, each when the recorder has written what was before."""
        for key, stamp in moment:
            message = {"color": lambda at: convert.image_msg(RGB, "rgb8", at),
                       "depth": lambda at: convert.image_msg(DEPTH, "16UC1", at),
                       "camera_info": lambda at: convert.camera_info_msg(K, at),
                       "odom": lambda at: interface("nav_msgs/msg/Odometry")(header=convert.header(at))}[key](stamp)
            self.out[key].publish(message)
            self.sent[key] += 1
            until(lambda name=TOPICS[key].name, n=self.sent[key]: self.recorder.diagnostics.received(name) == n)
            until(lambda: not self.recorder.diagnostics.read("waits to be written [MB]"))

    def end(self) -> Counter[str]:
        """End the bag; return the number of messages in all bags by topic."""
        self._begin("")
        found = Counter[str]()
        for folder in self.folder.parent.iterdir():
            with AnyReader([folder]) as bag:
                found += Counter({topic: info.msgcount for topic, info in bag.topics.items()})
        return Counter({key: found["/" + TOPICS[key].name] for key in OBSERVATION})


def stamps(number: int, period_ms: int = 100) -> int:
    """Return when a moment is."""
    return BEGIN_NS + number * period_ms * MS


def together(*order: str) -> Callable[[int], Moment]:
    """Return moments whose parts have one stamp and come in this order."""
    return lambda number: ((key, stamps(number)) for key in order)


def apart(**ahead_ms: int) -> Callable[[int], Moment]:
    """Return moments whose parts are stamped so much apart; they come in the order that is given."""
    return lambda number: ((key, stamps(number) + ms * MS) for key, ms in ahead_ms.items())


def _slow_depth(number: int) -> Moment:
    """Colour at 30 Hz, depth at 10 Hz, intrinsics with each of both."""
    for k in range(3):
        yield from (("camera_info", stamps(number) + 33 * k * MS), ("color", stamps(number) + 33 * k * MS))
    yield from (("depth", stamps(number)), ("camera_info", stamps(number)))


def _two_of_one_stamp(number: int) -> Moment:
    yield from together("color", "color", "depth", "depth", "camera_info", "odom")(number)


def _going_back(number: int) -> Moment:
    """Each second image is stamped before the one that came first."""
    yield from together("depth", "color", "camera_info")(number ^ 1)


MOMENTS = {
    "depth first": together("depth", "color", "camera_info", "odom"),
    "depth in the middle": together("camera_info", "depth", "color", "camera_info"),
    "depth last": together("odom", "camera_info", "color", "depth"),
    "depth 20 ms early": apart(depth=-20, color=0, camera_info=0),
    "depth 20 ms late": apart(color=0, camera_info=0, depth=20),
    "colour's clock is 30 s ahead": apart(depth=0, color=30_000, camera_info=30_000),
    "other rates": _slow_depth, "two of one stamp": _two_of_one_stamp, "stamps go back": _going_back,
}


BRIEF = ("depth last", "depth 20 ms late", "colour's clock is 30 s ahead", "other rates", "stamps go back")


@pytest.mark.parametrize("moment", [pytest.param(moment, id=name, marks=[] if name in BRIEF else pytest.mark.thorough)
                                    for name, moment in MOMENTS.items()])
def test_each_message_of_a_robot_is_in_the_bag(ros: Any, tmp_path: Path, moment: Callable[[int], Moment]) -> None:
    robot = Robot(ros, tmp_path, node__camera__tolerance_s=0.03)
    for number in range(1, 13):
        robot.show(moment(number))
    assert robot.end() == robot.sent
    assert not robot.recorder.counts and len(list(tmp_path.iterdir())) == 1


def test_exact_stamps_come_in_any_order_too(ros: Any, tmp_path: Path) -> None:
    """With a tolerance of 0, as in lock-step; what then comes again of one stamp is one message."""
    robot = Robot(ros, tmp_path)
    for number in range(1, 13):
        robot.show(together("depth", "odom", "color", "camera_info", "depth")(number))
    assert robot.end() == robot.sent - Counter(depth=12)


def test_what_is_lost_is_shown_on_diagnostics_and_told_in_the_log(ros: Any, tmp_path: Path,
                                                                  monkeypatch: pytest.MonkeyPatch) -> None:
    """While the recorder is held up, the middleware keeps the newest ten images; then one image finds no room."""
    robot, held = Robot(ros, tmp_path, node__camera__tolerance_s=0.03), threading.Event()
    robot.show(together("color", "depth")(1))
    no_room_once(monkeypatch)
    robot.show(together("depth")(2))
    report, told = robot.recorder.diagnostics.report("recording"), list[str]()
    assert report.verdict == (WARN, "1 messages are lost")
    assert "2 came" in report.values["camera/depth/image_raw"]
    assert "1 dropped" in report.values["camera/depth/image_raw"]

    record = robot.recorder._keep
    monkeypatch.setattr(robot.recorder, "_keep", lambda *part: (held.wait(WAIT_S), record(*part)))
    topic, sent = TOPICS["color"].name, 40
    out = robot.out["color"]
    for number in range(3, 3 + sent):
        out.publish(convert.image_msg(RGB, "rgb8", stamps(number)))
    held.set()
    lost = robot.recorder.diagnostics.lost
    until(lambda: robot.recorder.diagnostics.received(topic) + lost()[topic] == sent + 1)
    assert lost()[topic] > 0
    logger = SimpleNamespace(warning=told.append, info=told.append)
    monkeypatch.setattr(robot.recorder, "get_logger", lambda: logger)
    found = robot.end()
    assert found["color"] == sent + 1 - lost()[topic]
    assert told == [f"bag {tmp_path / 'walk'}: {found.total()} messages. "
                    f"{topic}: {found['color']} recorded, and not {lost()[topic]} lost on the way to the recorder; "
                    "camera/depth/image_raw: 1 recorded, and not 1 that came and were dropped or refused"]


def test_what_comes_again_or_from_before_the_episode_is_no_loss(ros: Any, tmp_path: Path,
                                                                monkeypatch: pytest.MonkeyPatch) -> None:
    """An image that found no room is recorded when it is shown again; a camera whose clock is late is told apart."""
    robot, told = Robot(ros, tmp_path), list[str]()
    no_room_once(monkeypatch)
    for _ in range(3):
        robot.show(together("color", "depth", "camera_info")(1))
    robot.show(iter([("camera_info", BEGIN_NS - 2_000 * MS)]))
    logger = SimpleNamespace(warning=told.append, info=told.append)
    monkeypatch.setattr(robot.recorder, "get_logger", lambda: logger)
    assert robot.end() == Counter(color=1, depth=1, camera_info=1)
    assert told == [f"bag {tmp_path / 'walk'}: 3 messages. camera/color/camera_info: 1 recorded, and not 1 stamped "
                    "before the episode began"]
