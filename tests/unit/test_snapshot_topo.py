"""Snapshots against frontiers (3D-Mem), and the topological map (AQ-Nav)."""

from __future__ import annotations

import math

import pytest

from eqa_nodes.core.frontiers import find_frontiers
from eqa_nodes.core.geometry import Pose2
from eqa_nodes.core.policies.config import SnapshotConfig, TopoConfig
from eqa_nodes.core.policies.snapshot_policy import SnapshotPolicy
from eqa_nodes.core.policies.topo_policy import LinearScorer, NodeFeatures, TopoPolicy, keyframes_for
from eqa_nodes.core.types import Candidate, GridMap, Question, RankedRegion, Situation, ViewAssessment
from tests.unit.grid_fixture import grid_of

HERE = Pose2(5.25, 1.25, 0.0)
EAST, WEST = 0.0, math.pi
KITCHEN = (RankedRegion("kitchen", 1.0),)


def hall() -> GridMap:
    """A hall 10.5 m x 2 m along x, whose ends, 2 m each, are not yet explored."""
    grid = grid_of("#" * 21, *["." * 21] * 4, "#" * 21)
    explored = grid.cells == 0
    explored[:, :20] = explored[:, -20:] = False
    return GridMap(0, grid.resolution_m, grid.origin, grid.cells, explored)


def view(number: int, yaw: float, *, x: float = HERE.x, worth: float = 0.0, relevance: float = 0.0, enough: float = 0.0,
         target: tuple[float, float] | None = None, places: tuple[Candidate, ...] = ()) -> ViewAssessment:
    return ViewAssessment(number, number, relevance, enough, "kitchen" if places else "", pose=Pose2(x, 1.25, yaw),
                          worth=worth, places=places, target=target)


def situation(*views: ViewAssessment, pose: Pose2 = HERE) -> Situation:
    grid = hall()
    return Situation(Question("Where is the kettle?"), pose, grid, find_frontiers(grid), views, KITCHEN)


def test_the_frontier_in_the_better_view_is_picked() -> None:
    for better, sign in ((EAST, 1), (WEST, -1)):
        views = [view(k, yaw, worth=0.9 if yaw == better else 0.3) for k, yaw in enumerate((EAST, WEST))]
        decision = SnapshotPolicy().decide(situation(*views))
        assert decision.goal is not None and math.copysign(1, decision.goal.x - HERE.x) == sign
        assert HERE.distance(decision.goal) <= SnapshotConfig().leg_m + 0.2  # 1 m a step


def test_a_snapshot_that_nearly_answers_beats_a_frontier_and_the_other_way_round() -> None:
    frontier = view(1, WEST, worth=0.5)
    for enough, kind in ((0.8, "snapshot"), (0.2, "frontier")):
        found = view(2, EAST, enough=enough, relevance=0.9, target=(7.5, 1.25))
        decision = SnapshotPolicy().decide(situation(frontier, found))
        best = max(decision.candidates, key=lambda c: c.weight)
        assert best.label == kind and (kind == "snapshot") == ("a snapshot" in decision.reason)


def test_what_no_view_shows_has_a_score_of_its_own() -> None:
    decision = SnapshotPolicy(SnapshotConfig(unseen=0.37)).decide(situation())
    assert decision.candidates and {c.weight for c in decision.candidates} == {0.37}


def test_views_of_one_thing_are_one_snapshot_and_only_the_ten_best_compete() -> None:
    near = [view(k, EAST, x=4.5 + 0.1 * k, enough=0.5, relevance=0.9, target=(7.0 + 0.3 * k, 1.25)) for k in range(3)]
    snapshots = [c for c in SnapshotPolicy().decide(situation(*near)).candidates if c.label == "snapshot"]
    assert len(snapshots) == 1
    assert (SnapshotConfig().prefilter, SnapshotConfig().together_m) == (10, 3.5)


