"""A question about the present is answered by the newest look at an object or its place, not by a better old one."""

from __future__ import annotations

import pytest

from eqa_nodes.core.answerers.label.answerer import LabelAnswerer
from eqa_nodes.core.memory import MemoryStore
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Answer, Question, RecallQuery
from eqa_nodes.core.types.views import Keyframe, Label
from tests.fixtures.frames import LABELS, frame

SECOND = 10**9
NOON = 1_794_830_400 * SECOND  # a stamp of 2026
DAY = 86_400 * SECOND
HERE, THERE = Pose2(0.0, 0.0, 0.0), Pose2(20.0, 0.0, 0.0)
LARGE, SMALL = (10, 6, 44, 40), (20, 16, 32, 30)


def kettle(state: str = "on", colour: str = "red", room: str = "kitchen", support: str = "counter") -> dict[int, Label]:
    attributes = {"colour": colour, "state": state, "support": support, "relation": "on"}
    return {**LABELS, **{i: Label(i, "kettle", room, attributes) for i in (1, 9)}}


def look(store: MemoryStore, day: int, labels: dict[int, Label], box: tuple[int, int, int, int] | None = LARGE,
         pose: Pose2 = HERE, second: int = 0, instance: int = 1) -> None:
    """See an object, or an empty place (None), on a day."""
    if not second:
        store.reset(f"day {day}", keep=True, map_name="home")
    boxes = {} if box is None else {instance: box}
    store.take(frame(NOON + day * DAY + second * SECOND, pose, boxes, 4.0 if box is None else 2.0), labels)


def recalled(store: MemoryStore, text: str) -> list[Keyframe]:
    return [item.keyframe for item in store.recall(RecallQuery(text, 6))]


def answered(store: MemoryStore, text: str) -> Answer:
    return LabelAnswerer().answer(Question(text, may_explore=False), store.recall(RecallQuery(text, 6)))


def test_the_newest_look_at_a_state_counts(store: MemoryStore) -> None:
    look(store, 0, kettle("on"))
    look(store, 3, kettle("off"), SMALL)  # a poorer view
    newest, old = recalled(store, "Is the kettle on?")
    assert newest.stamp_ns == NOON + 3 * DAY and newest.sightings[0].label.attributes["state"] == "off"
    assert old.sightings[0].label.attributes == {"colour": "red", "support": "counter", "relation": "on"}
    assert answered(store, "Is the kettle on?").text == "no"


def test_a_state_that_came_back_is_proved_by_old_views_too(store: MemoryStore) -> None:
    for day, state in enumerate(("on", "off", "on")):
        look(store, day, kettle(state))
    assert [view.sightings[0].label.attributes.get("state") for view in recalled(store, "kettle")] == ["on", "on", None]
    answer = answered(store, "Is the kettle on?")
    assert (answer.text, [e.stamp_ns for e in answer.evidence]) == ("yes", [NOON + 2 * DAY])


def test_the_newest_good_view_proves_what_has_not_changed(store: MemoryStore) -> None:
    look(store, 0, kettle("on"))
    look(store, 3, kettle("on"), (12, 8, 40, 36))
    assert [e.stamp_ns for e in answered(store, "Is the kettle on?").evidence] == [NOON + 3 * DAY]


def test_what_is_gone_is_not_shown_where_it_was(store: MemoryStore) -> None:
    look(store, 0, kettle())
    look(store, 0, LABELS, (0, 0, 60, 40), THERE, second=1, instance=2)  # a counter
    look(store, 2, kettle(), None)
    empty, *others = recalled(store, "Is there a kettle in the kitchen?")
    assert empty.stamp_ns == NOON + 2 * DAY and not empty.sightings
    assert others[-1].stamp_ns == NOON and not others[-1].sightings
    assert answered(store, "Is there a kettle in the kitchen?").text != "yes"


def test_what_was_moved_is_where_it_was_seen_last(store: MemoryStore) -> None:
    look(store, 0, kettle())
    look(store, 0, kettle(), None, THERE, second=1)
    look(store, 2, kettle(), None)
    look(store, 2, kettle(room="study", support="desk"), SMALL, THERE, second=1)
    assert "desk" in answered(store, "Where is the kettle?").text


