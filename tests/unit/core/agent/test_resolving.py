"""What an unclear question means, and one that is not understood: a person is asked, and nothing moves until then."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import pytest

from eqa_nodes.core.agent import resolving
from eqa_nodes.core.agent.config import AgentConfig
from eqa_nodes.core.agent.questions import Agent, WaitingQuestion
from eqa_nodes.core.agent.resolving import NONE_OF_THESE
from eqa_nodes.core.errors import ErrorCode, StorageError
from eqa_nodes.core.language.bad_input import improper, unreadable
from eqa_nodes.core.language.query import Query, Understood
from eqa_nodes.core.protocols import Ports
from eqa_nodes.core.types.inquiries import NO_REPLY, WHICH, Inquiry
from eqa_nodes.core.types.progress import Progress
from eqa_nodes.core.types.questions import Answer, Question, Recalled, RecallQuery
from eqa_nodes.core.types.views import Label, Sighting
from tests.fixtures.agent_world import World, view
from tests.fixtures.bad_questions import IMPROPER, UNREADABLE

ROOMS = ("main bedroom", "second bedroom", "kitchen")
TIDY = Question("Is the bed in the bedroom made?", "q")


@dataclass
class Home(World):
    """A robot that remembers a view of each room; it notes what the answerer is asked."""

    shows: dict[int, float] = field(default_factory=lambda: {1: 0.9})
    texts: list[str] = field(default_factory=list)
    told: list[Progress] = field(default_factory=list)
    inquiries: list[Inquiry] = field(default_factory=list)
    lost_memory: bool = False
    privileged: bool = False

    def recall(self, query: RecallQuery) -> list[Recalled]:
        if self.lost_memory:
            raise StorageError("the memory cannot be read")
        beds = [Label(i, "bed", room, {}, not self.privileged) for i, room in enumerate(ROOMS[:2])]
        sightings = tuple(Sighting(bed, 50, (0, 0, 9, 9), (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)) for bed in beds)
        return [Recalled(replace(view(90 + i), region=room, sightings=sightings), 0.1, "")
                for i, room in enumerate(ROOMS)] if not query.text else []

    def answer(self, question: Question, items: Sequence[Recalled]) -> Answer:
        self.texts.append(question.text)
        return super().answer(question, items)

    def answered(self, reply: int, question: Question = TIDY, **config: object) -> Answer:
        class Person:
            def ask(_, inquiry: Inquiry, announce: Callable[[], None], canceled: Callable[[], bool]) -> int:
                announce()
                self.inquiries.append(inquiry)
                return reply

        ports = Ports(self, self, self, self, self, Person())
        settings = AgentConfig(**{"ask_back": True, **config})  # type: ignore[arg-type]
        return Agent(ports, settings, self.told.append).ask(question)


def test_the_question_is_worked_on_as_it_is_meant_and_the_answer_says_so() -> None:
    home = Home()
    answer = home.answered(2)
    assert [(i.kind, i.text, i.options) for i in home.inquiries] == [
        (WHICH, "Which bedroom is meant?", ("the main bedroom", "the second bedroom", "any of them"))]
    assert home.texts == ["Is the bed in the second bedroom made?"] and answer.text == "in the kitchen"
    assert answer.message == "'the bedroom' was understood as the second bedroom"
    assert [p.inquiry.open for p in home.told if p.inquiry] == [True, False]
    assert [p.call.kind for p in home.told if p.call] == ["regions", "assess", "answer"]  # each once


def test_without_a_reply_it_goes_on_as_asked_and_says_so() -> None:
    home = Home()
    answer = home.answered(NO_REPLY)
    assert home.texts == [TIDY.text] and len(home.inquiries) == 1 and answer.text == "in the kitchen"
    assert answer.message == ("nobody said which 'the bedroom' is meant (the main bedroom, the second bedroom, any of "
                              "them): understood as asked")


def test_any_of_them_is_an_answer_too() -> None:
    home = Home()
    assert home.answered(3).message == "'the bedroom' was understood as any of them" and home.texts == [TIDY.text]


def test_one_reply_may_lead_to_another_inquiry_and_that_ends() -> None:
    home = Home()
    home.answered(1, Question("Is the bed in Narnia made?"))
    assert [i.text for i in home.inquiries] == ["I know no Narnia: what is meant?"]
    home = Home()
    home.answered(1, Question("Is Bobbo in Narnia?"))
    assert [i.text for i in home.inquiries] == ["I know no Bobbo: what is meant?", "I know no Narnia: what is meant?"]


@pytest.mark.parametrize("question", [Question("Where is the kettle?"), TIDY._replace(choices=("yes", "no"))])
def test_clear_questions_and_those_of_benchmarks_ask_nothing(question: Question) -> None:
    home = Home()
    assert home.answered(1, question).message == "" and not home.inquiries


def test_nothing_is_asked_unless_that_is_set() -> None:
    home = Home()
    assert home.answered(1, ask_back=False).message == "" and not home.inquiries and home.texts == [TIDY.text]
    assert not AgentConfig().ask_back


def test_options_from_a_simulators_labels_are_told_in_the_receipt() -> None:
    assert "labels" in Home(privileged=True).answered(1).receipt.privileged
    assert "labels" not in Home(privileged=False).answered(1).receipt.privileged


def test_a_memory_that_fails_is_the_named_end_of_the_question() -> None:
    answer = Home(lost_memory=True).answered(1)
    assert answer.error is ErrorCode.STORAGE and "cannot be read" in answer.message


def test_while_it_waits_for_its_turn_an_unclear_question_is_left_alone() -> None:
    home = Home()
    ports = Ports(home, home, home, home, home)
    for question, unclear in ((TIDY, True), (Question("Where is the kettle?"), False)):
        episode = Agent(ports, AgentConfig(ask_back=True)).episode(question, home.told.append, lambda: False)
        assert episode.unclear() is unclear
        if unclear:
            assert WaitingQuestion(episode).consider() is None and not home.texts


CLOX = Question("How many clox?", "q")
WHY, MAY_BE_MEANT = "I do not understand 'clox'.", ("How many clocks are there?", "Where is the clock?")
REFUSED = f"{WHY} Did you mean: How many clocks are there? Where is the clock?"


@pytest.fixture
def parser(monkeypatch: pytest.MonkeyPatch) -> None:
    """A parser that understands all questions but those with "clox"."""
    def understand(text: str) -> Understood:
        return Understood(None, why=WHY, suggestions=MAY_BE_MEANT) if "clox" in text else Understood(
            Query("count"), said=f"as in {text}")

    monkeypatch.setattr(resolving, "understand", understand)


@dataclass
class RuleHome(Home):
    """A home whose answerer takes only what the parser understands."""

    def why_unanswerable(self, question: Question) -> str:
        return resolving.understand(question.text).refusal


def test_a_suggestion_that_the_person_chooses_is_asked_instead(parser: None) -> None:
    home = RuleHome()
    answer = home.answered(1, CLOX)
    assert [(i.kind, i.text, i.options) for i in home.inquiries] == [
        (WHICH, f"{WHY} Did you mean one of these?", (*MAY_BE_MEANT, NONE_OF_THESE))]
    assert home.texts == [MAY_BE_MEANT[0]] and answer.text == "in the kitchen"
    assert answer.message == "'How many clox?' was understood as How many clocks are there?"
    assert answer.understood == "as in How many clocks are there?"


@pytest.mark.parametrize(("reply", "settings", "message"), [
    (3, {}, WHY), (NO_REPLY, {}, REFUSED), (1, {"ask_back": False}, REFUSED)])
def test_what_is_not_understood_is_never_looked_for(parser: None, reply: int, settings: dict[str, bool],
                                                    message: str) -> None:
    home = RuleHome()
    answer = home.answered(reply, CLOX, **settings)
    assert answer.abstained and not answer.error and answer.confidence == 0.0
    assert answer.message == message and answer.understood == ""
    assert not home.calls and not home.drives and len(home.inquiries) == settings.get("ask_back", True)


def test_a_required_guess_is_made_without_asking_back(parser: None) -> None:
    home = RuleHome()
    answer = home.answered(1, CLOX._replace(force_guess=True))
    assert answer.text and answer.message == f"forced guess: {REFUSED}" and not home.inquiries and not home.drives


def test_an_answerer_that_takes_any_question_is_asked_as_it_is(parser: None) -> None:
    home = Home()
    answer = home.answered(1, CLOX)
    assert home.texts == [CLOX.text] and not home.inquiries and answer.message == "" and answer.understood == ""


@pytest.mark.parametrize("ask_back", [True, False])
def test_while_it_waits_a_question_that_is_not_understood_ends_unless_a_person_will_be_asked(
        parser: None, ask_back: bool) -> None:
    home = RuleHome()
    ports = Ports(home, home, home, home, home)
    episode = Agent(ports, AgentConfig(ask_back=ask_back)).episode(CLOX, home.told.append, lambda: False)
    answer = WaitingQuestion(episode).consider()
    assert answer is None if ask_back else answer is not None and answer.message == REFUSED


@pytest.mark.parametrize("text", (UNREADABLE | IMPROPER).values(), ids=UNREADABLE | IMPROPER)
@pytest.mark.parametrize("ask_back", [True, False])
@pytest.mark.parametrize("guess", [True, False])
def test_bad_input_ends_in_one_sentence_whatever_answers(text: str, ask_back: bool, guess: bool) -> None:
    home = Home()
    answer = home.answered(1, Question(text, force_guess=guess), ask_back=ask_back)
    assert answer.message == (unreadable(text.strip()) or improper(text)) and not answer.text and answer.abstained
    assert answer.error is (ErrorCode.BAD_QUESTION if unreadable(text) else ErrorCode.NONE)
    assert not home.calls and not home.drives and not home.inquiries and not answer.understood
