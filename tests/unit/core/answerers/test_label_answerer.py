"""Answers by rules: phrasing by phrasing, from a small home that was seen."""

from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageFilter

from eqa_nodes.config.nodes import AnswererSettings
from eqa_nodes.core.answerers.common import check_question, match_choice
from eqa_nodes.core.answerers.label.answerer import LabelAnswerer
from eqa_nodes.core.answerers.label.evidence import clarity
from eqa_nodes.core.errors import BadQuestion, ConfigError
from eqa_nodes.core.language.understanding import query_of
from eqa_nodes.core.language.uses import PURPOSES, purpose_of
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Answer, Question, Recalled
from eqa_nodes.core.types.views import FloorPixel
from eqa_nodes.runners.answerers import answerer_of
from tests.fixtures.rooms import BEDROOM, HOME, KITCHEN, LIVING_ROOM, sighted, view

ITEMS = tuple(Recalled(one, 1.0, "test") for one in HOME)


def ask(text: str, **more: object) -> Answer:
    return LabelAnswerer().answer(Question(text, **more), ITEMS)  # type: ignore[arg-type]


@pytest.mark.parametrize(("question", "answer"), [
    ("What color is the couch?", "gray"),
    ("What colour are the chairs in the kitchen?", "red"),
    ("Is the vase on the coffee table red or blue?", "blue"),
    ("What is the floor lamp made of?", "metal"),
    ("Which material is the sofa?", "fabric"),
    ("Is the TV on or off?", "on"),
    ("Is the television in the living room turned off?", "no"),
    ("Did I leave the TV in the living room on?", "yes"),
    ("Did I turn off the floor lamp?", "yes"),
    ("Is the kitchen sink running?", "yes"),
    ("Did I leave the fridge open?", "yes"),
    ("Did I make the bed?", "no"),
    ("Is the bathroom door open or closed?", "open"),
    ("Is the door between the bedroom and the living room closed?", "yes"),
    ("Where is my phone?", "on the nightstand in the bedroom"),
    ("I am looking for my guitar. Where is it?", "in the living room"),
    ("Where is the painting?", "on the wall above the sofa in the living room"),
    ("In which room is the washing machine?", "the bathroom"),
    ("What is on the coffee table in the living room?", "a book and a vase"),
    ("What did I leave on the nightstand?", "a phone"),
    ("What is the red thing on the coffee table?", "a book"),
    ("What is on the wall above the sofa?", "a painting"),
    ("What is hanging on the wall in the living room?", "a painting"),
    ("What is standing between the sofa and the TV stand in the living room?", "a coffee table"),
    ("What is to the right of the sofa in the living room when you face it?", "a floor lamp"),
    ("What is to the left of the sofa in the living room when you face it?", "a guitar"),
    ("Is the guitar to the left or to the right of the sofa in the living room when you face the sofa?", "to the left"),
    ("Is the floor lamp next to the sofa in the living room?", "yes"),
    ("Is the guitar next to the TV stand in the living room?", "no"),
    ("Which is closer to the sofa in the living room, the TV stand or the coffee table?", "the coffee table"),
    ("How many chairs are there in the kitchen?", "4"),
    ("How many people can sit at the kitchen table?", "4"),
    ("Are there enough chairs for six people in the kitchen?", "no"),
    ("What can I use to heat water in the kitchen?", "the kettle"),
    ("Where can I wash my clothes?", "in the washing machine in the bathroom"),
    ("I want to take a bath. Which room should I go to?", "the bathroom"),
    ("Where could I sit down to watch TV?", "on the sofa in the living room"),
    ("What instrument does someone here play?", "the guitar"),
    ("Can two people sleep in the bed in the bedroom?", "yes"),
    ("Has anyone slept in the bed in the bedroom since it was last made?", "yes"),
    ("Can I take a bath in the bathroom, or only a shower?", "a bath"),
    ("Is there any fruit left in the fruit bowl?", "no"),
    ("Will the food in the refrigerator in the kitchen stay cold?", "no"),
    ("Is water being wasted in the kitchen?", "yes"),
    ("Is electricity being wasted by the floor lamp in the living room?", "no"),
    ("Is there anything to read on the coffee table?", "yes"),
    ("Is there anything to drink from on the coffee table in the living room?", "no"),
    ("Is the kitchen table set for a meal?", "no"),
    ("What color is the blanket on the bed in the bedroom?", "blue"),
    ("Do I have a pet?", "yes"),
    ("Is there a kettle in the kitchen?", "yes"),
    ("What color is the thing in the kitchen that I can use to heat water?", "silver"),
    ("What color is the thing in the bathroom in which I can wash my clothes?", "white"),
    ("Where can I find something to heat water?", "on the kitchen counter in the kitchen"),
    ("I want to heat water. Which room should I go to?", "the kitchen"),
    ("Which is on in the living room, the TV, the floor lamp, both or neither?", "the television"),
    ("Which is off in the living room, the floor lamp, the TV, both or neither?", "the floor lamp"),
    ("Which is open in the kitchen, the fridge, the fridge, both or neither?", "both"),
    ("Which is closed in the kitchen, the fridge, the fridge, both or neither?", "neither"),
    ("What is wasting electricity in the living room?", "the television"),
    ("What is wasting water in the kitchen?", "the kitchen sink"),
    ("How many more chairs do I need in the kitchen for six people?", "2"),
    ("What kind of pet lives here?", "a dog"),
])
def test_phrasings(question: str, answer: str) -> None:
    got = ask(question)
    assert (got.text, got.abstained) == (answer, False)
    assert got.confidence > 0.3
    assert got.evidence


