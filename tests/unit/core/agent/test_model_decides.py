"""One call a decision: what the model is asked and reminded of, which pictures it sees, and how it replies."""

from __future__ import annotations

import math

import pytest

from eqa_nodes.core.agent.config import AgentConfig
from eqa_nodes.core.agent.model_decides import Notebook, as_seen, asks_of_room_sizes, pick, present_view
from eqa_nodes.core.agent.questions import Agent
from eqa_nodes.core.errors import LimitReached
from eqa_nodes.core.protocols import Ports
from eqa_nodes.core.types.calls import DecisionReply, DecisionRequest, TargetNote
from eqa_nodes.core.types.floor import CLOSER, LOOK_ROUND, POINTED, ZOOM, Candidate, Decision, Option, WeighedOption
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.progress import Progress
from eqa_nodes.core.types.questions import Answer, Limits, Question
from eqa_nodes.core.types.views import Keyframe
from tests.fixtures import briefs
from tests.fixtures.agent_world import DOOR, FLOOR, GOAL, QUESTION, Consulted
from tests.fixtures.agent_world import view as plain_view
from tests.fixtures.briefs import view


def test_each_leg_costs_one_call_and_its_advice_reaches_the_policy() -> None:
    world, reports = Consulted({}), list[Progress]()
    answer = Agent(Ports(world, world, world, world, world), AgentConfig(consult=True),
                   listener=reports.append).ask(QUESTION)
    phases = [p.phase for p in reports if p.call is None and not p.judged]
    assert [p.phase for p in reports if p.judged] == ["deciding"] * 3  # what the model said of its pictures
    assert phases.count("deciding") == 3 and answer.text == "on the stove" and answer.confidence == 0.9
    assert world.calls == ["look", "keep", "advise", *["drive", "keep", "advise"] * 2]
    assert world.advice == [(WeighedOption(DOOR, 0.8, "kitchen"), WeighedOption(FLOOR, 0.1, ""))] * 2


def test_the_model_is_told_what_it_said_and_where_the_robot_went() -> None:
    world = Consulted({})
    world.ask()
    assert world.briefs[0].notes == () and world.briefs[0].visited == ()
    came, missed = world.briefs[2].notes
    assert came == "Reasons 1. Missing: the stove. The robot was then sent to unexplored space (kitchen by your guess)."
    assert missed == came.replace("1", "2").removesuffix(".") + ", but did not get there."
    assert world.briefs[1].visited == world.briefs[2].visited == ("hallway",), "where the model saw it stand"


def test_what_it_named_is_shown_again_with_what_is_new() -> None:
    world = Consulted({})
    world.ask()
    assert world.briefs[1].views[0] == plain_view(1) and world.briefs[1].now == (2,)


def test_without_an_answer_the_last_call_is_kept_for_the_end() -> None:
    world = Consulted({}, enough_after=99)
    answer = Agent(Ports(world, world, world, world, world), AgentConfig(consult=True)).ask(
        QUESTION._replace(limits=Limits(calls=3)))
    assert world.calls.count("advise") == 3 and "answer" not in world.calls
    assert answer.abstained and answer.receipt.limit == "3 model calls"
    assert [brief.calls_left for brief in world.briefs] == [2, 1, -1]
    assert world.calls == ["look", *["keep", "advise", "drive"] * 2, "advise"], "the last call sees something new"
    assert world.briefs[2].options == (), "there is nowhere to go any more: it answers as well as it can"


def test_a_last_call_that_cannot_be_made_leaves_what_was_found_before() -> None:
    world = Consulted({}, enough_after=99)
    advise = world.advise

    def twice(question: Question, brief: DecisionRequest) -> DecisionReply:  # after a last reply of no use
        if len(world.briefs) == 2:
            raise LimitReached("calls: the question may make no further model call")
        return advise(question, brief)

    world.advise = twice  # type: ignore[method-assign]
    answer = Agent(Ports(world, world, world, world, world), AgentConfig(consult=True)).ask(
        QUESTION._replace(limits=Limits(calls=3)))
    assert answer.abstained and "answer" not in world.calls
    assert answer.message.startswith("Reasons 2; the robot was in: hallway; not seen: the stove")


