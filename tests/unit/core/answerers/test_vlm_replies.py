"""What a model says of views and rooms: what is accepted, what it means, and what is asked again."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqa_nodes.core.answerers.vlm import VlmAnswerer, VlmConfig
from eqa_nodes.core.answerers.vlm_replies import REGIONS, read_answer, read_assessments, read_regions
from eqa_nodes.core.answerers.vlm_views import lettered, picture
from eqa_nodes.core.errors import ModelError
from eqa_nodes.core.language.understanding import understand
from eqa_nodes.core.types.floor import Candidate
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Question, RankedRegion, Recalled
from eqa_nodes.core.types.views import FloorPixel
from eqa_nodes.models.scripted import ScriptedBackend
from tests.fixtures.rooms import view
from tests.fixtures.vlm_replies import SPOTS, jpeg

QUESTION = Question("What color is the sofa?", seed=7)
OPEN = replace(view(4, Pose2(1.0, 2.0, 0.3), jpeg=jpeg()), places=SPOTS)  # with floor in view
WALL = view(5, Pose2(3.0, 2.0, 1.0), jpeg=jpeg())


def entry(image: int = 1, letters: str = "ABC", **more: Any) -> dict[str, Any]:
    """Return a well-formed entry; a value of ... leaves its key out."""
    whole = {"image": image, "relevance": 0.5, "enough": 0.2, "worth": 0.6, "places": dict.fromkeys(letters, 0.5),
             "target": "", "region": "living room", "says": "", "note": "a doorway", **more}
    return {key: value for key, value in whole.items() if value is not ...}


def reply_of(*entries: dict[str, Any]) -> str:
    return json.dumps({"views": entries})


def with_options(*choices: str) -> Question:
    return Question(QUESTION.text, choices=choices, seed=QUESTION.seed)


def judge(*replies: str, question: Question = QUESTION) -> Any:
    return VlmAnswerer(ScriptedBackend(replies)).assess(question, [OPEN])[0]


def test_a_view_is_valued() -> None:
    one = judge(reply_of(entry(places={"A": 0.6, "B": 0.2, "C": 0.0}, target="b", says=" gray ")))
    assert one.worth == 0.6
    assert one.places == tuple(Candidate(p.x, p.y, pytest.approx(w), "living room")
                               for p, w in zip(SPOTS, (0.75, 0.25, 0.0)))
    assert one.target == (SPOTS[1].x, SPOTS[1].y)
    assert (one.says, one.note, one.region) == ("gray", "a doorway", "living room")
    assert one.pose == OPEN.pose


@given(st.lists(st.floats(0.0, 1.0), min_size=3, max_size=3).filter(lambda w: sum(w) > 0.0))
def test_weights_become_shares(given_weights: list[float]) -> None:
    reply = {"views": [entry(places=dict(zip("ABC", given_weights)))]}
    weights = [c.weight for c in read_assessments(reply, QUESTION, [OPEN])[0].places]
    assert sum(weights) == pytest.approx(1.0)
    assert all(0.0 <= w <= 1.0 for w in weights)
    for a, b, share_a, share_b in zip(given_weights, given_weights[1:], weights, weights[1:]):
        assert share_a <= share_b if a <= b else share_a >= share_b


@pytest.mark.parametrize("wrong", [
    {"worth": ...}, {"worth": 1.5}, {"worth": "high"}, {"places": ...}, {"places": {}}, {"places": {"A": 1, "B": 0}},
    {"places": {"A": 1, "B": 0, "D": 0}}, {"places": {"A": 1, "B": 0, "C": 0, "D": 0}}, {"places": ["A", "B", "C"]},
    {"places": {"A": 0, "B": 0, "C": 0}}, {"places": {"A": -1, "B": 1, "C": 1}},
    {"places": {"A": None, "B": 1, "C": 1}}, {"places": {"A": float("nan"), "B": 1, "C": 1}},
    {"target": ...}, {"target": "D"}, {"target": "sofa"}, {"target": ["A"]}, {"says": ...}, {"says": ["gray"]},
    {"says": True}, {"region": ...}, {"region": {"a": 1}}, {"note": True}, {"image": "one"}, {"image": 2},
])
def test_wrong_forms_are_asked_again_once_and_then_an_error(wrong: dict[str, Any]) -> None:
    bad, good = reply_of(entry(**wrong)), reply_of(entry())
    assert judge(bad, good).worth == 0.6
    with pytest.raises(ModelError, match=r"^wrong form: scripted answered twice"):
        judge(bad, bad)


def test_asking_again_says_what_was_wrong() -> None:
    backend = ScriptedBackend([reply_of(entry(letters="AB")), reply_of(entry())])
    VlmAnswerer(backend).assess(QUESTION, [OPEN])
    assert '"places" of picture 1' in str(backend.requests[1][-1].parts[0])
    assert "(A, B, C)" in str(backend.requests[1][-1].parts[0])


def test_views_with_and_without_floor_go_in_one_call() -> None:
    """Each with its own letters: those of one picture are none of another's."""
    reply = reply_of(entry(2, "", places=..., worth=0.1, says=None), entry(1))
    backend = ScriptedBackend([reply])
    with_floor, without = VlmAnswerer(backend).assess(QUESTION, [OPEN, WALL])
    assert len(backend.requests) == 1
    assert (len(with_floor.places), without.places, without.target, without.worth) == (3, (), None, 0.1)
    parts = backend.requests[0][1].parts
    assert [p for p in parts if isinstance(p, bytes)] == [picture(OPEN, lettered(OPEN)), WALL.jpeg]
    assert [("letters A, B, C" in str(p)) for p in parts if str(p).startswith("Picture")] == [True, False]
    for wrong in (entry(2, "A"), entry(2, "", target="A")):
        twice = [reply_of(entry(1), wrong)] * 2
        with pytest.raises(ModelError, match="of picture 2"):
            VlmAnswerer(ScriptedBackend(twice)).assess(QUESTION, [OPEN, WALL])


