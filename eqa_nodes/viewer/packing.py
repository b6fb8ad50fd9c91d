"""Arrays with a head of JSON as one compressed blob, which page/data.js reads."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

_KINDS = {"uint8": "Uint8Array", "uint16": "Uint16Array", "int32": "Int32Array", "float32": "Float32Array"}
_ALIGNED = 8  # bytes: a typed array begins at a multiple of its items' size


def packed(head: Mapping[str, Any], arrays: Mapping[str, np.ndarray], level: int = 9) -> bytes:
    """Return a zlib stream of: length of the head (uint32, little endian), the head, the arrays.

    The head is JSON and names each array under "arrays": kind (of JavaScript), offset in bytes behind the head, and
    number of items. level: of zlib. Raises KeyError for an array of another type.
    """
    table, parts, offset = {}, [], 0
    for name, array in arrays.items():
        data = np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes()
        table[name] = {"kind": _KINDS[array.dtype.name], "offset": offset, "count": int(array.size)}
        parts.append(data + bytes(-len(data) % _ALIGNED))
        offset += len(parts[-1])
    text = json.dumps({**head, "arrays": table}, allow_nan=False).encode()
    text += b" " * (-(len(text) + 4) % _ALIGNED)
    return zlib.compress(len(text).to_bytes(4, "little") + text + b"".join(parts), level)


def quantised(points: np.ndarray) -> tuple[np.ndarray, dict[str, list[float]]]:
    """Return (n, 3) uint16 for points (n, 3) in metres, and "low" and "step" by which low + step * q is the point."""
    low = points.min(axis=0).astype(np.float64) if len(points) else np.zeros(3)
    high = points.max(axis=0).astype(np.float64) if len(points) else np.ones(3)
    step = np.maximum(high - low, 1e-6) / 65_535
    return np.rint((points - low) / step).astype(np.uint16), {"low": low.tolist(), "step": step.tolist()}


def differences(triangles: np.ndarray) -> np.ndarray:
    """Return (m, 3) int32 that compresses well: first corners less that of the row before, others less the first."""
    rows = np.array(triangles, np.int32)
    rows[:, 1:] -= rows[:, :1]
    rows[1:, 0] -= triangles[:-1, 0]
    return rows
