"""A clock that was set, stamps that go back, and stamps from the future are told on /diagnostics, with the remedy."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

import time

import pytest

from eqa_nodes.ros.rates import ERROR, OK, WARN, ClockAlarm


def test_each_kind_has_its_level_and_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    ahead = [0]
    real = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: real() + ahead[0])
    alarm = ClockAlarm(5.0)
    assert alarm.report().verdict == (OK, "no clock jumped lately")
    alarm.went_back(42.0)
    verdict = alarm.report().verdict
    assert verdict.level == WARN and "stamps went back by 42.0 s: begin a new episode" in verdict.message
    ahead[0] = -3600 * 10**9
    said = alarm.report()
    assert said.verdict.level == WARN and "the wall clock was set back by 3600.0 s" in said.verdict.message
    assert "makestep" in said.verdict.message and said.values["wall clock was set [times]"] == 1
    alarm.stray("depth")
    said = alarm.report()
    assert said.verdict.level == ERROR and "depth is stamped in the future: synchronise" in said.verdict.message
