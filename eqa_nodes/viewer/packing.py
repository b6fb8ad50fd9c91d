"""What pages draw, packed: arrays with a head of JSON as one compressed blob (page/data.js), and objects as boxes."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from eqa_nodes.core.types.views import Keyframe, Sighting

_KINDS = {"uint8": "Uint8Array", "uint16": "Uint16Array", "int32": "Int32Array", "float32": "Float32Array"}
_ALIGNED = 8  # bytes: a typed array begins at a multiple of its items' size
BOXES = 80  # on a page; the ones that were seen in most pixels
_FLAT_M = 0.04  # how far a surface may lie outside the box that it belongs to


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


class ShownBox(NamedTuple):
    """An object: its name, corners in metres (map frame), and whether only a simulator's labels know of it."""

    name: str
    low: tuple[float, float, float]
    high: tuple[float, float, float]
    privileged: bool


def boxes_of(views: Iterable[Keyframe]) -> list[ShownBox]:
    """Return a box for each object that the views show, largest sighting first, BOXES at most.

    An object's box is that of its newest sighting, widened by older ones that meet it: it may have been moved since.
    """
    seen: dict[tuple[bool, str, int], list[Sighting]] = {}
    for view in views:
        for sighting in view.sightings:
            label = sighting.label
            if np.isfinite([*sighting.centre, *sighting.size]).all():
                seen.setdefault((label.detected, label.kind, label.instance), []).append(sighting)
    groups = sorted(seen.items(), key=lambda item: -max(s.pixels for s in item[1]))[:BOXES]
    return [_box(kind, sightings, not detected) for (detected, kind, _), sightings in groups]


def owners(points: np.ndarray, boxes: list[ShownBox]) -> np.ndarray:
    """Return whose points (n, 3) are: (n,) uint8, 1 + index of the smallest box around a point, 0 = nobody's."""
    owner = np.zeros(len(points), np.uint8)
    volume = [np.prod(np.subtract(box.high, box.low) + 0.01) for box in boxes]
    for index in np.argsort(volume)[::-1]:
        low, high = np.asarray(boxes[index].low), np.asarray(boxes[index].high)
        inset = np.array([-_FLAT_M, -_FLAT_M, min(_FLAT_M, (high[2] - low[2]) / 2)])  # not the floor below it
        owner[((points >= low + inset) & (points <= high + _FLAT_M)).all(axis=1)] = index + 1
    return owner


def _box(kind: str, sightings: list[Sighting], privileged: bool) -> ShownBox:
    low, high = _corners(sightings[-1])
    for older in reversed(sightings[:-1]):
        a, b = _corners(older)
        if (a <= high).all() and (b >= low).all():
            low, high = np.minimum(a, low), np.maximum(b, high)
    x0, y0, z0 = map(float, low)
    x1, y1, z1 = map(float, high)
    return ShownBox(kind, (x0, y0, z0), (x1, y1, z1), privileged)


def _corners(sighting: Sighting) -> tuple[np.ndarray, np.ndarray]:
    centre, half = np.asarray(sighting.centre, np.float64), np.asarray(sighting.size, np.float64) / 2
    return centre - half, centre + half
