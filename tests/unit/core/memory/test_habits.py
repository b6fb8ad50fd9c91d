"""Questions over weeks: what is usual, how often, since when, what is missing, and what is likely next."""

from __future__ import annotations

from datetime import datetime

import pytest

from eqa_nodes.core.memory import MemoryStore
from eqa_nodes.core.memory.digest import events
from eqa_nodes.core.memory.habit_questions import habit_question
from eqa_nodes.core.memory.recollect import about_past, recollect
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.views import Label
from tests.fixtures.frames import LABELS, frame

SECOND = 10**9
KITCHEN, STUDY = Pose2(0.0, 0.0, 0.0), Pose2(20.0, 0.0, 0.0)
BOX = {1: (20, 16, 32, 30)}


def stamp(day: int, hour: int) -> int:
    """Return a stamp in November 2026, local time; the 2nd is a Monday."""
    return round(datetime(2026, 11, day, hour).timestamp()) * SECOND


def kettle(room: str, state: str) -> dict[int, Label]:
    attributes = {"colour": "red", "state": state, "support": "counter" if room == "kitchen" else "desk",
                  "relation": "on"}
    return {**LABELS, 1: LABELS[1]._replace(room=room, attributes=attributes)}


def look(store: MemoryStore, day: int, hour: int, state: str, room: str = "kitchen", visits: str = "both") -> None:
    """Let a patrol see the kettle in a room, and the other room without it unless it visits "one" room only."""
    store.reset(f"{day} {hour}", keep=True, map_name="home")
    places = [(KITCHEN, "kitchen"), (STUDY, "study")] if visits == "both" else [
        (KITCHEN, "kitchen") if room == "kitchen" else (STUDY, "study")]
    for second, (pose, name) in enumerate(places):
        boxes = BOX if name == room and state else {}
        store.take(frame(stamp(day, hour) + second * SECOND, pose, boxes, 2.0 if boxes else 4.0), kettle(room, state))


def answer(store: MemoryStore, question: str, day: int = 9, hour: int = 20) -> str:
    said = recollect(store, question, stamp(day, hour))
    assert said is not None and about_past(question), question
    return said.text


@pytest.fixture
def week(store: MemoryStore) -> MemoryStore:
    """Seven days: in the kitchen in the mornings, on but for Thursday; in the evenings in the study, off."""
    for day in range(2, 9):
        look(store, day, 9, "off" if day == 5 else "on")
        look(store, day, 18, "off", "study")
    return store


@pytest.mark.parametrize(("question", "text"), [
    ("Where is the kettle in the mornings?", "on the counter in the kitchen, 7 of 7 mornings"),
    ("Where is the kettle usually in the evening?", "on the desk in the study, 7 of 7 evenings"),
    ("Where is the kettle on weekday mornings?", "on the counter in the kitchen, 5 of 5 mornings"),
    ("Is the kettle usually on in the mornings?", "yes, on 6 of 7 mornings; not on Thu 5 November"),
    ("Is the kettle on every evening?", "no: on none of 7 evenings"),
    ("Is the kettle on every morning?", "no, but on 6 of 7 mornings; not on Thu 5 November"),
    ("Is the kettle always on in the mornings?", "no, but on 6 of 7 mornings; not on Thu 5 November"),
    ("How often was the kettle on?", "on 6 of 14 patrols: Mon 2 November, Tue 3 November, Wed 4 November, "
                                     "Fri 6 November, Sat 7 November and Sun 8 November"),
    ("How often was the kettle on since Friday?",
     "on 3 of 6 patrols: Fri 6 November, Sat 7 November and Sun 8 November"),
    ("On which days was the kettle in the study in the mornings?", "on none of the 7 mornings that looked"),
    ("Was the kettle on on Thursday morning?", "no, Thu 5 November at 09:00"),
    ("Since when is the kettle in the study?",
     "since between yesterday at 09:00 and yesterday at 18:00"),
    ("How long has the kettle been off?", "for 26 hours to 35 hours: since between yesterday at 09:00 and yesterday "
                                          "at 18:00"),
    ("Is the kettle still in the kitchen?", "no: it was not so when I looked last, yesterday at 18:00; it was so last "
                                            "yesterday at 09:00"),
    ("When did you first see the kettle?", "Mon 2 November at 09:00, on the counter in the kitchen"),
    ("Where will the kettle be tomorrow morning?", "probably on the counter in the kitchen: so on 7 of 7 mornings (a "
                                                   "guess from what I saw)"),
    ("Has the kettle moved since Sunday morning?",
     "yes: on the desk in the study until Sat 7 November at 18:00, on the counter in the kitchen from yesterday "
     "at 09:00 on; on the counter in the kitchen until yesterday at 09:00, on the desk in the study from yesterday at "
     "18:00 on"),
    ("What is missing?", "nothing that I have seen")])
