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