def test_a_frontier_behind_a_wall_is_in_no_view() -> None:
    grid = grid_of("#" * 21, *["....................."[:10] + "#" + "." * 10] * 3, "." * 21, "#" * 21)
    explored = grid.cells == 0
    explored[:, -20:] = False
    walled = GridMap(0, 0.1, (0.0, 0.0), grid.cells, explored)
    east = view(1, EAST, x=4.25, worth=0.9)._replace(pose=Pose2(4.25, 2.0, EAST))
    at = Situation(Question("Where?"), Pose2(4.25, 2.0, 0.0), walled, find_frontiers(walled), (east,), ())
    unseen = [c for c in SnapshotPolicy().decide(at).candidates if c.weight == SnapshotConfig().unseen]
    assert unseen


def test_visited_nodes_are_a_metre_apart_and_hold_a_view_a_direction() -> None:
    policy = TopoPolicy()
    views = [view(k, yaw, x=x) for k, (x, yaw) in enumerate(((5.25, EAST), (5.45, WEST), (5.35, EAST), (6.6, EAST)))]
    decision = policy.decide(situation(*views))
    nodes = [m for m in decision.marks if m.label == "visited"]
    assert [(m.x, m.y) for m in nodes] == [(5.25, 1.25), (6.6, 1.25)]


def test_unvisited_nodes_lie_at_the_edge_of_what_was_seen_one_for_each_metre() -> None:
    decision = TopoPolicy().decide(situation())
    xs = sorted(c.x for c in decision.candidates)
    assert xs[0] == pytest.approx(2.05, abs=0.25) and xs[-1] == pytest.approx(8.45, abs=0.25)
    for a in decision.candidates:
        assert not any(0 < math.dist(a[:2], b[:2]) < TopoConfig().merge_m for b in decision.candidates)


def test_the_view_towards_a_node_and_its_room_decide() -> None:
    for x, sign in ((2.2, -1), (8.3, 1)):
        kitchen = (Candidate(x, 1.25, 1.0, "kitchen"),)
        promising = view(1, WEST if sign < 0 else EAST, worth=0.8, places=kitchen)
        decision = TopoPolicy().decide(situation(promising))
        assert decision.goal is not None and math.copysign(1, decision.goal.x - HERE.x) == sign


def test_the_score_without_training_is_a_sum() -> None:
    c = TopoConfig(worth=1.0, room=2.0, unseen=0.25, distance=0.1)
    assert LinearScorer(c).score(NodeFeatures(0.8, 0.5, 0.5, 0.0, 3.0)) == pytest.approx(0.8 * 0.75 + 2 * 0.5 - 0.3)
    assert LinearScorer(c).score(NodeFeatures(0.0, 0.0, 0.0, 1.0, 1.0)) == pytest.approx(0.25 - 0.1)


def test_a_trained_scorer_can_take_its_place() -> None:
    class Farthest:
        def score(self, node: NodeFeatures) -> float:
            return node.distance_m

    near_west = HERE._replace(x=3.0)
    hand_made = TopoPolicy().decide(situation(pose=near_west)).goal
    trained = TopoPolicy(scorer=Farthest()).decide(situation(pose=near_west)).goal
    assert hand_made is not None and trained is not None and hand_made.x < near_west.x < trained.x


def test_it_stops_when_stopping_scores_higher_than_every_node() -> None:
    views = view(7, EAST, relevance=0.9), view(8, WEST, relevance=0.4)
    decision = TopoPolicy(TopoConfig(stop=5.0)).decide(situation(*views))
    assert decision.goal is None and "stopping beats" in decision.reason and "1 keyframes" in decision.reason


def test_keyframes_for_the_answer_score_above_beta() -> None:
    views = [view(k, EAST, relevance=r) for k, r in enumerate((0.5, 0.51, 0.9, 0.1))]
    assert keyframes_for(views) == [1, 2] and TopoConfig().beta == 0.5
    assert keyframes_for(views, 0.05) == [0, 1, 2, 3]
