"""Faults of the wire stand before a node's callbacks only when a drill wants them."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

from types import SimpleNamespace
from typing import Any

import pytest

from eqa_nodes.config.nodes import NodeSettings
from eqa_nodes.ros.injection import Injection


class _Node:
    """As much of a node as an injection asks for."""

    def __init__(self, **test: Any) -> None:
        self.data_group = None
        self.set(**test)

    def set(self, **test: Any) -> None:
        own = NodeSettings(**{f"test_{name}": value for name, value in {"seed": 7, **test}.items()})
        self.config = SimpleNamespace(node=own)

    def get_name(self) -> str:
        return "mapper"

    def create_timer(self, period_s: float, callback: Any, **_: Any) -> None:
        self.tick = callback


def _heard(node: _Node, key: str = "color", count: int = 1000) -> list[int]:
    heard: list[int] = []
    take = Injection(node).wrap(key, heard.append)
    for i in range(count):
        take(i)
    return heard


def test_a_share_is_lost_and_the_same_seed_loses_the_same() -> None:
    heard = _heard(_Node(lose_share=0.2))
    assert 700 < len(heard) < 900 and heard == _heard(_Node(lose_share=0.2)) != _heard(_Node(lose_share=0.2, seed=8))


def test_a_share_comes_twice() -> None:
    heard = _heard(_Node(duplicate_share=0.5))
    assert 1400 < len(heard) < 1600 and sorted(set(heard)) == list(range(1000))


def test_late_messages_come_after_those_that_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    node, heard = _Node(late_share=0.3, late_s=1.0), []
    take = Injection(node).wrap("color", heard.append)
    for i in range(100):
        take(i)
    in_time = list(heard)
    node.tick()
    assert 50 < len(in_time) < 90 and heard == in_time
    now[0] = 1.0
    node.tick()
    assert sorted(heard) == list(range(100)) and heard[:len(in_time)] == in_time
    node.tick()
    assert len(heard) == 100


def test_only_transforms_are_delayed() -> None:
    assert _heard(_Node(tf_delay_s=1.0)) == list(range(1000)) and not _heard(_Node(tf_delay_s=1.0), "tf")


def test_shares_can_be_set_while_it_runs() -> None:
    node, heard = _Node(), []
    take = Injection(node).wrap("color", heard.append)
    take(1)
    node.set(lose_share=1.0)
    take(2)
    node.set()
    take(3)
    assert heard == [1, 3]