def test_things_of_a_kind_are_counted_in_lists() -> None:
    plates = [sighted(i, "plate", "den", (0.1 * i, 0, 0.8), (0.2, 0.2, 0.02), relation="on", support="desk")
              for i in (1, 2)]
    mug = sighted(3, "mug", "den", (0.5, 0, 0.8), (0.1, 0.1, 0.1), relation="on", support="desk")
    desk = sighted(4, "desk", "den", (0, 0, 0.4), (1.4, 0.7, 0.75))
    item = Recalled(view(1, Pose2(0, -2, 1.57), desk, mug, *plates), 1.0, "")
    assert LabelAnswerer().answer(Question("What is on the desk?"), (item,)).text == "a mug and two plates"


def test_a_door_between_rooms_is_told_by_what_was_seen_of_both() -> None:
    question = Question("Is the door between the bedroom and the bathroom open?")
    one_side, both = ITEMS[2:3], ITEMS[2:]
    unsure, sure = LabelAnswerer().answer(question, one_side), LabelAnswerer().answer(question, both)
    assert unsure.confidence < 0.7 < sure.confidence
    assert sure.text == "yes"


@pytest.mark.parametrize("kind", ["front door", "door"])
def test_the_front_door_and_one_far_from_a_room_are_not_between_two(kind: str) -> None:
    way_in = sighted(1, kind, "hallway", (0.0, 0.0, 1.0), (0.9, 0.05, 2.0), colour="blue", state="closed")
    bench = sighted(2, "bench", "hallway", (0.0, 3.0, 0.3), (1.0, 0.4, 0.6))
    bath = sighted(3, "bathtub", "bathroom", (0.0, 6.0, 0.3), (1.6, 0.7, 0.6))
    item = Recalled(view(1, Pose2(0.0, 1.5, -1.57), way_in, bench, bath), 1.0, "")
    assert LabelAnswerer().answer(Question("Is the door between the bathroom and the hallway white or blue?"),
                                  (item,)).abstained
    alone = LabelAnswerer().answer(Question(f"What colour is the {kind} in the hallway?"), (item,))
    assert alone.text == "blue"


