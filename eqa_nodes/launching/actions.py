"""The actions of the launch files. Only launch files import this module, because it imports launch.

A dead process is restarted or ends the run; launch's own respawn has no limit in Humble and never ends a run.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

from ament_index_python.packages import PackageNotFoundError, get_package_share_directory
from launch import LaunchContext, LaunchDescription
from launch.actions import (
    DeclareLaunchArgument,
    GroupAction,
    IncludeLaunchDescription,
    LogInfo,
    OpaqueFunction,
    SetEnvironmentVariable,
)
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.logging import launch_config
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node, SetRemap

from eqa_nodes.core.errors import EqaError, NodeLost
from eqa_nodes.launching import EPISODE_FAILED, INTERRUPTED
from eqa_nodes.launching.arguments import ARGUMENTS, Argument
from eqa_nodes.launching.plans import ALL_UP, WAIT_FOR_ROBOT, LaunchPlan, planned
from eqa_nodes.ros.environment import END_S, launch_variables
from eqa_nodes.ros.run import run_variables
from eqa_nodes.ros.runner import RESTARTS
from eqa_nodes.wire.graph import TOPICS

WRONG_SETTING = 2  # exit code of a node for which a restart is useless
OUTPUT = {"both": {"screen", "own_log"}}
CLIENT = "eqa_client"  # the enclave of clients of the graph


def description(world: str, files: Path) -> LaunchDescription:
    """Return the launch description of a world. world: robot | sim | replay; files: the folder launch/."""
    arguments = [DeclareLaunchArgument(name, default_value=_default(name, argument, files),
                                       description=argument.description, choices=list(argument.choices) or None)
                 for name, argument in ARGUMENTS[world].items()]
    variables = [SetEnvironmentVariable(*pair) for pair in {**launch_variables(), **run_variables()}.items()]
    return LaunchDescription([*arguments, *variables, OpaqueFunction(function=begun, args=[world, files])])


def _default(name: str, argument: Argument, files: Path) -> str | None:
    return str(files.parent / argument.default) if argument.default and name == "params_file" else argument.default


def begun(context: LaunchContext, world: str, files: Path) -> list[Any]:
    """Return the processes of a world. Raises EqaError for invalid arguments; launch then starts nothing."""
    chosen = {name: LaunchConfiguration(name).perform(context) for name in ARGUMENTS[world]}
    plan = planned(world, chosen, files)
    later = [_nav2(plan)] if plan.nav2 else []
    beside = [_rviz(plan, files)] if plan.rviz else []
    variables = [SetEnvironmentVariable(*pair) for pair in plan.variables.items()]
    return [*variables, LogInfo(msg=f"memory, bags and parameters of this run are in {plan.folder}"), *nodes(plan),
            *beside, _ready(plan, later)]


def nodes(plan: LaunchPlan) -> list[Node]:
    """Return the watched processes of the graph: one process per node, or one for all."""
    if plan.chosen["composed"] == "true":
        return [_watched("graph", plan, executable="graph", arguments=["--nodes", ",".join(plan.nodes)])]
    return [_watched(name, plan, executable=name, name=name, **_enclave(plan, name)) for name in plan.nodes]


def _enclave(plan: LaunchPlan, name: str) -> dict[str, Any]:
    return {"ros_arguments": ["--enclave", f"{plan.enclave}/{name}"]} if plan.enclave else {}


def _watched(title: str, plan: LaunchPlan, **arguments: Any) -> Node:
    """Return a process that is restarted when it dies, or whose death ends the run with an error naming it."""
    deaths = 0

    def start() -> Node:
        return Node(package="eqa_nodes", namespace=plan.chosen["namespace"], remappings=plan.remappings,
                    parameters=[str(plan.folder / "params.yaml")], output=OUTPUT, sigterm_timeout=str(END_S),
                    on_exit=died, **arguments)

    def died(event: Any, context: LaunchContext) -> list[Any] | None:
        nonlocal deaths
        if context.is_shutdown:
            return None
        deaths += 1
        what = f"{title} ended with code {event.returncode}"
        log = launch_config.get_log_file_path(f"{event.process_name}.log")
        if event.returncode == WRONG_SETTING:
            raise NodeLost(f"{what}, a wrong setting; its log is {log}")
        if not plan.restart or title == "replay":  # a restarted replay would begin from the start
            raise NodeLost(f"{what}; its log is {log}")
        if deaths > RESTARTS:
            raise NodeLost(f"{what} after {RESTARTS} restarts; its log is {log}")
        return [LogInfo(msg=f"{what}, and is started again ({deaths} of {RESTARTS}); its log is {log}"), start()]

    return start()


def _ready(plan: LaunchPlan, later: list[Any]) -> Node:
    """Return the program that waits for the nodes and begins an episode; `later` starts after that.

    For a robot, a second program waits for the episode in parallel with `later`, which may be what the robot lacks.
    """
    if plan.begin == WAIT_FOR_ROBOT:
        return _waiting(plan, (ALL_UP,), [*later, _waiting(plan, plan.begin, [])])
    return _waiting(plan, plan.begin, later)


def _waiting(plan: LaunchPlan, arguments: tuple[str, ...], later: list[Any]) -> Node:
    def done(event: Any, context: LaunchContext) -> list[Any] | None:
        if context.is_shutdown:
            return None
        if event.returncode in (INTERRUPTED, -signal.SIGINT, -signal.SIGTERM):
            return None  # launch receives the signal too
        if event.returncode == EPISODE_FAILED:
            raise NodeLost("the graph was ready, but its episode has not begun, for the reason that `ready` gave above")
        if event.returncode:
            raise NodeLost("the graph has not become ready, for the reason that `ready` gave above")
        return later

    deadline = plan.chosen["ready_s"] if plan.chosen["autostart"] == "true" else "inf"  # a user activates them
    return Node(package="eqa_nodes", executable="ready", namespace=plan.chosen["namespace"], output=OUTPUT,
                arguments=["--nodes", ",".join(plan.nodes), "--deadline", deadline, *arguments], on_exit=done,
                remappings=plan.remappings, **_enclave(plan, CLIENT))


def _rviz(plan: LaunchPlan, files: Path) -> Node:
    """Return RViz with the layout; closing it ends nothing else. Raises EqaError if it is not installed."""
    _share("rviz2")
    return Node(package="rviz2", executable="rviz2", name="rviz", namespace=plan.chosen["namespace"],
                remappings=plan.remappings, arguments=["-d", str(files / "rviz" / "eqa.rviz"), "-f", plan.map_frame],
                parameters=[{"use_sim_time": plan.sim_time}])


def _nav2(plan: LaunchPlan) -> GroupAction:
    """Return nav2_bringup's navigation: planner, controller, behaviours, without map server and AMCL.

    It remaps the transforms into a namespace itself; the clock of a simulation is remapped here.

    Raises EqaError if it is not installed.
    """
    bringup = _share("nav2_bringup")
    arguments = {"namespace": plan.chosen["namespace"], "use_sim_time": str(plan.sim_time).lower(), "autostart": "true",
                 "params_file": str(plan.nav2_params or bringup / "params" / "nav2_params.yaml")}
    source = PythonLaunchDescriptionSource(str(bringup / "launch" / "navigation_launch.py"))
    clock = [SetRemap(*pair) for pair in plan.remappings if pair[0] == TOPICS["clock"].name]
    return GroupAction([*clock, IncludeLaunchDescription(source, launch_arguments=arguments.items())])


def _share(package: str) -> Path:
    try:
        return Path(get_package_share_directory(package))
    except PackageNotFoundError:
        apt = f"ros-{os.environ.get('ROS_DISTRO', 'DISTRIBUTION')}-{package.replace('_', '-')}"
        raise EqaError(f"the ROS package {package} is not installed: apt-get install {apt}") from None
