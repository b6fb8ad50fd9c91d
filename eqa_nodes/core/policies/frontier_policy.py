"""Frontier-based exploration (FBE in EXPRESS-Bench; explore-eqa and Fine-EQA with their semantic terms off)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from eqa_nodes.core.errors import BadPose
from eqa_nodes.core.policies.config import FrontierConfig
from eqa_nodes.core.policies.steering import AnswersAtOnce, Place, Reach, Targets, ray, reachable_frontiers, same
from eqa_nodes.core.types import Candidate, Decision, Frontier, GridMap, Situation


def frontier_weight(grid: GridMap, frontier: Frontier, distance_m: float, s: FrontierConfig) -> float:
    """Return exp(unexplored / 0.2) * exp(unoccupied / 2.0) * exp(-distance / 10 m), the weight of FrontierPolicy."""
    occupied, unexplored = ray(grid, frontier, s.unexplored_ray_m)
    unexplored &= ~np.logical_or.accumulate(occupied)
    near, _ = ray(grid, frontier, s.unoccupied_ray_m)
    return math.exp(unexplored.mean() / s.unexplored + (~near).mean() / s.unoccupied - distance_m / s.distance_m)


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
        place, chosen = self._choose(options)
        self._targets.aim(place, pose, self._scales.leg_m)
        reason = (f"{ended}{chosen} the frontier at ({place.pose.x:.1f}, {place.pose.y:.1f}), "
                  f"{place.distance_m:.1f} m away, out of {len(options)}")
        return Decision(reach.leg(place, self._scales.leg_m), reason, candidates)

    def _choose(self, options: Sequence[tuple[Place, float]]) -> tuple[Place, str]:
        """Return the target, and "keeping" while it is still one of the options, else "chose" for a newly drawn one."""
        current = self._targets.current
        kept = current and next((place for place, _ in options if same(place.pose, current)), None)
        if kept:
            return kept, "keeping"
        shares = np.array([weight for _, weight in options])
        return options[int(self._random.choice(len(options), p=shares / shares.sum()))][0], "chose"


def none_left(frontiers: Sequence[Frontier]) -> str:
    """Return the reason of a decision without a goal."""
    left = f"; {len(frontiers)} cannot be reached or were looked at" if frontiers else ""
    return f"no frontier is left to look at{left}"
