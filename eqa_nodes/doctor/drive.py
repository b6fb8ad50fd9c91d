"""Finds out what drives a live robot, and asks a simulator in lock-step for its observation."""

from __future__ import annotations

import importlib.util
import time
from typing import Any

from rclpy.action import get_action_names_and_types
from rclpy.node import Node

from eqa_nodes.doctor.navigation import Navigation
from eqa_nodes.ros.interfaces import interface
from eqa_nodes.ros.tap import Tap
from eqa_nodes.wire.graph import ACTIONS, DRIVERS, SERVICES, absolute

_GET_STATE = "lifecycle_msgs/srv/GetState"
_COSTMAPS = ("global_costmap/costmap", "local_costmap/costmap")
_ANSWER_S, _STEP_S = 5.0, 0.1
DRIVEN = {"atomic": ("drive_to_pose", "look_around"), "nav2": ("navigate_to_pose", "spin")}


def look_at_navigation(tap: Tap, namespace: str, map_topic: str) -> Navigation:
    """Return who serves the actions that the graph calls, and how managed nodes are. map_topic: as in Navigation.

    Where our atomic navigator runs, it drives; else Nav2 has to.
    """
    driven = DRIVEN["atomic" if DRIVERS["atomic"] in tap.node.get_node_names() else "nav2"]
    served = {name: types[0] for name, types in get_action_names_and_types(tap.node) if types}
    names = {key: absolute(ACTIONS[key].name, namespace) for key in driven}
    costmaps = {name: tap.node.count_publishers(name) for name in (absolute(c, namespace) for c in _COSTMAPS)}
    states = _states(tap) if importlib.util.find_spec("lifecycle_msgs") else None
    return Navigation({name: served.get(name, "") for name in names.values()},
                      {names[key]: ACTIONS[key].type for key in driven}, states, costmaps, map_topic)


class Showing:
    """Asks a simulator once to publish its observation again, which moves nothing and counts nothing.

    In lock-step it publishes only when it is driven.
    """

    def __init__(self, node: Node, namespace: str) -> None:
        port = SERVICES["act"]
        self._request = interface(port.type).Request(action=interface(port.type).Request.OBSERVE)
        self._client = node.create_client(interface(port.type), absolute(port.name, namespace))
        self._call: Any = None

    def ask(self) -> None:
        """Ask, if there is a simulator and it was not asked yet."""
        if self._call is None and self._client.service_is_ready():
            self._call = self._client.call_async(self._request)

    @property
    def said(self) -> str:
        """What it said where it could not."""
        return str(self._call.result().error_message) if self._call is not None and self._call.done() else ""


def _states(tap: Tap) -> dict[str, str]:
    """Ask every managed node for its state; those that do not answer in time have none."""
    names = sorted(name for name, types in tap.node.get_service_names_and_types() if _GET_STATE in types)
    kind = interface(_GET_STATE)
    clients = {name.rpartition("/")[0]: tap.node.create_client(kind, name) for name in names}
    calls: dict[str, Any] = {}
    end = time.monotonic() + _ANSWER_S
    while sum(call.done() for call in calls.values()) < len(clients) and time.monotonic() < end:
        calls |= {node: client.call_async(kind.Request()) for node, client in clients.items()
                  if node not in calls and client.service_is_ready()}  # what is sent before is lost
        tap.spin(_STEP_S)
    return {node: calls[node].result().current_state.label if node in calls and calls[node].done() else ""
            for node in clients}
