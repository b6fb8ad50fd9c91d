"""The section of parameters that all nodes share, and a node's settings from it and from its own section."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from eqa_nodes.config.nodes import SETTINGS, NodeSettings
from eqa_nodes.config.parameters import ROS_OWN, build, parameters_of
from eqa_nodes.core.errors import ConfigError, unknown
from eqa_nodes.core.types.robot import RobotModel

SHARED = "/**"  # the section's name, as in a ROS parameter file


@cache
def shared_names() -> frozenset[str]:
    """Return the names that may stand in the section SHARED; a node declares those of them that it uses."""
    groups: dict[str, type] = {"node": NodeSettings, "robot": RobotModel}
    return frozenset(f"{group}.{p.name}" for group, config in groups.items() for p in parameters_of(config))


def check(parameters: Mapping[str, Mapping[str, Any]], source: str = "") -> None:
    """Raise ConfigError for a name or value that is wrong. source: begins the message.

    What all nodes share may be wrong for any of them.
    """
    for name in parameters.get(SHARED, {}):
        if name not in shared_names() and name not in ROS_OWN:
            raise ConfigError(f"{source}{SHARED}: " + unknown("parameter", name, shared_names() | set(ROS_OWN)))
    for node in SETTINGS if parameters.get(SHARED) else parameters:
        settings(node, parameters, source)


def used_by(node: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values without the shared ones that a node does not use."""
    known = {parameter.name for parameter in parameters_of(SETTINGS[node])}
    return {name: value for name, value in values.items() if name in known or name not in shared_names()}


def settings(node: str, parameters: Mapping[str, Mapping[str, Any]], source: str = "") -> Any:
    """Return the settings of one node: of its own section over the shared one. Raises ConfigError.

    source: begins the message of an error.
    """
    values = {**parameters.get(SHARED, {}), **parameters.get(node, {})}
    return build(SETTINGS[node], used_by(node, values), f"{source}{node}")
