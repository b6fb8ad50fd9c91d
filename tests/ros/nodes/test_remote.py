"""Whoever waits for another node's action is not held by one that does not end."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

import threading
from typing import Any

import pytest
from action_msgs.msg import GoalStatus
from rclpy.action import ActionServer, CancelResponse
from rclpy.action.client import ClientGoalHandle
from rclpy.task import Future

from eqa_nodes.core.errors import NodeLost
from eqa_nodes.ros.graph import ACTIONS, SERVICES
from eqa_nodes.ros.interfaces import interface
from eqa_nodes.ros.remote import Remotes


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
        with pytest.raises(NodeLost, match="did not end drive_to_pose within 0.5 s of being called off"):
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
