"""Conversion of values to and from JSON by their declared types, so that a new field needs no other change."""

from __future__ import annotations

import base64
import dataclasses
import json
import math
import os
import reprlib
import types
import typing
from collections.abc import Mapping, Sequence
from contextlib import suppress
from enum import Enum
from numbers import Integral, Real
from pathlib import Path, PurePath
from typing import Any, TypeVar

from eqa_nodes.core.errors import StorageError
from eqa_nodes.core.storage.text import encodable

T = TypeVar("T")
_SHORT = reprlib.Repr()  # for messages: data may be nested deeply or be very long
_SHORT.maxstring = _SHORT.maxother = 120
_KNOWN: dict[Any, dict[str, Any]] = {}  # fields by class: resolving type hints is slow


def encode(value: object) -> Any:
    """Return plain JSON data: records as objects, enums by name, bytes in base 64, paths as text. Raises TypeError.

    Texts are made encodable, so that no file, topic or database refuses them.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, PurePath):
        return encodable(str(value))
    if isinstance(value, Integral):  # also NumPy's
        return int(value)
    if isinstance(value, Real):
        return float(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if dataclasses.is_dataclass(value) or hasattr(value, "_fields"):
        return {name: encode(getattr(value, name)) for name in _fields(type(value))}
    if isinstance(value, Mapping):
        return {encodable(str(key)): encode(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [encode(item) for item in value]
    raise TypeError(f"cannot write a {type(value).__name__} as JSON: {value!r}")


def decode(cls: type[T], data: Any) -> T:
    """Return the value of type `cls` that `encode` wrote. Raises StorageError naming the mismatch."""
    try:
        return typing.cast(T, _decode(cls, data))
    except (TypeError, ValueError, KeyError, AttributeError, OverflowError) as error:
        raise StorageError(f"not a {getattr(cls, '__name__', cls)}: {error} in {_SHORT.repr(data)[:200]}") from error


def loads(text: str | bytes) -> Any:
    """Return parsed JSON, ignoring a byte order mark. Raises ValueError for invalid or too deeply nested JSON."""
    try:
        return json.loads(text.removeprefix("\ufeff") if isinstance(text, str) else text)
    except RecursionError as error:
        raise ValueError("the JSON is nested too deep") from error


def dumps(value: object) -> str:
    """Return canonical JSON: sorted keys, no spaces, no NaN (ValueError). Equal values give equal bytes."""
    return json.dumps(encode(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def begins(cls: type[Any]) -> str:
    """Return the beginning of the canonical JSON of any record of a class: its first field in sorted order."""
    return f'{{"{min(_fields(cls))}":'


def write_json(path: Path, value: object) -> None:
    """Write indented JSON atomically: a crash leaves either the old or the new file."""
    text = json.dumps(encode(value), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    write_bytes(path, text.encode())


def write_bytes(path: Path, data: bytes) -> None:
    """Write a whole file durably: temporary file beside it, fsync, rename. Pipes and devices are written directly.

    A failure leaves no temporary file behind, and its error names the file.
    """
    if path.is_symlink():
        path = path.resolve()  # the link is kept, and its target is written
    if path.exists() and not path.is_file():  # /dev/stdout: a rename would replace it by a file
        with path.open("wb") as pipe:
            pipe.write(data)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    try:
        with part.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        with suppress(OSError):  # the first error is the relevant one
            part.unlink(missing_ok=True)
        error.filename = error.filename or str(path)  # a full disk has none
        raise


def read_json(path: Path) -> Any:
    """Return the parsed file. Raises StorageError with the path if it is absent, not a file (a pipe) or not JSON."""
    if path.exists() and not path.is_file():
        raise StorageError(f"cannot read {path}: it is not a file")
    try:
        return loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise StorageError(f"cannot read {path}: {error}") from error


def _fields(cls: Any) -> dict[str, Any]:
    """Return field name -> declared type of a dataclass or NamedTuple."""
    if cls not in _KNOWN:
        _KNOWN[cls] = _declared(cls)
    return _KNOWN[cls]


def _declared(cls: Any) -> dict[str, Any]:
    hints = typing.get_type_hints(cls)
    if dataclasses.is_dataclass(cls):
        return {f.name: hints[f.name] for f in dataclasses.fields(cls)}
    return {name: hints[name] for name in cls._fields}


def _decode(cls: Any, data: Any) -> Any:
    origin, args = typing.get_origin(cls), typing.get_args(cls)
    if cls in (Any, object):
        return data
    if origin in (typing.Union, types.UnionType):
        return None if data is None else _decode(next(a for a in args if a is not type(None)), data)
    if origin in (list, tuple, Sequence):
        return _decode_sequence(origin, args, data)
    if origin in (dict, Mapping):
        return {key: _decode(args[1], item) for key, item in data.items()}
    if isinstance(cls, type) and issubclass(cls, Enum):
        return cls[data]
    if dataclasses.is_dataclass(cls) or hasattr(cls, "_fields"):
        return _decode_record(cls, data)
    return _decode_scalar(cls, data)


def _decode_sequence(origin: Any, args: tuple[Any, ...], data: Any) -> Any:
    if not isinstance(data, list):
        raise TypeError(f"expected a list, got {_SHORT.repr(data)}")
    if origin is tuple and not (len(args) == 2 and args[1] is ...):
        if len(args) != len(data):
            raise ValueError(f"expected {len(args)} values, got {len(data)}")
        return tuple(_decode(a, d) for a, d in zip(args, data, strict=True))
    items = [_decode(args[0], d) for d in data]
    return tuple(items) if origin is tuple else items


def _decode_record(cls: Any, data: Any) -> Any:
    fields = _fields(cls)
    if not isinstance(data, dict) or not data.keys() <= fields.keys():
        raise KeyError(f"unknown fields {sorted(set(data) - set(fields))}" if isinstance(data, dict) else "no object")
    return cls(**{name: _decode(fields[name], item) for name, item in data.items()})


def _decode_scalar(cls: Any, data: Any) -> Any:
    if cls is float and isinstance(data, (int, float)) and not isinstance(data, bool):
        if not math.isfinite(data):  # `dumps` never writes them
            raise ValueError(f"{data} is not a number")
        return float(data)
    if cls is Path and isinstance(data, str):
        return Path(data)
    if cls is bytes:
        return base64.b64decode(data, validate=True)
    if not isinstance(data, cls) or (isinstance(data, bool) and cls is not bool):
        raise TypeError(f"expected {cls.__name__}, got {_SHORT.repr(data)}")
    return data
