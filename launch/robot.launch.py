"""The graph on a physical robot: docs/robot.md has the whole way there.

ros2 launch eqa_nodes robot.launch.py drive:=dry color:=/front/color/image_raw depth:=/front/depth/image_raw
    camera_info:=/front/color/camera_info model:=NAME model_url:=http://server:8000/v1

It says "eqa: ready" when all nodes work; `eqa ask --attach` asks.
"""

from __future__ import annotations

from pathlib import Path

from launch import LaunchDescription

from eqa_nodes.launching.actions import description


def generate_launch_description() -> LaunchDescription:
    """Return the graph of a robot."""
    return description("robot", Path(__file__).parent)
