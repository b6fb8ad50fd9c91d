"""A robot's camera is recorded as it publishes: compressed, unsynchronised, two, and after its clock was set back."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

import threading
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from eqa_interfaces.msg import Episode
from rosbags.highlevel import AnyReader

from eqa_nodes.core.camera.config import CameraConfig
from eqa_nodes.nodes.recorder import RecorderNode
from eqa_nodes.recordings.bags.history import BagHistory, BagOptions
from eqa_nodes.ros.interfaces import interface, qos
from eqa_nodes.ros.remote import Remotes
from eqa_nodes.wire import messages
from eqa_nodes.wire.graph import TOPICS
from tests.fixtures.camera_robot import BEGIN_NS, CameraRobot, Feed
from tests.fixtures.house_views import shots

WAIT_S = 60.0


class Taping:
    """A recorder that hears a robot."""

    def __init__(self, ros: Any, folder: Path, feed: Feed, **parameters: Any) -> None:
        told = {f"node__{which}__{name}": value for which in ("camera", "second_camera")
                for name, value in asdict(feed.camera).items()}
        self.recorder = ros.add(RecorderNode, folder=str(folder), **told,
                                **parameters)
        self._node = ros.plain("robot")
        self.robot = CameraRobot(self._node, feed, second="node__second_camera__present" in parameters)
        self._heard, self.taken = threading.Condition(), set[int]()
        self._node.create_subscription(interface(TOPICS["acknowledged"].type), TOPICS["acknowledged"].name, self._on,
                                       qos("event"))
        self.begin("walk")
        self._until(lambda: self.robot.listened_to(1))

    def begin(self, episode_id: str) -> None:
        episode = Episode(episode_id=episode_id)
        episode.header.stamp.sec = BEGIN_NS // 10**9 - 200
        assert Remotes(self._node).service("reset_recorder").call(WAIT_S, episode=episode).error_code == 0

    def _on(self, header: Any) -> None:
        with self._heard:
            self.taken.add(messages.ns_of(header.stamp))
            self._heard.notify_all()

    def _until(self, done: Any) -> None:
        with self._heard:
            assert self._heard.wait_for(done, WAIT_S), (self.recorder.counts, self.taken)

    def show(self, *numbers: int) -> None:
        for number in numbers:
            self.robot.show(number)
            self._until(lambda at=number: self.robot.stamp(at) in self.taken)


def test_compressed_images_of_two_cameras_are_kept_as_they_came(ros: Any, tmp_path: Path) -> None:
    feed = Feed(CameraConfig(True, True, tolerance_s=0.02), "16UC1", False, 7_000_000)
    taping = Taping(ros, tmp_path, feed, node__second_camera__present=True)
    taping.show(*range(5))
    taping.begin("")
    with AnyReader([tmp_path / "walk"]) as bag:
        counts = {topic: info.msgcount for topic, info in bag.topics.items() if topic.startswith("/camera")}
    names = ("color/image_raw/compressed", "depth/image_raw/compressedDepth", "color/camera_info")
    assert counts.keys() == {f"/{camera}/{name}" for camera in ("camera", "camera2") for name in names}
    assert all(count in (4, 5) for count in counts.values()), counts  # the last of a moment may come after its end
    one = {role: f"/camera/{name}" for role, name in zip(("color", "depth"), names, strict=False)}
    frames = list(BagHistory(tmp_path / "walk", options=BagOptions(one)))
    assert len(frames) >= 4
    for frame, shot in zip(frames, shots(), strict=False):
        assert np.abs(frame.depth_m - shot.depth_m).max() <= 0.00051
        assert np.abs(frame.rgb.astype(int) - shot.rgb).mean() < 3


def test_a_clock_that_is_set_back_begins_another_bag(ros: Any, tmp_path: Path) -> None:
    taping = Taping(ros, tmp_path, Feed(CameraConfig(tolerance_s=0.02), back_at=3))
    taping.show(0, 1, 2)
    for number in (3, 4):
        taping.robot.show(number)
    taping.show(5, 6, 7)
    taping.begin("")
    first, second = sorted(tmp_path.iterdir())
    assert [f.stamp_ns for f in BagHistory(first)][:3] == [taping.robot.stamp(n) for n in (0, 1, 2)]
    assert {taping.robot.stamp(n) for n in (6, 7)} <= {f.stamp_ns for f in BagHistory(second)}
    assert taping.recorder.counts["time went back by 100 s: another bag begins"] == 1
