"""Which region is searched, and from where: the region map and the search of regions of EXPRESS-Bench's own code."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import ndimage

from eqa_nodes.core.policies.belief import rank_of
from eqa_nodes.core.policies.semantic_map import mask_of
from eqa_nodes.core.types.floor import GridMap
from eqa_nodes.core.types.questions import RankedRegion, ViewAssessment

Spot = tuple[float, float]
DISC_M = 1.0  # radius that a representative point marks
LINK_M = 3.0  # two points of one name so near to each other are one region
SEEN_M = 0.5  # radius round a place that was gone to in which no point is noted, and no value counts


class RegionPaint(NamedTuple):
    """Discs of one name on the region map; later ones cover earlier ones."""

    name: str
    spots: tuple[Spot, ...]


def representative(view: ViewAssessment) -> Spot | None:
    """Return the one point that stands for the region of a view: its likeliest place there; None where it has none."""
    there = [place for place in view.places if place.label == view.region] or list(view.places)
    best = max(there, key=lambda place: place.weight, default=None)
    return None if not view.region or best is None else (best.x, best.y)


class RegionMap:
    """The functional regions: a disc for each representative point, joined to near points of the same name."""

    def __init__(self) -> None:
        self.paints: list[RegionPaint] = []
        self._points: dict[str, list[Spot]] = {}

    def add(self, name: str, point: Spot) -> None:
        """Mark a point, and the floor between it and those of its name within 3 m."""
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
    """Return points from one to the other, at most half a disc apart."""
    count = max(1, math.ceil(math.dist(a, b) / (DISC_M / 2)))
    return [(a[0] + (b[0] - a[0]) * i / count, a[1] + (b[1] - a[1]) * i / count) for i in range(count + 1)]


class RegionSearch:
    """Which of the ranked regions is searched now: a visit is one drive and `turns` turns on the spot.

    After `visits` of them the region's points are dropped; the next region with points follows, else coarse
    exploration. A better region with points is gone over to at once. New points open a region again.
    """

    def __init__(self, regions: int, visits: int, turns: int) -> None:
        self._most, self._visits, self._turns = regions, visits, turns
        self._active: int | None = None
        self._visit = self._turn = 0
        self._points: dict[int, list[Spot]] = {}
        self._gone_to: list[Spot] = []

    def note(self, name: str, point: Spot, ranked: Sequence[RankedRegion]) -> None:
        """Keep a representative point of a region that the question ranks, unless the robot was there."""
        index = next((i for i, region in enumerate(ranked[:self._most]) if rank_of(name, [region]) > 0), None)
        if index is not None and all(math.dist(point, other) >= SEEN_M for other in self._gone_to):
            self._points.setdefault(index, []).append(point)

    def advance(self) -> int | None:
        """Begin the next decision; return which region it is for, by rank from 0; None = explore coarsely."""
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
        """Say whether this decision is one of the turns at the place of the last one."""
        return self._turn > 0

    @property
    def points(self) -> list[Spot]:
        """The points of the searched region that were not gone to."""
        return [] if self._active is None else self._points.setdefault(self._active, [])

    @property
    def gone_to(self) -> Sequence[Spot]:
        """All places that were gone to in regions."""
        return self._gone_to

    def go(self, spot: Spot) -> None:
        """Note where the robot is sent, and that no drive to this point comes again."""
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
    """Return the semantic map inside a region, smoothed again at its rim. EXPRESS-Bench eq. 10."""
    smooth: np.ndarray = ndimage.gaussian_filter(np.where(mask, values, np.float32(0.0)), sigma_cells, truncate=3.0)
    return smooth
