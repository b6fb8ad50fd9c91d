"""Our own policy: rooms of the question first, the way counts, and a second look before an answer."""

from __future__ import annotations

import math

import numpy as np
import pytest

from eqa_nodes.core.policies.advised import apart, unvisited_floor
from eqa_nodes.core.policies.belief import RoomBelief, rank_of
from eqa_nodes.core.policies.best_policy import BestConfig, BestPolicy
from eqa_nodes.core.policies.planner import GraphPlanner, PlannerInput, PlannerShape
from eqa_nodes.core.policies.steering import (
    ReachableArea,
    ReachablePose,
    ScoredPlace,
    clear_lines,
    in_front_of,
    viewpoint,
)
from eqa_nodes.core.policies.topo_graph import NUMBERS
from eqa_nodes.core.types.floor import Candidate, Decision, Frontier, GridMap, Option
from eqa_nodes.core.types.geometry import Pose2, wrap
from eqa_nodes.core.types.questions import RankedRegion, Situation, ViewAssessment
from eqa_nodes.core.types.robot import RobotModel
from tests.fixtures.best_policy import HERE, KITCHEN, QUESTION, corridor, seen, situation
from tests.fixtures.grids import grid_of


def test_a_name_of_two_rooms_counts_for_the_likelier() -> None:
    for name in ("kitchen, dining room", "dining room, kitchen", "Dining room,  Kitchen"):
        assert rank_of(name, KITCHEN) == 1.0
    assert rank_of("dining room, bedroom", KITCHEN) == 0.0


def test_it_goes_where_the_room_of_the_question_was_recognised() -> None:
    for kitchen, bedroom, sign in ((2.0, 8.5, -1), (8.5, 2.0, 1)):
        views = seen(1, kitchen, "kitchen"), seen(2, bedroom, "guest bedroom")
        decision = BestPolicy().decide(situation(corridor(), *views))
        assert decision.goal is not None and math.copysign(1, decision.goal.x - HERE.x) == sign
        assert "kitchen" in decision.reason


def test_without_a_hint_the_nearer_frontier_wins() -> None:
    decision = BestPolicy().decide(situation(corridor(), pose=Pose2(4.25, 1.25, math.pi / 2), regions=()))
    assert decision.goal is not None and decision.goal.x < 4.25


def test_it_keeps_its_target_until_another_is_clearly_better() -> None:
    policy, grid = BestPolicy(), corridor()
    first = policy.decide(situation(grid, regions=()))
    assert first.goal is not None
    nudged = Pose2(HERE.x - math.copysign(0.4, first.goal.x - HERE.x), HERE.y, HERE.yaw)  # the other is nearer now
    again = policy.decide(situation(grid, pose=nudged, regions=()))
    assert again.goal is not None and (again.goal.x > HERE.x) == (first.goal.x > HERE.x) and "keeps" in again.reason
    found = policy.decide(situation(grid, seen(1, 2.0 if first.goal.x > HERE.x else 8.5, "kitchen"), pose=nudged))
    assert found.goal is not None and (found.goal.x > HERE.x) != (first.goal.x > HERE.x)


def room_with_table() -> GridMap:
    """5 m x 5 m, a table in the east, a wall behind it with another room."""
    return grid_of("###############", "#.........#...#", "#.........#...#", "#.......#.#...#", "#.......#.#...#",
                   "#.........#...#", "#.........#...#", "#.............#", "###############")


TABLE = (4.25, 2.25)


def glance(enough: float = 0.8, pose: Pose2 = Pose2(0.8, 2.3, 0.0)) -> ViewAssessment:
    return ViewAssessment(1, 1, 0.9, enough, "kitchen", pose=pose, target=TABLE, says="on the table")


def test_before_answering_it_looks_from_where_the_thing_is_in_full_view() -> None:
    grid, policy = room_with_table(), BestPolicy()
    far = situation(grid, glance(), pose=Pose2(0.8, 2.3, math.pi))
    decision = policy.confirm(far)
    assert decision.goal is not None and "on the table" in decision.reason
    off = math.dist(decision.goal[:2], TABLE)
    assert BestConfig().near_m <= off <= BestConfig().far_m
    assert math.atan2(TABLE[1] - decision.goal.y, TABLE[0] - decision.goal.x) == pytest.approx(decision.goal.yaw)
    assert policy.confirm(situation(grid, glance(), pose=decision.goal)).goal is None
    assert policy.confirm(far).goal is None  # never twice for the same thing


