"""The floor on which a robot can stand, as a 5 cm grid. Only the generator's checks use it."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy import ndimage

from sim_bridge.house.scene import House, HouseObject

CELL_M = 0.05
BODY_Z = (0.02, 1.3)
RADIUS_M = 0.24  # the robot's 0.18 m and a margin for grids coarser than ours


class WalkableFloor(NamedTuple):
    """room: (rows along y, columns along x) int16, room id of each floor cell, -1 = wall, -2 = doorway;
    clearance_m: same shape, float, distance to the nearest obstacle; origin: outer corner of cell [0, 0] in metres."""

    room: np.ndarray
    clearance_m: np.ndarray
    origin: tuple[float, float]

    def centre(self, row: int, column: int) -> tuple[float, float]:
        """Return the house coordinates of a cell's centre."""
        return self.origin[0] + (column + 0.5) * CELL_M, self.origin[1] + (row + 0.5) * CELL_M

    def cell(self, x: float, y: float) -> tuple[int, int]:
        """Return [row, column] of the cell that holds a point."""
        return int((y - self.origin[1]) / CELL_M), int((x - self.origin[0]) / CELL_M)

    def roam(self, radius_m: float) -> np.ndarray:
        """Return the bool mask of the largest connected area in which a disc of this radius can move."""
        labels, count = ndimage.label(self.clearance_m >= radius_m, structure=np.ones((3, 3)))
        sizes = np.bincount(labels.ravel(), minlength=count + 1)
        return labels == 1 + int(np.argmax(sizes[1:])) if count else np.zeros(labels.shape, bool)


def is_obstacle(obj: HouseObject) -> bool:
    """Return whether the object blocks the robot's body."""
    return obj.solid and obj.position[2] < BODY_Z[1] and obj.position[2] + obj.size[2] > BODY_Z[0]


def extents(obj: HouseObject) -> tuple[float, float, float, float]:
    """Return x0, y0, x1, y1 of the object's footprint, its yaw taken into account."""
    c, s = abs(math.cos(obj.yaw)), abs(math.sin(obj.yaw))
    dx, dy = (obj.size[0] * c + obj.size[1] * s) / 2, (obj.size[0] * s + obj.size[1] * c) / 2
    x, y, _ = obj.position
    return x - dx, y - dy, x + dx, y + dy


def floor_of(house: House) -> WalkableFloor:
    """Return the free floor of a house."""
    margin = house.wall_thickness_m + CELL_M
    origin = (min(r.x0 for r in house.rooms) - margin, min(r.y0 for r in house.rooms) - margin)
    columns = int((max(r.x1 for r in house.rooms) + margin - origin[0]) / CELL_M) + 1
    rows = int((max(r.y1 for r in house.rooms) + margin - origin[1]) / CELL_M) + 1
    room = np.full((rows, columns), -1, np.int16)

    def window(x0: float, y0: float, x1: float, y1: float, grow: float) -> tuple[slice, slice]:
        """Cells whose centres lie in the rectangle grown by `grow` metres."""

        def span(a: float, b: float, start: float, most: int) -> slice:
            return slice(
                max(0, math.ceil((a - grow - start) / CELL_M - 0.5)),
                min(most, math.floor((b + grow - start) / CELL_M - 0.5) + 1),
            )

        return span(y0, y1, origin[1], rows), span(x0, x1, origin[0], columns)

    half = house.wall_thickness_m / 2 + CELL_M / 2
    for o in house.openings:
        if o.kind != "window" and -1 not in o.rooms:
            along_x = o.y0 == o.y1
            room[
                window(
                    o.x0 if along_x else o.x0 - half,
                    o.y0 - half if along_x else o.y0,
                    o.x1 if along_x else o.x1 + half,
                    o.y1 + half if along_x else o.y1,
                    0.0,
                )
            ] = -2
    for r in house.rooms:
        room[window(r.x0, r.y0, r.x1, r.y1, 0.0)] = r.id
    free = room != -1
    for obj in house.objects:
        if is_obstacle(obj) and obj.relation not in ("on", "in"):
            free[window(*extents(obj), CELL_M / 2)] = False
    return WalkableFloor(room, ndimage.distance_transform_edt(free) * CELL_M - CELL_M / 2, origin)
