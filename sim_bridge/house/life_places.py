"""Where a patrol stops to look around, and places for objects that are surely seen from one room and from no other.

A patrol takes its pictures at fixed stops, so what is seen of a place depends only on which rooms it enters. A house
that holds every candidate object at once is rendered once, and the candidates whose visibility is clear are kept.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.types.geometry import Pose2, camera_mount, wrap
from eqa_nodes.core.types.robot import CameraModel
from sim_bridge.house.handling import surfaces_of
from sim_bridge.house.meshes import placed_at
from sim_bridge.house.render import instances_seen
from sim_bridge.house.scene import House, HouseObject, Room
from sim_bridge.house.space import YAW, Block, Placement, RoomSpace, UnplacedObject, block_of, footprint
from sim_bridge.house.world import ROBOT, HouseWorld

CAMERA = CameraModel(width=160, height=120)
HEADINGS = 8  # pictures at each stop
CLEAR_PIXELS, CLEAR_VIEWS = 24, 2  # an object is surely seen with this many pixels in this many pictures
HIDDEN_PIXELS = 3  # and not seen with at most this many in every picture
_NEAR_M = 4.5  # from a stop that is not farther away
_LARGE_M2 = 20.0  # rooms from this area on have two stops
_STAND_M = 0.3  # clearance of a stop
_GRID_M = 0.12  # spacing of candidate places
_DOOR_M = 1.0  # distance that objects on the floor keep from doors
_STOP_M = 0.8  # and from stops
_KEPT_APART_M = 0.06
_IN_SIGHT = 0.4  # share of the corners of an object that must be in sight
_HIGH_M = 2.0  # nothing hangs lower over an object on the floor


class LookStop(NamedTuple):
    """A place where a patrol turns around. room: its id."""

    room: int
    x: float
    y: float

    def poses(self) -> list[Pose2]:
        """Return the poses of its pictures."""
        return [Pose2(self.x, self.y, wrap(2 * math.pi * i / HEADINGS)) for i in range(HEADINGS)]


def stops_of(world: HouseWorld) -> list[LookStop]:
    """Return the stops of a house, those of one room next to each other; rooms that the robot cannot reach have none.
    """
    _, nodes = world.space(ROBOT).nodes(_STAND_M)
    start = (world.house.start.x, world.house.start.y)
    found = []
    for room in world.house.rooms:
        for x, y in _middles(room):
            inside = nodes[(nodes[:, 0] > room.x0) & (nodes[:, 0] < room.x1) & (nodes[:, 1] > room.y0)
                           & (nodes[:, 1] < room.y1)]
            order = np.argsort(np.hypot(inside[:, 0] - x, inside[:, 1] - y), kind="stable")[:1]
            found += [LookStop(room.id, round(float(px), 3), round(float(py), 3)) for px, py in inside[order]
                      if world.shortest_path(start, (float(px), float(py)))]
    return found


def _middles(room: Room) -> list[tuple[float, float]]:
    x, y, wide, deep = (room.x0 + room.x1) / 2, (room.y0 + room.y1) / 2, room.x1 - room.x0, room.y1 - room.y0
    if room.area_m2 < _LARGE_M2:
        return [(x, y)]
    dx, dy = (wide / 4, 0.0) if wide > deep else (0.0, deep / 4)
    return [(x - dx, y - dy), (x + dx, y + dy)]


class HousePlaces:
    """Candidate places in a house. Objects that were tried stay, so that no two candidates overlap."""

    def __init__(self, house: House, stops: Sequence[LookStop], space: Mapping[int, RoomSpace]) -> None:
        self._house, self._stops, self._space, self._rays = house, stops, space, HouseWorld(house).rays
        self._blocks = [block_of(t) for t in house.objects if t.size[2] > 0.03]
        self.tried: list[HouseObject] = []

    def on(self, blank: UnplacedObject, support: HouseObject) -> HouseObject | None:
        """Return the object at a free place on another, None if there is none."""
        dice, space = self._space[support.room].dice, self._space[support.room]
        for surface in surfaces_of(support):
            half_x, half_y = blank.look.depth / 2, blank.look.width / 2
            across, along = surface.x1 - surface.x0 - 2 * half_x, surface.y1 - surface.y0 - 2 * half_y
            if surface.relation != "on" or across < 0 or along < 0 or blank.look.height > surface.clear:
                continue
            places = [(i * _GRID_M, j * _GRID_M) for i in range(int(across / _GRID_M) + 1)
                      for j in range(int(along / _GRID_M) + 1)]
            for dx, dy in dice.shuffled(places):
                at = (surface.x0 + half_x + dx, surface.y0 + half_y + dy, surface.z)
                x, y, z = (round(float(v), 4) for v in placed_at(support, at))
                if found := self._put(space, blank, Placement(x, y, z, support.yaw), "on", support.id):
                    return found
        return None

    def standing(self, blank: UnplacedObject, room: Room) -> HouseObject | None:
        """Return the object at a free place on the floor of a room, with its back to a wall, None if there is none."""
        space = self._space[room.id]
        for spot in space.dice.shuffled(list(_along_walls(room, blank))):
            box = footprint(blank, spot)
            doors = [o for o in self._house.openings if o.kind != "window" and room.id in o.rooms]
            off = [math.hypot((o.x0 + o.x1) / 2 - spot.x, (o.y0 + o.y1) / 2 - spot.y) for o in doors]
            off += [math.hypot(s.x - spot.x, s.y - spot.y) + _DOOR_M - _STOP_M for s in self._stops]
            inside = room.x0 <= box.x0 and box.x1 <= room.x1 and room.y0 <= box.y0 and box.y1 <= room.y1
            if inside and min(off, default=_DOOR_M) >= _DOOR_M:
                above = box._replace(z1=_HIGH_M)
                if not any(above.meets(block) for block in self._blocks):
                    return self._put(space, blank, spot, "floor", 0)
        return None

    def _put(self, space: RoomSpace, blank: UnplacedObject, spot: Placement, relation: str,
             support: int) -> HouseObject | None:
        box = footprint(blank, spot)
        wide = box._replace(x0=box.x0 - _KEPT_APART_M, y0=box.y0 - _KEPT_APART_M, x1=box.x1 + _KEPT_APART_M,
                            y1=box.y1 + _KEPT_APART_M)
        if any(wide.meets(block) for block in self._blocks if block.owner != support):
            return None
        if not self._only_from(space.room.id, box):
            return None
        obj = space.put(blank, spot, relation, support)
        self._blocks.append(block_of(obj))
        self.tried.append(obj)
        return obj


    def _only_from(self, room: int, box: Block) -> bool:
        """Return whether a box is in sight of the stops of its room, and of no stop of another room."""
        corners = np.array([(x, y, z) for x in (box.x0, box.x1) for y in (box.y0, box.y1) for z in (box.z0, box.z1)])
        middle = corners.mean(axis=0)
        points = np.concatenate([middle + (corners - middle) * 0.98, middle[None]])
        eyes = np.array([(s.x, s.y, CAMERA.height_m) for s in self._stops])
        rays = (points[None] - eyes[:, None]).reshape(-1, 3).astype(np.float32)
        begin = np.repeat(eyes, len(points), axis=0).astype(np.float32)
        open_ = ~self._rays.blocked(begin, rays, np.full(len(rays), 0.98, np.float32)).reshape(len(eyes), -1)
        own = np.array([s.room == room for s in self._stops])
        return not open_[~own].any() and bool((open_[own].mean(axis=1) >= _IN_SIGHT).any())


def _along_walls(room: Room, blank: UnplacedObject) -> Iterator[Placement]:
    back = blank.look.depth / 2 + 0.03
    for k in range(1, int((room.x1 - room.x0) / (2 * _GRID_M))):
        x = room.x0 + 2 * k * _GRID_M
        yield Placement(round(x, 3), room.y0 + back, 0.0, YAW["south"])
        yield Placement(round(x, 3), room.y1 - back, 0.0, YAW["north"])
    for k in range(1, int((room.y1 - room.y0) / (2 * _GRID_M))):
        y = room.y0 + 2 * k * _GRID_M
        yield Placement(room.x0 + back, round(y, 3), 0.0, YAW["west"])
        yield Placement(room.x1 - back, round(y, 3), 0.0, YAW["east"])


class Visibility(NamedTuple):
    """The rooms from whose stops an object is surely seen, and those from which it may be."""

    clear: frozenset[int]
    faint: frozenset[int]


def visibility(house: House, stops: Sequence[LookStop]) -> dict[int, Visibility]:
    """Return from where each object is seen that is surely seen from some room."""
    world = HouseWorld(house)
    mount = camera_mount(CAMERA.height_m, math.radians(CAMERA.tilt_down_deg)).matrix()
    seen, clear = dict[int, set[int]](), dict[int, Counter[int]]()  # rooms of each object
    for stop in stops:
        for pose in stop.poses():
            for number, pixels in instances_seen(world.rays, world.mesh, CAMERA,
                                                 pose.transform().matrix() @ mount).items():
                if pixels > HIDDEN_PIXELS:
                    seen.setdefault(number, set()).add(stop.room)
                if pixels >= CLEAR_PIXELS and house.object_by_id(number).distance(stop.x, stop.y) <= _NEAR_M:
                    clear.setdefault(number, Counter())[stop.room] += 1
    sure = {number: frozenset(room for room, views in rooms.items() if views >= CLEAR_VIEWS)
            for number, rooms in clear.items()}
    return {number: Visibility(rooms, frozenset(seen[number] - rooms)) for number, rooms in sure.items() if rooms}
