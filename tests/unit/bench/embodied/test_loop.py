"""The loop of a task: when it ends, what counts as done, and what the agent is told."""

from __future__ import annotations

from dataclasses import replace

import pytest

from eqa_nodes.bench.embodied.tasks import FORWARD, LEFT, RIGHT, Predicate
from tests.fixtures.tasks import NO, TASK, YES, Plain, do


def test_a_task_is_done_when_all_predicates_hold() -> None:
    outcome = do([FORWARD, "yes"])
    assert outcome.predicates == (True, True) and outcome.answer == "yes" and outcome.metres == 2.0
    assert [log.done_after_action for log in outcome.steps] == [0, 1]
    assert len(outcome.poses) == len(outcome.frames) == 3
    assert outcome.poses[-1] == pytest.approx((2.0, 0.0, 0.0))


def test_an_answer_is_final() -> None:
    assert [log.done_after_action for log in do(["no", FORWARD, "yes"]).steps] == [-1]
    early = do(["yes", FORWARD], max_steps=3)  # right, but it has not been where it should: the task goes on
    assert [log.done_after_action for log in early.steps] == [0, 0, 0]
    assert [log.predicates_done for log in early.steps] == [(1, 0), (0, 1), (0, 1)]  # right only when it is given
    assert do(["yes", FORWARD, "yes"]).done


@pytest.mark.parametrize(("script", "done"), [
    ([FORWARD, "yes"], (1, 1)), ([FORWARD, "no"], (-1,)), ([FORWARD], (0, 1)), (["no"], (-1,)), (["yes"], (1, 0))])
def test_predicates_end_with_the_first_that_can_no_longer_be(script: list[str], done: tuple[int, ...]) -> None:
    outcome = do(script, max_steps=2)
    assert outcome.steps[-1].predicates_done == outcome.predicates_done == done
    assert outcome.predicates == tuple(value == 1 for value in done)


def test_steps_end_a_task_and_wasted_ones_count() -> None:
    outcome = do([LEFT, "fly", RIGHT], max_steps=5)
    assert len(outcome.steps) == 5 and not all(outcome.predicates)
    assert [log.unusable for log in outcome.steps] == ["", "'fly' is not on the menu", "", "the script has ended",
                                                           "the script has ended"]
    assert outcome.steps[1].feedback.startswith("failed") and outcome.steps[1].action_choice == -1
    assert outcome.steps[-1].options == (YES, NO)  # of a question, the last step offers nothing but answers


def test_what_is_in_the_way_stops_the_agent() -> None:
    outcome = do([FORWARD], world=Plain(shut=True), max_steps=2)
    assert outcome.steps[0].feedback == "failed: something is in the way" and outcome.poses[0] == outcome.poses[1]


def test_handling_is_told_to_the_predicates() -> None:
    task = replace(TASK, kind="ObjectInteraction", predicates=(Predicate("grab", object=9),
                                                               Predicate("grab_once", object=9)))
    assert all(do(["pick up the mug"], task).predicates)
