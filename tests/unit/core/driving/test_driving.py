"""Driving by goals: what is tried when a goal fails, and that every drive ends with a reason, within its limits."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import pytest

from eqa_nodes.core.driving.commander import MEANINGS, Halted, TaskEnd, TaskState, meaning_of, result_of
from eqa_nodes.core.driving.config import GateConfig, KeepOutConfig, RecoveryConfig, WaitConfig
from eqa_nodes.core.driving.driver import Interrupt, _Pace
from eqa_nodes.core.driving.planning import plan
from eqa_nodes.core.driving.zones import Fence, Touch, mask_of, parsed, with_mask
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.types.floor import GridMap, NavCode
from eqa_nodes.core.types.geometry import Pose2, wrap
from eqa_nodes.testing.driving import DONE, QUICK, ScriptedCommander, StandingRobot, aborted, costmap, driver_of
from tests.fixtures.rolling import GOAL, HERE, NO_PATH, ROOM, drive


def test_a_goal_is_reached_with_the_yaw_that_was_wanted() -> None:
    commander = ScriptedCommander([None, DONE])
    commander.script.pop(0)
    assert drive(commander).code is NavCode.SUCCEEDED and commander.said == [GOAL]


@pytest.mark.parametrize(("arrived_m", "code"), [(0.8, NavCode.BLOCKED), (2.9, NavCode.BLOCKED),
                                                  (3.0, NavCode.SUCCEEDED), (0.0, NavCode.SUCCEEDED)])
def test_a_success_of_a_robot_that_is_elsewhere_has_failed(arrived_m: float, code: NavCode) -> None:
    commander = ScriptedCommander([DONE] * 2)
    driver = driver_of(commander, StandingRobot(HERE))
    commander.robot, driver.config = None, replace(driver.config, arrived_m=arrived_m)
    result = driver.go_to(GOAL, 100.0, Interrupt())
    assert result.code is code and ("clear" in commander.said) == (code is NavCode.BLOCKED), "it is tried again"
    assert code is NavCode.SUCCEEDED or (
        "goal (4.00, 1.50): Nav2 reports success, but the robot is not at the goal (it is at (1.00, 1.50), 3.00 m off)"
        ", tried 2 times" in result.message)


def test_what_may_pass_is_tried_again_with_empty_costmaps() -> None:
    commander = ScriptedCommander([NO_PATH, DONE])
    assert drive(commander).code is NavCode.SUCCEEDED
    assert commander.said == [GOAL, "clear", GOAL]


def test_then_it_is_looked_at_from_the_nearest_place_then_from_afar() -> None:
    commander = ScriptedCommander([NO_PATH, NO_PATH, aborted(206), aborted(105, "stuck"), DONE], ROOM)
    result = drive(commander)
    views = [said for said in commander.said[4:] if isinstance(said, Pose2)]
    assert result.code is NavCode.SUCCEEDED and "from afar" in result.message and "error 208" in result.message
    assert "tried 2 times" in result.message and "error 105 (stuck)" in result.message
    assert [view.distance(GOAL) for view in views[:2]] == pytest.approx([0.5, 0.5], abs=0.26)
    assert views[2].distance(HERE) < 0.5  # from where the robot stands, if it sees it from there
    for view in views:
        assert abs(wrap(math.atan2(GOAL.y - view.y, GOAL.x - view.x) - view.yaw)) < 1e-9


def test_it_gives_up_with_all_that_was_tried() -> None:
    commander = ScriptedCommander([NO_PATH] * 5, ROOM)
    result = drive(commander)
    assert result.code is NavCode.UNREACHABLE and result.message.startswith("gave up: goal (4.00, 1.50): no path")
    assert result.message.count("Nav2's error 208 (Failed to find a valid path)") == 4
    assert result.message.count("backed off") == 2 and result.message.count("from afar") == 1


def test_without_a_costmap_or_a_view_it_says_so() -> None:
    assert "no node serves the costmap" in drive(ScriptedCommander([NO_PATH] * 2)).message
    walled = costmap(["." * 9 + "#" + "." * 14] * 12)
    result = drive(ScriptedCommander([NO_PATH] * 2, walled))
    assert "no place on the costmap can be reached and sees the goal" in result.message


@pytest.mark.parametrize("code", sorted(MEANINGS))
def test_each_error_of_nav2_ends_in_a_result_with_its_number(code: int) -> None:
    commander = ScriptedCommander([aborted(code, "why")] * 9)
    result = drive(commander)
    assert result.code is MEANINGS[code].code and f"error {code} (why)" in result.message
    assert commander.said.count(GOAL) == 1 + MEANINGS[code].again


def test_ends_without_a_known_number_are_named_too() -> None:
    assert result_of(aborted(4711, "odd")) == (NavCode.BLOCKED, "Nav2's error 4711, which is not known here (odd)")
    silent = result_of(aborted(0))
    assert silent.code is NavCode.BLOCKED and silent.message.startswith("Nav2 gave up without a code")
    assert result_of(TaskEnd(TaskState.CANCELED)).code is NavCode.CANCELED
    assert meaning_of(TaskEnd(TaskState.LOST)).code is NavCode.FAILED
    assert drive(ScriptedCommander([TaskEnd(TaskState.REJECTED)] * 9)).code is NavCode.BLOCKED


def test_a_nav2_that_comes_back_is_asked_again() -> None:
    commander = ScriptedCommander([TaskEnd(TaskState.LOST, 0, "nobody serves it"), DONE])
    assert drive(commander).code is NavCode.SUCCEEDED and commander.said == [GOAL, "halt", GOAL]


def test_a_nav2_that_is_not_there_is_named() -> None:
    result = drive(ScriptedCommander([], missing="bt_navigator of Nav2 is inactive, not active"))
    assert result.code is NavCode.FAILED and "bt_navigator of Nav2 is inactive" in result.message
    assert "lifecycle manager" in result.message


@pytest.mark.parametrize(("active_s", "asked_s"), [(20.0, 1.0), (0.5, 0.5)])
def test_a_stop_counts_within_a_second_while_nav2_is_absent(active_s: float, asked_s: float) -> None:
    commander, interrupt, waits = ScriptedCommander([]), Interrupt(), list[float]()

    def missing(wait_s: float) -> str:
        waits.append(wait_s)
        interrupt.set("stopped by the operator")
        return "bt_navigator of Nav2 is inactive, not active"

    commander.missing = missing  # type: ignore[method-assign]
    driver = driver_of(commander, StandingRobot(HERE), wait=replace(QUICK, active_s=active_s))
    assert driver.go_to(GOAL, 100.0, interrupt) == (NavCode.CANCELED, "stopped by the operator")
    assert waits == [asked_s] and commander.said == []


def test_a_part_of_nav2_that_hangs_is_named_where_goals_are_rejected() -> None:
    commander = ScriptedCommander([TaskEnd(TaskState.REJECTED)] * 9)
    said = iter(["", "", "controller_server of Nav2 is inactive, not active"])
    commander.missing = lambda wait_s: next(said, "controller_server of Nav2 is inactive, not active")  # type: ignore
    result = drive(commander)
    assert result.code is NavCode.FAILED and "Nav2 rejected the goal" in result.message
    assert "controller_server of Nav2 is inactive" in result.message


def test_a_goal_that_another_client_replaces_is_not_sent_again() -> None:
    commander = ScriptedCommander([TaskEnd(TaskState.REPLACED), DONE])
    assert drive(commander).code is NavCode.CANCELED and commander.said == [GOAL]


def test_the_robot_is_left_to_who_drives_it_already() -> None:
    commander = ScriptedCommander([DONE])
    commander.others = iter([True])
    result = drive(commander)
    assert result.code is NavCode.FAILED and "another client, such as RViz, drives the robot" in result.message
    assert commander.said == []


Arrange = Callable[[ScriptedCommander, StandingRobot, Interrupt], None]


@pytest.mark.parametrize(("arrange", "code", "words"), [
    (lambda c, r, i: i.set("canceled"), NavCode.CANCELED, "canceled"),
    (lambda c, r, i: setattr(r, "lost", True), NavCode.FAILED, "no transform came"),
    (lambda c, r, i: setattr(r, "at", Pose2(2.3, 1.5, 0.0)), NavCode.BLOCKED, "keep-out zone 'pond'"),
    (lambda c, r, i: setattr(r, "now", 1000.0), NavCode.TIMEOUT, "did not arrive within 100 s"),
    (lambda c, r, i: setattr(c, "quiet_s", 6.0), NavCode.TIMEOUT, "has sent no feedback for 6 s")])
@pytest.mark.parametrize("stops", [True, False])
def test_a_drive_is_stopped_at_once(arrange: Arrange, code: NavCode, words: str, stops: bool) -> None:
    robot, interrupt = StandingRobot(HERE), Interrupt()
    commander = ScriptedCommander([lambda: arrange(commander, robot, interrupt)], stops=stops)
    result = drive(commander, robot, interrupt=interrupt, zones=["pond: 2.5 1, 3 1, 3 2, 2.5 2"])
    assert words in result.message and commander.said == [GOAL, "cancel"] + ["halt"] * (not stops)
    assert result.code is (code if stops else NavCode.FAILED)
    assert ("use its emergency stop" in result.message) is not stops


@pytest.mark.parametrize(("halted", "stands"), [
    (Halted(controller=True), True), (Halted(controller=True, silent=("spin",)), False), (Halted(), False)])
def test_where_the_navigator_confirms_no_cancel_the_controller_is_told_to_stop(halted: Halted, stands: bool) -> None:
    interrupt = Interrupt()
    commander = ScriptedCommander([lambda: interrupt.set("canceled")], stops=False)
    commander.halted = halted
    result = drive(commander, interrupt=interrupt)
    assert commander.said == [GOAL, "cancel", "halt"]
    assert result.code is (NavCode.CANCELED if stands else NavCode.FAILED)
    assert ("use its emergency stop" in result.message) is not stands


def test_where_the_navigator_is_gone_the_controller_is_told_to_stop_before_anything_else() -> None:
    commander = ScriptedCommander([TaskEnd(TaskState.LOST, 0, "no server for navigate_to_pose")] * 2)
    commander.halted = Halted(silent=("follow_path",))
    result = drive(commander)
    assert commander.said[:2] == [GOAL, "halt"] and result.code is NavCode.FAILED
    assert "no server for navigate_to_pose; follow_path did not confirm that it stopped" in result.message
    assert "use its emergency stop" in result.message


@pytest.mark.parametrize("during", [False, True])
def test_the_operator_stops_the_robot_and_lets_it_go_on(during: bool) -> None:
    robot = StandingRobot(HERE)
    commander = ScriptedCommander([lambda: driver.gates.set_stop(True), DONE])
    driver = driver_of(commander, robot)
    driver.gates.set_stop(not during)
    result = driver.go_to(GOAL, 100.0, Interrupt())
    assert result.code is NavCode.FAILED and "operator's stop is on: publish false" in result.message
    assert commander.said == ([GOAL, "cancel"] if during else [])
    driver.gates.set_stop(False)
    commander.script = [DONE]
    assert driver.look_around(100.0, Interrupt()).code is NavCode.SUCCEEDED


def test_the_battery_and_the_localisation_are_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.monotonic", lambda: 100.0)
    commander = ScriptedCommander([DONE] * 9)
    driver = driver_of(commander, StandingRobot(HERE), gates=GateConfig(battery_min=0.2, std_m=0.3, std_rad=0.5))

    def said() -> str:
        return driver.go_to(GOAL, 10.0, Interrupt()).message

    assert "charge of the battery is not known" in said()
    driver.gates.set_battery(0.15, 90.0)
    assert said() == "the battery is at 15%, and the limit is 20%: charge it"
    driver.gates.set_battery(0.5, 30.0)
    assert "not known" in said()  # too long ago
    driver.gates.set_battery(0.5, 90.0)
    assert "no valid amcl_pose arrived" in said()
    covariance = [0.0] * 36
    covariance[0], covariance[1], covariance[6], covariance[7] = 0.1, 0.1, 0.1, 0.1  # 0.45 m along the diagonal
    driver.gates.set_covariance(covariance)
    assert said().startswith("the robot's place is uncertain by 0.45 m, and the limit is 0.3 m: localise it")
    driver.gates.set_covariance([0.0] * 35 + [1.0])
    assert "uncertain by 1.00 rad, and the limit is 0.5 rad" in said()
    driver.gates.set_covariance([0.0] * 36)
    assert said() == "" and commander.said == [GOAL]


def test_a_goal_in_a_zone_is_looked_at_from_outside() -> None:
    commander = ScriptedCommander([DONE], ROOM)
    zone = "pond: 3.5 1, 4.5 1, 4.5 2, 3.5 2"
    result = drive(commander, zones=[zone])
    assert result.code is NavCode.SUCCEEDED and "keep-out zone 'pond'" in result.message
    (view,) = [said for said in commander.said if isinstance(said, Pose2)]
    assert view.distance(GOAL) >= 1.0
    result = drive(ScriptedCommander([]), zones=[zone])
    assert result.code is NavCode.UNREACHABLE and "keep_out.zones" in result.message


def test_a_robot_in_a_zone_may_leave_it() -> None:
    robot = StandingRobot(HERE)
    places = [1.0, 1.05, 0.9, 0.6, 0.2, 0.0]  # the zone ends at x = 0.5

    def leave() -> TaskEnd | None:
        robot.at = Pose2(places.pop(0), 1.5, 0.0)
        return None if places else DONE

    zone = "pond: 0.5 0, 3 0, 3 3, 0.5 3"
    assert drive(ScriptedCommander([leave]), robot, Pose2(-1.0, 1.5, 0.0), zones=[zone]).code is NavCode.SUCCEEDED
    robot.at, places[:] = HERE, [1.0, 1.05, 1.2, 1.3]
    assert drive(ScriptedCommander([leave]), robot, Pose2(-1.0, 1.5, 0.0), zones=[zone]).code is NavCode.BLOCKED


def test_goals_that_are_no_numbers_are_refused() -> None:
    assert "is not finite" in drive(ScriptedCommander([]), goal=Pose2(math.nan, 0.0, 0.0)).message


@pytest.mark.parametrize(("make", "words"), [
    (lambda: KeepOutConfig(("pond: 0 0, 1 0",)), "'pond: 0 0, 1 0' is not a polygon"),
    (lambda: KeepOutConfig(("pond: 0 0, 1 1, 2 2",)), "not a polygon"),
    (lambda: KeepOutConfig(("0 0, 1 0, 1 1",)), "name"),
    (lambda: KeepOutConfig(("pond: 0 0, 1 0, nan 1",)), "not a polygon"),
    (lambda: KeepOutConfig(margin_m=0.2), "stop_m 0.25 < margin_m 0.2"),
    (lambda: GateConfig(battery_min=20.0), "battery_min is 20.0"), (lambda: WaitConfig(answer_s=0.0), "answer_s"),
    (lambda: RecoveryConfig(afar_m=1.0), "back_off_m")])
def test_wrong_settings_are_refused(make: Callable[[], object], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        make()


def test_turning_is_tried_again_and_named() -> None:
    commander = ScriptedCommander([aborted(703)] * 2)
    driver = driver_of(commander, StandingRobot(HERE), wait=QUICK)
    result = driver.look_around(30.0, Interrupt())
    assert result.code is NavCode.BLOCKED and "error 703, tried 2 times" in result.message
    assert commander.said == [("turn", 6.283), "clear", ("turn", 6.283)]


class Pushing(StandingRobot):
    """Is told to drive forward, and does not get on."""

    def __init__(self, pose: Pose2, told_m_s: float = 0.4) -> None:
        super().__init__(pose)
        self.told_m_s = told_m_s


def shut(mask: GridMap, x: float, y: float) -> bool:
    row, column = (int((v - o) // mask.resolution_m) for v, o in zip((y, x), mask.origin[::-1]))
    inside = 0 <= row < mask.cells.shape[0] and 0 <= column < mask.cells.shape[1]
    return inside and mask.cells[row, column] == 100


def test_the_planner_is_given_what_the_robot_touches_until_the_drive_ends() -> None:
    commander = ScriptedCommander([None])
    robot, interrupt = Pushing(Pose2(1.0, 1.5, math.pi / 2)), Interrupt()
    seen = iter([None] * 6)
    commander.script = [lambda: next(seen, DONE)]
    assert drive(commander, robot, interrupt=interrupt).code is NavCode.SUCCEEDED
    before, first, second, after = commander.masks
    assert not before.cells.any() and not after.cells.any()
    assert shut(first, 1.0, 1.75) and shut(first, 1.0, 1.9) and not shut(first, 1.0, 1.5)
    assert shut(second, 1.3, 1.75) and not shut(first, 1.3, 1.75) and not shut(second, 1.0, 1.5)  # a pane is wide


def test_what_would_shut_the_place_of_the_robot_is_forgotten() -> None:
    touch = Touch(2.0, 0.2)
    assert not touch.felt(0.0, HERE, 0.4) and touch.felt(2.0, HERE, 0.4)
    assert not touch.felt(2.1, HERE, 0.4) and touch.felt(4.2, HERE, 0.4)
    aside = HERE._replace(x=HERE.x + 0.25, y=HERE.y + 0.22)
    assert len(touch.points) == 4 and touch.felt(5.0, aside, 0.0) and len(touch.points) == 3


@pytest.mark.parametrize(("told_m_s", "moved_m", "touches"), [
    (0.05, 0.029, True), (0.049, 0.0, False), (0.05, 0.031, False), (math.nan, 0.0, False)])
def test_a_touch_is_two_seconds_of_commands_without_motion(told_m_s: float, moved_m: float, touches: bool) -> None:
    touch = Touch(2.0, 0.2)
    touch.felt(0.0, HERE, told_m_s)
    assert not touch.felt(1.99, HERE._replace(x=HERE.x + moved_m), told_m_s)
    assert touch.felt(2.0, HERE._replace(x=HERE.x + moved_m), told_m_s) is touches
    if touches:  # 5 cm beyond the robot's outline
        assert touch.points == [pytest.approx((HERE.x + moved_m + 0.25, HERE.y))]


def test_the_speed_tells_where_the_robot_would_stand() -> None:
    """0.6 s until it stands: at 0.5 m/s it gets 0.3 m on; gaining speed, as much again is expected."""
    pace = _Pace(0.6)
    assert pace.when_stopped(0.0, HERE) == HERE and pace.when_stopped(0.1, HERE) == HERE  # too soon to say
    faster = HERE._replace(x=HERE.x + 0.1)
    assert pace.when_stopped(0.2, faster).x == pytest.approx(faster.x + 0.6 * 2 * 0.5)  # from 0 to 0.5 m/s
    steady = HERE._replace(x=HERE.x + 0.2)
    assert pace.when_stopped(0.4, steady).x == pytest.approx(steady.x + 0.6 * 0.5)
    assert pace.when_stopped(0.6, HERE._replace(x=HERE.x + 5.0)).x == HERE.x + 5.0, "a corrected pose is no speed"


def test_the_planner_keeps_off_zones_by_more_than_the_robot_is_stopped_at() -> None:
    commander = ScriptedCommander([])
    driver_of(commander, StandingRobot(HERE), zones=["stairs: 2 1, 3 1, 3 2, 2 2"])
    mask, = commander.masks
    keep_out = KeepOutConfig()
    assert shut(mask, 2.5, 1.5) and shut(mask, 2.0 - keep_out.stop_m - 0.05, 1.5)
    assert not shut(mask, 2.0 - keep_out.margin_m, 1.5)


def test_a_path_leads_round_a_mask() -> None:
    grid = costmap(["." * 24] * 12)
    masked = with_mask(grid, mask_of((), 0.0, [(3.0, 1.5)], 1.0))
    path = plan(masked, HERE, Pose2(5.0, 1.5, 0.0), 0.1)
    assert path is not None and all(math.dist((p.x, p.y), (3.0, 1.5)) > 0.9 for p in path)
    assert plan(grid, HERE, Pose2(5.0, 1.5, 0.0), 0.1) != path


def test_a_fence_stops_at_its_distance_or_a_decimetre_deeper_than_where_the_robot_began() -> None:
    zones = parsed(["pond: 2 0, 3 0, 3 3, 2 3"])

    def breached(*xs: float) -> list[bool]:
        fence = Fence(zones, 0.25)
        return [bool(fence.breached(Pose2(x, 1.5, 0.0))) for x in xs]

    assert breached(1.0, 1.75, 1.76) == [False, False, True]
    assert breached(1.9, 1.99, 2.01) == [False, False, True]  # it began 0.1 m from the zone
    assert breached(1.9, 1.7, 1.8) == [False, False, True]  # once it has left, the distance holds
