"""The Python library joins a graph that runs, and asks its robot."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

from dataclasses import replace
from pathlib import Path

import pytest

import eqa_nodes as eqa
from eqa_nodes.config.run import RunConfig
from eqa_nodes.ros.client import GraphClient
from eqa_nodes.ros.runner import RunningGraph

QUESTION = "Do I have any fruit left?"


def test_the_robot_of_a_running_graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = replace(RunConfig(), folder=tmp_path)
    with RunningGraph(tmp_path, config.parameters) as graph, GraphClient(graph.environment) as client:
        client.reset("house:7", "library", None, 0)
        monkeypatch.setenv("ROS_DOMAIN_ID", str(graph.domain))
        with eqa.robot() as robot:
            asked = eqa.ask(robot, QUESTION)
            assert asked.text.startswith("yes") and asked.evidence and asked.answer.receipt.steps > 0
            assert asked._repr_html_().count("data:image/jpeg") == len(asked.answer.evidence)
            again = robot.ask(QUESTION, drive=False)
            assert again.text == asked.text and again.evidence and again.answer.receipt.metres == 0.0
            assert robot.camera()[:2] == b"\xff\xd8"
            assert [view.jpeg[:2] for view in robot.recall("fruit", limit=1)] == [b"\xff\xd8"]
            robot.stop()