def test_a_second_look_is_one_more_call() -> None:
    world = Consulted({}, enough_after=1, confirms=1)
    answer = world.ask()
    assert answer.text == "on the stove"
    assert world.calls == ["look", "keep", "advise", "drive", "keep", "keep", "advise"]
    assert [proof.keyframe_id for proof in answer.evidence] == [2], "what it names after the second look"


@pytest.mark.parametrize("without", ["lists", "advises"])
def test_where_policy_or_answerer_cannot_the_views_are_judged_one_by_one(without: str) -> None:
    world = Consulted({2: 0.8}, **{without: False})  # type: ignore[arg-type]
    assert world.ask().text == "in the kitchen"
    assert world.calls == ["regions", "look", "assess", "drive", "assess", "answer"]


def test_a_goal_far_from_every_option_is_not_noted() -> None:
    world = Consulted({}, enough_after=2, goals=5)
    world.options = lambda question, assessments: [FLOOR]  # type: ignore[method-assign, assignment, misc]
    world.ask()
    assert GOAL.x != FLOOR.x and "sent" not in world.briefs[1].notes[0]


def test_an_answer_that_it_repeats_is_given() -> None:
    world = Consulted({}, enough_after=1, sure=0.6, goals=50, stays=True)
    answer = world.ask()
    assert world.calls.count("advise") == 3 and (answer.text, answer.confidence) == ("on the stove", 0.6)


def test_the_same_answer_from_another_place_makes_it_surer() -> None:
    world = Consulted({}, enough_after=1, sure=0.6, goals=50)
    answer = world.ask()
    assert world.calls.count("advise") == 2 and answer.confidence == pytest.approx(1 - 0.4 ** 1.5)


@pytest.mark.parametrize(("sure", "calls"), [(0.8, 3), (0.95, 1)])
def test_an_answer_beside_which_something_is_missing_is_given_if_it_is_very_sure_or_repeated(sure: float,
                                                                                          calls: int) -> None:
    world = Consulted({}, enough_after=1, sure=sure, goals=50, stays=True, unfinished=True)
    assert world.ask().text == "on the stove" and world.calls.count("advise") == calls
    nowhere = Consulted({}, enough_after=1, sure=sure, goals=50, stays=True, unfinished=True, useful=0)
    assert nowhere.ask().text == "on the stove" and nowhere.calls.count("advise") == 1, "it names no place to look"


def test_an_answer_that_it_hardly_believes_is_not() -> None:
    world = Consulted({}, enough_after=1, sure=0.3, goals=6)
    answer = world.ask()
    assert world.calls.count("advise") == 8 and answer.text == "on the stove", "all drives, and once more at the end"


BED, SOFA, RED_SOFA = TargetNote("bed", "its blanket is blue"), TargetNote("sofa"), TargetNote("sofa", "red")


def test_no_answer_is_given_before_all_that_the_question_is_about_is_known() -> None:
    world = Consulted({}, enough_after=1, goals=50, targets=((BED, SOFA), (BED, SOFA), (BED, RED_SOFA)))
    assert world.ask().text == "on the stove" and world.calls.count("advise") == 3
    assert [brief.targets for brief in world.briefs] == [(), (BED, SOFA), (BED, SOFA)], "it is reminded of them"


def test_nor_is_one_that_it_repeats() -> None:
    world = Consulted({}, enough_after=1, sure=0.6, goals=8, stays=True, targets=((BED, SOFA),))
    assert world.ask().text == "on the stove"
    assert world.calls.count("advise") == 9 + 1, "after each look, and once more at the end"


