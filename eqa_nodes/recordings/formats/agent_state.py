"""Reads the agent states that OpenEQA distributes (NNNNN.pkl) as data: no class is imported, nothing is executed."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from eqa_nodes.core.errors import BadFrame, StorageError
from eqa_nodes.recordings.formats.plain_pickle import (
    PickledPose,
    PickledQuaternion,
    PickledRecord,
    PickledState,
    load_plain,
)
from eqa_nodes.wire.image_files import read_bounded

_MAX_BYTES = 1 << 18  # a state takes about two thousand
_MALFORMED = (ValueError, TypeError, LookupError, OverflowError)


class SensorPose(NamedTuple):
    """Pose of a sensor: metres and a unit quaternion, Habitat's world (x right, y up, -z forward)."""

    position: tuple[float, float, float]
    rotation_wxyz: tuple[float, float, float, float]


class AgentState(NamedTuple):
    """Poses of an agent and its sensors, in the axes of SensorPose.

    facts: other plain values, or flat lists of them, in the file; OpenEQA's contain scene_id, resolution (height,
    width) and hfov (degrees).
    """

    position: tuple[float, float, float]
    rotation_wxyz: tuple[float, float, float, float]
    sensors: dict[str, SensorPose]
    facts: dict[str, Any]


def read_agent_state(path: Path) -> AgentState:
    """Return the state of an agent. Raises StorageError that names an unknown class or a missing field."""
    path = Path(path)
    try:
        value = load_plain(read_bounded(path, _MAX_BYTES), path)
        facts = dict(value) if type(value) is dict else {}
        state = _checked(facts.pop("agent_state", value), PickledState)
        sensors = state.fields.get("sensor_states", {})
        if type(sensors) is not dict:
            raise TypeError("its sensor_states are not a dict")
        return AgentState(*_pose(state), {str(name): SensorPose(*_pose(_checked(sensor, PickledPose)))
                                          for name, sensor in sensors.items()}, _plain_ones(facts))
    except BadFrame as error:
        raise StorageError(str(error)) from error
    except _MALFORMED as error:
        raise StorageError(f"{path} is not an agent state: {error}") from error


def _checked(value: Any, kind: type[PickledRecord]) -> PickledRecord:
    """Return the value if it is a record of the given kind."""
    if type(value) is not kind:
        raise TypeError(f"a {type(value).__name__} stands where {kind.kind} is wanted")
    return value


def _pose(record: PickledRecord) -> tuple[tuple[float, float, float], tuple[float, float, float, float]]:
    """Return position and rotation. Raises LookupError or ValueError naming what is missing or wrong."""
    for name in ("position", "rotation"):
        if name not in record.fields:
            raise LookupError(f"it has no {name}")
    px, py, pz = _numbers(record.fields["position"], 3, "position")
    rotation = record.fields["rotation"]
    if type(rotation) is PickledQuaternion:
        w, x, y, z = _numbers(rotation.arguments, 4, "rotation")
    else:
        x, y, z, w = _numbers(rotation, 4, "rotation")  # Habitat's order of coefficients
    if abs(math.hypot(w, x, y, z) - 1) > 1e-3:
        raise ValueError(f"its rotation w {w}, x {x}, y {y}, z {z} is not a unit quaternion")
    return (px, py, pz), (w, x, y, z)


def _numbers(value: Any, n: int, what: str) -> list[float]:
    """Return n finite numbers of a list, a tuple or an array."""
    values = value.ravel().tolist() if isinstance(value, np.ndarray) else value
    if type(values) not in (list, tuple) or len(values) != n:
        raise ValueError(f"its {what} is not {n} numbers")
    found = [pickled_number(v) for v in values]
    if not all(map(math.isfinite, found)):
        raise ValueError(f"its {what} is {found}: wanted finite numbers")
    return found


def pickled_number(value: Any) -> float:
    """Return a number of a pickle. Raises ValueError or TypeError."""
    if type(value) not in (int, float):
        raise TypeError(f"a {type(value).__name__} stands where a number is wanted")
    return float(value)


def _plain_ones(facts: dict[Any, Any]) -> dict[str, Any]:
    """Return the facts that are plain values or flat lists of them (as tuples)."""
    plain = (bool, int, float, str)
    flat = {str(k): tuple(v) if type(v) is list else v for k, v in facts.items()}
    return {k: v for k, v in flat.items() if type(v) in plain or
            (type(v) is tuple and all(type(item) in plain for item in v))}
