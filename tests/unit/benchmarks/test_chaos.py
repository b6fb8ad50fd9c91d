"""The drill's schedule repeats itself, and faults of the wire are what they say."""

from __future__ import annotations

from collections import Counter

import pytest

from benchmarks.chaos.schedule import DECK, schedule
from eqa_nodes.core.errors import ConfigError


def test_the_same_seed_draws_the_same_episodes() -> None:
    assert schedule(50, 1) == schedule(50, 1) != schedule(50, 2)


def test_a_hundred_episodes_hold_every_kind_as_often_as_the_deck_says() -> None:
    plans = schedule(100, 1)
    assert Counter(plan.faults[0].kind for plan in plans) == {kind: 4 * count for kind, count in DECK.items()}
    worlds = [plan.world for plan in plans]
    assert worlds == sorted(worlds, key=worlds.index), "graphs of a kind follow each other"
    assert len({plan.seed for plan in plans}) == 100
    killed = {fault.victim for plan in plans for fault in plan.faults if fault.kind == "kill"}
    assert len(killed) == 8


def test_an_episode_does_not_depend_on_how_it_was_chosen() -> None:
    assert schedule(3, 1, ["kill", "lost", "kill"])[2] == schedule(6, 1, ["kill", "lost", "kill"] * 2)[2]


def test_questions_can_be_chosen_and_the_faults_stay() -> None:
    chosen = schedule(30, 1, cases=("sofas",))
    assert {plan.case for plan in chosen if plan.world == "label"} == {"sofas"}
    assert [plan.faults for plan in chosen] == [plan.faults for plan in schedule(30, 1)]


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ConfigError, match="unknown question 'cat': known are bed, board"):
        schedule(1, 1, cases=["cat"])
    with pytest.raises(ConfigError, match="unknown kind of fault 'flood': known are clock, disk full, duplicated"):
        schedule(1, 1, ["flood"])