def test_nothing_to_confirm() -> None:
    grid = room_with_table()
    assert BestPolicy().confirm(situation(grid)).goal is None
    assert BestPolicy(BestConfig(confirm=False)).confirm(situation(grid, glance())).goal is None
    in_view = BestPolicy().confirm(situation(grid, glance(), pose=Pose2(2.3, 2.3, 0.0)))
    assert in_view.goal is None and "in view" in in_view.reason


@pytest.mark.parametrize(("pose", "why"), [
    (Pose2(2.3, 2.3, math.pi), "from where it stands, because the robot looks another way"),
    (Pose2(0.8, 2.3, 0.0), "because it is 3.5 m away"),
    (Pose2(5.8, 2.3, math.pi), "because something stands in between")])
def test_a_second_look_says_why_it_is_wanted(pose: Pose2, why: str) -> None:
    assert why in BestPolicy().confirm(situation(room_with_table(), glance(), pose=pose)).reason


def test_a_viewpoint_is_on_the_side_that_was_seen() -> None:
    grid = room_with_table()
    behind = ReachableArea(grid, Pose2(6.0, 2.3, 0.0), 0.18)  # in the other room, the table nearest through the wall
    place = viewpoint(behind, glance(), 1.6, 2.8)
    assert place is not None and place.pose.x < 4.6
    assert clear_lines(grid, in_front_of(grid, glance().pose, TABLE), np.array([place.pose[:2]]))[0]
    assert viewpoint(behind, glance()._replace(target=(40.0, 40.0)), 1.6, 2.8) is None


def test_rooms_are_told_by_what_is_in_sight_only() -> None:
    grid, belief = room_with_table(), RoomBelief()
    belief.update([ViewAssessment(1, 1, 0.0, 0.0, places=(Candidate(3.8, 0.8, 1.0, "study"),))])
    belief.update([ViewAssessment(2, 2, 0.0, 0.0, places=(Candidate(6.0, 2.8, 1.0, "kitchen"),))])
    belief.update([ViewAssessment(2, 2, 0.0, 0.0, places=(Candidate(6.0, 2.8, 9.0, "bathroom"),))])  # taken in already
    assert set(belief.at(grid, 4.6, 1.8, 3.0)) == {"study"} and belief.names() == ["kitchen", "study"]
    assert RoomBelief().at(grid, 1.0, 1.0, 2.0) == {}


def test_names_of_rooms_agree_in_their_last_words() -> None:
    assert rank_of("Guest Bedroom", [RankedRegion("bedroom", 0.7), RankedRegion("kitchen", 1.0)]) == 0.7
    assert rank_of("dining room", [RankedRegion("living room", 1.0)]) == 0.0 == rank_of("room", KITCHEN)


def test_every_part_can_be_switched_off() -> None:
    views = seen(1, 2.0, "kitchen", worth=1.0), seen(2, 8.5, "bedroom")
    with_all = BestPolicy().decide(situation(corridor(), *views))
    assert any(c.label == "look" for c in with_all.candidates)
    without = BestPolicy(BestConfig(looks=False, rooms=False)).decide(situation(corridor(), *views))
    assert {c.label for c in without.candidates} == {"frontier"} and "a frontier" in without.reason


def explored_hall(*views: ViewAssessment, pose: Pose2 = Pose2(5.25, 1.25, 0.0)) -> Situation:
    """The corridor with nothing left to explore: only spots that views promise are left."""
    grid = corridor()
    return Situation(QUESTION, pose, GridMap(0, 0.1, grid.origin, grid.cells, grid.cells == 0), (), views, KITCHEN)


def promising(x: float, worth: float, places: int = 1) -> ViewAssessment:
    """A view, taken in the middle of the hall, that shows so many places at a point and promises something there."""
    return ViewAssessment(1, 1, 0.0, 0.0, pose=HERE, worth=worth, places=(Candidate(x, 1.25, 1.0, ""),) * places)


