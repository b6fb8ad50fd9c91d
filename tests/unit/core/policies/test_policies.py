"""Exploration policies: on drawn grids, and driving through random toy worlds until nothing is left."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage

from eqa_nodes.config.policies import make_policy, policy_parameters
from eqa_nodes.core.answerers.vlm_replies import REGIONS
from eqa_nodes.core.components import POLICIES
from eqa_nodes.core.driving.atomic import ActOutcome, AtomicNavigator
from eqa_nodes.core.driving.planning import distance_field, index_of
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.mapping.frontiers import SPACING_M, find_frontiers
from eqa_nodes.core.mapping.mapper import Mapper
from eqa_nodes.core.perception.projection import PlacesConfig
from eqa_nodes.core.policies.floor_policy import FloorPolicy
from eqa_nodes.core.policies.frontier_policy import FrontierConfig, FrontierPolicy
from eqa_nodes.core.policies.semantic_map import LINK_M, SEEN_M, SemanticConfig
from eqa_nodes.core.protocols import Policy
from eqa_nodes.core.types.floor import Action, Decision, Frontier, GridMap, Travelled
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Question, Situation
from eqa_nodes.core.types.robot import CameraModel, RobotModel
from sim_bridge.simulator import EpisodeSetup
from sim_bridge.toy import CELL_M, SCENES, GridWorld
from tests.fixtures.grids import grid_of

QUESTION = Question("where is the plant?")
HALL = ("##############", "#............?", "#............?", "#............?", "#............?", "##############")
C = policy_parameters()


def decide(policy: Policy, grid: GridMap, pose: Pose2, frontiers: list[Frontier] | None = None) -> Decision:
    return policy.decide(Situation(QUESTION, pose, grid, find_frontiers(grid) if frontiers is None else frontiers))


@pytest.mark.parametrize(("x", "goes"), [(3.3, True), (4.2, False)])
def test_a_border_whose_middle_is_out_of_reach_is_looked_at_from_nearby(x: float, goes: bool) -> None:
    """Nothing else is left: a start that sees a door only in part must not end the exploration."""
    grid = grid_of("#########", "#....??.#", "#....??.#", "#########")  # the near floor ends at x = 2.5
    decision = decide(FrontierPolicy(), grid, Pose2(1.25, 1.0, 0.0), [Frontier(x, 1.0, 0.0, 2.0)])
    assert (decision.goal is not None) == goes
    if decision.goal is not None:
        assert 2.2 < decision.goal.x < 2.5
        assert decide(FrontierPolicy(), grid, Pose2(1.25, 1.0, 0.0), [
            Frontier(x, 1.0, 0.0, 2.0), Frontier(1.0, 1.5, 1.57, 0.5)]).candidates[0].y == pytest.approx(1.35, abs=0.2)


class Trip:
    """Explores a toy scene with a policy until it says that nothing is left, or `max_legs` is reached."""

    def __init__(self, rows: tuple[str, ...], policy: str, seed: int = 0, max_legs: int = 80) -> None:
        self.world, self.mapper, self.decisions = GridWorld({"toy": rows}), Mapper(), list[Decision]()
        self.step = self.world.reset(EpisodeSetup("toy", robot=RobotModel(camera=CameraModel(160, 120))))
        self.mapper.integrate(self.step.frame)
        navigator = AtomicNavigator(self.act, self.mapper.grid, now=lambda: self.step.frame.stamp_ns / 1e9,
                                    pose=lambda: self.step.frame.pose,
                                    travelled=lambda: Travelled(self.step.steps, self.step.metres))
        chooser = make_policy(policy)
        chooser.reset(seed)
        navigator.look_around(1e6)
        self.ended = False
        while len(self.decisions) < max_legs and not self.ended:
            self.decisions.append(chooser.decide(Situation(QUESTION, self.step.frame.pose, self.mapper.grid(),
                                                           self.mapper.frontiers())))
            goal = self.decisions[-1].goal
            if goal is None:
                self.ended = True
            else:
                navigator.go_to(goal, 1e6)

    def act(self, action: Action) -> ActOutcome:
        self.step = self.world.act(action)
        self.mapper.integrate(self.step.frame)
        return ActOutcome(self.step.frame.pose, self.step.collided)


def reachable(rows: tuple[str, ...]) -> np.ndarray:
    """Return which characters of a drawing the robot can get to, rows from south to north."""
    marks = np.array([list(row) for row in reversed(rows)])
    groups, _ = ndimage.label((marks == ".") | (marks == ">"))
    return groups == groups[marks == ">"][0]


def explored_of(mapper: Mapper, floor: np.ndarray) -> float:
    """Return which share of the true floor's cells the map holds as explored."""
    grid, seen, n = mapper.grid(), 0, 0
    for iy, ix in np.argwhere(floor):
        for dy in (0.1, 0.25, 0.4):
            for dx in (0.1, 0.25, 0.4):
                n += 1
                row = math.floor((iy * CELL_M + dy - grid.origin[1]) / 0.1)
                column = math.floor((ix * CELL_M + dx - grid.origin[0]) / 0.1)
                seen += bool(0 <= row < grid.explored.shape[0] and 0 <= column < grid.explored.shape[1]
                             and grid.explored[row, column])
    return seen / n


