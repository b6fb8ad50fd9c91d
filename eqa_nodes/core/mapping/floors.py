"""Maps of several floors: one map for each floor, connected by the staircases that the robot used."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.errors import BadFrame
from eqa_nodes.core.mapping.config import MapperConfig
from eqa_nodes.core.mapping.mapper import Mapper
from eqa_nodes.core.types.floor import Frontier, GridMap, Staircase
from eqa_nodes.core.types.robot import RobotModel
from eqa_nodes.core.types.views import Frame

_LEVEL_M = 0.1  # ground is level if its height changed by no more than this ...
_LEVEL_RUN_M = 0.5 - 1e-6  # ... over this distance (whole steps may add up to slightly less)
_SAME_STAIRS_M = 1.5  # two staircases of neighbouring floors are the same one if their ends are this close
_CLIMB_FRAMES = 40  # maximum number of frames between two floors that are added to the map of the new floor


class _Ground(NamedTuple):
    """Level ground below the robot: where it began (map frame, metres), where the robot is, and the way between."""

    since: tuple[float, float, float]
    x: float
    y: float
    driven_m: float = 0.0


class MultiFloorMapper:
    """Maps several floors with one Mapper per floor; for a single floor the maps equal those of a Mapper bit by bit.

    The robot is on a floor while its base is within storey_band_m of the height of that floor; level ground more than
    storey_gap_m from every known floor is a new floor. Frames between floors are not mapped but counted in `between`;
    `grid` then returns the map of the floor last left, with the newest stamp. The same holds for ground at a height
    between band and gap (a split level). staircases: staircases that were used; rejected: number of refused frames.
    """

    def __init__(self, config: MapperConfig | None = None, robot: RobotModel | None = None) -> None:
        """Raises ConfigError if the robot's height does not fit the heights of the map."""
        self.config, self.robot = config or MapperConfig(), robot or RobotModel()
        self.reset()

    def reset(self) -> None:
        """Delete all maps."""
        self.rejected = self.between = 0
        self._used: tuple[Staircase, ...] = ()
        self._climb: list[Frame] = []  # frames since the floor was left
        self._here = Mapper(self.config, self.robot)
        self._floors = [self._here]
        self._began = False
        self._left = (0.0, 0.0, 0.0)  # last position within the band of the floor
        self._ground = _Ground(self._left, 0.0, 0.0)

    def set_back(self, stamp_ns: int) -> None:
        """Accept frames from this earlier stamp on, because the clock was set back. The maps remain."""
        for floor in self._floors:
            floor.set_back(stamp_ns)

    @property
    def bad_pixels(self) -> int:
        """Number of depth pixels on all floors that were NaN, inf, negative or out of range."""
        return sum(floor.bad_pixels for floor in self._floors)

    @property
    def staircases(self) -> tuple[Staircase, ...]:
        """Staircases that were used and, if the robot climbs stairs, those that it has seen from this floor."""
        return (*self._used, *self._seen())

    def _seen(self) -> list[Staircase]:
        return [s for s in self._here.staircases() if not any(_same_stairs(s, used) for used in self._used)]

    def integrate(self, frame: Frame) -> None:
        """Integrate a frame. Raises BadFrame, counted in `rejected`, if it is malformed or not newer than the last."""
        try:
            if self._began and abs(frame.map_from_base.xyz[2] - self._here.floor_z) > self.config.storey_band_m:
                self._elsewhere(frame)
            else:
                self._here.integrate(frame)
                self._stand(frame)
        except BadFrame:
            self.rejected += 1
            raise

    def grid(self) -> GridMap:
        """Return a snapshot of the current floor's map. Raises StaleData before the first frame."""
        return self._here.grid()

    def frontiers(self) -> list[Frontier]:
        """Return the frontiers of the current floor. Raises StaleData before the first frame."""
        return self._here.frontiers()

    def points(self) -> np.ndarray:
        """Return the centres of the occupied voxels of all floors, (n, 3) float32, map frame, metres."""
        return np.concatenate([floor.points() for floor in self._floors])

    def _stand(self, frame: Frame) -> None:
        x, y, z = frame.map_from_base.xyz
        self._began, self._left = True, (x, y, self._here.floor_z)
        self._ground = _Ground((x, y, z), x, y)

    def _elsewhere(self, frame: Frame) -> None:
        """Integrate a frame off the current floor; stairs that the robot climbs are mapped with the floor last left."""
        if self.robot.stairs:
            self._here.integrate(frame)
            self._climb = [*self._climb[1 - _CLIMB_FRAMES:], frame]
        else:
            self._here.skip(frame)  # also checks the frame
        self._step(*frame.map_from_base.xyz)
        floor = self._entered(frame.map_from_base.xyz[2])
        if floor is None:
            self.between += not self.robot.stairs
            return
        floor.integrate(frame)
        for seen in self._climb:
            floor.look_back(seen)
        self._climb = []
        if floor not in self._floors:
            self._floors.append(floor)
        self._note_stairs(floor)
        self._here = floor
        self._stand(frame)

    def _step(self, x: float, y: float, z: float) -> None:
        g = self._ground
        if abs(z - g.since[2]) > _LEVEL_M:
            self._ground = _Ground((x, y, z), x, y)
        else:
            self._ground = _Ground(g.since, x, y, g.driven_m + math.hypot(x - g.x, y - g.y))

    def _entered(self, z: float) -> Mapper | None:
        """Return the floor at this height: a new one if the ground is level, None between floors."""
        nearest = min(self._floors, key=lambda floor: abs(floor.floor_z - z))
        away = abs(nearest.floor_z - z)
        if away <= self.config.storey_band_m:
            return nearest
        level = self._ground.driven_m >= _LEVEL_RUN_M
        return Mapper(self.config, self.robot) if away > self.config.storey_gap_m and level else None

    def _note_stairs(self, floor: Mapper) -> None:
        """Record the stairs between the floor last left and this one, unless they are known."""
        ends = (self._left, (*self._ground.since[:2], floor.floor_z))
        low, high = sorted(ends, key=lambda end: end[2])
        if not any(math.dist(low, j.low) < _SAME_STAIRS_M and math.dist(high, j.high) < _SAME_STAIRS_M
                   for j in self._used):
            self._used += (Staircase(low, high),)


def _same_stairs(seen: Staircase, used: Staircase) -> bool:
    """Return whether stairs seen from one end, possibly not to the other end, are the stairs that were used."""
    return all(_beside(end, used) < _SAME_STAIRS_M for end in seen)


def _beside(end: tuple[float, float, float], stairs: Staircase) -> float:
    """Return the horizontal distance in metres from a point to the straight line between the ends of stairs."""
    (ax, ay, _), (bx, by, _) = stairs
    length2 = (bx - ax) ** 2 + (by - ay) ** 2
    along = ((end[0] - ax) * (bx - ax) + (end[1] - ay) * (by - ay)) / length2 if length2 > 0 else 0.0
    along = min(max(along, 0.0), 1.0)
    return math.hypot(end[0] - ax - along * (bx - ax), end[1] - ay - along * (by - ay))
