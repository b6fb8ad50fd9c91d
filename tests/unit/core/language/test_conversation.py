"""A client's conversation: what its last question and answer were."""

from __future__ import annotations

import pytest

from eqa_nodes.core.language.conversation import Conversation, Conversations
from eqa_nodes.core.language.query import Exchange
from tests.fixtures.follow_up import FIRST, FOLLOW_UP, IN_FULL, NONSENSE, parse_follow_ups


def test_a_question_refers_to_the_last_one_and_its_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    referred, talk = parse_follow_ups(monkeypatch), Conversation()
    assert talk.question(FOLLOW_UP) == FOLLOW_UP, "there is nothing to refer to"
    assert talk.question(FIRST) == FIRST
    assert talk.question(FOLLOW_UP) == IN_FULL
    talk.answered(FIRST, "too late")
    talk.answered(IN_FULL, "yes")
    assert talk.question(FOLLOW_UP) == IN_FULL
    assert referred == [Exchange(FIRST), Exchange(IN_FULL, "yes")]


def test_a_question_that_was_not_understood_is_not_referred_to(monkeypatch: pytest.MonkeyPatch) -> None:
    referred, talk = parse_follow_ups(monkeypatch), Conversation()
    talk.question(FIRST)
    assert talk.question(NONSENSE) == NONSENSE and talk.question(FOLLOW_UP) == IN_FULL
    assert referred == [Exchange(FIRST)]


def test_clients_do_not_share_their_conversations_and_old_ones_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    parse_follow_ups(monkeypatch)
    talks = Conversations(most=2)
    talks.of("a").question(FIRST)
    assert talks.of("b").question(FOLLOW_UP) == FOLLOW_UP and talks.of("a").question(FOLLOW_UP) == IN_FULL
    talks.of("c")  # b is forgotten: it was silent for longest
    assert talks.of("a").question(FOLLOW_UP) == IN_FULL
    assert talks.of("").question(FIRST) == FIRST and talks.of("").question(FOLLOW_UP) == FOLLOW_UP, "no name"


@pytest.mark.parametrize(("first", "then", "full"), [
    ("Was the lamp on yesterday evening?", "And on Monday?", "Was the lamp on on Monday?"),
    ("Is the lamp on?", "And yesterday evening?", "Was the lamp on yesterday evening?"),
    ("What is on the table?", "What about last night?", "What was on the table last night?"),
    ("Where was the mug on Monday?", "And the laptop?", "Where was the laptop on Monday?"),
    ("Where was the mug on Monday?", "Was it clean?", "Was the mug in the kitchen clean on Monday?"),
    ("Where was the mug on Monday?", "What colour is it?", "What colour is the mug in the kitchen?"),
    ("Where is the mug?", "Where was it yesterday?", "Where was the mug yesterday?"),
    ("Where is the mug?", "Was it in the study last night?", "Was the mug in the study last night?"),
    ("Where is the mug?", "And the laptop?", "Where is the laptop?")])
def test_a_question_that_refers_to_another_keeps_its_time_or_names_one(first: str, then: str, full: str) -> None:
    talk = Conversation()
    talk.answered(talk.question(first), "in the kitchen")
    assert talk.question(then) == full
