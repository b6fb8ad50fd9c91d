"""Handling of objects in a house: pick up, place, open, close and switch; each returns the changed house.

A house is never changed in place. Handling returns a new one, because the original is kept for other episodes.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.robot import RobotModel
from sim_bridge.house.catalogue import KINDS
from sim_bridge.house.dice import Dice
from sim_bridge.house.kinds import Look, Surface
from sim_bridge.house.meshes import placed_at
from sim_bridge.house.scene import House, HouseObject, Opening, Room
from sim_bridge.house.space import YAW, block_of

REACH_M, REACH_UP_M = 1.2, 1.9  # maximum distance of the robot's centre to the object; maximum height of its lower edge
LIFT_M = 0.5  # maximum side length of an object that can be picked up
STEP_M = 0.04  # spacing of candidate places on a surface
FLAT_M = 0.03  # a door swings over objects lower than this
NEVER_OPENED = ("window",)  # the generator reserves no space for the sash
_ON = {"on": "off", "running": "off", "lit": "unlit"}  # states of switchable objects, on -> off


class HandledHouse(NamedTuple):
    """The house after an action, and the object that the robot then holds."""

    house: House
    held: HouseObject | None


class HandlingRefused(NamedTuple):
    """The reason why an action was refused."""

    why: str


def opens(kind: str) -> bool:
    """Return whether objects of this kind can be opened and closed."""
    known = KINDS.get(kind)
    return known is not None and {"open", "closed"} <= set(known.states) and kind not in NEVER_OPENED


def switches(kind: str) -> tuple[str, str] | None:
    """Return the states (on, off) of this kind; None for a kind that cannot be switched."""
    states = KINDS[kind].states if kind in KINDS else ()
    return next(((on, off) for on, off in _ON.items() if on in states and off in states), None)


def liftable(obj: HouseObject) -> bool:
    """Return whether a robot can pick the object up: it is small, not fixed, and not furniture."""
    small = max(obj.size) <= LIFT_M and obj.size[2] > FLAT_M
    return small and not surfaces_of(obj) and obj.relation in ("on", "in", "under", "floor")


def surfaces_of(obj: HouseObject) -> list[Surface]:
    """Return the surfaces on or in the object where others can be placed, in its local frame."""
    kind = KINDS.get(obj.kind)
    return [] if kind is None or kind.surfaces is None else kind.surfaces(_look(obj, obj.state))


class Manipulator:
    """Handles objects for a robot at a pose in a house, with the object that it holds."""

    def __init__(self, house: House, pose: Pose2, robot: RobotModel, held: HouseObject | None) -> None:
        self._house, self._pose, self._robot, self._held = house, pose, robot, held

    def handle(self, verb: str, instance: int) -> HandledHouse | HandlingRefused:
        """Apply one of sim_bridge.simulator.VERBS to an object of the house."""
        if self._held is not None and self._held.id == instance:
            return HandlingRefused("it is in the robot's hand")
        obj = self._house.object_by_id(instance)
        if self.distance(obj) > REACH_M or obj.position[2] > REACH_UP_M:
            return HandlingRefused("it is out of reach")
        if verb == "pick":
            return self._pick(obj)
        if verb == "place":
            return self._place(obj)
        return self._open(obj, verb) if verb in ("open", "close") else self._switch(obj, verb == "switch_on")

    def distance(self, obj: HouseObject) -> float:
        """Return the horizontal distance from the robot to the object's nearest side, metres; 0 in its footprint."""
        return obj.distance(self._pose.x, self._pose.y)

    def _pick(self, obj: HouseObject) -> HandledHouse | HandlingRefused:
        if self._held is not None:
            return HandlingRefused(f"the robot holds the {self._held.kind}, and only one object at a time")
        if not liftable(obj):
            return HandlingRefused("it cannot be picked up")
        if any(other.support == obj.id for other in self._house.objects):
            return HandlingRefused("something stands on it")
        if obj.support and obj.relation == "in" and self._house.object_by_id(obj.support).state == "closed":
            return HandlingRefused(f"the {self._house.object_by_id(obj.support).kind} that it is in is closed")
        objects = [t for t in self._house.objects if t is not obj]
        return HandledHouse(replace(self._house, objects=objects), replace(obj, relation="held", support=0))

    def _place(self, support: HouseObject) -> HandledHouse | HandlingRefused:
        if self._held is None:
            return HandlingRefused("the robot holds nothing")
        surfaces = surfaces_of(support)
        if not surfaces:
            return HandlingRefused("nothing can be put on it")
        placed = [t for surface in surfaces for t in self._spots(support, surface, self._held)]
        if not placed:
            return HandlingRefused("there is no free place on it within reach")
        best = min(placed, key=lambda t: (math.dist(t.position[:2], (self._pose.x, self._pose.y)), t.position))
        return HandledHouse(replace(self._house, objects=[*self._house.objects, best]), None)

    def _spots(self, support: HouseObject, surface: Surface, held: HouseObject) -> list[HouseObject]:
        """Return copies of the held object, one at each free place of a surface within reach."""
        inset_x, inset_y = held.size[0] / 2, held.size[1] / 2
        width, depth = surface.x1 - surface.x0 - 2 * inset_x, surface.y1 - surface.y0 - 2 * inset_y
        if width < 0 or depth < 0 or held.size[2] > surface.clear:
            return []
        occupied = [block_of(t) for t in self._house.objects if t.support == support.id]
        found = []
        for i in range(int(width / STEP_M) + 1):
            for j in range(int(depth / STEP_M) + 1):
                at = (surface.x0 + inset_x + i * STEP_M, surface.y0 + inset_y + j * STEP_M, surface.z)
                x, y, z = (round(float(v), 4) for v in placed_at(support, at))
                obj = replace(held, position=(x, y, z), yaw=support.yaw, room=support.room, support=support.id,
                              relation=surface.relation)
                if self.distance(obj) <= REACH_M and not any(block_of(obj).meets(block) for block in occupied):
                    found.append(obj)
        return found

    def _open(self, obj: HouseObject, verb: str) -> HandledHouse | HandlingRefused:
        state = "open" if verb == "open" else "closed"
        if obj.kind == "front door" or not opens(obj.kind):
            return HandlingRefused("it is locked" if obj.kind == "front door" else
                                   f"it cannot be {'opened' if verb == 'open' else 'closed'}")
        if obj.state == state:
            return HandlingRefused(f"it is {state} already")
        candidates = self._leaves(obj, state) if obj.kind == "door" else [rebuilt(obj, state)]
        fits = next((new for new in candidates if not self._meets(obj, new)), None)
        return HandlingRefused("something is in its way") if fits is None else self._with(obj, fits)

    def _switch(self, obj: HouseObject, on: bool) -> HandledHouse | HandlingRefused:
        states = switches(obj.kind)
        if states is None:
            return HandlingRefused("it cannot be switched")
        state = states[0] if on else states[1]
        if obj.state == state:
            return HandlingRefused(f"it is {state} already")
        return self._with(obj, rebuilt(obj, state))

    def _with(self, old: HouseObject, new: HouseObject) -> HandledHouse:
        objects = [new if t is old else t for t in self._house.objects]
        return HandledHouse(replace(self._house, objects=objects), self._held)

    def _meets(self, old: HouseObject, new: HouseObject) -> bool:
        """Return whether the new form overlaps an object that the old form does not."""
        before, after = block_of(old), block_of(new)
        others = [block_of(t) for t in self._house.objects
                  if t is not old and t.support != old.id and t.size[2] > FLAT_M and (t.solid or t.relation == "floor")]
        return any(after.meets(block) and not before.meets(block) for block in others)

    def _leaves(self, leaf: HouseObject, state: str) -> list[HouseObject]:
        """Return the possible forms of a door: closed in its opening, or open into either room with either hinge."""
        opening = next((o for o in self._house.openings if o.object_id == leaf.id), None)
        if opening is None:
            return []
        rooms = [r for r in self._house.rooms if r.id in opening.rooms]
        rooms.sort(key=lambda r: r.id != leaf.room)
        if state == "closed":
            return [_closed_leaf(leaf, opening, rooms[0], self._house)]
        return [_open_leaf(leaf, opening, room, first, self._house) for room in rooms for first in (True, False)]