def test_another_colour_is_not_what_is_asked_about(store: MemoryStore) -> None:
    look(store, 0, kettle(colour="green"), SMALL)
    look(store, 0, kettle(colour="pink", room="study", support="desk"), LARGE, THERE, second=1, instance=9)
    look(store, 1, kettle(colour="pink"), SMALL, instance=9)
    look(store, 1, kettle(colour="pink"), SMALL, second=2, instance=9)
    look(store, 1, kettle(colour="green", room="study", support="desk"), SMALL, THERE, second=3)
    assert "desk" in answered(store, "Where is the green kettle?").text
    assert "counter" in answered(store, "Where is the pink kettle?").text


@pytest.mark.parametrize("query", [RecallQuery("kettle three days ago"), RecallQuery("kettle", before_ns=NOON + DAY)])
def test_a_question_about_a_time_gets_views_as_they_were(store: MemoryStore, query: RecallQuery) -> None:
    look(store, 0, kettle("on"))
    look(store, 3, kettle("off"))
    found, = store.recall(query)
    assert found.keyframe.sightings[0].label.attributes["state"] == "on"


def test_views_of_one_patrol_are_not_corrected_by_each_other(store: MemoryStore) -> None:
    look(store, 0, kettle("on"))
    look(store, 0, kettle("off"), second=2)
    assert sorted(view.sightings[0].label.attributes["state"] for view in recalled(store, "kettle")) == ["off", "on"]


def test_looks_from_the_future_correct_nothing(store: MemoryStore) -> None:
    look(store, 0, kettle("on"))
    look(store, 3, kettle("off"))
    store.set_now(NOON + DAY)
    view, = recalled(store, "Is the kettle on?")
    assert view.sightings[0].label.attributes["state"] == "on"


PERSON = {**LABELS, 8: Label(8, "person", "kitchen", {"state": "walking"})}
ANYBODY = "Is there a person in the kitchen?"


def kinds(view: Keyframe) -> list[str]:
    return [s.label.kind for s in view.sightings]


def people_of_two_days(store: MemoryStore) -> None:
    """A person fills a view of the first day; there is a smaller one on the third, and a kettle on both."""
    for day, box in ((0, (10, 6, 44, 40)), (3, (2, 6, 12, 16))):
        store.reset(f"day {day}", keep=True, map_name="home")
        store.take(frame(NOON + day * DAY, HERE, {8: box, 1: (50, 30, 62, 46)}, shade=100 + day), PERSON)


def test_people_of_an_earlier_patrol_prove_nothing_about_the_present(store: MemoryStore) -> None:
    people_of_two_days(store)
    newest, old = recalled(store, ANYBODY)
    assert (newest.stamp_ns, sorted(kinds(newest))) == (NOON + 3 * DAY, ["kettle", "person"])
    assert (old.stamp_ns, kinds(old)) == (NOON, ["kettle"])
    assert [e.stamp_ns for e in answered(store, ANYBODY).evidence] == [NOON + 3 * DAY]


def test_days_after_the_last_patrol_nobody_is_known_to_be_anywhere(store: MemoryStore) -> None:
    people_of_two_days(store)
    store.set_now(NOON + 5 * DAY)
    assert [kinds(view) for view in recalled(store, ANYBODY)] == [["kettle"], ["kettle"]]
    assert answered(store, ANYBODY).text != "yes"
    store.set_now(NOON + 3 * DAY + 60 * SECOND)
    assert answered(store, ANYBODY).text == "yes"


@pytest.mark.parametrize("query", [
    RecallQuery("person three days ago"), RecallQuery("person", before_ns=NOON + DAY),
    RecallQuery("Where did you last see a person?"), RecallQuery("Was a person in the kitchen?")])
def test_a_question_about_the_past_gets_the_people_of_then(store: MemoryStore, query: RecallQuery) -> None:
    people_of_two_days(store)
    store.set_now(NOON + 3 * DAY + 60 * SECOND)
    assert all("person" in kinds(item.keyframe) for item in store.recall(query))
    assert store.recall(query)


def test_a_view_of_something_else_stays_in_its_place_without_its_people(store: MemoryStore) -> None:
    people_of_two_days(store)
    old = recalled(store, "kettle")
    assert sorted(len(kinds(view)) for view in old) == [1, 2] and all("kettle" in kinds(view) for view in old)