def test_evidence_is_the_view_with_most_pixels_of_the_target() -> None:
    far = view(7, Pose2(0.0, -3.0, 1.57), LIVING_ROOM[0]._replace(pixels=60))
    got = LabelAnswerer().answer(Question("What color is the sofa?"), (Recalled(far, 9.0, ""), *ITEMS))
    assert [e.keyframe_id for e in got.evidence] == [1]
    assert got.evidence[0].pose == HOME[0].pose


def test_only_what_was_sighted_is_known() -> None:
    got = LabelAnswerer().answer(Question("What color is the sofa?"), ITEMS[1:])
    assert got.abstained
    assert not got.text
    assert not got.evidence
    assert got.message
    guessed = LabelAnswerer().answer(Question("What color is the sofa?", force_guess=True), ITEMS[1:])
    assert guessed.text
    assert not guessed.abstained
    assert guessed.confidence < 0.5
    assert "guess" in guessed.message


def test_the_newest_state_counts() -> None:
    later = view(9, Pose2(0.0, -1.2, 1.57), LIVING_ROOM[3]._replace(
        label=LIVING_ROOM[3].label._replace(attributes={"state": "off", "relation": "on", "support": "tv stand"})))
    got = LabelAnswerer().answer(Question("Is the TV on?"), (Recalled(later, 0.1, ""), *ITEMS))
    assert got.text == "no"


def test_the_room_of_the_question_decides() -> None:
    sofa = sighted(90, "sofa", "study", (7.0, 6.0, 0.4), (2.0, 0.9, 0.8), colour="green")
    other = view(8, Pose2(6.0, 6.0, 0.0), sofa)
    items = (*ITEMS, Recalled(other, 1.0, ""))
    assert LabelAnswerer().answer(Question("What color is the sofa in the study?"), items).text == "green"
    assert LabelAnswerer().answer(Question("What color is the sofa in the living room?"), items).text == "gray"
    of_each = LabelAnswerer().answer(Question("What color is the sofa?"), items).text
    assert of_each == "the sofa in the living room is gray; the sofa in the study is green"


def test_left_and_right_change_with_the_side_one_looks_from() -> None:
    question = Question("What is to the left of the coffee table when you face it?")
    table = sighted(1, "coffee table", "den", (0, 0, 0.2), (1, 0.6, 0.4))
    west = sighted(2, "lamp", "den", (-0.9, 0, 0.5), (0.3, 0.3, 1))
    east = sighted(3, "plant", "den", (0.9, 0, 0.5), (0.3, 0.3, 1))
    for pose, expected in ((Pose2(0, -3, 1.57), "a lamp"), (Pose2(0, 3, -1.57), "a plant")):
        item = Recalled(view(1, pose, table, west, east), 1.0, "")
        assert LabelAnswerer().answer(question, (item,)).text == expected


def test_assessing_rises_with_what_is_seen() -> None:
    question = Question("Where is my phone?")
    phone = BEDROOM[1]
    views = [view(1, Pose2(1, 6, 1.5), *KITCHEN), view(2, Pose2(1, 6, 1.5), phone._replace(pixels=30)),
             view(3, Pose2(1, 6, 1.5), phone)]
    none, small, clear = LabelAnswerer().assess(question, views)
    assert none.relevance == none.enough == 0.0
    assert 0.0 < small.enough < 0.7 < clear.enough
    assert small.relevance < clear.relevance


def test_a_view_of_the_room_is_a_hint() -> None:
    chairless = view(2, Pose2(5, 2, 0), KITCHEN[6])
    assessment = LabelAnswerer().assess(Question("What color is the microwave in the kitchen?"), [chairless])[0]
    assert 0.3 <= assessment.relevance < 0.5
    assert assessment.enough == 0.0
    assert assessment.region == "kitchen"


def test_a_count_is_sure_only_when_the_room_was_looked_over() -> None:
    turned = [Recalled(view(i, Pose2(6.4, 2.0, 0.8 * i), *KITCHEN), 1.0, "") for i in range(8)]
    question = Question("How many chairs are there in the kitchen?")
    one, all_round = (LabelAnswerer().answer(question, items) for items in (turned[:1], turned))
    assert one.text == all_round.text == "4"
    assert one.confidence < 0.7 < all_round.confidence


