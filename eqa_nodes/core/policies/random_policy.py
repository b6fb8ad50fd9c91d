"""Random exploration, the baseline of every comparison (RE in EXPRESS-Bench)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from eqa_nodes.core.driving.planning import centre_of, distance_field
from eqa_nodes.core.policies.steering import AnswersAtOnce
from eqa_nodes.core.ranges import NotNegative
from eqa_nodes.core.settings import setting
from eqa_nodes.core.traits import PolicyTraits
from eqa_nodes.core.types.floor import Candidate, Decision
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Situation
from eqa_nodes.core.types.robot import RobotModel


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
