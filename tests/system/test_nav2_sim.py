"""A question is answered while something else than our navigator drives by cmd_vel, as Nav2 does."""

from __future__ import annotations

from tests.ros import need_ros

need_ros()

import dataclasses
from contextlib import closing
from pathlib import Path

import pytest

from eqa_nodes.bags.trace import trace_of
from eqa_nodes.bench.samples import Sample
from eqa_nodes.core.errors import ErrorCode, NodeLost
from eqa_nodes.core.geometry import Pose2
from eqa_nodes.core.types import Limits
from eqa_nodes.graph import nodes_of
from eqa_nodes.in_graph import GraphRunner
from eqa_nodes.ros.client import GraphClient
from eqa_nodes.runner import Graph
from eqa_nodes.settings import NAV2, Parameters, driven_by, navigator_of
from tests.nav2 import StandIn
from tests.system.test_lockstep import parameters

# the plant is round a corner
PLANT = Sample("plant", "Where is the plant?", "", scene="toy:flat", seed=3, start=Pose2(4.25, 5.25, 0.0))


def driven(folder: Path) -> Parameters:
    chosen = driven_by(NAV2)
    chosen["bridge"] |= {"real_time_factor": 4.0}
    return parameters(folder, chosen)


def test_a_question_is_answered_while_nav2_drives(tmp_path: Path) -> None:
    with closing(GraphRunner(tmp_path, driven(tmp_path), Limits(metres=60.0))) as runner:
        assert "navigator" not in runner.graph.nodes and navigator_of(runner.graph._parameters) == NAV2
        with StandIn(runner.graph.environment) as nav2:
            result = runner.run(PLANT)
            again = runner.run(dataclasses.replace(PLANT, id="again"))
        assert nav2.goals > 1 and nav2.sent > 50
    for answer in (result.answer, again.answer):
        assert answer.error == ErrorCode.NONE and not answer.abstained, answer.message
        assert answer.evidence and answer.receipt.steps == 0 and 2.0 < answer.receipt.metres < 60.0
    trace = trace_of(tmp_path / "bags" / "plant")
    driven_m = sum(a[1].distance(b[1]) for a, b in zip(trace.poses, trace.poses[1:]))
    assert driven_m >= result.answer.receipt.metres - 0.1 and trace.keyframes and trace.decisions
    stamps = [stamp for stamp, _ in trace.poses]
    assert stamps == sorted(stamps)


def test_nobody_drives_is_a_named_error(tmp_path: Path) -> None:
    with Graph(tmp_path, driven(tmp_path)) as graph, GraphClient(graph.environment) as client:
        assert graph.nodes == nodes_of("sim", navigator=NAV2)
        client.reset("toy:flat", "alone", None, 3)
        answer = client.ask(PLANT.as_question(Limits(), False))
        assert answer.error == ErrorCode.NODE_LOST and "spin" in answer.message


def test_atomic_actions_are_not_served(tmp_path: Path) -> None:
    with Graph(tmp_path, driven(tmp_path)) as graph, GraphClient(graph.environment) as client:
        client.reset("toy:flat", "refused", None, 3)
        act = client.services["act"]
        with pytest.raises(Exception, match="takes velocities") as caught:
            act.call(30.0, action=act.Request.MOVE_FORWARD)
        assert not isinstance(caught.value, NodeLost)
