"""Shortest drivable paths over all storeys of a mesh: A* over walkable cells, then string pulling."""

from __future__ import annotations

import heapq
import math
from functools import lru_cache
from itertools import pairwise

import numpy as np

from eqa_nodes.core.kernels import njit
from sim_bridge.mesh import ground as cells
from sim_bridge.mesh.floor import STOREY_M, MeshFloor
from sim_bridge.mesh.ground import NONE, CompactHeightfield
from sim_bridge.mesh.heightfield import CELL_M
from sim_bridge.walker import At

SNAP_M = 0.30  # an end may lie this far inside something (a person names the sofa, not the floor before it)
SLACK_M = 0.005  # paths may come this much closer than the radius: the cells are no finer
_KEPT_PATHS = 256  # the most recent shortest paths are cached
_HOPS = ((1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1),
         (2, 1), (1, 2), (-1, 2), (-2, 1), (-2, -1), (-1, -2), (1, -2), (2, -1))


class MeshPaths:
    """Shortest paths between points of a floor."""

    def __init__(self, floor: MeshFloor) -> None:
        self._floor = floor
        self._nodes = lru_cache(maxsize=_KEPT_PATHS)(self._search)

    def geodesic(self, a: At, b: At) -> float:
        """Return the length of the shortest path in metres, inf when there is none."""
        path = self.shortest(a, b)
        return math.fsum(math.dist(p, q) for p, q in pairwise(path)) if path else math.inf

    def shortest(self, a: At, b: At) -> list[At]:
        """Return the corners of the shortest path, both ends included; empty when there is none.

        Ends lie on the floor nearest to their height, at most STOREY_M from it, and up to SNAP_M inside something.
        """
        if not all(map(math.isfinite, (*a, *b))):
            return []
        if a > b:  # one direction is computed, so that there and back are equally long
            return self.shortest(b, a)[::-1]
        nodes = self._common_area(self._near(a), self._near(b))
        if nodes is None:
            return []
        chain = self._nodes(*nodes)
        points = np.concatenate([[a], self._floor.middles(chain), [b]])
        places = np.array([self._place(a), *chain, self._place(b)], np.int64)
        for end, inner in ((0, 1), (-1, -2)):  # a path lies on the floor, even where its end was given above it
            points[end, 2] = (points[inner, 2] if places[end] == NONE
                              else cells.height(self._floor.ground, places[end], points[end, 0], points[end, 1]))
        kept = _pulled(self._floor.ground, points, places, self._floor.radius_m - SLACK_M)
        return [(float(x), float(y), float(z)) for x, y, z in points[kept]]

    def _place(self, end: At) -> int:
        return int(cells.place_at(self._floor.ground, *end, STOREY_M, self._floor.radius_m))

    def _near(self, end: At) -> dict[int, tuple[float, int]]:
        """Return, by joined area, the distance and the place of its node that is nearest to an end."""
        nearest: dict[int, tuple[float, int]] = {}
        for place, metres in zip(*_around(self._floor.ground, self._floor.area, *end)):
            area = int(self._floor.area[place])
            nearest[area] = min(nearest.get(area, (math.inf, NONE)), (float(metres), int(place)))
        return nearest

    @staticmethod
    def _common_area(a: dict[int, tuple[float, int]], b: dict[int, tuple[float, int]]) -> tuple[int, int] | None:
        """Return the nodes of both ends in the area that is nearest to both; None when they share none."""
        shared = sorted(area for area in a if area in b)
        if not shared:
            return None
        area = min(shared, key=lambda one: a[one][0] + b[one][0])
        return a[area][1], b[area][1]

    def _search(self, source: int, target: int) -> np.ndarray:
        return _a_star(self._floor.ground, self._floor.area, source, target, self._floor.radius_m - SLACK_M)


