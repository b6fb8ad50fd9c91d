"""Frontier-based exploration (FBE in EXPRESS-Bench; explore-eqa and Fine-EQA with their semantic terms off)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.errors import BadPose
from eqa_nodes.core.planning import cell_at
from eqa_nodes.core.policies.config import FrontierConfig
from eqa_nodes.core.policies.steering import (
    AnswersAtOnce,
    Place,
    Reach,
    Targets,
    ray,
    ray_cells,
    reachable_frontiers,
    same,
)
from eqa_nodes.core.types import Candidate, Decision, Frontier, GridMap, Situation


class SemanticValues(NamedTuple):
    """Semantic values on the cells of the map, the scale of their weight, and the ray that they are averaged on."""

    values: np.ndarray
    scale: float
    ray_m: float

    def exponent(self, grid: GridMap, frontier: Frontier) -> float:
        """Return SV / 0.5 + SV_dir / 0.5: the value at a frontier, and the mean of those on a ray beyond it."""
        ix, iy = ray_cells(grid, frontier, self.ray_m)
        inside = (ix >= 0) & (iy >= 0) & (ix < grid.cells.shape[1]) & (iy < grid.cells.shape[0])
        beyond = np.where(inside, self.values[np.where(inside, iy, 0), np.where(inside, ix, 0)], 0.0)
        here = cell_at(grid, frontier.x, frontier.y)
        return (float(self.values[here]) if here else 0.0) / self.scale + float(beyond.mean()) / self.scale


def frontier_weight(grid: GridMap, frontier: Frontier, distance_m: float, s: FrontierConfig,
                    semantic: SemanticValues | None = None) -> float:
    """Return exp(unexplored / 0.2) * exp(unoccupied / 2.0) * exp(-distance / 10 m), the weight of FrontierPolicy.

    With semantic values, that times exp(SV / 0.5) * exp(SV_dir / 0.5) (EXPRESS-Bench eq. 7).
    """
    occupied, unexplored = ray(grid, frontier, s.unexplored_ray_m)
    unexplored &= ~np.logical_or.accumulate(occupied)
    near, _ = ray(grid, frontier, s.unoccupied_ray_m)
    promise = semantic.exponent(grid, frontier) if semantic else 0.0
    return math.exp(unexplored.mean() / s.unexplored + (~near).mean() / s.unoccupied - distance_m / s.distance_m
                    + promise)


class FrontierPolicy(AnswersAtOnce):
    """Samples a frontier by weight and keeps it until it is reached, in legs of at most 3 m.

    w = exp(unexplored / 0.2) * exp(unoccupied / 2.0) * exp(-distance / 10 m)

    (Ren et al. 2024, "Explore until Confident", and EXPRESS-Bench eq. 7 without visem): unexplored is the share of
    unexplored cells on a ray of 3 m from the frontier into the unknown (here a wall ends the ray: what lies behind it
    is not to be seen from there), unoccupied the share of cells not occupied on a ray of 1 m, distance the length of
    the path on the map in metres (published code mixes cells and metres). The target is drawn with probability
    w / sum(w) (eq. 8). A target that was looked at, or that the robot does not get to, is not drawn again; so
    exploration ends.
    """

    def __init__(self, config: FrontierConfig | None = None, radius_m: float = 0.18) -> None:
        self._scales, self._radius_m = config or FrontierConfig(), radius_m
        self.reset(0)

    def reset(self, seed: int) -> None:
        """Begin a new question."""
        self._random = np.random.default_rng(seed)
        self._targets = Targets()

    def decide(self, situation: Situation) -> Decision:
        """Return the next leg, or no goal when no frontier is left that can be reached."""
        grid, pose = situation.grid, situation.pose
        try:
            reach = Reach(grid, pose, self._radius_m)
        except BadPose as error:
            return Decision(None, f"nowhere to go: {error}")
        ended = self._targets.review(pose)
        options = [(p, frontier_weight(grid, f, p.distance_m, self._scales))
                   for f, p in reachable_frontiers(reach, situation.frontiers, self._targets)]
        candidates = tuple(Candidate(p.pose.x, p.pose.y, weight, "frontier") for p, weight in options)
        if not options:
            self._targets.drop()
            return Decision(None, none_left(situation.frontiers), candidates)
        place, chosen = choose(options, self._targets, self._random)
        self._targets.aim(place, pose, self._scales.leg_m)
        reason = (f"{ended}{chosen} the frontier at ({place.pose.x:.1f}, {place.pose.y:.1f}), "
                  f"{place.distance_m:.1f} m away, out of {len(options)}")
        return Decision(reach.leg(place, self._scales.leg_m), reason, candidates)


def choose(options: Sequence[tuple[Place, float]], targets: Targets,
           random: np.random.Generator) -> tuple[Place, str]:
    """Return the target, and "keeping" while it is still one of the options, else "chose" for one drawn by weight."""
    kept = targets.current and next((place for place, _ in options if same(place.pose, targets.current)), None)
    if kept:
        return kept, "keeping"
    shares = np.array([weight for _, weight in options])
    return options[int(random.choice(len(options), p=shares / shares.sum()))][0], "chose"


def none_left(frontiers: Sequence[Frontier]) -> str:
    """Return the reason of a decision without a goal."""
    left = f"; {len(frontiers)} cannot be reached or were looked at" if frontiers else ""
    return f"no frontier is left to look at{left}"
