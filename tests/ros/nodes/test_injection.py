"""Faults of the wire stand before a node's callbacks only when a drill wants them."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

import os
from pathlib import Path
from typing import Any

import pytest

from eqa_nodes.core.errors import ConfigError
from eqa_nodes.testing.faults import Faults, Injection


class _Node:
    """As much of a node as an injection asks for, and its file of faults."""

    def __init__(self, folder: Path, **faults: Any) -> None:
        self.data_group, self.file, self._writes = None, folder / "faults.json", 0
        self.set(**faults)

    def set(self, **faults: Any) -> None:
        Faults(**{"seed": 7, **faults}).write(self.file)
        self._writes += 1
        os.utime(self.file, ns=(self._writes, self._writes))  # clocks of files may be coarse

    def get_name(self) -> str:
        return "mapper"

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


@pytest.mark.parametrize("text", ["", "[]", '{"lose_share": 2.0}', '{"loose_share": 0.1}'])
def test_a_file_without_faults_is_a_named_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "faults.json").write_text(text)
    with pytest.raises(ConfigError, match="faults"):
        Injection(None, tmp_path / "faults.json")
