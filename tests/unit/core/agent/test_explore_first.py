"""Exploring first, whatever is asked: nobody is asked on the way, and evenly spaced views answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from eqa_nodes.core.agent.config import AgentConfig
from eqa_nodes.core.agent.questions import Agent
from eqa_nodes.core.errors import ConfigError, ErrorCode
from eqa_nodes.core.protocols import Ports
from eqa_nodes.core.types.floor import Allowance, NavCode, NavResult
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Answer, Limits, Question, Recalled, Recollection
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


def test_what_was_promised_on_the_way_ends_no_drive() -> None:
    world = Shown({1: 1.0}, goals=2)
    config = AgentConfig(explore="first", assess_while_driving=True)
    Agent(Ports(world, world, world, world, world), config).ask(QUESTION)
    assert "assess" not in world.calls


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


def test_a_robot_that_does_not_move_is_a_failure() -> None:
    class Stuck(Shown):
        def go_to(self, goal: Pose2, deadline_s: float, allowance: Allowance, what: str = "drive") -> NavResult:
            return NavResult(NavCode.BLOCKED)

    assert ask(Stuck({}, goals=50)).error is ErrorCode.NAVIGATION


def test_the_blind_answer_at_once() -> None:
    world = Shown({}, seen=2)
    assert ask(world, explore="never").text == "in the kitchen"
    assert (world.calls, world.items, world.drives) == (["answer"], [], 0)


def test_an_unknown_way_to_explore_is_refused() -> None:
    with pytest.raises(ConfigError, match="'last': known are asking, first, never, newest"):
        ask(Shown({}), explore="last")