def test_a_week(week: MemoryStore, question: str, text: str) -> None:
    assert answer(week, question) == text


@pytest.mark.parametrize(("one", "other"), [
    ("On how many mornings was the kettle on?", "How often was the kettle on in the mornings?"),
    ("How often was the kettle on in the morning?", "How often was the kettle on in the mornings?"),
    ("Is the kettle always on in the morning?", "Is the kettle always on in the mornings?"),
    ("Where do we usually leave the kettle in the evening?", "Where is the kettle usually in the evenings?"),
    ("Where is the kettle likely to be tomorrow morning?", "Where will the kettle be tomorrow morning?"),
    ("Where will the kettle probably be tomorrow morning?", "Where will the kettle be tomorrow morning?"),
    ("Is the kettle likely to be on tomorrow morning?", "Will the kettle be on tomorrow morning?"),
    ("How often did you see the kettle in the study?", "How often was the kettle in the study?"),
    ("Has anybody moved the kettle since Sunday morning?", "Has the kettle moved since Sunday morning?"),
    ("Where is the kettle most of the time?", "Where is the kettle usually?"),
    ("Is the kettle on most of the time?", "Is the kettle usually on?"),
    ("What is the usual place of the kettle?", "Where is the kettle usually?"),
    ("Is anything missing?", "What is missing?"), ("Which things are gone?", "What is missing?"),
    ("When was the kettle put on the desk?", "Since when is the kettle on the desk?"),
    ("How many people were in the kitchen on Sunday?", "Was anyone in the kitchen on Sunday?"),
    ("Did you see anybody in the kitchen on Sunday?", "Was anyone in the kitchen on Sunday?")])
def test_people_ask_the_same_in_other_words(week: MemoryStore, one: str, other: str) -> None:
    assert answer(week, one) == answer(week, other)


def test_a_day_in_a_question_about_what_is_usual_stays_a_day(week: MemoryStore) -> None:
    assert answer(week, "How often was the kettle on on Thursday in the morning?").startswith("on 0 of 1 ")


def test_another_place_that_is_empty_does_not_say_that_a_thing_was_not_here(store: MemoryStore) -> None:
    look(store, 2, 9, "on")
    look(store, 3, 18, "off", "study")
    look(store, 4, 9, "", "kitchen", "one")
    look(store, 4, 18, "off", "study")
    assert answer(store, "Since when is the kettle in the study?").startswith(
        "since between Mon 2 November at 09:00 and Tue 3 November at 18:00")
    assert "; I did not look on one patrol" in answer(store, "How often was the kettle in the study?")


@pytest.mark.parametrize(("question", "text"), [
    ("Who moved the kettle?", "I see what has changed, and not who changed it; it was on the "),
    ("Who has taken the unicorn?", "I see what has changed, and not who changed it"),
    ("How often was Anna in the kitchen?", "I do not know people by their names"),
    ("Did my wife move the kettle?", "I do not know people by their names"),
    ("Has she been in the kitchen?", "I do not know people by their names"),
    ("Was the kettle on on Sunday the 1st?", "I did not look then"),
    ("Was anyone in the hallway on Sunday?", "I did not look into the hallway then"),
    ("Was anyone in the garage on Sunday morning?", "I did not look into the garage then")])
