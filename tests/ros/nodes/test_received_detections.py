"""The perception node with the detections of another node: matched with images by stamp, whichever comes first."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from eqa_interfaces.msg import Episode

from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.types.views import Frame
from eqa_nodes.nodes.memory import MemoryNode
from eqa_nodes.nodes.perception import PerceptionNode
from eqa_nodes.ros import convert
from eqa_nodes.ros.interfaces import interface, qos
from eqa_nodes.ros.remote import Remotes
from eqa_nodes.testing.waiting import WAIT_S
from eqa_nodes.wire import messages
from eqa_nodes.wire.detection_matching import SKIPPED, STRAY
from eqa_nodes.wire.graph import LABEL_INFO, RECEIVED
from tests.fixtures.frames import frame
from tests.fixtures.observed_robot import ObservedRobot

SECOND = 1_000_000_000
TOPIC = "detector/found"
IN_IMAGE, IN_SPACE, YOLO, LABEL_IMAGES = RECEIVED


def view(stamp: int) -> Frame:
    """Return a wall with something cup-sized before it."""
    shown = frame(stamp)
    shown.depth_m[10:20, 20:30] = 1.5
    return shown


def boxes_in_image(stamp: int) -> Any:
    d = interface("vision_msgs/msg/Detection2D")()
    d.bbox.center.position.x, d.bbox.center.position.y, d.bbox.size_x, d.bbox.size_y = 25.0, 15.0, 10.0, 10.0
    return _array(IN_IMAGE, d, stamp)


def boxes_in_space(stamp: int) -> Any:
    """A box in the camera's frame: x to the right, y down, z ahead."""
    d = interface("vision_msgs/msg/Detection3D")()
    at, size = d.bbox.center.position, d.bbox.size
    at.x, at.y, at.z, size.x, size.y, size.z = -0.33, -0.42, 1.5, 0.6, 0.6, 0.1
    return _array(IN_SPACE, d, stamp)


def _array(kind: str, detection: Any, stamp: int) -> Any:
    one = interface("vision_msgs/msg/ObjectHypothesisWithPose")()
    one.hypothesis.class_id, one.hypothesis.score = "cup", 0.75
    detection.results = [one]
    return interface(kind)(header=convert.header(stamp, convert.CAMERA), detections=[detection])


def label_image(stamp: int) -> Any:
    kinds = np.zeros((48, 64), np.uint16)
    kinds[10:20, 20:30] = 7
    return convert.image_msg(kinds, "16UC1", stamp)


SENT: dict[str, Callable[[int], Any]] = {
    IN_IMAGE: boxes_in_image, IN_SPACE: boxes_in_space, LABEL_IMAGES: label_image}


def need(kind: str) -> None:
    """Skip the test if the type of a message is not built."""
    try:
        interface(kind)
    except ConfigError as error:
        pytest.skip(str(error))


class Robot(ObservedRobot):
    """Publishes observations, and detections as another node does."""

    def __init__(self, ros: Any, kind: str) -> None:
        super().__init__(ros.plain("robot"), "detected", "detected_table", "detections", "keyframes")
        self._found = self.node.create_publisher(interface(kind), TOPIC, qos("frame"))
        self._kind = kind

    def begin(self, *nodes: str) -> None:
        for name in nodes:
            assert Remotes(self.node).service(f"reset_{name}").call(WAIT_S, episode=Episode(episode_id="e")) is not None
        assert self.until(lambda: bool(self._found.get_subscription_count())), "nothing subscribes to the detections"

    def detect(self, *stamps: int) -> None:
        for stamp in stamps:
            self._found.publish(SENT[self._kind](stamp))

    def wait(self, key: str, stamp: int) -> Any:
        """Return the message of this stamp, once it is received."""
        assert self.until(lambda: any(messages.stamp_of(m) == stamp for m in self.heard[key])), f"no {key} of {stamp}"
        return next(m for m in self.heard[key] if messages.stamp_of(m) == stamp)


def until(done: Callable[[], bool]) -> bool:
    """Wait for a condition of a node."""
    end = time.monotonic() + WAIT_S
    while not done() and time.monotonic() < end:
        time.sleep(0.02)
    return done()


