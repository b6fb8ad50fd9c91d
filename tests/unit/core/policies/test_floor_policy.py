"""Which floor a robot that takes stairs explores, and that stairs that it has begun are taken to their end."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from eqa_nodes.core.policies.floor_policy import FloorPolicy, chance_elsewhere, chance_there
from eqa_nodes.core.types.floor import (
    Candidate,
    Decision,
    Frontier,
    GridMap,
    Option,
    Staircase,
    WeighedOption,
    shows_stairs,
)
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Question, RankedRegion, Situation, ViewAssessment
from eqa_nodes.core.types.robot import RobotModel

CLIMBER, WHEELS = RobotModel(stairs=True), RobotModel()
UP = Staircase((4.0, 1.0, 0.0), (8.0, 1.0, 2.8))
KITCHEN, BEDROOM = (RankedRegion("kitchen", 1.0),), (RankedRegion("bedroom", 1.0),)
ELSEWHERE = Pose2(1.0, 3.0, 0.0)


class Explores:
    """A policy that lists one option and goes elsewhere as long as something is left."""

    def __init__(self, left: bool = True) -> None:
        self.left = left

    def reset(self, seed: int) -> None:
        """Begin a new question."""

    def options(self, situation: Situation) -> list[Option]:
        """Return one option."""
        return [Option(*ELSEWHERE, "frontier", 2.0)]

    def decide(self, situation: Situation) -> Decision:
        """Return its one goal."""
        return Decision(ELSEWHERE if self.left else None, "explores")

    def confirm(self, situation: Situation) -> Decision:
        """Accept the answer."""
        return Decision(None, "the answer stands")


def at(x: float, z: float = 0.0, regions: Sequence[RankedRegion] = (), names: Sequence[str] = (),
       advice: Sequence[WeighedOption] = ()) -> Situation:
    """Return a robot on a free floor of 10 m x 4 m whose views name places, each in the middle of the floor."""
    shape = (40, 100)
    grid = GridMap(1, 0.1, (0.0, 0.0), np.zeros(shape, np.int8), np.zeros(shape, np.bool_), z)
    places = tuple(Candidate(5.0, 2.0, 1.0, name) for name in names)
    views = [ViewAssessment(1, 1, 0.0, 0.0, pose=Pose2(x, 1.0, 0.0), places=places, z=z)]
    return Situation(Question("?"), Pose2(x, 1.0, 0.0), grid, (), views, regions, advice)


def test_it_leaves_a_floor_for_one_where_the_answer_is_likelier_and_for_no_other() -> None:
    decision = FloorPolicy(Explores(), 0, CLIMBER).decide(at(1.0, regions=BEDROOM), (UP,), False)
    assert decision.goal is not None and decision.goal.x == pytest.approx(8.0, abs=0.1)
    assert "85 % the answer is there: takes the stairs up" in decision.reason
    for robot, asked in ((CLIMBER, KITCHEN), (WHEELS, BEDROOM)):
        assert FloorPolicy(Explores(), 0, robot).decide(at(1.0, regions=asked), (UP,), False).goal == ELSEWHERE


def test_a_low_piece_of_stairs_is_no_reason_to_leave_but_a_way_out_where_nothing_is_left() -> None:
    piece = Staircase(UP.low, (4.6, 1.0, 0.6))
    decision = FloorPolicy(Explores(), 0, CLIMBER).decide(at(1.0, regions=KITCHEN), (piece,), False)
    assert decision.goal == ELSEWHERE
    nothing_left = FloorPolicy(Explores(left=False), 0, CLIMBER).decide(at(1.0, regions=KITCHEN), (piece,), False)
    assert "nothing is left" in nothing_left.reason


def test_it_goes_to_the_foot_of_a_low_piece_of_stairs_to_see_where_they_lead() -> None:
    policy, here, piece = FloorPolicy(Explores(), 0, CLIMBER), at(1.0, regions=BEDROOM), (4.0, 1.6, 0.6)
    decision = policy.decide(here, (Staircase(UP.low, piece),), False)
    assert "a few steps were seen" in decision.reason and decision.goal is not None and not decision.look_around
    assert decision.goal.distance(Pose2(4.0, 1.0, 0.0)) < 0.1 and decision.goal.yaw == pytest.approx(math.pi / 2)
    at_foot = at(4.0, regions=BEDROOM)
    assert policy.decide(at_foot, (Staircase(UP.low, piece),), False).goal == ELSEWHERE  # it saw no more of them there
    assert "takes the stairs up" in policy.decide(at_foot, (UP,), False).reason


def test_two_steps_are_looked_at_before_the_robot_gives_up_and_are_no_way_to_another_floor() -> None:
    policy, piece = FloorPolicy(Explores(left=False), 0, CLIMBER), (Staircase(UP.low, (4.4, 1.0, 0.4)),)
    assert FloorPolicy(Explores(), 0, CLIMBER).decide(at(1.0, regions=BEDROOM), piece, False).goal == ELSEWHERE
    look = policy.decide(at(1.0), piece, False)
    assert "a few steps were seen" in look.reason and look.goal is not None
    assert policy.options(at(1.0), piece) == Explores().options(at(1.0))
    assert policy.decide(at(look.goal.x), piece, False).goal is None  # they are two steps, seen from near as well


def test_stairs_that_it_has_begun_it_takes_to_the_end_that_moves_away() -> None:
    policy, begun = FloorPolicy(Explores(), 0, CLIMBER), at(1.0, regions=BEDROOM)
    policy.decide(begun, (Staircase(UP.low, (6.0, 1.0, 1.4)),), False)
    on = policy.decide(at(6.0, regions=KITCHEN), (UP,), False)
    assert "it has begun them" in on.reason and on.goal is not None and on.goal.x == pytest.approx(8.0, abs=0.1)
    arrived = policy.decide(at(8.0, 2.8, BEDROOM), (UP,), False)
    assert arrived.look_around and arrived.goal == Pose2(8.0, 1.0, 0.0)
    assert policy.decide(at(8.0, 2.8, BEDROOM), (UP,), False).goal == ELSEWHERE


def test_stairs_on_which_it_does_not_get_on_are_given_up() -> None:
    policy = FloorPolicy(Explores(), 0, CLIMBER)
    goals = [policy.decide(at(1.0, regions=BEDROOM), (UP,), False).goal for _ in range(5)]
    assert ELSEWHERE not in goals[:3] and goals[3:] == [ELSEWHERE, ELSEWHERE]


def test_two_floors_with_nothing_left_are_the_end() -> None:
    policy = FloorPolicy(Explores(left=False), 0, CLIMBER)
    assert policy.decide(at(1.0), (UP,), False).goal is not None
    assert policy.decide(at(8.0, 2.8), (UP,), False).look_around
    assert policy.decide(at(8.0, 2.8), (UP,), False).goal is None


def test_it_goes_to_see_stairs_that_views_name() -> None:
    policy = FloorPolicy(Explores(), 0, CLIMBER)
    upper = at(1.0, 2.8, KITCHEN, ("main bedroom", "stairwell"))
    decision = policy.decide(upper, (), False)
    assert decision.look_around and decision.goal is not None
    assert decision.goal.distance(Pose2(5.0, 2.0, 0.0)) < 0.2
    assert policy.decide(upper, (), False).goal == decision.goal  # it did not get there
    assert policy.decide(upper._replace(pose=decision.goal), (), False).goal == ELSEWHERE  # it has looked there
    for robot, asked in ((WHEELS, KITCHEN), (CLIMBER, BEDROOM)):
        names = at(1.0, 2.8, asked, ("main bedroom", "stairwell"))
        assert FloorPolicy(Explores(), 0, robot).decide(names, (), False).goal == ELSEWHERE


def test_a_model_weighs_stairs_beside_other_places() -> None:
    policy, here = FloorPolicy(Explores(), 0, CLIMBER), at(1.0)
    listed = policy.options(here, (UP,))
    assert listed is not None and [option.kind for option in listed] == ["frontier", "stairs up to another floor"]
    for weights, taken in (((0.1, 0.9), True), ((0.9, 0.1), False), ((0.0, 0.0), False)):
        advice = [WeighedOption(option, weight) for option, weight in zip(listed, weights, strict=True)]
        decision = FloorPolicy(Explores(), 0, CLIMBER).decide(at(1.0, advice=advice), (UP,), False)
        assert ("takes the stairs up" in decision.reason) == taken
    assert [o.kind for o in FloorPolicy(Explores(), 0, WHEELS).options(here, (UP,)) or ()] == ["frontier"]


def test_what_was_explored_without_an_answer_speaks_for_the_other_floor() -> None:
    chances = [chance_there((), True, (), (), m2, 0.0) for m2 in (0.0, 20.0, 60.0)]
    assert chances[0] == 0.5 and chances == sorted(chances) and chances[-1] > 0.8
    assert chance_there((), True, (), (), 30.0, 30.0) == pytest.approx(0.5)
    assert chance_there(KITCHEN, True, (), (), 0.0, 0.0) == pytest.approx(0.05)
    assert chance_there((RankedRegion("main bedroom", 1.0),), True, (), (), 0.0, 0.0) == pytest.approx(0.85)
    assert chance_there(KITCHEN, False, ("kitchen",), (), 0.0, 0.0) == pytest.approx(0.3 * 0.95)  # there may be two
    assert chance_there(KITCHEN, True, (), ("kitchen",), 0.0, 0.0) == pytest.approx(1 - 0.3 * 0.95)
    assert chance_there((), True, (), (), 40.0, 0.0) == pytest.approx(1 / (1 + math.exp(-1)))  # 40 m2 find 63 of 100


def test_the_rooms_that_were_seen_tell_which_storey_it_is() -> None:
    # Odds of the upper storey: 0.85 / 0.15 * 0.75 / 0.25 = 17; then the kitchen is below with 0.95.
    assert chance_elsewhere(KITCHEN, ("main bedroom", "closet"), 0.0) == pytest.approx((0.05 + 17 * 0.95) / 18)
    assert chance_elsewhere(BEDROOM, ("kitchen", "living room"), 0.0) > 0.8
    assert chance_elsewhere(KITCHEN, ("living room", "garage"), 0.0) < 0.2
    assert shows_stairs("Stairwell") and shows_stairs("upstairs staircase") and not shows_stairs("stair cupboard")


@pytest.mark.parametrize(("weight", "goes"), [(0.6, True), (0.59, False)])
def test_it_leaves_an_unfinished_floor_from_a_chance_of_60_per_cent(
        weight: float, goes: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eqa_nodes.core.policies.floor_policy.chance_there", lambda *_: weight)
    decision = FloorPolicy(Explores(), 0, CLIMBER).decide(at(1.0), (UP,), False)
    assert (decision.goal != ELSEWHERE) == goes


@pytest.mark.parametrize(("rise_m", "goes"), [(1.0, True), (0.99, False)])
def test_stairs_are_taken_at_once_where_a_metre_of_them_is_known(rise_m: float, goes: bool) -> None:
    stairs = Staircase(UP.low, (8.0, 1.0, rise_m))
    decision = FloorPolicy(Explores(), 0, CLIMBER).decide(at(1.0, regions=BEDROOM), (stairs,), False)
    assert ("takes the stairs" in decision.reason) == goes


class TakesFirst(Explores):
    """A policy that goes to the first frontier that it has not been to."""

    def __init__(self) -> None:
        super().__init__()
        self.been: list[Frontier] = []

    def decide(self, situation: Situation) -> Decision:
        """Return the first frontier that is left."""
        left = [f for f in situation.frontiers if f not in self.been]
        self.been += left[:1]
        return Decision(Pose2(left[0].x, left[0].y, 0.0) if left else None, "takes the first")


LEFT, AHEAD, RIGHT, BEHIND = (Frontier(x, y, 0.0, 1.0) for x, y in ((5.0, 3.8), (9.0, 1.0), (5.0, -5.0), (0.0, 1.0)))


@pytest.mark.parametrize(("said", "goals"), [
    ("", [LEFT, AHEAD, RIGHT, BEHIND]), ("Walk to the stool.", [LEFT, AHEAD, RIGHT, BEHIND]),
    ("Go straight on into the hallway.", [AHEAD, LEFT, RIGHT, BEHIND]), ("Turn left into the hall.", [LEFT, AHEAD]),
    ("Turn right into the hall.", [RIGHT, LEFT]), ("Turn around and go straight on.", [BEHIND, LEFT]),
    ("Turn left into the kitchen.", [LEFT, AHEAD])])
def test_frontiers_where_directions_lead_come_first(said: str, goals: Sequence[Frontier]) -> None:
    """The robot begins at (5, 1) and looks along x; when none of those frontiers is left, it takes the others."""
    situation = at(5.0)._replace(frontiers=(LEFT, AHEAD, RIGHT, BEHIND), question=Question("?", instruction=said))
    policy = FloorPolicy(TakesFirst(), 0, WHEELS)
    found = [policy.decide(situation, (), False).goal for _ in goals]
    assert [(goal.x, goal.y) for goal in found if goal is not None] == [(f.x, f.y) for f in goals]


def test_directions_rule_nothing_out_once_their_room_is_seen_or_on_another_floor() -> None:
    asked = Question("?", instruction="Turn right into the kitchen.")
    every = (LEFT, AHEAD, RIGHT, BEHIND)
    seen = at(5.0, names=("kitchen",))._replace(frontiers=every, question=asked)
    goal = FloorPolicy(TakesFirst(), 0, WHEELS).decide(seen, (), False).goal
    assert goal is not None and goal.y == LEFT.y
    policy, home = FloorPolicy(TakesFirst(), 0, CLIMBER), at(5.0)._replace(frontiers=every, question=asked)
    assert policy.decide(home, (), False).goal == Pose2(RIGHT.x, RIGHT.y, 0.0)
    above = at(5.0, z=2.8)._replace(frontiers=every, question=asked)
    assert policy.decide(above, (), False).look_around
    assert policy.decide(above, (), False).goal == Pose2(LEFT.x, LEFT.y, 0.0)


@pytest.mark.parametrize(("said", "room", "first"), [
    ("Begin in the study. Turn left into the kitchen.", "bedroom", AHEAD),
    ("Begin in the study. Turn left into the kitchen.", "study", LEFT),
    ("Begin in the study. Turn left into the kitchen.", "hallway", LEFT),
    ("Begin in the study. Turn left into the kitchen.", "dining room, kitchen", LEFT),
    ("Walk on.", "bedroom", LEFT)])
def test_frontiers_in_rooms_that_directions_do_not_name_come_last(said: str, room: str, first: Frontier) -> None:
    """The kitchen is seen far away, so that no turn decides; the room of a place 1 m from the frontier does."""
    situation = at(5.0, names=("kitchen",))
    places = (*situation.assessments[0].places, Candidate(LEFT.x, LEFT.y - 1.0, 1.0, room))
    view = situation.assessments[0]._replace(places=tuple(
        place._replace(y=-9.0) if place.label == "kitchen" else place for place in places))
    asked = situation._replace(frontiers=(LEFT, AHEAD), question=Question("?", instruction=said), assessments=[view])
    policy = FloorPolicy(TakesFirst(), 0, WHEELS)
    goals = [policy.decide(asked, (), False).goal for _ in range(2)]
    assert [goal and (goal.x, goal.y) for goal in goals] == [(f.x, f.y) for f in (
        first, AHEAD if first is LEFT else LEFT)]
