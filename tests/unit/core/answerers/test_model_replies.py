"""What a model may write around its JSON, and what a hostile one may write: found or refused in linear time."""

from __future__ import annotations

import json
from typing import Any

import pytest

from eqa_nodes.core.answerers.vlm_replies import read_answer
from eqa_nodes.core.errors import ModelError
from eqa_nodes.core.model import ask_json, fraction, json_object
from eqa_nodes.core.types.questions import Question
from eqa_nodes.models.scripted import ScriptedBackend

GOOD = {"answer": "red", "confidence": 0.9}


@pytest.mark.parametrize("text", [
    "{}", "```json\n{}\n```", "Sure! Here it is:\n{}\nAnything else?", "The set {{x}} of {{{{y}}}} is\n\n{}",
    "{{\"half\": {}", "{{ 'single': 1 }} {}", "{}{}", "{{}} {}".replace("{{}} ", "")])
def test_the_first_object_is_found_among_words(text: str) -> None:
    assert json_object(text.format(*[json.dumps(GOOD)] * 2)) == GOOD


@pytest.mark.parametrize("text", [
    'I look at {{"picture": 1}} first. {}', 'A draft: {{"answer": "", "confidence": 0.0}}. It is red: {}',
    '{{"picture": 1, "why": [{{}}, {{}}{more}]}} {}', '{} As for {{"picture": 1}}: it is red.'])
def test_thoughts_before_and_after_the_reply_are_not_taken_for_it(text: str) -> None:
    assert json_object(text.format(json.dumps(GOOD), more=", {}" * 40)) == GOOD


@pytest.mark.parametrize("text", [
    '{"answer": "red", "confidence": 0.9,}', '{"answer": "red", "confidence": 0.9,\n }',
    '{"a": {"b": [1,],}, "answer": 2',
    'Here:\n```json\n{\n "answer": "red",\n "confidence": 0.9,\n}\n```\n(see {it})'])
def test_a_comma_too_many_is_passed_over(text: str) -> None:
    assert json_object(text) in (GOOD, {"b": [1]})


def test_texts_keep_their_commas_and_line_breaks() -> None:
    assert json_object('{"why": "a, ] b,} c\nd", "x": [1, 2]}') == {"why": "a, ] b,} c\nd", "x": [1, 2]}
    assert json_object('{"views": [{"image": 1, "note": "",}, {"image": 2,}],}') == {
        "views": [{"image": 1, "note": ""}, {"image": 2}]}


# Each would take hours if the time grew with the square of the length; the time-out of the tests ends it then.
HOSTILE = {
    "braces": "{" * 3_000_000, "begun objects": '{"' * 1_500_000, "begun lists": '{"a": [' * 400_000,
    "nested": '{"a":' * 600_000, "blanks": ("{" + " " * 1000) * 3000, "keys": '{"a": 1, ' * 300_000,
    "a long text": '{"a": "' + "x" * 3_000_000, "quotes": '{"a": "' + '\\"' * 1_500_000,
    "digits": '{"a": ' + "9" * 3_000_000 + "}", "a long fraction": '{"a": 0.' + "9" * 3_000_000 + "x",
}


@pytest.mark.parametrize("what", HOSTILE)
def test_what_holds_no_object_is_refused_in_linear_time(what: str) -> None:
    with pytest.raises(ValueError, match="no JSON object in the reply"):
        json_object(HOSTILE[what])


@pytest.mark.parametrize("value", ["[" * 30 + "]" * 30, "[" * 5000 + "]" * 5000, "9" * 19, "9" * 5000])
def test_what_cannot_be_meant_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match="nested too deep|no JSON object"):
        json_object(f'{{"a": {value}}}')


def test_a_list_of_a_million_entries_is_read_no_further_than_needed() -> None:
    assert json_object(json.dumps({"views": [{}] * 50_000})) == {"views": [{}] * 50_000}
    assert json_object(json.dumps({"views": [{}] * 1_000_000})) == {}  # the first one that is whole


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1e400", "-1", "1.01", "true", '"0.5"', "null",
                                   "[0.5]"])
def test_a_probability_is_a_number_from_0_to_1(value: str) -> None:
    with pytest.raises(ValueError, match="must be a number from 0 to 1"):
        fraction(json_object(f'{{"p": {value}}}')["p"], "p")


@pytest.mark.parametrize("value", ["NaN", "Infinity", "1e400"])
def test_what_is_no_number_is_no_answer(value: str) -> None:
    reply = json_object(f'{{"answer": {value}, "confidence": 0.9}}')
    with pytest.raises(ValueError, match='"answer" of the reply must be a text'):
        read_answer(reply, Question("How many?"), 0)


def test_a_long_wrong_reply_is_not_sent_back_whole() -> None:
    asked: list[Any] = []

    def reply(messages: Any) -> str:
        asked.append(messages)
        return "x" * 1_000_000

    with pytest.raises(ModelError, match="^wrong form"):
        ask_json(ScriptedBackend([reply, reply]), (), dict)
    assert sum(len(part) for message in asked[1] for part in message.parts) < 3000
