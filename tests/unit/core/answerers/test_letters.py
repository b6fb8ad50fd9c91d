"""Letters of multiple choice: every letter in every form that models write, and nothing read into what names none."""

from __future__ import annotations

import string
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eqa_nodes.bench.judges.base import JudgeOptions
from eqa_nodes.bench.judges.marking import open_judge
from eqa_nodes.bench.judges.model_judges import LlmMatch
from eqa_nodes.bench.judges.offline import OfflineJudge
from eqa_nodes.bench.readers.hm_eqa import read_hm_eqa
from eqa_nodes.core.answerers.common import match_choice
from eqa_nodes.core.types.samples import Sample
from eqa_nodes.models.scripted import ScriptedBackend
from tests.fixtures.data import shared_data

ROOMS = ("the bathroom", "the kitchen", "the bedroom", "the hallway")
FORMS = (
    "{L}", "{l}", "{L}.", "{l}.", " {L} \n", "{L})", "({L})", "({l})", "[{L}]", "**{L}**", "`{L}`", '"{L}"', "'{L}'",
    "{L}:", "{L}!", "Answer: {L}", "answer: {l}", "ANSWER: {L}", "Answer:\n{L}", "Answer - {L}", "Ans: {L}",
    "Option {L}", "option {l}", "Choice {L}", "Letter {L}.", "The answer is {L}", "the answer is {l}.",
    "Answer is ({L}).", "My final answer is **{L}**.", "The correct option is {L}.", "{L} is correct.",
    "The correct answer is option {L}", "{L} is the right answer", "Option {L} is correct", "$\\boxed{{{L}}}$",
    "\\boxed{{\\text{{{L}}}}}", "Final answer: $\\boxed{{{L}}}$", "<answer>{L}</answer>", '{{"answer": "{L}"}}',
    "I think it's {L}", "I'd go with {L}.", "I choose {L}", "It is {L}", "It's ({L})", "So the answer would be {L}.",
    "{L} because I saw it there.", "{L}, because of the lamp", "{L} - I saw it",
    "{L}\nBecause it is a room with a bed.", "Based on the images, the answer is {L}.",
    "There is a sink next to a towel.\n\nAnswer: {L}", "The robot saw a lamp, so I would choose option {L}.",
    "<think>A or B? A is a room.</think>\n{L}", "<think>hm</think>**Answer: {L}**", "{F}", "Answer: {F}")
WITH_TEXT = (
    "{L}) {t}", "{L}: {t}", "{L}. {t}", "({L}) {t}", "{L} - {t}", "{L} {t}", "{L}, {t}", "{l}) {t}", "**{L}**: {t}",
    "Answer: {L}) {t}", "The answer is {L} ({t}).", "{t}", "{t}.", "It is {t}.", '"{t}"', "I think it is {t}")


def filled(form: str, index: int, text: str) -> str:
    letter = string.ascii_uppercase[index]
    return form.format(L=letter, l=letter.lower(), t=text, F=chr(ord("Ａ") + index))


@pytest.mark.parametrize("form", FORMS + WITH_TEXT)
@pytest.mark.parametrize("index", range(4))
def test_every_letter_in_every_form(form: str, index: int) -> None:
    assert match_choice(filled(form, index, ROOMS[index]), ROOMS) == index


@settings(max_examples=10)
@given(st.integers(2, 26), st.data())
def test_menus_of_any_length(n: int, data: st.DataObject) -> None:
    index = data.draw(st.integers(0, n - 1))
    choices = tuple(f"object number {i}" for i in range(n))
    for form in FORMS:
        if "<think>A" not in form:
            assert match_choice(filled(form, index, ""), choices) == index, form


@pytest.mark.parametrize("reply", [
    "A or B", "A/B", "A, B", "A and C", "either A or B", "A, B or C", "The answer is A or B", "It is between A and B.",
    "option a or option b", "(A) or (B)", "B or the kitchen", "Option A or C", "Answer: A. Wait, answer: B", "a or b",
    "A cat", "a cat", "The answer is a cat", "I saw a cat", "I", "I cannot tell", "I do not know.", "E", "Answer: F",
    "E) the attic", "", "none of them", "not B", "It is not B.", "B is wrong", "the answer is not B",
    "Option B is incorrect", "A dog is on a rug", "There is a T-shirt", "Plan B-1", "B's", "<think>Answer: B",
    "B) the bathroom", "Sorry, I can't help with that."])
