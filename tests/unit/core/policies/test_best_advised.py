"""The policy best where a model weighs its options: what is listed, where it goes, how it arrives."""

from __future__ import annotations

import math

import numpy as np
import pytest

from eqa_nodes.core.policies import best_policy
from eqa_nodes.core.policies.advised import advised_value, pointed_at, spread
from eqa_nodes.core.policies.best_policy import BestConfig, BestPolicy
from eqa_nodes.core.policies.steering import ReachableArea, ReachablePose, ScoredPlace, viewpoint
from eqa_nodes.core.types.floor import LOOK_ROUND, POINTED, Decision, GridMap, Option, WeighedOption
from eqa_nodes.core.types.geometry import Pose2, wrap
from eqa_nodes.core.types.questions import ViewAssessment
from eqa_nodes.core.types.robot import CameraModel, RobotModel
from tests.fixtures.best_policy import HERE, corridor, situation
from tests.fixtures.grids import grid_of


def listed(policy: BestPolicy, grid: GridMap, *assessments: ViewAssessment) -> list[Option]:
    return policy.options(situation(grid, *assessments, regions=()))


def advised(options: list[Option], *weights: float, rooms: tuple[str, ...] = ()) -> list[WeighedOption]:
    names = (*rooms, *[""] * len(options))
    return [WeighedOption(option, weight, room) for option, weight, room in zip(options, weights, names)]


def test_it_lists_frontiers_and_floor_that_it_has_only_seen() -> None:
    options = listed(BestPolicy(), corridor())
    assert {option.kind for option in options} == {"frontier", "floor"}
    assert all(option.distance_m > 0 for option in options)
    floor = BestPolicy().options(situation(corridor(), regions=())._replace(frontiers=()))
    assert {option.kind for option in floor} == {"floor"} and len(floor) <= 3
    assert {option.x > HERE.x for option in floor} == {True, False}


def test_it_goes_where_the_model_sends_it() -> None:
    for chosen in (0, 1):
        policy = BestPolicy()
        options = listed(policy, corridor())[:2]
        weights = [0.7 if i == chosen else 0.1 for i in range(2)]
        decision = policy.decide(situation(corridor(), regions=())._replace(advice=advised(options, *weights)))
        assert decision.goal is not None and math.copysign(1, decision.goal.x - HERE.x) == math.copysign(
            1, options[chosen].x - HERE.x)


def test_the_reason_names_the_room_that_the_model_expects() -> None:
    policy = BestPolicy()
    options = listed(policy, corridor())
    now = situation(corridor(), regions=())
    decision = policy.decide(now._replace(advice=advised(options, 0.9, rooms=("kitchen",))))
    assert "to where the model expects the kitchen: " in decision.reason
    options = listed(policy, corridor())
    decision = policy.decide(now._replace(advice=advised(options, 0.9)))
    assert "the model" not in decision.reason and "an unexplored place" in decision.reason


def test_where_the_model_names_nothing_it_decides_as_it_would_alone() -> None:
    policy, alone = BestPolicy(), BestPolicy()
    options = listed(policy, corridor())
    decision = policy.decide(situation(corridor(), regions=())._replace(advice=advised(options, *[0.0] * len(options))))
    own = alone.decide(situation(corridor(), regions=()))
    assert decision.goal is not None and own.goal is not None
    assert (decision.goal.x > HERE.x) == (own.goal.x > HERE.x)


def test_the_room_in_which_it_is_seen_to_stand_is_known_the_next_time_and_a_guess_is_not() -> None:
    policy = BestPolicy()
    options = listed(policy, corridor())
    policy.decide(situation(corridor(), regions=())._replace(
        advice=advised(options, *[0.5] * len(options), rooms=("kitchen",))))
    ahead = Pose2(HERE.x + 0.3, HERE.y, 0.0)
    assert {option.room for option in policy.options(situation(corridor(), pose=ahead, regions=()))} == {""}
    stands = ViewAssessment(9, 9, 0.0, 0.0, region="hallway", pose=ahead._replace(x=options[0].x - 1.0))
    again = policy.options(situation(corridor(), stands, pose=ahead, regions=()))
    assert {option.room for option in again} >= {"hallway"}


