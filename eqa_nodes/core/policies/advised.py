"""The options a model chooses among and their values by its weights; unvisited floor that was seen."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from eqa_nodes.core.driving.planning import SNAP_M, centre_of
from eqa_nodes.core.policies.steering import ReachableArea, ReachablePose, ScoredPlace
from eqa_nodes.core.types.floor import Option
from eqa_nodes.core.types.geometry import Pose2

_BESIDE_M = 0.8
_REGION_M = 2.5  # options within this distance belong to one region of the building
_STEP_M = 0.25
_UNNAMED = 0.2
_FARTHEST_M = 30.0
_LEAST = 0.4  # minimum share of the way to a place a model points at that must be reachable


def advised_value(own: ScoredPlace, weight: float) -> float:
    """Return the value of an option by the model's weight; one that it did not name has a fifth of the policy's."""
    return weight or _UNNAMED * own.value


def apart(listed: Sequence[tuple[Option, ScoredPlace]]) -> list[tuple[Option, ScoredPlace]]:
    """Return the options except those beside a better one of the same kind, such as two gaps of one doorway."""
    kept: list[tuple[Option, ScoredPlace]] = []
    for option, own in listed:
        if all(own.kind != other.kind or math.dist((option.x, option.y), (kin.x, kin.y)) >= _BESIDE_M
               for kin, other in kept):
            kept.append((option, own))
    return kept


def spread(listed: Sequence[tuple[Option, ScoredPlace]], most: int) -> list[tuple[Option, ScoredPlace]]:
    """Return at most `most` of the options (best first): the best of each region, then the others, best first.

    A region is everything within _REGION_M of a better option. Otherwise a long list would hold only near options, and
    a model could not name a room that the robot passed before.
    """
    firsts: list[tuple[Option, ScoredPlace]] = []
    rest: list[tuple[Option, ScoredPlace]] = []
    for option, own in listed:
        near = any(math.dist((option.x, option.y), (kin.x, kin.y)) < _REGION_M for kin, _ in firsts)
        (rest if near else firsts).append((option, own))
    chosen = [*firsts, *rest][:max(0, most)]
    return sorted(chosen, key=lambda pair: -pair[1].score)


def pointed_at(reach: ReachableArea, option: Option) -> ReachablePose | None:
    """Return where the robot can see a place that a model points at, heading in the direction of the view.

    This is the place itself or, if it is off the map or in a wall, the farthest reachable place on the line of sight.
    None if less than _LEAST of the line is reachable, or the place is too far away.
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
    """Return at most `count` reachable places, each `apart_m` from visited ones and from each other, farthest first.

    visited: x, y in the map frame, metres; at least one. The heading of a place points away from the robot.
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
