"""Targets are kept, reached or given up; a decision names the second best place, and says truly why it lost."""

from __future__ import annotations

import math

import numpy as np
import pytest

from eqa_nodes.core.policies.steering import (
    GIVEN_UP,
    NOT_REACHED,
    REACHED,
    AnswersAtOnce,
    GoalList,
    ReachableArea,
    ReachablePose,
    ScoredPlace,
    all_facing,
    clear_lines,
    decision_for,
    facing,
    in_front_of,
    less_worth,
    lost_draw,
    lower_score,
    open_heading,
    unexplored_area,
    viewpoint,
)
from eqa_nodes.core.types.floor import Frontier, GridMap, parted
from eqa_nodes.core.types.geometry import Pose2, wrap
from eqa_nodes.core.types.questions import Question, Situation, ViewAssessment
from tests.fixtures.grids import grid_of


def rival(what: str, distance_m: float, score: float, value: float = 0.0) -> ScoredPlace:
    return ScoredPlace(ReachablePose(Pose2(distance_m, 0.0, 0.0), distance_m), score, "frontier", what, value)


KITCHEN, GOAL = rival("the kitchen", 3.0, 0.5, 0.6), Pose2(1.0, 0.0, 0.0)


def test_the_chosen_place_comes_first_then_the_others_by_score() -> None:
    options = [rival("low", 1.0, 0.1), KITCHEN, rival("high", 2.0, 0.9)]
    decision = decision_for(GOAL, "goes to the kitchen", KITCHEN, options, lower_score)
    assert decision.goal == GOAL and [c.weight for c in decision.candidates] == [0.5, 0.9, 0.1]
    assert decision.candidates[0] == (3.0, 0.0, 0.5, "frontier")
    assert "; runner-up: high, 2.0 m away: it scores 0.90, but" in decision.reason


def test_a_reason_is_parted_again() -> None:
    options = [KITCHEN, rival("the hall", 4.0, 0.2, 0.3)]
    own, second = parted(decision_for(GOAL, "goes to the kitchen", KITCHEN, options, less_worth, chances=True).reason)
    assert own == "goes to the kitchen"
    assert second == ("the hall, 4.0 m away, 30 % to see the answer: it is farther away, and the answer is less likely "
                      "there")
    assert parted("an older reason; it says more") == ("an older reason; it says more", "")
    assert decision_for(GOAL, "alone", KITCHEN, [KITCHEN], less_worth).reason == "alone"
    alike = decision_for(GOAL, "goes", KITCHEN, [KITCHEN, rival("the kitchen", 4.0, 0.2)], lower_score).reason
    assert "another place like it (the kitchen)" in alike


@pytest.mark.parametrize(("second", "why"), [
    (rival("a", 6.0, 0.2, 0.3), "it is farther away, and the answer is less likely there"),
    (rival("a", 1.0, 0.2, 0.3), "it is nearer, but the answer is less likely there"),
    (rival("a", 3.5, 0.2, 0.3), "the answer is less likely there"),  # half a metre is not worth a word
    (rival("a", 3.51, 0.2, 0.3), "it is farther away, and the answer is less likely there"),
    (rival("a", 8.0, 0.2, 0.9), "the answer is more likely there, but it is farther away"),
    (rival("a", 2.9, 0.4, 0.9), "the answer is more likely there, but the robot would have to turn more"),
    (rival("a", 8.0, 0.2, 0.6), "the answer is as likely there, but it is farther away"),
    (rival("a", 3.0, 0.49, 0.601), "there is hardly a difference between the two"),
    (rival("a", 1.0, 0.6, 0.6),
     "it is better, but not by so much that the robot gives up the place that it is on its way to")])
def test_the_reason_fits_the_numbers(second: ScoredPlace, why: str) -> None:
    assert less_worth(KITCHEN, second) == why