def test_a_closer_look_from_where_it_stands_is_no_option() -> None:
    grid, near = corridor(), ViewAssessment(1, 1, 1.0, 0.0, pose=HERE, target=(HERE.x, HERE.y + 0.8), note="mug")
    found = viewpoint(ReachableArea(grid, HERE, 0.2), near, 1.6, 2.8)
    assert found is not None
    policy = BestPolicy()
    assert all(option.distance_m > 0.5 for option in policy.options(situation(grid, near, pose=found.pose, regions=()))
               if option.kind.startswith("a closer look"))


def test_what_was_named_as_evidence_from_afar_may_be_looked_at_more_closely() -> None:
    grid = corridor()
    far = ViewAssessment(1, 1, 1.0, 0.0, pose=HERE, target=(9.0, 1.25), note="mug")
    assert "a closer look at mug" in {option.kind for option in listed(BestPolicy(), grid, far)}


def test_a_robot_off_the_map_lists_no_options() -> None:
    assert BestPolicy().options(situation(corridor(), pose=Pose2(-5.0, -5.0, 0.0))) == []


def kinds(policy: BestPolicy, pose: Pose2) -> set[str]:
    return {option.kind for option in policy.options(situation(corridor(), pose=pose, regions=()))}


def moved(metres: float) -> Pose2:
    return HERE._replace(x=HERE.x + metres)


def chosen(policy: BestPolicy, pose: Pose2, weights: dict[str, float], *more: WeighedOption) -> Decision:
    """Return the decision where the model weighs options by their kinds."""
    now = situation(corridor(), pose=pose, regions=())
    named = [WeighedOption(o, weights.get(o.kind, 0.0)) for o in policy.options(now)]
    return policy.decide(now._replace(advice=(*named, *more)))


def test_a_look_round_is_an_option_only_away_from_where_the_robot_has_turned() -> None:
    policy = BestPolicy()
    assert LOOK_ROUND not in kinds(policy, HERE), "it has turned where it began"
    assert LOOK_ROUND not in kinds(policy, moved(1.49)) and LOOK_ROUND in kinds(policy, moved(1.51))
    here = policy.options(situation(corridor(), pose=moved(2.0), regions=()))[-1]
    assert here == Option(*moved(2.0), LOOK_ROUND, 0.0)


def test_a_look_round_in_the_next_room_is_none_in_this_one() -> None:
    grid, policy = grid_of("#########", "#...#...#", "#...#...#", "#...#...#", "#.......#", "#########"), BestPolicy()
    for x, offered in ((1.75, False), (2.75, True)):
        listed = policy.options(situation(grid, pose=Pose2(x, 1.75, 0.0), regions=()))
        assert any(option.kind == LOOK_ROUND for option in listed) == offered, "1 m away, behind a wall"


def test_it_looks_round_where_the_model_says_so_and_then_not_again() -> None:
    policy = BestPolicy()
    kinds(policy, HERE)
    decision = chosen(policy, moved(2.0), {LOOK_ROUND: 0.5, "frontier": 0.1})
    assert decision.look_around and decision.goal == moved(2.0) and "looks round" in decision.reason
    assert LOOK_ROUND not in kinds(policy, moved(2.5))


def test_it_does_not_look_round_of_its_own_accord() -> None:
    policy = BestPolicy()
    kinds(policy, HERE)
    for weights in ({LOOK_ROUND: 0.0, "frontier": 0.1}, {LOOK_ROUND: 0.0}):
        decision = chosen(policy, moved(2.0), weights)
        assert decision.goal is not None and not decision.look_around


def test_a_likelier_place_beats_a_look_round() -> None:
    policy = BestPolicy()
    kinds(policy, HERE)
    assert chosen(policy, moved(2.0), {LOOK_ROUND: 0.1, "frontier": 0.9}).goal != moved(2.0)


