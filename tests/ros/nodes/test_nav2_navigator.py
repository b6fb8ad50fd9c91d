"""The node between the agent and Nav2, against a Nav2 that misbehaves, over the wire and by both commanders."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock
from xml.etree import ElementTree

import pytest
from action_msgs.msg import GoalStatus
from geometry_msgs.msg import PoseWithCovarianceStamped, TwistStamped
from nav2_msgs.action import NavigateToPose
from nav2_msgs.msg import CostmapFilterInfo
from nav_msgs.msg import OccupancyGrid
from sensor_msgs.msg import BatteryState
from std_msgs.msg import Bool

from eqa_nodes.core.driving.commander import TaskEnd, TaskState
from eqa_nodes.core.types.floor import GridMap, NavCode
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.inquiries import CONFIRM, DRY
from eqa_nodes.ros.interfaces import qos
from eqa_nodes.ros.nav2.wire import WireTask, end_of
from eqa_nodes.ros.sros2 import policy
from eqa_nodes.wire import messages
from eqa_nodes.wire.graph import MANAGED, SERVICES
from tests.fixtures.endpoints import opened, unused
from tests.fixtures.nav2_rig import COMMANDERS, WAIT_S, Rig, opened_rig, until
from tests.fixtures.policy_rules import allowed

pytestmark = pytest.mark.timeout(180)


@pytest.fixture(params=COMMANDERS)
def rig(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Rig]:
    with opened_rig(request.param, monkeypatch) as result:
        yield result


def test_goals_reach_nav2_with_their_yaw(rig: Rig) -> None:
    rig.node()
    with rig.nav2() as nav2:
        assert rig.go(3.0, 2.0, 1.0).code is NavCode.SUCCEEDED
        assert rig.turn().code is NavCode.SUCCEEDED
    assert nav2.goals[0] == pytest.approx((3.0, 2.0, 1.0)) and nav2.goals[1] == pytest.approx(6.2832, abs=1e-3)


@pytest.mark.parametrize("drive", [CONFIRM, DRY])
def test_nav2_gets_no_goal_that_the_operator_does_not_allow(rig: Rig, drive: str) -> None:
    node = rig.node(node__drive=drive)
    with rig.nav2() as nav2:
        refused = [rig.go(), rig.turn(), *([rig.go(permitted=True)] if drive == DRY else [])]
        assert {result.code for result in refused} == {NavCode.NOT_ALLOWED} and not nav2.goals
        assert all(f"node.drive is {drive}" in result.message for result in refused)
        assert node.counts["drive not allowed"] == len(refused)
        if drive == CONFIRM:
            assert rig.go(3.0, 2.0, 1.0, permitted=True).code is NavCode.SUCCEEDED and len(nav2.goals) == 1
            assert rig.go(3.0, 2.0, 1.0).code is NavCode.NOT_ALLOWED and len(nav2.goals) == 1  # a yes is for one drive


def test_errors_and_rejections_are_told_and_the_next_drive_works(rig: Rig) -> None:
    rig.node()
    with rig.nav2([(105, "stuck"), "reject", (208, "no way"), (4711, "odd"), (703, "wall"), "succeed"]):
        assert rig.go() == (NavCode.BLOCKED, "gave up: goal (3.00, 2.00): no progress: Nav2's error 105 (stuck)")
        assert "Nav2 rejected the goal" in rig.go().message
        result = rig.go()
        assert result.code is NavCode.UNREACHABLE and "error 208 (no way)" in result.message
        assert "error 4711, which is not known here (odd)" in rig.go().message
        assert rig.turn() == (NavCode.BLOCKED, "turn: something is in the way: Nav2's error 703 (wall)")
        assert rig.go().code is NavCode.SUCCEEDED


def test_a_goal_that_the_robot_does_not_get_to_is_not_reached_whatever_nav2_says(rig: Rig) -> None:
    rig.node()
    with rig.nav2(arrive=lambda goal: None):
        assert rig.go() == (NavCode.BLOCKED, "gave up: goal (3.00, 2.00): Nav2 reports success, but the robot is not "
                                             "at the goal (it is at (1.00, 2.00), 2.00 m off)")
        assert rig.go(1.5, 2.0).code is NavCode.SUCCEEDED


def test_a_blocked_goal_is_looked_at_from_where_it_can_be_seen(rig: Rig) -> None:
    rig.node(recovery__retries=1, recovery__viewpoints=1)
    with rig.nav2([(206, "occupied"), (206, "occupied"), "succeed"]) as nav2:
        rows = [[0] * 40 for _ in range(20)]
        rows[8][12], rows[8][13] = 254, 253  # the goal, and beside it where the robot would touch it
        nav2.costs = rows, 0.25, (0.0, 0.0)
        result = rig.go(3.1, 2.1, 0.0)
    assert result.code is NavCode.SUCCEEDED and "backed off" in result.message and "error 206" in result.message
    assert sorted(nav2.cleared) == ["clear_global_costmap", "clear_local_costmap"]
    view = nav2.goals[2]
    assert isinstance(view, Pose2) and 0.3 < view.distance(Pose2(3.1, 2.1, 0.0)) < 1.0


def test_the_map_frame_has_the_name_that_it_has_on_the_robot(rig: Rig) -> None:
    rig.map_frame = "r1/map"
    rig.node(recovery__retries=1, recovery__viewpoints=1)
    with rig.nav2([(206, "occupied"), (206, "occupied"), "succeed"], map_frame="r1/map") as nav2:
        nav2.costs = [[0] * 40] * 20, 0.25, (0.0, 0.0)
        result = rig.go()
    assert result.code is NavCode.SUCCEEDED and "backed off" in result.message


def test_a_nav2_that_is_not_active_goes_away_and_comes_back(rig: Rig) -> None:
    rig.node(wait__active_s=2.0)
    result = rig.go()
    assert result.code is NavCode.FAILED and "bt_navigator/get_state" in result.message and "bring up" in result.message
    with rig.nav2(["run"], {"bt_navigator": "active", "planner_server": "inactive",
                              "controller_server": "active", "behavior_server": "active"}) as nav2:
        until(lambda: "planner_server of Nav2 is inactive, not active" in rig.go().message)
        nav2.states["planner_server"] = "active"
        drive = rig.running(nav2)
        nav2.vanish()
        result = drive()
        assert result.code is NavCode.FAILED and "Nav2 does not answer" in result.message
    with rig.nav2():
        until(lambda: rig.go().code is NavCode.SUCCEEDED)


def test_the_server_that_is_gone_is_named_before_those_that_the_lifecycle_manager_deactivated(rig: Rig) -> None:
    rig.node(wait__active_s=1.0)
    others = dict.fromkeys(("bt_navigator", "controller_server", "behavior_server"), "inactive")
    with rig.nav2(states=others):
        until(lambda: rig.go().message.startswith("no server for planner_server/get_state: is Nav2 up?; "
                                                  "bt_navigator of Nav2 is inactive, not active; "))


def test_results_of_humble_have_neither_code_nor_message() -> None:
    assert end_of(GoalStatus.STATUS_ABORTED, SimpleNamespace(result=None)) == TaskEnd(TaskState.ABORTED)


def test_a_goal_whose_answer_is_lost_is_canceled() -> None:
    """It was accepted, and drives the robot."""
    client = Mock(_action_type=NavigateToPose)
    task = WireTask(client, NavigateToPose.Goal(), answer_s=-1.0)
    end = task.poll(0.0)
    assert end is not None and end.state is TaskState.LOST
    (canceled,), _ = client._cancel_goal_async.call_args
    assert canceled.goal_id is client.send_goal_async.call_args.kwargs["goal_uuid"]


def test_it_opens_what_its_policy_allows(rig: Rig) -> None:
    rig.node()
    may = allowed(ElementTree.fromstring(policy()))["/nav2_navigator"]
    amcl = {f"/{SERVICES[MANAGED['amcl']].name}"}  # only where `managed` has it
    if rig.commander == "wire":  # the other's clients are those of BasicNavigator's node
        until(lambda: unused(opened(rig.client, "nav2_navigator"), may) == amcl)
    for used, given in zip(opened(rig.client, "nav2_navigator"), may, strict=True):
        assert used <= given


def test_limits_hold_before_and_during_a_drive(rig: Rig) -> None:
    node = rig.node(gates__battery_min=0.2, gates__std_m=0.3, keep_out__zones=["pond: 6 1, 8 1, 8 3, 6 3"])
    battery = rig.client.create_publisher(BatteryState, "battery_state", 1)
    place = rig.client.create_publisher(PoseWithCovarianceStamped, "amcl_pose", qos("latched"))
    stop = rig.client.create_publisher(Bool, "stop", 1)  # as `ros2 topic pub` does
    with rig.nav2(["run"]) as nav2:
        assert "charge of the battery is not known" in rig.go().message
        until(lambda: battery.publish(BatteryState(percentage=0.1)) or "is at 10%" in rig.go().message)
        until(lambda: battery.publish(BatteryState(percentage=0.9)) or "amcl_pose" in rig.go().message)
        assert nav2.goals == []
        place.publish(PoseWithCovarianceStamped())
        until(lambda: not node.gates.refusal(time.monotonic()))
        drive = rig.begin(rig.go)
        assert nav2.running.wait(WAIT_S)
        stop.publish(Bool(data=True))
        assert "operator's stop is on" in drive().message and "operator's stop is on" in rig.turn().message
        until(lambda: nav2.canceled() == 1)
        stop.publish(Bool(data=False))
        until(lambda: not node.gates.refusal(time.monotonic()))
        drive = rig.begin(rig.go)
        until(lambda: len(nav2.goals) == 2 and nav2.running.is_set())
        rig.at = Pose2(5.9, 2.0, 0.0)
        result = drive()
        assert result.code is NavCode.BLOCKED and "keep-out zone 'pond'" in result.message
        until(lambda: nav2.canceled() == 2)
        assert "keep-out zone 'pond'" in rig.go(7.0, 2.0).message and len(nav2.goals) == 2


def test_nav2_is_given_zones_and_what_the_robot_pushes_against(rig: Rig) -> None:
    with rig.nav2(["run"]) as nav2:
        rig.node(keep_out__zones=["stairs: 6 1, 7 1, 7 2, 6 2"])
        infos: list[Any] = []
        masks: list[GridMap] = []
        rig.client.create_subscription(CostmapFilterInfo, "keep_out/filter_info", infos.append, qos("latched"))
        rig.client.create_subscription(OccupancyGrid, "keep_out/mask", lambda m: masks.append(messages.grid_of(m)),
                                       qos("latched"))
        until(lambda: infos and masks, WAIT_S)
        info = infos[0]
        assert (info.type, info.base, info.multiplier, info.filter_mask_topic) == (0, 0.0, 1.0, "keep_out/mask")
        assert covers(masks[0], 6.5, 1.5) and not covers(masks[0], *rig.at[:2])
        cmd_vel = rig.client.create_publisher(TwistStamped, "cmd_vel", 1)
        forward = TwistStamped()
        forward.twist.linear.x = 0.4
        rig.client.create_timer(0.05, lambda: cmd_vel.publish(forward))
        end = rig.running(nav2)
        until(lambda: covers(masks[-1], rig.at.x + 0.3, rig.at.y), WAIT_S)
        assert covers(masks[-1], 6.5, 1.5)
        nav2.end()
        end()
        until(lambda: not covers(masks[-1], rig.at.x + 0.3, rig.at.y), WAIT_S)


def covers(mask: GridMap, x: float, y: float) -> bool:
    """Return whether a point lies in a cell of the mask that is shut."""
    row, column = (int((v - o) // mask.resolution_m) for v, o in zip((y, x), mask.origin[::-1]))
    rows, columns = mask.cells.shape
    return 0 <= row < rows and 0 <= column < columns and mask.cells[row, column] == 100