def test_lots_and_scores_are_named() -> None:
    other = rival("a", 2.0, 1.5)
    assert lost_draw([KITCHEN, other], kept=False)(KITCHEN, other) == (
        "lots are drawn, and its chance was 75 %, that of the other 25 %")
    assert "goes where it was going" in lost_draw([KITCHEN, other], kept=True)(KITCHEN, other)
    assert "gives up the place" in lower_score(KITCHEN, other)
    assert lower_score(other, KITCHEN) == "it scores 0.50, the other 1.50"


OPEN = grid_of(*["." * 20] * 8)  # 10 m x 4 m
START = Pose2(1.05, 1.05, 0.0)


def area_at(x: float) -> ReachableArea:
    return ReachableArea(OPEN, START._replace(x=x), 0.18)


def aimed(x: float = 7.05, leg_m: float = 3.0) -> GoalList:
    """Return a list whose target, 6 m ahead unless x says otherwise, was aimed at once from the start."""
    targets, reach = GoalList(), area_at(START.x)
    place = reach.place(x, START.y, 0.0)
    assert place is not None and place.distance_m == pytest.approx(x - START.x)
    targets.aim(place, reach, leg_m)
    return targets


@pytest.mark.parametrize(("pose", "what"), [
    (Pose2(6.66, 1.05, 0.0), REACHED), (Pose2(6.64, 1.05, 0.0), ""),  # 0.4 m
    (Pose2(7.05, 1.05, math.radians(59)), REACHED), (Pose2(7.05, 1.05, math.radians(61)), ""),
    (Pose2(1.09, 1.05, 0.0), NOT_REACHED), (Pose2(1.11, 1.05, 0.0), "")])  # it has moved by 5 cm
def test_a_target_is_reached_or_failed_by_where_the_robot_stands_then(pose: Pose2, what: str) -> None:
    targets = aimed()
    assert targets.review(pose) == what and (targets.current is None) == bool(what)
    assert targets.open(Pose2(7.05, 1.05, 0.0)) is not bool(what)
    assert targets.open(Pose2(7.05, 1.56, 0.0)) and targets.open(Pose2(7.05, 1.05, math.radians(61)))


def test_a_target_two_legs_away_is_given_up_after_seven_legs() -> None:
    """3 legs, and 2 for each leg of the path: 6 m in legs of 3 m are 3 + 2 * 2."""
    targets, ends = GoalList(), []
    for leg in range(7):
        reach = area_at(1.05 + 0.1 * (leg % 2))
        place = reach.place(7.05, 1.05, 0.0)
        assert place is not None
        targets.aim(place, reach, 3.0)
        ends.append(targets.review(Pose2(1.55, 1.05, 0.0)))
    assert ends == [""] * 6 + [GIVEN_UP]


def test_a_leg_that_did_not_move_the_robot_is_not_repeated() -> None:
    targets, reach = aimed(), area_at(START.x)
    assert targets.review(START) == NOT_REACHED
    other = reach.place(7.05, 1.25, 0.0)
    assert other is not None and targets.aim(other, reach, 3.0) == other.pose, "the leg would end at the failed goal"


@pytest.mark.parametrize(("x", "yaw_deg", "enough", "turns"), [
    (0.5, 11.0, 0.1, True), (0.51, 11.0, 0.1, False), (0.0, 9.0, 0.1, False), (0.0, 11.0, 0.0, False)])
def test_the_agent_turns_back_to_the_view_that_answers(x: float, yaw_deg: float, enough: float, turns: bool) -> None:
    seen = ViewAssessment(1, 1, 0.0, enough, pose=Pose2(x, 0.0, math.radians(yaw_deg)))
    here = Situation(Question("?"), Pose2(0.0, 0.0, 0.0), OPEN, (), [seen])
    assert AnswersAtOnce().confirm(here).goal == (Pose2(0.0, 0.0, math.radians(yaw_deg)) if turns else None)


