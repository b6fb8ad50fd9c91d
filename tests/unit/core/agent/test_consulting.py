"""One call a decision: what the model is asked, what becomes of its reply, and when it is not asked."""

from __future__ import annotations

import pytest

from eqa_nodes.core.agent.config import AgentConfig
from eqa_nodes.core.agent.questions import Agent
from eqa_nodes.core.errors import LimitReached
from eqa_nodes.core.protocols import Ports
from eqa_nodes.core.types.advice import DecisionReply, DecisionRequest, TargetNote
from eqa_nodes.core.types.floor import WeighedOption
from eqa_nodes.core.types.questions import Limits, Question
from tests.fixtures.agent_world import DOOR, FLOOR, GOAL, QUESTION, Consulted, view


def test_each_leg_costs_one_call_and_its_advice_reaches_the_policy() -> None:
    world = Consulted({})
    answer = world.ask()
    assert answer.text == "on the stove" and answer.confidence == 0.9
    assert world.calls == ["look", "advise", "drive", "advise", "drive", "advise"]
    assert world.advice == [(WeighedOption(DOOR, 0.8, "kitchen"), WeighedOption(FLOOR, 0.1, ""))] * 2


def test_the_model_is_told_what_it_said_and_where_the_robot_went() -> None:
    world = Consulted({})
    world.ask()
    assert world.briefs[0].notes == () and world.briefs[0].visited == ()
    came, missed = world.briefs[2].notes
    assert came == "Reasons 1. Missing: the stove. The robot was then sent to a doorway (kitchen by your guess)."
    assert missed == came.replace("1", "2").removesuffix(".") + ", but did not get there."
    assert world.briefs[1].visited == world.briefs[2].visited == ("hallway",), "where the model saw it stand"


def test_what_it_named_is_shown_again_with_what_is_new() -> None:
    world = Consulted({})
    world.ask()
    assert world.briefs[1].views[0] == view(1) and world.briefs[1].now == (2,)


def test_whoever_waits_hears_that_a_model_is_asked() -> None:
    world, phases = Consulted({}), list[str]()
    Agent(Ports(world, world, world, world, world), AgentConfig(consult=True),
          listener=lambda p: phases.append(p.phase) if p.call is None else None).ask(QUESTION)
    assert phases.count("deciding") == world.calls.count("advise") == 3


def test_without_an_answer_the_last_call_is_kept_for_the_end() -> None:
    world = Consulted({}, enough_after=99)
    answer = Agent(Ports(world, world, world, world, world), AgentConfig(consult=True)).ask(
        QUESTION._replace(limits=Limits(calls=3)))
    assert world.calls.count("advise") == 3 and "answer" not in world.calls
    assert answer.abstained and answer.receipt.limit == "3 model calls"
    assert [brief.calls_left for brief in world.briefs] == [2, 1, -1]
    assert world.calls == ["look", "advise", "drive", "advise", "drive", "advise"], "the last call sees something new"
    assert world.briefs[2].options == (), "there is nowhere to go any more: it answers as well as it can"


def test_a_last_call_that_cannot_be_made_leaves_what_was_found_before() -> None:
    world = Consulted({}, enough_after=99)
    advise = world.advise

    def twice(question: Question, brief: DecisionRequest) -> DecisionReply:  # after a last reply of no use
        if len(world.briefs) == 2:
            raise LimitReached("calls: the question may make no more of them")
        return advise(question, brief)

    world.advise = twice  # type: ignore[method-assign]
    answer = Agent(Ports(world, world, world, world, world), AgentConfig(consult=True)).ask(
        QUESTION._replace(limits=Limits(calls=3)))
    assert answer.abstained and "answer" not in world.calls
    assert answer.message.startswith("Reasons 2; the robot was in: hallway; not seen: the stove")


def test_a_second_look_is_one_more_call() -> None:
    world = Consulted({}, enough_after=1, confirms=1)
    answer = world.ask()
    assert answer.text == "on the stove"
    assert world.calls == ["look", "advise", "drive", "keep", "advise"]
    assert [proof.keyframe_id for proof in answer.evidence] == [2], "what it names after the second look"