def test_the_last_call_shows_twice_the_pictures() -> None:
    world = Consulted({}, enough_after=99, goals=12)
    world.ask(pictures=3)
    assert len(world.briefs[-1].views) == 6 and world.briefs[-1].options == ()
    assert all(len(brief.views) <= 3 for brief in world.briefs[:-1])


def test_a_search_ends_when_the_model_names_no_place_three_times_in_a_row() -> None:
    world = Consulted({}, enough_after=99, goals=50, useful=2)
    answer = world.ask()
    assert world.calls.count("drive") == 2 + 2, "the policy chose two places more"
    assert world.calls.count("advise") == 2 + 3 + 1 and world.briefs[-1].options == ()
    assert answer.abstained and answer.message.endswith("the model saw no place left where a look would help")


def test_a_search_without_an_answer_says_what_was_searched() -> None:
    answer = Consulted({}, enough_after=99, goals=2).ask()
    assert answer.abstained and answer.message.startswith("Reasons 4; the robot was in: hallway; not seen: the stove")


START, THERE, SHORT = Pose2(0.0, 0.0, 0.0), Pose2(4.5, 0.5, 1.0), Pose2(2.0, 0.0, 0.0)
AHEAD = Decision(Pose2(5.0, 0.0, 0.0), "")


def option(kind: str, room: str = "", guess: str = "") -> WeighedOption:
    return WeighedOption(Option(5.0, 0.0, 0.0, kind, 5.0, guess), 0.5, room)


def sent(weighed: WeighedOption, ended: Pose2, decision: Decision = AHEAD) -> Notebook:
    """Return the notebook after one drive."""
    notes = Notebook()
    notes.add(DecisionReply(Answer(abstained=True), "A door is open."))
    notes.went(decision, [weighed])
    notes.stands(ended)
    return notes


@pytest.mark.parametrize(("kind", "words"), [
    ("frontier", "unexplored space"), ("doorway", "a doorway"), ("floor", "floor not yet visited"),
    (POINTED, "the place that you pointed at"), ("a closer look at the bowl", "a closer look at the bowl")])
def test_a_note_says_where_the_robot_was_sent_and_whether_it_got_there(kind: str, words: str) -> None:
    said = f"A door is open. The robot was then sent to {words}"
    assert sent(option(kind), THERE).notes() == (f"{said}.",)
    assert sent(option(kind, "kitchen"), THERE).notes() == (f"{said} (kitchen by your guess).",)
    assert sent(option(kind, "kitchen"), SHORT).notes() == (f"{said} (kitchen by your guess), but did not get there.",)


def test_a_room_was_visited_where_the_model_sees_the_robot_stand() -> None:
    notes = sent(option("doorway", "kitchen", "hallway"), THERE)
    assert notes.visited == [], "what lies behind a door is a guess"
    for room in ("bedroom", "", "bedroom", "hallway"):
        notes.add(DecisionReply(Answer(abstained=True), "Again.", room=room))
    assert notes.visited == ["bedroom", "hallway"] and len(notes.notes()) == 5


@pytest.mark.parametrize(("off_m", "ending"), [(1.0, "."), (1.01, ", but did not get there.")])
def test_it_has_arrived_within_a_metre_of_its_goal(off_m: float, ending: str) -> None:
    (note,) = sent(option("doorway"), Pose2(5.0 - off_m, 0.0, 0.0)).notes()
    assert note == f"A door is open. The robot was then sent to a doorway{ending}"


def test_a_drive_that_ends_behind_its_doorway_or_before_its_thing_is_noted() -> None:
    door, mug = option("doorway"), WeighedOption(Option(5.0, 0.0, 0.0, f"{CLOSER} the mug", 3.0, z=0.8), 0.5)
    for weighed, x, named in ((door, 6.2, "a doorway"), (mug, 3.2, "a closer look at the mug")):
        goal = Pose2(x, 0.0, 0.0)
        assert sent(weighed, goal, Decision(goal, "")).notes() == (
            f"A door is open. The robot was then sent to {named}.",)
    away = Pose2(3.2, 0.0, math.pi)
    assert sent(mug, away, Decision(away, "looks for stairs")).notes() == (
        "A door is open. The robot then went elsewhere: it looks for stairs.",), "not at the mug"