@njit(nogil=True)
def _around(ground: CompactHeightfield, area: np.ndarray, x: float, y: float, z: float) -> tuple[np.ndarray,
                                                                                                 np.ndarray]:
    """Return the nodes within SNAP_M of a point and STOREY_M of its height, and how far they are, metres."""
    reach = math.ceil(SNAP_M / CELL_M)
    places, metres = [0][:0], [0.0][:0]
    for i in range(-reach, reach + 1):
        for j in range(-reach, reach + 1):
            cell = cells.cell_of(ground, x + j * CELL_M, y + i * CELL_M)
            if cell == NONE:
                continue
            dx = ground.x0 + (cell % ground.columns + 0.5) * CELL_M - x
            dy = ground.y0 + (cell // ground.columns + 0.5) * CELL_M - y
            for at in range(ground.start[cell], ground.start[cell + 1]):
                dz = ground.z[at] - z
                if area[at] and abs(dz) <= STOREY_M and math.hypot(dx, dy) <= SNAP_M:
                    places.append(at)
                    metres.append(math.sqrt(dx * dx + dy * dy + dz * dz))
    return np.array(places), np.array(metres)


@njit(nogil=True)
def _a_star(ground: CompactHeightfield, area: np.ndarray, source: int, target: int, radius: float) -> np.ndarray:
    """Return the nodes of the shortest path over 16 hops, both ends included; the ends lie in one area."""
    before = np.full(len(area), NONE, np.int32)
    metres = np.full(len(area), np.inf, np.float32)
    metres[source] = 0.0
    queue = [(_apart(ground, source, target), np.float32(0.0), source)]
    while len(queue):
        _, far, at = heapq.heappop(queue)
        if at == target:
            break
        if far > metres[at]:
            continue
        for k in range(len(_HOPS)):
            dx, dy = _HOPS[k]
            there = _over(ground, area, at, dx, dy, radius)
            if there == NONE:
                continue
            flat, rise = CELL_M * math.hypot(dx, dy), float(ground.z[there] - ground.z[at])
            length = np.float32(far + math.sqrt(flat * flat + rise * rise))
            if length < metres[there]:
                metres[there], before[there] = length, at
                heapq.heappush(queue, (length + _apart(ground, there, target), length, there))
    chain, at = [target], before[target]
    while at != NONE:
        chain.append(at)
        at = before[at]
    return np.array(chain[::-1])


@njit(nogil=True)
def _apart(ground: CompactHeightfield, a: int, b: int) -> float:
    """Return the straight distance between the middles of two places, metres."""
    dx = CELL_M * (ground.column[a] % ground.columns - ground.column[b] % ground.columns)
    dy = CELL_M * (ground.column[a] // ground.columns - ground.column[b] // ground.columns)
    rise = float(ground.z[a] - ground.z[b])
    return math.sqrt(dx * dx + dy * dy + rise * rise)


@njit(nogil=True)
def _over(ground: CompactHeightfield, area: np.ndarray, at: int, dx: int, dy: int, radius: float) -> int:
    """Return the node that a hop leads to, -1 where there is none, or too little room half-way."""
    if abs(dx) < 2 and abs(dy) < 2:
        there = cells.step(ground, at, dx, dy)
        return there if there != NONE and area[there] else NONE
    sx, sy = (1 if dx > 0 else -1), (1 if dy > 0 else -1)
    ax, ay = (sx, 0) if abs(dx) == 2 else (0, sy)
    near, far = cells.step(ground, at, ax, ay), cells.step(ground, at, sx, sy)
    if near == NONE or far == NONE or (ground.clear[near] + ground.clear[far]) / 2 < radius:
        return NONE
    there = cells.step(ground, far, ax, ay)
    return there if there != NONE and area[there] else NONE


@njit(nogil=True)
def _pulled(ground: CompactHeightfield, points: np.ndarray, places: np.ndarray, radius: float) -> np.ndarray:
    """Return the numbers of the points that remain when straight drives skip the others."""
    kept, at, last = [0], 0, len(points) - 1
    while at < last:
        far = last
        while far > at + 1 and not _sees(ground, points, places, at, far, radius):
            far -= max(1, (far - at) // 8)
        at = max(far, at + 1)
        kept.append(at)
    return np.array(kept)


@njit(nogil=True)
def _sees(ground: CompactHeightfield, points: np.ndarray, places: np.ndarray, at: int, to: int, radius: float) -> bool:
    """Return whether the robot drives straight from one point of a path to another, and ends on its storey."""
    if places[at] == NONE or places[to] == NONE:
        return False
    return cells.straight(ground, places[at], points[at, 0], points[at, 1], points[to, 0], points[to, 1],
                          radius) == places[to]