def test_a_count_of_nothing_is_no_answer() -> None:
    assert ask("How many mirrors are in the kitchen?").abstained


def test_a_look_through_the_door_does_not_settle_a_count() -> None:
    outside = [Recalled(view(i, Pose2(3.0, 2.0, 0.0), *KITCHEN), 1.0, "") for i in range(3)]
    assert LabelAnswerer().answer(Question("How many chairs are there in the kitchen?"), outside).confidence < 0.7


@pytest.mark.parametrize(("question", "choices", "answer"), [
    ("What color is the sofa?", ("red", "grey", "blue"), "grey"),
    ("Is the TV on?", ("Yes, it is on", "No, it is off"), "Yes, it is on"),
    ("How many chairs are there in the kitchen?", ("two", "three", "four"), "four"),
    ("In which room is the phone?", ("Kitchen", "Bedroom"), "Bedroom"),
    ("What is on the wall above the sofa?", ("A mirror", "A painting", "A clock"), "A painting"),
    ("Where is my phone?", ("On the kitchen table", "On the nightstand"), "On the nightstand"),
])
def test_choices(question: str, choices: tuple[str, ...], answer: str) -> None:
    assert ask(question, choices=choices).text == answer
    blind = LabelAnswerer().answer(Question(question, choices=choices), ())
    assert blind.text in choices
    assert not blind.evidence


def test_a_wrong_menu_is_no_answer() -> None:
    assert ask("What color is the sofa?", choices=("red", "blue")).abstained


@pytest.mark.parametrize(("text", "index"), [("B", 1), ("b)", 1), ("(C) blue", 2), ("grey", 1), ("Gray.", 1), ("a", 0),
                                             ("blue one", 2), ("a lamp", None), ("red or gray", None), ("", None),
                                             ("D", None)])
def test_match_choice(text: str, index: int | None) -> None:
    assert match_choice(text, ("red", "gray", "blue")) == index


def test_questions_that_are_none() -> None:
    assert check_question("  Is it? ") == "Is it?"
    for text in ("", " \n\t", "?!", "x" * 10_000):
        with pytest.raises(BadQuestion):
            check_question(text)


