"""Reads the agent states that OpenEQA distributes (NNNNN.pkl) as data: no class is imported, nothing is executed."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from eqa_nodes.core.errors import BadFrame, StorageError
from eqa_nodes.recordings.formats.plain_pickle import Named, PickledCall, load_plain
from eqa_nodes.wire.image_files import read_bounded

_MAX_BYTES = 1 << 18  # a state has two thousand
_STATE, _POSE = "habitat_sim.agent.agent.AgentState", "habitat_sim.agent.agent.SixDOFPose"
_FIELDS = {_STATE: ("position", "rotation", "sensor_states"), _POSE: ("position", "rotation")}
_QUATERNIONS = ("quaternion.quaternion", "quaternion.numpy_quaternion.quaternion")
_RECONSTRUCTORS = ("copyreg._reconstructor", "copy_reg._reconstructor")  # how old pickles make objects
_ARRAYS, _SCALARS, _BUFFERS = (  # numpy 2 has _core where numpy 1 has core
    tuple(f"numpy.{core}.{name}" for core in ("core", "_core"))
    for name in ("multiarray._reconstruct", "multiarray.scalar", "numeric._frombuffer"))
_KNOWN = frozenset((*_FIELDS, *_QUATERNIONS, *_RECONSTRUCTORS, *_ARRAYS, *_SCALARS, *_BUFFERS, "numpy.ndarray",
                    "numpy.dtype", "_codecs.encode", "builtins.object", "__builtin__.object"))
PICKLED_NAMES = _KNOWN | {"_magnum.Vector3", "_magnum.Quaternion"}  # what pickles of Habitat's results name
_NUMBERS = re.compile(r"[<>|=]?[fiu][1248]", re.ASCII)
_MALFORMED = (ValueError, TypeError, LookupError, OverflowError)


class SensorPose(NamedTuple):
    """Where a sensor is: metres and a unit quaternion, Habitat's world (x right, y up, -z forward)."""

    position: tuple[float, float, float]
    rotation_wxyz: tuple[float, float, float, float]


class AgentState(NamedTuple):
    """Where an agent and its sensors are, in the axes of SensorPose.

    facts: what else the file says in plain values and flat lists of them; OpenEQA's say scene_id, resolution (height,
    width) and hfov (degrees).
    """

    position: tuple[float, float, float]
    rotation_wxyz: tuple[float, float, float, float]
    sensors: dict[str, SensorPose]
    facts: dict[str, Any]


def read_agent_state(path: Path) -> AgentState:
    """Return the state of an agent. Raises StorageError that names a class which is not built, or what is missing."""
    path = Path(path)
    try:
        value = load_plain(read_bounded(path, _MAX_BYTES), _KNOWN, path)
        facts = dict(value) if type(value) is dict else {}
        fields = _fields(facts.pop("agent_state", value), _STATE)
        sensors = fields.get("sensor_states", {})
        if type(sensors) is not dict:
            raise TypeError("its sensor_states are not a dict")
        return AgentState(*_pose(fields), {str(name): SensorPose(*_pose(_fields(sensor, _POSE)))
                                           for name, sensor in sensors.items()}, _plain_ones(facts))
    except BadFrame as error:
        raise StorageError(str(error)) from error
    except _MALFORMED as error:
        raise StorageError(f"{path} is not an agent state: {error}") from error


def _fields(value: Any, kind: str) -> dict[str, Any]:
    """Return the fields of an object of one class."""
    if type(value) is not PickledCall:
        raise TypeError(f"a {type(value).__name__} stands where {kind} is wanted")
    name = value.name
    if name in _RECONSTRUCTORS and value.arguments and type(value.arguments[0]) is Named:
        name = value.arguments[0].name
    if name != kind:
        raise TypeError(f"{name} stands where {kind} is wanted")
    state = value.state
    if type(state) is tuple and len(state) == 2 and state[0] is None:  # what a class with slots alone writes
        state = state[1]
    if type(state) is tuple:  # what older attrs writes
        state = dict(zip(_FIELDS[kind], state))
    if type(state) is not dict:
        raise TypeError(f"{kind} has no fields")
    return state


