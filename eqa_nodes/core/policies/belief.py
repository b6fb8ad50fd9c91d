"""Belief about rooms: the kind of room of each part of the floor, voted by the views."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.policies.steering import clear_lines
from eqa_nodes.core.types.floor import GridMap
from eqa_nodes.core.types.questions import RankedRegion, ViewAssessment

TRANSIT = ("hallway", "hall", "corridor", "entryway", "staircase")  # rooms that lead to other rooms
_GROWTH = 256  # number of squares for which memory is allocated at once
_CELL_M = 0.5  # edge of the squares that pool votes: memory grows with the area, not with the steps


class Square(NamedTuple):
    """A square of floor, _CELL_M wide: its centre in metres, map frame, and the room with most votes."""

    x: float
    y: float
    name: str


class RoomBelief:
    """Votes for the names of rooms, per square of floor in the map frame."""

    def __init__(self) -> None:
        self._rows: dict[tuple[int, int], int] = {}
        self._columns: dict[str, int] = {}
        self._votes = np.zeros((_GROWTH, 8))  # (squares, names)
        self._middles = np.zeros((_GROWTH, 2))
        self._read: set[int] = set()

    def update(self, assessments: Sequence[ViewAssessment]) -> None:
        """Add the votes of new views: of their places and their poses."""
        for view in assessments:
            if view.keyframe_id in self._read:
                continue
            self._read.add(view.keyframe_id)
            self._vote(view.pose.x, view.pose.y, view.region, 0.5)
            for place in view.places:
                self._vote(place.x, place.y, place.label, 1.0)

    def names(self) -> list[str]:
        """Return the names of all recognised rooms, sorted."""
        return sorted(self._columns)

    def squares(self) -> list[Square]:
        """Return all squares with votes, in the order of their first vote."""
        if not self._rows:
            return []
        names = self.names()
        votes = self._votes[:len(self._rows), [self._columns[name] for name in names]]
        return [Square(x, y, names[i]) for (x, y), i in zip(
            self._middles[:len(votes)].tolist(), votes.argmax(axis=1).tolist(), strict=True)]

    def at(self, grid: GridMap, x: float, y: float, reach_m: float) -> dict[str, float]:
        """Return the votes for the room at a point, from squares in line of sight; near squares count more."""
        middles = self._middles[:len(self._rows)]
        off = np.hypot(middles[:, 0] - x, middles[:, 1] - y)
        near = np.flatnonzero(off <= reach_m)
        near = near[clear_lines(grid, (x, y), middles[near])]
        weight = np.exp(-0.5 * (off[near] / (reach_m / 2)) ** 2)
        total = (weight[:, None] * np.minimum(self._votes[near], 3.0)).sum(axis=0).tolist()
        return {name: total[self._columns[name]] for name in self.names() if total[self._columns[name]] > 0}

    def _vote(self, x: float, y: float, name: str, weight: float) -> None:
        if name:
            square = math.floor(x / _CELL_M), math.floor(y / _CELL_M)
            row = self._rows.setdefault(square, len(self._rows))
            column = self._columns.setdefault(name, len(self._columns))
            if row == len(self._votes) or column == self._votes.shape[1]:
                self._votes = np.pad(self._votes, ((0, _GROWTH), (0, 8)))
                self._middles = np.pad(self._middles, ((0, _GROWTH), (0, 0)))
            self._votes[row, column] += weight
            self._middles[row] = (square[0] + 0.5) * _CELL_M, (square[1] + 0.5) * _CELL_M


def rank_of(name: str, regions: Sequence[RankedRegion]) -> float:
    """Return how likely the answer is in a room of this name, 0..1; names match by their last words.

    A name may list several rooms, such as "dining room, kitchen": the most likely one counts.
    """
    rooms = _plain(name).split(", ")
    weights = [r.weight for r in regions for room in rooms
               if room == _plain(r.name) or room.endswith(" " + _plain(r.name))]
    return max(weights, default=0.0)


@lru_cache(1024)
def _plain(name: str) -> str:
    return " ".join(name.lower().replace("_", " ").split())