def test_what_memory_cannot_know_is_said_without_confidence(week: MemoryStore, question: str, text: str) -> None:
    said = recollect(week, question, stamp(9, 20))
    assert said is not None and not said.known and said.text.startswith(text), said


@pytest.mark.parametrize("question", ["Was the Kettle on on Sunday morning?", "Was Somebody in the kitchen on Sunday?",
                                      "Was The Kettle On On Sunday Morning?",
                                      "Has the Kettle been moved since Sunday morning?"])
def test_a_capital_letter_alone_is_no_name_of_a_person(week: MemoryStore, question: str) -> None:
    said = recollect(week, question, stamp(9, 20))
    assert said is not None and said.known


def test_people_are_counted_for_each_room_and_patrol(store: MemoryStore) -> None:
    person = {7: Label(7, "person", "kitchen", {})}
    for day in range(2, 7):
        store.reset(str(day), keep=True, map_name="home")
        someone = day in (3, 5)
        store.take(frame(stamp(day, 9), KITCHEN, {7: (2, 10, 14, 30), **BOX} if someone else BOX, 2.0),
                   {**kettle("kitchen", "on"), **person})
    assert answer(store, "How often was anyone in the kitchen?") == (
        "on 2 of 5 patrols: Tue 3 November and Thu 5 November")
    assert answer(store, "On which days was somebody in the house?") == "Tue 3 November and Thu 5 November"
    assert answer(store, "Who was in the kitchen on Tuesday the 3rd?") == (
        "one person Tue 3 November at 09:00 in the kitchen; I do not know who")
    assert answer(store, "Has anyone been in the kitchen since Friday?") == (
        "nobody was in view on 1 patrol; the last was Fri 6 November at 09:00")
    store.set_now(stamp(9, 20))
    now = store.ask("Is anyone in the kitchen?")
    assert now is not None and not now.known and now.text.startswith("I do not know who is there now: nobody was in")


def test_a_change_within_a_time_is_found_though_a_later_one_covers_it(week: MemoryStore) -> None:
    text = answer(week, "What changed on Wednesday the 4th?")
    assert "the red kettle: on the counter in the kitchen, now on the desk in the study (between Wed 4 November at " \
           "09:00 and Wed 4 November at 18:00)" in text
    said = recollect(week, "What changed on 1 November?", stamp(9, 20))
    assert said is not None and said.text == "I did not look then" and not said.known


@pytest.mark.parametrize(("question", "text"), [
    ("Where is the kettle?", "on the desk in the study, when I looked last, yesterday at 18:00"),
    ("Is the kettle on?", "no, when I looked last, yesterday at 18:00"),
    ("Is there a kettle in the kitchen?", "no, when I looked last, yesterday at 18:00")])
def test_a_question_about_now_is_answered_from_the_newest_look(week: MemoryStore, question: str, text: str) -> None:
    week.set_now(stamp(9, 20))
    said = week.ask(question)
    assert said is not None and said.text == text and recollect(week, question, stamp(9, 20)) is None


def test_a_name_that_no_patrol_has_seen_twice_is_a_misnaming(store: MemoryStore) -> None:
    for day in range(2, 7):
        store.reset(str(day), keep=True, map_name="home")
        for second in range(2):
            store.take(frame(stamp(day, 9) + second * SECOND, KITCHEN, BOX, 2.0), kettle("kitchen", "on"))
        misnamed = BOX if day == 4 else {}
        store.take(frame(stamp(day, 9) + 5 * SECOND, STUDY, misnamed, 2.0 if misnamed else 4.0), kettle("study", "on"))
    assert answer(store, "Where is the kettle usually?") == "on the counter in the kitchen, 5 of 5 patrols"
    assert answer(store, "What is missing?") == "nothing that I have seen"


