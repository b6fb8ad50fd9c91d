"""Decisions of readers: what they replied still means the same with today's prompts, and runs record their own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.decisions import RecordingAnswerer, figures, load, replayed, same_choice, small
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.perception.projection import floor_at
from eqa_nodes.core.types.calls import DecisionReply
from eqa_nodes.core.types.floor import Option, WeighedOption
from eqa_nodes.core.types.questions import Answer
from eqa_nodes.models.scripted import ScriptedBackend
from tests.fixtures.briefs import QUESTION, brief, view

REPLY = {"reasons": "A door.", "answer": "", "go_to": [{"number": 1, "chance": 0.7, "room": "kitchen"}]}
NOWHERE = DecisionReply(Answer(abstained=True))
HALL, NEAR, FAR = (DecisionReply(Answer(abstained=True), options=(WeighedOption(Option(x, 0.0, 0.0, "doorway", x), w),))
                   for x, w in ((1.0, 0.6), (2.0, 0.3), (5.0, 0.6)))
RED, BLUE = (DecisionReply(Answer(colour, 0.9)) for colour in ("red", "blue"))


@pytest.mark.parametrize("recorded", load(), ids=lambda one: one.question[:40])
def test_what_a_reader_chose_is_still_listed_and_his_last_reply_is_the_answer(recorded: object) -> None:
    said = []
    for asked, reply in recorded.requests():  # type: ignore[attr-defined]
        given, read = replayed(asked, reply, recorded.question)  # type: ignore[attr-defined]
        said.append(read)
        assert not read.unclear, f"{read.reasons}: today's request does not show what the reader named"
        assert sum(isinstance(part, bytes) for part in given.parts) <= 8
    assert said[-1].answer.text and said[-1].answer.evidence


def test_there_are_questions_of_many_kinds_and_the_sizes_of_their_requests_are_shown() -> None:
    assert len(load()) >= 8 and sum(len(one.calls) for one in load()) >= 24
    assert [figure.name for figure in figures()][:2] == ["questions and calls", "pictures of a call"]


@pytest.mark.parametrize(("said", "other", "same"), [
    (HALL, NEAR, True), (HALL, FAR, False), (HALL, NOWHERE, False), (NOWHERE, NOWHERE, True), (RED, RED, True),
    (RED, BLUE, False), (RED, HALL, False)])
def test_two_replies_decide_the_same_by_answer_or_place(said: DecisionReply, other: DecisionReply, same: bool) -> None:
    assert same_choice(said, other) is same_choice(other, said) is same


def test_a_run_records_its_decisions_as_they_can_be_asked_again(tmp_path: Path,
                                                                monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EQA_DECISIONS", str(tmp_path / "decisions"))
    answerer = RecordingAnswerer(ScriptedBackend([json.dumps(REPLY)] * 2))
    said = [answerer.advise(QUESTION, brief()) for _ in range(2)]
    [recorded] = load(tmp_path / "decisions")
    assert recorded.question == QUESTION.text and [one.id for one in recorded.views] == [1, 2]
    again = [replayed(asked, reply, recorded.question)[1] for asked, reply in recorded.requests()]
    assert [one.options for one in again] == [one.options for one in said] and again[0].options[0].weight == 0.7
    monkeypatch.delenv("EQA_DECISIONS")
    with pytest.raises(ConfigError, match="EQA_DECISIONS"):
        answerer.advise(QUESTION, brief())


def test_a_stored_view_is_small_and_shows_the_floor_where_it_was() -> None:
    whole, stored = view(2), small(view(2))
    assert whole.geometry is not None and stored.geometry is not None
    assert stored.geometry.intrinsics[:2] == (256, 192) and len(stored.jpeg) < 0.2 * len(whole.jpeg)
    assert floor_at(stored, 128.0, 176.0, 10.0) == pytest.approx(floor_at(whole, 320.0, 440.0, 10.0), abs=0.05)