def test_the_area_in_sight_of_a_frontier_is_a_fan_up_to_walls() -> None:
    """Nine rays of 30 steps of 0.1 m: 9 * 0.1 m * pi / 12 * (0.1 + ... + 3.0) m = 10.96 m2; a wall after 1 m leaves
    nine rays of at least ten steps, of which the five within 30 degrees of the wall's normal end before 1.2 m."""
    nothing = GridMap(0, 0.1, (0.0, 0.0), np.full((100, 100), -1, np.int8), np.zeros((100, 100), bool))
    at = Frontier(5.0, 5.0, 0.0, 1.0)
    assert unexplored_area(nothing, at, 3.0) == pytest.approx(9 * 0.1 * math.pi / 12 * 46.5)
    seen = GridMap(0, 0.1, (0.0, 0.0), nothing.cells, np.ones((100, 100), bool))
    assert unexplored_area(seen, at, 3.0) == 0.0
    walled = nothing.cells.copy()
    walled[:, 60] = 100
    wall = GridMap(0, 0.1, (0.0, 0.0), walled, nothing.explored)
    steps = [min(30, math.ceil(10 / math.cos(math.radians(a)) - 1e-9) - 1) for a in range(-60, 61, 15)]
    by_hand = sum(0.1 * n * (n + 1) / 2 for n in steps) * 0.1 * math.pi / 12
    assert unexplored_area(wall, at, 3.0) == pytest.approx(by_hand, rel=0.1)


def test_lines_of_sight_end_at_walls() -> None:
    grid = grid_of("#########", "#...#...#", "#...#...#", "#.......#", "#########")
    start, ends = (1.25, 1.75), np.array([(1.75, 0.75), (3.25, 1.75), (3.25, 0.75), (1.75, 1.75)])
    assert clear_lines(grid, start, ends).tolist() == [True, False, False, True]
    x, y = in_front_of(grid, Pose2(*start, 0.0), (3.25, 1.75))
    assert 1.8 < x < 2.0 and y == 1.75, "the wall begins at x = 2"
    assert in_front_of(grid, Pose2(*start, 0.0), (1.75, 0.75)) == (1.75, 0.75)


def test_the_angle_to_a_point_is_from_0_to_half_a_turn() -> None:
    for yaw, angle in ((0.0, math.pi / 2), (math.pi, math.pi / 2), (-math.pi / 2, math.pi), (math.pi / 2, 0.0)):
        assert facing(Pose2(1.0, 1.0, yaw), 1.0, 3.0) == pytest.approx(angle)
        assert all_facing(np.array([[1.0, 1.0, yaw]]), 1.0, 3.0).tolist() == pytest.approx([angle])


def test_a_viewpoint_is_the_nearest_by_path_within_the_ring() -> None:
    seen = ViewAssessment(1, 1, 1.0, 0.5, pose=START, target=(6.05, 1.05))
    place = viewpoint(area_at(START.x), seen, 1.6, 2.8)
    assert place is not None and place.pose.yaw == pytest.approx(0.0, abs=0.1)
    assert place.distance_m == pytest.approx(6.05 - 2.8 - START.x, abs=0.11)
    near = viewpoint(area_at(6.05), seen, 1.6, 2.8)
    assert near is not None and near.distance_m == pytest.approx(1.6, abs=0.11)


@pytest.mark.parametrize(("x", "yaw", "turned"), [(5.0, 0.0, 0.0), (9.7, 0.0, math.pi), (0.8, math.pi, 0.0),
                                                   (5.0, math.pi / 2, None)])
def test_a_robot_before_a_wall_faces_the_open_side(x: float, yaw: float, turned: float | None) -> None:
    corridor = grid_of("#" * 21, *["#" + "." * 19 + "#"] * 2, "#" * 21)
    faced = open_heading(corridor, Pose2(x, 1.0, yaw))
    assert (faced.x, faced.y) == (x, 1.0)
    assert abs(math.sin(faced.yaw)) < 0.01 if turned is None else abs(wrap(faced.yaw - turned)) < 0.01
