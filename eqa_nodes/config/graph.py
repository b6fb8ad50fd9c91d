"""The parameters of a whole graph: of a file, a world and options together, checked against each other."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from eqa_nodes.config.files import read_file
from eqa_nodes.config.nodes import ATOMIC, NAV2, VELOCITIES
from eqa_nodes.config.parameters import leaves
from eqa_nodes.config.renamed import Parameters, renewed
from eqa_nodes.config.shared import SHARED, check, settings
from eqa_nodes.core.errors import ConfigError, unknown
from eqa_nodes.core.types.robot import RobotModel
from eqa_nodes.ros.graph import PERCEPTION


def merged(path: Path | None, *overrides: Mapping[str, Mapping[str, Any]]) -> Parameters:
    """Return a parameter file with overrides on top; all names and types are checked (ConfigError).

    Memory and recorder must hide the same. With a detector, perception is an observer. With a simulated robot that
    takes velocities, the agent's odometry is that of topics.
    """
    result: Parameters = read_file(path) if path is not None else {}
    for override in overrides:
        for node, values in renewed(override).items():
            result.setdefault(node, {}).update(values)
    check(result)
    _check_privacy(result)
    _with_perception(result)
    _check_money(result)
    if navigator_of(result) == NAV2:
        result.setdefault("agent", {})["odometry"] = "topics"
    return result


def of_robot(robot: RobotModel) -> Parameters:
    """Return the parameters that describe a robot's body to all nodes."""
    return {SHARED: dict(leaves(robot, "robot."))}


def of_world(world: str) -> Parameters:
    """Return what is different in a world: sim | robot | replay.

    The stamps of a robot's camera differ a little; no simulator counts or begins episodes.
    """
    if world != "robot":
        return {}
    shared = {"node.camera.tolerance_s": 0.02, "node.second_camera.tolerance_s": 0.02, "node.tf.wait_s": 2.0}
    return {SHARED: shared, "agent": {"odometry": "topics", "simulator": False, "agent.answer_waiting": True}}


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
