"""A question is answered while something else drives by cmd_vel, as Nav2 does, with goals from our nav2_navigator."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

import threading
from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest

from eqa_nodes.config.graph import GraphParameters, driven_by
from eqa_nodes.config.nodes import NAV2
from eqa_nodes.core.errors import ErrorCode
from eqa_nodes.core.types.questions import Answer, Limits
from eqa_nodes.core.types.samples import Sample
from eqa_nodes.recordings.bags.trace import trace_of
from eqa_nodes.ros.convert import RemoteError
from eqa_nodes.runners.in_graph import GraphRunner
from eqa_nodes.testing.nav2 import NAVIGATOR, StandIn
from eqa_nodes.testing.waiting import until
from eqa_nodes.wire.graph import nodes_of
from tests.fixtures.courses import PLANT, parameters

CHAIR = Sample("chair", "Where is the chair?", "", scene="toy:room", seed=3)
pytestmark = pytest.mark.timeout(600)  # simulated time waits for a slow machine


def driven(folder: Path) -> GraphParameters:
    chosen = driven_by(NAV2)
    chosen["bridge"] |= {"real_time_factor": 4.0, "robot.base.timeout_s": 2.0}  # commands of a slow machine count too
    chosen["nav2_navigator"] = {"driving.gates.place_s": 60.0, "driving.wait.silent_s": 0.0,
                                "driving.wait.active_s": 8.0}
    return parameters(folder, chosen)


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GraphRunner]:
    """A graph that asks Nav2 to drive."""
    folder = tmp_path_factory.mktemp("driven")
    with closing(GraphRunner(folder, driven(folder), Limits(metres=60.0))) as made:
        yield made


def test_who_does_not_drive_is_named(runner: GraphRunner) -> None:
    """Nobody stands for Nav2, and atomic actions are refused."""
    runner.client.reset("toy:flat", "alone", None, 3)
    answer = runner.client.ask(PLANT.as_question(Limits(), False))
    assert answer.error == ErrorCode.NAVIGATION
    assert "no server for bt_navigator/get_state" in answer.message and "bring up Nav2" in answer.message
    act = runner.client.services["act"]
    with pytest.raises(RemoteError, match="takes velocities") as refused:
        act.call(60.0, action=act.Request.MOVE_FORWARD)
    assert refused.value.code == ErrorCode.SIMULATOR


def test_a_question_is_answered_while_nav2_drives(runner: GraphRunner) -> None:
    """So is one in another place after it, where time has gone on."""
    assert runner.graph.nodes == nodes_of("sim", navigator=NAV2)
    with StandIn(runner.graph.environment) as nav2:
        results = [runner.run(PLANT), runner.run(CHAIR)]
    assert nav2.goals > 2 and nav2.sent > 50
    assert nav2.by_topic == 0  # Nav2 drives to what is published there, and no gate is asked
    for result in results:
        answer = result.answer
        assert answer.error == ErrorCode.NONE and not answer.abstained, answer.message
        assert answer.evidence and answer.receipt.steps == 0
    assert 1.0 < results[0].answer.receipt.metres < 60.0
    trace = trace_of(runner.folder / "bags" / "plant")
    went = sum(a.distance(b) for (_, a), (_, b) in pairwise(trace.poses))
    assert went >= results[0].answer.receipt.metres - 0.1 and trace.keyframes and trace.decisions
    stamps = [stamp for result in results for stamp, _ in result.trace.poses]
    assert stamps == sorted(stamps)


def test_where_the_navigator_is_killed_the_controller_is_told_to_stop(runner: GraphRunner) -> None:
    """It would follow its last path to the end without it, as Nav2's does."""
    client, question = runner.client, PLANT.as_question(Limits(metres=60.0), False)
    with StandIn(runner.graph.environment) as nav2:
        client.reset(PLANT.scene, "killed", PLANT.start, 3)
        answers: list[Answer] = []
        asked = threading.Thread(target=lambda: answers.append(client.ask(question)), daemon=True)
        asked.start()
        until(lambda: nav2.following, within_s=120.0)
        nav2.kill_navigator()
        until(lambda: nav2.halted, within_s=120.0)
        asked.join(300.0)
        assert not nav2.following
    assert answers and answers[0].error == ErrorCode.NAVIGATION
    assert "navigate_to_pose" in answers[0].message or NAVIGATOR in answers[0].message