def test_after_a_promising_drive_it_looks_round_but_not_twice_near_one_place() -> None:
    policy = BestPolicy()
    kinds(policy, HERE._replace(x=HERE.x - 9.0))
    promising = chosen(policy, HERE, {"frontier": 0.9})
    assert promising.look_around and promising.goal is not None
    assert not chosen(policy, promising.goal, {"frontier": 0.9}).look_around, "it has just turned there"


@pytest.mark.parametrize(("weight", "config"), [(0.2, BestConfig()), (0.9, BestConfig(round_m=0.0))])
def test_after_other_drives_it_does_not(weight: float, config: BestConfig) -> None:
    policy = BestPolicy(config)
    kinds(policy, HERE._replace(x=HERE.x - 9.0))
    assert not chosen(policy, HERE, {"frontier": weight}).look_around


def pointed(x: float, y: float, heading: float, distance_m: float) -> Option:
    return Option(x, y, heading, POINTED, distance_m)


def test_it_goes_where_the_model_points() -> None:
    place = pointed(7.5, 1.25, 0.0, 2.25)
    policy = BestPolicy()
    decision = chosen(policy, HERE, {}, WeighedOption(place, 0.6))
    assert decision.goal is not None and math.dist(decision.goal[:2], (7.5, 1.25)) < 0.3
    assert decision.goal.yaw == 0.0 and POINTED in decision.reason
    assert "60 % to see the answer" in decision.reason


def test_of_a_place_out_of_reach_it_goes_as_far_as_it_can_see() -> None:
    walled = grid_of("#" * 21, *["." * 12 + "#" + "." * 8] * 4, "#" * 21)
    reach = ReachableArea(walled, HERE, 0.2)
    assert pointed_at(reach, pointed(9.5, 1.25, 0.0, 4.25)) is None, "not even two fifths of the way can be driven"
    for place in (pointed(6.4, 1.25, 0.0, 3.4), pointed(8.0, 1.25, 0.0, 5.0), pointed(6.2, 2.9, 0.3, 4.0)):
        found = pointed_at(reach, place)
        assert found is not None and 5.0 < found.pose.x < 6.0 and found.pose.yaw == place.heading
    assert pointed_at(reach, pointed(40.0, 1.25, 0.0, 10.0)) is None, "off the map, all the way back"


def test_a_place_in_a_wall_without_a_way_is_not_gone_to() -> None:
    far = pointed(5.25, 9.0, math.pi / 2, 7.7)
    decision = chosen(BestPolicy(), HERE, {"frontier": 0.01}, WeighedOption(far, 0.9))
    assert decision.goal is not None and POINTED not in decision.reason


@pytest.mark.parametrize("odd", [math.nan, math.inf, 1e300])
def test_a_place_that_is_nowhere_is_not_gone_to(odd: float) -> None:
    for place in (pointed(odd, 1.25, 0.0, 2.0), pointed(7.0, 1.25, odd, 2.0), pointed(7.0, 1.25, 0.0, odd)):
        decision = chosen(BestPolicy(), HERE, {"frontier": 0.01}, WeighedOption(place, 0.5))
        assert decision.goal is not None and all(math.isfinite(part) for part in decision.goal)


def test_a_long_list_keeps_a_place_of_each_part_of_the_building() -> None:
    def at(x: float, score: float) -> tuple[Option, ScoredPlace]:
        place = ReachablePose(Pose2(x, 0.0, 0.0), x)
        return Option(x, 0.0, 0.0, "doorway", x), ScoredPlace(place, score, "frontier", "", 0.1)

    near, far = [at(0.9 * i, 1.0 - 0.1 * i) for i in range(4)], at(20.0, 0.01)
    assert spread([*near, far], 3) == [near[0], near[3], far]
    assert spread([*near, far], 9) == [*near, far] and spread(near, 0) == []


