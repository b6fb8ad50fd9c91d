"""The explorer plans for the robot that drives: a wide one is sent through no gap, a slim one is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from eqa_nodes.config.graph import merged, of_robot
from eqa_nodes.config.policies import make_policy
from eqa_nodes.core.mapping.frontiers import find_frontiers
from eqa_nodes.core.types.floor import GridMap
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Question, Situation
from eqa_nodes.core.types.robot import RobotModel

CELL_M, WALL_M = 0.05, 2.0


def two_rooms(gap_m: float) -> GridMap:
    """A room that was seen, and behind a wall with a gap one of which nothing was looked at."""
    cells = np.zeros((60, 100), np.int8)
    cells[:1], cells[-1:], cells[:, :1], cells[:, -1:] = 100, 100, 100, 100
    wall, half = round(WALL_M / CELL_M), round(gap_m / CELL_M / 2)
    cells[:, wall:wall + 2] = 100
    cells[30 - half:30 - half + round(gap_m / CELL_M), wall:wall + 2] = 0
    cells[:, 70:] = -1
    explored = cells == 0
    explored[:, wall + 2:] = False
    return GridMap(0, CELL_M, (0.0, 0.0), cells, explored)


@pytest.mark.parametrize(("radius_m", "gap_m", "through"), [
    (0.35, 0.40, False), (0.1, 0.25, True), (0.18, 0.25, False)])
def test_a_goal_lies_behind_a_gap_only_where_the_robot_fits(radius_m: float, gap_m: float, through: bool) -> None:
    own = merged(None, of_robot(replace(RobotModel(), radius_m=radius_m))).settings.explorer
    policy, grid = make_policy("frontier", own.params, own.robot), two_rooms(gap_m)
    policy.reset(0)
    goal = policy.decide(Situation(Question("Where is the mug?"), Pose2(1.0, 1.5, 0.0), grid,
                                   find_frontiers(grid))).goal
    assert (goal is not None and goal.x > WALL_M) is through
