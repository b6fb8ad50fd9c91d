"""A drive keeps within the metres, the seconds and the area of its question."""

from __future__ import annotations

import math

import pytest

from eqa_nodes.core.driving.commander import TaskEnd
from eqa_nodes.core.driving.config import RecoveryConfig
from eqa_nodes.core.driving.drive_budget import Odometer
from eqa_nodes.core.driving.driver import Interrupt
from eqa_nodes.core.errors import BadFrame
from eqa_nodes.core.types.floor import Allowance, NavCode
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.testing.driving import DONE, QUICK, ScriptedCommander, StandingRobot, driver_of
from tests.fixtures.rolling import HERE, NO_PATH, ROOM, Rolling, drive

SECOND = 10**9
NOWHERE = ((math.nan, 0.0, 0.0), (0.0, math.inf, 0.0), (0.0, 0.0, -math.inf))


@pytest.mark.parametrize("metres", [0.6, 1.0, 2.0])
@pytest.mark.parametrize("pace_m_s", [0.2, 0.5, 1.0])
def test_a_drive_ends_before_its_metres_do(metres: float, pace_m_s: float) -> None:
    commander = ScriptedCommander([None] * 3, ROOM)
    robot = Rolling(commander, pace_m_s)
    result = drive(commander, robot, allowance=Allowance(metres=metres))
    assert result.code is NavCode.OUT_OF_METRES and commander.said[-1] == "cancel"
    slides = robot.speed_m_s * QUICK.stop_s  # what the robot may still need to stand
    assert robot.metres is not None and metres - 0.4 * pace_m_s - 0.1 <= robot.metres + slides <= metres + 1e-6


def test_metres_that_are_used_up_begin_no_drive_but_a_turn() -> None:
    commander = ScriptedCommander([DONE] * 2, ROOM)
    robot = StandingRobot(HERE)
    assert drive(commander, robot, allowance=Allowance(metres=0.0)).code is NavCode.OUT_OF_METRES
    assert commander.said == []
    turned = driver_of(commander, robot).look_around(60.0, Interrupt(), Allowance(metres=0.0))
    assert turned.code is NavCode.SUCCEEDED


def test_seconds_end_a_drive() -> None:
    commander = ScriptedCommander([None], ROOM)
    assert drive(commander, allowance=Allowance(seconds=1e-3), deadline_s=1e9).code is NavCode.OUT_OF_SECONDS


def test_dead_odometry_ends_a_drive_and_says_so() -> None:
    commander, robot = ScriptedCommander([None] * 3, ROOM), StandingRobot(HERE)

    def dies() -> TaskEnd | None:
        robot.silent = True
        return None

    commander.script[0] = dies
    result = drive(commander, robot)
    assert result.code is NavCode.FAILED and "odometry gave no place" in result.message
    assert commander.said[-1] == "cancel"


def test_a_limit_in_metres_wants_odometry() -> None:
    commander, robot = ScriptedCommander([DONE], ROOM), StandingRobot(HERE)
    robot.metres = None
    result = drive(commander, robot, allowance=Allowance(metres=5.0))
    assert result.code is NavCode.FAILED and "no odometry has arrived" in result.message and commander.said == []
    assert drive(commander, robot).code is NavCode.SUCCEEDED  # nothing has to be counted


LEFT_HALF = ((0.0, 0.0), (3.8, 0.0), (3.8, 3.0), (0.0, 3.0))


def test_recovery_looks_for_no_viewpoint_outside_the_area() -> None:
    near_border, many = Pose2(3.6, 1.5, 0.5), RecoveryConfig(viewpoints=6)
    commander = ScriptedCommander([NO_PATH] * 20, ROOM)
    drive(commander, goal=near_border, recovery=many, allowance=Allowance(area=LEFT_HALF))
    views = [said for said in commander.said if isinstance(said, Pose2) and said != near_border]
    assert len(views) > 3 and all(view.x < 3.8 for view in views)
    commander = ScriptedCommander([NO_PATH] * 20, ROOM)
    drive(commander, goal=near_border, recovery=many)
    assert any(isinstance(said, Pose2) and said.x > 3.8 for said in commander.said)  # where it may it does


