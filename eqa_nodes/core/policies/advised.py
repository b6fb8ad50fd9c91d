"""The places that a model chooses among, what they are worth by its word, and floor that was seen and not visited."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.driving.planning import SNAP_M, centre_of
from eqa_nodes.core.policies.steering import ReachableArea, ReachablePose
from eqa_nodes.core.types.floor import Option
from eqa_nodes.core.types.geometry import Pose2

_BESIDE_M = 0.8
_REGION_M = 2.5  # places so near to each other belong to one part of the building
_STEP_M = 0.25
_UNNAMED = 0.2
_FARTHEST_M = 30.0
_LEAST = 0.4  # of the way to a place that a model points at: it is not gone to where not even that is reachable


class ScoredOption(NamedTuple):
    """A place where a policy could send the robot, and what it expects there."""

    place: ReachablePose
    value: float  # hoped for: chance to see what answers the question, 0..1
    kind: str  # frontier | look | floor
    what: str
    score: float
    unseen: float = 1.0  # how much of what lies there is still to be seen, 0..1


def advised_value(own: ScoredOption, weight: float) -> float:
    """Return what an option is worth by the model's weight w: w (u + w (1 - u)), u: how much is unseen there.

    The surer the model is, the less it counts how much floor the map lacks: it may look into a room that the map
    knows well. What it did not name is worth a fifth of what the policy thinks.
    """
    return weight * (own.unseen + weight * (1.0 - own.unseen)) or _UNNAMED * own.value


def apart(listed: Sequence[tuple[Option, ScoredOption]]) -> list[tuple[Option, ScoredOption]]:
    """Return the options without those of the same kind that lie beside a better one: two gaps of one doorway."""
    kept: list[tuple[Option, ScoredOption]] = []
    for option, own in listed:
        if all(own.kind != other.kind or math.dist((option.x, option.y), (kin.x, kin.y)) >= _BESIDE_M
               for kin, other in kept):
            kept.append((option, own))
    return kept


def spread(listed: Sequence[tuple[Option, ScoredOption]], most: int) -> list[tuple[Option, ScoredOption]]:
    """Return at most `most` options, given best first: first one of each region, then the others, best first.

    A region is what lies within _REGION_M of a better option. A long list would otherwise hold the near places only,
    and a model could not name a room that it passed before.
    """
    firsts: list[tuple[Option, ScoredOption]] = []
    rest: list[tuple[Option, ScoredOption]] = []
    for option, own in listed:
        near = any(math.dist((option.x, option.y), (kin.x, kin.y)) < _REGION_M for kin, _ in firsts)
        (rest if near else firsts).append((option, own))
    chosen = [*firsts, *rest][:max(0, most)]
    return sorted(chosen, key=lambda pair: -pair[1].score)


def pointed_at(reach: ReachableArea, option: Option) -> ReachablePose | None:
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


def unvisited_floor(reach: ReachableArea, visited: Sequence[tuple[float, float]], count: int,
                    apart_m: float) -> list[ReachablePose]:
    """Return at most `count` reachable places, each `apart_m` from those visited and from each other, farthest first.

    visited: x, y in the map frame, metres; at least one. A place faces the way one comes to it.
    """
    rows, columns = np.nonzero(np.isfinite(reach.field))
    grid = reach.grid
    x, y = grid.origin[0] + (columns + 0.5) * grid.resolution_m, grid.origin[1] + (rows + 0.5) * grid.resolution_m
    gap = np.full(len(x), np.inf)
    for at_x, at_y in visited:
        gap = np.minimum(gap, np.hypot(x - at_x, y - at_y))
    found: list[ReachablePose] = []
    while len(found) < count and len(gap) and gap.max() >= apart_m:
        i = int(gap.argmax())
        point = centre_of(grid, int(rows[i]), int(columns[i]))
        yaw = math.atan2(point.y - reach.pose.y, point.x - reach.pose.x)
        found.append(ReachablePose(Pose2(point.x, point.y, yaw), float(reach.field[rows[i], columns[i]])))
        gap = np.minimum(gap, np.hypot(x - point.x, y - point.y))
    return found
