"""AQ-Nav's map: what is known of an unvisited node, by hand, and which views a visited node keeps."""

from __future__ import annotations

import math

import pytest

from eqa_nodes.core.policies.topo_policy import NodeFeatures, TopoConfig, TopoPolicy
from eqa_nodes.core.types.floor import Frontier
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import ViewAssessment
from tests.fixtures.policy_views import HERE, drive, goal_of, situation, spot, view

TO_WEST, TO_EAST = Frontier(6.25, 1.25, math.pi, 1.0), Frontier(14.25, 1.25, 0.0, 1.0)  # 4 m from HERE
BACK = HERE._replace(yaw=math.pi)


def known_of(*views: ViewAssessment, frontier: Frontier = TO_EAST) -> NodeFeatures:
    """Return what a scorer is told of the node at a frontier."""
    told: list[NodeFeatures] = []
    TopoPolicy(score=lambda node: told.append(node) or -node.distance_m).decide(  # type: ignore[func-returns-value]
        situation(*views, frontiers=[frontier]))
    (node,) = told
    return node


def test_what_is_known_of_a_node() -> None:
    """Its room: the kitchen's vote at 14.25 (0 m off) counts 1, that of the study at 13.25 exp(-0.5 (1 / 1.25)^2)."""
    near, off = 1.0, math.exp(-0.5 * (1.0 / 1.25) ** 2)
    node = known_of(view(1, spot(14.4, 0.7, "kitchen"), spot(13.1, 0.3, "study"), worth=0.8))
    assert node[:2] == (0.8, 0.7) and node.unseen == 0.0
    assert node.room == pytest.approx((near * 1.0 + off * 0.7) / (near + off))
    assert node.distance_m == pytest.approx(4.0, rel=0.05)


def test_nothing_is_known_of_a_node_that_no_view_looks_at() -> None:
    assert known_of()[:4] == (0.0, 0.0, 0.0, 1.0)
    assert known_of(view(1, spot(6.0), worth=0.8, pose=BACK))[:4] == (0.0, 0.0, 0.0, 1.0)


@pytest.mark.parametrize(("pose", "looks"), [
    (HERE._replace(yaw=math.radians(29)), True), (HERE._replace(yaw=math.radians(31)), False),
    (HERE._replace(x=8.3), True), (HERE._replace(x=8.2), False), (HERE._replace(x=14.1), False)])
def test_a_view_looks_at_a_node_within_thirty_degrees_and_six_metres(pose: Pose2, looks: bool) -> None:
    assert known_of(view(1, pose=pose, worth=0.8)).unseen == (0.0 if looks else 1.0)


def test_the_best_view_towards_a_node_counts_not_the_newest() -> None:
    views = view(1, worth=0.9), view(2, pose=HERE._replace(x=11.5), worth=0.3)  # of two visited nodes
    assert known_of(*views).worth == 0.9


def test_a_visited_node_keeps_the_newest_view_in_each_of_twelve_directions() -> None:
    first, back = view(1, worth=0.9), view(2, pose=BACK, worth=0.6)
    near = HERE._replace(x=HERE.x + 0.4, yaw=math.radians(14))  # the same node and direction
    assert known_of(first, back).worth == 0.9 and known_of(first, back, frontier=TO_WEST).worth == 0.6
    assert known_of(first, back, view(3, pose=near, worth=0.2)).worth == 0.2
    assert known_of(first, back, view(3, pose=near._replace(yaw=math.radians(16)), worth=0.2)).worth == 0.9


def test_nodes_within_a_metre_are_one_the_nearer_place_stands_for_both() -> None:
    frontiers = [Frontier(14.75, 1.25, 0.0, 1.0), Frontier(13.85, 1.25, 0.2, 1.0), Frontier(15.25, 1.25, 0.0, 1.0)]
    candidates = TopoPolicy().decide(situation(frontiers=frontiers)).candidates
    assert [c.x for c in candidates] == [pytest.approx(13.85), pytest.approx(15.25)]


def test_a_node_is_kept_until_it_is_reached_although_another_scores_better_by_then() -> None:
    policy = TopoPolicy()
    first = goal_of(policy.decide(situation(view(1, worth=0.5), frontiers=[TO_WEST, TO_EAST])))
    assert first.x > HERE.x
    views = view(1, worth=0.5), view(2, spot(6.25, label="kitchen"), pose=BACK, worth=1.0)
    second = policy.decide(situation(*views, pose=first, frontiers=[TO_WEST, TO_EAST]))
    assert goal_of(second).x > first.x and "keeps going" in second.reason
    assert max(second.candidates, key=lambda c: c.weight).x < HERE.x
    third = policy.decide(situation(*views, pose=goal_of(second), frontiers=[TO_WEST, TO_EAST]))
    assert goal_of(third).x < goal_of(second).x and "chose" in third.reason


def test_going_far_back_costs_only_the_way_and_ends_when_all_nodes_were_visited() -> None:
    decisions = drive(TopoPolicy(), situation(frontiers=[Frontier(1.25, 1.25, math.pi, 1.0), TO_EAST]))
    ends = [d.goal.x for d in decisions if d.goal]
    assert max(ends) == pytest.approx(14.25, abs=0.1) and ends[-1] == pytest.approx(1.25, abs=0.4)
    assert decisions[-1].goal is None and "no unvisited node is left" in decisions[-1].reason


def test_the_keyframes_that_are_named_are_those_above_the_beta_that_was_set() -> None:
    views = view(1, relevance=0.6), view(2, relevance=0.9)
    for beta, count in ((0.5, 2), (0.7, 1), (0.95, 0)):
        assert f"{count} keyframes" in TopoPolicy(TopoConfig(beta=beta)).decide(situation(*views)).reason


@pytest.mark.parametrize(("stop", "stops"), [(0.75, True), (0.65, False)])
def test_stopping_is_weighed_like_a_node(stop: float, stops: bool) -> None:
    """worth 1.0 * (0.5 + 0.5 * 1.0), less 0.1 a metre for about 3 m of path: 0.7."""
    at = situation(view(1, spot(13.25), worth=1.0), frontiers=[TO_EAST._replace(x=13.25)])
    decision = TopoPolicy(TopoConfig(stop=stop)).decide(at)
    assert (decision.goal is None) == stops and ("stopping beats all 1" in decision.reason) == stops