@pytest.mark.parametrize(("places", "value"), [(1, 0.1), (3, 0.3)])
def test_a_spot_is_worth_half_of_its_promise_and_costs_its_way(places: int, value: float) -> None:
    """value = worth * weight * places / 3 * 0.5; score = value / (2.8 m straight ahead + 1 m for every drive)."""
    decision = BestPolicy().decide(explored_hall(promising(8.05, 0.6, places)))
    assert decision.candidates[0].weight == pytest.approx(value / 3.8, rel=1e-4)
    assert f"{100 * value:.0f} % to see the answer, 2.8 m away" in decision.reason


@pytest.mark.parametrize(("x", "worth", "goes"), [(8.05, 0.12, True), (8.05, 0.119, False),  # 0.12 / 3 * 0.5 = 0.02
                                                  (6.75, 0.6, True), (6.65, 0.6, False)])  # 1.5 m from the view
def test_little_promise_and_what_was_seen_from_near_are_no_spots(x: float, worth: float, goes: bool) -> None:
    assert (BestPolicy().decide(explored_hall(promising(x, worth))).goal is not None) == goes


@pytest.mark.parametrize(("place", "turn"), [(Pose2(0.0, 2.0, 3.0), math.pi / 2), (Pose2(0.4, 0.0, math.pi), math.pi)])
def test_a_turn_costs_half_a_metre_for_half_a_turn(place: Pose2, turn: float) -> None:
    """Of a place that is no drive away the turn is that to its heading, of others that to its direction."""
    metres = 3.0 if place.y else 0.4
    score = BestPolicy()._score(Pose2(0.0, 0.0, 0.0), ReachablePose(place, metres), 0.6)
    assert score == pytest.approx(0.6 / (metres + 0.5 * turn / math.pi + 1.0))


@pytest.mark.parametrize(("room", "votes", "length_m", "chance", "what"), [
    ("kitchen", 1, 1.2, 0.505, "what lies beyond the kitchen"),  # 0.8 * 1/2 stays: 0.4 * 1 + 0.6 * 0.175
    ("kitchen", 1, 1.19, 0.319375, "what lies beyond the kitchen"),  # a doorway: 0.35 * 1/2 stays
    ("kitchen", 4, 1.2, 0.67, "the unseen part of the kitchen"),  # 3 votes at most: 0.8 * 3/4 stays
    ("hallway", 1, 1.2, 0.28875, "what lies beyond the hallway")])  # leads on, as a doorway does: 0.825 * 0.35
def test_the_chance_behind_a_frontier_by_hand(room: str, votes: int, length_m: float, chance: float, what: str) -> None:
    """What is not known yet has 0.35 (0.2 / 1.2 + 0.4 * 1 / 1.2) = 0.175 once the kitchen is, else 0.35."""
    policy = BestPolicy()
    views = [ViewAssessment(n, n, 0.0, 0.0, pose=HERE, places=(Candidate(3.25, 1.25, 1.0, room),))
             for n in range(votes)]
    policy._belief.update(views)
    found = policy._chance(situation(corridor(), *views), Frontier(3.25, 1.25, math.pi, length_m))
    assert found == (pytest.approx(chance), what)


@pytest.mark.parametrize(("x", "enough", "goes"), [(0.75, 0.49, True), (0.75, 0.51, False),  # 6 m, 12 m per doubt
                                                   (5.25, 0.85, True), (5.25, 0.86, False)])  # doubt of 0.15
def test_a_second_look_is_a_drive_of_twelve_metres_for_each_unit_of_doubt(x: float, enough: float, goes: bool) -> None:
    pose, policy = HERE._replace(x=x), BestPolicy()
    mug = ViewAssessment(1, 1, 1.0, enough, pose=pose, target=(9.5, 1.25), says="a mug")
    policy.options(situation(corridor(), mug, pose=pose, regions=()))
    decision = policy.confirm(situation(corridor(), mug, pose=pose, regions=()))
    assert (decision.goal is not None) == goes, decision.reason


