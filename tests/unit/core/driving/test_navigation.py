"""The atomic navigator in the toy world, on its own map and on maps that lie."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from eqa_nodes.core.driving.atomic import ActOutcome, AtomicNavigator, passable, with_obstacles
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.mapping.mapper import Mapper
from eqa_nodes.core.types.floor import FREE, Action, GridMap, NavCode, Travelled
from eqa_nodes.core.types.geometry import Pose2, wrap
from eqa_nodes.core.types.robot import CameraModel, RobotModel
from sim_bridge.simulator import EpisodeSetup, Step
from sim_bridge.toy import CELL_M, SCENES, GridWorld

_ROW = "#..............#"
OPEN = ("################", _ROW, _ROW, _ROW, "#......>.......#", _ROW, _ROW, _ROW, "################")
U_TURN = ("################", "#.............>#", "#.############.#", "#.............T#", "################")


class Rig:
    """A robot in a toy scene whose navigator sees the true map (`blind` cells apart), or the one it makes itself."""

    def __init__(self, scene: str = "open", robot: RobotModel | None = None, own_map: bool = False,
                 start: Pose2 | None = None, hide: str = "") -> None:
        self.world = GridWorld({"open": OPEN, "u": U_TURN, **SCENES})
        self.robot = robot or RobotModel(camera=CameraModel(320, 240) if own_map else CameraModel(16, 12))
        self.mapper = Mapper() if own_map else None
        self.actions: list[Action] = []
        self.before_act: Callable[[], None] = lambda: None
        rows = {"open": OPEN, "u": U_TURN, **SCENES}[scene]
        solid = np.array([[mark not in ".>" and mark not in hide for mark in row] for row in rows[::-1]])
        scale = round(CELL_M / 0.1)
        cells = np.where(solid.repeat(scale, 0).repeat(scale, 1), 100, 0).astype(np.int8)
        self.truth = GridMap(0, 0.1, (0.0, 0.0), cells, cells == 0)
        self.take(self.world.reset(EpisodeSetup(scene, start=start, robot=self.robot)))
        self.navigator = AtomicNavigator(
            self.act, lambda: self.mapper.grid() if self.mapper else self.truth,
            robot=self.robot, now=lambda: self.step.frame.stamp_ns / 1e9, pose=lambda: self.pose,
            travelled=lambda: Travelled(self.step.steps, self.step.metres))

    @property
    def pose(self) -> Pose2:
        return self.step.frame.pose

    def take(self, step: Step) -> Step:
        self.step = step
        if self.mapper:
            self.mapper.integrate(step.frame)
        return step

    def act(self, action: Action) -> ActOutcome:
        self.before_act()
        self.actions.append(action)
        step = self.take(self.world.act(action))
        return ActOutcome(step.frame.pose, step.collided)


def _rig_for_stairs(steps: int = 1) -> Rig:
    """A robot whose level camera, 1 m up, needs two looks of 15 degrees to see steps that fall away ahead of it."""
    robot = RobotModel(stairs=True, camera=CameraModel(32, 18, 90.0, height_m=1.0, tilt_down_deg=0.0))
    assert robot.looks_for_stairs == 2
    rig = Rig(robot=robot)
    for _ in range(steps):
        rig.act(Action.TURN_LEFT)
    rig.actions.clear()
    return rig


def test_at_the_start_of_an_episode_it_looks_round_once() -> None:
    rig = _rig_for_stairs(steps=0)
    assert rig.navigator.look_around(1e6).message == "looked around in 12 actions" and len(rig.actions) == 12


def test_a_robot_for_stairs_looks_round_a_second_time_with_its_camera_down() -> None:
    rig = _rig_for_stairs()
    level = rig.step.frame.base_from_camera
    assert rig.navigator.look_around(1e6).message == "looked around in 28 actions"
    assert rig.actions == [*[Action.TURN_LEFT] * 12, *[Action.LOOK_DOWN] * 2, *[Action.TURN_LEFT] * 12,
                           *[Action.LOOK_UP] * 2]
    assert rig.step.frame.base_from_camera == level


@pytest.mark.parametrize("steps", [12, 13, 14, 15, 16, 27, 28])
def test_the_camera_comes_up_again_within_the_steps_that_are_allowed(steps: int) -> None:
    rig = _rig_for_stairs()
    level = rig.step.frame.base_from_camera
    result = rig.navigator.look_around(1e6, FREE._replace(steps=steps))
    assert result.code == (NavCode.SUCCEEDED if steps >= 28 else NavCode.OUT_OF_STEPS)
    assert len(rig.actions) == min({13: 12, 15: 14}.get(steps, steps), 28)  # no step down without one to come up again
    assert rig.step.frame.base_from_camera == level


def test_the_camera_comes_up_again_when_the_drive_is_canceled() -> None:
    rig = _rig_for_stairs()
    level = rig.step.frame.base_from_camera
    rig.before_act = lambda: rig.navigator.cancel() if len(rig.actions) == 16 else None
    assert rig.navigator.look_around(1e6).code == NavCode.CANCELED
    assert rig.actions[16:] == [Action.TURN_LEFT, Action.LOOK_UP, Action.LOOK_UP]
    assert rig.step.frame.base_from_camera == level


@pytest.mark.parametrize(("goal", "turn_deg"), [(Pose2(6.0, 2.25, 0.0), 30.0), (Pose2(6.5, 3.5, 1.6), 15.0),
                                                (Pose2(1.0, 1.0, -2.0), 10.0), (Pose2(3.75, 3.6, 3.0), 45.0)])
def test_in_the_open_it_takes_hardly_more_actions_than_needed(goal: Pose2, turn_deg: float) -> None:
    rig = Rig(robot=RobotModel(turn_deg=turn_deg, camera=CameraModel(16, 12)))
    start = rig.pose
    result = rig.navigator.go_to(goal, 1e6)
    assert result.code == NavCode.SUCCEEDED, result
    assert rig.pose.distance(goal) <= 0.25 + 1e-9
    assert abs(wrap(rig.pose.yaw - goal.yaw)) <= math.radians(turn_deg) / 2 + 1e-9
    bearing = math.atan2(goal.y - start.y, goal.x - start.x)
    turns = (abs(wrap(bearing - start.yaw)) + abs(wrap(goal.yaw - bearing))) / math.radians(turn_deg)
    moves = max(0.0, start.distance(goal) - 0.25) / 0.25
    assert len(rig.actions) <= moves * 1.04 + turns + 4, (moves, turns, result.message)


def test_round_a_corner_and_through_doors_on_its_own_map() -> None:
    rig = Rig("flat", own_map=True)
    assert rig.navigator.look_around(1e6).code == NavCode.SUCCEEDED
    assert rig.actions == [Action.TURN_LEFT] * 12
    for goal in (Pose2(2.75, 5.0, -1.57), Pose2(2.6, 3.4, 0.0), Pose2(7.0, 3.4, 0.0)):
        ideal = rig.world.geodesic(rig.pose[:2], goal[:2]) / 0.25
        rig.actions.clear()
        result = rig.navigator.go_to(goal, 1e6)
        assert result.code == NavCode.SUCCEEDED, result
        assert rig.pose.distance(goal) <= 0.25 + 1e-9
        assert len(rig.actions) <= 1.15 * ideal + 12, (ideal, result.message)
        assert not rig.step.collided


def test_a_blocked_way_is_left_and_the_same_move_not_repeated() -> None:
    """The map does not show the table in the middle of the room: bump, remember, go round or give up, but end."""
    rig = Rig("room", hide="T", start=Pose2(2.3, 2.25, 0.0))
    result = rig.navigator.go_to(Pose2(4.6, 2.25, 0.0), 1e6)
    assert result.code == NavCode.SUCCEEDED, result
    assert len(rig.actions) < 45


def test_a_dead_end_that_the_map_does_not_show_ends_as_blocked() -> None:
    rig = Rig("u", hide="T")
    result = rig.navigator.go_to(Pose2(1.0, 0.75, 0.0), 1e6)
    assert result.code == NavCode.SUCCEEDED, result  # the long way round is open
    rig = Rig("u", hide="T#", start=Pose2(3.0, 0.75, 0.0))
    result = rig.navigator.go_to(Pose2(3.0, 1.75, 0.0), 1e6)
    assert result.code == NavCode.BLOCKED
    assert "blocked" in result.message or "in the way" in result.message
    assert len(rig.actions) < 120


def test_it_replans_when_the_map_closes_the_way() -> None:
    rig = Rig("u")
    seen = rig.truth.cells.copy()

    def close_after_four() -> None:
        if len(rig.actions) == 4:
            rig.truth.cells[15:20, 30:35] = 100

    rig.before_act = close_after_four
    result = rig.navigator.go_to(Pose2(1.0, 1.75, 0.0), 1e6)
    assert not np.array_equal(seen, rig.truth.cells)
    assert result.code == NavCode.UNREACHABLE
    assert rig.pose.x > 3.5  # it stopped before what it could not know when it set off


def test_goals_that_cannot_be_reached_are_named() -> None:
    for goal, code in ((Pose2(-5.0, 1.0, 0.0), NavCode.UNREACHABLE), (Pose2(1e9, 1.0, 0.0), NavCode.UNREACHABLE),
                       (Pose2(math.nan, 1.0, 0.0), NavCode.FAILED)):
        rig = Rig()
        result = rig.navigator.go_to(goal, 1e6)
        assert result.code == code
        assert result.message
        assert not rig.actions


def test_where_it_already_stands_only_the_yaw_is_left_to_do() -> None:
    rig = Rig()
    assert rig.navigator.go_to(rig.pose._replace(yaw=-math.pi / 2), 1e6).code == NavCode.SUCCEEDED
    assert rig.actions == [Action.TURN_RIGHT] * 3


def test_the_deadline_is_in_seconds_of_the_stamps() -> None:
    rig = Rig()
    result = rig.navigator.go_to(Pose2(6.5, 3.5, 0.0), 2.0)
    assert result.code == NavCode.TIMEOUT
    assert len(rig.actions) == 4  # half a second each
    assert rig.navigator.look_around(0.0).code == NavCode.TIMEOUT


def test_cancel_ends_the_drive_and_not_the_next() -> None:
    rig = Rig()
    rig.before_act = lambda: rig.navigator.cancel() if len(rig.actions) == 2 else None
    assert rig.navigator.go_to(Pose2(6.5, 3.5, 0.0), 1e6).code == NavCode.CANCELED
    assert len(rig.actions) == 3
    assert rig.navigator.go_to(Pose2(6.5, 3.5, 0.0), 1e6).code == NavCode.SUCCEEDED


def test_what_act_raises_passes_through() -> None:
    rig = Rig()
    rig.world.close()
    with pytest.raises(Exception, match="no episode"):
        rig.navigator.go_to(Pose2(6.5, 3.5, 0.0), 1e6)


@pytest.mark.parametrize("change", [{"turn_deg": 35.0}, {"move_m": 0.0}, {"radius_m": math.nan}])
def test_senseless_configuration_is_refused(change: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match=next(iter(change))):
        RobotModel(**change)


@pytest.mark.parametrize(("radius_m", "free"), [(0.2, True), (0.21, False)])
def test_a_disc_is_free_of_the_centres_of_occupied_cells(radius_m: float, free: bool) -> None:
    """The wall's cell is two cells, 0.2 m, from the robot's; of a path every position counts."""
    cells = np.zeros((10, 10), np.int8)
    cells[5, 7] = 100
    grid = GridMap(0, 0.1, (0.0, 0.0), cells, cells == 0)
    assert passable(grid, np.array([[0.25, 0.55], [0.55, 0.55]]), radius_m) is free
    assert passable(grid, np.array([[0.25, 0.55]]), radius_m)


def test_a_bump_occupies_its_cell_and_the_four_beside_it() -> None:
    free = np.zeros((5, 5), np.int8)
    marked = with_obstacles(GridMap(0, 0.1, (0.0, 0.0), free, free == 0), [(0.25, 0.25)]).cells
    assert np.argwhere(marked == 100).tolist() == [[1, 2], [2, 1], [2, 2], [2, 3], [3, 2]] and not free.any()
