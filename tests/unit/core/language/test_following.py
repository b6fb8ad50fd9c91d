"""Follow-up questions in full words: what "it", "there" and "and the oven?" mean after a question and its answer."""

from __future__ import annotations

import pytest

from eqa_nodes.core.language.conversation import Conversation
from eqa_nodes.core.language.query import Exchange
from eqa_nodes.core.language.understanding import understand


@pytest.mark.parametrize(("question", "answer", "follow_up", "meant"), [
    ("Where is the lamp?", "in the study on the desk", "Is it on?", "Is the lamp in the study on?"),
    ("Where is the lamp?", "", "And is it on?", "Is the lamp on?"),
    ("Is there a lamp in the study?", "yes", "What colour is it?", "What colour is the lamp in the study?"),
    ("Is the kettle on?", "no", "Where is it?", "Where is the kettle?"),
    ("How many chairs are there in the study?", "2", "And in the kitchen?",
     "How many chairs in the kitchen are there?"),
    ("How many chairs are there in the study?", "2", "what about the kitchen?",
     "How many chairs in the kitchen are there?"),
    ("Is the fridge open?", "no", "and the oven?", "Is the oven open?"),
    ("What colour is the sofa?", "red", "How about the rug in the kitchen?", "What colour is the rug in the kitchen?"),
    ("How many chairs are in the study?", "2", "Is there a lamp there?", "Is there a lamp in the study?"),
    ("Where is the lamp?", "in the living room", "Is there a sofa there?", "Is there a sofa in the living room?"),
    ("Is the red mug full?", "yes", "And the other one?", "Is the mug that is not red full?"),
    ("Is the lamp on the desk on?", "yes", "Is the other one on as well?", "Is the lamp that is not on the desk on?"),
    ("Is the lamp in the study on?", "no", "What about the other one?", "Is the lamp that is not in the study on?")])
def test_a_follow_up_question_in_full_words(question: str, answer: str, follow_up: str, meant: str) -> None:
    talk = Conversation()
    talk.question(question)
    talk.answered(question, answer)
    assert talk.question(follow_up) == meant


@pytest.mark.parametrize(("question", "follow_up"), [
    ("Where is the sofa?", "How many clocks are there?"), ("Is the fridge open?", "Is the oven on?"),
    ("Is the lamp on?", "And the other one?"), ("What is on the table?", "Is there a sofa there?"),
    ("sofa", "Is it on?"), ("Where is the lamp?", "Colourless green ideas?"), ("Where is the lamp?", "")])
def test_what_refers_to_nothing_clear_stays_as_it_was_asked(question: str, follow_up: str) -> None:
    assert understand(follow_up, Exchange(question)).question == follow_up
