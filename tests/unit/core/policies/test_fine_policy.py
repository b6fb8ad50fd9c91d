"""Fine-EQA: how long a region is searched, what takes its place, and that frontiers are frontiers again after it."""

from __future__ import annotations

import pytest

from eqa_nodes.core.policies.fine_policy import FineConfig, FinePolicy
from eqa_nodes.core.types.floor import Decision, GridMap
from eqa_nodes.core.types.questions import ViewAssessment
from tests.fixtures.policy_views import HERE, ROOMS, drive, goal_of, hall, situation, spot, view

WEST, EAST = 2.1, 18.1
FOUND, KEPT, FRONTIER = "and was found", "keeps searching the region", "no region that matters is left"


def room(number: int, x: float, name: str) -> ViewAssessment:
    """Return a view that shows a room at x."""
    return view(number, spot(x, label=name), worth=0.5)


def said(decisions: list[Decision], what: str) -> list[Decision]:
    return [d for d in decisions if what in d.reason]


def test_what_was_visited_is_not_searched_again() -> None:
    first = FinePolicy().decide(situation(room(1, HERE.x, "kitchen")))
    assert FOUND in first.reason and HERE.distance(goal_of(first)) == pytest.approx(0.5)


def test_on_the_way_to_a_region_one_of_higher_rank_takes_its_place_and_one_of_lower_rank_does_not() -> None:
    for name, turns_back in (("kitchen", True), ("pantry", False)):
        policy, dining = FinePolicy(), room(1, WEST, "dining room")
        halfway = goal_of(policy.decide(situation(dining)))
        assert WEST + 2 < halfway.x < HERE.x
        decision = policy.decide(situation(dining, room(2, EAST, name), pose=halfway))
        assert (goal_of(decision).x > halfway.x) == turns_back
        assert (f"the {name} ranks first" if turns_back else KEPT) in decision.reason


def test_a_region_that_was_visited_often_enough_does_not_call_the_robot_away_again() -> None:
    """The kitchen's one visit is spent: the dining room is chosen once, and kept for all the legs to it."""
    views = room(1, EAST, "kitchen"), room(2, WEST, "dining room")
    decisions = drive(FinePolicy(FineConfig(visits=1)), situation(*views))
    assert len(said(decisions, "the kitchen ranks first")) == len(said(decisions, "the dining room ranks")) == 1
    assert len(said(decisions, KEPT)) > 3


def test_it_looks_round_where_it_arrives_and_not_on_the_way() -> None:
    decisions = drive(FinePolicy(FineConfig(visits=1)), situation(room(1, EAST, "kitchen")))
    legs = [d for d in decisions if FOUND in d.reason or KEPT in d.reason]
    assert [d.look_around for d in legs] == [False] * (len(legs) - 1) + [True] and len(legs) == 3


def test_every_region_that_the_question_ranks_is_searched_in_the_order_of_the_ranks() -> None:
    """Five of them: the published code knows two."""
    xs = (18.1, 2.1, 14.1, 6.1, 10.1)
    decisions = drive(FinePolicy(), situation(*[room(k, x, name) for k, (x, name) in enumerate(zip(xs, ROOMS))]), 120)
    order = [next(name for name in ROOMS if f"the {name} ranks" in d.reason) for d in said(decisions, FOUND)]
    assert list(dict.fromkeys(order)) == list(ROOMS) and order == sorted(order, key=ROOMS.index)
    assert max(map(order.count, ROOMS)) <= FineConfig().visits == 3
    assert decisions[-1].goal is None


def test_after_the_regions_it_is_frontiers_until_another_region_is_found() -> None:
    policy, kitchen = FinePolicy(FineConfig(visits=1)), room(1, 13.1, "kitchen")
    at = situation(kitchen, grid=hall(unexplored_m=1.0))
    decisions = drive(policy, at, legs=4)
    left = next(i for i, d in enumerate(decisions) if FRONTIER in d.reason)
    assert left > 0 and len(said(decisions, FRONTIER)) == 4 - left > 1 and not said(decisions[left:], KEPT)
    assert {c.label for c in decisions[-1].candidates} == {"frontier"}
    again = policy.decide(at._replace(assessments=(kitchen, room(2, HERE.x, "study")), pose=goal_of(decisions[-1])))
    assert "the study ranks" in again.reason and again.candidates[0].label == "region"


def test_a_region_that_cannot_be_reached_is_passed_over() -> None:
    grid = hall(unexplored_m=1.0)
    cells = grid.cells.copy()
    cells[:, 150:153] = 100
    walled = GridMap(0, grid.resolution_m, grid.origin, cells, grid.explored)
    beyond, here = room(1, EAST, "kitchen"), room(2, 5.1, "pantry")
    assert "the pantry ranks" in FinePolicy().decide(situation(beyond, here, grid=walled)).reason
    assert FRONTIER in FinePolicy().decide(situation(beyond, grid=walled)).reason
