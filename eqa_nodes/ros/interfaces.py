"""Look up message, service and action classes and QoS profiles by their names in the graph."""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from typing import Any

from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy

try:
    from rclpy.event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks
except ImportError:  # Humble
    from rclpy.qos_event import PublisherEventCallbacks, SubscriptionEventCallbacks

from eqa_nodes.core.errors import ConfigError
from eqa_nodes.wire.graph import KINDS

# Between nodes of the graph, type and quality of service always match. rclpy's default callbacks, which report a
# mismatch, are two more entities per publisher and subscription that its executors check for every message.
QUIET_PUBLISHER = PublisherEventCallbacks(use_default_callbacks=False)
QUIET_SUBSCRIPTION = SubscriptionEventCallbacks(use_default_callbacks=False)


@cache
def interface(type_name: str) -> Any:
    """Return the class of "package/msg/Name" (srv and action alike). Raises ConfigError naming the missing package."""
    if not re.fullmatch("[a-z][a-z0-9_]*/(msg|srv|action)/[A-Z][A-Za-z0-9]*", type_name):  # the name may be from a peer
        raise ConfigError(f"{type_name!r:.80} is not the name of an interface such as std_msgs/msg/String")
    package, kind, name = type_name.split("/")
    try:
        return getattr(import_module(f"{package}.{kind}"), name)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"no interface {type_name} ({error}): build it with `make setup`, or source the "
                          "workspace") from error


def qos(kind: str, reliable: bool = True) -> QoSProfile:
    """Return the profile of a topic kind; reliable False: best effort, as camera drivers publish."""
    own = KINDS[kind]
    return QoSProfile(
        depth=own.depth, history=HistoryPolicy.KEEP_LAST,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy[own.durability.upper()])
