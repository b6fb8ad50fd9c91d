"""The rules by which EXPRESS-Bench's exploring agents move: what is drawn, which region is searched, where it ends."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest

from eqa_nodes.config.named_agents import agent_parameters
from eqa_nodes.core.components import AGENTS
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.policies.express_policy import ExpressConfig, ExpressPolicy
from eqa_nodes.core.policies.semantic_map import RegionMap, RegionSearch, representative
from eqa_nodes.core.types.floor import Candidate, Decision, Frontier, GridMap
from eqa_nodes.core.types.geometry import Pose2, wrap
from eqa_nodes.core.types.questions import Question, RankedRegion, Situation, ViewAssessment
from tests.fixtures.grids import grid_of

WIDE = grid_of(*["." * 40] * 40)  # 20 m x 20 m
MIDDLE = Pose2(10.05, 10.05, 0.3)
RANKED = (RankedRegion("kitchen", 1.0), RankedRegion("dining room", 0.5), RankedRegion("office", 0.2))


def situation(grid: GridMap = WIDE, pose: Pose2 = MIDDLE, views: Sequence[ViewAssessment] = (),
              frontiers: Sequence[Frontier] = ()) -> Situation:
    return Situation(Question("where is the kettle?"), pose, grid, frontiers, views, RANKED)


def seen(number: int, region: str, *places: tuple[float, float, float], worth: float = 0.5) -> ViewAssessment:
    """A view with places (x, y, weight), all of its region."""
    return ViewAssessment(number, number, 0.0, 0.0, region, worth=worth,
                          places=tuple(Candidate(x, y, weight, region) for x, y, weight in places))


def policy(coarse: str, regions: int = 0, **more: float) -> ExpressPolicy:
    made = ExpressPolicy(ExpressConfig(coarse=coarse, regions=regions, **more))  # type: ignore[arg-type]
    made.reset(1)
    return made


def test_the_random_agent_draws_distance_and_direction_each_uniform() -> None:
    walk = policy("random", decisions=10_000)
    drawn = np.array([goal_of(walk.decide(situation())) for _ in range(400)])[:, :2] - MIDDLE[:2]
    metres, ways = np.hypot(*drawn.T), np.arctan2(drawn[:, 1], drawn[:, 0])
    shares = np.histogram(metres, np.linspace(0.5, 3.0, 6))[0] / len(metres)
    assert np.abs(shares - 0.2).max() < 0.06  # uniform in distance: uniform cells would put 0.36 into the last fifth
    assert np.abs(np.histogram(ways, np.linspace(-math.pi, math.pi, 9))[0] / len(ways) - 1 / 8).max() < 0.05
    assert metres.min() > 0.4 and metres.max() < 3.1


def goal_of(decision: Decision) -> Pose2:
    assert decision.goal is not None, decision.reason
    return decision.goal


def test_a_random_point_behind_a_wall_means_the_nearest_floor_that_can_be_got_to() -> None:
    room = grid_of("#########", "#...#...#", "#...#...#", "#...#...#", "#########")
    walk, here = policy("random", decisions=10_000), Pose2(1.05, 1.05, 0.0)
    goals = [goal_of(walk.decide(situation(room, here))) for _ in range(60)]
    assert all(0.5 <= goal.x <= 2.0 and 0.5 <= goal.y <= 2.0 for goal in goals)
    assert sum(goal.x > 1.6 for goal in goals) > 12  # at the wall, not refused


@pytest.mark.parametrize("coarse", ["random", "frontier", "semantic"])
def test_the_limit_is_three_times_the_root_of_the_rectangle_and_the_first_view_counts(coarse: str) -> None:
    hall = grid_of("##########", "#........#", "#..????..#", "#........#", "##########")  # 4 m x 1.5 m of free floor
    walk, made = policy(coarse), 0
    while goal_after(walk, hall) is not None:
        made += 1
    assert made + 1 == int(3 * math.sqrt(4.0 * 1.5))
    assert walk.decide(situation(hall, Pose2(0.75, 0.75, 0.0))).reason == "ended by the limit of 7 decisions"


def goal_after(walk: ExpressPolicy, grid: GridMap) -> Pose2 | None:
    return walk.decide(situation(grid, Pose2(0.75, 0.75, 0.0))).goal


def test_a_limit_that_is_set_wins_and_so_does_an_area() -> None:
    for more, limit in (({"decisions": 4}, 4), ({"area_m2": 9.5}, int(3 * math.sqrt(9.5)))):
        walk = policy("random", **more)
        assert [walk.decide(situation()).goal is None for _ in range(limit)] == [False] * (limit - 1) + [True]


def test_without_a_frontier_it_turns_where_it_stands_and_does_not_end() -> None:
    walk = policy("frontier", decisions=50)
    goals = [goal_of(walk.decide(situation())) for _ in range(40)]
    assert {goal[:2] for goal in goals} == {MIDDLE[:2]} and len({round(goal.yaw, 3) for goal in goals}) == 40


def test_frontiers_are_drawn_by_weight_and_kept_in_drives_of_three_metres() -> None:
    corridor = grid_of("?" * 40, *["." * 40] * 4)
    far = Frontier(18.0, 1.9, math.pi / 2, 1.0)
    walk, pose, metres = policy("frontier", decisions=100), Pose2(1.05, 0.55, 0.0), []
    for _ in range(6):
        goal = goal_of(walk.decide(situation(corridor, pose, frontiers=(far,))))
        metres.append(pose.distance(goal))
        pose = goal
    assert all(2.5 < leg <= 3.05 for leg in metres[:-1]) and abs(wrap(pose.yaw - math.pi / 2)) < 1e-6
    assert far.y - pose.y == pytest.approx(1.5, abs=0.15)  # it looks at the frontier from 1.5 m


def test_a_frontier_straight_ahead_nearby_is_nearly_ignored() -> None:
    ahead, aside = Frontier(12.0, 10.0, 0.3, 1.0), Frontier(10.0, 12.0, 1.9, 1.0)
    walk = policy("frontier", decisions=1000)
    ways = Counter(round(goal_of(walk.decide(situation(frontiers=(ahead, aside)))).yaw, 1) for _ in range(60))
    assert ways[1.9] >= 59


def test_semantic_values_pull_frontiers_from_the_third_decision_on() -> None:
    left, right = Frontier(5.0, 10.0, math.pi, 1.0), Frontier(15.1, 10.0, 0.0, 1.0)
    valued = seen(1, "", (5.0, 10.0, 1.0), (5.0, 10.4, 1.0), worth=1.0)
    far = situation(views=(valued,), frontiers=(left, right), pose=Pose2(10.05, 10.05, 1.57))

    def share(coarse: str, decision: int) -> float:
        goals = []
        for seed in range(40):
            walk = policy(coarse, decisions=100)
            walk.reset(seed)
            for _ in range(decision):
                walk._target = None  # each decision draws anew
                goal = goal_of(walk.decide(far))
            goals.append(goal.x < 10.0)
        return sum(goals) / len(goals)

    assert 0.3 < share("semantic", 1) < 0.7 and 0.3 < share("frontier", 3) < 0.7
    assert share("semantic", 3) > 0.85


def test_until_a_region_is_found_goal_oriented_exploration_is_random() -> None:
    random, goal = policy("random", decisions=100), policy("random", regions=2, decisions=100)
    other = seen(1, "bedroom", (12.0, 10.0, 0.9), (9.0, 9.0, 0.1))
    for _ in range(20):
        assert goal.decide(situation(views=(other,))).goal == random.decide(situation(views=(other,))).goal


def test_in_a_region_it_goes_to_the_representative_point_and_looks_about_then_goes_on_to_the_next() -> None:
    views = [seen(1, "kitchen", (12.0, 12.0, 0.6), (13.0, 12.0, 0.4)),
             seen(2, "kitchen", (12.0, 14.0, 0.9), (11.0, 14.0, 0.1), worth=0.9)]
    walk, pose = policy("random", regions=2, decisions=100), MIDDLE
    for number, at in ((0, (12.0, 14.0)), (1, (12.0, 12.0))):  # the point of the higher masked value first
        goal = goal_of(walk.decide(situation(views=views, pose=pose)))
        assert math.dist(goal[:2], at) < 0.1 and goal.yaw == pose.yaw, number
        for _ in range(3):
            pose = goal
            goal = goal_of(walk.decide(situation(views=views, pose=pose)))
            assert goal[:2] == pose[:2] and wrap(goal.yaw - pose.yaw) == pytest.approx(math.radians(30))
        pose = goal


def test_after_the_limit_of_a_region_it_is_random_again() -> None:
    view = seen(1, "kitchen", (12.0, 12.0, 0.6), (13.0, 12.0, 0.4))
    walk = policy("random", regions=2, decisions=100)
    reasons = [walk.decide(situation(views=(view,))).reason for _ in range(16)]
    assert ["drew" in reason for reason in reasons] == [False] * 12 + [True] * 4
    assert sum("goes where it promises most" in reason for reason in reasons) == 3


def test_a_view_with_one_place_has_no_say() -> None:
    walk = policy("random", regions=2, decisions=100)
    assert "drew" in walk.decide(situation(views=(seen(1, "kitchen", (12.0, 12.0, 1.0)),))).reason


def test_the_representative_point_is_the_likeliest_place_of_the_region() -> None:
    places = (Candidate(1.0, 1.0, 0.7, "hallway"), Candidate(2.0, 1.0, 0.2, "kitchen"),
              Candidate(3.0, 1.0, 0.1, "kitchen"))
    view = ViewAssessment(1, 1, 0.0, 0.0, "kitchen", places=places)
    assert representative(view) == (2.0, 1.0)
    assert representative(view._replace(places=places[:1])) == (1.0, 1.0)  # none lies there: the likeliest of all
    assert representative(view._replace(region="")) is None


class TestRegionSearch:
    """The order in which regions are searched."""

    def search(self) -> RegionSearch:
        return RegionSearch(regions=2, visits=3, turns=3)

    def test_a_better_region_is_gone_over_to_at_once_and_the_points_of_the_other_are_dropped(self) -> None:
        search = self.search()
        search.note("dining room", (1.0, 1.0), RANKED)
        assert search.advance() == 1
        search.note("dining room", (3.0, 1.0), RANKED)
        search.note("kitchen", (5.0, 1.0), RANKED)
        assert search.advance() == 0 and search.points == [(5.0, 1.0)] and not search.turning
        assert [search.advance() for _ in range(12)] == [0] * 11 + [None]  # nothing is left of the dining room

    def test_the_second_region_follows_the_first(self) -> None:
        search = self.search()
        search.note("kitchen", (5.0, 1.0), RANKED)
        search.note("dining room", (1.0, 1.0), RANKED)
        assert [search.advance() for _ in range(25)] == [0] * 12 + [1] * 12 + [None]

    def test_new_points_open_a_region_again_but_not_where_the_robot_was(self) -> None:
        search = self.search()
        search.note("kitchen", (5.0, 1.0), RANKED)
        search.advance()
        search.go((5.0, 1.0))
        search.note("kitchen", (5.3, 1.0), RANKED)
        assert search.points == []
        assert [search.advance() for _ in range(12)][-1] is None
        search.note("kitchen", (6.0, 1.0), RANKED)
        assert search.advance() == 0

    def test_only_the_first_ranked_regions_count(self) -> None:
        search = self.search()
        search.note("office", (5.0, 1.0), RANKED)
        assert search.advance() is None


def test_points_of_one_name_within_three_metres_are_one_region_and_later_marks_cover_earlier_ones() -> None:
    regions = RegionMap()
    for x in (5.0, 7.9, 12.0):
        regions.add("kitchen", (x, 10.0))
    mask = regions.mask(WIDE, "kitchen")
    assert mask[100, 64] and not mask[100, 99]  # between 5.0 and 7.9; not between 7.9 and 12.0
    regions.add("bedroom", (6.5, 10.0))
    assert not regions.mask(WIDE, "kitchen")[100, 64] and regions.mask(WIDE, "bedroom")[100, 64]


def test_the_ablation_of_the_stopping_model_differs_in_the_threshold_alone() -> None:
    whole, ablated = (agent_parameters(name, "vlm", 1) for name in ("fine-eqa", "fine-eqa-no-stop"))
    assert ablated["agent"].pop("agent.enough") == 2.0 and ablated == whole


def test_the_five_agents_differ_in_coarse_exploration_and_regions_alone() -> None:
    rows = {name: agent_parameters(name, "vlm", 1) for name in AGENTS
            if name.startswith(("express-", "fine-eqa")) and AGENTS[name].explore == "newest"
            and name != "fine-eqa-no-stop"}
    explorer = {name: own.pop("explorer") for name, own in rows.items()}
    assert explorer == {name: {"params.express.coarse": coarse, "params.express.regions": regions}
                        for name, coarse, regions in (
        ("express-random", "random", 0), ("express-frontier", "frontier", 0), ("express-goal", "random", 2),
        ("fine-eqa", "semantic", 2), ("fine-eqa-no-goal", "semantic", 0))}
    assert all(own == rows["fine-eqa"] for own in rows.values())


def test_an_unknown_coarse_exploration_is_refused() -> None:
    with pytest.raises(ConfigError, match="'spiral': known are frontier, random, semantic"):
        ExpressConfig(coarse="spiral")
