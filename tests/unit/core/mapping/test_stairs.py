"""Stairs from depth: up and down in built-in homes, on toy maps, and not at all for robots with wheels."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from eqa_nodes.core.driving.atomic import ActOutcome, AtomicNavigator
from eqa_nodes.core.mapping.floors import MultiFloorMapper
from eqa_nodes.core.mapping.mapper import Mapper
from eqa_nodes.core.mapping.stairs import NONE, body_of, laid_over, sheet_of
from eqa_nodes.core.policies.floor_policy import FloorPolicy
from eqa_nodes.core.types.floor import Action, Decision, Travelled
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Question, Situation
from eqa_nodes.core.types.robot import CameraModel, RobotModel
from sim_bridge.house.export import export_glb
from sim_bridge.house.simulator import HouseSimulator
from sim_bridge.house.world import storeyed
from sim_bridge.mesh.simulator import MeshSimulator
from sim_bridge.robots import ROBOTS
from sim_bridge.simulator import EpisodeSetup, Simulator, Step

SEED, SCENE = 1000, "house:1000@2"
ROBOT = RobotModel(stairs=True, camera=CameraModel(width=160, height=120, color=False))
BODY = body_of(0.2, 1.4, 0.18, 0.1)
FLOOR = 34  # layer
AIR, SOLID = -3, 3


class Idle:
    """A policy that has nothing left to explore."""

    def reset(self, seed: int) -> None:
        """Begin a new question."""

    def decide(self, situation: Situation) -> Decision:
        """Return no goal."""
        return Decision(None, "nothing left")

    def confirm(self, situation: Situation) -> Decision:
        """Accept the answer."""
        return Decision(None, "the answer stands")


class Visit:
    """A robot in a home of two storeys, with its own maps only."""

    def __init__(self, start: Pose2, height_m: float, robot: RobotModel = ROBOT, simulator: Simulator | None = None,
                 scene: str = SCENE) -> None:
        self.simulator, self.storeys = simulator or HouseSimulator(), MultiFloorMapper(robot=robot)
        self.take(self.simulator.reset(EpisodeSetup(scene, start=start, start_height_m=height_m, robot=robot)))
        self.first_camera = self.step.frame.base_from_camera
        self.navigator = AtomicNavigator(
            self.act, self.storeys.grid, robot=robot, now=lambda: self.step.frame.stamp_ns / 1e9,
            pose=lambda: self.step.frame.pose, travelled=lambda: Travelled(self.step.steps, self.step.metres))
        self.policy = FloorPolicy(Idle(), 0, robot)

    def take(self, step: Step) -> None:
        self.step = step
        self.storeys.integrate(step.frame)

    def act(self, action: Action) -> ActOutcome:
        self.take(self.simulator.act(action))
        return ActOutcome(self.step.frame.pose, self.step.collided)

    def decide(self) -> Decision:
        here = Situation(Question("?"), self.step.frame.pose, self.storeys.grid(), self.storeys.frontiers())
        return self.policy.decide(here, self.storeys.staircases, False)

    def climb(self) -> list[str]:
        """Enter the stairwell, look round and follow the policy until it has nowhere to go; return its reasons."""
        for _ in range(5):
            self.act(Action.MOVE_FORWARD)
        self.navigator.look_around(1e9)
        reasons = list[str]()
        for _ in range(12):
            decision = self.decide()
            reasons.append(decision.reason)
            if decision.goal is None:
                break
            self.navigator.go_to(decision.goal, 1e9)
            if decision.look_around:
                self.navigator.look_around(1e9)
        return reasons


def _before_the_stairs(up: bool) -> tuple[Pose2, float]:
    stairs = storeyed(SEED).stairs
    y = stairs.y0 - 0.65 if up else stairs.y1 + 0.65
    return Pose2(stairs.middle[0] - 1.3, y, 0.0), 0.0 if up else stairs.rise_m


@pytest.mark.parametrize(("name", "up"), [
    ("exploraqa", False), *(pytest.param(*case, marks=pytest.mark.thorough) for case in (
        ("express", True), ("express", False), ("exploraqa", True), ("openeqa", True), ("openeqa", False)))])
def test_the_published_robots_take_stairs_both_ways(name: str, up: bool) -> None:
    """Their level cameras look over stairs that lead down: they tilt them to see where such stairs begin."""
    visit = Visit(*_before_the_stairs(up), _coarse(ROBOTS[name]))
    _check_climb(visit, up)


@pytest.mark.thorough
@pytest.mark.parametrize("up", [True, False])
def test_stairs_of_a_scan_are_taken_too(up: bool, tmp_path: Path) -> None:
    home, scan = storeyed(SEED), tmp_path / "home.glb"
    export_glb(home.house, scan, home.mesh)
    (x, y, yaw), height_m = _before_the_stairs(up)
    start = Pose2(y, -x, yaw - math.pi / 2)  # the axes of a scan are turned
    _check_climb(Visit(start, height_m, _coarse(ROBOTS["openeqa"]), MeshSimulator(), f"mesh:{scan}"), up)


def _coarse(robot: RobotModel) -> RobotModel:
    camera = robot.camera
    return replace(robot, camera=replace(camera, width=camera.width // 4, height=camera.height // 4))


def _check_climb(visit: Visit, up: bool) -> None:
    reasons = visit.climb()
    assert f"takes the stairs {'up' if up else 'down'}" in reasons[0]
    assert reasons[-2:] == ["looks round on the floor that it came to", "nothing left"]
    assert visit.step.frame.map_from_base.xyz[2] == pytest.approx(storeyed(SEED).stairs.rise_m if up else 0.0)
    assert visit.step.frame.base_from_camera == visit.first_camera


@pytest.mark.parametrize("up", [True, False])
def test_a_robot_takes_the_stairs_and_keeps_both_maps(up: bool) -> None:
    start, height_m = _before_the_stairs(up)
    visit, rise = Visit(start, height_m), storeyed(SEED).stairs.rise_m
    first = visit.storeys.grid()
    reasons = visit.climb()
    assert f"takes the stairs {'up' if up else 'down'}" in reasons[0]
    now = visit.storeys.grid()
    assert abs(now.z - first.z) == pytest.approx(rise, abs=0.02)
    assert visit.step.metres < 8.0  # the shortest way from corridor to landing is 6.2 m
    assert reasons[-1] == "nothing left"  # both floors have nothing left: it does not go back and forth
    assert visit.storeys.between == 0 and len(visit.storeys.staircases) == 1


def test_a_robot_with_wheels_keeps_off_the_stairs() -> None:
    start, height_m = _before_the_stairs(up=True)
    robot = RobotModel(camera=ROBOT.camera)
    visit = Visit(start, height_m, robot)
    assert visit.climb() == ["nothing left"]
    assert visit.storeys.staircases == () and visit.step.frame.map_from_base.xyz[2] == 0.0
    stairs, grid = storeyed(SEED).stairs, visit.storeys.grid()
    iy, ix = (math.floor((v - o) / grid.resolution_m) for v, o in
              ((stairs.y0 + 1.0, grid.origin[1]), (stairs.middle[0], grid.origin[0])))
    assert grid.cells[iy, ix] == 100


def test_where_there_are_no_stairs_a_robot_that_takes_them_has_the_same_map() -> None:
    grids = []
    for robot in (ROBOT, RobotModel(camera=ROBOT.camera)):
        simulator, mapper = HouseSimulator(), Mapper(robot=robot)
        mapper.integrate(simulator.reset(EpisodeSetup("house:1000", robot=robot)).frame)
        for _ in range(12):
            mapper.integrate(simulator.act(Action.TURN_LEFT).frame)
        grids.append(mapper.grid())
    assert (grids[0].cells == grids[1].cells).mean() > 0.995 and grids[0].origin == grids[1].origin


def _world(*heights: int) -> tuple[np.ndarray, np.ndarray]:
    """Return voxels and plan of a strip 10 cells wide: two cells of each height (layers above the floor) in turn."""
    columns = 6 + 2 * len(heights)
    voxels, cells = np.full((10, columns, 90), AIR, np.int8), np.full((10, columns), -1, np.int8)
    cells[:, :6], voxels[:, :6, FLOOR] = 0, SOLID
    for number, height in enumerate(heights):
        here = slice(6 + 2 * number, 8 + 2 * number)
        voxels[:, here, FLOOR + height] = SOLID
        cells[:, here] = 100 if height > 1 else -1
    return voxels, cells


def test_steps_are_stairs_and_furniture_is_not() -> None:
    voxels, cells = _world(2, 4, 6, 8, 10)
    sheet = sheet_of(voxels, cells, FLOOR, 0.1, BODY, None)
    climb, = sheet.climbs
    assert climb.rise_m == pytest.approx(1.0) and climb.foot[1] < climb.end[1]
    assert (laid_over(sheet, voxels, cells, FLOOR, BODY) == 0).all()


def test_stairs_are_stairs_where_a_wall_hides_more_of_each_higher_step() -> None:
    voxels, cells = _world(*range(2, 22, 2))
    for number in range(10):
        hidden = min(9, 2 * number)
        voxels[:hidden, 6 + 2 * number:], cells[:hidden, 6 + 2 * number:] = 0, -1
    climb, = sheet_of(voxels, cells, FLOOR, 0.1, BODY, None).climbs
    assert climb.rise_m == pytest.approx(2.0)


def test_two_steps_that_end_where_nothing_was_seen_are_told_of_and_are_no_way() -> None:
    voxels, cells = _world(2, 4, 0)
    voxels[:, 10:], cells[:, 10:] = 0, -1
    sheet = sheet_of(voxels, cells, FLOOR, 0.1, BODY, None)
    climb, = sheet.climbs
    assert climb.rise_m == pytest.approx(0.4) and not sheet.stairs.any()
    voxels[:, 10:, FLOOR], cells[:, 10:] = SOLID, 0  # the floor behind them
    assert sheet_of(voxels, cells, FLOOR, 0.1, BODY, None).climbs == ()
    bed, plan = _world(4, 4, 0)
    bed[:, 10:], plan[:, 10:] = 0, -1
    assert sheet_of(bed, plan, FLOOR, 0.1, BODY, None).climbs == ()


@pytest.mark.parametrize("heights", [
    pytest.param((2, 2, 2, 2), id="a step"), pytest.param((2, 4, 4, 4), id="a stool"),
    pytest.param((4, 8, 8, 8), id="a table and a shelf"), pytest.param((5, 5, 5, 5), id="the edge of a bed"),
    pytest.param((0, 2, 4, 5, 6, 5, 5, 6, 5, 6, 6, 5), id="a box before a bed")])
def test_furniture_is_no_stairs(heights: tuple[int, ...]) -> None:
    voxels, cells = _world(*heights)
    sheet = sheet_of(voxels, cells, FLOOR, 0.1, BODY, None)
    assert sheet.climbs == () and (laid_over(sheet, voxels, cells, FLOOR, BODY) == cells).all()


def test_a_bed_whose_edge_was_not_seen_is_no_stairs() -> None:
    voxels, cells = _world(0, 2, 4, 4, 5, 4, 5, 5, 4)
    voxels[:, 8:11] = 0  # the flood crosses unseen cells to a surface that lies a little higher
    sheet = sheet_of(voxels, cells, FLOOR, 0.1, BODY, None)
    assert (sheet.level[:, 12:] > 0).any() and sheet.climbs == ()


def test_a_ramp_leads_up_like_stairs() -> None:
    voxels, cells = _world(*range(1, 15))
    climb, = sheet_of(voxels, cells, FLOOR, 0.1, BODY, None).climbs
    assert climb.rise_m == pytest.approx(1.4)
    steep, plan = _world(*range(3, 45, 3))  # every half metre 75 cm higher: too much for the robot
    assert sheet_of(steep, plan, FLOOR, 0.1, BODY, None).climbs == ()


def test_steps_under_something_low_are_no_way() -> None:
    voxels, cells = _world(2, 4, 6, 8, 10)
    voxels[:, 10:, FLOOR + 16] = SOLID
    level = sheet_of(voxels, cells, FLOOR, 0.1, BODY, None).level
    assert (level[:, 8] == 4).all() and (level[:, 10:] == NONE).all()


def test_steps_down_are_found_behind_the_edge_that_hides_the_first_ones() -> None:
    voxels, cells = _world(-2, -4, -6, -8, -10, -12, -14, -16)
    voxels[:, 6:12] = 0  # nobody has seen the first three steps
    climb, = sheet_of(voxels, cells, FLOOR, 0.1, BODY, None).climbs
    assert climb.rise_m == pytest.approx(-1.6)
    sheet = sheet_of(voxels, cells, FLOOR, 0.1, BODY, None)
    assert sheet.stairs[:, 12:].all()
    assert sheet.stairs[:, 8:12].all()  # all of their width, so that the robot fits
    deep, plan = _world(*[-14] * 8)  # a drop to a lower floor
    deep[:, 6:12] = 0
    assert sheet_of(deep, plan, FLOOR, 0.1, BODY, None).climbs == ()


def test_floor_that_was_only_looked_over_is_no_floor() -> None:
    voxels, cells = _world(-2, -4, -6, -8, -10, -12, -14, -16)
    cells[:, 6:10], voxels[:, 6:10] = 0, 0
    voxels[:, 6:10, FLOOR - 4:FLOOR + 20] = AIR  # below the image when the robot came near: its map says free
    sheet = sheet_of(voxels, cells, FLOOR, 0.1, BODY, None)
    assert (sheet.level[:, 7:10] < 0).all() and sheet.stairs[:, 8:].all()
    alone = voxels.copy()
    alone[:, 10:], alone[:, :6, FLOOR - 8:FLOOR] = 0, 0  # and nothing was seen of stairs
    sheet = sheet_of(alone, cells, FLOOR, 0.1, BODY, None)
    assert sheet.climbs == () and (laid_over(sheet, alone, cells, FLOOR, BODY)[:, 6:10] == -1).all()
