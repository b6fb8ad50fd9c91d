"""Where a robot can be in a mesh, on all storeys: free space, floors, motion, the nearest free pose, shortest paths."""

from __future__ import annotations

import heapq
import math
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.errors import NoFloor
from eqa_nodes.core.kernels import njit
from eqa_nodes.core.types.robot import RobotModel
from sim_bridge.mesh import ground as cells
from sim_bridge.mesh.ground import NONE, WALL_M, CompactHeightfield
from sim_bridge.mesh.heightfield import CELL_M, heightfield
from sim_bridge.walker import At

MIN_AREA_M2 = 1.0  # smaller connected areas for the robot's centre are dropped: Recast's region_min_size, 20 cells
STOREY_M = 1.0  # points nearer to a floor than this lie on it; storeys are at least this far apart
ON_M = 0.05  # the robot still stands on a floor if it is this near to the free area on the plan, metres: as in Habitat
_LARGE_SHARE = 0.05  # share of the largest connected area; a smaller one is a top of furniture: no episode begins there
_LEVEL_M = 0.1  # bin size of the histogram of heights
_SURE_M = 0.01  # extra clearance of a recommended pose, because it is printed in centimetres
_LARGE_LEVEL = 0.25  # minimum share of the largest floor's area for a large floor


class Level(NamedTuple):
    """A detected floor: its height (m), and its area for the robot's centre (m2)."""

    height_m: float
    area_m2: float