@st.composite
def flats(draw: st.DrawFn) -> tuple[str, ...]:
    """Draw two or three rooms in a row, of random size, joined by doors 1 m wide, with a little furniture."""
    widths = draw(st.lists(st.integers(5, 9), min_size=2, max_size=3))
    height = draw(st.integers(6, 10))
    rows = [["#"] * (sum(widths) + len(widths) + 1) for _ in range(height + 2)]
    left = 1
    for number, width in enumerate(widths):
        for row in rows[1:-1]:
            row[left:left + width] = ["."] * width
        if number:
            door = draw(st.integers(1, height - 1))
            rows[door][left - 1] = rows[door + 1][left - 1] = "."
        spot = draw(st.tuples(st.integers(3, height - 2), st.integers(2, width - 3)))
        rows[spot[0]][left + spot[1]] = "T"
        left += width + 1
    rows[1][1] = ">"
    return tuple("".join(row) for row in rows)


@settings(max_examples=2, deadline=None)
@given(flats(), st.integers(0, 1000))
def test_frontier_exploration_of_any_flat_ends_and_has_seen_it(rows: tuple[str, ...], seed: int) -> None:
    trip = Trip(rows, "frontier", seed)
    assert trip.ended, trip.decisions[-1].reason
    assert explored_of(trip.mapper, reachable(rows)) > 0.9, "\n".join(rows)
    assert all(d.reason for d in trip.decisions)


def test_the_same_seed_gives_the_same_trip() -> None:
    trips = [Trip(SCENES["flat"], "frontier", seed=4, max_legs=5) for _ in range(2)]
    assert trips[0].decisions == trips[1].decisions
    assert trips[0].step.frame.pose == trips[1].step.frame.pose


@pytest.mark.parametrize("name", ["random", "frontier"])
def test_a_leg_can_be_reached_and_reset_repeats_it(name: str) -> None:
    grid, pose = grid_of(*HALL), Pose2(1.25, 1.25, 0.0)
    policy = make_policy(name)
    policy.reset(7)
    first = [decide(policy, grid, pose) for _ in range(3)]
    policy.reset(7)
    assert [decide(policy, grid, pose) for _ in range(3)] == first
    assert first[0].goal is not None
    assert math.isfinite(distance_field(grid, pose, 0.18)[index_of(grid, *first[0].goal[:2])])
    assert first[0].candidates
    assert first[0].reason


def test_random_goals_are_spread_over_the_floor() -> None:
    grid, policy = grid_of(*HALL), make_policy("random")
    policy.reset(1)
    goals = [decide(policy, grid, Pose2(1.25, 1.25, 0.0)).goal for _ in range(100)]
    xs = np.array([g.x for g in goals if g is not None])
    assert len(xs) == 100
    assert xs.min() < 2.0
    assert xs.max() > 5.5
    assert 3.0 < xs.mean() < 5.0


def test_a_leg_is_at_most_three_metres_of_path_and_the_target_is_kept() -> None:
    grid, policy = grid_of(*HALL), FrontierPolicy()
    pose = Pose2(0.85, 1.25, 0.0)
    decision = decide(policy, grid, pose)
    assert decision.goal is not None
    assert pose.distance(decision.goal) <= 3.0 + 1e-9
    assert pose.distance(decision.goal) > 2.5
    assert abs(decision.goal.yaw) < 0.5
    later = decide(policy, grid, decision.goal)
    assert "keeping" in later.reason
    assert later.goal is not None
    assert later.goal.x > decision.goal.x


def test_the_weight_is_the_published_formula() -> None:
    """Beyond the border all is unexplored and nothing occupied: w = exp(1 / 0.2) exp(1 / 2) exp(-distance / 10)."""
    grid = grid_of(*HALL)
    frontier = Frontier(6.45, 1.25, 0.0, 1.0)
    (candidate,) = decide(FrontierPolicy(), grid, Pose2(2.45, 1.25, 0.0), [frontier]).candidates
    assert candidate.weight == pytest.approx(math.exp(1 / 0.2 + 1 / 2.0 - 4.0 / 10), rel=0.02)
    behind = Frontier(6.45, 1.25, math.pi, 1.0)  # the ray runs over explored floor
    (candidate,) = decide(FrontierPolicy(), grid, Pose2(2.45, 1.25, 0.0), [behind]).candidates
    assert candidate.weight == pytest.approx(math.exp(0 / 0.2 + 1 / 2.0 - 4.0 / 10), rel=0.02)
    walled = grid_of(*(row + "#" for row in HALL))  # after 0.5 m of the unknown the rays meet a wall 0.5 m thick
    (candidate,) = decide(FrontierPolicy(), walled, Pose2(2.45, 1.25, 0.0), [frontier]).candidates
    assert candidate.weight == pytest.approx(math.exp(5 / 30 / 0.2 + 0.5 / 2.0 - 4.0 / 10), rel=0.02)


