"""Asks a live robot who drives it, and a simulator in lock-step to show what it sees."""

from __future__ import annotations

import importlib.util
import time
from typing import Any

from rclpy.action import get_action_names_and_types
from rclpy.node import Node

from eqa_nodes.doctor.navigation import Navigation
from eqa_nodes.graph import ACTIONS, SERVICES, absolute
from eqa_nodes.ros.interfaces import interface
from eqa_nodes.ros.tap import Tap

_GET_STATE = "lifecycle_msgs/srv/GetState"
_COSTMAPS = ("global_costmap/costmap", "local_costmap/costmap")
_ANSWER_S, _STEP_S = 5.0, 0.1
DRIVEN = ("navigate_to_pose", "spin")


def look_at_navigation(tap: Tap, namespace: str, map_topic: str) -> Navigation:
    """Return who serves the actions that the agent calls, and how managed nodes are. map_topic: as in Navigation."""
    served = {name: types[0] for name, types in get_action_names_and_types(tap.node) if types}
    names = {key: absolute(ACTIONS[key].name, namespace) for key in DRIVEN}
    costmaps = {name: tap.node.count_publishers(name) for name in (absolute(c, namespace) for c in _COSTMAPS)}
    states = _states(tap) if importlib.util.find_spec("lifecycle_msgs") else None
    return Navigation({name: served.get(name, "") for name in names.values()},
                      {names[key]: ACTIONS[key].type for key in DRIVEN}, states, costmaps, map_topic)


def observe(node: Node, namespace: str) -> Any | None:
    """Ask a simulator to publish its observation again; return the call's future, None where there is none.

    It moves nothing and counts nothing. A simulator in lock-step publishes only when it is driven.
    """
    port = SERVICES["act"]
    name = absolute(port.name, namespace)
    if name not in dict(node.get_service_names_and_types()):
        return None
    kind = interface(port.type)
    return node.create_client(kind, name).call_async(kind.Request(action=kind.Request.OBSERVE))


def _states(tap: Tap) -> dict[str, str]:
    """Ask every managed node for its state; those that do not answer in time have none."""
    names = sorted(name for name, types in tap.node.get_service_names_and_types() if _GET_STATE in types)
    kind = interface(_GET_STATE)
    calls = {name.rpartition("/")[0]: tap.node.create_client(kind, name).call_async(kind.Request()) for name in names}
    end = time.monotonic() + _ANSWER_S
    while not all(call.done() for call in calls.values()) and time.monotonic() < end:
        tap.spin(_STEP_S)
    return {node: call.result().current_state.label if call.done() else "" for node, call in calls.items()}
