"""The simulated model sees no more than a picture shows, and its replies pass the real parsers."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from eqa_nodes.core.answerers.asker import prompt_text
from eqa_nodes.core.answerers.snapshot import read_classes
from eqa_nodes.core.answerers.socratic import as_list
from eqa_nodes.core.answerers.vlm import VlmAnswerer
from eqa_nodes.core.errors import ConfigError, ModelError
from eqa_nodes.core.model import Message, Picture, json_object
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Question, Recalled
from eqa_nodes.core.types.views import Sighting
from eqa_nodes.models import make_backend
from eqa_nodes.models.simulated.backend import SimulatedModel, picture_tokens
from eqa_nodes.models.simulated.reading import found_in, in_plain_rooms
from eqa_nodes.models.simulated.sight import Sight, SightLimits, read_limits
from tests.fixtures.rooms import KITCHEN, sighted
from tests.fixtures.rooms import view as room_view
from tests.fixtures.simulated_model import JPEG, PLACES, QUESTIONS, ROOMS, jpeg

# A model that makes no mistakes, for tests of one limit at a time.
CLEAR = SightLimits(confuse=0.0, misread=0.0, generic=0.0, double=0.0)


def shown(*things: Sighting, number: int = 1, pose: Pose2 = Pose2(0.0, 2.0, 0.0), image: bytes = JPEG) -> Picture:
    return Picture(image, room_view(number, pose, *things, jpeg=image))


def seen(*pictures: Picture, limits: SightLimits = CLEAR, seed: int = 0) -> list[Sighting]:
    return [s for one in Sight(pictures, limits, seed).views for s in one.sightings]


def kinds(*pictures: Picture, limits: SightLimits = CLEAR) -> list[str]:
    return [s.label.kind for s in seen(*pictures, limits=limits)]


def mug(pixels: int, instance: int = 7, at: tuple[float, float, float] = (2.0, 2.0, 0.8),
        bbox: tuple[int, int, int, int] = (300, 200, 330, 230)) -> Sighting:
    return sighted(instance, "mug", "kitchen 2", at, (0.1, 0.1, 0.1), pixels, bbox, colour="red", material="ceramic",
                 state="full")


def test_what_is_too_small_is_not_noticed_and_what_is_large_always_is() -> None:
    assert kinds(shown(mug(119))) == []
    assert kinds(shown(mug(700))) == ["mug"]
    between = [bool(kinds(shown(mug(300, instance)))) for instance in range(200)]
    assert 0.2 < sum(between) / 200 < 0.6


def test_size_counts_in_the_picture_as_it_is_sent() -> None:
    small = Picture(jpeg(320, 240), room_view(1, Pose2(0.0, 2.0, 0.0), mug(800), jpeg=JPEG))
    assert kinds(small, limits=replace(CLEAR, sent_px=320, least_px=250)) == []
    assert kinds(shown(mug(800)), limits=replace(CLEAR, sent_px=320, least_px=250)) == ["mug"]


def test_a_small_picture_stands_for_one_of_the_size_sent() -> None:
    tiny = shown(mug(45, bbox=(75, 50, 82, 57)), image=jpeg(160, 120))
    assert kinds(tiny) == ["mug"]
    assert kinds(tiny, limits=replace(CLEAR, sent_px=160)) == []


def test_what_is_too_far_away_is_not_recognised() -> None:
    assert kinds(shown(mug(5000, at=(9.5, 2.0, 0.8)))) == []
    assert kinds(shown(mug(5000, at=(8.5, 2.0, 0.8)))) == ["mug"]


@pytest.mark.parametrize(("pixels", "told"), [(240, set()), (260, {"colour", "material"}),
                                             (360, {"colour", "material", "state"})])
def test_looks_and_states_are_told_only_of_what_is_large_enough(pixels: int, told: set[str]) -> None:
    found = seen(shown(*(mug(pixels, i) for i in range(60))))
    assert found and {name for s in found for name in s.label.attributes} - {"relation"} == told


def test_what_is_cut_off_at_two_borders_or_mostly_hidden_counts_half() -> None:
    limits = replace(CLEAR, least_px=500, sure_px=501)
    assert kinds(shown(mug(900)), limits=limits) == ["mug"]
    assert kinds(shown(mug(900, bbox=(0, 440, 40, 480))), limits=limits) == []
    assert kinds(shown(mug(900, bbox=(100, 100, 300, 200))), limits=limits) == []


def test_an_object_is_taken_for_the_same_look_alike_each_time_and_not_from_near() -> None:
    limits = replace(CLEAR, confuse=1.0)
    far = seen(shown(*(sighted(i, "armchair", "study", (3.0, 2.0, 0.5), (1.0, 1.0, 1.0), 750) for i in range(40))),
               limits=limits)
    again = seen(shown(*(sighted(i, "armchair", "study", (3.0, 2.0, 0.5), (1.0, 1.0, 1.0), 760) for i in range(40)),
                       number=2), limits=limits)
    wrong = {s.label.instance: s.label.kind for s in far if s.label.kind != "armchair"}
    assert set(wrong.values()) <= {"sofa", "ottoman", "bench"} and 10 < len(wrong) < 30
    assert {s.label.instance: s.label.kind for s in again if s.label.kind != "armchair"}.items() <= wrong.items()
    near = shown(*(sighted(i, "armchair", "study", (1.0, 2.0, 0.5), (1.0, 1.0, 1.0), 9000) for i in range(40)))
    assert set(kinds(near, limits=limits)) == {"armchair"}


def test_another_seed_makes_other_mistakes() -> None:
    limits = replace(CLEAR, confuse=0.8)
    chairs = shown(*(sighted(i, "armchair", "study", (3.0, 2.0, 0.5), (1.0, 1.0, 1.0), 750) for i in range(40)))
    assert [s.label.kind for s in seen(chairs, limits=limits)] != [
        s.label.kind for s in seen(chairs, limits=limits, seed=1)]


def test_general_words_stand_for_kinds() -> None:
    lamp = sighted(3, "floor lamp", "study", (2.0, 2.0, 0.8), (0.3, 0.3, 1.5))
    assert kinds(shown(lamp), limits=replace(CLEAR, generic=1.0)) == ["lamp"]


def test_colours_materials_and_states_are_misread() -> None:
    found = seen(shown(*(mug(700, i) for i in range(50))), limits=replace(CLEAR, misread=1.0))
    assert {s.label.attributes["state"] for s in found} == {"full", "empty"}
    assert {s.label.attributes["colour"] for s in found} > {"red"}


def test_one_object_from_two_sides_may_be_taken_for_two() -> None:
    sofa = sighted(1, "sofa", "den", (2.0, 2.0, 0.4), (2.0, 0.9, 0.8), 9000)
    both = shown(sofa), shown(sofa, number=2, pose=Pose2(4.0, 2.5, 3.1))
    assert len({s.label.instance for s in seen(*both)}) == 1
    assert len({s.label.instance for s in seen(*both, limits=replace(CLEAR, double=1.0))}) == 2


def test_what_something_lies_on_is_known_only_where_that_is_in_view() -> None:
    cup = sighted(8, "mug", "kitchen", (2.0, 2.0, 0.8), (0.1, 0.1, 0.1), 900, (300, 200, 330, 230), relation="on",
                support="desk")
    desk = sighted(9, "desk", "kitchen", (2.0, 2.0, 0.4), (1.4, 0.7, 0.7))
    assert seen(shown(cup))[0].label.attributes.get("support", "") == ""
    assert seen(shown(cup, desk))[0].label.attributes["support"] == "desk"
    called = seen(shown(cup, replace_kind(desk, "side table")), limits=replace(CLEAR, generic=1.0))
    assert called[0].label.attributes.get("support", "") == ""  # the label says desk, and no desk can be seen


def replace_kind(one: Sighting, kind: str) -> Sighting:
    return one._replace(label=one.label._replace(kind=kind))


def named(room: str, *what: str, at: float = 2.0, first: int = 0) -> tuple[Sighting, ...]:
    return tuple(sighted(first + i, kind, room, (at, 2.0 + 0.1 * i, 0.5), (0.8, 0.8, 0.8))
                 for i, kind in enumerate(what))


@pytest.mark.parametrize(("what", "room"), [
    (("bed", "nightstand"), "bedroom"), (("chair",), ""), (("oven", "dishwasher", "chair"), "kitchen"),
    (("painting", "rug"), ""), (("door", "door"), "hallway"), (("bed", "toy box", "teddy bear"), "kids bedroom")])
def test_rooms_are_known_by_typical_things_in_view(what: tuple[str, ...], room: str) -> None:
    assert {s.label.room for s in seen(shown(*named("room 12", *what)))} == {room}


def test_rooms_of_a_kind_are_told_apart_by_what_is_in_them() -> None:
    sight = Sight([shown(*named("bedroom 1", "bed", "nightstand", "piano"), *named("bedroom 2", "bed", "nightstand",
                                                                                   first=20))], CLEAR, 0)
    assert {s.label.room for s in sight.views[0].sightings} == {"piano bedroom", "other bedroom"}
    assert sight.spoken("on the bed in the piano bedroom") == "on the bed in the bedroom with the piano"


class Listening(SimulatedModel):
    """Keeps what it says."""

    def __init__(self, limits: SightLimits = SightLimits()) -> None:
        super().__init__(limits)
        self.said: list[str] = []

    def generate(self, messages, max_tokens=1024, seed=0):  # type: ignore[no-untyped-def]
        done = super().generate(messages, max_tokens, seed)
        self.said.append(done.text)
        return done


def ask_all(question: Question, backend: SimulatedModel) -> None:
    """Ask all that an answerer asks, through its parsers, which raise for a wrong form."""
    answerer = VlmAnswerer(backend)
    answerer.regions(question)
    assert len(answerer.assess(question, ROOMS)) == 2
    answerer.answer(question, [Recalled(one, 1.0, "") for one in ROOMS])
    answerer.answer(question._replace(force_guess=True), ())


@pytest.mark.parametrize("text", QUESTIONS)
@pytest.mark.parametrize("choices", [(), ("gray", "red", "on", "yes", "4")])
def test_every_form_passes_its_parser_at_the_first_try_without_numbers_of_rooms(
        text: str, choices: tuple[str, ...]) -> None:
    backend = Listening()
    ask_all(Question(text, choices=choices, seed=3), backend)
    assert len(backend.said) == backend.usage.calls == 4
    assert not re.search(r"room \d|kitchen \d", " ".join(backend.said))
    assert all(value < 1.0 for said in backend.said[1:] for value in numbers_in(json.loads(said)))


def numbers_in(reply: object) -> list[float]:
    """Return the confidences of a reply."""
    if isinstance(reply, dict):
        own = [v for k, v in reply.items() if k in ("confidence", "enough", "relevance", "worth") if v is not None]
        return own + [n for v in reply.values() for n in numbers_in(v)]
    return [n for v in reply for n in numbers_in(v)] if isinstance(reply, list) else []


def test_the_same_request_gets_the_same_reply() -> None:
    first, second = Listening(), Listening()
    for backend in (first, second):
        ask_all(Question(QUESTIONS[0], seed=5), backend)
    assert first.said == second.said


def test_captions_are_not_read() -> None:
    plain, captioned = Listening(), Listening()
    for backend, views in ((plain, [replace(v, caption="") for v in ROOMS]), (captioned, ROOMS)):
        VlmAnswerer(backend).assess(Question("Is the stove on?"), views)
        VlmAnswerer(backend).answer(Question("Is the stove on?"), [Recalled(one, 1.0, "") for one in views])
    assert plain.said == captioned.said


def test_what_it_sees_answers_and_what_it_does_not_see_does_not() -> None:
    items = [Recalled(one, 1.0, "") for one in ROOMS]
    answerer = VlmAnswerer(SimulatedModel(CLEAR))
    found = answerer.answer(Question("What color is the sofa?"), items)
    assert (found.text, found.evidence[0].keyframe_id) == ("gray", 1) and 0.6 < found.confidence <= 0.92
    assert answerer.answer(Question("What color is the piano?"), items).abstained


def test_a_place_near_the_object_gets_its_letter() -> None:
    judged = VlmAnswerer(SimulatedModel(CLEAR)).assess(Question("What is on the coffee table?"), ROOMS)
    assert judged[0].target == (2.0, 2.0) and judged[0].places[0].weight > judged[0].places[1].weight
    assert judged[0].enough > judged[1].enough == 0.0


def test_a_doorway_promises_something() -> None:
    door = sighted(60, "door", "hallway", (3.0, 1.0, 1.0), (0.1, 0.9, 2.0), 9000)
    with_door = replace(room_view(4, Pose2(0.0, 1.0, 0.0), door, jpeg=JPEG), places=PLACES)
    without = replace(room_view(5, Pose2(0.0, 1.0, 0.0), jpeg=JPEG), places=PLACES)
    judged = VlmAnswerer(SimulatedModel(CLEAR)).assess(Question("Where is the kettle?"), [with_door, without])
    assert judged[0].worth == CLEAR.doorway > judged[1].worth
    assert judged[0].places[1].weight > judged[0].places[0].weight


def test_no_is_said_cautiously_after_enough_was_seen_only() -> None:
    corner = [room_view(1, Pose2(5.0, 1.0, 0.0), *KITCHEN[:2], jpeg=JPEG)]
    question = Question("Is there a piano in the kitchen?")
    assert VlmAnswerer(SimulatedModel(CLEAR)).answer(question, [Recalled(corner[0], 1.0, "")]).abstained
    round_about = [room_view(i + 1, Pose2(6.5, 2.2, 0.8 * i), *KITCHEN, jpeg=JPEG) for i in range(8)]
    said = VlmAnswerer(SimulatedModel(CLEAR)).answer(question, [Recalled(one, 1.0, "") for one in round_about])
    assert said.text.startswith("no: ") and said.confidence <= CLEAR.surest_no


@pytest.mark.parametrize(("text", "plain"), [
    ("Is the lamp in the main bedroom on?", "Is the lamp in the bedroom on?"),
    ("Is there a bath in the second bathroom?", "Is there a bath in the bathroom?"),
    ("What is in bathroom 2?", "What is in bathroom?"), ("Where is the main switch?", "Where is the main switch?")])
def test_rooms_of_a_question_are_known_by_kind(text: str, plain: str) -> None:
    assert in_plain_rooms(text) == plain


def test_a_room_that_cannot_be_told_from_others_makes_less_sure() -> None:
    views = Sight([shown(*named("bedroom 4", "bed", "nightstand"), sighted(
        30, "table lamp", "bedroom 4", (2.0, 2.0, 0.8), (0.3, 0.3, 0.4), 9000, state="on"))], CLEAR, 0).views
    sure = [found_in(views, Question(f"Is the lamp in the {room} on?"), CLEAR) for room in ("bedroom", "main bedroom")]
    assert [one.text for one in sure if one] == ["yes", "yes"]
    assert sure[0] and sure[1] and sure[1].confidence < sure[0].confidence


def test_classes_are_chosen_from_the_list() -> None:
    listed = ["kettle", "sofa", "oven", "kitchen counter", "bed"]
    message = Message("user", ('<question>\n"Where is the kettle?"\n</question>', "At most 3 of:",
                               as_list("kinds", listed)))
    reply = SimulatedModel().generate([Message("system", (prompt_text("classes"),)), message])
    chosen = read_classes(json_object(reply.text), listed, 3)
    assert chosen[0] == "kettle" and "bed" not in chosen and "sofa" not in chosen


def test_prompts_and_pictures_that_it_does_not_know_are_named_errors() -> None:
    model = SimulatedModel()
    with pytest.raises(ModelError, match="knows the prompts"):
        model.generate([Message("system", (prompt_text("caption"),)), Message("user", (JPEG,))])
    with pytest.raises(ModelError, match="one picture has none"):
        model.generate([Message("system", (prompt_text("answer"),)),
                        Message("user", ('<question>\n"Where am I?"\n</question>', "Picture 1", JPEG))])


def test_it_is_privileged_and_counts() -> None:
    backend = make_backend("simulated")
    answerer = VlmAnswerer(backend)
    answer = answerer.answer(Question("What color is the sofa?"), [Recalled(one, 1.0, "") for one in ROOMS])
    assert answer.receipt.privileged == answerer.spent().privileged == ("SimulatedModel",)
    assert backend.usage.images == 2 and backend.usage.tokens_in > 2 * picture_tokens(JPEG, 640)
    assert picture_tokens(JPEG, 640) == 425 and picture_tokens(jpeg(160, 120), 512) == 255


def test_limits_come_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "limits.json"
    path.write_text('{"sent_px": 512, "surest": 0.8}')
    assert read_limits(path) == SightLimits(sent_px=512, surest=0.8)
    for wrong in ('{"smallest": 3}', '{"surest": "high"}', "[]", '{"surest": 2}', '{"least_px": 900}'):
        path.write_text(wrong)
        with pytest.raises(ConfigError):
            make_backend("simulated", model=str(path))


def test_a_choice_is_the_option_that_it_says() -> None:
    user = Message("user", ('<question>\n"What color is the sofa?"\nOne of these options, word for word, is the '
                            'answer: ["red", "gray"]\n</question>', "Picture 1", Picture(JPEG, ROOMS[0])))
    choice = SimulatedModel(CLEAR).choose([Message("system", (prompt_text("answer"),)), user], ["red", "gray"])
    assert choice.probabilities[1] > 0.8 and sum(choice.probabilities) == pytest.approx(1.0)


