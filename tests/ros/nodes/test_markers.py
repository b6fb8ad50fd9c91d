"""A decision as messages: all of it is there, old markers go, and nothing grows with the way."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

import threading
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from rclpy.serialization import serialize_message
from visualization_msgs.msg import Marker

from eqa_nodes.core.types.floor import Candidate, Decision, Frontier, GridMap, Staircase
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Question, Situation
from eqa_nodes.nodes.explorer import ExplorerNode
from eqa_nodes.ros import convert
from eqa_nodes.ros.interfaces import interface, qos
from eqa_nodes.ros.markers import SHOWN, decision_markers, semantic_map
from eqa_nodes.ros.remote import Remotes
from eqa_nodes.testing.waiting import WAIT_S
from eqa_nodes.wire import messages
from eqa_nodes.wire.graph import TOPICS

SECOND = 1_000_000_000
FRONTIERS = (Frontier(2.0, 0.0, 0.0, 1.0), Frontier(-2.0, 0.0, 3.1, 0.6))
CANDIDATES = (Candidate(2.0, 0.0, 150.0, "frontier"), Candidate(-2.0, 0.0, 50.0, "frontier"),
              Candidate(0.0, 1.0, 100.0, "snapshot"))
MARKS = (Candidate(1.0, 1.0, 0.8, "value"), Candidate(1.0, 1.0, 0.5, "kitchen"), Candidate(1.5, 1.0, 0.6, "kitchen"))
DECISION = Decision(Pose2(2.0, 0.0, 0.5), "chose the wider frontier", CANDIDATES, marks=MARKS)


def situation(stamp_ns: int = 3 * SECOND) -> Situation:
    cells = np.zeros((60, 60), np.int8)
    grid = GridMap(stamp_ns, 0.1, (-3.0, -3.0), cells, cells == 0)
    return Situation(Question("Where?"), Pose2(0.5, -0.5, 0.0), grid, FRONTIERS)


def of(array: Any, namespace: str, kind: int) -> list[Any]:
    return [m for m in array.markers if m.ns == namespace and m.type == kind and m.action == Marker.ADD]


def test_all_that_explains_a_decision_is_shown() -> None:
    array = decision_markers(situation(), DECISION)
    assert array.markers[0].action == Marker.DELETEALL
    assert all(messages.stamp_of(m) == 3 * SECOND and m.header.frame_id == "map" for m in array.markers)
    assert len({m.id for m in array.markers}) == len(array.markers)
    strong, weak = of(array, "candidates/frontier", Marker.SPHERE)
    assert strong.scale.x > weak.scale.x and strong.color.a > weak.color.a
    assert [m.text for m in of(array, "candidates/frontier", Marker.TEXT_VIEW_FACING)] == [
        "frontier 150", "frontier 50"]
    (snapshot,) = of(array, "candidates/snapshot", Marker.CUBE)
    assert (snapshot.pose.position.x, snapshot.pose.position.y) == (0.0, 1.0)
    (lines,) = of(array, "frontiers", Marker.LINE_LIST)
    assert len(lines.points) == 2 * len(FRONTIERS)
    (arrow,) = of(array, "goal", Marker.ARROW)
    goal = messages.goal_of(convert.goal_msg(DECISION.goal, 0))  # type: ignore[arg-type]
    assert messages.pose2_of(messages.pose_of(arrow.pose)) == pytest.approx(goal)
    (discs,) = of(array, "regions", Marker.SPHERE_LIST)
    assert len(discs.points) == 2 and 0.0 < discs.color.a < 1.0
    assert of(array, "regions", Marker.TEXT_VIEW_FACING)[0].text == "kitchen 0.60"
    (reason,) = of(array, "reason", Marker.TEXT_VIEW_FACING)
    assert reason.text == DECISION.reason and (reason.pose.position.x, reason.pose.position.y) == (0.5, -0.5)


def test_all_of_it_is_in_the_frame_of_the_robots_map() -> None:
    array = convert.in_frame(decision_markers(situation(), DECISION), "r1/map")
    assert {m.header.frame_id for m in array.markers} == {"r1/map"}


def test_an_upper_floor_is_shown_at_its_height() -> None:
    here = situation()
    above = decision_markers(here._replace(grid=replace(here.grid, z=2.8)), DECISION)
    for low, high in zip(decision_markers(here, DECISION).markers, above.markers, strict=True):
        assert high.pose.position.z == low.pose.position.z + 2.8 and high.points == low.points
    assert semantic_map(replace(here.grid, z=2.8), MARKS).info.origin.position.z == 2.8


def test_nothing_left_to_explore_shows_the_reason_and_no_goal() -> None:
    array = decision_markers(situation()._replace(frontiers=()), Decision(None, "no frontier is left to look at"))
    assert [m.ns for m in array.markers] == ["", "reason"]


def test_only_the_strongest_of_many_candidates_are_shown_and_that_is_said() -> None:
    many = tuple(Candidate(0.01 * i, 0.0, float(i), "node") for i in range(5000))
    array = decision_markers(situation(), DECISION._replace(candidates=many))
    shown = of(array, "candidates/node", Marker.TEXT_VIEW_FACING)
    assert {m.text for m in shown} == {f"node {i:.3g}" for i in range(5000 - SHOWN, 5000)}
    assert of(array, "reason", Marker.TEXT_VIEW_FACING)[0].text.endswith("(4960 weaker candidates are not shown)")


def test_semantic_map_is_the_value_in_percent_on_the_map() -> None:
    message = semantic_map(situation().grid, MARKS)
    cells = messages.grid_of(message).cells
    assert messages.stamp_of(message) == 3 * SECOND and cells.shape == (60, 60)
    assert set(np.unique(cells)) == {-1, 80}
    assert cells[40, 40] == cells[40, 49] == 80 and cells[40, 51] == -1
    assert np.count_nonzero(cells == 80) == pytest.approx(np.pi * 100, rel=0.05)  # a disc of 1 m in cells of 0.1 m


class Listener:
    """Gives an explorer its map and hears what it shows; it comes after the decision, as RViz may."""

    def __init__(self, node: Any) -> None:
        self._heard = threading.Condition()
        self.messages: dict[str, list[Any]] = {"markers": [], "semantic_map": []}
        for key, store in self.messages.items():
            topic = TOPICS[key]
            node.create_subscription(interface(topic.type), topic.name, lambda m, s=store: self._on(s, m),
                                     qos(topic.qos))

    def _on(self, store: list[Any], message: Any) -> None:
        with self._heard:
            store.append(message)
            self._heard.notify_all()

    def wait(self, stamp_ns: int) -> None:
        """Wait until both topics were heard with this stamp."""
        with self._heard:
            assert self._heard.wait_for(lambda: all(s and self._stamp(s[-1]) == stamp_ns
                                                    for s in self.messages.values()), 10.0)

    @staticmethod
    def _stamp(message: Any) -> int:
        return messages.stamp_of(message.markers[0] if hasattr(message, "markers") else message)


def show_map(publishers: dict[str, Any], stamp_ns: int, frontiers: tuple[Frontier, ...] = FRONTIERS,
             staircases: tuple[Staircase, ...] = ()) -> None:
    grid = situation(stamp_ns).grid
    for key, message in {"map": convert.grid_msg(grid.cells, grid), "explored": convert.explored_msg(grid),
                         "frontiers": convert.frontiers_msg(frontiers, stamp_ns),
                         "stairs": convert.staircases_msg(staircases, stamp_ns)}.items():
        publishers[key].publish(message)


def mapping(node: Any) -> dict[str, Any]:
    return {key: node.create_publisher(interface(TOPICS[key].type), TOPICS[key].name, qos(TOPICS[key].qos))
            for key in ("map", "explored", "frontiers", "stairs")}


def ask(explorer: Any, stamp_ns: int) -> Any:
    """Return the decision on the map of a stamp, once that has arrived."""
    end = time.monotonic() + WAIT_S
    while True:
        response = explorer.exchange(WAIT_S, robot=convert.goal_msg(Pose2(0.5, -0.5, 0.0), stamp_ns),
                                     question=convert.question_msg(Question("Where?", seed=1)), new_question=True)
        if not response.error_code or time.monotonic() > end:
            return response
        time.sleep(0.01)


def test_explorer_says_where_the_stairs_are_when_nothing_is_left(ros: Any) -> None:
    ros.add(ExplorerNode)
    node = ros.plain("others")
    publishers, explorer = mapping(node), Remotes(node).service("choose_goal")
    show_map(publishers, SECOND, (), (Staircase((1.0, 2.0, 0.0), (1.5, 4.0, 2.8)),))
    response = ask(explorer, SECOND)
    assert not response.has_goal and "stairs at (1.0, 2.0) to the floor 2.8 m above" in response.reason


def test_explorer_shows_every_decision_also_to_who_comes_late(ros: Any) -> None:
    ros.add(ExplorerNode)
    node = ros.plain("others")
    publishers = mapping(node)
    explorer = Remotes(node).service("choose_goal")
    sizes, late = [], None
    for k in range(1, 21):
        show_map(publishers, k * SECOND)
        response = ask(explorer, k * SECOND)
        assert response.has_goal, response.error_message
        late = late or Listener(node)
        late.wait(k * SECOND)
        sizes.append(len(serialize_message(late.messages["markers"][-1])))
        texts = [m.text for m in of(late.messages["markers"][-1], "reason", Marker.TEXT_VIEW_FACING)]
        assert texts == [response.reason]
    assert max(sizes[10:]) <= max(sizes[:10])
