"""Remembered objects as boxes, out of the sightings of a trace's views."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.types.views import Keyframe, Sighting

BOXES = 80  # on a page; the ones that were seen in most pixels
_FLAT_M = 0.04  # how far a surface may lie outside the box that it belongs to


class Box(NamedTuple):
    """An object: its name, corners in metres (map frame), and whether only a simulator's labels know of it."""

    name: str
    low: tuple[float, float, float]
    high: tuple[float, float, float]
    privileged: bool


def boxes_of(views: Iterable[Keyframe]) -> list[Box]:
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


def owners(points: np.ndarray, boxes: list[Box]) -> np.ndarray:
    """Return whose points (n, 3) are: (n,) uint8, 1 + index of the smallest box around a point, 0 = nobody's."""
    owner = np.zeros(len(points), np.uint8)
    volume = [np.prod(np.subtract(box.high, box.low) + 0.01) for box in boxes]
    for index in np.argsort(volume)[::-1]:
        low, high = np.asarray(boxes[index].low), np.asarray(boxes[index].high)
        inset = np.array([-_FLAT_M, -_FLAT_M, min(_FLAT_M, (high[2] - low[2]) / 2)])  # not the floor below it
        owner[((points >= low + inset) & (points <= high + _FLAT_M)).all(axis=1)] = index + 1
    return owner


def _box(kind: str, sightings: list[Sighting], privileged: bool) -> Box:
    low, high = _corners(sightings[-1])
    for older in reversed(sightings[:-1]):
        a, b = _corners(older)
        if (a <= high).all() and (b >= low).all():
            low, high = np.minimum(a, low), np.maximum(b, high)
    x0, y0, z0 = map(float, low)
    x1, y1, z1 = map(float, high)
    return Box(kind, (x0, y0, z0), (x1, y1, z1), privileged)


def _corners(sighting: Sighting) -> tuple[np.ndarray, np.ndarray]:
    centre, half = np.asarray(sighting.centre, np.float64), np.asarray(sighting.size, np.float64) / 2
    return centre - half, centre + half