@pytest.mark.parametrize(("weight", "unseen", "value"), [
    (0.5, 0.2, 0.5), (1.0, 0.2, 1.0), (0.0, 0.2, 0.08)])  # 0.2 * 0.4
def test_the_value_of_a_weighed_option_by_hand(weight: float, unseen: float, value: float) -> None:
    own = ScoredPlace(ReachablePose(HERE, 1.0), 0.1, "frontier", "", 0.4, unseen)
    assert advised_value(own, weight) == pytest.approx(value)


@pytest.mark.parametrize(("weight", "looks"), [(0.35, True), (0.349, False)])
def test_a_drive_is_promising_from_a_chance_of_35_per_cent(weight: float, looks: bool) -> None:
    policy = BestPolicy()
    kinds(policy, HERE._replace(x=HERE.x - 9.0))
    assert chosen(policy, HERE, {}, WeighedOption(pointed(7.5, 1.25, 0.0, 2.25), weight)).look_around == looks


@pytest.mark.parametrize(("x", "looks"), [(6.15, False), (6.35, True)])  # 3.9 m and 4.1 m from where it has turned
def test_it_looks_round_four_metres_from_where_it_has_turned(x: float, looks: bool) -> None:
    policy, start = BestPolicy(), HERE._replace(x=2.25)
    decision = chosen(policy, start, {}, WeighedOption(pointed(x, 1.25, 0.0, x - 2.25), 0.9))
    assert decision.goal is not None and decision.goal.x == pytest.approx(x) and decision.look_around == looks


def rooms_with_a_door() -> GridMap:
    """Two rooms of 5 m x 4 m beside each other, with a doorway of 0.8 m at (5.05, 2.0); the east one is unexplored."""
    cells = np.zeros((40, 101), np.int8)
    cells[[0, -1]], cells[:, [0, 50, -1]] = 100, 100
    cells[16:24, 50] = 0
    explored = cells == 0
    explored[:, 51:] = False
    explored[16:24, 51:53] = True  # as seen through the doorway
    return GridMap(0, 0.1, (0.0, 0.0), cells, explored)


WEST = Pose2(1.0, 2.0, 0.0)


def test_a_doorway_is_an_option_instead_of_the_frontiers_in_it_and_behind_it() -> None:
    now = situation(rooms_with_a_door(), pose=WEST, regions=())
    assert now.frontiers
    [door] = [option for option in BestPolicy().options(now) if option.kind in ("doorway", "frontier")]
    assert door.kind == "doorway" and math.dist((door.x, door.y), (5.05, 2.0)) <= 0.15
    assert abs(wrap(door.heading)) < 0.01, "away from the robot"


def test_a_drive_to_a_doorway_ends_a_metre_inside() -> None:
    policy, now = BestPolicy(), situation(rooms_with_a_door(), pose=WEST, regions=())
    options = policy.options(now)
    decision = policy.decide(now._replace(advice=[WeighedOption(o, 0.5 * (o.kind == "doorway")) for o in options]))
    assert decision.goal is not None and math.dist(decision.goal[:2], (6.05, 2.0)) <= 0.15
    assert abs(wrap(decision.goal.yaw)) < 0.01 and decision.look_around


def test_a_doorway_to_a_room_that_it_was_in_is_none() -> None:
    policy, now = BestPolicy(), situation(rooms_with_a_door(), pose=WEST._replace(x=6.2), regions=())
    policy.options(now)
    doors = [o for o in policy.options(now._replace(pose=WEST)) if o.kind == "doorway"]
    assert doors == [], "it has stood behind it"
    assert [o.kind for o in BestPolicy().options(now._replace(frontiers=()))].count("doorway") == 1, "to the west room"


def inside(policy: BestPolicy, grid: GridMap) -> Decision:
    """Return the decision right after a drive to the doorway, before a model is asked again."""
    now = situation(grid, pose=WEST, regions=())
    options = policy.options(now)
    goal = policy.decide(now._replace(advice=[WeighedOption(o, 0.5 * (o.kind == "doorway")) for o in options])).goal
    assert goal is not None and policy.looking
    return policy.decide(now._replace(pose=goal))


