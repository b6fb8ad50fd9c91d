"""Exploring first, and judging only the newest view: what is asked, what answers, and how the search ends."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from eqa_nodes.core.agent.config import AgentConfig
from eqa_nodes.core.agent.questions import Agent
from eqa_nodes.core.errors import ConfigError, ErrorCode
from eqa_nodes.core.ledger import limit_in_words
from eqa_nodes.core.protocols import Ports
from eqa_nodes.core.types.floor import Decision, WeighedOption
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import (
    Answer,
    Limits,
    Question,
    RankedRegion,
    Recalled,
    Recollection,
    ViewAssessment,
)
from eqa_nodes.core.types.views import Keyframe
from tests.fixtures.agent_world import QUESTION, World


@dataclass
class Shown(World):
    """Notes which views the answer is made from."""

    items: list[int] = field(default_factory=list)

    def answer(self, question: Question, items: Sequence[Recalled]) -> Answer:
        self.items = [item.keyframe.id for item in items]
        return super().answer(question, items)

    def recollect(self, question: str) -> Recollection:  # type: ignore[override]
        raise AssertionError("memory of things is no part of the papers' agents")


def ask(world: World, question: Question = QUESTION, explore: str = "first", recall_limit: int = 3) -> Answer:
    return Agent(Ports(world, world, world, world, world),
                 AgentConfig(explore=explore, recall_limit=recall_limit)).ask(question)


def test_nobody_is_asked_before_all_is_explored() -> None:
    world = Shown({1: 1.0}, goals=4)  # the first view would be enough
    answer = ask(world)
    assert world.calls == ["look", *4 * ["drive"], "answer"]
    assert world.items == [1, 3, 5] and answer.text == "in the kitchen"


@pytest.mark.parametrize("limits", [Limits(steps=3), Limits(metres=3.0)])
def test_a_limit_ends_the_exploration_and_the_answer_follows(limits: Limits) -> None:
    world = Shown({}, goals=50)
    assert ask(world, QUESTION._replace(limits=limits)).error is ErrorCode.NONE
    assert world.drives == 3 and world.calls[-1] == "answer"


def test_who_may_not_explore_answers_from_what_was_seen() -> None:
    world = Shown({}, seen=2)
    ask(world, QUESTION._replace(may_explore=False))
    assert (world.calls, world.items) == (["answer"], [1, 2])


def test_without_a_view_it_abstains() -> None:
    answer = ask(Shown({}), QUESTION._replace(may_explore=False))
    assert answer.abstained and "nothing was seen" in answer.message


def test_the_blind_answer_at_once() -> None:
    world = Shown({}, seen=2)
    assert ask(world, explore="never").text == "in the kitchen"
    assert (world.calls, world.items, world.drives) == (["answer"], [], 0)


def test_an_unknown_way_to_explore_is_refused() -> None:
    with pytest.raises(ConfigError, match="'last': known are asking, first, never, newest"):
        ask(Shown({}), explore="last")


@dataclass
class OneByOne(World):
    """Each drive shows three views, at x = 1, 2, 3 and so on, and ends in the last of them."""

    judged_ids: list[int] = field(default_factory=list)
    answers: list[tuple[list[int], bool]] = field(default_factory=list)
    limit: str = ""

    def last(self) -> tuple[int, Pose2]:
        return self.seen, Pose2(float(self.seen), 0.0, 0.0)

    def go_to(self, *args: object, **named: object) -> object:  # type: ignore[override]
        self.seen += 2
        return super().go_to(*args, **named)  # type: ignore[arg-type]

    def assess(self, question: Question, views: Sequence[Keyframe]) -> list[ViewAssessment]:
        self.judged_ids += [view.id for view in views]
        return super().assess(question, views)

    def answer(self, question: Question, items: Sequence[Recalled]) -> Answer:
        self.answers.append(([item.keyframe.id for item in items], question.force_guess))
        return super().answer(question, items) if items else Answer("a guess", 0.2)

    def decide(self, question: Question, assessments: Sequence[ViewAssessment], regions: Sequence[RankedRegion],
               advice: Sequence[WeighedOption] = ()) -> Decision:
        decision = super().decide(question, assessments, regions, advice)
        return decision if decision.goal else decision._replace(reason=limit_in_words(self.limit) or "nothing is left")


def judging_newest(world: World, question: Question = QUESTION, **config: object) -> Answer:
    ports = Ports(world, world, world, world, world)
    return Agent(ports, AgentConfig(explore="newest", look_round=False, **config)).ask(question)  # type: ignore[arg-type]


def test_the_first_view_is_judged_before_anything_moves() -> None:
    world = OneByOne({1: 0.9}, seen=1)
    assert judging_newest(world).text == "in the kitchen"
    assert world.calls == ["regions", "assess", "answer"] and world.judged_ids == [1]


def test_only_the_view_in_which_a_drive_ended_is_judged_and_it_alone_answers() -> None:
    world = OneByOne({2: 1.0, 7: 0.5}, seen=1)  # view 2 would answer, but is passed on the way
    answer = judging_newest(world)
    assert world.judged_ids == [1, 4, 7] and world.answers == [([7], True)]
    assert answer.text == "in the kitchen" and world.calls[-1] == "answer"


def test_below_the_threshold_of_the_model_s_confidence_it_goes_on() -> None:
    world = OneByOne({4: 0.79, 7: 0.8}, seen=1)
    judging_newest(world, promise=0.8)
    assert world.judged_ids == [1, 4, 7]


def test_what_the_policy_calls_for_before_an_answer_is_not_driven() -> None:
    world = OneByOne({4: 0.9}, seen=1, answer_confidence=0.1)  # however unsure: it stopped, so it answers
    assert judging_newest(world, enough=0.99).confidence == 0.1 and world.drives == 1


def test_a_view_that_was_judged_is_not_judged_again() -> None:
    class Still(OneByOne):
        def go_to(self, *args: object, **named: object) -> object:  # type: ignore[override]
            answer = super().go_to(*args, **named)
            self.seen -= 3
            return answer

    world = Still({}, seen=1, goals=3)
    judging_newest(world)
    assert world.judged_ids == [1] and world.answers == [([], True)]


def test_where_the_search_ends_it_guesses_from_the_question_alone_and_says_which_limit_it_was() -> None:
    world = OneByOne({}, seen=1, goals=2, limit="3 decisions")
    answer = judging_newest(world)
    assert world.judged_ids == [1, 4, 7] and world.answers == [([], True)]
    assert answer.text == "a guess" and answer.receipt.limit == "3 decisions"
    assert answer.message.endswith("ended by the limit of 3 decisions")


def test_without_the_stopping_model_it_goes_on_to_the_limit_and_answers_from_the_last_view() -> None:
    world = OneByOne({1: 1.0, 4: 0.9}, seen=1, goals=2, limit="3 decisions")
    answer = judging_newest(world, enough=2.0)
    assert world.judged_ids == [1, 4, 7] and world.answers == [([7], True)]
    assert answer.text == "in the kitchen" and answer.receipt.limit == "3 decisions"


def test_a_limit_of_the_question_ends_it_alike() -> None:
    answer = judging_newest(OneByOne({}, seen=1, goals=50), QUESTION._replace(limits=Limits(steps=3)))
    assert (answer.text, answer.receipt.limit) == ("a guess", "3 steps")


def test_where_nothing_is_left_no_limit_is_named() -> None:
    assert judging_newest(OneByOne({}, seen=1, goals=1)).receipt.limit == ""


@pytest.mark.parametrize(("off_m", "turned_deg", "judged"), [(0.149, 7.5, 1), (0.151, 0.0, 2), (0.0, 7.6, 2)])
def test_a_stored_view_from_here_is_judged_else_the_newest(off_m: float, turned_deg: float, judged: int) -> None:
    """Views 1 and 2 are stored; view 1 was taken off_m from where the robot stands."""
    class Between(OneByOne):
        def last(self) -> tuple[int, Pose2]:
            return 2, Pose2(1.0 - off_m, 0.0, math.radians(turned_deg) - 1e-9)

    world = Between({1: 0.9, 2: 0.9}, seen=2)
    judging_newest(world)
    assert world.judged_ids == [judged]
