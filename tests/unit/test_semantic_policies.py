"""The policies of EXPRESS-Bench: values and regions by hand, where `goal` and `fine` go, and when they change over."""

from __future__ import annotations

import math

import numpy as np
import pytest

from eqa_nodes.core.frontiers import find_frontiers
from eqa_nodes.core.geometry import Pose2
from eqa_nodes.core.policies.belief import RoomBelief
from eqa_nodes.core.policies.config import FineConfig, FrontierConfig, GoalConfig, SemanticConfig
from eqa_nodes.core.policies.fine_policy import FinePolicy
from eqa_nodes.core.policies.frontier_policy import FrontierPolicy, SemanticValues, frontier_weights
from eqa_nodes.core.policies.goal_policy import GoalPolicy
from eqa_nodes.core.policies.semantic_map import SemanticMap, functional_regions, mask_of
from eqa_nodes.core.types import (
    Candidate,
    Decision,
    Frontier,
    GridMap,
    Question,
    RankedRegion,
    Situation,
    ViewAssessment,
)
from tests.unit.grid_fixture import grid_of

HERE = Pose2(5.25, 1.25, 0.0)
SHARP = SemanticConfig(sigma_cells=0.01)  # so that values stay where they were painted
RANKED = (RankedRegion("kitchen", 1.0), RankedRegion("dining room", 0.6), RankedRegion("pantry", 0.3))


def hall(unexplored: bool = True) -> GridMap:
    """A hall 10.5 m x 2 m along x, whose ends are not yet explored."""
    grid = grid_of("#" * 21, *["." * 21] * 4, "#" * 21)
    explored = grid.cells == 0
    if unexplored:
        explored[:, :20] = explored[:, -20:] = False
    return GridMap(0, grid.resolution_m, grid.origin, grid.cells, explored)


def view(number: int, *places: Candidate, worth: float = 0.0, region: str = "") -> ViewAssessment:
    return ViewAssessment(number, number, 0.0, 0.0, region, pose=HERE, worth=worth, places=places)


def in_room(number: int, x: float, name: str, worth: float = 0.5) -> ViewAssessment:
    """A view that puts enough votes for a room on one spot."""
    return view(number, *[Candidate(x, 1.25, 1.0, name)] * 2, worth=worth)


def situation(*views: ViewAssessment, grid: GridMap | None = None, pose: Pose2 = HERE) -> Situation:
    grid = grid or hall()
    return Situation(Question("Where is the kettle?"), pose, grid, find_frontiers(grid), views, RANKED)


def test_a_value_is_its_share_of_the_view_times_the_view() -> None:
    """SV = (weight * n / 3) * exp(worth / 0.5) / 3, the mean of what was painted on a cell."""
    values, grid = SemanticMap(SHARP), hall()
    values.update([view(1, Candidate(3.05, 1.25, 0.7, ""), Candidate(8.05, 1.25, 0.3, ""), worth=0.5)], 0.1)
    first = 0.7 * 2 / 3 * math.exp(1.0) / 3
    assert values.on(grid)[12, 30] == pytest.approx(first, rel=1e-5)
    assert values.on(grid)[12, 80] == pytest.approx(0.3 * 2 / 3 * math.exp(1.0) / 3, rel=1e-5)
    assert values.on(grid)[12, 30 + 9] > 0 == values.on(grid)[12, 30 + 11]  # a disc of 1 m
    values.update([view(1, Candidate(3.05, 1.25, 1.0, ""), worth=1.0)], 0.1)  # was painted already
    values.update([view(2, Candidate(3.05, 1.25, 1.0, ""), worth=0.0)], 0.1)
    assert values.on(grid)[12, 30] == pytest.approx((first + 1 / 3 * 1 / 3) / 2, rel=1e-5)


def test_values_are_smoothed_and_follow_a_map_that_grows() -> None:
    values = SemanticMap(SemanticConfig())
    values.update([view(1, Candidate(3.05, 1.25, 1.0, ""))], 0.1)
    small, grown = hall(), grid_of(*["." * 30] * 10)
    shifted = GridMap(0, 0.1, (-2.0, -1.0), grown.cells, grown.explored)
    assert values.on(shifted)[22, 50] == pytest.approx(values.on(small)[12, 30], rel=1e-5)
    assert 0 < values.on(small)[12, 42] < values.on(small)[12, 30]


def test_regions_need_votes_that_agree_and_come_by_rank() -> None:
    belief = RoomBelief()
    belief.update([in_room(1, 1.2, "dining room"), in_room(2, 9.2, "kitchen"), in_room(3, 5.2, "bathroom"),
                   view(4, Candidate(3.2, 1.25, 1.0, "kitchen"), Candidate(3.2, 1.25, 1.0, "office"),
                        Candidate(3.2, 1.25, 1.0, "garage"))])
    found = functional_regions(belief, RANKED, SemanticConfig())
    assert [(r.name, r.rank) for r in found] == [("kitchen", 1.0), ("dining room", 0.6)]
    assert found[0].spots == ((9.25, 1.25),)


def test_floor_of_one_name_is_one_region_up_to_three_metres() -> None:
    belief = RoomBelief()
    belief.update([in_room(1, x, "kitchen") for x in (1.2,)] + [in_room(2, 4.0, "kitchen"), in_room(3, 9.2, "kitchen")])
    assert [len(r.spots) for r in functional_regions(belief, RANKED, SemanticConfig())] == [2, 1]


