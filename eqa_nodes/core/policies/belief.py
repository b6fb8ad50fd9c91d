"""Which kind of room the floor belongs to, by what views say of it, and what has been looked at from near."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from eqa_nodes.core.policies.sight import clear_lines
from eqa_nodes.core.types import GridMap, RankedRegion, ViewAssessment

_CELL_M = 0.5  # votes are pooled over such squares: what is kept grows with the area, not with the steps


class RoomBelief:
    """Votes for the names of rooms, on squares of floor in the map frame."""

    def __init__(self) -> None:
        self._votes: dict[tuple[int, int], dict[str, float]] = {}
        self._read: set[int] = set()
        self._names: set[str] = set()
        self._table: tuple[np.ndarray, list[str], np.ndarray] | None = None  # middles, names, votes; None = outdated

    def update(self, assessments: Sequence[ViewAssessment]) -> None:
        """Take in the views that were not yet taken in: their places, and where they were taken."""
        for view in assessments:
            if view.keyframe_id in self._read:
                continue
            self._read.add(view.keyframe_id)
            self._vote(view.pose.x, view.pose.y, view.region, 0.5)
            for place in view.places:
                self._vote(place.x, place.y, place.label, 1.0)

    def names(self) -> list[str]:
        """Return every room that was recognised somewhere, sorted."""
        return sorted(self._names)

    def squares(self) -> list[tuple[float, float, dict[str, float]]]:
        """Return the middle of every square that has votes, metres, with the votes by name."""
        return [((ix + 0.5) * _CELL_M, (iy + 0.5) * _CELL_M, votes) for (ix, iy), votes in sorted(self._votes.items())]

    def at(self, grid: GridMap, x: float, y: float, reach_m: float) -> dict[str, float]:
        """Return the votes for the room at a point: of squares in sight of it, near ones more."""
        middles, names, votes = self._arrays()
        if not len(middles):
            return {}
        off = np.hypot(middles[:, 0] - x, middles[:, 1] - y)
        near = np.flatnonzero(off <= reach_m)
        near = near[clear_lines(grid, (x, y), middles[near])]
        weight = np.exp(-0.5 * (off[near] / (reach_m / 2)) ** 2)
        total = (weight[:, None] * np.minimum(votes[near], 3.0)).sum(0)
        return {name: vote for name, vote in zip(names, total.tolist(), strict=True) if vote > 0}

    def _arrays(self) -> tuple[np.ndarray, list[str], np.ndarray]:
        if self._table is None:
            squares, names = self.squares(), self.names()
            table = np.array([[votes.get(name, 0.0) for name in names] for _, _, votes in squares])
            self._table = np.array([(x, y) for x, y, _ in squares]).reshape(-1, 2), names, table
        return self._table

    def _vote(self, x: float, y: float, name: str, weight: float) -> None:
        if name:
            self._table = None
            self._names.add(name)
            votes = self._votes.setdefault((math.floor(x / _CELL_M), math.floor(y / _CELL_M)), {})
            votes[name] = votes.get(name, 0.0) + weight


def rank_of(name: str, regions: Sequence[RankedRegion]) -> float:
    """Return how likely the answer is in a room of this name, 0..1; the names agree in their last words."""
    plain = _plain(name)
    weights = [r.weight for r in regions if plain == _plain(r.name) or plain.endswith(" " + _plain(r.name))]
    return max(weights, default=0.0)


@lru_cache(1024)
def _plain(name: str) -> str:
    return " ".join(name.lower().replace("_", " ").split())
