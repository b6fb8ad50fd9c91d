"""The section of parameters that all nodes share, and nodes' settings from it and from their own sections."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar

from eqa_nodes.config.nodes import NodeSettings, Settings
from eqa_nodes.config.parameters import ROS_OWN, build, parameters_of
from eqa_nodes.config.whole import SETTINGS, GraphSettings
from eqa_nodes.core.camera.privacy import PrivacyConfig
from eqa_nodes.core.errors import ConfigError, unknown
from eqa_nodes.core.types.robot import RobotModel

SHARED = "/**"  # the section's name, as in a ROS parameter file
SettingsT = TypeVar("SettingsT", bound=Settings)
_NODES: dict[type, str] = {config: node for node, config in SETTINGS.items()}


@cache
def shared_names() -> frozenset[str]:
    """Return the names that may stand in the section SHARED; a node declares those of them that it uses."""
    groups: dict[str, type] = {"node": NodeSettings, "robot": RobotModel, "memory.privacy": PrivacyConfig}
    return frozenset({"labels_from"} | {
        f"{group}.{p.name}" for group, config in groups.items() for p in parameters_of(config)})


def used_by(node: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values without the shared ones that a node does not use."""
    known = {parameter.name for parameter in parameters_of(SETTINGS[node])}
    return {name: value for name, value in values.items() if name in known or name not in shared_names()}


def settings(config: type[SettingsT], parameters: Mapping[str, Mapping[str, Any]], source: str = "") -> SettingsT:
    """Return the settings of one node: of its own section over the shared one. Raises ConfigError.

    source: begins the message of an error.
    """
    node = _NODES[config]
    values = {**parameters.get(SHARED, {}), **parameters.get(node, {})}
    return build(config, used_by(node, values), f"{source}{node}")


def graph_settings(parameters: Mapping[str, Mapping[str, Any]], source: str = "") -> GraphSettings:
    """Return the settings of all nodes. Raises ConfigError for a name or a value that is wrong.

    source: begins the message of an error. What all nodes share may be wrong for any of them.
    """
    for name in parameters.get(SHARED, {}):
        if name not in shared_names() and name not in ROS_OWN:
            raise ConfigError(f"{source}{SHARED}: " + unknown("parameter", name, shared_names() | set(ROS_OWN)))
    built: dict[str, Any] = {node: settings(config, parameters, source) for node, config in SETTINGS.items()}
    return GraphSettings(**built)
