"""A survey passes near every place that the robot can reach, and turns round on the way."""

from __future__ import annotations

import math
from contextlib import closing

import numpy as np
import pytest

from eqa_nodes.core.types.floor import Action
from eqa_nodes.tours.tours import plan_survey, spread_points
from sim_bridge.registry import open_simulator
from sim_bridge.robots import DEFAULT, ROBOTS
from sim_bridge.simulator import EpisodeSetup

SCENE = "toy:flat"


@pytest.mark.thorough
def test_every_place_that_can_be_reached_is_passed() -> None:
    robot = ROBOTS[DEFAULT]
    tour = plan_survey(SCENE, robot)
    with closing(open_simulator(SCENE)) as simulator:
        first = simulator.reset(EpisodeSetup(SCENE, robot=robot)).frame
        places = spread_points(simulator, first, np.random.default_rng(0))
    for x, y, _ in places:
        assert min(math.dist((x, y), pose[:2]) for pose in tour.poses) < 1.5
    turns = sum(action in (Action.TURN_LEFT, Action.TURN_RIGHT) for action in tour.actions)
    assert turns >= round(2 * math.pi / robot.turn_rad) and len(tour.poses) == len(tour.actions) + 1
