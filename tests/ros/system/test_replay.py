"""Recordings through the whole graph: real images make a map and memories and come back as they were."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

from pathlib import Path

import numpy as np
import pytest

from eqa_nodes.cli import main
from eqa_nodes.cli.replay import Watch
from eqa_nodes.config.run import REPLAY, Replayed, RunConfig
from eqa_nodes.core.errors import ErrorCode
from eqa_nodes.core.mapping.floors import MultiFloorMapper
from eqa_nodes.core.types.questions import Question
from eqa_nodes.recordings.bags.export import write_bag
from eqa_nodes.recordings.bags.trace import trace_of
from eqa_nodes.recordings.bags.writer import BagWriter
from eqa_nodes.recordings.histories import open_history
from eqa_nodes.ros.client import GraphClient
from eqa_nodes.ros.remote import Remotes
from eqa_nodes.ros.runner import RunningGraph
from eqa_nodes.wire import messages
from eqa_nodes.wire.graph import nodes_of
from tests.fixtures.bags import FRAME_TOPICS, SECOND, Cdr, kettle, record_frames, topics_of, with_other_names
from tests.fixtures.data import shared_data
from tests.fixtures.frames import frame

POSE_M = 1e-6  # metres and, of matrices, unit vectors


def test_a_real_sequence_goes_through_the_graph_and_back(tmp_path: Path) -> None:
    """The sequence as a bag -> replay -> map, keyframes, recall, an honest answer -> the recorder's bag -> the same."""
    sequence = list(open_history(shared_data("rgbd-real")))
    write_bag(sequence, tmp_path / "real")
    lossless = {"recorder": {"bag.color": "raw", "bag.depth": "raw"}}
    config = RunConfig(answerer="label", world=REPLAY, folder=tmp_path, replayed=Replayed(record=True),
                       overrides=lossless)
    parameters = config.parameters
    with RunningGraph(tmp_path, parameters, nodes=nodes_of("replay", recording=True)) as graph, \
            GraphClient(graph.environment) as client:
        watch, shown = Watch(client.node), []
        client.reset(str(tmp_path / "real"), "real", None, 0)
        watch.until_end(shown.append)
        assert shown[-1] == len(sequence) == 5
        recalled = Remotes(client.node).service("recall").call(10.0, text="Is there a chair?", limit=5)
        answer = client.ask(Question("What color is the chair?", may_explore=False))
        driven = client.ask(Question("What color is the chair?"))
        client.end_episode()
    assert answer.abstained and not answer.error and not answer.evidence  # no labels, so nothing is known
    assert driven.error == ErrorCode.NAVIGATION and "cannot be driven" in driven.message
    trace = trace_of(tmp_path / "bags" / "real")
    assert trace.grid is not None
    assert np.count_nonzero(trace.grid.cells == 0) > 100 and np.count_nonzero(trace.grid.cells == 100) > 40
    mapper = parameters.settings.mapper
    alone = MultiFloorMapper(mapper.map, mapper.robot)
    for one in sequence:
        alone.integrate(one)
    assert np.array_equal(trace.grid.cells, alone.grid().cells)  # lock-step: no frame was lost on the way
    assert trace.keyframes
    assert [messages.keyframe_of(k).jpeg for k in recalled.keyframes] == [k.jpeg for k in trace.keyframes]

    again = open_history(tmp_path / "bags" / "real")
    back = list(again)
    assert [f.stamp_ns for f in back] == [f.stamp_ns for f in sequence] and not again.dropped
    for a, b in zip(sequence, back, strict=True):
        assert a.intrinsics == b.intrinsics
        assert np.array_equal(a.rgb, b.rgb) and np.array_equal(a.depth_m, b.depth_m)  # 32FC1: no bit is lost
        assert np.allclose(a.map_from_base.matrix(), b.map_from_base.matrix(), atol=POSE_M, rtol=0)
        assert np.allclose(a.map_from_camera(), b.map_from_camera(), atol=POSE_M, rtol=0)


@pytest.fixture
def kitchen(tmp_path: Path) -> Path:
    """A bag of three views with a red kettle, labelled."""
    cdr = Cdr()
    writer = BagWriter(tmp_path / "kitchen", topics_of(*FRAME_TOPICS, "/labels/image_raw", "/labels/table"))
    writer.write("/labels/table", SECOND, cdr("eqa_interfaces/msg/LabelArray", labels=[kettle(cdr)]))
    record_frames(cdr, writer, 3)
    for i in range(1, 4):
        labels = frame(i * SECOND, boxes={1: (0, 0, 40, 40)}).labels
        assert labels is not None
        writer.write("/labels/image_raw", i * SECOND, cdr.image(labels, "16UC1", i * SECOND))
    writer.close()
    return tmp_path / "kitchen"


def test_questions_are_answered_from_a_bag_with_a_robots_own_topic_names(
        kitchen: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bag = with_other_names(kitchen, tmp_path / "own", {"/camera/color/image_raw": ("/front/rgb", "/rear/rgb")})
    words = ["replay", str(bag), "--rate", "4", "--ask", "What color is the kettle?", "Where is the kettle?",
             "--out", str(tmp_path / "run")]
    assert main(words) == 2
    assert "color may be /front/rgb or /rear/rgb" in " ".join(capsys.readouterr().err.split())
    assert main([*words, "--remap", "color:=/front/rgb"]) == 0
    printed = capsys.readouterr().out
    assert "3 of 3 frames shown" in printed and "ROS_DOMAIN_ID=" in printed
    assert "red" in printed.lower() and "seen at" in printed and "privileged: LabelAnswerer" in printed
    assert "0 calls" in printed and " steps" not in printed and not (tmp_path / "run" / "bags").exists()


def test_a_replay_begins_by_itself_and_plays_in_time(kitchen: Path, tmp_path: Path) -> None:
    """As replay.launch.py starts it: nobody asks for an episode."""
    config = RunConfig(answerer="label", world=REPLAY, folder=tmp_path, replayed=Replayed(labels=True, rate=4.0))
    parameters = config.parameters
    parameters["replay"]["source"] = str(kitchen)
    with RunningGraph(tmp_path, parameters, nodes=nodes_of("replay"), isolate=True) as graph, \
            GraphClient(graph.environment) as client:
        facts = {v.key: v.value for v in Watch(client.node).until_end(lambda shown: None).values}
        answer = client.ask(Question("What color is the kettle?", may_explore=False))
    assert facts == {"shown": "3", "frames": "3"}
    assert answer.text == "red" and answer.evidence[0].stamp_ns == 3 * SECOND  # of equal views the newest


@pytest.mark.parametrize(("words", "complaint"), [
    (["nowhere"], "no nowhere"), (["."], "no episode history"), ([".", "--ask", " "], "no words"),
    (["kitchen", "--rate", "-1"], "rate is -1"), (["kitchen", "--answerer", "oracle"], "answerer 'oracle'.*label")])
def test_wrong_use_of_replay_is_one_line(words: list[str], complaint: str, tmp_path: Path, kitchen: Path,
                                         monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    import re

    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    assert main(["replay", words[0].replace("kitchen", str(kitchen)), *words[1:]]) == 2
    printed = capsys.readouterr().err
    assert printed.startswith("eqa: ") and re.search(complaint, printed), printed
