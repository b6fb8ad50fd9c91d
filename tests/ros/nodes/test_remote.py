"""Whoever waits for another node's action is not held by one that does not end."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

import threading
import time
from typing import Any

import pytest
from action_msgs.msg import GoalStatus
from rclpy.action import ActionServer, CancelResponse
from rclpy.action.client import ClientGoalHandle
from rclpy.task import Future
from rclpy.time import Time
from std_msgs.msg import Header

from eqa_nodes.core.clocks import boot_ns
from eqa_nodes.core.errors import NodeLost
from eqa_nodes.ros.interfaces import interface, qos
from eqa_nodes.ros.remote import NodeRestarted, NodeStarts, Remotes, Sent
from eqa_nodes.ros.run import announcement
from eqa_nodes.testing.waiting import holds
from eqa_nodes.wire.graph import ACTIONS, SERVICES, TOPICS


def test_a_goal_that_does_not_end_when_it_is_called_off_is_given_up(ros: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eqa_nodes.ros.remote.END_S", 0.5)
    port, released, running = ACTIONS["drive_to_pose"], threading.Event(), threading.Event()
    kind = interface(port.type)

    def stuck(handle: Any) -> Any:
        running.set()
        released.wait(120.0)
        handle.abort()
        return kind.Result()

    ActionServer(ros.plain("navigator"), kind, port.name, stuck, cancel_callback=lambda _: CancelResponse.ACCEPT)
    action = Remotes(ros.plain("caller")).action("drive_to_pose")

    def call_off() -> None:  # maybe before the caller has heard that the goal was accepted
        running.wait(60.0)
        action.cancel()

    threading.Thread(target=call_off, daemon=True).start()
    try:
        with pytest.raises(NodeLost, match="did not end drive_to_pose within 0.5 s after it was cancelled"):
            action.run(action.Goal(), 600.0)
    finally:
        released.set()


def test_a_result_that_was_lost_is_asked_for_again(ros: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """As happens to a caller that has just started: the way back to it is not known to the server yet."""
    monkeypatch.setattr("eqa_nodes.ros.remote.AGAIN_S", 0.3)
    ask, asked = ClientGoalHandle.get_result_async, []

    def lossy(handle: Any) -> Any:
        asked.append(handle)
        return Future() if len(asked) == 1 else ask(handle)

    monkeypatch.setattr(ClientGoalHandle, "get_result_async", lossy)
    port = ACTIONS["drive_to_pose"]
    kind = interface(port.type)

    def at_once(handle: Any) -> Any:
        handle.succeed()
        return kind.Result()

    ActionServer(ros.plain("navigator"), kind, port.name, at_once)
    action = Remotes(ros.plain("caller")).action("drive_to_pose")
    assert action.run(action.Goal(), 60.0).status == GoalStatus.STATUS_SUCCEEDED and len(asked) == 2


def test_a_lost_answer_about_the_status_is_asked_for_again_and_a_lost_move_is_not(
        ros: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eqa_nodes.ros.remote.AGAIN_S", 0.3)
    port, asked = SERVICES["act"], []
    kind = interface(port.type)

    def act(request: Any, response: Any) -> Any:
        asked.append(request.action)
        response.steps = 7
        return response

    ros.plain("bridge").create_service(kind, port.name, act)
    remote = Remotes(ros.plain("caller")).service("act")
    send, sent = remote._client.call_async, []

    def lossy(request: Any) -> Any:
        sent.append(request.action)
        return Future() if len(sent) == 1 else send(request)

    monkeypatch.setattr(remote._client, "call_async", lossy)
    assert remote.call(60.0, action=kind.Request.STATUS).steps == 7
    assert sent == [kind.Request.STATUS] * 2 and asked == [kind.Request.STATUS]
    sent.clear()
    with pytest.raises(NodeLost, match="did not answer act within 1 s"):
        remote.call(1.0, action=kind.Request.MOVE_FORWARD)
    assert sent == [kind.Request.MOVE_FORWARD] and asked == [kind.Request.STATUS]


class Reports:
    """Reports starts of a node to a caller in the test's thread."""

    def __init__(self, ros: Any, remotes: Remotes, row: str) -> None:
        topic, reporter = TOPICS["started"], ros.plain("reporter")
        self._started = reporter.create_publisher(Header, topic.name, qos(topic.qos))
        self._births, self._row, self._caller = remotes.births, row, threading.current_thread()
        self._known, self._looked = remotes.births.of, threading.Event()
        remotes.births.of = self._look  # type: ignore[method-assign]
        self.born_ns = boot_ns()
        self.report(self.born_ns - 60 * 10**9)

    def report(self, born_ns: int) -> None:
        """Report a start and wait until the report was received."""
        self._started.publish(Header(frame_id=announcement(self._row, born_ns)))
        assert holds(lambda: self._known(self._row) == born_ns)

    def report_to_one_who_waits(self, born_ns: int) -> None:
        """Report a start and wait until the caller has looked at it."""
        self.report(born_ns)
        self._looked.clear()
        assert self._looked.wait(60.0)

    def _look(self, *names: str) -> int:
        if threading.current_thread() is self._caller:
            self._looked.set()
        return self._known(*names)


