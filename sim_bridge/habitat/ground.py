"""Queries of a Habitat scene's navigation mesh: where a robot can stand, and shortest paths.

Positions are Habitat's (x, y, z), y up, metres. The mesh is privileged: only movement and the scorer use it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from sim_bridge.habitat.session import WorkerSession

Position = tuple[float, float, float]
ON_M = 0.05  # metres off the mesh, on the floor plan, at which a start still stands on it: one of its cells
NEAR_M = 0.25  # the same for the ends of a path: another robot's free space ends so much earlier or later
STOREY_M = 1.0  # heights that differ by more lie on different floors
_SEARCH_M = 0.5  # distance between the heights at which a place is looked for
_SMALL_M2, _SMALL_SHARE = 1.0, 0.05  # an island of the mesh that is smaller is the top of furniture


class HabitatNavMesh:
    """The mesh as the worker has it open. islands: areas in square metres; bounds: two corners of the mesh."""

    def __init__(self, session: WorkerSession, islands: Sequence[float], bounds: Sequence[Sequence[float]]) -> None:
        self._session, self._bounds = session, bounds
        least = max(_SMALL_M2, _SMALL_SHARE * max(islands))
        self._large = [i for i, area in enumerate(islands) if area >= least] or [islands.index(max(islands))]
        self._largest = islands.index(max(islands))

    def start_at(self, x: float, y: float, z: float) -> Position | None:
        """Return the point of the floor at x, z whose height is nearest to y, None where the robot cannot stand."""
        return self._stand(x, y, z, ON_M, self._large)

    def nearest(self, x: float, y: float, z: float) -> Position:
        """Return the point of a floor that is nearest to a position."""
        found = [p for i in self._large for p in [self._snap([(x, y, z)], i)[0]] if p is not None]
        return min(found, key=lambda p: math.dist(p, (x, y, z))) if found else self.drawn(0)

    def drawn(self, seed: int) -> Position:
        """Return a point of the largest floor, the same for the same seed."""
        return _position(self._session.ask("draw", seed=seed, island=self._largest)["point"])

    def shortest(self, a: Position, b: Position) -> tuple[float, list[Position]]:
        """Return the length of the shortest path between two places, metres, and its corners; (inf, []) for none.

        An end that lies a little off the mesh counts with the straight line to it.
        """
        if a > b:  # the same path back has the same length, to the bit
            metres, corners = self.shortest(b, a)
            return metres, corners[::-1]
        ends = [self._stand(*p, NEAR_M, None) for p in (a, b)]
        if ends[0] is None or ends[1] is None or abs(ends[0][1] - a[1]) > STOREY_M or abs(ends[1][1] - b[1]) > STOREY_M:
            return math.inf, []
        found = self._session.ask("path", start=ends[0], end=ends[1])
        if found["metres"] is None:
            return math.inf, []
        corners = [_position(p) for p in found["points"]]
        off = _apart(a, corners[0]) + _apart(b, corners[-1])
        return found["metres"] + off, [a, *corners[1:-1], b]

    def _stand(self, x: float, y: float, z: float, within_m: float, islands: Sequence[int] | None) -> Position | None:
        """Return the point of the mesh within so much of x, z whose height is nearest to y."""
        low, high = self._bounds[0][1], self._bounds[1][1]
        steps = range(math.floor((high - low) / _SEARCH_M) + 2)
        heights = [(x, h, z) for h in (y, *(low + i * _SEARCH_M for i in steps))]
        found = [p for i in (islands if islands is not None else (-1,)) for p in self._snap(heights, i)]
        here = [p for p in found if p is not None and _apart(p, (x, y, z)) <= within_m]
        return min(here, key=lambda p: (abs(p[1] - y), _apart(p, (x, y, z))), default=None)

    def _snap(self, points: Sequence[Position], island: int) -> list[Position | None]:
        found: list[Any] = self._session.ask("snap", points=points, island=island)["points"]
        return [_position(entry[0]) if entry is not None else None for entry in found]


def _position(values: Sequence[float]) -> Position:
    x, y, z = values
    return x, y, z


def _apart(p: Position, q: Position) -> float:
    """Return the distance on the floor plan."""
    return math.hypot(p[0] - q[0], p[2] - q[2])
