"""Tests that need ROS skip themselves where it is absent, with the remedy as the reason."""

from __future__ import annotations

import pytest


def need_ros() -> None:
    """Skip the calling module where rclpy or the interfaces are missing; call it before importing either."""
    pytest.importorskip("rclpy", reason="rclpy is absent: pip install 'eqa-nodes[ros]', or source a ROS distribution")
    pytest.importorskip("eqa_interfaces", reason="eqa_interfaces is not built: make setup, or colcon build in ros2_ws")