def test_a_look_round_goes_nowhere() -> None:
    here = WeighedOption(Option(*START, LOOK_ROUND, 0.0), 0.5, "study")
    notes = sent(here, START, Decision(START, "", look_around=True))
    assert notes.notes() == ("A door is open. The robot then looked round.",)


def test_a_drive_that_ends_before_its_place_is_noted_too() -> None:
    aimed_at, runner_up = Candidate(5.0, 0.0, 0.2, "frontier"), Candidate(1.0, 0.0, 0.1, "floor")
    on_the_way = Decision(Pose2(1.0, 0.0, 0.0), "", (aimed_at, runner_up))
    assert sent(option("doorway", "kitchen"), Pose2(1.0, 0.0, 0.0), on_the_way).notes() == (
        "A door is open. The robot was then sent to a doorway (kitchen by your guess).",)


def test_where_it_went_is_noted_once() -> None:
    notes = sent(option("doorway"), THERE)
    notes.stands(SHORT)
    assert notes.notes() == ("A door is open. The robot was then sent to a doorway.",)
    assert sent(option("doorway"), THERE, Decision(None, "nothing is left")).notes() == ("A door is open.",)
    empty = Notebook()
    empty.went(AHEAD, [option("doorway", "kitchen")])
    empty.stands(THERE)
    assert empty.notes() == () and empty.visited == []


@pytest.mark.parametrize(("said", "kept"), [
    ("Picture 3 shows a sofa.", "a picture shows a sofa."), ("In pictures 1, 2 and 4 is one.", "In a picture is one."),
    ("Images #2-3 are dark.", "a picture are dark."), ("The 2 pictures show 3 mugs.", "The 2 pictures show 3 mugs.")])
def test_numbers_of_pictures_are_not_kept(said: str, kept: str) -> None:
    notes = Notebook()
    notes.add(DecisionReply(Answer("red", 0.854), said, "the sofa in picture 2"))
    assert notes.notes() == (f"{kept} Answer so far: red (0.85). Missing: the sofa in a picture.",)


def test_it_is_reminded_of_the_latest_five() -> None:
    notes = Notebook()
    for n in range(12):
        notes.add(DecisionReply(Answer(abstained=True), f"Note {n}."))
    assert notes.notes() == tuple(f"Note {n}." for n in range(7, 12))


def test_a_room_that_it_expected_and_did_not_find_is_noted() -> None:
    for found, remark in (("hallway", " That was the hallway, not the kitchen."), ("kitchen", ""), ("", "")):
        notes = sent(option("doorway", "kitchen"), THERE)
        notes.add(DecisionReply(Answer(abstained=True), "Again.", room=found))
        assert notes.notes()[0].endswith(f"(kitchen by your guess).{remark}")
    missed = sent(option("doorway", "kitchen"), SHORT)
    missed.add(DecisionReply(Answer(abstained=True), "Again.", room="hallway"))
    assert missed.notes()[0].endswith("did not get there."), "it is not there yet"


def test_targets_stay_until_they_are_named_anew() -> None:
    notes, bed, sofa = Notebook(), TargetNote("bed", "blue"), TargetNote("sofa")
    for named, kept in (((), ()), ((bed, sofa),) * 2, ((), (bed, sofa)), ((bed,), (bed,))):
        notes.add(DecisionReply(Answer(abstained=True), targets=named))
        assert notes.targets == kept


def plain(number: int, x: float, yaw_deg: float) -> Keyframe:
    """Return a view whose camera and depth nobody knows."""
    return Keyframe(number, number, Pose2(x, 0.0, math.radians(yaw_deg)).transform(), b"")


