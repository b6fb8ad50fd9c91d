"""Where a robot can be in a mesh, on all storeys: free space, floors, motion, the nearest free pose."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.errors import NoFloor
from eqa_nodes.core.types.robot import RobotModel
from sim_bridge.mesh import ground as cells
from sim_bridge.mesh.ground import NONE, WALL_M, CompactHeightfield
from sim_bridge.mesh.heightfield import CELL_M, heightfield
from sim_bridge.walker import At

MIN_AREA_M2 = 1.0  # smaller joined areas for the robot's middle are dropped: Recast's region_min_size, 20 cells
STOREY_M = 1.0  # what is nearer to a floor than this lies on it; no two storeys are nearer to each other
ON_M = 0.05  # metres beside its free area, on the plan, at which the robot still stands on a floor: as with Habitat
_LARGE_SHARE = 0.05  # of the largest joined area: a smaller one is the top of furniture, where no episode begins
_LEVEL_M = 0.1  # heights are counted in steps of this
_SURE_M = 0.01  # a pose that is recommended has so much more room than needed, for it is printed in centimetres
_LARGE_LEVEL = 0.25  # a floor is large that has so much of the area of the largest


class Level(NamedTuple):
    """A floor that was found: its height, and the area for the middle of the robot on it; metres."""

    height_m: float
    area_m2: float


class MeshFloor:
    """The places of a mesh for one robot."""

    def __init__(self, vertices: np.ndarray, faces: np.ndarray, robot: RobotModel,
                 computed: tuple[CompactHeightfield, np.ndarray] | None = None) -> None:
        """vertices (n, 3) metres, map axes; faces (m, 3); computed: ground and area of a floor that was made of these.

        Raises NoFloor where nothing can be stood on, and what sim_bridge.mesh.heightfield raises.
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
        """Return the ground without small areas, and (n,) int32: the joined area of each of its places, 0 = none."""
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
        """Return the floors from below: heights around which much lies, at least STOREY_M apart."""
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
        """Return the place where the robot's middle can be at a point, on the floor nearest to height z; -1 = none."""
        if not all(map(math.isfinite, (x, y, z))):
            return NONE
        return int(cells.place_at(self.ground, x, y, z, STOREY_M, self.radius_m))

    def free(self, x: float, y: float, z: float) -> bool:
        """Return whether the robot can stand at a point of the floor nearest to height z."""
        return self.place(x, y, z) != NONE

    def height(self, x: float, y: float, z: float) -> float:
        """Return the height of the floor nearest to z at a free point, metres; nan where it is not free."""
        place = self.place(x, y, z)
        return math.nan if place == NONE else float(cells.height(self.ground, place, x, y))

    def stand(self, x: float, y: float, z: float) -> float | None:
        """Return how high the floor is where an episode begins at a point, metres; None where it cannot.

        Of the floors that are free within ON_M of the point, on areas that are not the tops of furniture, it is the one
        whose height is nearest to z, however far that is: Habitat's rule.
        """
        place, px, py = cells.foot(self.ground, self._begins, x, y, z, math.inf, self.radius_m, ON_M)
        return None if place == NONE else float(cells.height(self.ground, place, px, py))

    def hop(self, at: At, dx: float, dy: float, slide: bool) -> At:
        """Return where a small step ends (see sim_bridge.walker.Hop), from a point at most ON_M off what is free."""
        place, x, y = cells.foot(self.ground, self._anywhere, *at, STOREY_M, self.radius_m, ON_M)
        if place == NONE:
            return at
        place, x, y = cells.hop(self.ground, place, x, y, at[0] + dx - x, at[1] + dy - y, self.radius_m, slide)
        return (x, y, float(cells.height(self.ground, place, x, y))) if (x, y) != at[:2] else at

    def nearest_free(self, x: float, y: float, z: float) -> At | None:
        """Return the nearest cell middle of the largest area of the floor nearest to z; None when there is no floor."""
        if not self.levels:
            return None
        on = self._on(min(self.levels, key=lambda level: abs(level.height_m - z)))
        points = self.middles(on)
        return _at(points[int(np.argmin((points[:, 0] - x) ** 2 + (points[:, 1] - y) ** 2))])

    def start(self, seed: int) -> At | None:
        """Return a point of the largest area of the lowest large floor, by chance; None when there is no floor."""
        if not self.levels:
            return None
        largest = max(level.area_m2 for level in self.levels)
        on = self._on(next(level for level in self.levels if level.area_m2 >= _LARGE_LEVEL * largest))
        return _at(self.middles(on[[int(np.random.default_rng(seed).integers(len(on)))]])[0])

    def _on(self, level: Level) -> np.ndarray:
        """Return the places of the largest area on a floor, those with room to spare where there are any."""
        on = np.nonzero((self.area > 0) & (np.abs(self.ground.z - level.height_m) <= 2 * _LEVEL_M))[0]
        on = on[self.area[on] == np.bincount(self.area[on]).argmax()]
        roomy = on[self.ground.clear[on] >= self.radius_m + _SURE_M]
        return roomy if len(roomy) else on

    def middles(self, places: np.ndarray | list[int]) -> np.ndarray:
        """Return (n, 3) metres: the middles of places."""
        row, column = np.divmod(self.ground.column[places], self.ground.columns)
        return np.stack([self.ground.x0 + (column + 0.5) * CELL_M, self.ground.y0 + (row + 0.5) * CELL_M,
                         self.ground.z[places]], axis=1)


def _at(point: np.ndarray) -> At:
    x, y, z = map(float, point)
    return x, y, z
