"""From command-line options to a chain: parameters of all nodes, and what runs the episodes."""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from eqa_nodes.bench.running.runner import EpisodeRunner
from eqa_nodes.cli.detector import detector_of, labels_of
from eqa_nodes.cli.model import model_of
from eqa_nodes.cli.paths import check_folder
from eqa_nodes.config.graph import Parameters, detecting, driven_by, merged, settings
from eqa_nodes.config.nodes import ATOMIC
from eqa_nodes.config.parameters import leaves
from eqa_nodes.core.agent.agent import Progress
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.mapping.area import check_area
from eqa_nodes.core.types.floor import Area
from eqa_nodes.core.types.questions import Limits
from eqa_nodes.core.types.robot import RobotModel
from eqa_nodes.models.config import ModelConfig
from eqa_nodes.registry import ANSWERERS
from eqa_nodes.registry.agents import agent_parameters, is_function, stopping_parameters
from eqa_nodes.registry.answerers import answerer_of
from sim_bridge.robots import map_settings, robot_of

IMAGE = "640x480"  # of tours of the built-in houses, where nobody says

PER_QUESTION = ("max_tokens", "max_money")  # limits that a question to the graph has no field for: the agent's settings


def run_folder(arguments: argparse.Namespace) -> Path:
    """Return the run directory: as given, else runs/<time>. Raises StorageError where nothing can be written there."""
    folder: Path = arguments.out or Path("runs") / time.strftime("%Y%m%d-%H%M%S")
    check_folder(folder)
    return folder


def limits_of(arguments: argparse.Namespace) -> Limits:
    """Return the limits of a question."""
    return Limits(arguments.max_steps, arguments.max_metres, arguments.max_seconds, arguments.max_calls,
                  area_of(getattr(arguments, "area", "")))


def area_of(text: str) -> Area:
    """Return the corners in words like "0,0 4,0 4,3". Raises ConfigError, BadQuestion."""
    corners = [corner.split(",") for corner in text.split()]
    try:
        area = tuple((float(x), float(y)) for x, y in corners)
    except ValueError as error:
        raise ConfigError(f"--area is {text!r}: expected corners x,y in metres, as in \"0,0 4,0 4,3\"") from error
    check_area(area)
    return area


def robot_parameters(robot: RobotModel) -> Parameters:
    """Return what a simulated robot's body and actions mean to the nodes: this alone describes the robot."""
    return {
        "bridge": {f"robot.{name}": value for name, value in leaves(robot)},
        "navigator": {"navigator.move_m": robot.move_m, "navigator.turn_deg": robot.turn_deg,
                      "navigator.radius_m": robot.radius_m},
        "mapper": {f"map.{name}": value for name, value in map_settings(robot).items()},
    }


def parameters_of(arguments: argparse.Namespace, folder: Path, body: Parameters | None = None) -> Parameters:
    """Return the parameters of all nodes: defaults < robot, answerer and agent < the parameter file < options.

    body: what stands for a simulated robot's parameters where the robot is none.
    """
    from_file = merged(arguments.params) if arguments.params else {}
    labels = ANSWERERS.traits(arguments.answerer).labels or detecting(from_file)
    chosen: Parameters = {
        "explorer": {"policy": arguments.policy},
        "answerer": {"answerer": arguments.answerer, "folder": str(folder.resolve()), **_model(arguments)},
        "memory": {"labels": labels, "folder": str((folder / "memory").resolve())},
        "perception": detector_of(arguments),
        "recorder": {"folder": str((folder / "bags").resolve()),
                     "labels": labels and not (detecting(from_file) or labels_of(arguments))},
        **driven_by(getattr(arguments, "navigator", ATOMIC))}
    spending = {f"agent.{name}": value for name in PER_QUESTION if (value := getattr(arguments, name, 0))}
    own = agent_parameters(getattr(arguments, "agent", ""), arguments.answerer, getattr(arguments, "k_active", 0))
    robot = robot_parameters(chosen_robot(arguments)) if body is None else body
    return merged(None, robot, stopping_parameters(arguments.answerer), own, from_file, chosen,
                  {"agent": spending} if spending else {}, labels_of(arguments))


def _model(arguments: argparse.Namespace) -> dict[str, object]:
    """Return what the options say of the model; what they leave out the parameter file may say."""
    default = dict(leaves(ModelConfig()))
    return {f"model.{name}": value for name, value in leaves(model_of(arguments)) if value != default[name]}


def image_size(image: str) -> tuple[int, int]:
    """Return width and height of words like 640x480. Raises ConfigError."""
    match = re.fullmatch(r"(\d+)x(\d+)", image)
    if not match or not all(16 <= int(side) <= 4096 for side in match.groups()):
        raise ConfigError(f"--image is {image!r}: expected WIDTHxHEIGHT in pixels, 16 to 4096, such as 640x480")
    return int(match[1]), int(match[2])


def chosen_robot(arguments: argparse.Namespace) -> RobotModel:
    """Return the robot of the options: named, else the data set's own, else the default; its image as they say."""
    robot = robot_of(getattr(arguments, "robot", ""), getattr(arguments, "dataset", ""))
    return with_image(robot, arguments.image)


def with_image(robot: RobotModel, image: str) -> RobotModel:
    """Return the robot with another size of its image; "": as it is. Raises ConfigError."""
    if not image:
        return robot
    width, height = image_size(image)
    return replace(robot, camera=replace(robot.camera, width=width, height=height))


def open_runner(arguments: argparse.Namespace, folder: Path, listener: Callable[[Progress], None],
                own: Path | None = None) -> EpisodeRunner:
    """Return what runs episodes: the graph in one process, a process a node, the chain without ROS, or a function.

    folder: of the run; own: where this one of several workers keeps its logs (default: folder).
    """
    parameters = parameters_of(arguments, folder)
    limits, show = limits_of(arguments), getattr(arguments, "show", False)
    if is_function(arguments.agent):
        from eqa_nodes.runners.function import ActiveFunctionRunner, load_function

        return ActiveFunctionRunner(load_function(arguments.agent), settings("bridge", parameters).robot,
                                    answerer_of(settings("answerer", parameters)), limits, arguments.force_guess)
    if arguments.through == "process":
        from eqa_nodes.runners.in_process import InProcessRunner

        return InProcessRunner(parameters, limits, arguments.force_guess, listener, show=show)
    from eqa_nodes.runners.in_graph import GraphRunner

    return GraphRunner(folder, parameters, limits, arguments.force_guess, listener,
                       isolate=arguments.through == "isolated", own=own, show=show)
