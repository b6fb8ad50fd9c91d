"""What a model says of the options of a policy, and what they are worth by it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.driving.planning import SNAP_M
from eqa_nodes.core.policies.steering import Reach, ReachablePose
from eqa_nodes.core.types.floor import Option

_BESIDE_M = 0.8
_REGION_M = 2.5  # places so near to each other belong to one part of the building
_STEP_M = 0.25
_UNNAMED = 0.2
_FARTHEST_M = 30.0
_LEAST = 0.4  # of the way to a place that a model points at: it is not gone to where not even that is reachable


class Valued(NamedTuple):
    """A place where a policy could send the robot, and what it expects there."""

    place: ReachablePose
    value: float  # hoped for: chance to see what answers the question, 0..1
    kind: str  # frontier | look | floor
    what: str
    score: float
    unseen: float = 1.0  # how much of what lies there is still to be seen, 0..1


def advised_value(own: Valued, weight: float) -> float:
    """Return what an option is worth by the model's weight w: w (u + w (1 - u)), u: how much is unseen there.

    The surer the model is, the less it counts how much floor the map lacks: it may look into a room that the map
    knows well. What it did not name is worth a fifth of what the policy thinks.
    """
    return weight * (own.unseen + weight * (1.0 - own.unseen)) or _UNNAMED * own.value


def apart(listed: Sequence[tuple[Option, Valued]]) -> list[tuple[Option, Valued]]:
    """Return the options without those of the same kind that lie beside a better one: two gaps of one doorway."""
    kept: list[tuple[Option, Valued]] = []
    for option, own in listed:
        if all(own.kind != other.kind or math.dist((option.x, option.y), (kin.x, kin.y)) >= _BESIDE_M
               for kin, other in kept):
            kept.append((option, own))
    return kept


def spread(listed: Sequence[tuple[Option, Valued]], most: int) -> list[tuple[Option, Valued]]:
    """Return at most `most` options, given best first: first one of each region, then the others, best first.

    A region is what lies within _REGION_M of a better option. A long list would otherwise hold the near places only,
    and a model could not name a room that it passed before.
    """
    firsts: list[tuple[Option, Valued]] = []
    rest: list[tuple[Option, Valued]] = []
    for option, own in listed:
        near = any(math.dist((option.x, option.y), (kin.x, kin.y)) < _REGION_M for kin, _ in firsts)
        (rest if near else firsts).append((option, own))
    chosen = [*firsts, *rest][:max(0, most)]
    return sorted(chosen, key=lambda pair: -pair[1].score)


def pointed_at(reach: Reach, option: Option) -> ReachablePose | None:
    """Return where the robot can go to see a place that a model points at, looking on the way it was seen.

    That is the place itself or, where it is not on the map or in a wall, the farthest reachable one on the line along
    which the picture shows it. None where the robot does not get far along it, and for a place too far away.
    """
    if not all(map(math.isfinite, option[:3])) or not option.distance_m <= _FARTHEST_M:
        return None
    dx, dy = math.cos(option.heading), math.sin(option.heading)
    for back_m in np.arange(0.0, option.distance_m * (1.0 - _LEAST), _STEP_M).tolist():
        place = reach.place(option.x - back_m * dx, option.y - back_m * dy, option.heading, SNAP_M)
        if place is not None:
            return place
    return None
