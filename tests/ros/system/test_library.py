"""The Python library joins a graph that runs, and asks its robot."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

from pathlib import Path

import pytest

import eqa_nodes as eqa
from eqa_nodes.ros.client import GraphClient
from eqa_nodes.ros.runner import RunningGraph
from tests.fixtures.courses import parameters

QUESTION = "Where is the plant?"


def test_the_robot_of_a_running_graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with RunningGraph(tmp_path, parameters(tmp_path)) as graph, GraphClient(graph.environment) as client:
        client.reset("toy:flat", "library", None, 3)
        monkeypatch.setenv("ROS_DOMAIN_ID", str(graph.domain))
        with eqa.robot() as robot:
            asked = eqa.ask(robot, QUESTION)
            assert asked.text and asked.evidence and asked.answer.receipt.steps > 0
            assert asked._repr_html_().count("data:image/jpeg") == len(asked.answer.evidence)
            again = robot.ask(QUESTION, drive=False)
            assert again.text == asked.text and again.evidence and again.answer.receipt.metres == 0.0
            assert robot.camera()[:2] == b"\xff\xd8"
            assert [view.jpeg[:2] for view in robot.recall("plant", limit=1)] == [b"\xff\xd8"]
            robot.stop()
