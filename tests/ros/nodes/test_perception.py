"""The perception node: what it publishes a robot's memory takes in as labels, and nothing of it is privileged."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from eqa_interfaces.msg import Episode

from eqa_nodes.core.perception.detection import Detection
from eqa_nodes.core.perception.tracking import Perceiver
from eqa_nodes.core.types.views import UNSEEN, Frame, Label
from eqa_nodes.nodes import perception
from eqa_nodes.nodes.memory import MemoryNode
from eqa_nodes.nodes.perception import PerceptionNode
from eqa_nodes.perception.oracle import ScriptedDetector
from eqa_nodes.ros.remote import Remotes
from eqa_nodes.testing.waiting import WAIT_S
from eqa_nodes.wire import messages
from tests.fixtures.frames import frame
from tests.fixtures.observed_robot import ObservedRobot

SECOND = 1_000_000_000
CUP = Detection("cup", 0.75, (20, 10, 30, 20), attributes={"colour": "red", "state": "full"}, room="kitchen")
HUNG = {"relation": "wall"}  # flat, above the floor and on nothing


def view(stamp: int) -> Frame:
    """Return a wall with something cup-sized before it."""
    shown = frame(stamp)
    shown.depth_m[10:20, 20:30] = 1.5
    return shown


class Robot(ObservedRobot):
    """Publishes observations without labels."""

    def __init__(self, ros: Any) -> None:
        super().__init__(ros.plain("robot"), "detected", "detected_table", "detections", "keyframes")

    def begin(self, *nodes: str) -> None:
        for name in nodes:
            assert Remotes(self.node).service(f"reset_{name}").call(WAIT_S, episode=Episode(episode_id="e")) is not None

    def wait(self, key: str, stamp: int) -> Any:
        """Return the message of this stamp, once it is received."""
        assert self.until(lambda: any(messages.stamp_of(m) == stamp for m in self.heard[key])), f"no {key} of {stamp}"
        return next(m for m in self.heard[key] if messages.stamp_of(m) == stamp)


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
        robot.show(view(k * SECOND), "perception", "memory")
    (boxed,) = robot.wait("detections", SECOND).detections
    assert boxed.id == "1" and boxed.results[0].hypothesis.class_id == "cup"
    assert boxed.results[0].hypothesis.score == 0.75 and boxed.bbox.center.position.x == pytest.approx(1.6, abs=0.2)
    labels = messages.pixels_of(robot.wait("detected", 3 * SECOND))
    assert labels.dtype == np.uint16 and (labels[10:20, 20:30] == 1).all() and (labels > 0).sum() == 100
    table = messages.label_table_of(robot.wait("detected_table", 3 * SECOND))
    assert table == {1: Label(1, "cup", "kitchen", {"colour": "red", "state": "full", **HUNG}, True, 0.34)}
    kept = robot.wait("keyframes", SECOND)
    assert not kept.privileged and messages.keyframe_of(kept).sightings[0].label.detected
    assert memory.store is not None
    ((cup,),) = (memory.store.objects(),)
    assert (cup.kind, cup.room, cup.attributes) == ("cup", "kitchen", {"colour": "red", "state": "full", **HUNG})
    assert not memory.store.keyframe(1).privileged
    assert len(detector.frames) == 3, "an observation that comes again is not looked at again"


def test_a_new_episode_begins_with_number_one_and_one_that_goes_on_does_not(ros: Any,
                                                                            detector: ScriptedDetector) -> None:
    node = ros.add(PerceptionNode, detector__name="transformers")
    robot = Robot(ros)
    robot.begin("perception")
    robot.show(view(SECOND), "perception")
    node.begin(Episode(episode_id="f", keep_memory=True), late=False)
    robot.show(view(2 * SECOND), "perception")
    node.begin(Episode(episode_id="g"), late=False)
    robot.show(view(3 * SECOND), "perception")
    node.begin(Episode(episode_id="g"), late=True)
    robot.show(view(4 * SECOND), "perception")
    numbers = [robot.wait("detections", k * SECOND).detections[0].id for k in (1, 2, 3, 4)]
    assert numbers == ["1", "2", "1", "30001"]


def test_a_picture_for_which_the_detector_fails_has_no_detections_and_is_counted(ros: Any,
                                                                                 detector: ScriptedDetector) -> None:
    node = ros.add(PerceptionNode, detector__name="transformers")
    robot = Robot(ros)
    robot.begin("perception")
    detector._script = iter([[CUP]])
    robot.show(view(SECOND), "perception")
    robot.show(view(2 * SECOND), "perception")
    assert not robot.wait("detections", 2 * SECOND).detections
    assert (messages.pixels_of(robot.wait("detected", 2 * SECOND)) == UNSEEN).all()
    assert any("the script of detections ended" in reason for reason in node.counts)


def test_where_people_are_masked_a_picture_for_which_the_detector_fails_is_not_stored(ros: Any, tmp_path: Path,
                                                                                      detector: ScriptedDetector
                                                                                      ) -> None:
    ros.add(PerceptionNode, detector__name="transformers")
    memory = ros.add(MemoryNode, folder=str(tmp_path), labels=True, labels_from="detector",
                     memory__privacy__kinds=["cup"])
    robot = Robot(ros)
    robot.begin("perception", "memory")
    detector._script = iter([[CUP]])
    robot.show(view(SECOND), "perception", "memory")
    robot.show(view(2 * SECOND), "perception", "memory")
    assert memory.store is not None and len(memory.store) == 1 and memory.store.keyframe(1).stamp_ns == SECOND
    assert any("the detector failed for this image" in reason for reason in memory.counts)


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
    robot.show(view(SECOND), "perception")
    assert begun.wait(WAIT_S)  # or a later picture takes the place of the first before the detector looks at it
    for k in range(2, 7):
        robot.show(view(k * SECOND), "perception")
    ready.release(2)
    robot.wait("detected", 6 * SECOND)
    robot.show(view(6 * SECOND), "memory")
    seen = {messages.stamp_of(m) // SECOND for m in robot.heard["detections"]}  # the last one comes again when asked
    assert seen == {1, 6} and node.counts["pictures passed over: the detector was busy"] == 4
    unlabelled = sum(n for reason, n in memory.counts.items() if reason.startswith("no labels"))
    assert unlabelled >= 4, "the detector did not look at them, or they were shown again before it had"
