"""Settings as ROS parameters: declared, changed while the node runs, and read from a running graph.

To check a change, all settings of the node are built again; the change is applied as a whole or not at all.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Sequence
from functools import partial
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor, SetParametersResult
from rcl_interfaces.srv import GetParameters, ListParameters
from rclpy.node import Node
from rclpy.parameter import parameter_value_to_python

from eqa_nodes.config.graph import SHARED, Parameters, settings, shared_once
from eqa_nodes.config.nodes import SETTINGS
from eqa_nodes.config.parameters import ROS_OWN, Parameter, build, leaves, parameters_of, settings_of
from eqa_nodes.core.errors import EqaError, NodeLost

NEEDED = ("agent", "mapper", "memory", "explorer", "answerer")  # nodes of every graph that answers questions
AGAIN_S = 2.0  # an answer may be lost while client and server discover each other


def declare(node: Any) -> Any:
    """Declare the settings of a node's row as parameters and return them; later changes replace `node.config`.

    Raises ConfigError for an override that is not a parameter (rclpy would ignore it) or has an invalid value.
    """
    lists = {p.name for p in settings_of(SETTINGS[node.row]) if isinstance(p.default, tuple)}
    overrides = {key: () if p.value is None and key in lists else p.value  # ROS reads an empty list in a file as None
                 for key, p in node._parameter_overrides.items() if key not in ROS_OWN}
    known = shared_once({node.row: overrides}, node.get_name())
    config = settings(SETTINGS[node.row], {SHARED: known.get(SHARED, {}), node.row: known.get(node.row, {})})
    values = dict(leaves(config))
    for parameter in parameters_of(type(config)):
        node.declare_parameter(parameter.name, values[parameter.name], descriptor(parameter), ignore_override=True)
    node.add_on_set_parameters_callback(partial(_change, node))
    return config


def descriptor(parameter: Parameter) -> ParameterDescriptor:
    """Return a parameter's description for `ros2 param describe`; one that is not live is read-only."""
    when = parameter.live
    message = ParameterDescriptor(
        description=parameter.description, read_only=not when,
        additional_constraints=f"a change takes effect {when}" if when else "read-only: a change needs a restart")
    allowed = parameter.range
    if allowed is None:
        return message
    if isinstance(parameter.default, float):
        message.floating_point_range = [FloatingPointRange(from_value=allowed.low, to_value=allowed.high)]
    elif math.isfinite(allowed.high):  # ROS has no half-open integer range
        message.integer_range = [IntegerRange(from_value=int(allowed.low), to_value=int(allowed.high), step=1)]
    if allowed.above or not message.floating_point_range + message.integer_range:
        message.additional_constraints = f"{allowed}; {message.additional_constraints}"
    return message


def _change(node: Any, parameters: Sequence[Any]) -> SetParametersResult:
    """Apply new values, or return why not. rclpy calls this for one change at a time, after refusing read-only ones."""
    old = node.config
    known = dict(leaves(old))
    changed = {p.name: p.value for p in parameters if p.name in known}  # others are ROS's own
    try:
        new = build(type(old), {**known, **changed}, node.get_name())
        if node.configured:
            node.reconfigured(old, new)
    except EqaError as error:
        return SetParametersResult(successful=False, reason=str(error))
    node.config = new
    live = {parameter.name: parameter.live for parameter in parameters_of(type(old))}
    for name, value in changed.items():
        node.get_logger().info(f"{name}: {known[name]} -> {value}, {live[name]}")
    return SetParametersResult(successful=True)


def graph_parameters(node: Node, deadline_s: float) -> Parameters:
    """Return {node: {name: value}} of the graph's nodes in the namespace of `node`, whose executor must spin.

    Raises NodeLost if a needed node is absent or one does not answer within the deadline, seconds.
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
    """Return the parameters of a node without ROS's own."""
    listed = _call(node, ListParameters, f"{name}/list_parameters", ListParameters.Request(), end).result.names
    names = [each for each in listed if each not in ROS_OWN and not each.startswith("qos_overrides.")]
    values = _call(node, GetParameters, f"{name}/get_parameters", GetParameters.Request(names=names), end).values
    return {each: _plain(parameter_value_to_python(value)) for each, value in zip(names, values, strict=True)}


def _plain(value: Any) -> Any:
    """Convert arrays to lists, as in parameter files."""
    return list(value) if hasattr(value, "__len__") and not isinstance(value, (str, bytes)) else value


def _call(node: Node, kind: Any, service: str, request: Any, end: float) -> Any:
    """Call a service, repeatedly until an answer arrives. Raises NodeLost at `end`, monotonic clock, s."""
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
