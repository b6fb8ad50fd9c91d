"""The same house on another day: some movable objects stand elsewhere, walls and doors are unchanged."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.robot import RobotModel
from sim_bridge.house.arrange import floor_of
from sim_bridge.house.dice import Dice
from sim_bridge.house.generate import shut_off
from sim_bridge.house.handling import FLAT_M, HandledHouse, Manipulator, liftable, surfaces_of
from sim_bridge.house.scene import House, HouseObject
from sim_bridge.house.space import block_of

# Kinds that are connected to water, gas or the wall, or built in.
FIXED = ("bathtub", "toilet", "shower", "bathroom sink", "kitchen counter", "kitchen sink", "kitchen island", "oven",
         "dishwasher", "refrigerator", "washing machine", "dryer")
_TRIES = 40  # number of places that are tried for one object
_LEAST_M = 0.5  # an object nearer than this to its old place counts as not moved


class Rearranged(NamedTuple):
    """A house in which objects were moved: counts of furniture and of belongings, moved and movable."""

    house: House
    furniture: int
    of_furniture: int
    belongings: int
    of_belongings: int


def rearranged(house: House, seed: int, share: float = 0.3) -> Rearranged:
    """Return the house with a share of its furniture and of its belongings moved, each by at least 0.5 m.

    Objects on moved furniture move with it. Every room stays within the robot's reach. An object that fits nowhere else
    stays, and another one is moved instead.
    """
    dice, everything, counts = Dice(seed), movable(house), []
    for wanted in (False, True):
        group = [o for o in everything if _carried_by_hand(o) == wanted]
        house, moved = _moved(house, dice.shuffled(group), round(share * len(group)), dice)
        counts += [moved, len(group)]
    return Rearranged(house, *counts)


def _moved(house: House, order: list[HouseObject], wanted: int, dice: Dice) -> tuple[House, int]:
    moved = 0
    for number in (o.id for o in order):
        if moved == wanted:
            break
        obj = house.object_by_id(number)
        new = _lifted(house, obj, dice) if _carried_by_hand(obj) else _pushed(house, obj, dice)
        if new is not None:
            house, moved = new, moved + 1
    return house, moved


def _carried_by_hand(obj: HouseObject) -> bool:
    return obj.relation != "floor"


def movable(house: House) -> list[HouseObject]:
    """Return the movable objects: furniture and belongings that are not fixed to a wall or a pipe."""
    return [o for o in house.objects if (o.relation == "floor" and o.solid and o.kind not in FIXED) or
            (o.relation in ("on", "in", "under") and liftable(o) and not _carries(house, o))]


def _carries(house: House, obj: HouseObject) -> bool:
    return any(other.support == obj.id for other in house.objects)


def _lifted(house: House, obj: HouseObject, dice: Dice) -> House | None:
    """Return the house with a small object on another piece of furniture, None if it fits nowhere."""
    at = Pose2(obj.position[0], obj.position[1], 0.0)
    picked = Manipulator(house, at, RobotModel(), None).handle("pick", obj.id)
    if not isinstance(picked, HandledHouse):
        return None
    supports = [o for o in picked.house.objects if o.id != obj.support and surfaces_of(o)]
    for _ in range(_TRIES if supports else 0):
        support = dice.pick(supports)
        near = Pose2(support.position[0], support.position[1], 0.0)
        placed = Manipulator(picked.house, near, RobotModel(), picked.held).handle("place", support.id)
        if isinstance(placed, HandledHouse):
            return placed.house
    return None


def _pushed(house: House, obj: HouseObject, dice: Dice) -> House | None:
    """Return the house with a floor object elsewhere in its room, None if it fits nowhere."""
    room = next(r for r in house.rooms if r.id == obj.room)
    for _ in range(_TRIES):
        x, y = dice.between(room.x0, room.x1), dice.between(room.y0, room.y1)
        yaw = obj.yaw + dice.pick((0.0, 1.0, 2.0, 3.0)) * math.pi / 2
        if math.hypot(x - obj.position[0], y - obj.position[1]) < _LEAST_M:
            continue
        load = _load(house, obj)
        after = [_carried(o, obj, x, y, yaw) if o.id in load else o for o in house.objects]
        new = replace(house, objects=after)
        if _fits(new, load, obj.id) and not shut_off(new, floor_of(new)):
            return new
    return None


def _load(house: House, obj: HouseObject) -> set[int]:
    """Return the ids of an object and of everything that stands on it."""
    load = {obj.id}
    while more := {o.id for o in house.objects if o.support in load} - load:
        load |= more
    return load


def _carried(o: HouseObject, base: HouseObject, x: float, y: float, yaw: float) -> HouseObject:
    """Return an object moved along with its base, which moves to (x, y, yaw)."""
    turn = yaw - base.yaw
    dx, dy = o.position[0] - base.position[0], o.position[1] - base.position[1]
    c, s = math.cos(turn), math.sin(turn)
    return replace(o, position=(x + c * dx - s * dy, y + s * dx + c * dy, o.position[2]), yaw=o.yaw + turn)


def _fits(house: House, load: set[int], base: int) -> bool:
    """Return whether the moved objects lie in their room and overlap nothing else."""
    obj = house.object_by_id(base)
    room = next(r for r in house.rooms if r.id == obj.room)
    x0, y0, x1, y1 = obj.extents()
    if x0 < room.x0 or y0 < room.y0 or x1 > room.x1 or y1 > room.y1:
        return False
    mine = [block_of(o) for o in house.objects if o.id in load]
    others = [block_of(o) for o in house.objects if o.id not in load and o.size[2] > FLAT_M and o.relation != "ceiling"]
    return not any(a.meets(b) for a in mine for b in others)
