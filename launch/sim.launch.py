"""The graph in a simulator, for machines with launch_ros. The nodes are those of eqa_nodes/graph.py, as everywhere.

ros2 launch eqa_nodes sim.launch.py policy:=random params_file:=my.yaml
"""

from pathlib import Path

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from eqa_nodes.commands.chain import robot_parameters
from eqa_nodes.graph import nodes_of
from sim_bridge.simulator import Robot

ARGUMENTS = {
    "params_file": (str(Path(__file__).parent / "params" / "sim.yaml"), "ROS parameter file for all nodes"),
    "policy": ("frontier", "exploration policy"),
    "answerer": ("label", "label (privileged, no model) or vlm (EQA_VLM_BASE_URL, EQA_VLM_MODEL, EQA_VLM_API_KEY)"),
    "labels": ("true", "let the memory take in the simulator's labels (privileged)"),
    "folder": ("runs/launch", "where memory and bags go"),
    "namespace": ("", "namespace of all nodes"),
}
# What the arguments above mean to a node; the rest comes from the parameter file.
CHOSEN = {
    "explorer": {"policy": LaunchConfiguration("policy")},
    "answerer": {"answerer": LaunchConfiguration("answerer")},
    "memory": {"labels": ParameterValue(LaunchConfiguration("labels"), value_type=bool),
               "folder": [LaunchConfiguration("folder"), "/memory"]},
    "recorder": {"folder": [LaunchConfiguration("folder"), "/bags"]},
}


def generate_launch_description() -> LaunchDescription:
    """Return the simulated graph; a node that dies is started again."""
    robot = robot_parameters(Robot())
    nodes = [Node(package="eqa_nodes", executable=name, name=name, namespace=LaunchConfiguration("namespace"), output="screen",
                  parameters=[robot.get(name, {}), LaunchConfiguration("params_file"), CHOSEN.get(name, {})],
                  respawn=True, respawn_delay=1.0) for name in nodes_of("sim")]
    return LaunchDescription([DeclareLaunchArgument(name, default_value=default, description=description)
                              for name, (default, description) in ARGUMENTS.items()] + nodes)
