"""3D-Mem's choice: which views become snapshots, what a frontier's view promises, and when the choice changes."""

from __future__ import annotations

import math

import pytest

from eqa_nodes.core.policies.snapshot_policy import SnapshotConfig, SnapshotPolicy
from eqa_nodes.core.types.floor import Candidate, Frontier, GridMap
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import ViewAssessment
from tests.fixtures.policy_views import HERE, drive, goal_of, hall, situation, spot, view

TO_WEST, TO_EAST = Frontier(6.25, 1.25, math.pi, 1.0), Frontier(14.25, 1.25, 0.0, 1.0)  # 4 m from HERE
BACK = HERE._replace(yaw=math.pi)


def weights_of(policy: SnapshotPolicy, *views: ViewAssessment, frontiers: list[Frontier] | None = None) -> list[float]:
    return [c.weight for c in policy.decide(situation(*views, frontiers=frontiers or [])).candidates]


def object_view(number: int, x: float, enough: float, relevance: float = 0.9) -> ViewAssessment:
    """Return a view, taken a metre and a half before it, of a thing at x."""
    return view(number, pose=Pose2(x - 1.5, 1.25, 0.0), relevance=relevance, enough=enough, target_x=x)


def test_only_the_best_snapshots_compete() -> None:
    objects = [object_view(k, x, enough) for k, (x, enough) in enumerate(
        ((2.5, 0.1), (6.5, 0.5), (10.5, 0.3), (14.5, 0.9), (18.5, 0.2)))]
    assert weights_of(SnapshotPolicy(SnapshotConfig(prefilter=2)), *objects) == [0.9, 0.5]
    assert weights_of(SnapshotPolicy(), *objects) == [0.9, 0.5, 0.3, 0.2, 0.1]
    assert weights_of(SnapshotPolicy(), *[t._replace(relevance=0.0) for t in objects]) == []


@pytest.mark.parametrize(("apart_m", "snapshots"), [(3.4, [0.6]), (3.6, [0.6, 0.4])])
def test_the_best_view_stands_for_what_lies_within_three_and_a_half_metres(
        apart_m: float, snapshots: list[float]) -> None:
    assert weights_of(SnapshotPolicy(), object_view(1, 8.0, 0.4), object_view(2, 8.0 + apart_m, 0.6)) == snapshots


def test_a_snapshot_is_looked_at_again_from_one_to_three_and_a_half_metres_and_only_once() -> None:
    decisions = drive(SnapshotPolicy(), situation(object_view(1, 17.0, 0.6), frontiers=[]))
    x, y = decisions[0].candidates[0][:2]
    assert 1.0 <= math.dist((x, y), (17.0, 1.25)) <= 3.5
    assert decisions[-1].goal is None and decisions[-2].goal is not None
    assert math.dist(goal_of(decisions[-2])[:2], (x, y)) < 0.4 and abs(goal_of(decisions[-2]).yaw) < 0.5
    assert len({d.candidates[0][:2] for d in decisions[:-1]}) == 1


@pytest.mark.parametrize(("east", "promised"), [(0.75, 0.8), (0.25, 0.8 * (0.5 + 0.5 * 0.25 * 2)), (0.0, 0.4)])
def test_a_frontier_is_worth_what_its_view_is_by_the_share_of_the_nearest_place(east: float, promised: float) -> None:
    """Worth 0.8; two places, of which the even share is a half: beyond that it is worth no more."""
    seen = view(1, spot(14.0, east), spot(11.5, 1.0 - east), worth=0.8)
    assert weights_of(SnapshotPolicy(), seen, frontiers=[TO_EAST]) == [pytest.approx(promised)]
    assert weights_of(SnapshotPolicy(), seen._replace(places=()), frontiers=[TO_EAST]) == [0.8]


@pytest.mark.parametrize("pose", [BACK, HERE._replace(x=8.2), HERE._replace(yaw=math.radians(46))])
def test_a_view_that_faces_away_or_is_more_than_six_metres_off_shows_no_frontier(pose: Pose2) -> None:
    assert weights_of(SnapshotPolicy(), view(1, pose=pose, worth=0.8), frontiers=[TO_EAST]) == [SnapshotConfig().unseen]
    turned = HERE._replace(yaw=math.radians(44))
    assert weights_of(SnapshotPolicy(), view(1, pose=turned, worth=0.8), frontiers=[TO_EAST]) == [0.8]


def test_a_wall_between_a_view_and_a_frontier_hides_it() -> None:
    grid, beyond = hall(), HERE._replace(x=15.25)
    cells = grid.cells.copy()
    cells[:, 120:122] = 100
    walled = GridMap(0, grid.resolution_m, grid.origin, cells, grid.explored)
    for around, weight in ((walled, SnapshotConfig().unseen), (grid, 0.8)):
        at = situation(view(1, worth=0.8), grid=around, pose=beyond, frontiers=[TO_EAST])
        assert SnapshotPolicy().decide(at).candidates == (Candidate(14.25, 1.25, weight, "frontier"),)


def test_without_a_view_the_nearer_frontier_wins() -> None:
    for x, sign in ((10.0, -1), (10.5, 1)):
        decision = SnapshotPolicy().decide(situation(pose=HERE._replace(x=x), frontiers=[TO_WEST, TO_EAST]))
        assert math.copysign(1, goal_of(decision).x - x) == sign


@pytest.mark.parametrize(("west", "goes_on"), [(0.58, True), (0.62, False)])
def test_another_image_must_be_better_by_a_margin(west: float, goes_on: bool) -> None:
    """0.5 to the east was picked; the west must promise more than 0.6."""
    policy, east = SnapshotPolicy(), view(1, worth=0.5)
    first = goal_of(policy.decide(situation(east, frontiers=[TO_WEST, TO_EAST])))
    assert first.x == pytest.approx(HERE.x + 1.0, abs=0.1)
    later = situation(east, view(2, pose=BACK, worth=west), pose=first, frontiers=[TO_WEST, TO_EAST])
    assert (goal_of(policy.decide(later)).x > first.x) == goes_on


def test_a_view_is_remembered_for_each_direction_and_replaced_by_a_newer_one() -> None:
    both, old = [TO_WEST, TO_EAST], (view(1, worth=0.9), view(2, pose=BACK, worth=0.7))
    assert weights_of(SnapshotPolicy(), *old, frontiers=both) == [0.9, 0.7]
    assert weights_of(SnapshotPolicy(), *old, view(3, worth=0.4), frontiers=both) == [0.7, 0.4]
