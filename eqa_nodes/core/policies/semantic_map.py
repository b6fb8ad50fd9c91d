"""Semantic value map, region map and region search, as in EXPRESS-Bench (Jiang et al. 2025) and its code."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import ndimage

from eqa_nodes.core.policies.belief import rank_of
from eqa_nodes.core.ranges import Positive
from eqa_nodes.core.settings import setting
from eqa_nodes.core.types.floor import Candidate, GridMap
from eqa_nodes.core.types.questions import RankedRegion, ViewAssessment

_BLOCK = 32  # cells; the map grows in steps of this size, so that it seldom has to grow
_SHOWN = 120  # maximum number of displayed values
Spot = tuple[float, float]
DISC_M = 1.0  # radius of the disc that a representative point marks
LINK_M = 3.0  # points of one name within this distance form one region
SEEN_M = 0.5  # radius around a visited place in which points are not recorded and values do not count


@dataclass(frozen=True)
class SemanticConfig:
    """Settings of the semantic value map and the regions (EXPRESS-Bench and its code)."""

    disc_m: Positive = setting(1.0, "Radius in metres of the disc that a place marks.")
    sigma_cells: Positive = setting(5.0, "Standard deviation in cells of the Gaussian that smooths the values.")
    global_scale: Positive = setting(0.5, "Scale s of the weight exp(value / s).")


class SemanticMap:
    """Running mean of semantic values, painted as discs around the places of views (eq. 6).

    SV = LSV * GSV, LSV = weight * n / 3 for the n places of a view, GSV = exp(worth / 0.5) / 3.
    """

    def __init__(self, config: SemanticConfig) -> None:
        self._c = config
        self._read: set[int] = set()
        self._corner = (0, 0)  # position of the array's corner in cells of the map frame: row, column
        self._sum: np.ndarray = np.zeros((0, 0), np.float32)
        self._count: np.ndarray = np.zeros((0, 0), np.float32)
        self._shown: dict[tuple[int, int], Candidate] = {}

    def update(self, assessments: Sequence[ViewAssessment], resolution_m: float) -> None:
        """Paint the views that are not painted yet."""
        for view in assessments:
            if view.keyframe_id not in self._read:
                self._read.add(view.keyframe_id)
                worth = math.exp(view.worth / self._c.global_scale) / 3
                for place in view.places:
                    self._paint(place.x, place.y, place.weight * len(view.places) / 3 * worth, resolution_m)

    def on(self, grid: GridMap) -> np.ndarray:
        """Return the smoothed values on the cells of a map, (rows, columns) float32; 0 if nothing was painted."""
        values: np.ndarray = np.zeros(grid.cells.shape, np.float32)
        top, left = (round(o / grid.resolution_m) for o in (grid.origin[1], grid.origin[0]))
        mean: np.ndarray = self._sum / np.maximum(self._count, 1)
        rows, columns = _overlap(top, values.shape[0], self._corner[0], mean.shape[0]), _overlap(
            left, values.shape[1], self._corner[1], mean.shape[1])
        values[rows[0], columns[0]] = mean[rows[1], columns[1]]
        smooth: np.ndarray = ndimage.gaussian_filter(values, self._c.sigma_cells, truncate=3.0)
        return smooth

    def marks(self) -> tuple[Candidate, ...]:
        """Return the newest painted value of each square metre for display; the highest first."""
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
    """Return the slices of two ranges of cells that begin at a and b where they overlap."""
    low, high = max(a, b), max(max(a, b), min(a + a_size, b + b_size))
    return slice(low - a, high - a), slice(low - b, high - b)


def mask_of(grid: GridMap, spots: Sequence[Spot], radius_m: float) -> np.ndarray:
    """Return (rows, columns) bool: the cells within radius_m of any spot."""
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


class RegionPaint(NamedTuple):
    """Discs of one name on the region map; later discs cover earlier ones."""

    name: str
    spots: tuple[Spot, ...]


def representative(view: ViewAssessment) -> Spot | None:
    """Return the point that represents a view's region: its most probable place; None if the view has none."""
    there = [place for place in view.places if place.label == view.region] or list(view.places)
    best = max(there, key=lambda place: place.weight, default=None)
    return None if not view.region or best is None else (best.x, best.y)


