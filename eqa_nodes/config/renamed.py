"""Parameters that were renamed: old files are read as if they had the new names, and a warning says what to write."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from eqa_nodes.config.shared import SHARED
from eqa_nodes.config.whole import SETTINGS
from eqa_nodes.core.errors import ConfigError, unknown
from eqa_nodes.core.mapping.config import HEAD_ROOM_M

log = logging.getLogger(__name__)
Parameters = dict[str, dict[str, Any]]  # {node, or SHARED: {dotted name: value}}


class Renamed(NamedTuple):
    """The successor of a parameter, in the section SHARED, and how the old value becomes the new one."""

    name: str
    value: Callable[[Any], Any] = lambda value: value


def _below_head_room(height_m: Any) -> Any:
    return round(height_m - HEAD_ROOM_M, 6) if isinstance(height_m, (int, float)) else height_m


_BASE = ("forward_m_s", "backward_m_s", "turn_rad_s", "accelerate_m_s2", "accelerate_rad_s2", "timeout_s")
RENAMED: dict[tuple[str, str], Renamed] = {
    ("mapper", "map.robot_radius_m"): Renamed("robot.radius_m"),
    ("mapper", "map.robot_height_m"): Renamed("robot.height_m", _below_head_room),
    ("navigator", "navigator.radius_m"): Renamed("robot.radius_m"),
    ("navigator", "navigator.move_m"): Renamed("robot.move_m"),
    ("navigator", "navigator.turn_deg"): Renamed("robot.turn_deg"),
    ("explorer", "radius_m"): Renamed("robot.radius_m"),
} | {("bridge", f"base.{name}"): Renamed(f"robot.base.{name}") for name in _BASE} | {
    ("recorder", f"privacy.{name}"): Renamed(f"memory.privacy.{name}") for name in ("kinds", "zones", "image")}
# Of one node, whichever it is.
RENAMED_OWN = {"taken_deadline_s": "acknowledged_deadline_s"}
# What is gone, by the beginning of its name: what to use instead.
GONE = {"node.test_": "faults are injected by the environment variable EQA_FAULTS (docs/faults.md)",
        "senses.localisation.period_s": "corrections come with scans, after senses.localisation.update_m or update_rad "
                                        "of motion"}
# The same for all nodes, so said once.
ONE = ("robot.", "node.camera.", "node.second_camera.", "node.tf.", "memory.privacy.", "labels_from")
_LARGEST = ("robot.radius_m", "robot.height_m")  # where nodes were given different ones, the largest is safe


def renewed(parameters: Mapping[str, Mapping[str, Any]], source: str = "") -> Parameters:
    """Return the parameters by their present names; what is the same for all nodes stands once, in the section SHARED.

    Logs one warning that names the successors. Raises ConfigError for what is gone, for
    two values of one setting, and for an unknown node.
    """
    result: Parameters = {SHARED: {}}
    said: list[str] = []
    for node, values in parameters.items():
        if node != SHARED and node not in SETTINGS:
            raise ConfigError(f"{source}: {unknown('node', node, SETTINGS)}".strip(": "))
        own = result.setdefault(node, {})
        for name, value in values.items():
            _refuse_gone(name, source)
            new = RENAMED.get((node, name))
            if new is not None:
                said.append(f"{name} of {node} is now {new.name} of {SHARED}")
                _put(result[SHARED], new.name, new.value(value), source)
            elif (successor := RENAMED_OWN.get(name)) is not None:
                said.append(f"{name} of {node} is now {successor}")
                own[successor] = value
            elif name.startswith(ONE) and node != SHARED:
                _put(result[SHARED], name, value, source)
            else:
                own[name] = value
    if said:
        log.warning("%srenamed parameters: %s", f"{source}: " if source else "", "; ".join(said))
    return {node: values for node, values in result.items() if values}


def _put(shared: dict[str, Any], name: str, value: Any, source: str) -> None:
    value = tuple(value) if isinstance(value, list) else value  # what a file calls a list is a tuple in Python
    before = shared.get(name, value)
    if before != value and name not in _LARGEST:
        raise ConfigError(f"{source}: two values for {name}, {before} and {value}: set it once, under {SHARED}".strip(
            ": "))
    shared[name] = max(before, value) if before != value else value


def _refuse_gone(name: str, source: str) -> None:
    for beginning, instead in GONE.items():
        if name.startswith(beginning):
            raise ConfigError(f"{source}: there is no parameter {name} any more: {instead}".strip(": "))
