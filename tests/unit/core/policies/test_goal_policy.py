"""Goal-oriented exploration: what is visited, how often, and what comes when nothing is promising."""

from __future__ import annotations

import itertools

import pytest

from eqa_nodes.core.policies.goal_policy import GoalConfig, GoalPolicy
from eqa_nodes.core.policies.semantic_map import SemanticConfig
from eqa_nodes.core.types.floor import Decision
from tests.fixtures.policy_views import HERE, LENGTH_M, drive, goal_of, situation, spot, view

SHARP = SemanticConfig(sigma_cells=0.01)  # so that values stay where they were painted


def targets(decisions: list[Decision], said: str) -> list[tuple[float, float]]:
    """Return the targets, each once, of the decisions that give this reason."""
    found = [d.candidates[0][:2] for d in decisions if d.goal is not None and said in d.reason]
    return list(dict.fromkeys((x, y) for x, y in found))


def test_of_equal_floor_the_nearest_that_was_not_visited_is_next() -> None:
    """A disc of 1 m of one value, painted where the robot stands: 0.5 m round it was visited."""
    goal = goal_of(GoalPolicy(GoalConfig(semantic=SHARP)).decide(situation(view(1, spot(HERE.x)))))
    assert HERE.distance(goal) == pytest.approx(0.5)


def test_a_target_is_kept_on_the_way_even_when_something_better_turns_up() -> None:
    policy, far = GoalPolicy(GoalConfig(semantic=SHARP)), view(1, spot(18.0), worth=0.2)
    first = policy.decide(situation(far))
    second = policy.decide(situation(far, view(2, spot(2.0), worth=1.0), pose=goal_of(first)))
    assert HERE.x < goal_of(first).x < goal_of(second).x and first.candidates == second.candidates


def test_where_nothing_is_promising_the_floor_farthest_from_all_visits_is_next_until_all_was_seen() -> None:
    """From the middle to an end, then to the other; each target at least 2 m from what was visited by then."""
    decisions = drive(GoalPolicy(), situation())
    assert decisions[-1].goal is None and "all floor" in decisions[-1].reason
    first, second = targets(decisions, "farthest from all visits")[:2]
    assert min(first[0], second[0]) < 1.5 and max(first[0], second[0]) > LENGTH_M - 1.5
    stood = [HERE]
    for before, decision in itertools.pairwise(decisions[:-1]):
        stood.append(goal_of(before))
        x, y = decision.candidates[0][:2]
        if decision.candidates != before.candidates:
            assert all(p.distance(p._replace(x=x, y=y)) >= 2.0 for p in stood)


@pytest.mark.parametrize("visits", [1, 2, 3])
def test_a_region_is_visited_exactly_so_often_when_it_is_large(visits: int) -> None:
    policy = GoalPolicy(GoalConfig(semantic=SHARP, visits=visits))
    kitchen = view(1, *[spot(x, label="kitchen") for x in (13.1, 14.1, 15.1, 16.1)])
    assert len(targets(drive(policy, situation(kitchen)), "the kitchen ranks")) == visits


def test_two_kitchens_have_visits_of_their_own() -> None:
    kitchens = [view(k, *[spot(x + d, label="kitchen") for d in (0.0, 0.5, 1.0)]) for k, x in enumerate((2.1, 16.1))]
    found = targets(drive(GoalPolicy(GoalConfig(semantic=SHARP, visits=2)), situation(*kitchens)), "the kitchen ranks")
    assert sorted(x < HERE.x for x, _ in found) == [False, False, True, True]
