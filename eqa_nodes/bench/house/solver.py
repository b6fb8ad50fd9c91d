"""Finds the actions that bring a house into a wanted state: fetch the watering can, turn on the tap, fill it, water.

The actions of actions.yaml are chained backwards from the last one: what it needs in the hand, within reach and in
which state is brought about by other actions. Privileged: only for generating tasks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sim_bridge.house.actions import ACTIONS, HANDS, LOSE, NOTHING, OBJECT, PUT, TAKE, ActionRule
from sim_bridge.house.handling import belongs, liftable, meant, surfaces_of
from sim_bridge.house.questions.facts import HouseFacts
from sim_bridge.house.scene import HouseObject

_DEEPEST = 4  # maximum number of actions that prepare for each other


class WorkStep(NamedTuple):
    """One action on an object. beside: an object that must be within reach as well."""

    rule: ActionRule
    object: HouseObject
    beside: HouseObject | None = None


class Solver:
    """Chains actions in one house."""

    def __init__(self, facts: HouseFacts) -> None:
        self._facts = facts
        self._named = [t for t in facts.objects if facts.name(t) is not None]

    def work(self, rule: ActionRule, obj: HouseObject, held: HouseObject | None = None) -> list[WorkStep] | None:
        """Return the actions that end with this one, None if there are none. held: what the robot holds before."""
        chain = _Chain(self._named, held)
        return chain.steps if chain.do(rule, obj, 0) else None


class _Chain:
    """The actions so far, and what they have changed."""

    def __init__(self, named: Sequence[HouseObject], held: HouseObject | None) -> None:
        self._named, self._held = named, held
        self._states: dict[int, str] = {}
        self.steps: list[WorkStep] = []

    def do(self, rule: ActionRule, obj: HouseObject, depth: int) -> bool:
        """Append an action and what it needs before; return whether that is possible."""
        if depth > _DEEPEST or not belongs(obj, rule):
            return False
        wanted = [meant(obj.kind, rule, state) for state in rule.state]
        if wanted and self._state(obj) not in wanted and not self._bring_about(obj, wanted, depth):
            return False
        beside = self._beside(rule, depth)
        if (rule.near and beside is None) or not self._take_what_is_needed(rule, obj, depth):
            return False
        self.steps.append(WorkStep(rule, obj, beside))
        if rule.becomes:
            self._states[obj.id] = meant(obj.kind, rule, rule.becomes)
        if self._held is not None and rule.held_becomes:
            self._states[self._held.id] = rule.held_becomes
        if rule.hand == TAKE:
            self._held = obj
        elif rule.hand in (PUT, LOSE):
            self._held = None
        return True

    def _state(self, obj: HouseObject) -> str:
        return self._states.get(obj.id, obj.state)

    def _bring_about(self, obj: HouseObject, states: Sequence[str], depth: int) -> bool:
        """Bring an object into one of some states by the first action that can."""
        for rule in ACTIONS.values():
            if rule.becomes and meant(obj.kind, rule, rule.becomes) in states and belongs(obj, rule) \
                    and self._tried(rule, obj, depth):
                return True
        return False

    def _tried(self, rule: ActionRule, obj: HouseObject, depth: int) -> bool:
        before = self._held, dict(self._states), list(self.steps)
        if self.do(rule, obj, depth + 1):
            return True
        self._held, self._states, self.steps = before
        return False

    def _beside(self, rule: ActionRule, depth: int) -> HouseObject | None:
        """Return an object that must be within reach, in the state that the action needs."""
        for kind in rule.near:
            for obj in (t for t in self._named if t.kind == kind):
                ready = not rule.near_state or self._state(obj) in rule.near_state
                if ready or self._bring_about(obj, rule.near_state, depth):
                    return obj
        return None

    def _take_what_is_needed(self, rule: ActionRule, obj: HouseObject, depth: int) -> bool:
        """Bring the hand into the state that an action needs."""
        wanted = rule.held
        if not wanted:
            return True
        if wanted == (NOTHING,):
            return self._held is None or self._put_away(depth)
        if wanted == (OBJECT,):
            return self._fetch(obj, depth)
        if wanted[0] in HANDS:
            return self._held is not None
        if self._held is not None and self._held.kind in wanted and self._fits(rule, self._held):
            return True
        tools = [t for kind in wanted for t in self._named if t.kind == kind and liftable(t) and t.id != obj.id]
        for tool in tools:
            if self._fits(rule, tool) or self._bring_about(tool, rule.held_state, depth):
                return self._fetch(tool, depth)
        return False

    def _fits(self, rule: ActionRule, tool: HouseObject) -> bool:
        return not rule.held_state or self._state(tool) in rule.held_state

    def _fetch(self, obj: HouseObject, depth: int) -> bool:
        if self._held is obj:
            return True
        if self._held is not None and not self._put_away(depth):
            return False
        return self.do(ACTIONS["pick"], obj, depth + 1)

    def _put_away(self, depth: int) -> bool:
        """Put what is held on the first object that has a surface and a name, in the room where it was taken from."""
        held = self._held
        where = [t for t in self._named if t.relation == "floor" and any(s.relation == "on" for s in surfaces_of(t))]
        where.sort(key=lambda t: held is not None and t.room != held.room)
        return any(self._tried(ACTIONS["place"], t, depth) for t in where[:1])