def test_one_place_is_all_there_is() -> None:
    single = replace(OPEN, places=(FloorPixel(300, 300, 5.0, 5.0),))
    backend = ScriptedBackend([reply_of(entry(letters="A", places={"a": 0.01}))])
    assert [c.weight for c in VlmAnswerer(backend).assess(QUESTION, [single])[0].places] == [1.0]


@pytest.mark.parametrize(("said", "means"), [("B", "gray"), ("grey", "gray"), ("purple", "purple"), ("", ""), (2, "2")])
def test_what_a_view_says_is_an_option_where_there_are_some(said: object, means: str) -> None:
    asked = with_options("red", "gray")
    assert judge(reply_of(entry(says=said)), question=asked).says == means


@pytest.mark.parametrize("nothing", ["", None, "Unknown", " unknown "])
def test_an_unknown_region_is_empty(nothing: str | None) -> None:
    one = judge(reply_of(entry(region=nothing)))
    assert one.region == "" and {c.label for c in one.places} == {""}


def test_answers_are_given_from_pictures_without_letters() -> None:
    backend = ScriptedBackend([json.dumps({"answer": "gray", "confidence": 0.8, "images": [1]})])
    VlmAnswerer(backend).answer(QUESTION, [Recalled(OPEN, 1.0, "")])
    assert OPEN.jpeg in backend.requests[0][1].parts
    assert "letters" not in str([p for p in backend.requests[0][1].parts if isinstance(p, str)])


def test_a_full_batch_of_views_fits_into_a_reply() -> None:
    """At three characters a token (most write more), with notes as long as allowed."""
    long = entry(region="laundry room", says="a word or a phrase", note="nonsensical " * 12, target="A",
                 places={"A": 0.333, "B": 0.333, "C": 0.333})
    config = VlmConfig()
    assert len(reply_of(*[long] * config.max_images)) / 3 < config.max_tokens


