"""The graph with a recording in the robot's place, for machines with launch_ros. It begins as soon as all nodes are up.

ros2 launch eqa_nodes replay.launch.py source:=/data/bag rate:=1.0

The nodes are in your ROS_DOMAIN_ID; `eqa ask "..." --attach --scene "" --no-explore` asks, on the way and at the end.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from launch import LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction, SetEnvironmentVariable
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from eqa_nodes.answerers import ANSWERERS
from eqa_nodes.bags.histories import open_history
from eqa_nodes.commands.replay import replay_parameters
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.graph import nodes_of
from eqa_nodes.parameters import write_file
from eqa_nodes.ros.environment import launch_variables
from eqa_nodes.runner import RESTARTS
from eqa_nodes.settings import detecting, merged

ARGUMENTS = {
    "source": (None, "bag, OpenEQA frames folder, .sens file, ScanNet or Redwood folder"),
    "rate": ("0.0", "times real time, by the recorded stamps; 0 = lock-step: as fast as the nodes take the frames in"),
    "record": ("false", "record what is shown and what the graph makes of it"),
    "params_file": (str(Path(__file__).parent / "params" / "sim.yaml"),
                    "ROS parameter file for all nodes; the arguments here win over it"),
    "answerer": ("label", "label: rules over the history's labels, privileged, no model; vlm: an OpenAI-compatible "
                          "endpoint (EQA_VLM_BASE_URL, EQA_VLM_MODEL, EQA_VLM_API_KEY)"),
    "folder": ("runs/launch", "where memory, bags and the parameters of this run go"),
    "namespace": ("", "namespace of all nodes"),
}
CHOICES = {"record": ["false", "true"], "answerer": sorted(ANSWERERS)}
STOP_S = "20"  # from SIGINT to SIGTERM: the recorder has a bag to end


def graph(context: LaunchContext) -> list[Node]:
    """Return the nodes, respawned when they die (but the replay, which would begin anew), with one parameter file.

    Raises ConfigError for wrong arguments and parameters, StorageError for a source that holds no history.
    """
    chosen = argparse.Namespace(**{name: LaunchConfiguration(name).perform(context) for name in ARGUMENTS})
    chosen.params, folder, source = Path(chosen.params_file), Path(chosen.folder).resolve(), Path(chosen.source)
    chosen.record = chosen.record == "true"
    try:
        chosen.rate = float(chosen.rate)
    except ValueError:
        raise ConfigError(f"rate is {chosen.rate!r}: expected a number, such as 1.0 for real time") from None
    parameters = replay_parameters(chosen, folder, bool(open_history(source).labels))
    folder.mkdir(parents=True, exist_ok=True)
    write_file(folder / "params.yaml", merged(None, parameters, {"replay": {"source": str(source.resolve())}}))
    return [Node(package="eqa_nodes", executable=name, name=name, namespace=chosen.namespace, output="screen",
                 parameters=[str(folder / "params.yaml")], respawn=name != "replay", respawn_delay=1.0,
                 respawn_max_retries=RESTARTS, sigterm_timeout=STOP_S)
            for name in nodes_of("replay", recording=chosen.record, detecting=detecting(parameters))]


def generate_launch_description() -> LaunchDescription:
    """Return the graph of a replay."""
    arguments = [DeclareLaunchArgument(name, default_value=default, description=description, choices=CHOICES.get(name))
                 for name, (default, description) in ARGUMENTS.items()]
    variables = [SetEnvironmentVariable(*pair) for pair in launch_variables().items()]
    return LaunchDescription([*arguments, *variables, OpaqueFunction(function=graph)])