def test_at_the_end_of_the_drive_it_turns_only_to_floor_that_it_has_not_seen() -> None:
    grid = rooms_with_a_door()
    grid.explored[:20, 53:] = grid.cells[:20, 53:] == 0  # the right half of the room is seen by now
    policy = BestPolicy()
    turn = inside(policy, grid)
    assert turn.goal is not None and turn.look_around and "has not seen" in turn.reason
    assert math.degrees(turn.goal.yaw) == pytest.approx(60.0), "to the left"
    grid.explored[:] = grid.cells == 0
    over = policy.decide(situation(grid, pose=turn.goal, regions=()))
    assert over.goal is None and not policy.looking


def test_it_does_not_turn_where_all_is_seen_or_where_it_did_not_get_to() -> None:
    grid = rooms_with_a_door()
    grid.explored[:] = grid.cells == 0
    assert inside(BestPolicy(), grid).goal is None
    policy, now = BestPolicy(), situation(rooms_with_a_door(), pose=WEST, regions=())
    options = policy.options(now)
    policy.decide(now._replace(advice=[WeighedOption(o, 0.5 * (o.kind == "doorway")) for o in options]))
    assert policy.decide(now).goal is None and not policy.looking


def test_a_robot_that_looks_for_stairs_looks_all_round() -> None:
    climber = RobotModel(stairs=True, camera=CameraModel(tilt_down_deg=0.0))
    assert climber.looks_for_stairs
    turn = inside(BestPolicy(robot=climber), rooms_with_a_door())
    assert turn.look_around and turn.goal is not None and abs(wrap(turn.goal.yaw)) < 0.01


def at_metres(x: float, metres: float) -> tuple[Option, ScoredPlace]:
    place = ReachablePose(Pose2(x, 0.0, 0.0), metres)
    return Option(x, 0.0, 0.0, "frontier", metres), ScoredPlace(place, 0.0, "frontier", f"{metres:g} m", 0.1)


@pytest.mark.parametrize(("first", "second", "longer_m", "goes_first"), [
    (0.45, 0.3, 3.9, True), (0.45, 0.3, 6.1, False),  # (0.45 / 0.3)^2 = 2.25 times 4 m is 9 m
    (0.4, 0.39, 0.3, False), (0.4, 0.39, 0.1, True),  # close weights: the nearer one
    (0.9, 0.2, 25.0, True)])
def test_the_model_decides_unless_paths_differ_by_more_than_the_squares_of_its_weights(
        first: float, second: float, longer_m: float, goes_first: bool) -> None:
    policy, origin = BestPolicy(), Pose2(0.0, 0.0, 0.0)
    far, near = at_metres(1.0, 2.0 + longer_m), at_metres(1.0, 2.0)
    scores = [policy._advised_score(origin, own, advised_value(own, weight))
              for (_, own), weight in ((far, first), (near, second))]
    assert (scores[0] > scores[1]) == goes_first


def test_an_option_that_the_model_did_not_name_never_beats_one_that_it_named() -> None:
    policy = BestPolicy()
    options = listed(policy, corridor())
    named = next(i for i, o in enumerate(options) if o.kind == "floor")
    weights = [0.01 if i == named else 0.0 for i in range(len(options))]
    decision = policy.decide(situation(corridor(), regions=())._replace(advice=advised(options, *weights)))
    assert len(decision.candidates) == 1


def test_what_a_model_passed_over_comes_last_until_it_is_named() -> None:
    policy, now = BestPolicy(), situation(corridor(), regions=())
    first, *rest = policy.options(now)
    policy.decide(now._replace(advice=[WeighedOption(first, 0.5), *(WeighedOption(o, 0.0) for o in rest)]))
    again = policy.options(now)
    assert [o.passed_over for o in again] == sorted(o.passed_over for o in again) and again[-1].passed_over
    last = again[-1]
    policy.decide(now._replace(advice=[WeighedOption(o, 0.5 * (o == last)) for o in again]))
    assert not any(o.passed_over for o in policy.options(now) if math.dist(o[:2], last[:2]) < 1.0)


