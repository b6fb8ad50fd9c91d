"""A wish to be shown something: what it asks, and the drive to the evidence after the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from eqa_nodes.core.agent.questions import understood
from eqa_nodes.core.errors import ErrorCode
from eqa_nodes.core.language.english import wish
from eqa_nodes.core.types.floor import Allowance, NavCode, NavResult
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Answer, Evidence, Limits, Question, Recalled
from tests.fixtures.agent_world import World

SEEN_FROM = Pose2(3.0, 1.0, 0.5)


@pytest.mark.parametrize(("text", "asks"), [
    ("Show me the cayenne pepper", "Where is the cayenne pepper?"),
    ("take me to the kitchen.", "Where is the kitchen?"),
    ("Could you please show me where the mug is?", "Where is the mug?"),
    ("Please, bring me to my keys!", "Where are my keys?"),
    ("Lead us to it", ""), ("show us what is on the desk, please", "What is on the desk?"),
    ("Show me how to cook", ""), ("show me", ""), ("Show me?", ""), ("Where is the mug?", ""),
    ("What does the show me?", ""), ("Is there a note that says take me to the moon?", "")])
def test_wishes(text: str, asks: str) -> None:
    assert wish(text) == asks
    question = understood(Question(text))
    assert (question.text, question.show) == ((asks, True) if asks else (text, False))


def test_options_of_a_benchmark_are_no_wish() -> None:
    question = Question("Show me the mug", choices=("here", "there"))
    assert understood(question) is question


@dataclass
class Guide(World):
    """A robot that answers with evidence and then stands where it was sent, or not: `code`."""

    shows: dict[int, float] = field(default_factory=lambda: {1: 0.9})
    code: NavCode = NavCode.SUCCEEDED
    at: Pose2 = Pose2(0.0, 0.0, 0.0)
    texts: list[str] = field(default_factory=list)

    def last(self) -> tuple[int, Pose2]:
        return self.seen, self.at

    def go_to(self, goal: Pose2, deadline_s: float, allowance: Allowance, what: str = "drive") -> NavResult:
        result = super().go_to(goal, deadline_s, allowance, what)
        if what == "drive":
            self.at = goal if self.code is NavCode.SUCCEEDED else self.at
            return NavResult(self.code, "a door is closed")
        return result

    def answer(self, question: Question, items: Sequence[Recalled]) -> Answer:
        self.texts.append(question.text)
        answer = super().answer(question, items)
        answer.evidence = (Evidence(1, 1, SEEN_FROM),)
        return answer

    def put(self, question: Question) -> Answer:
        from eqa_nodes.core.agent.questions import Agent
        from eqa_nodes.core.protocols import Ports

        return Agent(Ports(self, self, self, self, self)).ask(question)


def test_after_the_answer_it_drives_to_the_evidence_and_pays_for_that() -> None:
    guide = Guide()
    answer = guide.put(Question("Show me the kettle"))
    assert answer.shown and guide.at == SEEN_FROM and guide.texts == ["Where is the kettle?"]
    assert guide.calls[-2:] == ["answer", "drive"] and answer.receipt.metres == 2.0
    quiet = Guide()
    assert not quiet.put(Question("Where is the kettle?")).shown and quiet.calls[-1] == "answer"


def test_a_drive_that_ends_elsewhere_is_no_showing() -> None:
    for code in (NavCode.BLOCKED, NavCode.FAILED):
        answer = Guide(code=code).put(Question("Where is the kettle?", show=True))
        assert answer.text and not answer.shown and answer.error is ErrorCode.NONE
        assert "not shown: the drive ended 3.16 m from where it was seen: a door is closed" in answer.message


@pytest.mark.parametrize(("question", "why"), [
    (Question("Where?", show=True, may_explore=False), "asked not to move"),
    (Question("Where?", show=True, limits=Limits(calls=3)), "limits are used up"),
    (Question("Where?", show=True, limits=Limits(area=((0.0, 0.0), (1.0, 0.0), (1.0, 1.0)))), "outside")])
def test_what_keeps_it_from_showing_is_said(question: Question, why: str) -> None:
    guide = Guide()
    answer = guide.put(question)
    assert not answer.shown and "not shown: " in answer.message and why in answer.message
    assert guide.at == Pose2(0.0, 0.0, 0.0) and answer.error is ErrorCode.NONE


def test_there_is_nothing_to_show_for_an_answer_that_is_none() -> None:
    guide = Guide(shows={}, goals=0)
    guide.answer = lambda question, items: Answer(abstained=True)  # type: ignore[method-assign]
    answer = guide.put(Question("Show me the unicorn"))
    assert answer.abstained and "nothing to drive to" in answer.message and guide.calls.count("drive") == 0


def test_a_showing_that_is_called_off_leaves_the_answer() -> None:
    from eqa_nodes.core.agent.questions import Agent
    from eqa_nodes.core.protocols import Ports

    guide = Guide()
    agent = Agent(Ports(guide, guide, guide, guide, guide), listener=lambda p: agent.cancel() if p.phase == "showing"
                  else None)
    answer = agent.ask(Question("Show me the kettle"))
    assert answer.error is ErrorCode.CANCELED and answer.text == "in the kitchen" and not answer.shown