def test_the_mask_is_a_disc_round_each_spot() -> None:
    mask = mask_of(hall(), [(1.05, 1.25), (-5.0, -5.0)], 0.5)
    assert mask[12, 10] and mask[12, 14] and not mask[12, 16] and not mask[16, 14]


def test_semantic_values_weigh_frontiers_as_equation_7_says() -> None:
    grid, frontier = hall(), Frontier(8.05, 1.25, 0.0, 1.0)
    plain, = frontier_weights(grid, [frontier], [2.0], FrontierConfig())
    values = np.zeros(grid.cells.shape, np.float32)
    values[12, 80] = 0.25
    values[12, 81:96] = 0.5  # half of the ray of 3 m
    weighed, = frontier_weights(grid, [frontier], [2.0], FrontierConfig(), SemanticValues(values, 0.5, 3.0))
    assert weighed / plain == pytest.approx(math.exp(0.25 / 0.5) * math.exp(0.25 / 0.5), rel=1e-5)


def goal_of(decision: Decision) -> Pose2:
    assert decision.goal is not None, decision.reason
    return decision.goal


def test_goal_goes_into_the_best_region_even_where_other_floor_has_a_higher_value() -> None:
    policy = GoalPolicy(GoalConfig(semantic=SHARP))
    high = view(1, Candidate(1.25, 1.25, 1.0, ""), worth=1.0)
    assert goal_of(policy.decide(situation(high))).x < HERE.x
    policy.reset(0)
    decision = policy.decide(situation(high, in_room(2, 8.2, "kitchen", worth=0.1)))
    assert goal_of(decision).x > HERE.x and "kitchen ranks first" in decision.reason


def drive(policy: GoalPolicy | FinePolicy, *views: ViewAssessment, legs: int = 12) -> list[Decision]:
    """Let the robot arrive everywhere."""
    at, decisions = situation(*views), []
    for _ in range(legs):
        decisions.append(policy.decide(at))
        if decisions[-1].goal is None:
            break
        at = at._replace(pose=decisions[-1].goal)
    return decisions


def test_a_region_is_visited_three_times_at_most() -> None:
    decisions = drive(GoalPolicy(), in_room(1, 9.2, "kitchen"), legs=30)
    assert sum("ranks first" in d.reason for d in decisions) <= 3 * 2  # two legs a visit at most
    places = {d.candidates[0][:2] for d in decisions if "ranks first" in d.reason}
    assert 1 <= len(places) <= GoalConfig().visits


def test_fine_begins_with_frontiers_and_searches_a_region_that_ranks_as_soon_as_it_is_found() -> None:
    policy = FinePolicy()
    first = policy.decide(situation())
    assert "frontier" in first.reason and not first.look_around
    found = policy.decide(situation(in_room(1, 9.2, "kitchen")))
    assert "the kitchen ranks first and was found" in found.reason and goal_of(found).x > HERE.x


def test_fine_searches_regions_by_rank_then_goes_back_to_frontiers_and_ends() -> None:
    views = in_room(1, 1.2, "dining room"), in_room(2, 9.2, "kitchen"), in_room(3, 5.2, "pantry")
    decisions = drive(FinePolicy(), *views, legs=60)
    said = [d.reason for d in decisions]
    order = [next(i for i, reason in enumerate(said) if f"the {name} ranks" in reason)
             for name in ("kitchen", "dining room", "pantry")]
    assert order == sorted(order) and "third" in said[order[2]]  # all three, not two
    assert any("no region that matters is left" in reason for reason in said[order[2]:])
    assert decisions[-1].goal is None
    arrived = [d for d in decisions if "ranks" in d.reason and d.goal and d.goal[:2] == d.candidates[0][:2]]
    assert arrived and all(d.look_around for d in arrived)


def test_fine_leaves_a_region_for_one_of_higher_rank() -> None:
    policy = FinePolicy()
    assert "dining room" in policy.decide(situation(in_room(1, 1.2, "dining room"))).reason
    assert "the kitchen ranks first" in policy.decide(
        situation(in_room(1, 1.2, "dining room"), in_room(2, 9.2, "kitchen"))).reason


def test_the_semantic_terms_are_off_for_two_decisions() -> None:
    policy, same = FinePolicy(), []
    for k in range(3):
        at = situation(view(1, Candidate(8.6, 1.25, 1.0, ""), worth=1.0), pose=HERE._replace(x=HERE.x + 0.2 * k))
        same.append(policy.decide(at).candidates == FrontierPolicy().decide(at).candidates)
    assert same == [True, True, False]


def test_the_published_parameters_are_the_defaults() -> None:
    s, f = SemanticConfig(), FineConfig()
    assert (s.disc_m, s.sigma_cells, s.global_scale, s.merge_m) == (1.0, 5.0, 0.5, 3.0)
    assert (f.value, f.value_ray_m, f.quiet, f.visits, f.visited_m, f.leg_m) == (0.5, 3.0, 2, 3, 0.5, 3.0)
    w = f.frontier
    assert (w.unexplored, w.unoccupied, w.distance_m, w.unexplored_ray_m, w.unoccupied_ray_m) == (0.2, 2.0, 10, 3, 1)
