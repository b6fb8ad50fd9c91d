"""Benchmarks import what they measure, which is nodes among others."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2: make setup, or source a ROS distribution")

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.mark.parametrize("file", sorted(BENCHMARKS.glob("bench_*.py")), ids=lambda file: file.stem)
def test_benchmarks_find_what_they_measure(file: Path) -> None:
    assert callable(import_module(f"benchmarks.{file.stem}").rows)
