"""World robot: no simulator begins episodes. The bridge in velocities mode is the robot, a stand-in its Nav2."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eqa_nodes.config.graph import driven_by, merged, of_world
from eqa_nodes.config.nodes import NAV2
from eqa_nodes.core.errors import EqaError, ErrorCode
from eqa_nodes.core.types.questions import Limits, Question
from eqa_nodes.ros.client import GraphClient
from eqa_nodes.ros.interfaces import interface, qos
from eqa_nodes.ros.remote import Remotes
from eqa_nodes.ros.runner import RunningGraph
from eqa_nodes.testing.nav2 import StandIn
from eqa_nodes.wire import messages
from eqa_nodes.wire.graph import TOPICS, nodes_of
from tests.fixtures.courses import parameters

pytestmark = pytest.mark.timeout(600)
WAIT_S = 120.0
CHAIR = Question("Where is the chair?", limits=Limits(metres=60.0))


class Switch:
    """Turns the simulated robot on: until then it says nothing. Hears the episodes that begin."""

    def __init__(self) -> None:
        self.episodes: list[Any] = []
        self.heard = threading.Event()

    def listen(self, node: Any) -> None:
        self._robot = Remotes(node).service("reset_simulator")
        topic = TOPICS["episode"]
        node.create_subscription(interface(topic.type), topic.name, self._take, qos(topic.qos))

    def on(self, scene: str = "toy:room") -> None:
        episode = interface("eqa_interfaces/msg/Episode")(scene=scene, episode_id="the robot's own", seed=3)
        self._robot.call(WAIT_S, episode=episode)

    def begun(self) -> None:
        """Turn it on, unless that was done, and wait until the graph has begun an episode."""
        if not self.heard.is_set():
            self.on()
            assert self.heard.wait(WAIT_S)

    def _take(self, episode: Any) -> None:
        self.episodes.append(episode)
        self.heard.set()


class Unheard:
    """What is said to a question and to an episode that come before the robot is switched on."""

    def __init__(self, client: Any) -> None:
        self.answer = client.ask(CHAIR)
        with pytest.raises(EqaError) as error:
            client.reset("", "asked", None, 0)
        self.refusal = error.value


def robot_graph(folder: Path, **agent: object) -> RunningGraph:
    chosen = driven_by(NAV2)
    chosen["bridge"] |= {"real_time_factor": 4.0, "robot.base.timeout_s": 2.0}
    chosen["agent"] = {"map_name": "home", "begin_deadline_s": 1.0, **agent}
    own = merged(None, of_world("robot"), parameters(folder, chosen))
    return RunningGraph(folder, own, nodes=[*nodes_of("robot"), "bridge"])


@pytest.fixture(scope="module")
def robot(tmp_path_factory: pytest.TempPathFactory) -> Any:
    switch = Switch()
    with robot_graph(tmp_path_factory.mktemp("robot")) as graph, GraphClient(
            graph.environment, switch.listen) as client, StandIn(graph.environment):
        yield client, switch, Unheard(client)


def test_before_the_robot_is_heard_a_question_says_what_is_missing(robot: Any) -> None:
    answer, refusal = robot[2].answer, robot[2].refusal
    assert answer.error is refusal.code is ErrorCode.STALE
    assert "no odometry has arrived on odom" in answer.message and "from map to base_link" in answer.message
    assert "no odometry" in str(refusal)


def test_an_episode_begins_by_itself_and_a_question_is_answered(robot: Any) -> None:
    client, switch, _ = robot
    switch.begun()
    begun = switch.episodes[0]
    assert begun.episode_id[:2] == "20" and begun.keep_memory and (begun.scene, begun.map_name) == ("", "home")
    assert messages.stamp_of(begun) > 0
    answer = until_begun(lambda: client.ask(CHAIR))
    assert answer.error is ErrorCode.NONE and not answer.abstained and answer.evidence, answer.message
    assert answer.receipt.steps == 0  # nobody counts them on a robot


def test_an_episode_may_be_asked_for_too_where_the_robot_is(robot: Any) -> None:
    client, switch, _ = robot
    switch.begun()
    client.reset("", "asked", None, 0, keep_memory=True)
    assert switch.episodes[-1].episode_id == "asked" and switch.episodes[-1].map_name == "home"
    with pytest.raises(EqaError, match="leave the scene empty") as error:
        client.reset("toy:flat", "elsewhere", None, 0)
    assert error.value.code == ErrorCode.UNKNOWN_SCENE
    assert client.ask(CHAIR._replace(may_explore=False)).error is ErrorCode.NONE


@pytest.mark.thorough
def test_observers_that_are_silent_are_named(tmp_path: Path) -> None:
    switch = Switch()
    nodes = [name for name in nodes_of("robot") if name not in ("memory", "recorder")]
    graph = robot_graph(tmp_path, **{"node.call_deadline_s": 2.0})
    graph.nodes = [*nodes, "bridge"]
    with graph, GraphClient(graph.environment, switch.listen) as client:
        switch.on()
        answer = until(lambda: client.ask(CHAIR), lambda a: "memory/reset_episode" in a.message)
    assert answer.error is ErrorCode.STALE and "no episode has begun" in answer.message


def until_begun(ask: Callable[[], Any]) -> Any:
    """Ask until the first view of the episode is there; a busy machine may need longer than a question waits."""
    return until(ask, lambda answer: "no episode has begun" not in answer.message)


def until(ask: Callable[[], Any], done: Callable[[Any], bool]) -> Any:
    for _ in range(60):
        answer = ask()
        if done(answer):
            return answer
    raise AssertionError(answer)
