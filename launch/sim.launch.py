"""The graph in a simulator, for machines with launch_ros. The nodes are those of eqa_nodes/graph.py, as everywhere.

ros2 launch eqa_nodes sim.launch.py policy:=random params_file:=my.yaml

The nodes are in your ROS_DOMAIN_ID. The service reset_episode begins an episode in a scene; `eqa ask --attach`, or any
client of the action ask, asks.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from launch import LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction, SetEnvironmentVariable
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from eqa_nodes.answerers import ANSWERERS
from eqa_nodes.commands.chain import parameters_of
from eqa_nodes.core.policies import DEFAULT, policy_names
from eqa_nodes.graph import nodes_of
from eqa_nodes.parameters import write_file
from eqa_nodes.ros.environment import launch_variables
from eqa_nodes.runner import RESTARTS
from eqa_nodes.settings import ATOMIC, NAV2, detecting, navigator_of, settings
from sim_bridge.nav2 import write_nav2
from sim_bridge.robots import ROBOTS

ARGUMENTS = {
    "params_file": (str(Path(__file__).parent / "params" / "sim.yaml"),
                    "ROS parameter file for all nodes; the arguments below win over it"),
    "policy": (DEFAULT, "exploration policy"),
    "answerer": ("label", "label: rules over the simulator's labels, privileged, no model; vlm: an OpenAI-compatible "
                          "endpoint (EQA_VLM_BASE_URL, EQA_VLM_MODEL, EQA_VLM_API_KEY)"),
    "robot": ("default", "body, camera and steps: a name of sim_bridge/robots.py"),
    "navigator": (ATOMIC, "atomic: our own, in lock-step; nav2: a Nav2 that you bring up with FOLDER/nav2.yaml "
                          "(docs/nav2.md) drives by cmd_vel"),
    "image": ("", "camera image, WIDTHxHEIGHT in pixels; empty: the robot's"),
    "folder": ("runs/launch", "where memory, bags and the parameters of this run go"),
    "namespace": ("", "namespace of all nodes"),
}
CHOICES = {"policy": policy_names(), "answerer": sorted(ANSWERERS), "robot": sorted(ROBOTS),
           "navigator": [ATOMIC, NAV2]}
STOP_S = "20"  # from SIGINT to SIGTERM: the recorder has a bag to end


def graph(context: LaunchContext) -> list[Node]:
    """Return the nodes, respawned when they die, with one parameter file, kept beside what they record.

    For a robot that Nav2 drives, its parameters are written there too.

    Raises ConfigError for wrong arguments and parameters: launch itself passes over a missing file with a warning.
    """
    chosen = argparse.Namespace(**{name: LaunchConfiguration(name).perform(context) for name in ARGUMENTS})
    chosen.params, folder = Path(chosen.params_file), Path(chosen.folder).resolve()
    parameters = parameters_of(chosen, folder)
    folder.mkdir(parents=True, exist_ok=True)
    write_file(folder / "params.yaml", parameters)
    if navigator_of(parameters) == NAV2:
        write_nav2(Path(__file__).parent / "nav2" / "nav2.yaml", settings("bridge", parameters), folder / "nav2.yaml")
    return [Node(package="eqa_nodes", executable=name, name=name, namespace=chosen.namespace, output="screen",
                 parameters=[str(folder / "params.yaml")], respawn=True, respawn_delay=1.0,
                 respawn_max_retries=RESTARTS, sigterm_timeout=STOP_S)
            for name in nodes_of("sim", detecting=detecting(parameters), navigator=navigator_of(parameters))]


def generate_launch_description() -> LaunchDescription:
    """Return the simulated graph."""
    arguments = [DeclareLaunchArgument(name, default_value=default, description=description, choices=CHOICES.get(name))
                 for name, (default, description) in ARGUMENTS.items()]
    variables = [SetEnvironmentVariable(*pair) for pair in launch_variables().items()]
    return LaunchDescription([*arguments, *variables, OpaqueFunction(function=graph)])
