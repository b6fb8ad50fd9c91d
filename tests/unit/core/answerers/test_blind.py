"""Answers by chance: seeded, out of the options or of what is usual."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqa_nodes.core.answerers.blind import RandomAnswerer, usual_answers
from eqa_nodes.core.language.bad_input import unreadable
from eqa_nodes.core.storage.text import storable
from eqa_nodes.core.types.questions import Question

QUESTIONS = st.text(min_size=1).filter(lambda text: storable(text) and not unreadable(text))


@given(QUESTIONS, st.integers(0, 2**64 - 1))
def test_the_same_question_and_seed_draw_the_same(text: str, seed: int) -> None:
    question = Question(text, seed=seed)
    answer = RandomAnswerer().answer(question, ())
    assert answer == RandomAnswerer().answer(question, ())
    assert answer.text in usual_answers(question) and not answer.abstained
    assert answer.confidence == pytest.approx(1 / len(usual_answers(question)))


def test_every_option_is_drawn_about_as_often() -> None:
    drawn = [RandomAnswerer().answer(Question("Which?", choices=("a", "b", "c", "d"), seed=seed), ()).text
             for seed in range(400)]
    assert all(70 <= drawn.count(option) <= 130 for option in "abcd")


@pytest.mark.parametrize(("text", "one"), [
    ("How many chairs are there?", "3"), ("What color is the sofa?", "gray"), ("Is the lamp on?", "no"),
    ("Where is the mug?", "in the kitchen"), ("Is the door open or closed?", "closed"),
    ("What is on the desk?", "a lamp"),
    ("What is the table made of?", "wood"), ("In which room is the bed?", "the bedroom")])
def test_what_is_drawn_fits_the_question(text: str, one: str) -> None:
    assert one in usual_answers(Question(text))
    assert len({RandomAnswerer().answer(Question(text, seed=s), ()).text for s in range(40)}) > 1