class RegionMap:
    """Functional regions: a disc for each representative point, joined to nearby points of the same name."""

    def __init__(self) -> None:
        self.paints: list[RegionPaint] = []
        self._points: dict[str, list[Spot]] = {}

    def add(self, name: str, point: Spot) -> None:
        """Mark a point, and the floor between it and points of the same name within LINK_M."""
        near = [other for other in self._points.setdefault(name, []) if math.dist(other, point) <= LINK_M]
        self.paints.append(RegionPaint(name, (point, *(spot for other in near for spot in _between(other, point)))))
        self._points[name].append(point)

    def mask(self, grid: GridMap, name: str) -> np.ndarray:
        """Return (rows, columns) bool: the cells whose last mark has this name."""
        mask: np.ndarray = np.zeros(grid.cells.shape, bool)
        for paint in self.paints:
            mask[mask_of(grid, paint.spots, DISC_M)] = paint.name == name
        return mask


def _between(a: Spot, b: Spot) -> list[Spot]:
    """Return points on the line between two points, at most half a disc radius apart."""
    count = max(1, math.ceil(math.dist(a, b) / (DISC_M / 2)))
    return [(a[0] + (b[0] - a[0]) * i / count, a[1] + (b[1] - a[1]) * i / count) for i in range(count + 1)]


class RegionSearch:
    """Decides which ranked region is searched: one visit is one drive and `turns` turns on the spot.

    After `visits` visits the region's points are dropped; the next region with points follows, else coarse exploration.
    If a better region gets points, the search switches to it at once. New points open a region again.
    """

    def __init__(self, regions: int, visits: int, turns: int) -> None:
        self._most, self._visits, self._turns = regions, visits, turns
        self._active: int | None = None
        self._visit = self._turn = 0
        self._points: dict[int, list[Spot]] = {}
        self._gone_to: list[Spot] = []

    def note(self, name: str, point: Spot, ranked: Sequence[RankedRegion]) -> None:
        """Record a representative point of a region that the question ranks, unless the robot was there."""
        index = next((i for i, region in enumerate(ranked[:self._most]) if rank_of(name, [region]) > 0), None)
        if index is not None and all(math.dist(point, other) >= SEEN_M for other in self._gone_to):
            self._points.setdefault(index, []).append(point)

    def advance(self) -> int | None:
        """Advance to the next decision; return the rank of its region from 0, None = explore coarsely."""
        active = self._active
        better = self._with_points(below=active)
        if active is None or better is not None:
            self._begin(better)
        elif (self._visit, self._turn) == (self._visits, self._turns):
            self._begin(self._with_points(above=active))
        elif self._turn == self._turns:
            self._visit, self._turn = self._visit + 1, 0
        else:
            self._turn += 1
        return self._active

    @property
    def turning(self) -> bool:
        """Whether this decision is a turn at the place of the last one."""
        return self._turn > 0

    @property
    def points(self) -> list[Spot]:
        """Unvisited points of the searched region."""
        return [] if self._active is None else self._points.setdefault(self._active, [])

    @property
    def gone_to(self) -> Sequence[Spot]:
        """All places in regions that the robot was sent to."""
        return self._gone_to

    def go(self, spot: Spot) -> None:
        """Record where the robot is sent; this point is not used again."""
        if spot in self.points:
            self.points.remove(spot)
        self._gone_to.append(spot)

    def _with_points(self, below: int | None = None, above: int = -1) -> int | None:
        end = self._most if below is None else below
        return next((i for i in range(above + 1, end) if self._points.get(i)), None)

    def _begin(self, index: int | None) -> None:
        if self._active is not None:
            self._points.pop(self._active, None)
        self._active, self._visit, self._turn = index, 1, 0


def masked_values(values: np.ndarray, mask: np.ndarray, sigma_cells: float) -> np.ndarray:
    """Return the semantic map inside a region, smoothed again at its border. EXPRESS-Bench eq. 10."""
    smooth: np.ndarray = ndimage.gaussian_filter(np.where(mask, values, np.float32(0.0)), sigma_cells, truncate=3.0)
    return smooth
