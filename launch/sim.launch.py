"""The graph in a simulator, for machines with launch_ros. Its nodes are those of eqa_nodes/wire/graph.py.

ros2 launch eqa_nodes sim.launch.py scene:=house:7 policy:=random params_file:=my.yaml

The nodes are in your ROS_DOMAIN_ID. It says "eqa: ready" when all nodes work, and begins an episode in the scene; `eqa
ask --attach`, or any client of the action ask, asks. `--show-args` lists the arguments (docs/robot.md has them too).
"""

from __future__ import annotations

from pathlib import Path

from launch import LaunchDescription

from eqa_nodes.launching.actions import description


def generate_launch_description() -> LaunchDescription:
    """Return the graph of a simulated robot."""
    return description("sim", Path(__file__).parent)