def started(ros: Any, kind: str, tmp_path: Path, **settings: Any) -> Any:
    (tmp_path / "names.yaml").write_text("{0: wall, 7: cup}")
    named = {"detector__names": str(tmp_path / "names.yaml")} if "detections_table" not in settings else {}
    return ros.add(PerceptionNode, detector__name="topic", detections_topic=TOPIC, detections_type=kind, **named,
                   **settings)


@pytest.mark.parametrize("newest", [False, True])
@pytest.mark.parametrize("kind", SENT)
def test_memory_knows_what_another_node_detected(ros: Any, kind: str, newest: bool, tmp_path: Path) -> None:
    need(kind)
    started(ros, kind, tmp_path, newest=newest)
    memory = ros.add(MemoryNode, folder=str(tmp_path), labels=True, labels_from="detector")
    robot = Robot(ros, kind)
    robot.begin("perception", "memory")
    for k in (1, 2, 3):
        if k == 2:
            robot.detect(k * SECOND)  # before its image
        robot.show(view(k * SECOND), "perception")
        robot.detect(*[k * SECOND] * (k != 2))
        labels = messages.pixels_of(robot.wait("detected", k * SECOND))
        assert "cup" in {d.results[0].hypothesis.class_id for d in robot.wait("detections", k * SECOND).detections}
        assert labels[12:18, 22:28].all()
        robot.show(view(k * SECOND), "memory")
    assert memory.store is not None and "cup" in [o.kind for o in memory.store.objects()]
    kept = robot.wait("keyframes", SECOND)
    assert not kept.privileged


def test_what_matches_no_image_and_images_without_detections_are_counted(ros: Any, tmp_path: Path) -> None:
    node = started(ros, IN_SPACE, tmp_path)
    robot = Robot(ros, IN_SPACE)
    robot.begin("perception")
    for k in (1, 2, 3):  # the detector passes over the second
        robot.show(view(k * SECOND), "perception")
    robot.detect(SECOND + 1, SECOND + SECOND // 2, 3 * SECOND)
    robot.wait("detections", 3 * SECOND)
    assert until(lambda: bool(node.counts[SKIPPED] and node.counts[STRAY]))
    assert robot.wait("detections", SECOND).detections, "a stamp that is one nanosecond off belongs to the image"
    assert {messages.stamp_of(m) // SECOND for m in robot.heard["detections"]} == {1, 3}


def test_a_table_names_the_classes_of_label_images(ros: Any, tmp_path: Path) -> None:
    need(LABEL_INFO)
    node = started(ros, LABEL_IMAGES, tmp_path, detections_table="detector/names")
    robot = Robot(ros, LABEL_IMAGES)
    robot.begin("perception")
    robot.show(view(SECOND), "perception")
    robot.detect(SECOND)
    assert not robot.wait("detections", SECOND).detections and any("give detector.names" in r for r in node.counts)
    table = interface(LABEL_INFO)(class_map=[interface("vision_msgs/msg/VisionClass")(class_id=7, class_name="cup")])
    out = robot.node.create_publisher(interface(LABEL_INFO), "detector/names", qos("latched"))
    out.publish(table)
    assert until(lambda: node.perceiver.detector.names == {7: "cup"})
    robot.show(view(2 * SECOND), "perception")
    robot.detect(2 * SECOND)
    (found,) = robot.wait("detections", 2 * SECOND).detections
    assert found.results[0].hypothesis.class_id == "cup"


def test_boxes_in_an_unknown_frame_are_counted(ros: Any, tmp_path: Path) -> None:
    node = started(ros, IN_SPACE, tmp_path)
    robot = Robot(ros, IN_SPACE)
    robot.begin("perception")
    robot.show(view(SECOND), "perception")
    message = boxes_in_space(SECOND)
    message.header.frame_id = "nowhere"
    robot._found.publish(message)
    assert until(lambda: bool(node.counts["detections in the frame 'nowhere' have no transform into the map"]))
    robot.show(view(2 * SECOND), "perception")
    robot.detect(2 * SECOND)
    assert robot.wait("detections", 2 * SECOND).detections
