"""Semantic value map and functional regions of EXPRESS-Bench (Jiang et al. 2025, section 4)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import ndimage
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from eqa_nodes.core.policies.belief import RoomBelief, rank_of
from eqa_nodes.core.ranges import NotNegative, Positive, Share
from eqa_nodes.core.settings import setting
from eqa_nodes.core.types.floor import Candidate, GridMap
from eqa_nodes.core.types.questions import RankedRegion, ViewAssessment

_BLOCK = 32  # cells; the map grows in such steps, so that it seldom grows
_SHOWN = 120  # values that are shown


@dataclass(frozen=True)
class SemanticConfig:
    """Semantic value map and regions (EXPRESS-Bench and its code)."""

    disc_m: Positive = setting(1.0, "Radius in metres of the disc that a place marks.")
    sigma_cells: Positive = setting(5.0, "Standard deviation in cells of the Gaussian that smooths the values.")
    global_scale: Positive = setting(0.5, "Scale s of the weight exp(value / s).")
    merge_m: NotNegative = setting(3.0,
        "Maximum distance in metres between parts of the floor with one name that form one region.")
    least_votes: NotNegative = setting(1.0,
        "Minimum number of votes for a cell to join a region. With agreement it is the threshold that the paper names"
        " and its code lacks.")
    agreement: Share = setting(0.5, "Minimum share of those votes (0 to 1) for the name of the region.")


class SemanticMap:
    """Running mean of semantic values, painted as discs round the places of views (eq. 6).

    SV = LSV * GSV, LSV = weight * n / 3 for the n places of a view, GSV = exp(worth / 0.5) / 3.
    """

    def __init__(self, config: SemanticConfig) -> None:
        self._c = config
        self._read: set[int] = set()
        self._corner = (0, 0)  # of the array, in cells of the map frame: row, column
        self._sum: np.ndarray = np.zeros((0, 0), np.float32)
        self._count: np.ndarray = np.zeros((0, 0), np.float32)
        self._shown: dict[tuple[int, int], Candidate] = {}

    def update(self, assessments: Sequence[ViewAssessment], resolution_m: float) -> None:
        """Paint the views that were not yet painted."""
        for view in assessments:
            if view.keyframe_id not in self._read:
                self._read.add(view.keyframe_id)
                worth = math.exp(view.worth / self._c.global_scale) / 3
                for place in view.places:
                    self._paint(place.x, place.y, place.weight * len(view.places) / 3 * worth, resolution_m)

    def on(self, grid: GridMap) -> np.ndarray:
        """Return the smoothed values on the cells of a map, (rows, columns) float32; 0 where nothing was painted."""
        values: np.ndarray = np.zeros(grid.cells.shape, np.float32)
        top, left = (round(o / grid.resolution_m) for o in (grid.origin[1], grid.origin[0]))
        mean: np.ndarray = self._sum / np.maximum(self._count, 1)
        rows, columns = _overlap(top, values.shape[0], self._corner[0], mean.shape[0]), _overlap(
            left, values.shape[1], self._corner[1], mean.shape[1])
        values[rows[0], columns[0]] = mean[rows[1], columns[1]]
        smooth: np.ndarray = ndimage.gaussian_filter(values, self._c.sigma_cells, truncate=3.0)
        return smooth

    def marks(self) -> tuple[Candidate, ...]:
        """Return what was painted, the newest value of each square metre, to be shown; the highest first."""
        return tuple(sorted(self._shown.values(), key=lambda m: (-m.weight, m.x, m.y))[:_SHOWN])

    def _paint(self, x: float, y: float, value: float, resolution_m: float) -> None:
        reach = math.ceil(self._c.disc_m / resolution_m)
        iy, ix = math.floor(y / resolution_m), math.floor(x / resolution_m)
        self._reserve(iy - reach, ix - reach, iy + reach + 1, ix + reach + 1)
        rows, columns = np.ogrid[-reach:reach + 1, -reach:reach + 1]
        disc: np.ndarray = (rows ** 2 + columns ** 2) * resolution_m ** 2 <= self._c.disc_m ** 2
        y0, x0 = iy - reach - self._corner[0], ix - reach - self._corner[1]
        window = np.s_[y0:y0 + disc.shape[0], x0:x0 + disc.shape[1]]
        self._sum[window] += disc * np.float32(value)
        self._count[window] += disc
        self._shown[math.floor(x), math.floor(y)] = Candidate(x, y, min(1.0, value), "value")

    def _reserve(self, y0: int, x0: int, y1: int, x1: int) -> None:
        if self._sum.size == 0:
            self._corner = (y0, x0)
        (top, left), (rows, columns) = self._corner, self._sum.shape
        pad = ((_blocks(top - y0), _blocks(y1 - top - rows)), (_blocks(left - x0), _blocks(x1 - left - columns)))
        if any(n for side in pad for n in side):
            self._sum, self._count = np.pad(self._sum, pad), np.pad(self._count, pad)
            self._corner = (top - pad[0][0], left - pad[1][0])


def _blocks(cells: int) -> int:
    return max(0, math.ceil(cells / _BLOCK)) * _BLOCK


def _overlap(a: int, a_size: int, b: int, b_size: int) -> tuple[slice, slice]:
    """Return the slices of two rows of cells that begin at a and b, where both have cells."""
    low, high = max(a, b), max(max(a, b), min(a + a_size, b + b_size))
    return slice(low - a, high - a), slice(low - b, high - b)


class FunctionalRegion(NamedTuple):
    """A functional region: floor of one name that hangs together. rank: how much the question hopes for it, 0..1."""

    name: str
    rank: float
    spots: tuple[tuple[float, float], ...]  # middles of its squares, metres, map frame

    def near(self, x: float, y: float, metres: float) -> bool:
        """Return whether a point lies so near to the region."""
        return any(math.hypot(x - sx, y - sy) <= metres for sx, sy in self.spots)


def functional_regions(belief: RoomBelief, ranked: Sequence[RankedRegion],
                       config: SemanticConfig) -> list[FunctionalRegion]:
    """Return the regions that the question ranks and that were identified, best first (eq. 9).

    A square counts for its name when its votes are many and agree enough: the confidence threshold of the paper.
    Squares of one name that lie within `merge_m` of each other are one region.
    """
    by_name: dict[str, list[tuple[float, float]]] = {}
    for square in sorted(belief.squares()):
        if square.votes >= config.least_votes and square.share >= config.agreement:
            by_name.setdefault(square.name, []).append((square.x, square.y))
    found = [FunctionalRegion(name, rank_of(name, ranked), spots) for name in sorted(by_name)
             for spots in _linked(by_name[name], config.merge_m)]
    return sorted((r for r in found if r.rank > 0), key=lambda r: (-r.rank, -len(r.spots), r.name, r.spots))


def _linked(spots: Sequence[tuple[float, float]], reach_m: float) -> list[tuple[tuple[float, float], ...]]:
    """Return groups of points in which each is within reach of another (single linkage)."""
    near = cKDTree(spots).query_pairs(reach_m + 1e-9, output_type="ndarray")
    links = coo_matrix((np.ones(len(near), bool), near.T), shape=(len(spots), len(spots)))
    count, group = connected_components(links, directed=False)
    return [tuple(spots[i] for i in np.flatnonzero(group == k).tolist()) for k in range(count)]


def mask_of(grid: GridMap, spots: Sequence[tuple[float, float]], radius_m: float) -> np.ndarray:
    """Return (rows, columns) bool: the cells within radius_m of any of the spots."""
    mask: np.ndarray = np.zeros(grid.cells.shape, bool)
    reach = math.ceil(radius_m / grid.resolution_m)
    rows, columns = np.ogrid[-reach:reach + 1, -reach:reach + 1]
    disc: np.ndarray = (rows ** 2 + columns ** 2) * grid.resolution_m ** 2 <= radius_m ** 2
    for x, y in spots:
        iy = math.floor((y - grid.origin[1]) / grid.resolution_m) - reach
        ix = math.floor((x - grid.origin[0]) / grid.resolution_m) - reach
        own, of_disc = _overlap(0, mask.shape[0], iy, disc.shape[0]), _overlap(0, mask.shape[1], ix, disc.shape[1])
        mask[own[0], of_disc[0]] |= disc[own[1], of_disc[1]]
    return mask
