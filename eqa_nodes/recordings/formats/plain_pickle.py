"""Reads pickles as data: plain values, arrays of numbers and Habitat's records. No class in the file is imported."""

from __future__ import annotations

import io
import pickle
import pickletools
import re
from typing import Any

import numpy as np

from eqa_nodes.core.errors import EqaError, StorageError

_NUMBERS = re.compile(r"[<>|=]?[fiu][1248]", re.ASCII)


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
