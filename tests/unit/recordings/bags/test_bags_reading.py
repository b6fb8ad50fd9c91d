"""Bags come back as frames and as a trace, without ROS."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from eqa_nodes.core.errors import ErrorCode, StorageError
from eqa_nodes.core.memory.keyframes import jpeg_of_pixels
from eqa_nodes.core.types.calls import CallPicture, ModelCall, OptionMark
from eqa_nodes.core.types.floor import Candidate, Frontier
from eqa_nodes.core.types.geometry import Pose2, Transform
from eqa_nodes.core.types.questions import Answer, Evidence, ViewAssessment
from eqa_nodes.core.types.trace import EpisodeTrace, TraceDecision
from eqa_nodes.recordings.bags.history import BagHistory
from eqa_nodes.recordings.bags.reader import open_bag
from eqa_nodes.recordings.bags.recover import recover
from eqa_nodes.recordings.bags.trace import trace_of
from eqa_nodes.recordings.bags.writer import BagTopic, BagWriter
from tests.fixtures.bags import FRAME_TOPICS, SECOND, Cdr, kettle, needs_messages, record_frames, topics_of
from tests.fixtures.frames import LABELS, frame

pytestmark = needs_messages


def test_frames_come_back_as_they_were(cdr: Cdr, tmp_path: Path) -> None:
    writer = BagWriter(tmp_path / "bag", topics_of(*FRAME_TOPICS))
    record_frames(cdr, writer, 5)
    writer.close()
    history = BagHistory(tmp_path / "bag")
    frames = list(history)
    assert len(frames) == len(history) == 5
    assert not history.dropped
    for i, read in enumerate(frames, start=1):
        wanted = frame(i * SECOND, Pose2(0.3 * i, 0.0, 0.1), {1: (0, 0, 12, 12)})
        assert np.array_equal(read.rgb, wanted.rgb)
        assert np.array_equal(read.depth_m, wanted.depth_m)
        assert (read.stamp_ns, read.intrinsics) == (i * SECOND, wanted.intrinsics)
        assert read.map_from_base == wanted.map_from_base
        assert np.allclose(read.map_from_camera(), wanted.map_from_camera(), atol=1e-12)
    assert [f.stamp_ns for f in history] == [f.stamp_ns for f in frames]


def test_unusable_images_are_counted_and_the_rest_is_read(cdr: Cdr, tmp_path: Path) -> None:
    writer = BagWriter(tmp_path / "bag", topics_of(*FRAME_TOPICS))
    record_frames(cdr, writer, 2)
    late = frame(90 * SECOND)
    writer.write("/camera/color/image_raw", 80 * SECOND, cdr.image(late.rgb, "rgb8", 80 * SECOND))  # no depth
    writer.write("/camera/color/image_raw", 90 * SECOND, cdr.image(late.rgb, "rgb8", 90 * SECOND))  # no transform
    writer.write("/camera/depth/image_raw", 90 * SECOND, cdr.image(late.depth_m, "32FC1", 90 * SECOND))
    writer.write("/camera/color/image_raw", 2 * SECOND + 1000, cdr.image(late.rgb, "yuv422", 2 * SECOND + 1000))
    writer.write("/camera/depth/image_raw", 2 * SECOND + 1000, cdr.image(late.depth_m, "32FC1", 2 * SECOND + 1000))
    writer.close()
    history = BagHistory(tmp_path / "bag")
    assert len(list(history)) == 2
    assert sum(history.dropped.values()) == 3
    assert any("no depth" in reason for reason in history.dropped)
    assert any("no transform" in reason for reason in history.dropped)
    assert any("yuv422" in reason for reason in history.dropped)


def test_labels_come_back_with_their_table(cdr: Cdr, tmp_path: Path) -> None:
    writer = BagWriter(tmp_path / "bag", topics_of(*FRAME_TOPICS, "/labels/image_raw", "/labels/table"))
    record_frames(cdr, writer, 1)
    f = frame(2 * SECOND, boxes={1: (0, 0, 12, 12)})
    assert f.labels is not None
    writer.write("/labels/table", SECOND, cdr("eqa_interfaces/msg/LabelArray", labels=[kettle(cdr)]))
    writer.write("/labels/image_raw", SECOND, cdr.image(f.labels, "16UC1", SECOND))
    writer.close()
    history = BagHistory(tmp_path / "bag")
    read, = history
    assert read.labels is not None
    assert np.array_equal(read.labels, f.labels)
    assert history.labels[1] == LABELS[1]._replace(attributes={"colour": "red"})


def test_each_frame_has_the_labels_of_its_moment(cdr: Cdr, tmp_path: Path) -> None:
    writer = BagWriter(tmp_path / "bag", topics_of(*FRAME_TOPICS, "/labels/image_raw", "/labels/table"))
    record_frames(cdr, writer, 3)
    image = frame(2 * SECOND, boxes={1: (0, 0, 12, 12)}).labels
    for second, colour in ((1, "red"), (3, "blue")):  # a recorder writes a table where it changes
        label = cdr.make("eqa_interfaces/msg/Label", instance_id=1, kind="kettle", room="kitchen",
                         attributes=[f"colour={colour}"])
        writer.write("/labels/table", second * SECOND, cdr("eqa_interfaces/msg/LabelArray", labels=[label],
                                                           header=cdr.header(second * SECOND, "")))
    for second in (1, 2, 3):
        writer.write("/labels/image_raw", second * SECOND, cdr.image(image, "16UC1", second * SECOND))
    writer.close()
    history = BagHistory(tmp_path / "bag")
    colours = [r.labels[1].attributes["colour"] for r in history.recorded() if r.labels]
    assert colours == ["red", "red", "blue"] and history.labels[1].attributes == {"colour": "blue"}


def test_a_trace_comes_back(cdr: Cdr, tmp_path: Path) -> None:
    decision = TraceDecision(2 * SECOND, Pose2(1.0, 2.0, 0.5), Pose2(3.0, 4.0, 0.0), "frontier near the kitchen",
                             (Candidate(3.0, 4.0, 0.7, "kitchen"),))
    answer = Answer("red", 0.9, evidence=(Evidence(1, SECOND, Pose2(0.3, 0.0, 0.0), "red kettle"),),
                    error=ErrorCode.NONE)
    call = ModelCall(2 * SECOND, Pose2(1.0, 2.0, 0.5), "What colour is the kettle?", "decide",
                     (CallPicture(1, (OptionMark(2, 8.5, 4.0),), ((3.0, 2.0),), now=True),), evidence=(1,),
                     reasons="a kettle, red", tokens_in=900)
    names = ("/tf", "/question", "/answer", "/decision", "/model_calls", "/map", "/explored", "/frontiers",
             "/keyframes", "/view_assessments")
    writer = BagWriter(tmp_path / "bag", topics_of(*names))
    writer.write("/tf", SECOND, cdr("tf2_msgs/msg/TFMessage", transforms=[
        cdr.tf("map", "base_link", SECOND, Pose2(0.3, 0.0, 0.1).transform())]))
    writer.write("/question", SECOND, cdr.text("What colour is the kettle?"))
    point = cdr.make("geometry_msgs/msg/Point", x=3.0, y=4.0)
    writer.write("/frontiers", SECOND, cdr("eqa_interfaces/msg/FrontierArray", frontiers=[
        cdr.make("eqa_interfaces/msg/Frontier", position=point, heading=0.25, length=1.5)]))
    writer.write("/model_calls", 2 * SECOND, cdr.call(call))
    writer.write("/view_assessments", 2 * SECOND, cdr(
        "eqa_interfaces/msg/ViewAssessment", header=cdr.header(SECOND, "map"), keyframe_id=1, enough=0.75, says="red",
        position=cdr.point(0.25, 0.0), heading=0.5))
    writer.write("/decision", 2 * SECOND, cdr.decision(decision))
    cells = np.array([[-1, 0, 100], [0, 0, -1]], np.int8)
    info = cdr.make("nav_msgs/msg/MapMetaData", resolution=0.1, width=3, height=2,
                    origin=cdr.pose(Transform((-1.0, -2.0, 0.0), (0, 0, 0, 1))))
    grid = {"header": cdr.header(2 * SECOND, "map"), "info": info}
    writer.write("/map", 2 * SECOND, cdr("nav_msgs/msg/OccupancyGrid", data=cells.ravel(), **grid))
    seen = np.array([0, 100, 0, 100, 0, 0], np.int8)
    writer.write("/explored", 2 * SECOND, cdr("nav_msgs/msg/OccupancyGrid", data=seen, **grid))
    sighting = cdr.make("eqa_interfaces/msg/ObjectSighting", label=kettle(cdr), pixels=80,
                        bbox=np.array([1, 2, 3, 4], np.int32))
    image = cdr.make("sensor_msgs/msg/CompressedImage", format="jpeg", data=np.frombuffer(b"\xff\xd8\xff", np.uint8))
    writer.write("/keyframes", 2 * SECOND, cdr(
        "eqa_interfaces/msg/Keyframe", header=cdr.header(SECOND, "map"), keyframe_id=1, image=image,
        pose=cdr.pose(Pose2(0.3, 0.0, 0.1).transform()), sightings=[sighting], caption="kitchen: red kettle",
        region="kitchen"))
    writer.write("/answer", 3 * SECOND, cdr.answer(answer, "What colour is the kettle?", 3 * SECOND))
    writer.close()

    trace = trace_of(tmp_path / "bag")
    assert trace.question == "What colour is the kettle?"
    assert trace.poses == [(SECOND, pytest.approx(Pose2(0.3, 0.0, 0.1)))]
    assert trace.decisions == [decision._replace(frontiers=(Frontier(3.0, 4.0, 0.25, 1.5),))]
    assert trace.answer == answer and trace.calls == [call]
    assert trace.judged == [ViewAssessment(1, SECOND, 0.0, 0.75, pose=Pose2(0.25, 0.0, 0.5), says="red")]
    assert trace.grid is not None
    assert np.array_equal(trace.grid.cells, cells)
    assert np.array_equal(trace.grid.explored, seen.reshape(2, 3) > 0)
    assert (trace.grid.origin, trace.grid.resolution_m, trace.grid.stamp_ns) == ((-1.0, -2.0), 0.1, 2 * SECOND)
    keyframe, = trace.keyframes
    assert (keyframe.id, keyframe.jpeg, keyframe.caption, keyframe.sightings[0].bbox) == (
        1, b"\xff\xd8\xff", "kitchen: red kettle", (1, 2, 3, 4))
    assert keyframe.sightings[0].label.attributes == {"colour": "red"}


def test_an_error_that_nobody_knows_is_named(cdr: Cdr, tmp_path: Path) -> None:
    writer = BagWriter(tmp_path / "bag", topics_of("/answer"))
    writer.write("/answer", 1, cdr("eqa_interfaces/msg/Answer", error_code=200))
    writer.close()
    with pytest.raises(StorageError, match="200"):
        trace_of(tmp_path / "bag")


def test_the_last_view_is_that_of_the_last_image(cdr: Cdr, tmp_path: Path) -> None:
    late = BagTopic("std_msgs/msg/String", "event")
    writer = BagWriter(tmp_path / "bag", {**topics_of(*FRAME_TOPICS), "/late": late})
    record_frames(cdr, writer, 3)
    writer.write("/late", 500 * SECOND, cdr.text("long after"))  # so that the end of the bag alone holds no image
    writer.close()
    last = list(BagHistory(tmp_path / "bag"))[-1]
    assert trace_of(tmp_path / "bag").view == jpeg_of_pixels(last.rgb)
    with open_bag(tmp_path / "bag") as bag:
        assert bag.last("color").header.stamp.sec == last.stamp_ns // SECOND
        assert bag.last("keyframes") is None


def test_a_recorder_that_was_killed_before_it_wrote_leaves_an_empty_trace(tmp_path: Path) -> None:
    bag = tmp_path / "killed"
    bag.mkdir()
    (bag / "killed_0.mcap").write_bytes(b"\x89MCAP0\r\n")
    assert recover(bag) == 0
    assert trace_of(bag) == EpisodeTrace()
