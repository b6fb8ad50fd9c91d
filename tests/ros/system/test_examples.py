"""A policy of somebody else's package drives through the graph of nodes as it does in process."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from eqa_nodes.config.graph import GraphParameters, merged, of_robot
from eqa_nodes.core.types.questions import Limits
from eqa_nodes.core.types.robot import RobotModel
from eqa_nodes.core.types.samples import EpisodeResult, Sample
from eqa_nodes.runners.in_graph import GraphRunner
from eqa_nodes.runners.in_process import InProcessRunner
from tests.fixtures.examples import install_examples

LIMITS = Limits(steps=40)
SAMPLE = Sample("corridor", "Where is the plant?", "", scene="corridor:3", seed=3)


def _parameters(folder: Path) -> GraphParameters:
    robot = replace(RobotModel(), camera=replace(RobotModel().camera, width=80, height=60))
    return merged(None, of_robot(robot), {
        "memory": {"labels": True, "folder": str(folder / "memory")}, "recorder": {"folder": str(folder / "bags")},
        "explorer": {"policy": "wall_follower", "params.wall_follower.side": "left"}})


def _course(result: EpisodeResult) -> list[tuple[object, ...]]:
    assert result.answer.error == 0, result.answer.message
    return [(d.goal, d.reason) for d in result.trace.decisions]


def test_the_wall_follower_goes_the_same_way_through_the_graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = str(install_examples(tmp_path))
    monkeypatch.syspath_prepend(site)
    monkeypatch.setenv("PYTHONPATH", site, prepend=":")
    with closing(InProcessRunner(_parameters(tmp_path / "here"), LIMITS)) as runner:
        here = _course(runner.run(SAMPLE))
    with closing(GraphRunner(tmp_path / "there", _parameters(tmp_path / "there"), LIMITS)) as runner:
        assert _course(runner.run(SAMPLE)) == here
    assert len(here) > 1 and "keeps the wall on the left" in here[0][1]  # type: ignore[operator]
