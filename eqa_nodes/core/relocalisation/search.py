"""Exhaustive search for the pose of one map in another: correlation of upright surfaces by FFT, for each heading."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy import fft, ndimage

from eqa_nodes.core.relocalisation.place import KnownStorey, turn
from eqa_nodes.core.types.geometry import Pose2

CELL_M = 0.2
MOST_CELLS = 512  # maximum side of the correlation; larger maps get larger cells
HEADINGS = 120
BANDS_M = (0.15, 1.0, 2.3)  # limits of the height bands: furniture and walls, mostly walls
_UPRIGHT = 0.5  # maximum |z| of a normal
_POINTS = 4000  # maximum number of points of the map that is rotated
_BLUR = 0.7  # cells: sigma of the Gaussian blur, so that walls in neighbouring cells match
_YAWS = np.arange(HEADINGS) * (2 * math.pi / HEADINGS)


class PoseCandidate(NamedTuple):
    """A pose of one map in the other, and its correlation."""

    pose: Pose2
    score: float


class _Lattice(NamedTuple):
    """Meaning of the indices of a correlation: shifts of `middle` of one map relative to `low` of the other, in cells.

    They are cyclic: indices above `negative` stand for negative shifts.
    """

    cell_m: float
    side: int
    negative: int
    low: np.ndarray
    middle: np.ndarray


def candidates(seen: KnownStorey, known: KnownStorey, most: int) -> list[PoseCandidate]:
    """Return the poses at which walls match walls with the same orientation, best first and not adjacent."""
    lattice = _lattice(seen.points, known.points)
    side, middle = lattice.side, np.array((*lattice.middle, 0.0), np.float32)
    there = [np.conj(fft.rfft2(ndimage.gaussian_filter(layer, _BLUR, mode="wrap")))
             for layer in _layers(*_upright(known), lattice.low, lattice)]
    points, normals = _upright(seen)
    step = max(1, len(points) // _POINTS)
    points, normals = points[::step] - middle, normals[::step] * np.float32(step)
    scores = np.empty((HEADINGS, side, side), np.float32)
    for score, yaw in zip(scores, _YAWS.tolist()):
        layers = _layers(turn(yaw, points), turn(yaw, normals), np.zeros(2), lattice)
        product = sum(fft.rfft2(layer) * known_layer for layer, known_layer in zip(layers, there, strict=True))
        score[:] = fft.irfft2(np.conj(product), s=(side, side))
    return [_candidate(float(scores[index]), index, lattice) for index in _peaks(scores, lattice.cell_m, most)]


def _lattice(seen: np.ndarray, known: np.ndarray) -> _Lattice:
    low, middle = known[:, :2].min(axis=0), seen[:, :2].mean(axis=0)
    extent_m = float(np.ptp(known[:, :2], axis=0).max())
    reach_m = float(np.hypot(*(seen[:, :2] - middle).T).max())
    cell_m = max(CELL_M, (extent_m + 2 * reach_m) / MOST_CELLS)
    farthest = math.ceil((extent_m + reach_m) / cell_m) + 1
    side = fft.next_fast_len(farthest + math.ceil(reach_m / cell_m) + 1, real=True)
    return _Lattice(cell_m, side, farthest, low, middle)


def _upright(place: KnownStorey) -> tuple[np.ndarray, np.ndarray]:
    kept = np.abs(place.normals[:, 2]) < _UPRIGHT
    return place.points[kept], place.normals[kept]


def _layers(points: np.ndarray, normals: np.ndarray, low: np.ndarray, lattice: _Lattice) -> list[np.ndarray]:
    """Return images (side, side) of the x and y components of normals for each height band; cyclic."""
    side = lattice.side
    cell = np.floor((points[:, :2] - low) / lattice.cell_m).astype(np.int64) % side
    index = cell[:, 1] * side + cell[:, 0]
    found = []
    for bottom, top in pairwise(BANDS_M):
        inside = (points[:, 2] >= bottom) & (points[:, 2] < top)
        for component in (0, 1):
            sums = np.bincount(index[inside], normals[inside, component], side * side)
            found.append(np.clip(sums / 4, -1, 1).astype(np.float32).reshape(side, side))
    return found


def _peaks(scores: np.ndarray, cell_m: float, most: int) -> list[tuple[int, int, int]]:
    reach = max(1, round(0.4 / cell_m))
    highest = ndimage.maximum_filter(scores, size=(5, 2 * reach + 1, 2 * reach + 1), mode="wrap")
    flat = np.flatnonzero((scores == highest) & (scores > 0))
    best = flat[np.argsort(-scores.ravel()[flat], kind="stable")[:most]]
    return [tuple(int(i) for i in np.unravel_index(one, scores.shape)) for one in best]  # type: ignore[misc]


def _candidate(score: float, index: tuple[int, int, int], lattice: _Lattice) -> PoseCandidate:
    """Return the pose for an index of the correlation: heading, row and column of the shift."""
    heading, row, column = index
    x, y = (lattice.low + [(v - lattice.side if v > lattice.negative else v) * lattice.cell_m for v in (column, row)]
            ).tolist()
    yaw = math.remainder(float(_YAWS[heading]), 2 * math.pi)
    c, s = math.cos(yaw), math.sin(yaw)
    u, v = lattice.middle.tolist()
    return PoseCandidate(Pose2(x - (c * u - s * v), y - (s * u + c * v), yaw), score)
