"""Houses with chores: tools lie about, and some objects are dirty, dusty, dry, flat or broken. Scenes "house:7+chores".

They are drawn from a separate random stream and added to a copy, so a house without "+chores" stays byte-identical.
"""

from __future__ import annotations

from dataclasses import replace

from sim_bridge.house.actions import TABLE
from sim_bridge.house.catalogue import KINDS
from sim_bridge.house.dice import Dice
from sim_bridge.house.handling import REACH_UP_M, made, rebuilt, spots
from sim_bridge.house.scene import House, HouseObject

_SALT = 9_000_011  # seed offset, so that the random stream differs from the house's own
_TOOLS, _CONDITIONS = 12, 9  # maximum number of tools, and of objects that begin in a condition
_HIGH_M = min(1.3, REACH_UP_M)  # tools lie no higher


def with_chores(house: House) -> House:
    """Return a copy of a house with tools and conditions; the same house always gets the same ones."""
    dice = Dice(house.seed + _SALT)
    house = replace(house, objects=_conditioned(house.objects, dice))
    for kind in _pairs_first(house, dice)[:_TOOLS]:
        tool = made(kind, 1 + max(t.id for t in house.objects), dice, TABLE.tools[kind])
        placed = _put_down(house, tool, dice)
        if placed is not None:
            house = replace(house, objects=[*house.objects, placed])
    return house


def _conditioned(objects: list[HouseObject], dice: Dice) -> list[HouseObject]:
    """Return the objects, one of each condition drawn changed."""
    changed: dict[int, HouseObject] = {}
    for state in dice.shuffled(list(TABLE.conditions)):
        fitting = [t for t in objects if t.kind in TABLE.conditions[state] and t.id not in changed
                   and KINDS[t.kind].states == ("",) and sum(u.kind == t.kind for u in objects) == 1]
        if fitting and len(changed) < _CONDITIONS:
            obj = dice.pick(fitting)
            changed[obj.id] = rebuilt(obj, state)
    return [changed.get(t.id, t) for t in objects]


def _pairs_first(house: House, dice: Dice) -> list[str]:
    """Return the tools in random order, those first that a condition or another tool of the house asks for."""
    begun = {(t.kind, t.state) for t in house.objects}
    asked: set[str] = set()
    for rule in TABLE.actions.values():
        if any((kind, state) in begun for kind in rule.object for state in rule.state):
            asked |= set(rule.held)
    tools = dice.shuffled(list(TABLE.tools))
    return sorted(tools, key=lambda kind: kind not in asked)


def _put_down(house: House, tool: HouseObject, dice: Dice) -> HouseObject | None:
    """Return the tool on a free place of some piece of furniture, None if it fits nowhere."""
    supports = [t for t in house.objects if t.relation == "floor" and t.size[2] <= _HIGH_M]
    for support in dice.shuffled(supports):
        free = [t for t in spots(house, support, tool) if t.relation == "on" and t.position[2] <= _HIGH_M]
        if free:
            return dice.pick(free)
    return None
