"""The order of things, with ports that are told what to say."""

from __future__ import annotations

import pytest

from eqa_nodes.core.agent.config import AgentConfig
from eqa_nodes.core.agent.questions import Agent, WaitingQuestion
from eqa_nodes.core.answerers.label.answerer import LabelAnswerer
from eqa_nodes.core.errors import Canceled, EqaError, ErrorCode, ModelError, NavigationError, NodeLost, StaleData
from eqa_nodes.core.language.understanding import understand
from eqa_nodes.core.protocols import Ports
from eqa_nodes.core.types.questions import Limits, Question, Recollection
from tests.fixtures.agent_world import QUESTION, World


def test_it_explores_until_a_view_promises_an_answer() -> None:
    world = World({3: 0.8})
    answer = world.ask()
    assert answer.text == "in the kitchen" and answer.confidence == 0.9
    assert world.calls == ["regions", "look", "assess", "drive", "assess", "drive", "assess", "answer"]


def test_an_answer_is_confirmed_before_it_is_given() -> None:
    world = World({1: 0.8}, confirms=2)
    assert world.ask().text == "in the kitchen"
    assert world.calls == ["regions", "look", "assess", "answer", *2 * ["drive", "keep", "assess", "answer"]]


def test_what_the_second_look_showed_is_among_what_is_answered_from() -> None:
    world, shown = World(dict.fromkeys(range(1, 9), 0.8), confirms=3), []
    answer = world.answer
    world.answer = lambda question, items: shown.append([i.keyframe.id for i in items]) or answer(question, items)  # type: ignore[method-assign, func-returns-value]
    world.ask(recall_limit=2)
    assert shown == [[1], [1, 2], [1, 3], [1, 4]]


def test_a_look_alike_that_does_not_stand_a_second_look_is_not_the_answer() -> None:
    world = World({1: 0.8}, confirms=1, after_confirming=0.3, goals=2)
    answer = world.ask()
    assert world.calls.count("drive") == 3 and answer.confidence == 0.3  # went on, and says how unsure it stays


@pytest.mark.parametrize("lost", [NavigationError("transforms failed"), StaleData("no map from 7 s"),
                                  NodeLost("navigator did not answer")])
def test_a_sure_answer_stays_without_an_error_when_the_look_that_confirms_it_fails(lost: EqaError) -> None:
    answer = World({1: 0.8}, confirms=1, lost=lost).ask()
    assert answer.text == "in the kitchen" and answer.confidence == 0.9 and answer.error == ErrorCode.NONE
    assert answer.message == f"not confirmed by a second look: {lost}"


def test_a_drive_that_fails_before_an_answer_is_sure_is_an_error() -> None:
    answer = World({3: 0.8}, lost=NavigationError("transforms failed")).ask()
    assert answer.error == ErrorCode.NAVIGATION and answer.message == "transforms failed"


@pytest.mark.parametrize("lost", [Canceled("called off"), ModelError("the model is gone")])
def test_what_is_no_failure_of_a_drive_ends_the_question_also_while_it_is_confirmed(lost: EqaError) -> None:
    answer = World({1: 0.8}, confirms=1, lost=lost).ask()
    assert answer.error == lost.code


def test_confirming_ends() -> None:
    world = World({1: 0.8}, confirms=1000)
    world.ask(max_confirmations=2)
    assert world.calls.count("drive") == 2


@pytest.mark.parametrize("limits", [Limits(steps=2), Limits(metres=2.0), Limits(calls=3)])
def test_limits_end_the_search_with_what_is_known(limits: Limits) -> None:
    world = World({}, goals=50)
    answer = Agent(Ports(world, world, world, world, world)).ask(QUESTION._replace(limits=limits))
    assert answer.error is ErrorCode.NONE and world.drives <= 3 and world.calls[-1] == "answer"


class Labels(World):
    """The same ports with the rules over labels as the answerer's word on what it understands."""

    memory_knows = False

    def why_unanswerable(self, question: Question) -> str:
        return LabelAnswerer().why_unanswerable(question)

    def recollect(self, question: str) -> Recollection | None:  # type: ignore[override]
        return Recollection("in the hall", 0.9, ()) if self.memory_knows else None


@pytest.mark.parametrize("explore", ["asking", "first", "never"])
def test_nothing_moves_for_a_question_that_nobody_understands(explore: str) -> None:
    world = Labels({1: 0.8})
    answer = Agent(Ports(world, world, world, world, world), AgentConfig(explore=explore)).ask(Question("sofa"))
    assert (answer.abstained, answer.error, world.calls) == (True, ErrorCode.NONE, [])
    assert answer.message == understand("sofa").refusal and not answer.understood


def test_a_guess_at_such_a_question_moves_nothing_either() -> None:
    world = Labels({1: 0.8})
    agent = Agent(Ports(world, world, world, world, world))
    answer = agent.ask(Question("sofa", force_guess=True))
    assert world.calls == ["answer"] and not answer.abstained and answer.message.startswith("forced guess")


def test_what_memory_itself_answers_needs_no_rule() -> None:
    world = Labels({1: 0.8})
    asked = Question("When did you last see the parcel?")
    agent = Agent(Ports(world, world, world, world, world))
    assert LabelAnswerer().why_unanswerable(asked) and agent.ask(asked).abstained
    world.memory_knows = True
    assert agent.ask(asked).text == "in the hall"


def test_a_question_that_waits_and_that_nobody_understands_ends_at_once() -> None:
    world = Labels({1: 0.8})
    episode = Agent(Ports(world, world, world, world, world)).episode(
        Question("sofa"), lambda progress: None, lambda: False)
    answer = WaitingQuestion(episode).consider()
    assert answer is not None and answer.message == understand("sofa").refusal and world.calls == []