class MeshFloor:
    """The walkable places of a mesh for one robot."""

    def __init__(self, vertices: np.ndarray, faces: np.ndarray, robot: RobotModel,
                 computed: tuple[CompactHeightfield, np.ndarray] | None = None) -> None:
        """vertices (n, 3) metres, map axes; faces (m, 3); computed: cached ground and areas of the same mesh.

        Raises NoFloor if the robot can stand nowhere, and what sim_bridge.mesh.heightfield raises.
        """
        self.radius_m = robot.radius_m
        self.ground, self.area = computed or self._computed(vertices, faces, robot)
        self.levels = self._levels()
        counts = np.bincount(self.area)
        counts[0] = 0
        large = (counts >= _LARGE_SHARE * counts.max()) & (counts > 0)
        self._begins = cells.widened(self.ground, large[self.area])
        self._anywhere = np.ones(len(self.area), bool)

    @staticmethod
    def _computed(vertices: np.ndarray, faces: np.ndarray, robot: RobotModel) -> tuple[CompactHeightfield, np.ndarray]:
        """Return the ground without small areas, and (n,) int32: the connected area of each place, 0 = none."""
        ground = cells.ground_of(heightfield(vertices, faces, robot), robot.climb_m, robot.height_m)
        if not len(ground.z):
            raise NoFloor(f"nothing in the scene can be stood on by a robot {robot.height_m:g} m high: what faces up "
                          "is too near to what is above it, or smaller than a step from all its edges")
        area = cells.areas_of(ground, ground.clear >= robot.radius_m)
        small = np.bincount(area) * CELL_M ** 2 < MIN_AREA_M2 - 1e-9
        small[0] = False
        dropped = small[area]
        ground.clear[dropped] = WALL_M
        area[dropped] = 0
        return ground, area

    def _levels(self) -> list[Level]:
        """Return the floors in ascending order: heights with much area, at least STOREY_M apart."""
        z = self.ground.z[self.area > 0]
        levels: list[Level] = []
        if not len(z):
            return levels
        step = np.floor((z - z.min()) / _LEVEL_M).astype(np.int64)
        count = np.convolve(np.bincount(step, minlength=3), np.ones(3), "same")
        while count.max() * CELL_M ** 2 >= MIN_AREA_M2:
            peak = int(count.argmax())
            here = z[np.abs(step - peak) <= 1]
            levels.append(Level(round(float(np.median(here)), 4), round(len(here) * CELL_M ** 2, 4)))
            reach = math.ceil(STOREY_M / _LEVEL_M)
            count[max(0, peak - reach):peak + reach + 1] = 0
        return sorted(levels)

    def place(self, x: float, y: float, z: float) -> int:
        """Return the place for the robot's centre at a point, on the floor nearest to height z; -1 = none."""
        if not all(map(math.isfinite, (x, y, z))):
            return NONE
        return int(cells.place_at(self.ground, x, y, z, STOREY_M, self.radius_m))

    def free(self, x: float, y: float, z: float) -> bool:
        """Return whether the robot can stand at a point of the floor nearest to height z."""
        return self.place(x, y, z) != NONE

    def height(self, x: float, y: float, z: float) -> float:
        """Return the height of the floor nearest to z at a free point, metres; nan if the point is not free."""
        place = self.place(x, y, z)
        return math.nan if place == NONE else float(cells.height(self.ground, place, x, y))

    def stand(self, x: float, y: float, z: float) -> float | None:
        """Return the height of the floor for an episode that begins at a point, metres; None if it cannot begin there.

        Of the floors that are free within ON_M of the point, except tops of furniture, this is the one whose height is
        nearest to z, however far: Habitat's rule.
        """
        place, px, py = cells.foot(self.ground, self._begins, x, y, z, math.inf, self.radius_m, ON_M)
        return None if place == NONE else float(cells.height(self.ground, place, px, py))

    def hop(self, at: At, dx: float, dy: float, slide: bool) -> At:
        """Return where a small step ends (see sim_bridge.walker.Hop), from a point at most ON_M off the free area."""
        place, x, y = cells.foot(self.ground, self._anywhere, *at, STOREY_M, self.radius_m, ON_M)
        if place == NONE:
            return at
        place, x, y = cells.hop(self.ground, place, x, y, at[0] + dx - x, at[1] + dy - y, self.radius_m, slide)
        return (x, y, float(cells.height(self.ground, place, x, y))) if (x, y) != at[:2] else at

    def nearest_free(self, x: float, y: float, z: float) -> At | None:
        """Return the nearest cell centre of the largest area of the floor nearest to z; None if there is no floor."""
        if not self.levels:
            return None
        on = self._on(min(self.levels, key=lambda level: abs(level.height_m - z)))
        points = self.middles(on)
        return _at(points[int(np.argmin((points[:, 0] - x) ** 2 + (points[:, 1] - y) ** 2))])

    def start(self, seed: int) -> At | None:
        """Return a random point of the largest area of the lowest large floor; None if there is no floor."""
        if not self.levels:
            return None
        largest = max(level.area_m2 for level in self.levels)
        on = self._on(next(level for level in self.levels if level.area_m2 >= _LARGE_LEVEL * largest))
        return _at(self.middles(on[[int(np.random.default_rng(seed).integers(len(on)))]])[0])

    def _on(self, level: Level) -> np.ndarray:
        """Return the places of the largest area on a floor, only those with extra clearance if there are any."""
        on = np.nonzero((self.area > 0) & (np.abs(self.ground.z - level.height_m) <= 2 * _LEVEL_M))[0]
        on = on[self.area[on] == np.bincount(self.area[on]).argmax()]
        roomy = on[self.ground.clear[on] >= self.radius_m + _SURE_M]
        return roomy if len(roomy) else on

    def middles(self, places: np.ndarray | list[int]) -> np.ndarray:
        """Return (n, 3) metres: the centres of places."""
        row, column = np.divmod(self.ground.column[places], self.ground.columns)
        return np.stack([self.ground.x0 + (column + 0.5) * CELL_M, self.ground.y0 + (row + 0.5) * CELL_M,
                         self.ground.z[places]], axis=1)


def _at(point: np.ndarray) -> At:
    x, y, z = map(float, point)
    return x, y, z


SNAP_M = 0.30  # an end may lie this far inside an obstacle (people name the sofa, not the floor before it)
SLACK_M = 0.005  # paths may pass this much closer than the radius, because of the cell size
_KEPT_PATHS = 256  # the most recent shortest paths are cached
_HOPS = ((1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1),
         (2, 1), (1, 2), (-1, 2), (-2, 1), (-2, -1), (-1, -2), (1, -2), (2, -1))