def rebuilt(obj: HouseObject, state: str) -> HouseObject:
    """Return the object in another state: the same body, opened or closed, on or off."""
    kind, look = KINDS[obj.kind], _look(obj, state)
    shift = (look.swing - (kind.swing if obj.state == "open" else 0.0)) / 2
    x, y, z = obj.position
    parts = kind.build(look)
    height = round(max(p.centre[2] + p.size[2] / 2 for p in parts), 4)
    return replace(obj, state=state, parts=parts, paint=look.colour, tall_m=look.height,
                   position=(x + shift * math.cos(obj.yaw), y + shift * math.sin(obj.yaw), z),
                   size=(look.depth, look.width, look.height if abs(height - look.height) < 0.03 else height))


def _look(obj: HouseObject, state: str) -> Look:
    """Return the look of the object in this state. Its id seeds the random choices, so that they repeat."""
    kind = KINDS[obj.kind]
    swing = kind.swing if state == "open" else 0.0
    depth = obj.size[0] - (kind.swing if obj.state == "open" else 0.0) + swing
    return Look(round(depth, 3), obj.size[1], obj.tall_m or obj.size[2], obj.paint or obj.colour,
                obj.material, state, Dice(obj.id), swing)


def _closed_leaf(leaf: HouseObject, opening: Opening, room: Room, house: House) -> HouseObject:
    side, low, high = _wall(opening, room, house)
    middle = ((opening.x0 + opening.x1) / 2, (opening.y0 + opening.y1) / 2, 0.0)
    return _hung(leaf, "closed", middle, YAW[side], (leaf.size[0], high - low, opening.z1), room)


def _open_leaf(leaf: HouseObject, opening: Opening, room: Room, first: bool, house: House) -> HouseObject:
    """Return the leaf swung into the room, hinged at the lower (first) or upper end of the opening."""
    side, low, high = _wall(opening, room, house)
    width = high - low - 0.06
    along, reach = low - 0.075 if first else high + 0.075, (width + 0.02) / 2
    x, y = {"west": (room.x0 + reach, along), "east": (room.x1 - reach, along), "south": (along, room.y0 + reach),
            "north": (along, room.y1 - reach)}[side]
    return _hung(leaf, "open", (x, y, 0.0), YAW[side] - math.pi / 2, (0.11, width, opening.z1 - 0.02), room)


def _hung(leaf: HouseObject, state: str, position: tuple[float, float, float], yaw: float,
          size: tuple[float, float, float], room: Room) -> HouseObject:
    look = replace(leaf, state=state, position=position, yaw=yaw, size=size, tall_m=size[2], room=room.id)
    return rebuilt(look, state)


def _wall(opening: Opening, room: Room, house: House) -> tuple[str, float, float]:
    """Return the wall of the room that holds the opening, and where along it the opening begins and ends."""
    if opening.y0 == opening.y1:
        side = "south" if abs(opening.y0 - room.y0) < house.wall_thickness_m else "north"
        return side, opening.x0, opening.x1
    return "west" if abs(opening.x0 - room.x0) < house.wall_thickness_m else "east", opening.y0, opening.y1
