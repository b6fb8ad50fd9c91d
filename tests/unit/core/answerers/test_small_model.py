"""A small model: two short questions with flat replies, chosen by its name or learned from its failures."""

from __future__ import annotations

import io
import json

import pytest
from PIL import Image

from eqa_nodes.core.answerers.advice import shown
from eqa_nodes.core.answerers.option_sheet import Sheet, sheet_of_pictures
from eqa_nodes.core.answerers.small_model import is_small
from eqa_nodes.core.answerers.vlm import VlmAnswerer
from eqa_nodes.core.errors import ModelError
from eqa_nodes.core.types.costs import CallAccount, CallBudget
from eqa_nodes.models.scripted import ScriptedBackend
from tests.fixtures.briefs import QUESTION, brief

NOTHING = '{"answer": "", "confidence": 0.0, "picture": 0, "room": "hallway"}'
APPLE = '{"answer": "an apple", "confidence": 0.9, "picture": 2, "room": "kitchen"}'
PROSE = "Let me think about it."


@pytest.mark.parametrize(("name", "small"), [
    ("SmolVLM-500M-Instruct", True), ("Qwen/Qwen2-VL-2B-Instruct", True), ("qwen2.5vl:3b", True),
    ("gemma-3-4b-it", True),
    ("Qwen2.5-VL-7B-Instruct", False), ("llava-13b", False), ("Qwen3-VL-30B-A3B", False), ("gpt-4o", False),
    ("gemini-2.5-pro", False), ("", False), ("model4bit", False), ("scripted", False)])
def test_a_name_says_how_large_a_model_is(name: str, small: bool) -> None:
    assert is_small(name) == small


def asked(backend: ScriptedBackend, n: int) -> str:
    """Return the system message of a request."""
    return str(backend.requests[n][0].parts[0])


def test_a_model_that_fails_in_the_long_form_is_asked_in_two_short_questions_from_then_on() -> None:
    backend = ScriptedBackend([PROSE, PROSE, NOTHING, '{"number": 1, "chance": 0.6}', APPLE])
    vlm = VlmAnswerer(backend)
    said = vlm.advise(QUESTION, brief())
    assert said.answer.abstained and [one.weight for one in said.options] == [0.6, 0.0] and said.room == "hallway"
    answer, place = asked(backend, 2), asked(backend, 3)
    assert '"picture"' in answer and '"number"' not in answer and '"number"' in place
    assert '"go_to"' not in answer + place
    sure = vlm.advise(QUESTION, brief())
    assert sure.answer.text == "an apple" and [e.keyframe_id for e in sure.answer.evidence] == [2]
    assert len(backend.requests) == 5, "a sure answer needs no second question"


def test_each_question_has_one_sheet_and_what_is_known() -> None:
    backend = ScriptedBackend([NOTHING, '{"number": 2, "chance": 0.3}'])
    backend.model = "qwen2-vl-2b"
    VlmAnswerer(backend).advise(QUESTION, brief(notes=("A door.",)))
    for request in backend.requests:
        parts = request[1].parts
        assert sum(isinstance(part, Sheet) for part in parts) == sum(isinstance(part, bytes) for part in parts) == 1
        assert "You said before: A door." in str(parts[-1])


@pytest.mark.parametrize("place", [
    {"number": 9, "chance": 0.5}, {"number": 0, "chance": 0.5}, {"number": None, "chance": None},
    {"number": "two", "chance": 2e9}, {"number": [1], "chance": 0.5}])
def test_a_place_that_is_not_listed_is_none(place: dict[str, object]) -> None:
    backend = ScriptedBackend([NOTHING, json.dumps(place)])
    backend.model = "tiny-1b"
    assert [one.weight for one in VlmAnswerer(backend).advise(QUESTION, brief()).options] == [0.0, 0.0]


def test_without_a_budget_for_the_second_question_the_first_one_counts() -> None:
    backend = ScriptedBackend([NOTHING])
    backend.model = "tiny-1b"
    account = CallAccount(CallBudget(calls=1))
    said = VlmAnswerer(backend).advise(QUESTION._replace(account=account), brief())
    assert said.answer.abstained and len(backend.requests) == 1


def test_without_options_there_is_one_question() -> None:
    backend = ScriptedBackend([NOTHING])
    backend.model = "tiny-1b"
    VlmAnswerer(backend).advise(QUESTION, brief(options=()))
    assert len(backend.requests) == 1


def test_a_model_that_fails_in_the_short_form_too_is_an_error() -> None:
    with pytest.raises(ModelError, match="another form than agreed"):
        VlmAnswerer(ScriptedBackend([PROSE] * 4)).advise(QUESTION, brief())


@pytest.mark.parametrize(("count", "size"), [(1, (512, 408)), (2, (768, 310)), (3, (768, 624))])
def test_pictures_stand_two_in_a_row_under_their_numbers(count: int, size: tuple[int, int]) -> None:
    pictures = (shown(brief(), 512).pictures * 2)[:count]
    assert Image.open(io.BytesIO(sheet_of_pictures(pictures))).size == size