def test_a_closer_look_is_offered_until_it_is_taken_and_never_again() -> None:
    grid, policy = corridor(), BestPolicy()
    mug = ViewAssessment(1, 1, 1.0, 0.0, pose=HERE, target=(9.0, 1.25), note="mug", target_z=0.8)

    def looks(*assessments: ViewAssessment) -> list[Option]:
        return [o for o in listed(policy, grid, *assessments) if o.kind == "a closer look at mug"]

    [look] = looks(mug)
    assert (look.x, look.y, look.z) == (9.0, 1.25, 0.8), "where the thing is"
    assert looks() == [look._replace(value=-1.0)], "last, where the model names something else meanwhile"
    now = situation(grid, regions=())
    options = policy.options(now)
    decision = policy.decide(now._replace(advice=[WeighedOption(o, float(o.kind == look.kind)) for o in options]))
    assert decision.goal is not None and math.dist(decision.goal[:2], (9.0, 1.25)) <= 1.9
    assert looks(mug._replace(keyframe_id=2)) == []


def test_what_is_more_than_two_metres_away_may_be_looked_at_more_closely_too() -> None:
    for x, offered in ((HERE.x + 2.6, True), (HERE.x + 1.9, False)):
        mug = ViewAssessment(1, 1, 1.0, 0.0, pose=HERE, target=(x, 1.25), note="mug")
        options = BestPolicy().options(situation(corridor(), mug, pose=HERE._replace(yaw=0.0), regions=()))
        assert ("a closer look at mug" in {o.kind for o in options}) == offered


def test_of_places_that_show_the_same_floor_the_best_is_listed() -> None:
    grid, own = corridor(), ScoredPlace(ReachablePose(HERE, 1.0), 1.0, "frontier", "a frontier")
    first, beside, away = (Option(x, 1.25, 0.0, "frontier", 1.0) for x in (3.0, 5.0, 8.0))
    pairs = [(one, own) for one in (first, beside, away)]
    assert [one.x for one, _ in best_policy._one_a_region(pairs, grid)] == [3.0, 8.0]
    doors = [(one._replace(kind="doorway"), own) for one in (first, beside, away)]
    assert len(best_policy._one_a_region(doors, grid)) == 3, "each leads to a room of its own"
    walled = rooms_with_a_door()
    apart = [(Option(x, 1.0, 0.0, "frontier", 1.0), own) for x in (4.4, 5.6)]
    assert len(best_policy._one_a_region(apart, walled)) == 2, "a wall is between them"


@pytest.mark.parametrize(("target", "relevance", "faces"), [
    ((5.0, 0.4), 1.0, True), ((5.0, 0.4), 0.2, False), ((9.5, 1.25), 1.0, False)])
def test_at_the_end_of_a_drive_it_faces_what_the_model_named_near_there(target: tuple[float, float], relevance: float,
                                                                        faces: bool) -> None:
    policy = BestPolicy()
    named = ViewAssessment(1, 1, relevance, 0.0, pose=HERE, target=target, note="sink")
    now = situation(corridor(), named, regions=())
    options = policy.options(now)
    west = min((o for o in options if o.kind == "frontier"), key=lambda o: o.x)
    decision = policy.decide(now._replace(advice=[WeighedOption(o, 0.9 * (o == west)) for o in options]))
    assert decision.goal is not None
    towards = math.atan2(target[1] - decision.goal.y, target[0] - decision.goal.x)
    assert (abs(wrap(decision.goal.yaw - towards)) < 0.01) == faces
    assert (decision.candidates[0].x, decision.candidates[0].y) == (west.x, west.y), "the place as the model saw it"
