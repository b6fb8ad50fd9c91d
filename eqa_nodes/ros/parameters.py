"""Settings as ROS parameters: declared with what is known of them, and changed while the node runs where they may be.

A change is checked by building all settings of the node anew, and it counts as a whole or not at all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor, SetParametersResult

from eqa_nodes.config.graph import SHARED, settings, shared_once
from eqa_nodes.config.nodes import SETTINGS
from eqa_nodes.config.parameters import ROS_OWN, Parameter, build, leaves, parameters_of, settings_of
from eqa_nodes.core.errors import EqaError


def declare(node: Any) -> Any:
    """Declare the settings of a node's row as parameters and return them; from now on `node.config` follows changes.

    Raises ConfigError for an override that is no parameter (rclpy would not), or none that counts.
    """
    lists = {p.name for p in settings_of(SETTINGS[node.row]) if isinstance(p.default, tuple)}
    overrides = {key: () if p.value is None and key in lists else p.value  # what ROS makes of an empty list in a file
                 for key, p in node._parameter_overrides.items() if key not in ROS_OWN}
    known = shared_once({node.row: overrides}, node.get_name())
    config = settings(SETTINGS[node.row], {SHARED: known.get(SHARED, {}), node.row: known.get(node.row, {})})
    values = dict(leaves(config))
    for parameter in parameters_of(type(config)):
        node.declare_parameter(parameter.name, values[parameter.name], descriptor(parameter), ignore_override=True)
    node.add_on_set_parameters_callback(partial(_change, node))
    return config


def descriptor(parameter: Parameter) -> ParameterDescriptor:
    """Return what `ros2 param describe` shows of a parameter; one that is not live is read-only."""
    when = parameter.live
    message = ParameterDescriptor(
        description=parameter.description, read_only=not when,
        additional_constraints=f"a change takes effect {when}" if when else "read-only: a change needs a restart")
    allowed = parameter.range
    if allowed is None:
        return message
    if isinstance(parameter.default, float):
        message.floating_point_range = [FloatingPointRange(from_value=allowed.low, to_value=allowed.high)]
    elif math.isfinite(allowed.high):  # ROS has no integer range with one end
        message.integer_range = [IntegerRange(from_value=int(allowed.low), to_value=int(allowed.high), step=1)]
    if allowed.above or not message.floating_point_range + message.integer_range:
        message.additional_constraints = f"{allowed}; {message.additional_constraints}"
    return message


def _change(node: Any, parameters: Sequence[Any]) -> SetParametersResult:
    """Take new values, or say why not. rclpy asks one change after the other and has refused read-only ones by now."""
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