def test_no_goal_outside_the_area_is_driven_to() -> None:
    commander = ScriptedCommander([DONE], ROOM)
    result = drive(commander, goal=Pose2(4.5, 1.5, 0.0), allowance=Allowance(area=LEFT_HALF))
    assert result.code is NavCode.UNREACHABLE and "outside the question's area" in result.message
    assert commander.said == []


def test_a_robot_that_would_leave_its_area_is_stopped_before_it() -> None:
    commander = ScriptedCommander([None] * 3, ROOM)
    robot = Rolling(commander)
    result = drive(commander, robot, goal=Pose2(3.7, 1.5, 0.0), allowance=Allowance(area=LEFT_HALF))
    assert result.code is NavCode.BLOCKED and "would leave the question's area" in result.message
    assert robot.farthest + 0.5 * QUICK.stop_s <= 3.8 + 0.06 and commander.said[-1] == "cancel"


def test_a_robot_outside_its_area_may_get_in() -> None:
    commander = ScriptedCommander([None] * 3, ROOM)
    robot = Rolling(commander, x=-0.5)
    result = drive(commander, robot, goal=Pose2(1.0, 1.5, 0.0), deadline_s=2.0, allowance=Allowance(area=LEFT_HALF))
    assert result.code is NavCode.TIMEOUT and robot.farthest > 0.2


def test_a_way_is_the_sum_of_its_steps() -> None:
    odometer = Odometer(0.5)
    for i in range(11):
        odometer.take((i + 1) * SECOND, (0.1 * i, 0.0, 0.0))
    assert odometer.metres == pytest.approx(1.0) and odometer.newest_ns == 11 * SECOND


@pytest.mark.parametrize("nowhere", NOWHERE)
def test_places_that_are_no_numbers_between_the_others_take_nothing_away(nowhere: tuple[float, float, float]) -> None:
    odometer = Odometer(0.5)
    for i in range(11):
        odometer.take((2 * i + 1) * SECOND, (0.1 * i, 0.0, 0.0))
        with pytest.raises(BadFrame, match="not finite"):
            odometer.take((2 * i + 2) * SECOND, nowhere)
    assert odometer.metres == pytest.approx(1.0) and odometer.newest_ns == 21 * SECOND


@pytest.mark.parametrize(("step_m", "driven"), [(0.79, True), (0.81, False)])
def test_a_step_is_a_jump_beyond_what_three_metres_a_second_allow(step_m: float, driven: bool) -> None:
    """0.5 m, and 3 m/s for a tenth of a second: 0.8 m."""
    odometer = Odometer(0.5)
    odometer.take(SECOND, (0.0, 0.0, 0.0))
    if driven:
        odometer.take(SECOND + SECOND // 10, (step_m, 0.0, 0.0))
        assert odometer.metres == pytest.approx(step_m)
        return
    with pytest.raises(BadFrame, match="jumped by 0.8 m"):
        odometer.take(SECOND + SECOND // 10, (step_m, 0.0, 0.0))


def test_a_jump_is_not_driven_and_the_way_goes_on_from_there() -> None:
    odometer = Odometer(0.5)
    odometer.take(SECOND, (0.0, 0.0, 0.0))
    with pytest.raises(BadFrame, match=r"jumped by 9.0 m"):
        odometer.take(SECOND + SECOND // 10, (9.0, 0.0, 0.0))
    odometer.take(SECOND + SECOND // 5, (9.1, 0.0, 0.0))
    assert odometer.metres == pytest.approx(0.1)


def test_what_comes_again_or_late_changes_nothing() -> None:
    odometer = Odometer(0.5)
    for stamp, x in ((2, 0.0), (3, 0.2), (3, 0.2), (2, 0.0), (1, 5.0), (4, 0.4)):
        odometer.take(stamp * SECOND, (x, 0.0, 0.0))
    assert odometer.metres == pytest.approx(0.4)
    odometer.begin()
    odometer.take(5 * SECOND, (0.5, 0.0, 0.0))
    assert odometer.metres == 0.0
    odometer.set_back()
    odometer.take(SECOND, (0.5, 0.0, 0.0))
    odometer.take(2 * SECOND, (0.7, 0.0, 0.0))
    assert odometer.metres == pytest.approx(0.2)
