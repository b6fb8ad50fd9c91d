"""A whole graph whose robot somebody else localises: no question hangs before that, and one is answered after it."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

import time
from collections.abc import Iterator
from contextlib import closing

import pytest

from eqa_nodes.config.graph import driven_by
from eqa_nodes.config.nodes import NAV2
from eqa_nodes.core.errors import ErrorCode
from eqa_nodes.core.types.questions import Limits
from eqa_nodes.ros.client import GraphClient
from eqa_nodes.ros.runner import RunningGraph
from eqa_nodes.testing.amcl import Amcl
from eqa_nodes.testing.nav2 import StandIn
from tests.fixtures.courses import PLANT, parameters

pytestmark = pytest.mark.timeout(600)  # simulated time waits for a slow machine
STATUS_S = 20.0  # on a machine with much else to do


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningGraph]:
    folder, chosen = tmp_path_factory.mktemp("amcl"), driven_by(NAV2)
    chosen["bridge"] |= {"real_time_factor": 3.0, "robot.base.timeout_s": 2.0, "senses.localisation.by": "others",
                         "senses.wheels.drift": 0.03, "senses.wheels.slip_every_m": 2.0}
    chosen["nav2_navigator"] = {"driving.wait.active_s": 8.0, "driving.wait.silent_s": 0.0, "driving.gates.odom_s": 0.0}
    chosen["agent"] = {"node.call_deadline_s": 25.0}  # so long a question waits for the robot's first place
    with RunningGraph(folder, parameters(folder, chosen)) as running:
        yield running


def test_before_and_after_somebody_localises_the_robot(graph: RunningGraph) -> None:
    question = PLANT.as_question(Limits(metres=60.0), False)
    with closing(GraphClient(graph.environment)) as client, StandIn(graph.environment) as nav2:
        client.reset(PLANT.scene, "alone", PLANT.start, PLANT.seed)  # begins, though nobody knows where it is
        began_s, (stamp_ns, _) = time.monotonic(), client.state()
        assert time.monotonic() - began_s < STATUS_S
        lost = client.ask(question)
        assert lost.error in (ErrorCode.STALE, ErrorCode.NAVIGATION), lost
        assert "none of 'odom'" in lost.message and "AMCL" in lost.message and "\n" not in lost.message
        later_ns, _ = client.state()
        assert later_ns > stamp_ns and not nav2.goals
        with Amcl(graph.environment) as amcl:
            client.reset(PLANT.scene, "localised", PLANT.start, PLANT.seed)
            amcl.set_pose(PLANT.start)
            answer = client.ask(question)
        assert answer.error == ErrorCode.NONE and not answer.abstained, answer.message
        assert answer.evidence and answer.receipt.metres > 1.0 and amcl.updates > 4
