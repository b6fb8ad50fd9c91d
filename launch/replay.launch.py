"""The graph with a recording in the robot's place, for machines with launch_ros. It begins as soon as all nodes are up.

ros2 launch eqa_nodes replay.launch.py source:=/data/bag rate:=1.0

The nodes are in your ROS_DOMAIN_ID; `eqa ask "..." --attach --no-explore` asks, on the way and at the end.
"""

from __future__ import annotations

from pathlib import Path

from launch import LaunchDescription

from eqa_nodes.launching.actions import description


def generate_launch_description() -> LaunchDescription:
    """Return the graph of a replay."""
    return description("replay", Path(__file__).parent)
