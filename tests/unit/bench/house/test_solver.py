"""Chains of actions: what each needs is fetched, filled, switched on or put away before."""

from __future__ import annotations

from dataclasses import replace

import pytest

from eqa_nodes.bench.house.solver import Solver
from sim_bridge.house.actions import ACTIONS
from sim_bridge.house.dice import Dice
from sim_bridge.house.handling import made
from sim_bridge.house.questions.facts import HouseFacts
from sim_bridge.house.scene import House
from tests.fixtures.houses import two_rooms


def house(*objects: tuple[str, str]) -> House:
    """Return two rooms with these objects (kind, state) in the kitchen, from id 50 on."""
    home = two_rooms()
    home.objects += [replace(made(kind, 50 + k, Dice(k), state), position=(5.5 + 0.4 * k, 1.0, 0.0), room=1)
                     for k, (kind, state) in enumerate(objects)]
    return home


def steps(action: str, *objects: tuple[str, str]) -> list[tuple[str, str]] | None:
    """Return (action, kind) of each step that ends with an action on the first object."""
    home = house(*objects)
    work = Solver(HouseFacts(home)).work(ACTIONS[action], home.object_by_id(50))
    return None if work is None else [(step.rule.name, step.object.kind) for step in work]


WATER = [("house plant", "dry"), ("watering can", "empty"), ("kitchen sink", "off")]


def test_what_is_needed_comes_first() -> None:
    assert steps("water", *WATER) == [("switch_on", "kitchen sink"), ("pick", "watering can"),
                                      ("fill", "watering can"), ("water", "house plant")]
    assert steps("unlock", ("cash box", "locked"), ("key", "")) == [("pick", "key"), ("unlock", "cash box")]
    assert steps("switch_off", ("floor lamp", "on")) == [("switch_off", "floor lamp")]
    assert steps("eat", ("bread", "whole"), ("bread knife", ""), ("toaster", "")) == [
        ("pick", "bread knife"), ("slice", "bread"), ("place", "dining table"), ("pick", "bread"), ("toast", "bread"),
        ("place", "dining table"), ("eat", "bread")]


@pytest.mark.parametrize("missing", [1, 2])
def test_there_is_none_if_something_is_missing(missing: int) -> None:
    assert steps("water", *(pair for k, pair in enumerate(WATER) if k != missing)) is None
    assert steps("water", ("floor lamp", "on")) is None