ROUND = [plain(i, 0.0, 30.0 * i) for i in range(12)]


def test_of_a_look_round_it_takes_few_views_that_show_all_of_it() -> None:
    chosen = pick(ROUND, 8)
    assert len(chosen) == 4
    yaws = sorted(view.pose.yaw for view in chosen)
    gaps = [b - a for a, b in zip(yaws, [*yaws[1:], yaws[0] + 2 * math.pi], strict=True)]
    assert max(gaps) <= math.radians(120.1)
    assert [view.id for view in chosen] == sorted(view.id for view in chosen)


def test_no_more_than_asked_for_and_never_none() -> None:
    assert len(pick(ROUND, 2)) == 2 and len(pick(ROUND[:1], 5)) == 1 and pick([], 5) == ()


def test_near_duplicates_are_left_out() -> None:
    drive = [plain(i, 0.1 * i, 0.0) for i in range(10)]
    assert len(pick(drive, 5)) == 1 and pick(drive, 5, drive[-1:]) == (drive[-1],)
    assert pick([], 5, [plain(2, 1.0, 0.0), plain(1, 0.9, 0.0)]) == (plain(2, 1.0, 0.0),), "the most important stays"


def test_what_was_named_as_evidence_is_shown_again() -> None:
    proof = plain(100, 5.0, 0.0)
    assert proof in pick(ROUND, 3, [proof])


def test_a_view_of_a_wall_is_worth_less() -> None:
    wall, door = view(1, math.pi / 2), view(2)
    assert pick([wall, door], 1) == (door,)


def test_the_present_view_is_the_newest_of_what_the_robot_sees_from_where_it_stands() -> None:
    views = [plain(1, 0.0, 0.0), plain(2, 0.1, 5.0), plain(3, 0.0, 30.0), plain(4, 0.4, 0.0)]
    assert present_view(views, Pose2(0.0, 0.0, 0.0)) == (views[1],)
    assert present_view(views, Pose2(2.0, 0.0, 0.0)) == ()


class Seeing(Consulted):
    """Consulted, in a world whose views have pictures: view 1 shows the door, the others the room behind the robot."""

    def since(self, keyframe_id: int) -> list[Keyframe]:
        return [view(i, 0.0 if i == 1 else math.pi) for i in range(keyframe_id + 1, self.seen + 1)]

    def last(self) -> tuple[int, Pose2]:
        return self.seen, [START, *(seen.pose for seen in self.since(0))][-1]

    def options(self, question: Question, assessments: object) -> list[Option]:  # type: ignore[override]
        return [briefs.DOOR, briefs.HIDDEN]


def test_each_request_shows_what_the_robot_sees_now_and_an_option_by_the_best_stored_view() -> None:
    world = Seeing({})
    world.ask()
    first, second, *_ = world.briefs
    assert [view.id for view in first.views] == [1] and first.now == (1,) and not first.sheet
    assert second.views[-1].id == 2 and second.now[-1] == 2
    assert [v.id for v in (*second.views[:-1], *second.sheet)] == [1], "it alone shows the door"
    assert world.advice[0][1].option == briefs.HIDDEN, "the policy may still go where no picture shows anything"


def test_an_opening_between_furniture_is_not_called_a_doorway_and_goes_back_as_it_came() -> None:
    door, gap = (Option(x, 2.0, 0.0, "doorway", x - 3.0) for x in (5.06, 4.2))  # the gap is in the middle of the room
    assert as_seen(door, [view(2)]) == door
    assert as_seen(gap, [view(2), view(1, math.pi)]).kind == "frontier"
    assert as_seen(door, []).kind == "frontier", "no view shows walls beside it"
    world = Seeing({})
    world.options = lambda question, assessments: [gap]  # type: ignore[method-assign, assignment, misc]
    world.ask()
    assert world.briefs[1].options[0].kind == "frontier" and world.advice[1][0].option == gap


