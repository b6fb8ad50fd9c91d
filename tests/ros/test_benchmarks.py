"""Benchmarks import what they measure, which is nodes among others."""

from __future__ import annotations

from importlib import import_module

import pytest

from benchmarks.results import SPEED, TRIALS

pytest.importorskip("rclpy", reason="needs ROS 2: make setup, or source a ROS distribution")


@pytest.mark.parametrize("name", sorted(what.function for what in (*SPEED.values(), *TRIALS.values()) if what.function))
def test_benchmarks_find_what_they_measure(name: str) -> None:
    module, _, function = name.partition(".")
    assert callable(getattr(import_module(f"benchmarks.{module}"), function))