def _pose(fields: dict[str, Any]) -> tuple[tuple[float, float, float], tuple[float, float, float, float]]:
    """Return position and rotation. Raises LookupError or ValueError naming what is missing or wrong."""
    for name in ("position", "rotation"):
        if name not in fields:
            raise LookupError(f"it has no {name}")
    px, py, pz = _numbers(fields["position"], 3, "position")
    rotation = fields["rotation"]
    if type(rotation) is PickledCall and rotation.name in _QUATERNIONS:
        w, x, y, z = _numbers(rotation.arguments, 4, "rotation")
    else:
        x, y, z, w = _numbers(rotation, 4, "rotation")  # Habitat's coefficients
    if abs(math.hypot(w, x, y, z) - 1) > 1e-3:
        raise ValueError(f"its rotation w {w}, x {x}, y {y}, z {z} is not a unit quaternion")
    return (px, py, pz), (w, x, y, z)


def _numbers(value: Any, n: int, what: str) -> list[float]:
    """Return n finite numbers of a list, a tuple or an array."""
    values = _array(value).ravel().tolist() if type(value) is PickledCall else value
    if type(values) not in (list, tuple) or len(values) != n:
        raise ValueError(f"its {what} is not {n} numbers")
    found = [_number(v) for v in values]
    if not all(map(math.isfinite, found)):
        raise ValueError(f"its {what} is {found}: wanted finite numbers")
    return found


def _number(value: Any) -> float:
    if type(value) is PickledCall and value.name in _SCALARS:
        dtype, data = value.arguments
        return float(_decoded(dtype, (), data, "C"))
    if type(value) not in (int, float):
        raise TypeError(f"a {type(value).__name__} stands where a number is wanted")
    return float(value)


def pickled_number(value: Any) -> float:
    """Return a number of a pickle, Python's or numpy's. Raises ValueError or TypeError."""
    try:
        return _number(value)
    except LookupError as error:
        raise ValueError(f"a number cannot be read: {error}") from error


def pickled_array(value: PickledCall) -> np.ndarray:
    """Return an array of numbers of a pickle. Raises ValueError or TypeError."""
    try:
        return _array(value)
    except (LookupError, OverflowError) as error:
        raise ValueError(f"an array cannot be read: {error}") from error


def _array(value: PickledCall) -> np.ndarray:
    """Return the array that numpy would build."""
    if value.name in _BUFFERS:
        data, dtype, shape, order = value.arguments
        return _decoded(dtype, shape, data, order)
    if value.name not in _ARRAYS:
        raise TypeError(f"{value.name} stands where an array is wanted")
    if type(value.state) is not tuple:
        raise TypeError("an array has no content")
    _, shape, dtype, by_columns, data = value.state
    return _decoded(dtype, shape, data, "F" if by_columns is True else "C")


def _decoded(dtype: Any, shape: Any, data: Any, order: Any) -> np.ndarray:
    if (type(dtype) is not PickledCall or dtype.name != "numpy.dtype" or type(shape) is not tuple
            or order not in ("C", "F")):
        raise TypeError("an array has no type or shape")
    name = dtype.arguments[0]
    if type(name) is not str or not _NUMBERS.fullmatch(name):
        raise TypeError("an array holds something else than numbers")
    swapped = type(dtype.state) is tuple and len(dtype.state) > 1 and dtype.state[1] == ">"
    of = np.dtype(name).newbyteorder(">" if swapped else "=")
    if type(data) is PickledCall and data.name == "_codecs.encode":  # how old pickles write bytes
        data = data.arguments[0].encode("latin-1")
    if type(data) not in (bytes, bytearray):
        raise TypeError("an array has no content")
    return np.frombuffer(data, of).reshape(shape, order=order)


def _plain_ones(facts: dict[Any, Any]) -> dict[str, Any]:
    """Return the facts that are plain values or flat lists of them (as tuples)."""
    plain = (bool, int, float, str)
    flat = {str(k): tuple(v) if type(v) is list else v for k, v in facts.items()}
    return {k: v for k, v in flat.items() if type(v) in plain or
            (type(v) is tuple and all(type(item) in plain for item in v))}
