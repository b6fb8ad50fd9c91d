"""The simulated model's decisions: evidence, numbers, notes, through the real brief and its reader."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from eqa_nodes.core.answerers.label.scene import LabelScene
from eqa_nodes.core.answerers.vlm import VlmAnswerer
from eqa_nodes.core.types.calls import DecisionReply, DecisionRequest
from eqa_nodes.core.types.floor import LOOK_ROUND, POINTED, Option, WeighedOption
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Question
from eqa_nodes.models.simulated.backend import SimulatedModel
from eqa_nodes.models.simulated.reading import noted, remembered_view, told
from eqa_nodes.models.simulated.sight import SightLimits
from tests.fixtures.rooms import KITCHEN, LIVING_ROOM
from tests.fixtures.simulated_model import BACK, BEYOND, CLEAR, DOOR, SOFA, advised, at, view


def weights(said: DecisionReply) -> tuple[float, ...]:
    """Return the weights of the options that it was shown."""
    return tuple(each.weight for each in said.options if each.option.kind != POINTED)


def rooms(said: DecisionReply) -> tuple[str, ...]:
    return tuple(each.room for each in said.options if each.option.kind != POINTED)


def test_a_doorway_to_the_right_room_beats_the_room_that_was_seen() -> None:
    said = advised("Is the kettle on?", view(1, *SOFA, yaw=math.pi), view(2, *BEYOND))
    assert said.answer.abstained and said.missing == "the kettle in the kitchen"
    assert weights(said)[0] > 0.5 > 0.1 >= weights(said)[1] and rooms(said) == ("kitchen", "living room")


def test_a_doorway_without_a_view_beyond_is_worth_a_little() -> None:
    said = advised("Is the kettle on?", view(1, *SOFA, yaw=math.pi), view(2))
    assert weights(said)[0] == CLEAR.doorway and said.options[0].room == ""


def test_an_option_at_the_thing_itself_is_best_where_the_answer_is_not_settled() -> None:
    unclear = tuple(s._replace(pixels=260, bbox=(300, 200, 330, 230)) for s in SOFA)
    said = advised("What color is the sofa?", view(2), view(1, *unclear, yaw=math.pi),
                   limits=replace(CLEAR, least_px=100, sure_px=250))
    assert said.answer.text == "red" and said.answer.confidence < 0.7
    assert weights(said)[1] > weights(said)[0] and said.missing == "a closer look at the sofa"


def test_a_room_that_was_visited_is_worth_less() -> None:
    views = view(1, *SOFA, yaw=math.pi), view(2, *BEYOND)
    new, known = (advised("Is the kettle on?", *views, visited=seen) for seen in ((), ("kitchen",)))
    assert weights(known)[0] < weights(new)[0]


def test_what_the_map_says_counts_where_nothing_is_seen() -> None:
    said = advised("Is the kettle on?", view(2), options=(DOOR._replace(room="kitchen"), BACK))
    assert weights(said)[0] > CLEAR.doorway and said.options[0].room == "kitchen"


def test_a_thumbnail_shows_what_is_in_it() -> None:
    behind = view(1, *(s._replace(bbox=(250, 300, 390, 380), pixels=9000) for s in SOFA), yaw=math.pi)
    asked = DecisionRequest((view(2),), (DOOR, BACK), (2,), sheet=(behind,))
    said = VlmAnswerer(SimulatedModel(CLEAR)).advise(Question("Is the kettle on?", seed=1), asked)
    assert rooms(said)[1] == "living room" and not said.answer.evidence


def test_evidence_points_at_the_thing() -> None:
    sofa = SOFA[0]._replace(bbox=(160, 240, 320, 360))
    said = advised("What color is the sofa?", view(2), view(1, sofa, *SOFA[1:], yaw=math.pi))
    assert (said.answer.text, said.missing, weights(said)) == ("red", "", (0.0, 0.0))
    assert [one.keyframe_id for one in said.answer.evidence] == [1] and said.assessments[0].target is not None
    assert "Seen: red sofa in the living room." in said.reasons


def test_without_options_it_answers_as_well_as_it_can() -> None:
    small = SOFA[0]._replace(pixels=260, bbox=(300, 200, 330, 230))
    cautious = replace(CLEAR, least_px=100, sure_px=250, least_said=0.9)
    views = view(1, small, *SOFA[1:], yaw=math.pi),
    assert advised("What color is the sofa?", *views, limits=cautious).answer.abstained
    assert advised("What color is the sofa?", *views, options=(), limits=cautious).answer.text == "red"


@pytest.mark.parametrize("text", [
    "How many chairs are there?", "Is there a piano?", "Where is the kettle?", "Which is closer to the sofa, the "
    "television or the coffee table?", "What is on the coffee table?", "Is the lamp in bedroom 2 on?", "Blah?"])
def test_every_kind_of_question_passes_the_reader_without_numbers_of_rooms(text: str) -> None:
    said = advised(text, view(1, *SOFA, *LIVING_ROOM, yaw=math.pi), view(2, *BEYOND, *KITCHEN), limits=SightLimits())
    assert said.reasons.count(".") == 2 and "room 2" not in str(said) and said.answer.confidence < 1.0


def test_notes_come_back_as_they_were_told() -> None:
    things = LabelScene([view(1, *SOFA[:1], *LIVING_ROOM, *KITCHEN)]).objects
    by_kind = {(one.kind, one.attributes.get("support")): one for one in noted(f"Hm. Seen: {told(things[5:13])}. So.")}
    assert by_kind["vase", "coffee table"].attributes == {
        "relation": "on", "support": "coffee table", "colour": "blue", "material": "ceramic"}
    assert told(LabelScene([remembered_view(list(by_kind.values()), Pose2(0, 0, 0))]).objects)
    four = noted("Seen: 4 x red wood chair in the kitchen; television (on).")
    assert [(one.kind, one.room, one.times) for one in four] == [("chair", "kitchen", 4), ("television", "", 1)]
    assert four[1].attributes["state"] == "on"


def test_what_was_noted_answers_later() -> None:
    note = "Seen: red fabric sofa in the living room. That gives the answer. Missing: nothing."
    said = advised("What color is the sofa?", view(2, *BEYOND), notes=(note,))
    assert said.answer.text == "red" and said.answer.confidence < CLEAR.surest
    assert advised("What color is the sofa?", view(2, *BEYOND)).answer.abstained


def test_two_looks_answer_a_comparison() -> None:
    note = "Seen: television (off) in the kitchen. It is most likely in the kitchen."
    lamp = at(1.2, 2.2, 9, "oven", "kitchen 4", state="on")
    question = "Which is on in the kitchen, the television, the oven, both or neither?"
    beside = at(1.0, 2.4, 10, "dishwasher", "kitchen 4")
    assert advised(question, view(1, lamp, beside, yaw=math.pi)).answer.abstained
    assert advised(question, view(1, lamp, beside, yaw=math.pi), notes=(note,)).answer.text == "the oven"


def test_counts_are_summed_over_rooms_and_not_over_looks() -> None:
    note = "Seen: 3 x red wood chair in the kitchen. It is most likely in the kitchen."
    kitchen = [at(1.0, 1.5 + 0.3 * i, 20 + i, "chair", "kitchen 1") for i in range(2)]
    ovens = at(1.0, 2.5, 30, "oven", "kitchen 1"), at(1.0, 2.8, 31, "dishwasher", "kitchen 1")
    study = at(1.0, 1.5, 40, "chair", "study 1"), at(1.0, 2.5, 41, "printer", "study 1"), at(
        1.2, 2.5, 42, "filing cabinet", "study 1")
    question = "How many chairs are there?"
    assert advised(question, view(1, *kitchen, *ovens, yaw=math.pi), notes=(note,)).answer.text == "3"
    assert advised(question, view(1, *study, yaw=math.pi), notes=(note,)).answer.text == "4"


def test_the_same_brief_gets_the_same_advice() -> None:
    views = view(1, *SOFA, yaw=math.pi), view(2, *BEYOND)
    first, second = (advised("Is the kettle on?", *views, limits=SightLimits()) for _ in range(2))
    assert first == second


HERE = Option(3.0, 2.0, 0.0, LOOK_ROUND, 0.0)
STOVE = (at(3.9, 2.1, 1, "oven", "kitchen 1"), at(4.0, 1.9, 2, "dishwasher", "kitchen 1"))
KETTLE = at(4.1, 2.0, 3, "kettle", "kitchen 1")


def look_round(said: DecisionReply) -> float:
    return next(each.weight for each in said.options if each.option.kind == LOOK_ROUND)


def test_it_asks_for_a_look_round_in_a_likely_room_as_long_as_the_thing_is_not_seen() -> None:
    options = DOOR, HERE
    assert 0.0 < look_round(advised("Is the kettle on?", view(2, *STOVE), options=options)) < 0.6
    for seen in ((KETTLE, *STOVE), SOFA, BEYOND, ()):  # there it is; another room; too far away; nothing
        assert look_round(advised("Is the kettle on?", view(2, *seen), options=options)) == 0.0
    assert all(each.option.kind != LOOK_ROUND for each in advised("Is the kettle on?", view(2, *STOVE)).options)


def pointed(said: DecisionReply) -> list[WeighedOption]:
    return [each for each in said.options if each.option.kind == POINTED]


def test_it_points_at_a_likely_room_that_no_number_leads_into() -> None:
    said = advised("Is the kettle on?", view(2, *BEYOND), options=(BACK,))
    [place] = pointed(said)
    assert place.room == "kitchen" and place.weight > max(0.0, *weights(said))
    assert place.option.x > 3.0 and abs(place.option.heading) < 1.0
    for options in ((DOOR, BACK), ()):  # the door leads there; it cannot go anywhere
        assert not pointed(advised("Is the kettle on?", view(2, *BEYOND), options=options))
    assert not pointed(advised("Is the kettle on?", view(2, *STOVE), options=(BACK,))), "it stands there"
    assert not pointed(advised("Is the kettle on?", view(2, at(6.0, 2.1, 1, "bed", "bedroom 1")), options=(BACK,)))


def test_it_points_at_what_the_thing_may_lie_on() -> None:
    table = at(6.0, 2.1, 8, "dining table", "dining room 1")
    question = "What color is the bowl on the dining table?"
    [place] = pointed(advised(question, view(2, table), options=(BACK,)))
    assert place.weight == pytest.approx(0.6)
    assert not pointed(advised(question, view(2, table), options=(DOOR,))), "a number is there"


def test_a_question_about_several_things_has_targets() -> None:
    question = "Which is on in the kitchen, the television, the oven, both or neither?"
    oven = at(1.2, 2.2, 9, "oven", "kitchen 4", state="on")
    beside = at(1.0, 2.4, 10, "dishwasher", "kitchen 4")
    first = advised(question, view(1, oven, beside, yaw=math.pi))
    assert first.answer.abstained
    assert [(each.what, bool(each.known)) for each in first.targets] == [
        ("television in the kitchen", False), ("oven in the kitchen", True)]
    asked = DecisionRequest((view(2),), (DOOR,), (2,), targets=first.targets)
    later = VlmAnswerer(SimulatedModel(CLEAR)).advise(Question(question, seed=1), asked)
    assert later.targets == first.targets, "what was known stays known"
    assert not advised("What color is the sofa?", view(1, *SOFA, yaw=math.pi)).targets


def test_with_an_answer_no_target_is_unknown() -> None:
    said = advised("Which is closer to the sofa, the television or the coffee table?", view(1, *SOFA, yaw=math.pi))
    assert said.answer.confidence >= 0.7 and len(said.targets) == 3 and all(each.known for each in said.targets)
