"""The baselines of every comparison: random and frontier-based exploration (RE and FBE in EXPRESS-Bench)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from eqa_nodes.core.driving.planning import centre_of, distance_field
from eqa_nodes.core.policies.steering import (
    AnswersAtOnce,
    GoalList,
    ReachableArea,
    ScoredPlace,
    decision_for,
    lost_draw,
    rays,
    reachable_frontiers,
    values_in,
)
from eqa_nodes.core.ranges import NotNegative, Positive
from eqa_nodes.core.settings import setting
from eqa_nodes.core.traits import PolicyTraits
from eqa_nodes.core.types.floor import Candidate, Decision, Frontier, GridMap
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Situation
from eqa_nodes.core.types.robot import RobotModel


def frontier_weights(grid: GridMap, frontiers: Sequence[Frontier], distances_m: Sequence[float],
                     s: FrontierConfig) -> list[float]:
    """Return exp(unexplored / 0.2) * exp(unoccupied / 2.0) * exp(-distance / 10 m): the weights of FrontierPolicy."""
    if not frontiers:
        return []
    occupied, far = grid.cells == 100, rays(grid, frontiers, s.unexplored_ray_m)
    unexplored = values_in(~grid.explored, far, 1) > 0
    unexplored &= ~np.logical_or.accumulate(values_in(occupied, far, 0) > 0, axis=1)
    near = values_in(occupied, rays(grid, frontiers, s.unoccupied_ray_m), 0) > 0
    exponent = (unexplored.mean(axis=1) / s.unexplored + (~near).mean(axis=1) / s.unoccupied
                - np.asarray(distances_m) / s.distance_m)
    weights: list[float] = np.exp(exponent).tolist()
    return weights


@dataclass(frozen=True)
class FrontierConfig:
    """Settings of frontier sampling by weight (explore-eqa)."""

    unexplored: Positive = setting(0.2, "Scale of the unexplored share in the weight of a frontier.")
    unoccupied: Positive = setting(2.0, "Scale of the free share in the weight of a frontier.")
    distance_m: Positive = setting(10.0, "Scale in metres of the distance in the weight of a frontier.")
    unexplored_ray_m: Positive = setting(3.0, "Length in metres of the ray on which unexplored cells are counted.")
    unoccupied_ray_m: Positive = setting(1.0, "Length in metres of the ray on which free cells are counted.")
    leg_m: Positive = setting(3.0, "Maximum length of one drive in metres.")


class FrontierPolicy(AnswersAtOnce):
    """Samples a frontier by weight and keeps it until it is reached, in legs of at most 3 m.

    w = exp(unexplored / 0.2) * exp(unoccupied / 2.0) * exp(-distance / 10 m)

    (Ren et al. 2024, "Explore until Confident", and EXPRESS-Bench eq. 7 without visem): unexplored is the share of
    unexplored cells on a ray of 3 m from the frontier into the unknown (here a wall ends the ray, because what lies
    behind it cannot be seen from there), unoccupied the share of cells not occupied on a ray of 1 m, and distance the
    path length on the map in metres (published code mixes cells and metres). The target is drawn with probability
    w / sum(w) (eq. 8). A target that was looked at, or that the robot cannot reach, is not drawn again, so exploration
    terminates.
    """

    traits = PolicyTraits(config=FrontierConfig, calls=14.8, steps=220)

    def __init__(self, config: FrontierConfig | None = None, robot: RobotModel = RobotModel()) -> None:
        self._scales, self._radius_m = config or FrontierConfig(), robot.radius_m
        self.reset(0)

    def reset(self, seed: int) -> None:
        """Reset for a new question."""
        self._random = np.random.default_rng(seed)
        self._targets = GoalList()

    def decide(self, situation: Situation) -> Decision:
        """Return the next leg, or no goal if no reachable frontier is left."""
        grid, pose = situation.grid, situation.pose
        reach = ReachableArea(grid, pose, self._radius_m)
        ended = self._targets.review(pose)
        found = reachable_frontiers(reach, situation.frontiers, self._targets)
        if not found:
            self._targets.drop()
            return Decision(None, none_left(situation.frontiers))
        weights = frontier_weights(grid, [f for f, _ in found], [place.distance_m for _, place in found], self._scales)
        options = [ScoredPlace(place, weight, "frontier", "a frontier")
                   for (_, place), weight in zip(found, weights, strict=True)]
        kept = self._targets.kept(options)
        chosen = kept or drawn(options, self._random)
        place = chosen.place
        goal = self._targets.aim(place, reach, self._scales.leg_m)
        reason = (f"{ended}{'keeping' if kept else 'chose'} the frontier at ({place.pose.x:.1f}, {place.pose.y:.1f}), "
                  f"{place.distance_m:.1f} m away, out of {len(options)}")
        return decision_for(goal, reason, chosen, options, lost_draw(options, kept is not None))


def drawn(options: Sequence[ScoredPlace], random: np.random.Generator) -> ScoredPlace:
    """Return an option that is drawn with a probability proportional to its score."""
    shares = np.array([option.score for option in options])
    return options[int(random.choice(len(options), p=shares / shares.sum()))]


def none_left(frontiers: Sequence[Frontier]) -> str:
    """Return the reason of a decision without a goal."""
    if not frontiers:
        return "no frontier is left to look at"
    others = "the only one cannot be reached, or was" if len(frontiers) == 1 else \
        f"the {len(frontiers)} on the map cannot be reached, or were"
    return f"no frontier is left to look at: {others} looked at already"


@dataclass(frozen=True)
class RandomConfig:
    """Settings of the random policy."""

    nearest_m: NotNegative = setting(1.0, "Minimum path length in metres to a randomly drawn goal.")


class RandomPolicy(AnswersAtOnce):
    """Draws a reachable free cell with uniform probability, and a heading.

    Cells are at least `nearest_m` metres of path away, because each drive costs path length; exploration never ends.
    """

    traits = PolicyTraits(config=RandomConfig, calls=12.5, steps=287)

    def __init__(self, config: RandomConfig | None = None, robot: RobotModel = RobotModel()) -> None:
        self._radius_m, self._nearest_m = robot.radius_m, (config or RandomConfig()).nearest_m
        self.reset(0)

    def reset(self, seed: int) -> None:
        """Reset for a new question."""
        self._random = np.random.default_rng(seed)

    def decide(self, situation: Situation) -> Decision:
        """Return a random goal, or none if the robot cannot drive anywhere."""
        pose, grid = situation.pose, situation.grid
        field = distance_field(grid, pose, self._radius_m)
        reachable = np.isfinite(field) & (grid.cells == 0)
        cells = np.argwhere(reachable & (field >= self._nearest_m))
        if len(cells) == 0:
            return Decision(None, f"nothing farther than {self._nearest_m:g} m can be reached")
        iy, ix = (int(i) for i in cells[self._random.integers(len(cells))])
        place = centre_of(grid, iy, ix)
        yaw = float(self._random.uniform(-math.pi, math.pi))
        reason = f"random place {field[iy, ix]:.1f} m away, one of {len(cells)} reachable cells"
        return Decision(Pose2(*place, yaw), reason, (Candidate(*place, 1.0 / len(cells), "random"),))