@pytest.mark.parametrize(("gap_m", "kind", "kept"), [(0.79, "frontier", 1), (0.8, "frontier", 2), (0.5, "look", 2)])
def test_of_two_gaps_of_one_doorway_the_better_is_listed(gap_m: float, kind: str, kept: int) -> None:
    def at(x: float, of: str) -> tuple[Option, ScoredPlace]:
        return Option(x, 0.0, 0.0, of, 1.0), ScoredPlace(ReachablePose(Pose2(x, 0.0, 0.0), 1.0), 0.1, of, "", 0.1)

    better = at(0.0, "frontier")
    assert apart([better, at(gap_m, kind)])[0] == better and len(apart([better, at(gap_m, kind)])) == kept


def test_floor_that_was_only_seen_is_the_farthest_from_all_that_was_visited() -> None:
    """Of a hall of 10 m first its ends, 5 m away, then nothing: all else is nearer than 3 m to them."""
    reach = ReachableArea(grid_of("#" * 21, *["." * 21] * 4, "#" * 21), HERE, 0.18)
    found = unvisited_floor(reach, [HERE[:2]], 3, 3.0)
    assert sorted(round(place.pose.x) for place in found) == [0, 10]
    west, east = sorted(found, key=lambda place: place.pose.x)
    assert abs(wrap(east.pose.yaw)) < 0.3 and abs(wrap(west.pose.yaw - math.pi)) < 0.3, "away from the robot"
    assert east.distance_m == pytest.approx(10.4 - HERE.x, abs=0.4)
    assert len(unvisited_floor(reach, [HERE[:2]], 1, 3.0)) == 1
    assert unvisited_floor(reach, [HERE[:2], (1.0, 1.25), (9.5, 1.25)], 3, 3.0) == []


@pytest.mark.parametrize(("yaw_deg", "x", "why"), [
    (34.0, 2.3, ""), (36.0, 2.3, "looks another way"), (0.0, 1.46, ""), (0.0, 1.44, "it is 2.8 m away")])
def test_full_view_is_within_35_degrees_and_2_8_metres(yaw_deg: float, x: float, why: str) -> None:
    found = BestPolicy()._hindrance(situation(room_with_table(), pose=Pose2(x, 2.25, math.radians(yaw_deg))), glance())
    assert why in found and bool(found) == bool(why)


@pytest.mark.parametrize(("other", "replaces"), [(1.29, False), (1.31, True)])
def test_another_target_must_be_better_by_three_tenths(other: float, replaces: bool) -> None:
    policy = BestPolicy()
    to = [ScoredPlace(ReachablePose(Pose2(x, 1.25, yaw), 4.0), 1.0, "frontier", "") for x, yaw in
          ((1.25, math.pi), (9.25, 0.0))]
    policy._targets.current = to[0].place.pose
    policy._options = lambda *_: [to[0], to[1]._replace(score=other)]  # type: ignore[method-assign]
    decision = policy.decide(situation(corridor(), regions=()))
    assert decision.goal is not None and (decision.goal.x > HERE.x) == replaces


def test_learned_scores_move_the_values_to_where_the_planner_would_go() -> None:
    class East(GraphPlanner):
        def scores(self, given: PlannerInput) -> np.ndarray:
            return -4.0 * given.numbers[:, NUMBERS.index("sine")]  # the robot looks to the north

    def decided(learned: float) -> tuple[Decision, float]:
        """Return the decision, and the sum of the values of all options."""
        policy, at = BestPolicy(BestConfig(learned=learned)), situation(corridor(), seen(1, 2.6, "kitchen"))
        if policy._planner is not None:
            policy._planner = East({}, PlannerShape())
        reach = ReachableArea(at.grid, at.pose, RobotModel().radius_m)
        return policy.decide(at), sum(option.value for option in policy._options(at, reach))

    (plain, all_plain), (little, _), (learned, all_learned) = map(decided, (0.0, 0.01, 1.0))
    assert plain.candidates[0].x < HERE.x < learned.candidates[0].x and little.candidates[0].x < HERE.x
    assert all_learned == pytest.approx(all_plain) and len(learned.candidates) == len(plain.candidates)
    assert BestPolicy()._planner is not None and BestPolicy(BestConfig(learned=0.0))._planner is None
