"""Look up message, service and action classes and QoS profiles by their names in the graph."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy

from eqa_nodes.core.errors import ConfigError

# frame: 10 images of slack; lock-step keeps one in flight. event: small messages that must not be lost.
DEPTHS = {"frame": 10, "latched": 1, "event": 100, "clock": 10}


@cache
def interface(type_name: str) -> Any:
    """Return the class of "package/msg/Name" (srv and action alike). Raises ConfigError naming the missing package."""
    package, kind, name = type_name.split("/")
    try:
        return getattr(import_module(f"{package}.{kind}"), name)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"no interface {type_name} ({error}): build it with `make setup`, or source the workspace") from error


def qos(kind: str, reliable: bool = True) -> QoSProfile:
    """Return the profile of a topic kind; reliable False: best effort, as camera drivers publish."""
    return QoSProfile(
        depth=DEPTHS[kind], history=HistoryPolicy.KEEP_LAST,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if kind == "latched" else DurabilityPolicy.VOLATILE)