def test_targets_are_drawn_by_weight() -> None:
    grid, near, far = grid_of(*HALL), Frontier(6.45, 0.75, 0.0, 1.0), Frontier(5.5, 1.75, math.pi, 1.0)
    drawn = []
    for seed in range(100):
        policy = FrontierPolicy()
        policy.reset(seed)
        decision = decide(policy, grid, Pose2(4.45, 1.25, 0.0), [near, far])
        weights = np.array([c.weight for c in decision.candidates])
        assert decision.goal is not None
        drawn.append(decision.goal.x > 6.0)
    assert np.mean(drawn) == pytest.approx(weights[0] / weights.sum(), abs=0.05)
    assert weights[0] > 50 * weights[1]


def test_a_target_that_moves_no_closer_is_given_up() -> None:
    """A robot that paces up and down is not stuck, but gets nowhere."""
    grid, policy = grid_of(*HALL), FrontierPolicy()
    places = [Pose2(0.85, 1.25, 0.0), Pose2(1.85, 1.25, 0.0)]
    goals = [decide(policy, grid, places[i % 2]).goal for i in range(60)]
    assert goals[-1] is None


def test_a_border_that_stays_after_a_look_is_not_looked_at_again() -> None:
    grid, policy = grid_of(*HALL), FrontierPolicy()
    frontier = Frontier(6.25, 1.25, 0.0, 1.0)
    assert decide(policy, grid, Pose2(4.05, 1.25, 0.0), [frontier]).goal is not None
    done = decide(policy, grid, Pose2(6.15, 1.25, 0.1), [frontier])
    assert done.goal is None
    assert "looked at" in done.reason


@pytest.mark.parametrize("pose", [Pose2(-3.0, 1.0, 0.0), Pose2(math.nan, 1.0, 0.0)])
def test_a_pose_off_the_map_gives_no_goal_and_says_why(pose: Pose2) -> None:
    situation = Situation(Question("where?"), pose, grid_of(*HALL), ())
    decision = FloorPolicy(make_policy("frontier"), 0).decide(situation, (), confirm=False)
    assert decision.goal is None
    assert "not on the map" in decision.reason


def test_unknown_policies_are_named_with_the_known_ones() -> None:
    assert {"best", "express", "frontier", "random", "snapshot", "topo"} <= set(POLICIES)
    with pytest.raises(ConfigError, match=r"'greedy'.*frontier.*random"):
        make_policy("greedy")


def test_semantic_values_and_regions_are_those_of_express_bench() -> None:
    """Discs of 1 m, sigma of 5 cells, exp(p / 0.5), regions merged within 3 m, 3 visits, discs of 0.5 m, 3 m a step."""
    s: SemanticConfig = C.express.semantic
    assert (s.disc_m, s.sigma_cells, s.global_scale) == (1.0, 5.0, 0.5)
    assert (LINK_M, SEEN_M) == (3.0, 0.5) and (C.express.visits, C.express.leg_m) == (3, 3.0)


@pytest.mark.parametrize("config", [C.frontier, C.express.frontier])
def test_frontier_weights_are_those_of_explore_eqa(config: FrontierConfig) -> None:
    assert (config.unexplored, config.unoccupied, config.distance_m) == (0.2, 2.0, 10.0)
    assert (config.unexplored_ray_m, config.unoccupied_ray_m, config.leg_m) == (3.0, 1.0, 3.0)
    assert (C.express.value, C.express.value_ray_m, C.express.quiet) == (0.5, 3.0, 2)
    assert SPACING_M == 1.5


def test_places_and_names_of_regions_are_those_of_fine_eqa() -> None:
    """Three places 2 m to 10 m away, 1 m apart; twenty names, of which "unknown" is none here."""
    p = PlacesConfig()
    assert (p.count, p.nearest_m, p.farthest_m, p.apart_m) == (3, 2.0, 10.0, 1.0)
    assert len(set(REGIONS)) == len(REGIONS) == 19 and {"dining room", "kitchen", "cloakroom"} < set(REGIONS)


def test_snapshots_are_those_of_3d_mem_and_the_threshold_of_keyframes_that_of_aq_nav() -> None:
    assert (C.snapshot.leg_m, C.snapshot.prefilter, C.snapshot.together_m) == (1.0, 10, 3.5)
    assert C.topo.beta == 0.5


def test_every_policy_has_its_parameters() -> None:
    assert list(POLICIES) == sorted(vars(C))
