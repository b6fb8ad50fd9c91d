"""A decision names the second best place, and says truly why it lost."""

from __future__ import annotations

import pytest

from eqa_nodes.core.policies.steering import (
    ReachablePose,
    ScoredPlace,
    decision_for,
    less_worth,
    lost_draw,
    lower_score,
)
from eqa_nodes.core.types.floor import parted
from eqa_nodes.core.types.geometry import Pose2


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
