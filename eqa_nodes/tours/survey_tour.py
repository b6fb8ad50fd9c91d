"""A tour that shows all of a floor: the robot drives past every place that it can reach, and turns round often.

As tours/tours.py it uses the simulator's shortest paths, which no robot knows. The same scene gives the same tour.
"""

from __future__ import annotations

import math
from contextlib import closing
from dataclasses import replace

from eqa_nodes.core.types.robot import RobotModel
from eqa_nodes.tours.tours import BLIND, Place, Tour, TourDrive
from sim_bridge.registry import open_simulator
from sim_bridge.simulator import EpisodeSetup, Simulator

_SPACING_M = 1.0  # of the places
_NEIGHBOURS = tuple((dx, dy) for dx in (-1, 0, 1) for dy in (-1, 0, 1) if dx or dy)
_DETOUR = 3.0  # a way to the next place is at most so many times as long as the straight line, else another leads there
_REACHED_M = 0.3
_LOOK_M = 1.2  # from one turn on the spot to the next
_PASSED_M = 0.5  # a place that was passed so near needs no visit
_STEPS = 20  # of a drive to the next place for each metre of the way; a drive that takes more is given up
_MOST_PLACES = 2000
_ASKED = 4  # of the nearest in a straight line, which is nearest on the way: each question takes time


def plan_survey(scene: str, robot: RobotModel) -> Tour:
    """Plan a tour of the floor of a scene's start. Raises UnknownScene, SimulatorError."""
    blind = replace(robot, camera=BLIND)
    with closing(open_simulator(scene)) as simulator:
        step = simulator.reset(EpisodeSetup(scene, robot=blind))
        x, y, z = step.frame.map_from_base.xyz
        left = _places(simulator, (x, y, z))
        drive, looked = TourDrive(simulator, blind, step), list[tuple[float, float]]()
        while left:
            here = (drive.pose.x, drive.pose.y)
            if all(math.dist(here, place) > _LOOK_M for place in looked):
                drive.turn(round(2 * math.pi / robot.turn_rad))
                looked.append(here)
            left = [place for place in left if math.dist(place[:2], here) > _PASSED_M]
            if left:
                close = sorted(left, key=lambda place: math.dist(place[:2], here))[:_ASKED]
                away_m, nearest = min((simulator.geodesic((*here, z), place), place) for place in close)
                left.remove(nearest)
                _drive_to(drive, nearest, away_m)
    return Tour(scene, robot, tuple(drive.actions), tuple(drive.poses), drive.metres, z)


def _places(simulator: Simulator, start: Place) -> list[Place]:
    """Return places _SPACING_M apart that can be reached from a start, from one to the next."""
    found, waiting, x, y, z = {(0, 0): start}, [(0, 0)], *start
    while waiting and len(found) < _MOST_PLACES:
        column, row = waiting.pop(0)
        for dx, dy in _NEIGHBOURS:
            cell = (column + dx, row + dy)
            place = (x + cell[0] * _SPACING_M, y + cell[1] * _SPACING_M, z)
            straight = math.hypot(dx, dy) * _SPACING_M
            if cell not in found and simulator.geodesic(found[column, row], place) <= _DETOUR * straight:
                found[cell] = place
                waiting.append(cell)
    return list(found.values())


def _drive_to(drive: TourDrive, place: Place, way_m: float) -> None:
    """Drive to a place, or near it: what stands in the way ends the drive."""
    if not math.isfinite(way_m):
        return
    most = len(drive.actions) + round(_STEPS * (1.0 + way_m))
    while math.dist((drive.pose.x, drive.pose.y), place[:2]) > _REACHED_M and len(drive.actions) < most:
        if not drive.advance(place):
            return
