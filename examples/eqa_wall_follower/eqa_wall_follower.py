"""An exploration policy that keeps the wall on one side: it goes to the frontier that lies farthest to that side.

eqa ask "Is there a plant?" --policy wall_follower --params walls.yaml
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.policies.steering import (
    AnswersAtOnce,
    GoalList,
    ReachableArea,
    ReachablePose,
    ScoredPlace,
    decision_for,
    lower_score,
    reachable_frontiers,
)
from eqa_nodes.core.ranges import Positive
from eqa_nodes.core.settings import setting
from eqa_nodes.core.traits import PolicyTraits
from eqa_nodes.core.types.floor import Decision
from eqa_nodes.core.types.geometry import Pose2, wrap
from eqa_nodes.core.types.questions import Situation
from eqa_nodes.core.types.robot import RobotModel

SIDES = {"left": 1.0, "right": -1.0}


@dataclass(frozen=True)
class WallFollowerConfig:
    """Each field is a ROS parameter, `params.wall_follower.*`, with its default and its description."""

    side: str = setting("right", "Side on which the wall is kept: left | right.")
    leg_m: Positive = setting(2.0, "Maximum length of one drive in metres.")

    def __post_init__(self) -> None:
        if self.side not in SIDES:
            raise ConfigError(f"params.wall_follower.side is {self.side!r}: expected left or right")


class WallFollower(AnswersAtOnce):
    """Chooses the frontier farthest to one side of the robot's heading, and keeps it until it is reached."""

    traits = PolicyTraits(config=WallFollowerConfig)

    def __init__(self, config: WallFollowerConfig | None = None, robot: RobotModel = RobotModel()) -> None:
        self._config, self._radius_m = config or WallFollowerConfig(), robot.radius_m
        self.reset(0)

    def reset(self, seed: int) -> None:
        """Begin a new question."""
        self._targets = GoalList()

    def decide(self, situation: Situation) -> Decision:
        """Return the next leg, or no goal when no frontier can be reached."""
        reach = ReachableArea(situation.grid, situation.pose, self._radius_m)
        self._targets.review(situation.pose)
        options = [ScoredPlace(place, self._turn(situation.pose, place), "frontier", "a frontier")
                   for _, place in reachable_frontiers(reach, situation.frontiers, self._targets)]
        if not options:
            self._targets.drop()
            return Decision(None, "no frontier is left that can be reached")
        chosen = self._targets.kept(options) or max(options, key=lambda option: option.score)
        goal = self._targets.aim(chosen.place, reach, self._config.leg_m)
        reason = f"keeps the wall on the {self._config.side}, {chosen.place.distance_m:.1f} m to go"
        return decision_for(goal, reason, chosen, options, lower_score)

    def _turn(self, pose: Pose2, place: ReachablePose) -> float:
        """Return how far to the chosen side a place lies, 0..1."""
        turn = wrap(math.atan2(place.pose.y - pose.y, place.pose.x - pose.x) - pose.yaw)
        return 0.5 + SIDES[self._config.side] * turn / (2 * math.pi)
