"""What a model is reminded of: its words, where they sent the robot, and whether it got there."""

from __future__ import annotations

import pytest

from eqa_nodes.core.agent.model_decides import Notebook
from eqa_nodes.core.types.advice import DecisionReply, TargetNote
from eqa_nodes.core.types.floor import LOOK_ROUND, POINTED, Candidate, Decision, Option, WeighedOption
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Answer

START, THERE, SHORT = Pose2(0.0, 0.0, 0.0), Pose2(4.5, 0.5, 1.0), Pose2(2.0, 0.0, 0.0)
GOAL = Decision(Pose2(5.0, 0.0, 0.0), "")


def option(kind: str, room: str = "", guess: str = "") -> WeighedOption:
    return WeighedOption(Option(5.0, 0.0, 0.0, kind, 5.0, guess), 0.5, room)


def sent(weighed: WeighedOption, ended: Pose2, decision: Decision = GOAL) -> Notebook:
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


def test_a_look_round_goes_nowhere() -> None:
    here = WeighedOption(Option(*START, LOOK_ROUND, 0.0), 0.5, "study")
    notes = sent(here, START, Decision(START, "", look_around=True))
    assert notes.notes() == ("A door is open. The robot then looked round.",)


def test_a_drive_that_ends_before_its_place_is_noted_too() -> None:
    aimed_at, runner_up = Candidate(5.0, 0.0, 0.2, "frontier"), Candidate(1.0, 0.0, 0.1, "floor")
    on_the_way = Decision(Pose2(1.0, 0.0, 0.0), "", (aimed_at, runner_up))
    assert sent(option("doorway", "kitchen"), Pose2(1.0, 0.0, 0.0), on_the_way).notes() == (
        "A door is open. The robot was then sent to a doorway (kitchen by your guess).",)


def test_where_it_went_is_noted_once_and_only_of_what_the_model_weighed() -> None:
    notes = sent(option("doorway"), THERE)
    notes.stands(SHORT)
    assert notes.notes() == ("A door is open. The robot was then sent to a doorway.",)
    for decision in (Decision(None, "nothing is left"), Decision(Pose2(9.0, 9.0, 0.0), "the policy's own")):
        assert sent(option("doorway", "kitchen"), Pose2(9.0, 9.0, 0.0), decision).notes() == ("A door is open.",)
    empty = Notebook()
    empty.went(GOAL, [option("doorway", "kitchen")])
    empty.stands(THERE)
    assert empty.notes() == () and empty.visited == []


@pytest.mark.parametrize(("said", "kept"), [
    ("Picture 3 shows a sofa.", "a picture shows a sofa."), ("In pictures 1, 2 and 4 is one.", "In a picture is one."),
    ("Images #2-3 are dark.", "a picture are dark."), ("The 2 pictures show 3 mugs.", "The 2 pictures show 3 mugs.")])
def test_numbers_of_pictures_are_not_kept(said: str, kept: str) -> None:
    notes = Notebook()
    notes.add(DecisionReply(Answer("red", 0.854), said, "the sofa in picture 2"))
    assert notes.notes() == (f"{kept} Answer so far: red (0.85). Missing: the sofa in a picture.",)


def test_it_is_reminded_of_the_latest_eight() -> None:
    notes = Notebook()
    for n in range(12):
        notes.add(DecisionReply(Answer(abstained=True), f"Note {n}."))
    assert notes.notes() == tuple(f"Note {n}." for n in range(4, 12))


def test_targets_stay_until_they_are_named_anew() -> None:
    notes, bed, sofa = Notebook(), TargetNote("bed", "blue"), TargetNote("sofa")
    for named, kept in (((), ()), ((bed, sofa),) * 2, ((), (bed, sofa)), ((bed,), (bed,))):
        notes.add(DecisionReply(Answer(abstained=True), targets=named))
        assert notes.targets == kept
