"""Goal predicates: conditions of a task that are true now or were once (EmbodiedEval, table 4; house states)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from eqa_nodes.bench.embodied.tasks import Predicate
from eqa_nodes.bench.embodied.world import SimulatedWorld

NEAR_M = 1.5  # agent_near: horizontal distance from the agent to the centre of the object
AT_M = 0.3  # at: distance from the object to the point
LOOKED_AT = 400 / (640 * 480)  # looking_at: share of the image that the object must fill, as in a target view


@dataclass
class EpisodeFacts:
    """The state of an episode so far. point: the agent's point; answer: the chosen answer, "" = none yet."""

    places: Mapping[int, tuple[float, float]]
    point: int
    passed: set[int] = field(default_factory=set)
    grabbed: set[int] = field(default_factory=set)
    succeeded: set[str] = field(default_factory=set)
    answer: str = ""


def _near(p: Predicate, facts: SimulatedWorld, so_far: EpisodeFacts) -> bool:
    return math.dist(so_far.places[so_far.point], facts.position(p.object)[:2]) <= NEAR_M


def _at(p: Predicate, facts: SimulatedWorld, so_far: EpisodeFacts) -> bool:
    return math.dist(so_far.places[p.point], facts.position(p.object)[:2]) <= AT_M


def _lies(relation: str) -> Callable[[Predicate, SimulatedWorld, EpisodeFacts], bool]:
    return lambda p, facts, so_far: (facts.support(p.object) == p.support
                                     and facts.attributes(p.object).get("relation") == relation)


def _state(*states: str) -> Callable[[Predicate, SimulatedWorld, EpisodeFacts], bool]:
    return lambda p, facts, so_far: facts.attributes(p.object).get("state") in states


_CHECKS: dict[str, Callable[[Predicate, SimulatedWorld, EpisodeFacts], bool]] = {
    "choose": lambda p, facts, so_far: so_far.answer == p.right_answer_content,
    "agent_at": lambda p, facts, so_far: so_far.point == p.point,
    "agent_pass": lambda p, facts, so_far: p.point in so_far.passed,
    "at": _at,
    "grab": lambda p, facts, so_far: facts.held() == p.object,
    "grab_once": lambda p, facts, so_far: p.object in so_far.grabbed,
    "special_action_success": lambda p, facts, so_far: p.action_text in so_far.succeeded,
    "agent_near": _near,
    "looking_at": lambda p, facts, so_far: facts.share(p.object) >= LOOKED_AT,
    "on": _lies("on"), "in": _lies("in"),
    "open": _state("open"), "closed": _state("closed"),
    "switched_on": _state("on", "running", "lit"), "switched_off": _state("off", "unlit"),
}


def in_order(predicates: Sequence[Predicate], facts: SimulatedWorld, so_far: EpisodeFacts) -> tuple[int, ...]:
    """Return 1 for each predicate that is true now, 0 for one that is not, -1 for one that can no longer become true.

    As in EmbodiedEval's evaluation, the list ends with the first -1; later predicates count in no share. -1 occurs for
    `choose` after another answer.
    """
    found: list[int] = []
    for predicate in predicates:
        true = holds(predicate, facts, so_far)
        found.append(1 if true else -1 if predicate.type == "choose" and so_far.answer else 0)
        if found[-1] == -1:
            break
    return tuple(found)


def holds(predicate: Predicate, facts: SimulatedWorld, so_far: EpisodeFacts) -> bool:
    """Return whether a predicate is true now."""
    return _CHECKS[predicate.type](predicate, facts, so_far)
