"""The perception node: what it publishes a robot's memory takes in as labels, and nothing of it is privileged."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

import threading
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from eqa_interfaces.msg import Episode

from eqa_nodes.core.perception.detection import Detection
from eqa_nodes.core.perception.tracking import Perceiver
from eqa_nodes.core.types.geometry import Transform
from eqa_nodes.core.types.views import Frame, Label
from eqa_nodes.nodes import perception
from eqa_nodes.nodes.memory import MemoryNode
from eqa_nodes.nodes.perception import PerceptionNode
from eqa_nodes.perception.oracle import ScriptedDetector
from eqa_nodes.ros import convert
from eqa_nodes.ros.interfaces import interface, qos
from eqa_nodes.ros.remote import Remotes
from eqa_nodes.testing.waiting import WAIT_S
from eqa_nodes.wire import messages
from eqa_nodes.wire.graph import TOPICS
from tests.fixtures.frames import frame

SECOND = 1_000_000_000
CUP = Detection("cup", 0.75, (20, 10, 30, 20))
HEARD = ("detected", "detected_table", "detections", "acknowledged", "keyframes")


def view(stamp: int) -> Frame:
    """Return a wall with something cup-sized before it."""
    shown = frame(stamp)
    shown.depth_m[10:20, 20:30] = 1.5
    return shown


class Robot:
    """Publishes observations without labels, and hears what is made of them."""

    def __init__(self, ros: Any) -> None:
        self.node = ros.plain("robot")
        self._out = {key: self.node.create_publisher(interface(TOPICS[key].type), TOPICS[key].name,
                                                     qos(TOPICS[key].qos))
                     for key in ("color", "depth", "camera_info", "tf")}
        self._changed = threading.Condition()
        self.heard: dict[str, list[Any]] = {key: [] for key in HEARD}
        for key, store in self.heard.items():
            topic = TOPICS[key]
            self.node.create_subscription(interface(topic.type), topic.name, partial(self._on, store), qos(topic.qos))

    def begin(self, *nodes: str) -> None:
        for name in nodes:
            assert Remotes(self.node).service(f"reset_{name}").call(WAIT_S, episode=Episode(episode_id="e")) is not None

    def show(self, shown: Frame) -> None:
        stamp = shown.stamp_ns
        tf = [convert.transform_msg(convert.MAP, convert.ODOM, stamp, Transform.identity()),
              convert.transform_msg(convert.ODOM, convert.BASE, stamp, shown.map_from_base),
              convert.transform_msg(convert.BASE, convert.CAMERA, stamp, shown.base_from_camera)]
        for key, message in (("tf", interface("tf2_msgs/msg/TFMessage")(transforms=tf)),
                             ("camera_info", convert.camera_info_msg(shown.intrinsics, stamp)),
                             ("color", convert.image_msg(shown.rgb, "rgb8", stamp)),
                             ("depth", convert.image_msg(shown.depth_m, "32FC1", stamp))):
            self._out[key].publish(message)

    def until(self, shown: Frame, *who: str) -> None:
        """Show an observation until all of these have taken it in."""
        end = time.monotonic() + WAIT_S
        while time.monotonic() < end:
            self.show(shown)
            with self._changed:
                if self._changed.wait_for(lambda: {*who} <= self._takers(shown.stamp_ns), 1.0):
                    return
        pytest.fail(f"{who} did not take in the observation, but {self._takers(shown.stamp_ns)}")

    def wait(self, key: str, stamp: int) -> Any:
        """Return the message of this stamp, once it is heard."""
        with self._changed:
            came = self._changed.wait_for(lambda: any(messages.stamp_of(m) == stamp for m in self.heard[key]), WAIT_S)
            assert came, f"no {key} of {stamp}"
            return next(m for m in self.heard[key] if messages.stamp_of(m) == stamp)

    def _takers(self, stamp: int) -> set[str]:
        return {m.frame_id for m in self.heard["acknowledged"] if messages.ns_of(m.stamp) >= stamp}

    def _on(self, store: list[Any], message: Any) -> None:
        with self._changed:
            store.append(message)
            self._changed.notify_all()


@pytest.fixture
def detector(monkeypatch: pytest.MonkeyPatch) -> ScriptedDetector:
    scripted = ScriptedDetector([[CUP]] * 50)
    monkeypatch.setattr(perception, "open_perceiver", lambda detector, config: Perceiver(scripted, config))
    return scripted


def test_memory_knows_things_from_detections_and_no_view_is_privileged(ros: Any, detector: ScriptedDetector,
                                                                       tmp_path: Path) -> None:
    ros.add(PerceptionNode, detector__name="transformers")
    memory = ros.add(MemoryNode, folder=str(tmp_path), labels=True, labels_from="detector")
    robot = Robot(ros)
    robot.begin("perception", "memory")
    for k in (1, 2, 3):
        robot.until(view(k * SECOND), "perception", "memory")
    (boxed,) = robot.wait("detections", SECOND).detections
    assert boxed.id == "1" and boxed.results[0].hypothesis.class_id == "cup"
    assert boxed.results[0].hypothesis.score == 0.75 and boxed.bbox.center.position.x == pytest.approx(1.6, abs=0.2)
    labels = messages.pixels_of(robot.wait("detected", 3 * SECOND))
    assert labels.dtype == np.uint16 and (labels[10:20, 20:30] == 1).all() and (labels > 0).sum() == 100
    table = messages.label_table_of(robot.wait("detected_table", 3 * SECOND))
    assert table == {1: Label(1, "cup", "", {}, detected=True)}
    kept = robot.wait("keyframes", SECOND)
    assert not kept.privileged and messages.keyframe_of(kept).sightings[0].label.detected
    assert memory.store is not None and [o.kind for o in memory.store.objects()] == ["cup"]
    assert not memory.store.keyframe(1).privileged
    assert len(detector.frames) == 3, "an observation that comes again is not looked at again"


def test_a_new_episode_begins_with_number_one_and_one_that_goes_on_does_not(ros: Any,
                                                                            detector: ScriptedDetector) -> None:
    node = ros.add(PerceptionNode, detector__name="transformers")
    robot = Robot(ros)
    robot.begin("perception")
    robot.until(view(SECOND), "perception")
    node.begin(Episode(episode_id="f", keep_memory=True), late=False)
    robot.until(view(2 * SECOND), "perception")
    node.begin(Episode(episode_id="g"), late=False)
    robot.until(view(3 * SECOND), "perception")
    node.begin(Episode(episode_id="g"), late=True)
    robot.until(view(4 * SECOND), "perception")
    numbers = [robot.wait("detections", k * SECOND).detections[0].id for k in (1, 2, 3, 4)]
    assert numbers == ["1", "2", "1", "30001"]


def test_with_newest_a_slow_detector_passes_over_and_memory_goes_on(ros: Any, detector: ScriptedDetector,
                                                                    monkeypatch: pytest.MonkeyPatch,
                                                                    tmp_path: Path) -> None:
    ready, begun, real = threading.Semaphore(0), threading.Event(), detector.detect

    def slow(frame: Frame, labels: Any) -> Any:
        begun.set()
        assert ready.acquire(timeout=WAIT_S)
        return real(frame, labels)

    monkeypatch.setattr(detector, "detect", slow)
    node = ros.add(PerceptionNode, detector__name="transformers", newest=True)
    memory = ros.add(MemoryNode, folder=str(tmp_path), labels=True, labels_from="detector")
    robot = Robot(ros)
    robot.begin("perception", "memory")
    robot.until(view(SECOND), "perception")
    assert begun.wait(WAIT_S)  # or a later picture takes the place of the first before the detector looks at it
    for k in range(2, 7):
        robot.until(view(k * SECOND), "perception")
    ready.release(2)
    robot.wait("detected", 6 * SECOND)
    robot.until(view(6 * SECOND), "memory")
    seen = {messages.stamp_of(m) // SECOND for m in robot.heard["detections"]}  # the last one comes again when asked
    assert seen == {1, 6} and node.counts["pictures passed over: the detector was busy"] == 4
    unlabelled = sum(n for reason, n in memory.counts.items() if reason.startswith("no labels"))
    assert unlabelled >= 4, "the detector did not look at them, or they were shown again before it had"
