"""Whole graphs: skipped with a reason where there is no rclpy."""

from __future__ import annotations

import pytest

pytest.importorskip(
    "rclpy", reason="rclpy is not installed: pip install 'eqa-nodes[ros]', or source a ROS distribution")
pytest.importorskip("eqa_interfaces", reason="eqa_interfaces is not built: make setup, or colcon build in ros2_ws")
