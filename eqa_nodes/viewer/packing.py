"""Data for pages: arrays with a JSON header as one compressed blob (page/data.js), and objects as boxes."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from eqa_nodes.core.types.views import Keyframe, Sighting

_KINDS = {"uint8": "Uint8Array", "uint16": "Uint16Array", "int32": "Int32Array", "float32": "Float32Array"}
_ALIGNED = 8  # bytes: a typed array must start at a multiple of its items' size
BOXES = 80  # maximum on a page: those with the largest sightings
_FLAT_M = 0.04  # maximum distance of a surface from the box that it belongs to


def packed(head: Mapping[str, Any], arrays: Mapping[str, np.ndarray], level: int = 9) -> bytes:
    """Return a zlib stream of: length of the header (uint32, little endian), the header, the arrays.

    The header is JSON and lists each array under "arrays": JavaScript type, offset in bytes after the header, and
    number of items. level: compression level of zlib. Raises KeyError for an array of another type.
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
    """Quantise points (n, 3), metres, to q (n, 3) uint16; return q, "low" and "step", with point = low + step * q."""
    low = points.min(axis=0).astype(np.float64) if len(points) else np.zeros(3)
    high = points.max(axis=0).astype(np.float64) if len(points) else np.ones(3)
    step = np.maximum(high - low, 1e-6) / 65_535
    return np.rint((points - low) / step).astype(np.uint16), {"low": low.tolist(), "step": step.tolist()}


def differences(triangles: np.ndarray) -> np.ndarray:
    """Return triangles as (m, 3) int32 differences, which compress well: first corners relative to the previous row's
    first corner, the others relative to the first corner of their row."""
    rows = np.array(triangles, np.int32)
    rows[:, 1:] -= rows[:, :1]
    rows[1:, 0] -= triangles[:-1, 0]
    return rows


class ShownBox(NamedTuple):
    """An object: name, two opposite corners (metres, map frame), and whether it is known only from simulator labels."""

    name: str
    low: tuple[float, float, float]
    high: tuple[float, float, float]
    privileged: bool


def boxes_of(views: Iterable[Keyframe]) -> list[ShownBox]:
    """Return a box for each object in the views, the one with the largest sighting first, at most BOXES.

    A box is that of the newest sighting, extended by older ones that overlap it: the object may have been moved.
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
    """Return the owner of each of the points (n, 3): (n,) uint8, 1 + index of the smallest box around it, 0 = none."""
    owner = np.zeros(len(points), np.uint8)
    volume = [np.prod(np.subtract(box.high, box.low) + 0.01) for box in boxes]
    for index in np.argsort(volume)[::-1]:
        low, high = np.asarray(boxes[index].low), np.asarray(boxes[index].high)
        inset = np.array([-_FLAT_M, -_FLAT_M, min(_FLAT_M, (high[2] - low[2]) / 2)])  # excludes the floor below it
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