def test_what_was_done_instead_of_its_first_choice_is_said_in_one_sentence() -> None:
    near = WeighedOption(Option(5.0, 0.0, 0.0, "doorway", 5.0), 0.3, "study")
    far = WeighedOption(Option(25.0, 0.0, 0.0, "doorway", 25.0), 0.45, "kitchen")
    beside = far._replace(option=far.option._replace(distance_m=5.5))
    weighed = AHEAD._replace(candidates=(Candidate(5.0, 0.0, 0.3, "doorway"), Candidate(26.0, 0.0, 0.1, "doorway")))
    for other, decision, why in ((far, weighed, "is 20 m farther"), (far, AHEAD, "cannot be reached or was looked at "
                                 "already"), (beside, weighed, "takes longer to reach, with its turns")):
        notes = Notebook()
        notes.add(DecisionReply(Answer(abstained=True), "A door is open."))
        notes.went(decision, [near, other])
        notes.stands(THERE)
        assert notes.notes() == ("A door is open. The robot was then sent to a doorway (study by your guess). "
                                 f"Your first choice, a doorway (kitchen by your guess), {why}.",)


def test_what_the_model_asks_to_see_enlarged_is_shown_before_the_robot_drives_on() -> None:
    world = Consulted({})
    advise = world.advise

    def once(question: Question, brief: DecisionRequest) -> DecisionReply:
        said = advise(question, brief)
        zoom = WeighedOption(Option(*START, ZOOM, 0.0), 1.0)
        return said._replace(options=(*said.options, zoom)) if len(world.briefs) in (1, 2) else said

    world.advise = once  # type: ignore[method-assign]
    assert world.ask().text == "on the stove"
    assert world.calls == ["look", "keep", "advise", "advise", "drive", "keep", "advise"], "and only once at a time"
    assert [view.id for view in world.briefs[0].views] == [view.id for view in world.briefs[1].views]
    assert world.briefs[1].notes == ("Reasons 1. Missing: the stove.",)
    assert all(one.option.kind != ZOOM for one in world.advice[0])


@pytest.mark.parametrize(("text", "asks"), [
    ("Is the bedroom larger than the kitchen?", True), ("Which room is bigger, the kitchen or the bathroom?", True),
    ("What is the area of the living room?", True), ("Which bedroom is the smallest?", True),
    ("Is the sofa bigger than the table?", False), ("What color is the large sofa in the kitchen?", False),
    ("Where is the kettle?", False), ("", False)])
def test_which_questions_are_about_the_sizes_of_rooms(text: str, asks: bool) -> None:
    assert asks_of_room_sizes(text) == asks


def test_such_a_question_is_asked_with_the_floor_of_each_room() -> None:
    places = (Pose2(1.5, 1.0, 0.0), Pose2(3.5, 1.0, 0.0), Pose2(2.0, 3.0, 0.0))  # all in the room of 5 m x 4 m
    views = [briefs.view_from(12 * n + i + 1, place._replace(yaw=math.radians(30.0 * i)))
             for n, place in enumerate(places) for i in range(12)]
    for question, told in ((Question("Is the bedroom larger than the hallway?", "q"), True), (QUESTION, False)):
        world = Seeing({}, seen=len(views) - 1)
        world.since = lambda keyframe_id, seen=world: views[keyframe_id:seen.seen]  # type: ignore[method-assign, misc]
        Agent(Ports(world, world, world, world, world), AgentConfig(consult=True)).ask(question)
        assert [one.partition(" (")[0] for one in world.briefs[0].visited] == ["where it stands"] * told
        room, _, area = world.briefs[1].visited[0].partition(" (")
        assert room == "hallway" and bool(area) == told
        assert not told or 15.0 <= float(area.split(" ")[0]) <= 21.0