class MeshPaths:
    """Shortest paths between points of a floor."""

    def __init__(self, floor: MeshFloor) -> None:
        self._floor = floor
        self._nodes = lru_cache(maxsize=_KEPT_PATHS)(self._search)

    def geodesic(self, a: At, b: At) -> float:
        """Return the length of the shortest path in metres, inf if there is none."""
        path = self.shortest(a, b)
        return math.fsum(math.dist(p, q) for p, q in pairwise(path)) if path else math.inf

    def shortest(self, a: At, b: At) -> list[At]:
        """Return the corners of the shortest path, both ends included; empty if there is none.

        Ends belong to the floor nearest to their height, within STOREY_M, and may lie SNAP_M inside an obstacle.
        """
        if not all(map(math.isfinite, (*a, *b))):
            return []
        if a > b:  # only one direction is computed, so that both are equally long
            return self.shortest(b, a)[::-1]
        nodes = self._common_area(self._near(a), self._near(b))
        if nodes is None:
            return []
        chain = self._nodes(*nodes)
        points = np.concatenate([[a], self._floor.middles(chain), [b]])
        places = np.array([self._place(a), *chain, self._place(b)], np.int64)
        for end, inner in ((0, 1), (-1, -2)):  # the path lies on the floor, even if an end was given above it
            points[end, 2] = (points[inner, 2] if places[end] == NONE
                              else cells.height(self._floor.ground, places[end], points[end, 0], points[end, 1]))
        kept = _pulled(self._floor.ground, points, places, self._floor.radius_m - SLACK_M)
        return [(float(x), float(y), float(z)) for x, y, z in points[kept]]

    def straight(self, a: At, b: At) -> bool:
        """Return whether a straight drive joins two points.

        Each end stands for the free point nearest to it within SNAP_M, on the floor nearest to its height.
        """
        if not all(map(math.isfinite, (*a, *b))):
            return False
        ground, radius = self._floor.ground, self._floor.radius_m - SLACK_M
        standing = self._floor.area > 0
        (first, x, y), (last, to_x, to_y) = (cells.foot(ground, standing, *end, STOREY_M, radius, SNAP_M)
                                             for end in (a, b))
        return first != NONE and last != NONE and cells.straight(ground, first, x, y, to_x, to_y, radius) == last

    def _place(self, end: At) -> int:
        return int(cells.place_at(self._floor.ground, *end, STOREY_M, self._floor.radius_m))

    def _near(self, end: At) -> dict[int, tuple[float, int]]:
        """Return, by connected area, the distance and the place of the node nearest to an end."""
        nearest: dict[int, tuple[float, int]] = {}
        for place, metres in zip(*_around(self._floor.ground, self._floor.area, *end)):
            area = int(self._floor.area[place])
            nearest[area] = min(nearest.get(area, (math.inf, NONE)), (float(metres), int(place)))
        return nearest

    @staticmethod
    def _common_area(a: dict[int, tuple[float, int]], b: dict[int, tuple[float, int]]) -> tuple[int, int] | None:
        """Return the nodes of both ends in the area that is nearest to both; None if they share none."""
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
    """Return the nodes within SNAP_M of a point and STOREY_M of its height, and their distances, metres."""
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
    """Return the nodes of the shortest path on a 16-connected grid, both ends included, within one area."""
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
    """Return the straight distance between the centres of two places, metres."""
    dx = CELL_M * (ground.column[a] % ground.columns - ground.column[b] % ground.columns)
    dy = CELL_M * (ground.column[a] // ground.columns - ground.column[b] // ground.columns)
    rise = float(ground.z[a] - ground.z[b])
    return math.sqrt(dx * dx + dy * dy + rise * rise)


@njit(nogil=True)
def _over(ground: CompactHeightfield, area: np.ndarray, at: int, dx: int, dy: int, radius: float) -> int:
    """Return the node that a hop leads to, -1 if there is none or too little clearance half-way."""
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
    """Return the indices of the path's points that remain after shortcuts by straight drives."""
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
    """Return whether the robot can drive straight from one point of a path to another, and ends on its storey."""
    if places[at] == NONE or places[to] == NONE:
        return False
    return cells.straight(ground, places[at], points[at, 0], points[at, 1], points[to, 0], points[to, 1],
                          radius) == places[to]
