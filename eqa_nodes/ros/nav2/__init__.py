"""Nav2 over ROS: commanders, which send its goals, its other services, and the robot's pose."""

from __future__ import annotations

import importlib.util
from importlib import import_module
from typing import Any

from eqa_nodes.config.nodes import COMMANDERS, Nav2NavigatorSettings
from eqa_nodes.core.errors import ConfigError, unknown

_TARGETS = {"simple_commander": "eqa_nodes.ros.nav2.basic:SimpleCommander",
            "wire": "eqa_nodes.ros.nav2.wire:WireCommander"}


def commander_of(node: Any) -> Any:
    """Return the commander named in a node's settings; auto = nav2_simple_commander if it is installed, else wire.

    Raises ConfigError for an unknown name, and for a commander that is not installed.
    """
    config: Nav2NavigatorSettings = node.config
    name, installed = config.commander, importlib.util.find_spec("nav2_simple_commander") is not None
    if name == "auto":
        name = "simple_commander" if installed else "wire"
    if name not in _TARGETS:
        raise ConfigError(unknown("commander", name, COMMANDERS))
    if name == "simple_commander" and not installed:
        raise ConfigError("commander is simple_commander, and nav2_simple_commander is not installed: apt install "
                          "ros-$ROS_DISTRO-nav2-simple-commander, or set commander to wire")
    module, _, cls = _TARGETS[name].partition(":")
    return getattr(import_module(module), cls)(node)
