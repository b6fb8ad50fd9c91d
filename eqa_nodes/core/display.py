"""Display of decisions in RViz, Foxglove and the report: sizes, regions, values, colours."""

from __future__ import annotations

import colorsys
import zlib
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.types.floor import Candidate, GridMap

VALUE = "value"  # label of marks with the semantic value of the floor there; other labels are names of regions
DISC_M = 1.0  # radius of the disc of floor that a value is painted on, as in EXPRESS-Bench
_ONE_REGION_M = 1.5  # marks of one name within this distance belong to one region
_STRAY = 0.3  # share of the marks of the largest region of a name below which a region is dropped as stray
_KINDS = {"frontier": (14, 165, 233), "snapshot": (217, 119, 6), "look": (217, 119, 6), "confirm": (5, 150, 105),
          "node": (124, 58, 237)}
# Hues in degrees, distinct from the orange of values and, for rooms that are often adjacent, from each other.
_ROOMS = {"living room": 135, "kitchen": 268, "bedroom": 215, "bathroom": 172, "hallway": 60, "study": 300,
          "entryway": 85, "garage": 240, "dining room": 325, "laundry room": 190, "workout room": 110, "pantry": 285,
          "closet": 228, "second bathroom": 158}

Colour = tuple[int, int, int]


class MarkCluster(NamedTuple):
    """Nearby marks of one name; x, y: position of the mark nearest to their mean, metres, map frame. weight: maximum.
    """

    name: str
    x: float
    y: float
    weight: float
    marks: tuple[Candidate, ...]


def strengths(candidates: Sequence[Candidate]) -> list[float]:
    """Return the weights scaled to 0..1, from 0 (or the smallest weight, if negative) to the largest."""
    weights = [c.weight for c in candidates]
    low, high = min([0.0, *weights]), max(weights, default=0.0)
    return [(w - low) / (high - low) if high > low else 1.0 for w in weights]


def colour_of(label: str) -> Colour:
    """Return the colour of a kind of candidate or of a region; the same name always has the same colour."""
    if label in _KINDS:
        return _KINDS[label]
    hue = _ROOMS.get(label, zlib.crc32(label.encode()) % 360)
    red, green, blue = colorsys.hls_to_rgb(hue / 360, 0.42, 0.6)
    return round(255 * red), round(255 * green), round(255 * blue)


def regions_of(marks: Sequence[Candidate]) -> list[MarkCluster]:
    """Return the regions named by marks, sorted by name and then in the order of their marks."""
    named = [m for m in marks if m.label and m.label != VALUE]
    found: list[MarkCluster] = []
    for name in sorted({m.label for m in named}):
        parts = _together([m for m in named if m.label == name])
        least = _STRAY * max(map(len, parts))
        found += [_region(part) for part in parts if len(part) >= least]
    return found


def _together(marks: Sequence[Candidate]) -> list[tuple[Candidate, ...]]:
    from scipy.sparse import coo_array  # takes a third of a node's start, and most nodes draw no regions
    from scipy.sparse.csgraph import connected_components
    from scipy.spatial import cKDTree

    pairs = cKDTree([(m.x, m.y) for m in marks]).query_pairs(_ONE_REGION_M, output_type="ndarray")
    links = coo_array((np.ones(len(pairs)), pairs.T), shape=(len(marks), len(marks)))
    count, group = connected_components(links, directed=False)
    parts: list[list[Candidate]] = [[] for _ in range(count)]
    for mark, part in zip(marks, group, strict=True):
        parts[part].append(mark)
    return [tuple(part) for part in parts]


def _region(marks: tuple[Candidate, ...]) -> MarkCluster:
    xy = np.array([(m.x, m.y) for m in marks])
    off = xy - xy.mean(axis=0)
    middle = marks[int(np.argmin(np.hypot(off[:, 0], off[:, 1])))]
    return MarkCluster(middle.label, middle.x, middle.y, max(m.weight for m in marks), marks)


def value_layer(grid: GridMap, marks: Sequence[Candidate]) -> np.ndarray:
    """Return (rows, columns) float32 of the map: the value of its free floor, 0..1, the maximum if discs overlap.

    Cells without a value or not known to be free are -1. A disc is centred on the cell of its mark.
    """
    values = [m for m in marks if m.label == VALUE]
    reach = round(DISC_M / grid.resolution_m)
    rows, columns = grid.cells.shape
    layer = np.full((rows + 2 * reach, columns + 2 * reach), -1.0, np.float32)  # discs may extend beyond the edge
    if values:
        xyw = np.array([(m.x, m.y, m.weight) for m in values])
        cells = np.floor((xyw[:, :2] - grid.origin) / grid.resolution_m).astype(int)
        on_map = ((cells >= 0) & (cells < (columns, rows))).all(axis=1)
        dy, dx = np.mgrid[-reach:reach + 1, -reach:reach + 1]
        disc = dy**2 + dx**2 <= reach**2
        at = cells[on_map, None] + reach
        painted = (at[..., 1] + dy[disc]) * layer.shape[1] + at[..., 0] + dx[disc]
        np.maximum.at(layer.reshape(-1), painted, xyw[on_map, 2:].clip(0.0, 1.0).astype(np.float32))
    layer = layer[reach:reach + rows, reach:reach + columns]
    return np.where(grid.cells == 0, layer, np.float32(-1.0))