def test_unknown_answerer_lists_the_known(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("EQA_VLM_BASE_URL", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ConfigError, match="blind, .*label, .*vlm"):
        answerer_of(AnswererSettings(answerer="oracle"))
    with pytest.raises(ConfigError, match="EQA_VLM_BASE_URL"):
        answerer_of(AnswererSettings(answerer="vlm"))


def test_the_blind_baseline_sees_nothing() -> None:
    blind = answerer_of(AnswererSettings(answerer="blind"))
    answer = blind.answer(Question("What color is the sofa?"), ITEMS)
    assert not answer.evidence
    assert answer.receipt.privileged == () == blind.spent().privileged
    assert answer == blind.answer(Question("What color is the sofa?"), ())
    assert all(a.relevance == a.enough == 0.0 for a in blind.assess(Question("What color is the sofa?"), HOME))


def test_purposes() -> None:
    assert {row.kinds[0] for row in PURPOSES} >= {"kettle", "bookshelf", "mirror"}
    got = [purpose_of(p)[0] for p in ("dry my clothes", "dry my hands", "keep dry in the rain", "play the piano")]
    assert [row.kinds[0] if row else "" for row in got] == ["dryer", "towel", "umbrella", "piano"]
    assert purpose_of("zzz") == (None, 0)


@given(st.text(max_size=80))
def test_any_text_parses(text: str) -> None:
    assert query_of(text) == query_of(text)


@given(st.permutations(range(len(ITEMS))), st.sampled_from(["Where is my phone?", "How many chairs are here?"]))
def test_the_order_of_items_does_not_matter(order: list[int], question: str) -> None:
    shuffled = [ITEMS[i] for i in order]
    assert LabelAnswerer().answer(Question(question), shuffled) == ask(question)


def test_a_place_beside_labelled_stairs_is_called_so_where_rooms_have_no_names() -> None:
    steps = sighted(1, "stairs", "", (3.0, 0.0, 1.0), (1.2, 3.0, 2.0))
    chair = sighted(2, "chair", "", (2.0, 0.0, 0.4), (0.5, 0.5, 0.8))
    seen = replace(view(1, Pose2(0.0, 0.0, 0.0), steps, chair), places=(FloorPixel(10, 10, 1.5, 0.0),
                                                                        FloorPixel(20, 10, -3.0, 0.0)))
    (assessed,) = LabelAnswerer().assess(Question("Where is the piano?"), [seen])
    assert [place.label for place in assessed.places] == ["stairs", ""]


def _photo(blur: float = 0.0) -> bytes:
    noise = Image.fromarray(np.random.default_rng(0).integers(0, 255, (480, 640), np.uint8)).resize((640, 480))
    out = io.BytesIO()
    noise.filter(ImageFilter.GaussianBlur(2 + blur)).save(out, "JPEG")
    return out.getvalue()


def _lamp(number: int, pixels: int, bbox: tuple[int, int, int, int], tall: float, wide: float = 0.3,
          jpeg: bytes = b"") -> Recalled:
    seen = sighted(1, "lamp", "bedroom", (2.0, 0.0, 0.5), (wide, 0.0, tall), pixels, bbox, colour="red")
    return Recalled(view(number, Pose2(0.0, 0.0, 0.0), seen, jpeg=jpeg), 1.0, "")


@pytest.mark.parametrize(("worse", "better"), [
    (_lamp(1, 9000, (560, 100, 640, 300), 0.5, 0.1), _lamp(2, 3000, (300, 200, 360, 300), 0.5)),  # cut off at the side
    (_lamp(1, 9000, (200, 330, 300, 480), 0.2), _lamp(2, 3000, (300, 200, 360, 300), 0.5)),  # its upper part only
    (_lamp(1, 9000, (200, 200, 300, 300), 0.5, 0.03), _lamp(2, 1500, (300, 200, 340, 260), 0.5)),  # behind a door
    (_lamp(1, 300, (300, 200, 320, 230), 0.5), _lamp(2, 2900, (300, 200, 360, 300), 0.5)),  # far away
    (_lamp(1, 5000, (300, 200, 400, 300), 0.5, jpeg=_photo(blur=4)),
     _lamp(2, 4000, (300, 200, 390, 290), 0.5, jpeg=_photo()))])  # blurred
def test_the_evidence_is_the_view_that_shows_most_of_the_object(worse: Recalled, better: Recalled) -> None:
    for items in ((worse, better), (better, worse)):
        answer = LabelAnswerer().answer(Question("What color is the lamp?"), items)
        assert answer.text == "red" and [e.keyframe_id for e in answer.evidence] == [2]


@pytest.mark.parametrize(("bbox", "sure"), [
    ((628, 100, 640, 340), 0.475),  # 12 pixels of a refrigerator: half of _STRIP_PX
    ((616, 100, 640, 340), 0.95), ((300, 100, 312, 148), 0.95), ((300, 100, 312, 196), 0.95 * 0.75)])
def test_a_strip_of_an_object_is_no_proof(bbox: tuple[int, int, int, int], sure: float) -> None:
    fridge = sighted(1, "refrigerator", "kitchen", (2.0, 0.0, 0.9), (0.03, 0.0, 1.7), 2000, bbox, state="open")
    seen = view(1, Pose2(0.0, 0.0, 0.0), fridge)
    assert clarity(seen, fridge) == pytest.approx(sure)
    answer = LabelAnswerer().answer(Question("Is the fridge open?"), [Recalled(seen, 1.0, "")])
    assert answer.text == "yes" and answer.confidence == pytest.approx(sure)