def test_what_names_no_letter_or_several(reply: str) -> None:
    assert match_choice(reply, ROOMS) is None


@pytest.mark.parametrize(("reply", "index"), [
    ("A is a bathroom, B is a kitchen. The answer is B.", 1), ("Not A, but B.", 1), ("B not A", 1), ("B, not A", 1),
    ("It is not A. Answer: C", 2), ("Option A shows a sink; option B an oven. My answer: A", 0),
    ("I am sure that the towel hangs in room C.", 2), ("B?", 1), ("C, I think", 2), ("a: the bathroom", 0),
    ("A. A room with a bath.", 0), ("E) the kitchen", 1), ("The answer is B, and I am confident.", 1),
    ("Yes, it is in the kitchen", 1), ("THE KITCHEN", 1)])
def test_what_names_one_in_the_end(reply: str, index: int) -> None:
    assert match_choice(reply, ROOMS) == index


def test_letters_among_the_choices_mean_themselves() -> None:
    assert match_choice("It is Vitamin C", ("Vitamin D", "Vitamin C")) == 1
    assert match_choice("A", ("B", "A")) == 1
    assert match_choice("The answer is A", ("B", "A")) == 1
    assert match_choice("A", ("a few", "none")) == 0


def test_i_is_the_ninth_letter_and_a_pronoun() -> None:
    nine = tuple(f"object number {i}" for i in range(9))
    assert match_choice("I", nine) == match_choice("Answer: I", nine) == 8
    assert match_choice("I think it's B", nine) == 1
    assert match_choice("I would say that it cannot be told", nine) is None


@settings(max_examples=30)
@given(st.text(max_size=80), st.lists(st.text(max_size=12), min_size=1, max_size=30))
def test_any_reply_is_read_or_is_none_of_them(reply: str, choices: list[str]) -> None:
    index = match_choice(reply, choices)
    assert index is None or 0 <= index < len(choices)


@settings(max_examples=30)
@given(st.sampled_from(FORMS), st.sampled_from(range(4)), st.text(" \n\t", max_size=3), st.text(" \n\t", max_size=3))
def test_blanks_around_a_reply_mean_nothing(form: str, index: int, before: str, after: str) -> None:
    assert match_choice(before + filled(form, index, "") + after, ROOMS) == index


@pytest.mark.parametrize("long", [
    "answer " * 20_000, "a " * 50_000, "(" * 100_000, "answer" + " " * 100_000, "B or " * 20_000, "B " * 50_000,
    "<think>" * 10_000, "not " * 30_000 + "B"])
def test_long_replies_are_read_too(long: str) -> None:
    match_choice(long, ROOMS)


def test_judges_take_an_a_for_an_answer() -> None:
    sample = Sample("q", "In which room is the towel?", ROOMS[0], choices=ROOMS)
    for judge in (open_judge("choices"), OfflineJudge(), LlmMatch(ScriptedBackend(), JudgeOptions())):
        assert [judge.judge(sample, said).sigma for said in ("A", "a", "A.", "B", "", "?!")] == [5, 5, 5, 1, 1, 1]


def test_a_letter_may_be_the_answer_to_an_open_question() -> None:
    sample = Sample("q", "Which letter hangs on the door?", "A", ("the letter A",))
    assert [OfflineJudge().judge(sample, said).sigma for said in ("A", '"A"', "An", "B", "")] == [5, 5, 1, 1, 1]
    backend = ScriptedBackend(["5"])
    assert LlmMatch(backend, JudgeOptions()).judge(sample, "It is an A").sigma == 5
    assert backend.usage.calls == 1


def test_every_letter_of_the_published_questions_in_every_form() -> None:
    samples = read_hm_eqa(shared_data("hm-eqa-questions.csv").parent)
    judge = open_judge("choices")
    forms = ("{L}", "{l}.", "**{L}**", "Answer: {L}", "Option {L}", "({l})", "The answer is {L}", "{L}) {t}",
             "I think it's {L}", "{t}")
    missed = [(form, sample.id) for form, sample in product(forms, samples)
              if judge.judge(sample, filled(form, "ABCD".index(str(sample.metadata["label"])),
                                            sample.answer)).sigma != 5]
    assert len(samples) == 500
    assert not missed
