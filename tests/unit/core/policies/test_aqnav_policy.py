"""AQ-Nav with a planner: what a node is told, that a chosen place is kept, and when the robot stops or goes back."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.policies.aqnav_policy import AqNavConfig, AqNavPolicy
from eqa_nodes.core.policies.planner import GraphPlanner, PlannerInput, PlannerShape
from eqa_nodes.core.policies.steering import ReachableArea
from eqa_nodes.core.policies.topo_graph import FEATURES, MOST, NUMBERS, GraphBuilder, TopoGraph
from eqa_nodes.core.types.floor import Frontier
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Situation
from tests.fixtures.policy_views import HERE, goal_of, situation, spot, view

TO_WEST, TO_EAST = Frontier(6.25, 1.25, math.pi, 1.0), Frontier(14.25, 1.25, 0.0, 1.5)  # 4 m from HERE
RADIUS_M = 0.18


class Told(GraphPlanner):
    """A planner whose scores a test computes. Numbers of a node by name: `told.of(row)`."""

    def __init__(self, score: Callable[[dict[str, float]], float]) -> None:
        super().__init__({}, PlannerShape())
        self._score = score

    def scores(self, given: PlannerInput) -> np.ndarray:
        """Return the test's score of each node."""
        return np.array([self._score(dict(zip(NUMBERS, row, strict=True))) for row in given.numbers.tolist()])


def graph_of(*views: object, builder: GraphBuilder | None = None, **known: object) -> TopoGraph:
    """Return the graph of a situation."""
    at: Situation = situation(*views, **known)  # type: ignore[arg-type]
    return (builder or GraphBuilder()).update(at, ReachableArea(at.grid, at.pose, RADIUS_M))


def node_of(graph: TopoGraph, frontier: Frontier) -> dict[str, float]:
    """Return the numbers of a frontier's node by name."""
    nodes = [k for k, ghost in enumerate(graph.ghosts) if ghost.frontier == frontier]
    return dict(zip(NUMBERS, graph.numbers[graph.first + nodes[0]].tolist(), strict=True))


def farther_east(node: dict[str, float]) -> float:
    """Score places ahead of a robot that faces east by their distance, and stopping last."""
    return -9.0 if node["stop"] else node["straight"] * node["cosine"]


def test_the_graph_has_the_robot_the_places_it_was_at_and_those_it_could_go_to() -> None:
    builder = GraphBuilder()
    first = graph_of(frontiers=[TO_WEST, TO_EAST], builder=builder)
    assert first.open.tolist() == [True, False, *[True] * len(first.ghosts)] and first.first == 2
    assert {ghost.frontier for ghost in first.ghosts[:2]} == {TO_EAST, TO_WEST}
    floor = [ghost.place.pose for ghost in first.ghosts if ghost.frontier is None]
    assert {round(pose.x - HERE.x) for pose in floor} >= {-3, 3} and all(abs(pose.x - HERE.x) < 3.3 for pose in floor)
    builder.moves += 1
    second = graph_of(frontiers=[TO_EAST], pose=HERE._replace(x=12.25), builder=builder)
    assert second.open[:3].tolist() == [True, False, False]  # two visited places, 2 m apart
    assert second.paths[1, 2] == pytest.approx(2 / 30) and second.paths[0, 2] == 0.0
    east = node_of(second, TO_EAST)
    assert east["path"] == pytest.approx(0.2, abs=0.02) and east["step"] == pytest.approx(0.1)  # found a move ago


def test_what_a_node_says_of_a_place() -> None:
    views = view(1, spot(14.4, 0.7, "kitchen"), worth=0.8, relevance=0.6, enough=0.4, target_x=15.25)
    graph = graph_of(views, frontiers=[TO_WEST, TO_EAST])
    east, west = node_of(graph, TO_EAST), node_of(graph, TO_WEST)
    assert (east["worth"], east["share"], east["room"], east["unseen"]) == pytest.approx((0.8, 0.7, 1.0, 0.0))
    assert (east["relevance"], east["enough"]) == pytest.approx((0.6, 0.4))
    assert east["target"] == pytest.approx(math.exp(-0.5)) and west["target"] == pytest.approx(math.exp(-4.5))
    assert (east["sine"], east["cosine"]) == pytest.approx((0.0, 1.0), abs=1e-6) and west["cosine"] < -0.99
    assert (west["worth"], west["unseen"]) == (0.0, 1.0) and east["length"] == 0.5
    assert graph.names[graph.first + [g.frontier for g in graph.ghosts].index(TO_EAST)] == "kitchen"
    stop = dict(zip(NUMBERS, graph.numbers[0].tolist(), strict=True))
    assert (stop["stop"], stop["relevance"], stop["enough"]) == pytest.approx((1.0, 0.6, 0.4))


def test_a_graph_never_has_more_nodes_than_a_planner_takes() -> None:
    builder = GraphBuilder()
    frontiers = [Frontier(x / 2, y / 2, 0.0, 1.0) for x in range(2, 39) for y in (2, 3, 4)]
    for x in range(2, 38, 2):
        graph = graph_of(frontiers=frontiers, pose=HERE._replace(x=x / 2 + 0.25), builder=builder)
    assert len(graph.open) == MOST == len(graph.numbers) and graph.numbers.shape[1] == FEATURES
    assert graph.open[graph.first:].all() and np.isfinite(graph.numbers).all() and (graph.paths <= 2.0).all()