def test_a_thing_that_was_seen_once_and_then_moved_is_no_misnaming(store: MemoryStore) -> None:
    look(store, 2, 9, "on")
    for day in (3, 4):
        look(store, day, 9, "on", "study")
    assert answer(store, "Has the kettle moved since Monday morning?").startswith("yes: on the counter in the kitchen")
    assert "moved" in answer(store, "What has changed since Monday morning?")


def test_fewer_than_three_looks_are_no_habit(store: MemoryStore) -> None:
    for day in (2, 3):
        look(store, day, 9, "on")
    assert answer(store, "Where is the kettle usually?") == "that is no habit yet: I looked on only two of 2 patrols"
    said = recollect(store, "Will the kettle be on tomorrow?", stamp(4, 9))
    assert said is not None and said.text.startswith("that is no habit yet")


def test_a_patrol_that_did_not_look_is_named_and_counts_for_nothing(store: MemoryStore) -> None:
    for day in (2, 3, 4):
        look(store, day, 9, "on")
    look(store, 5, 9, "", "study", visits="one")
    assert answer(store, "How often was the kettle on?") == (
        "on 3 of 3 patrols: Mon 2 November, Tue 3 November and Wed 4 November; I did not look on one patrol")
    assert answer(store, "Was the kettle on on Thursday?") == "I did not look then"


def test_what_is_missing_was_seen_and_is_gone(store: MemoryStore) -> None:
    look(store, 2, 9, "on")
    look(store, 3, 9, "")
    look(store, 4, 9, "")
    assert answer(store, "What is missing?", 4) == (
        "the red kettle: in the kitchen, on the counter until Mon 2 November at 09:00, gone yesterday at 09:00")
    assert answer(store, "Since when is the kettle gone?", 4) == (
        "since between Mon 2 November at 09:00 and yesterday at 09:00; seen so today at 09:00 the last time")


def test_a_digest_tells_each_change_with_its_two_looks_and_their_views(week: MemoryStore) -> None:
    said = [(event.text, event.before_ns, event.at_ns) for event in events(week, stamp(4, 0), stamp(4, 23))]
    there, back = stamp(3, 18) + SECOND, stamp(4, 18) + SECOND
    assert said == [
        ("the red kettle: on the desk in the study, now on the counter in the kitchen", there, stamp(4, 9)),
        ("the red kettle: on the counter in the kitchen, now on the desk in the study", stamp(4, 9), back)]
    assert all(event.views for event in events(week, 0, stamp(9, 0)))


def test_a_digest_tells_what_went_and_came_back(store: MemoryStore) -> None:
    for day, state in ((2, "on"), (3, ""), (4, "off")):
        look(store, day, 9, state, visits="one")
    assert [event.text for event in events(store, 0, stamp(5, 0))] == [
        "the red kettle: on the counter in the kitchen, now gone",
        "the red kettle is back: on the counter in the kitchen"]


@pytest.mark.parametrize("question", [
    "Where is the kettle?", "How many chairs are there?", "Is the lamp on?", "How long is the table?",
    "How long is the table in the study?", "I am always afraid. Is the lamp on?",
    "What colour was the lamp?", "How often does it rain?", "Usually I drink tea.",
    "Will food in the fridge stay cold?",
    "When did you last see the kettle?", "What changed since Monday?", "Is the 31 February usual?"])
def test_other_questions_are_none_over_weeks(question: str) -> None:
    assert habit_question(question, stamp(9, 20)) is None


def test_things_in_a_map_that_is_not_known_here_are_left_out(week: MemoryStore) -> None:
    week.reset("elsewhere", keep=True, map_name="cellar")
    week.take(frame(stamp(9, 9), KITCHEN, BOX), kettle("kitchen", "on"))
    assert answer(week, "Where is the kettle usually?").startswith("that is no habit yet: I looked on only one of 1")
    week.reset("home again", keep=True, map_name="home")
    assert answer(week, "Where is the kettle in the mornings?") == "on the counter in the kitchen, 7 of 7 mornings"


def test_an_unknown_thing_is_not_answered(week: MemoryStore) -> None:
    assert recollect(week, "Where is the unicorn usually?", stamp(9, 20)) is None
