"""Faults of the wire stand before a node's callbacks only when a drill wants them."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

import asyncio
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from eqa_nodes.core.errors import ConfigError
from eqa_nodes.ros.faults import Faults, Injection


class _Node:
    """As much of a node as an injection asks for, and its file of faults."""

    def __init__(self, folder: Path, **faults: Any) -> None:
        self.data_group, self.file, self._writes, self.said = None, folder / "faults.json", 0, []
        self.set(**faults)

    def set(self, **faults: Any) -> None:
        Faults(**{"seed": 7, **faults}).write(self.file)
        self._writes += 1
        os.utime(self.file, ns=(self._writes, self._writes))  # clocks of files may be coarse

    def get_name(self) -> str:
        return "mapper"

    def get_logger(self) -> Any:
        return SimpleNamespace(warning=self.said.append)

    def create_timer(self, period_s: float, callback: Any, **_: Any) -> None:
        self.tick = callback

    def injection(self) -> Injection:
        return Injection(self, self.file)


def _heard(node: _Node, key: str = "color", count: int = 1000) -> list[int]:
    received: list[int] = []
    take = node.injection().wrap(key, received.append)
    for i in range(count):
        take(i)
    return received


def test_a_share_is_lost_and_the_same_seed_loses_the_same(tmp_path: Path) -> None:
    received, again = (_heard(_Node(tmp_path, lose_share=0.2)) for _ in range(2))
    assert 700 < len(received) < 900 and received == again != _heard(_Node(tmp_path, lose_share=0.2, seed=8))


def test_a_share_comes_twice(tmp_path: Path) -> None:
    received = _heard(_Node(tmp_path, duplicate_share=0.5))
    assert 1400 < len(received) < 1600 and sorted(set(received)) == list(range(1000))


def test_late_messages_come_after_those_that_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    node, received = _Node(tmp_path, late_share=0.3, late_s=1.0), []
    take = node.injection().wrap("color", received.append)
    for i in range(100):
        take(i)
    in_time = list(received)
    node.tick()
    assert 50 < len(in_time) < 90 and received == in_time
    now[0] = 1.0
    node.tick()
    assert sorted(received) == list(range(100)) and received[:len(in_time)] == in_time
    node.tick()
    assert len(received) == 100


def test_only_transforms_are_delayed(tmp_path: Path) -> None:
    node = _Node(tmp_path, tf_delay_s=1.0)
    assert _heard(node) == list(range(1000)) and not _heard(node, "tf")


def test_shares_can_be_set_while_it_runs(tmp_path: Path) -> None:
    node, received = _Node(tmp_path), []
    take = node.injection().wrap("color", received.append)
    take(1)
    node.set(lose_share=1.0)
    take(2)
    node.set()
    take(3)
    assert received == [1, 3]


def test_a_slow_node_sleeps_before_its_callbacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr("time.sleep", slept.append)
    for name in ("mapper", "memory"):
        assert _Node(tmp_path, delay_s={name: 0.02}).injection().slow(lambda: 5)() == 5
    assert slept == [0.02, 0.0]


class _Service:
    """A service as rclpy has it: its callback's reply is sent."""

    def __init__(self) -> None:
        self.sent: list[int] = []

    def send_response(self, reply: int, header: Any) -> None:
        self.sent.append(reply)


def test_requests_and_replies_of_a_service_are_lost_as_often_as_the_file_says(tmp_path: Path) -> None:
    node, service, worked = _Node(tmp_path, lose_requests={"recall": 2}), _Service(), []
    injection = node.injection()
    injection.mute(service)
    answer = injection.unheard("recall", lambda request, response: worked.append(request) or request)
    other = injection.unheard("recollect", lambda request, response: request)

    def call(callback: Any, *requests: int) -> None:
        for request in requests:
            service.send_response(callback(request, None), None)

    call(answer, 1, 2, 3)
    call(other, 4)
    assert worked == [3] and service.sent == [3, 4] and len(node.said) == 2
    node.set(lose_requests={"recall": 1}, lose_replies={"recall": 1})  # counted anew
    call(answer, 5, 6, 7)
    assert worked == [3, 6, 7] and service.sent == [3, 4, 7]


def test_requests_and_results_of_an_action_are_lost(tmp_path: Path) -> None:
    class Server:
        def __init__(self) -> None:
            self.taken: list[str] = []

        async def _execute_goal_request(self, taken: str) -> None:
            self.taken.append(taken)

        _execute_get_result_request = _execute_cancel_request = _execute_goal_request

        def _send_result_response(self, header: Any, future: Any) -> None:
            self.taken.append(header)

    node, server = _Node(tmp_path, lose_requests={"ask/cancel": 1}, lose_replies={"ask/result": 1}), Server()
    node.injection().deafen("ask", server)
    for name in ("goal_request", "cancel_request", "get_result_request"):
        for nth in (1, 2):
            asyncio.run(getattr(server, f"_execute_{name}")(f"{name} {nth}"))
    for nth in ("result 1", "result 2"):
        server._send_result_response(nth, None)
    assert server.taken == ["goal_request 1", "goal_request 2", "cancel_request 2", "get_result_request 1",
                            "get_result_request 2", "result 2"]


@pytest.mark.parametrize("text", ["", "[]", '{"lose_share": 2.0}', '{"loose_share": 0.1}'])
def test_a_file_without_faults_is_a_named_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "faults.json").write_text(text)
    with pytest.raises(ConfigError, match="faults"):
        Injection(None, tmp_path / "faults.json")