def rank(*replies: str, question: Question = QUESTION) -> tuple[list[RankedRegion], ScriptedBackend]:
    backend = ScriptedBackend(replies)
    return VlmAnswerer(backend).regions(question), backend


def regions_json(**weights: Any) -> str:
    return json.dumps({"regions": {name.replace("_", " "): weight for name, weight in weights.items()}})


def test_regions_are_ranked_in_one_call() -> None:
    regions, backend = rank(regions_json(hallway=0.1, living_room=0.9, office=0.4))
    assert regions == [RankedRegion("living room", 0.9), RankedRegion("office", 0.4), RankedRegion("hallway", 0.1)]
    (system, user), = backend.requests
    assert all(name in str(system.parts[0]) for name in REGIONS) and "$" not in str(system.parts[0])
    text, understood = QUESTION.text, understand(QUESTION.text).said
    assert understood and user.parts == (
        f"<question>\n{json.dumps(text)}\nThe question asks: {json.dumps(understood)}\n</question>",)


def test_options_do_not_change_the_regions() -> None:
    """The graph asks for regions without them, and must hear the same as the chain in process."""
    plain, menu = (rank(regions_json(), question=q)[1].requests for q in (QUESTION, with_options("red", "gray")))
    assert plain == menu


@pytest.mark.parametrize(("named", "kept"), [
    ({}, {}), ({"Living Room": 1}, {"living room": 1.0}),
    ({"dining_room": 0.5, " Dining  room": 0.7}, {"dining room": 0.7}),
    ({"moon base": 1.0, "study": 0.5}, {"study": 0.5}), ({"unknown": 0.5}, {}), ({"kitchen": 0}, {}),
])
def test_names_that_are_kept(named: dict[str, float], kept: dict[str, float]) -> None:
    assert {r.name: r.weight for r in rank(json.dumps({"regions": named}))[0]} == kept


@pytest.mark.parametrize("wrong", [
    "the kitchen", "{}", '{"regions": ["kitchen"]}', '{"regions": null}', regions_json(kitchen=80),
    regions_json(kitchen="high"), regions_json(kitchen=True), regions_json(kitchen=float("nan")), regions_json(moon=-1),
])
def test_wrong_regions_are_asked_again_once_and_then_an_error(wrong: str) -> None:
    assert rank(wrong, regions_json(kitchen=1))[0] == [RankedRegion("kitchen", 1.0)]
    with pytest.raises(ModelError, match=r"^wrong form: scripted answered twice"):
        rank(wrong, wrong)


@given(st.dictionaries(st.sampled_from(REGIONS), st.floats(0.0, 1.0)))
def test_regions_come_best_first_in_any_order_of_the_reply(named: dict[str, float]) -> None:
    ranked = read_regions({"regions": named})
    assert ranked == read_regions({"regions": dict(reversed(named.items()))})
    assert [r.weight for r in ranked] == sorted((w for w in named.values() if w > 0.0), reverse=True)


def test_the_prompt_explains_every_key_of_its_form() -> None:
    backend = ScriptedBackend([reply_of(entry())])
    VlmAnswerer(backend).assess(QUESTION, [OPEN])
    prompt = str(backend.requests[0][0].parts[0])
    assert all(f'"{key}":' in prompt for key in entry())
    assert all(f"- {key}" in prompt for key in entry() if key != "image")
    assert "living room, office" in prompt and "$" not in prompt


def test_numbers_of_pictures_may_be_texts() -> None:
    assert judge(reply_of(entry(image="1"))) == judge(reply_of(entry()))  # type: ignore[arg-type]
    reply = read_answer({"answer": "red", "confidence": 0.9, "images": ["2", 1]}, QUESTION, 2)
    assert reply.images == (2, 1)
