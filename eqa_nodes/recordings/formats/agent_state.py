"""Reads the agent states that OpenEQA distributes (NNNNN.pkl), and other pickles of plain values, as data.

No class that a file names is imported, and nothing in it is executed: pickles may hold plain values, arrays of numbers
and Habitat's records.
"""

from __future__ import annotations

import io
import math
import pickle
import pickletools
import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from eqa_nodes.core.errors import BadFrame, EqaError, StorageError
from eqa_nodes.wire.image_files import read_bounded

_NUMBERS = re.compile(r"[<>|=]?[fiu][1248]", re.ASCII)
_MAX_BYTES = 1 << 18  # a state takes about two thousand
_MALFORMED = (ValueError, TypeError, LookupError, OverflowError)


class PickledRecord:
    """An object of one of Habitat's classes. arguments: its constructor arguments; fields: field name -> value."""

    kind = ""  # the full name of the class
    names: tuple[str, ...] = ()  # names of the fields, for a state that is a tuple

    def __new__(cls, *arguments: Any) -> PickledRecord:
        made = super().__new__(cls)
        made.arguments, made.fields = arguments, dict[str, Any]()
        return made

    def __init__(self, *arguments: Any) -> None:
        self.arguments: tuple[Any, ...]
        self.fields: dict[str, Any]

    def __setstate__(self, state: Any) -> None:
        if type(state) is tuple and len(state) == 2 and state[0] is None:  # a class with only slots
            state = state[1]
        self.fields = dict(zip(self.names, state)) if type(state) is tuple else dict(state)  # older attrs: a tuple


class PickledState(PickledRecord):
    """habitat_sim's AgentState."""

    kind = "habitat_sim.agent.agent.AgentState"
    names = ("position", "rotation", "sensor_states")


class PickledPose(PickledRecord):
    """habitat_sim's SixDOFPose."""

    kind = "habitat_sim.agent.agent.SixDOFPose"
    names = ("position", "rotation")


class PickledQuaternion(PickledRecord):
    """A quaternion of numpy-quaternion. arguments: w, x, y, z."""


class _Dtype:
    """A numeric dtype; numpy's own accepts states that do not match it."""

    def __init__(self, name: Any, *flags: Any) -> None:
        if type(name) is not str or not _NUMBERS.fullmatch(name):
            raise TypeError("an array holds something else than numbers")
        self.made = np.dtype(name)

    def __setstate__(self, state: Any) -> None:
        self.made = self.made.newbyteorder(">" if state[1] == ">" else "=")


class _Array(np.ndarray):
    """An array that takes its dtype from a _Dtype."""

    def __setstate__(self, state: Any) -> None:
        _, shape, dtype, by_columns, data = state
        super().__setstate__((1, shape, dtype.made, by_columns, data))


def _scalar(dtype: _Dtype, data: bytes) -> Any:
    return np.frombuffer(data, dtype.made, 1)[0].item()


def _from_buffer(data: bytes, dtype: _Dtype, shape: Any, order: Any) -> np.ndarray:
    return np.frombuffer(data, dtype.made).reshape(shape, order=order)


_KNOWN: dict[str, Any] = {
    PickledState.kind: PickledState, PickledPose.kind: PickledPose,
    "quaternion.quaternion": PickledQuaternion, "quaternion.numpy_quaternion.quaternion": PickledQuaternion,
    "_magnum.Vector3": PickledRecord, "_magnum.Quaternion": PickledRecord, "numpy.dtype": _Dtype,
    "numpy.ndarray": "ndarray", "builtins.object": "object", "__builtin__.object": "object",  # only referenced by name
    "_codecs.encode": lambda text, encoding: text.encode("latin-1"),  # encoding of bytes in old pickles
    **dict.fromkeys(("copyreg._reconstructor", "copy_reg._reconstructor"), lambda kind, base, state: kind()),
    **{f"numpy.{core}.{name}": made for core in ("core", "_core") for name, made in (  # numpy 1 and 2
        ("multiarray._reconstruct", lambda *_: np.ndarray.__new__(_Array, (0,), np.uint8)),
        ("multiarray.scalar", _scalar), ("numeric._frombuffer", _from_buffer))}}


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (full := f"{module}.{name}") not in _KNOWN:
            raise StorageError(f"it names {full[:200]}, which is not built")
        return _KNOWN[full]

    def persistent_load(self, pid: Any) -> Any:
        raise StorageError("it refers to objects outside of the file")


def load_plain(data: bytes, what: object) -> Any:
    """Return the value of a pickle: plain values, lists, tuples and dicts of them, arrays and PickledRecords.

    Raises StorageError that names `what` for damaged data, and the class if it is unknown.
    """
    try:
        for opcode, argument, _ in pickletools.genops(data):
            if opcode.name == "LONG_BINPUT" and int(argument or 0) > len(data):  # the unpickler would allocate these
                raise ValueError(f"it has a memo entry {argument}")
        return _Unpickler(io.BytesIO(data)).load()
    except EqaError as error:
        raise StorageError(f"{what} is refused: {error}") from error
    except Exception as error:  # with a damaged pickle, classes may raise any exception
        raise StorageError(f"{what} cannot be read as plain values: {error}") from error


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
        raise TypeError(f"a {type(value).__name__} was found instead of {kind.kind}")
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
        raise ValueError(f"its {what} is {found}: expected finite numbers")
    return found


def pickled_number(value: Any) -> float:
    """Return a number of a pickle. Raises ValueError or TypeError."""
    if type(value) not in (int, float):
        raise TypeError(f"a {type(value).__name__} was found instead of a number")
    return float(value)


def _plain_ones(facts: dict[Any, Any]) -> dict[str, Any]:
    """Return the facts that are plain values or flat lists of them (as tuples)."""
    plain = (bool, int, float, str)
    flat = {str(k): tuple(v) if type(v) is list else v for k, v in facts.items()}
    return {k: v for k, v in flat.items() if type(v) in plain or
            (type(v) is tuple and all(type(item) in plain for item in v))}
