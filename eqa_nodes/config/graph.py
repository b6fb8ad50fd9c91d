"""The parameters of a whole graph: of a file, a world and options together, checked against each other."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from eqa_nodes.config.nodes import ATOMIC, NAV2, SETTINGS, VELOCITIES
from eqa_nodes.config.parameters import build, read_file
from eqa_nodes.core.errors import ConfigError, unknown
from eqa_nodes.ros.graph import NODES, PERCEPTION

Parameters = dict[str, dict[str, Any]]  # {node: {dotted name: value}}


def merged(path: Path | None, *overrides: Mapping[str, Mapping[str, Any]]) -> Parameters:
    """Return a parameter file with overrides on top; all names and types are checked (ConfigError).

    So is that memory and recorder hide the same, and that all nodes mean the same camera. The explorer's robot is as
    wide as that of mapper and navigator, unless its own radius is given. With a detector, perception is an observer.
    With a simulated robot that takes velocities, the agent's odometry is that of topics.
    """
    result: Parameters = read_file(path, SETTINGS) if path is not None else {}
    for override in overrides:
        for node, values in override.items():
            result.setdefault(node, {}).update(values)
    for node in result:
        settings(node, result)
    _check_privacy(result)
    _check_cameras(result)
    _with_perception(result)
    _with_radius(result)
    _check_money(result)
    if navigator_of(result) == NAV2:
        result.setdefault("agent", {})["odometry"] = "topics"
    return result


def of_world(world: str) -> Parameters:
    """Return what is different in a world: sim | robot | replay.

    The stamps of a robot's camera differ a little; no simulator counts or begins episodes.
    """
    if world != "robot":
        return {}
    robot = {"node.camera.tolerance_s": 0.02, "node.second_camera.tolerance_s": 0.02, "node.tf.wait_s": 2.0}
    agent = {"odometry": "topics", "simulator": False, "agent.answer_waiting": True}
    return {name: {**robot, **(agent if name == "agent" else {})} for name in SETTINGS}


def driven_by(navigator: str) -> Parameters:
    """Return the parameters with which a navigator drives the simulated robot: atomic | nav2. Raises ConfigError."""
    if navigator not in (ATOMIC, NAV2):
        raise ConfigError(unknown("navigator", navigator, (ATOMIC, NAV2)))
    return {"bridge": {"drive": VELOCITIES}} if navigator == NAV2 else {}


def navigator_of(parameters: Mapping[str, Mapping[str, Any]]) -> str:
    """Say who drives the simulated robot under these parameters."""
    return NAV2 if settings("bridge", parameters).drive == VELOCITIES else ATOMIC


def detecting(parameters: Mapping[str, Mapping[str, Any]]) -> bool:
    """Say whether the perception node runs under these parameters: a detector is chosen."""
    return bool(settings(PERCEPTION, parameters).detector.name)


def settings(node: str, parameters: Mapping[str, Mapping[str, Any]]) -> Any:
    """Return the settings of one node under these parameters."""
    return build(SETTINGS[node], parameters.get(node, {}), node)


def _with_perception(parameters: Parameters) -> None:
    """Let who shows observations wait for perception, and the agent reset it, where it runs."""
    memory = settings("memory", parameters)
    if not detecting(parameters):
        if memory.labels and memory.labels_from == "detector":
            raise ConfigError("memory.labels_from is detector, and no detector is chosen: give perception "
                              "detector.name, such as transformers, or set labels_from to simulator")
        return
    for node in ("agent", "bridge", "replay"):
        observers = settings(node, parameters).observers
        if observers and PERCEPTION not in observers:
            parameters.setdefault(node, {})["observers"] = (*observers, PERCEPTION)


def _with_radius(parameters: Parameters) -> None:
    """Give the explorer the robot's radius: the widest that the nodes which map and drive are given."""
    told = [parameters.get(node, {}).get(name) for node, name in (("navigator", "navigator.radius_m"),
                                                                  ("mapper", "map.robot_radius_m"))]
    if "radius_m" not in parameters.get("explorer", {}) and any(told):
        parameters.setdefault("explorer", {})["radius_m"] = max(filter(None, told))


def _check_money(parameters: Parameters) -> None:
    """Raise ConfigError for a limit of money where nothing says what the model costs."""
    limit, model = settings("agent", parameters).agent.max_money, settings("answerer", parameters).model
    if limit and not (model.price_in or model.price_out):
        raise ConfigError(f"agent.max_money is {limit:g}, but no prices are known: set model.price_in and "
                          "model.price_out of the answerer (--price-in, --price-out), in money per million tokens")


def _check_privacy(parameters: Parameters) -> None:
    memory, recorder = settings("memory", parameters).memory.privacy, settings("recorder", parameters).privacy
    if memory != recorder:
        raise ConfigError(f"memory and recorder hide different things, and both keep images: memory.privacy is "
                          f"{memory}, the recorder's privacy is {recorder}; give memory.privacy.* of /**/memory and "
                          "privacy.* of /**/recorder the same values")


def _check_cameras(parameters: Parameters) -> None:
    """Raise ConfigError where nodes mean different cameras, or masks would not fit the images."""
    nodes = [name for name, spec in NODES.items() if "camera_info" in spec.frames + spec.subscribes or name == "agent"]
    nodes = [name for name in nodes if name != PERCEPTION or detecting(parameters)]
    for part in ("camera", "second_camera", "tf"):
        told = {name: getattr(settings(name, parameters).node, part) for name in nodes}
        for name in nodes[1:]:
            if told[name] != told[nodes[0]]:
                raise ConfigError(f"{nodes[0]} and {name} mean different cameras: node.{part} is {told[nodes[0]]} and "
                                  f"{told[name]}; give both the same values, best under /**")