def test_it_drives_to_the_place_that_scores_best_and_keeps_to_it() -> None:
    policy = AqNavPolicy(planner=Told(farther_east))
    at = situation(frontiers=[TO_WEST, TO_EAST])
    first = policy.decide(at)
    assert goal_of(first).x == pytest.approx(HERE.x + 3.0, abs=0.3) and "chose the place" in first.reason
    second = policy.decide(at._replace(pose=goal_of(first)))
    assert goal_of(second).x == pytest.approx(14.25, abs=0.1) and "keeps going" in second.reason


def test_it_stops_when_stopping_scores_best() -> None:
    policy = AqNavPolicy(planner=Told(lambda node: 1.0 if node["stop"] and node["enough"] > 0.5 else 0.5 * node["sine"]
                                      if not node["stop"] else -1.0))
    at = situation(view(1, enough=0.2), frontiers=[TO_EAST])
    assert policy.decide(at).goal is not None
    policy.reset(0)
    decision = policy.decide(situation(view(1, enough=0.9), frontiers=[TO_EAST]))
    assert decision.goal is None and "stopping scores 0." in decision.reason and decision.candidates


def test_after_its_last_move_it_goes_back_to_where_stopping_scored_best_and_stops_there() -> None:
    def score(node: dict[str, float]) -> float:
        return (-1.0 if node["moves"] == pytest.approx(0.1) else -2.0) if node["stop"] else farther_east(node)

    policy, pose = AqNavPolicy(AqNavConfig(moves=2), planner=Told(score)), HERE
    where, reasons = [], []
    for _ in range(12):
        decision = policy.decide(situation(frontiers=[Frontier(19.25, 1.25, 0.0, 1.0), TO_WEST], pose=pose))
        reasons.append(decision.reason)
        if decision.goal is None:
            break
        pose = decision.goal
        where.append(pose.x)
    assert "2 places were tried" in reasons[-2] and "back where stopping scored best" in reasons[-1]
    assert where[-1] < max(where) and decision.goal is None


def test_without_a_place_to_go_to_it_ends() -> None:
    policy, pose = AqNavPolicy(planner=Told(farther_east)), HERE
    for _ in range(40):
        decision = policy.decide(situation(frontiers=[], pose=pose))
        if decision.goal is None:
            break
        pose = decision.goal
    assert decision.goal is None


def test_the_same_situation_gives_the_same_decision() -> None:
    at = situation(view(1, spot(14.4, 0.7, "kitchen"), worth=0.8), frontiers=[TO_WEST, TO_EAST])
    one, other = (AqNavPolicy().decide(at) for _ in range(2))
    assert one == other


def test_settings_and_files_that_cannot_be(tmp_path: object) -> None:
    with pytest.raises(ConfigError, match=r"aqnav.moves is 0"):
        AqNavConfig(moves=0)
    with pytest.raises(ConfigError, match="there is no planner"):
        AqNavPolicy(AqNavConfig(planner=f"{tmp_path}/none.npz"))


def test_where_a_house_lies_on_its_map_is_in_none_of_the_numbers() -> None:
    def moved(pose: Pose2) -> Pose2:
        return pose._replace(x=pose.x + 40.0, y=pose.y - 16.0)

    one = situation(view(1, spot(14.4, 0.7, "kitchen"), worth=0.8, target_x=15.25), frontiers=[TO_WEST, TO_EAST])
    (seen,) = one.assessments
    away = replace(one.grid, origin=(one.grid.origin[0] + 40.0, one.grid.origin[1] - 16.0))
    other = one._replace(
        grid=away, pose=moved(one.pose), frontiers=[f._replace(x=f.x + 40.0, y=f.y - 16.0) for f in one.frontiers],
        assessments=[seen._replace(pose=moved(seen.pose), target=(15.25 + 40.0, HERE.y - 16.0), places=tuple(
            p._replace(x=p.x + 40.0, y=p.y - 16.0) for p in seen.places))])
    here, there = (GraphBuilder().update(at, ReachableArea(at.grid, at.pose, RADIUS_M)) for at in (one, other))
    assert here.names == there.names and (here.open == there.open).all()
    assert here.numbers == pytest.approx(there.numbers, abs=0.03)  # floor may end a cell of 0.1 m sooner by rounding
    assert here.paths == pytest.approx(there.paths, abs=0.03)


def test_a_visited_place_is_no_ghost() -> None:
    builder = GraphBuilder()
    graph_of(frontiers=[], builder=builder)
    there = Pose2(HERE.x + 2.75, HERE.y, 0.0)
    later = graph_of(frontiers=[], pose=there, builder=builder)
    assert all(math.hypot(g.place.pose.x - x, g.place.pose.y - HERE.y) > 0.7 for g in later.ghosts
               for x in (HERE.x, there.x))
