"""Goal predicates: conditions of a task that are true now or were once (EmbodiedEval, table 4; states of the house)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from eqa_nodes.bench.embodied.tasks import Predicate
from eqa_nodes.bench.embodied.world import SimulatedWorld

NEAR_M = 1.5  # agent_near, near, not_near: horizontal distance
AT_M = 0.3  # agent_at, agent_pass, at: horizontal distance; not_at: distance in space
CLOSER_M, FURTHER_M = 2.0, 1.0  # closer, further: change of the horizontal distance since the start
LOOKED_AT = 400 / (640 * 480)  # looking_at: share of the image that the object must fill, as in a target view

Place = tuple[float, ...]  # x, y and perhaps z, metres, map frame


@dataclass
class EpisodeFacts:
    """The state of an episode so far. places: of the points; point: where the agent is; answer: the last chosen one.

    chosen: the answer of the current step, "" = none; passed: points that the agent was at after a step;
    apart: distances of the pairs of closer and further at the start.
    """

    places: Mapping[int, Place]
    point: int
    passed: set[int] = field(default_factory=set)
    grabbed: set[int] = field(default_factory=set)
    succeeded: set[str] = field(default_factory=set)
    answer: str = ""
    chosen: str = ""
    apart: dict[Predicate, float] = field(default_factory=dict)

    def here(self, point: int) -> bool:
        """Return whether the agent is at a point: it stands on it, or closer than AT_M to it."""
        return self.point == point or _flat(self.places[self.point], self.places[point]) < AT_M

    def begin(self, predicates: Sequence[Predicate], facts: SimulatedWorld) -> None:
        """Measure the distances that later ones are compared with."""
        self.apart = {p: _apart(p, facts, self) for p in predicates if p.type in ("closer", "further")}


def _flat(a: Place, b: Place) -> float:
    return math.dist(a[:2], b[:2])


def _goal(p: Predicate, facts: SimulatedWorld, so_far: EpisodeFacts) -> Place:
    """Return the place of the point or object that the agent must reach."""
    return so_far.places[p.point] if p.point >= 0 else facts.position(p.object)


def _pair(p: Predicate, facts: SimulatedWorld, so_far: EpisodeFacts) -> tuple[Place, Place]:
    """Return the places of an object, and of the other object or point."""
    return facts.position(p.object), so_far.places[p.point] if p.point >= 0 else facts.position(p.other)


def _apart(p: Predicate, facts: SimulatedWorld, so_far: EpisodeFacts) -> float:
    return _flat(*_pair(p, facts, so_far))


def _agent_to(p: Predicate, facts: SimulatedWorld, so_far: EpisodeFacts) -> float:
    return _flat(so_far.places[so_far.point], _goal(p, facts, so_far))


def _agent_at(p: Predicate, facts: SimulatedWorld, so_far: EpisodeFacts) -> bool:
    return so_far.here(p.point) if p.point >= 0 else _agent_to(p, facts, so_far) < AT_M


def _agent_pass(p: Predicate, facts: SimulatedWorld, so_far: EpisodeFacts) -> bool:
    return p.point in so_far.passed or any(_flat(so_far.places[at], _goal(p, facts, so_far)) < AT_M
                                           for at in so_far.passed)


def _lies(relation: str) -> Callable[[Predicate, SimulatedWorld, EpisodeFacts], bool]:
    return lambda p, facts, so_far: (facts.support(p.object) == p.support
                                     and facts.attributes(p.object).get("relation") == relation)


def _state(*states: str) -> Callable[[Predicate, SimulatedWorld, EpisodeFacts], bool]:
    return lambda p, facts, so_far: facts.attributes(p.object).get("state") in states


_CHECKS: dict[str, Callable[[Predicate, SimulatedWorld, EpisodeFacts], bool]] = {
    "choose": lambda p, facts, so_far: bool(so_far.chosen) and so_far.chosen == p.right_answer_content,
    "agent_at": _agent_at,
    "agent_pass": _agent_pass,
    "agent_near": lambda p, facts, so_far: _agent_to(p, facts, so_far) < NEAR_M,
    "at": lambda p, facts, so_far: _apart(p, facts, so_far) < AT_M,
    "near": lambda p, facts, so_far: _apart(p, facts, so_far) < NEAR_M,
    "not_near": lambda p, facts, so_far: _apart(p, facts, so_far) > NEAR_M,
    "not_at": lambda p, facts, so_far: math.dist(*_pair(p, facts, so_far)) > AT_M,
    "closer": lambda p, facts, so_far: so_far.apart[p] - _apart(p, facts, so_far) > CLOSER_M,
    "further": lambda p, facts, so_far: _apart(p, facts, so_far) - so_far.apart[p] > FURTHER_M,
    "grab": lambda p, facts, so_far: facts.held() == p.object,
    "grab_once": lambda p, facts, so_far: p.object in so_far.grabbed,
    "special_action_success": lambda p, facts, so_far: p.action_text in so_far.succeeded,
    "looking_at": lambda p, facts, so_far: facts.share(p.object) >= LOOKED_AT,
    "on": _lies("on"), "in": _lies("in"),
    "open": _state("open"), "closed": _state("closed"),
    "switched_on": _state("on", "running", "lit"), "switched_off": _state("off", "unlit"),
}


def in_order(predicates: Sequence[Predicate], facts: SimulatedWorld, so_far: EpisodeFacts) -> tuple[int, ...]:
    """Return 1 for each predicate that is true now, 0 for one that is not, -1 for one that can no longer become true.

    As in EmbodiedEval's evaluation, the list ends with the first -1; later predicates count in no share. -1 occurs for
    `choose` after another answer. After the right answer `choose` is true in that step only.
    """
    found: list[int] = []
    for predicate in predicates:
        true = holds(predicate, facts, so_far)
        found.append(1 if true else -1 if predicate.type == "choose" and so_far.chosen else 0)
        if found[-1] == -1:
            break
    return tuple(found)


def holds(predicate: Predicate, facts: SimulatedWorld, so_far: EpisodeFacts) -> bool:
    """Return whether a predicate is true now."""
    return _CHECKS[predicate.type](predicate, facts, so_far)
