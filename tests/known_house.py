"""A generated house as if every thing in it had been seen well: what is answered then is understanding, not sight."""

from __future__ import annotations

import math
from functools import lru_cache

from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.remembered import Recalled
from eqa_nodes.core.types.views import Keyframe, Sighting
from sim_bridge.house.generate import generate_house
from sim_bridge.house.scene import Room
from sim_bridge.house.simulator import HouseWorld

_LOOKS = 8  # directions in which each room is looked from its middle


@lru_cache(maxsize=4)
def known(seed: int) -> tuple[Recalled, ...]:
    """Return views of all things of a house, by their true labels; nothing is rendered."""
    world, views = HouseWorld(generate_house(seed)), list[Keyframe]()
    for room in world.house.rooms:
        seen = _sightings(world, room)
        x, y = (room.x0 + room.x1) / 2, (room.y0 + room.y1) / 2
        for look in range(_LOOKS if seen else 0):
            pose, number = Pose2(x, y, look * 2 * math.pi / _LOOKS), len(views) + 1
            ahead = seen if not look else tuple(s for s in seen if _ahead(pose, s))
            views.append(Keyframe(number, number * 10 ** 9, pose.transform(), b"", ahead))
    return tuple(Recalled(view, 1.0, "known") for view in views)


def _sightings(world: HouseWorld, room: Room) -> tuple[Sighting, ...]:
    found = []
    for thing in (t for t in world.house.things if t.room == room.id):
        c, s = abs(math.cos(thing.yaw)), abs(math.sin(thing.yaw))
        (deep, wide, tall), (x, y, z) = thing.size, thing.position
        size = (c * deep + s * wide, s * deep + c * wide, tall)
        found.append(Sighting(world.labels[thing.id], 2000, (100, 100, 400, 300), (x, y, z + tall / 2), size))
    return tuple(found)


def _ahead(pose: Pose2, sighting: Sighting) -> bool:
    x, y, _ = sighting.centre
    return math.cos(math.atan2(y - pose.y, x - pose.x) - pose.yaw) > math.cos(math.radians(40))
