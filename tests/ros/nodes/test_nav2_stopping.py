"""Drives that are canceled, replaced or stopped, and other clients of Nav2: the node knows who drives and stops it."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

from collections.abc import Iterator

import pytest
from action_msgs.msg import GoalStatus
from std_msgs.msg import Bool

from eqa_nodes.core.driving.driver import MAY_DRIVE
from eqa_nodes.core.types.floor import NavCode
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.ros import convert
from tests.fixtures.nav2_rig import COMMANDERS, WAIT_S, Rig, opened_rig, until

pytestmark = pytest.mark.timeout(180)


@pytest.fixture(params=COMMANDERS)
def rig(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Rig]:
    with opened_rig(request.param, monkeypatch) as result:
        yield result


def test_a_canceled_drive_ends_and_so_does_one_that_a_newer_goal_replaces(rig: Rig) -> None:
    rig.node()
    with rig.nav2(["run", "run", "late", "succeed"]) as nav2:
        first = rig.begin(rig.go)
        assert nav2.running.wait(WAIT_S)
        rig.drive_to_pose.cancel()
        assert first().code is NavCode.CANCELED
        until(lambda: nav2.canceled() == 1)
        second = rig.begin(rig.go)
        until(lambda: len(nav2.goals) == 2 and nav2.running.is_set())
        third = rig.begin(rig.turn)  # takes the place of the second
        assert second() == (NavCode.CANCELED, "a newer goal took its place")
        until(lambda: len(nav2.goals) == 3 and nav2.running.is_set())
        rig.look_around.cancel()
        assert third().code is NavCode.CANCELED  # it succeeded after that
        assert rig.go().code is NavCode.SUCCEEDED
    assert nav2.ended[2] == GoalStatus.STATUS_SUCCEEDED


def test_a_goal_that_another_client_replaces_or_that_no_transform_leads_to_is_named(rig: Rig) -> None:
    rig.node(recovery__retries=1)
    with rig.nav2(["run", "succeed"]) as nav2:
        drive = rig.begin(rig.go)
        assert nav2.running.wait(WAIT_S)
        pose = convert.goal_msg(Pose2(0.0, 1.0, 0.0), 0)
        assert rig.other(pose)().status == GoalStatus.STATUS_SUCCEEDED
        replaced = drive()
        assert replaced.code is NavCode.CANCELED and "another client, such as RViz, replaced it" in replaced.message
        assert len(nav2.goals) == 2  # it was not sent again
        pose.header.frame_id = "mars"
        lost = rig.other(pose)()
        assert (lost.status, lost.result.error_code) == (GoalStatus.STATUS_ABORTED, 9002)


def test_while_another_client_drives_ours_waits_and_names_it(rig: Rig) -> None:
    node = rig.node(wait__active_s=5.0)
    with rig.nav2(["run", "succeed"]) as nav2:
        until(lambda: not node._commander.missing(1.0))
        other = rig.other(convert.goal_msg(Pose2(0.0, 1.0, 0.0), 0))
        assert nav2.running.wait(WAIT_S)
        until(node._commander.others_drive)
        refused = rig.go()
        assert refused.code is NavCode.FAILED and "another client, such as RViz, drives the robot" in refused.message
        assert len(nav2.goals) == 1
        nav2.end()
        assert other().status == GoalStatus.STATUS_ABORTED
        until(lambda: not node._commander.others_drive())
        assert rig.go().code is NavCode.SUCCEEDED


def test_a_navigator_that_ignores_a_cancel_does_not_keep_the_controller_from_stopping(rig: Rig) -> None:
    rig.node()
    with rig.nav2(["stubborn", "succeed"]) as nav2:
        drive = rig.begin(rig.go)
        assert nav2.running.wait(WAIT_S)
        rig.drive_to_pose.cancel()
        assert drive().code is NavCode.CANCELED and "follow_path" in nav2.halted
        nav2.release()
        until(lambda: len(nav2.ended) == 1)
        assert rig.go().code is NavCode.SUCCEEDED


def test_the_operators_stop_cancels_also_what_others_told_nav2(rig: Rig) -> None:
    node = rig.node()
    stop = rig.client.create_publisher(Bool, "stop", 1)
    with rig.nav2(["run", "succeed"]) as nav2:
        until(lambda: not node._commander.missing(1.0))
        other = rig.other(convert.goal_msg(Pose2(0.0, 1.0, 0.0), 0))
        assert nav2.running.wait(WAIT_S)
        until(lambda: stop.publish(Bool(data=True)) or nav2.canceled() == 1)
        assert other().status == GoalStatus.STATUS_CANCELED and "follow_path" in nav2.halted


def test_a_nav2_that_does_not_answer_or_stop_is_named(rig: Rig) -> None:
    rig.node(wait__silent_s=3.0)
    with rig.nav2(["unanswered", "silent", "stubborn", "succeed"], controller="hangs") as nav2:
        result = rig.go()
        assert result == (NavCode.FAILED, "goal (3.00, 2.00): Nav2 does not answer (no answer to the goal within 2 s; "
                          f"follow_path did not confirm that it stopped: {MAY_DRIVE})")
        nav2.script.pop(0)
        nav2.script.insert(0, "run")  # it is accepted after all, and has to end
        nav2.release()
        until(lambda: nav2.canceled() == 1)
        nav2._released.clear()
        assert "has sent no feedback for" in rig.go().message
        until(lambda: nav2.canceled() == 2)
        third = rig.begin(rig.go)
        until(lambda: len(nav2.goals) == 3 and nav2.running.is_set())
        rig.drive_to_pose.cancel()
        result = third()
        assert result.code is NavCode.FAILED and "use its emergency stop" in result.message
        nav2.release()
        until(lambda: len(nav2.ended) == 3)
        assert rig.go().code is NavCode.SUCCEEDED
