"""Furnishes a room several times and keeps the arrangement in which a robot moves best, on a grid of 5 cm."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy import ndimage

from eqa_nodes.core.types.geometry import Pose2
from sim_bridge.house.furnish import RoomFurnisher
from sim_bridge.house.rooms import room_kind
from sim_bridge.house.scene import House, HouseObject, Opening

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
            free[window(*obj.extents(), CELL_M / 2)] = False
    return WalkableFloor(room, ndimage.distance_transform_edt(free) * CELL_M - CELL_M / 2, origin)


QUOTAS = (99, 99, 99, 99, 8, 5, 3, 2, 1)  # maximum number of objects on the floor in each attempt, for tight rooms
ARM_M = 0.75  # an object is within reach if the robot gets this near to it


class Merit(NamedTuple):
    """Quality of an arrangement. Two arrangements are compared field by field, in this order."""

    connected: bool  # every entrance reaches the same free floor, and that is most of the room
    essentials: int
    within_reach: int  # negated number of objects out of reach
    objects: int


def furnish_room(
    furnisher: RoomFurnisher, openings: Sequence[Opening], recipe: Callable[[RoomFurnisher], None]
) -> None:
    """Apply the recipe until the room is connected, complete and within reach; else keep the best attempt."""
    empty = _state(furnisher)
    best: tuple[Merit, dict[str, object]] | None = None
    doors = [o for o in openings if o.kind != "window" and furnisher.room.id in o.rooms]
    needed = room_kind(furnisher.room.kind).needed
    for quota in QUOTAS:
        furnisher.__dict__.update(_copied(empty))
        furnisher.quota = quota
        recipe(furnisher)
        merit = _merit(furnisher, doors, needed)
        if best is None or merit > best[0]:
            best = (merit, _state(furnisher))
        if merit[:3] == (True, len(needed), 0) or (quota < 6 and best[0].connected):
            break
    assert best is not None
    furnisher.__dict__.update(best[1])
    furnisher.ids.last = max(furnisher.ids.last, max((t.id for t in furnisher.objects), default=0))


def _state(furnisher: RoomFurnisher) -> dict[str, object]:
    """Return a copy of the attributes that furnishing changes."""
    return _copied({k: v for k, v in furnisher.__dict__.items() if isinstance(v, (list, dict))})


def _copied(state: dict[str, object]) -> dict[str, object]:
    return {k: copy.copy(v) for k, v in state.items()}


def _merit(furnisher: RoomFurnisher, doors: Sequence[Opening], needed: Sequence[str]) -> Merit:
    room = furnisher.room
    floor = floor_of(House(0, [room], list(doors), furnisher.objects, Pose2(0.0, 0.0, 0.0)))
    reached = floor.roam(RADIUS_M)
    standing = (floor.room == room.id) & (floor.clearance_m >= RADIUS_M)
    connected = int((reached & standing).sum()) >= 0.65 * int(standing.sum()) > 0
    closed = {t.id for t in furnisher.objects if t.kind in ("door", "front door") and t.state == "closed"}
    for door in doors:
        if door.object_id not in closed and -1 not in door.rooms:
            connected = connected and _enters(floor, reached, door)
    kinds = {t.kind for t in furnisher.objects}
    return Merit(
        connected, sum(k in kinds for k in needed), -out_of_reach(furnisher, floor, reached), len(furnisher.objects)
    )


def _enters(floor: WalkableFloor, reached: np.ndarray, door: Opening) -> bool:
    """Return whether the robot reaches the floor in front of a door."""
    row, column = floor.cell((door.x0 + door.x1) / 2, (door.y0 + door.y1) / 2)
    near = int(0.45 / CELL_M)
    return bool(reached[max(0, row - near) : row + near + 1, max(0, column - near) : column + near + 1].any())


def out_of_reach(furnisher: RoomFurnisher, floor: WalkableFloor, reached: np.ndarray) -> int:
    """Return the number of objects on the floor that are out of the robot's reach."""
    if not reached.any():
        return len(furnisher.objects)
    distance = ndimage.distance_transform_edt(~reached) * CELL_M
    count = 0
    for obj in furnisher.objects:
        if obj.relation == "floor" and is_obstacle(obj):
            x0, y0, x1, y1 = obj.extents()
            (r0, c0), (r1, c1) = floor.cell(x0, y0), floor.cell(x1, y1)
            count += float(distance[max(r0, 0) : r1 + 1, max(c0, 0) : c1 + 1].min(initial=math.inf)) > ARM_M
    return count