@pytest.mark.parametrize("lost", [False, True], ids=["sent to the successor", "sent to the dead one"])
def test_a_late_report_of_a_successor_ends_only_what_was_sent_before_its_start(ros: Any, lost: bool) -> None:
    port = SERVICES["act"]
    kind, asked = interface(port.type), []
    remotes = Remotes(ros.plain("caller"))
    remote, reports = remotes.service("act"), Reports(ros, remotes, "bridge")

    def act(request: Any, response: Any) -> Any:
        asked.append(request.action)
        reports.report_to_one_who_waits(boot_ns() if lost else reports.born_ns)
        assert not lost or over.wait(60.0)  # as one that is dead
        response.steps = 7
        return response

    ros.plain("bridge").create_service(kind, port.name, act)
    over = threading.Event()
    try:
        if lost:
            with pytest.raises(NodeRestarted, match="bridge or replay died while it worked on act"):
                remote.call(60.0, action=kind.Request.MOVE_FORWARD)
        else:
            assert remote.call(60.0, action=kind.Request.MOVE_FORWARD).steps == 7
    finally:
        over.set()
    assert asked == [kind.Request.MOVE_FORWARD]


@pytest.mark.parametrize("lost", [False, True], ids=["sent to the successor", "sent to the dead one"])
def test_a_late_report_of_a_successor_ends_only_the_goals_of_before_its_start(ros: Any, lost: bool) -> None:
    port = ACTIONS["drive_to_pose"]
    kind, over = interface(port.type), threading.Event()
    remotes = Remotes(ros.plain("caller"))
    action, reports = remotes.action("drive_to_pose"), Reports(ros, remotes, "navigator")

    def drive(handle: Any) -> Any:
        reports.report_to_one_who_waits(boot_ns() if lost else reports.born_ns)
        assert not lost or over.wait(60.0)
        handle.succeed()
        return kind.Result()

    ActionServer(ros.plain("navigator"), kind, port.name, drive)
    try:
        if lost:
            with pytest.raises(NodeRestarted, match="nav2_navigator died while it worked on drive_to_pose"):
                action.run(action.Goal(), 60.0)
        else:
            assert action.run(action.Goal(), 60.0).status == GoalStatus.STATUS_SUCCEEDED
    finally:
        over.set()


def test_a_request_that_a_successor_may_have_missed_is_sent_again(ros: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that was sent after the start of the successor, which was not discovered yet, and whose report came later."""
    monkeypatch.setattr("eqa_nodes.ros.remote.AGAIN_S", 0.3)
    port = SERVICES["recall"]
    remotes = Remotes(ros.plain("caller"))
    remote, reports = remotes.service("recall"), Reports(ros, remotes, "memory")
    ros.plain("memory").create_service(interface(port.type), port.name, lambda request, response: response)
    send, sent = remote._client.call_async, []

    def lossy(request: Any) -> Any:
        sent.append(request)
        if len(sent) > 1:
            return send(request)
        reports.report(reports.born_ns)
        return Future()

    monkeypatch.setattr(remote._client, "call_async", lossy)
    remote.call(60.0)
    assert len(sent) == 2


def test_a_successor_is_known_although_the_clock_was_set_back(ros: Any) -> None:
    """A node that is started after the clock was set back looks older than its predecessor by the wall clock."""
    births = NodeStarts(ros.plain("caller"), None)
    first, second = boot_ns() - 10**9, boot_ns() + 10**9
    births._on_started(Header(stamp=Time(seconds=5000).to_msg(), frame_id=announcement("memory", first)))
    sent = Sent(births.of("memory"), boot_ns())
    assert not births.again_after(sent, "memory")
    births._on_started(Header(stamp=Time(seconds=1400).to_msg(), frame_id=announcement("memory", second)))
    assert births.of("memory") == second and births.again_after(sent, "memory")


def test_a_start_on_another_machine_goes_by_its_wall_clock_and_counts_once(
        ros: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    births = NodeStarts(ros.plain("caller"), None)
    now = time.time_ns()
    said = Header(stamp=Time(nanoseconds=now - 10**10).to_msg(), frame_id="memory#another:17")
    births._on_started(said)
    born = births.of("memory")
    assert abs(boot_ns() - 10**10 - born) < 10**9
    monkeypatch.setattr("eqa_nodes.ros.remote.time.time_ns", lambda: now - 3600 * 10**9)
    births._on_started(said)  # sent again to a late subscriber, after our clock was set back
    assert births.of("memory") == born