def test_a_policy_without_options_has_its_views_judged_as_before() -> None:
    world = Consulted({2: 0.8}, lists=False)
    assert world.ask().text == "in the kitchen"
    assert world.calls == ["regions", "look", "assess", "drive", "assess", "answer"]


def test_an_answerer_that_takes_no_briefs_judges_as_before() -> None:
    world = Consulted({2: 0.8}, advises=False)
    assert world.ask().text == "in the kitchen" and "advise" not in world.calls


def test_nothing_is_judged_on_the_way() -> None:
    world = Consulted({}, enough_after=2)
    assert world.ask(assess_while_driving=True).text == "on the stove" and "assess" not in world.calls


def test_a_goal_far_from_every_option_is_not_noted() -> None:
    world = Consulted({}, enough_after=2, goals=5)
    world.options = lambda question, assessments: [FLOOR]  # type: ignore[method-assign, assignment, misc]
    world.ask()
    assert GOAL.x != FLOOR.x and "sent" not in world.briefs[1].notes[0]


def test_an_answer_that_it_repeats_is_given() -> None:
    world = Consulted({}, enough_after=1, sure=0.6, goals=50, stays=True)
    answer = world.ask()
    assert world.calls.count("advise") == 3 and (answer.text, answer.confidence) == ("on the stove", 0.6)


def test_the_same_answer_from_another_place_makes_it_surer() -> None:
    world = Consulted({}, enough_after=1, sure=0.6, goals=50)
    answer = world.ask()
    assert world.calls.count("advise") == 2 and answer.confidence == pytest.approx(1 - 0.4 ** 1.5)


def test_an_answer_that_it_hardly_believes_is_not() -> None:
    world = Consulted({}, enough_after=1, sure=0.3, goals=6)
    answer = world.ask()
    assert world.calls.count("advise") == 8 and answer.text == "on the stove", "all drives, and once more at the end"


BED, SOFA, RED_SOFA = TargetNote("bed", "its blanket is blue"), TargetNote("sofa"), TargetNote("sofa", "red")


def test_no_answer_is_given_before_all_that_the_question_is_about_is_known() -> None:
    world = Consulted({}, enough_after=1, goals=50, targets=((BED, SOFA), (BED, SOFA), (BED, RED_SOFA)))
    assert world.ask().text == "on the stove" and world.calls.count("advise") == 3
    assert [brief.targets for brief in world.briefs] == [(), (BED, SOFA), (BED, SOFA)], "it is reminded of them"


def test_nor_is_one_that_it_repeats() -> None:
    world = Consulted({}, enough_after=1, sure=0.6, goals=8, stays=True, targets=((BED, SOFA),))
    assert world.ask().text == "on the stove"
    assert world.calls.count("advise") == 9 + 1, "after each look, and once more at the end"


def test_targets_that_it_does_not_name_again_stay() -> None:
    world = Consulted({}, enough_after=1, goals=3, targets=((SOFA,), ()))
    world.ask()
    assert all(brief.targets == (SOFA,) for brief in world.briefs[1:])


def test_the_last_call_shows_twice_the_pictures() -> None:
    world = Consulted({}, enough_after=99, goals=12)
    world.ask(pictures=3)
    assert len(world.briefs[-1].views) == 6 and world.briefs[-1].options == ()
    assert all(len(brief.views) <= 3 for brief in world.briefs[:-1])


def test_a_search_ends_when_the_model_names_no_place_three_times_in_a_row() -> None:
    world = Consulted({}, enough_after=99, goals=50, useful=2)
    answer = world.ask()
    assert world.calls.count("drive") == 2 + 2, "the policy chose two places more"
    assert world.calls.count("advise") == 2 + 3 + 1 and world.briefs[-1].options == ()
    assert answer.abstained and answer.message.endswith("the model saw no place left where a look would help")


def test_a_search_without_an_answer_says_what_was_searched() -> None:
    answer = Consulted({}, enough_after=99, goals=2).ask()
    assert answer.abstained and answer.message.startswith("Reasons 4; the robot was in: hallway; not seen: the stove")
