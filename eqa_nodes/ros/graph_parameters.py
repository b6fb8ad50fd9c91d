"""The parameters of a graph that runs already, as its nodes report them."""

from __future__ import annotations

import threading
import time
from typing import Any

from rcl_interfaces.srv import GetParameters, ListParameters
from rclpy.node import Node
from rclpy.parameter import parameter_value_to_python

from eqa_nodes.config.graph import Parameters
from eqa_nodes.config.nodes import SETTINGS
from eqa_nodes.config.parameters import ROS_OWN
from eqa_nodes.core.errors import NodeLost

NEEDED = ("agent", "mapper", "memory", "explorer", "answerer")  # every graph that can be asked has these
AGAIN_S = 2.0  # an answer may be lost while client and server discover each other


def graph_parameters(node: Node, deadline_s: float) -> Parameters:
    """Return {node: {name: value}} of the graph's nodes in the namespace of `node`, whose executor must spin.

    Raises NodeLost where a needed node is absent or one does not answer within the deadline, seconds.
    """
    end = time.monotonic() + deadline_s
    while lacking := [name for name in NEEDED if not _runs(node, name)]:
        if time.monotonic() > end:
            raise NodeLost(f"no parameters of {', '.join(lacking)} within {deadline_s:g} s: start the graph first "
                           "(ros2 launch eqa_nodes sim.launch.py) in this ROS_DOMAIN_ID, and name its namespace")
        time.sleep(0.1)
    return {name: _parameters_of(node, name, end) for name in SETTINGS if _runs(node, name)}


def _runs(node: Node, name: str) -> bool:
    served = {found for found, _ in node.get_service_names_and_types()}
    return node.resolve_service_name(f"{name}/get_parameters") in served


def _parameters_of(node: Node, name: str, end: float) -> dict[str, Any]:
    """Return the parameters that a node has beside ROS's own."""
    listed = _call(node, ListParameters, f"{name}/list_parameters", ListParameters.Request(), end).result.names
    names = [each for each in listed if each not in ROS_OWN and not each.startswith("qos_overrides.")]
    values = _call(node, GetParameters, f"{name}/get_parameters", GetParameters.Request(names=names), end).values
    return {each: _plain(parameter_value_to_python(value)) for each, value in zip(names, values, strict=True)}


def _plain(value: Any) -> Any:
    """Return arrays as lists, as parameter files have them."""
    return list(value) if hasattr(value, "__len__") and not isinstance(value, (str, bytes)) else value


def _call(node: Node, kind: Any, service: str, request: Any, end: float) -> Any:
    """Call a service, again where no answer comes. Raises NodeLost at `end`, by the monotonic clock."""
    client, done = node.create_client(kind, service), threading.Event()
    try:
        while time.monotonic() < end:
            future = client.call_async(request)
            future.add_done_callback(lambda _: done.set())
            if done.wait(min(AGAIN_S, max(0.0, end - time.monotonic()))) and future.done():
                return future.result()
            done.clear()
        raise NodeLost(f"{client.srv_name} did not answer in time: does its node run?")
    finally:
        node.destroy_client(client)
