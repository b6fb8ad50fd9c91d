"""Handling of objects in a house: carries out the actions of actions.yaml; each returns the changed house.

A house is never changed in place. Handling returns a new one, because the original is kept for other episodes.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.robot import RobotModel
from sim_bridge.house.actions import (
    ACTIONS,
    HANDS,
    LIFTABLE,
    LOSE,
    NOTHING,
    OBJECT,
    OFF,
    ON,
    OPENS,
    PUT,
    SURFACE,
    SWITCHES,
    TAKE,
    ActionRule,
)
from sim_bridge.house.catalogue import KINDS
from sim_bridge.house.dice import Dice
from sim_bridge.house.kinds import Look, Surface
from sim_bridge.house.marks import marked
from sim_bridge.house.meshes import placed_at
from sim_bridge.house.scene import House, HouseObject, Opening, Room
from sim_bridge.house.space import YAW, Block, block_of

REACH_M, REACH_UP_M = 1.2, 1.9  # maximum distance of the robot's centre to the object; maximum height of its lower edge
LIFT_M = 0.5  # maximum side length of an object that can be picked up
STEP_M = 0.04  # spacing of candidate places on a surface
FLAT_M = 0.03  # a door swings over objects lower than this
NEVER_OPENED = ("window",)  # the generator reserves no space for the sash
_ON = {"on": "off", "running": "off", "lit": "unlit"}  # states of switchable objects, on -> off


class HandledHouse(NamedTuple):
    """The house after an action, the object that the robot then holds, and what is said about it."""

    house: House
    held: HouseObject | None
    reply: str = ""


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


def belongs(obj: HouseObject, rule: ActionRule) -> bool:
    """Return whether an action can be done to objects of this kind at all."""
    groups = {LIFTABLE: liftable(obj), SURFACE: bool(surfaces_of(obj)), OPENS: opens(obj.kind),
              SWITCHES: switches(obj.kind) is not None}
    return obj.kind in rule.object or any(groups.get(word, False) for word in rule.object)


def meant(kind: str, rule: ActionRule, state: str) -> str:
    """Return a state of a rule in the words of a kind: "on" of a tap is "running"."""
    pair = switches(kind) if rule.object == (SWITCHES,) else None
    return state if pair is None else dict(zip((ON, OFF), pair, strict=True)).get(state, state)


class Manipulator:
    """Handles objects for a robot at a pose in a house, with the object that it holds."""

    def __init__(self, house: House, pose: Pose2, robot: RobotModel, held: HouseObject | None) -> None:
        self._house, self._pose, self._robot, self._held = house, pose, robot, held

    def handle(self, action: str, instance: int) -> HandledHouse | HandlingRefused:
        """Apply an action of actions.yaml to an object of the house, or to the one in the robot's hand."""
        rule, held = ACTIONS[action], self._held
        inside = held is not None and held.id == instance
        if held is not None and inside and rule.held != (OBJECT,):
            return HandlingRefused("it is in the robot's hand")
        obj = held if held is not None and inside else self._house.object_by_id(instance)
        if not inside and (self.distance(obj) > REACH_M or obj.position[2] > REACH_UP_M):
            return HandlingRefused("it is out of reach")
        why = self._unfit(rule, obj) or self._unmet(rule, obj)
        return HandlingRefused(why) if why else self._carried_out(rule, obj)

    def distance(self, obj: HouseObject) -> float:
        """Return the horizontal distance from the robot to the object's nearest side, metres; 0 in its footprint."""
        return obj.distance(self._pose.x, self._pose.y)

    def hand_unmet(self, rule: ActionRule, obj: int = 0) -> str:
        """Return what the robot's hand lacks for an action on an object, "" = nothing."""
        held, wanted = self._held, rule.held
        if not wanted:
            return ""
        if wanted == (NOTHING,):
            return "" if held is None else f"the robot holds the {held.kind}, and only one object at a time"
        if held is None:
            return "the robot holds nothing"
        if wanted == (OBJECT,) and held.id != obj:
            return "the robot must hold it"
        if wanted[0] not in HANDS and held.kind not in wanted:
            return f"that needs a {' or a '.join(wanted)}, and the robot holds the {held.kind}"
        if rule.held_state and held.state not in rule.held_state:
            return f"the {held.kind} is {held.state or 'not ready'}"
        return ""

    def _unfit(self, rule: ActionRule, obj: HouseObject) -> str:
        """Return why an action cannot be done to this object, whatever its state."""
        hand = self.hand_unmet(rule, obj.id) if rule.hand in (TAKE, PUT) else ""
        return hand or ("" if belongs(obj, rule) else rule.unfit_kind.get(obj.kind, rule.unfit))

    def _unmet(self, rule: ActionRule, obj: HouseObject) -> str:
        """Return the first requirement that is not met, "" = none."""
        hand = self.hand_unmet(rule, obj.id)
        states = [meant(obj.kind, rule, state) for state in rule.state]
        if rule.hand == TAKE and (why := self._stuck(obj)):
            return why
        if states and obj.state not in states:
            new = meant(obj.kind, rule, rule.becomes)
            return f"it is {new} already" if obj.state == new else f"it is not {states[0]}"
        if hand:
            return hand
        beside = [t for t in self._house.objects if t.kind in rule.near and self.distance(t) <= REACH_M]
        if rule.near and not beside:
            return f"there is no {' or '.join(rule.near)} within reach"
        if rule.near_state and not any(t.state in rule.near_state for t in beside):
            return f"the {beside[0].kind} is not {rule.near_state[0]}"
        return ""

    def _stuck(self, obj: HouseObject) -> str:
        """Return why an object cannot be lifted, "" = it can."""
        if any(other.support == obj.id for other in self._house.objects):
            return "something stands on it"
        if obj.support and obj.relation == "in" and self._house.object_by_id(obj.support).state == "closed":
            return f"the {self._house.object_by_id(obj.support).kind} that it is in is closed"
        return ""

    def _carried_out(self, rule: ActionRule, obj: HouseObject) -> HandledHouse | HandlingRefused:
        """Apply the effects of an action whose requirements are met."""
        reply, before = self._reply(rule, obj), HandledHouse(self._house, self._held)
        done: HandledHouse | HandlingRefused = before
        if rule.hand in (TAKE, PUT):
            done = self._taken(obj) if rule.hand == TAKE else self._place(obj)
        elif rule.becomes and rule.object == (OPENS,):
            done = self._open(obj, rule)
        elif rule.becomes:
            done = self._with(obj, rebuilt(obj, meant(obj.kind, rule, rule.becomes)))
        elif rule.disappears:
            done = self._with(obj, None)
        elif rule.moves_m:
            done = self._rolled(obj, rule.moves_m)
        elif rule.appears:
            done = self._appeared(rule.appears, obj)
        if isinstance(done, HandlingRefused):
            return done
        held = done.held
        if held is not None and rule.held_becomes:
            held = rebuilt(held, rule.held_becomes)
        return HandledHouse(done.house, None if rule.hand == LOSE else held, reply)

    def _reply(self, rule: ActionRule, obj: HouseObject) -> str:
        return rule.reply.format(object=obj.kind, held=self._held.kind if self._held is not None else "")

    def _taken(self, obj: HouseObject) -> HandledHouse:
        objects = [t for t in self._house.objects if t is not obj]
        return HandledHouse(replace(self._house, objects=objects), replace(obj, relation="held", support=0))

    def _rolled(self, obj: HouseObject, metres: float) -> HandledHouse | HandlingRefused:
        """Move an object away from the robot, on what it lies on."""
        dx, dy = obj.position[0] - self._pose.x, obj.position[1] - self._pose.y
        length = math.hypot(dx, dy) or 1.0
        x, y = obj.position[0] + metres * dx / length, obj.position[1] + metres * dy / length
        moved = replace(obj, position=(round(x, 4), round(y, 4), obj.position[2]))
        if obj.relation != "floor" or self._house.room_at(x, y) is None or self._meets(obj, moved):
            return HandlingRefused("something is in its way")
        return self._with(obj, moved)

    def _appeared(self, kind: str, support: HouseObject) -> HandledHouse:
        """Put a new object of a kind on top of another."""
        top = (support.position[0], support.position[1], support.position[2] + support.size[2])
        new = made(kind, 1 + max(t.id for t in self._house.objects), Dice(support.id))
        new = replace(new, position=top, yaw=support.yaw, room=support.room, support=support.id, relation="on")
        return HandledHouse(replace(self._house, objects=[*self._house.objects, new]), self._held)

    def _place(self, support: HouseObject) -> HandledHouse | HandlingRefused:
        assert self._held is not None
        placed = [t for t in spots(self._house, support, self._held) if self.distance(t) <= REACH_M]
        if not placed:
            return HandlingRefused("there is no free place on it within reach")
        best = min(placed, key=lambda t: (math.dist(t.position[:2], (self._pose.x, self._pose.y)), t.position))
        return HandledHouse(replace(self._house, objects=[*self._house.objects, best]), None)

    def _open(self, obj: HouseObject, rule: ActionRule) -> HandledHouse | HandlingRefused:
        state = rule.becomes
        candidates = self._leaves(obj, state) if obj.kind == "door" else [rebuilt(obj, state)]
        fits = next((new for new in candidates if not self._meets(obj, new)), None)
        return HandlingRefused("something is in its way") if fits is None else self._with(obj, fits)

    def _with(self, old: HouseObject, new: HouseObject | None) -> HandledHouse:
        """Return the house with an object replaced or, if new is None, removed; it may be the one in the hand."""
        if self._held is old:
            return HandledHouse(self._house, new)
        objects = [t if t is not old else new for t in self._house.objects]
        return HandledHouse(replace(self._house, objects=[t for t in objects if t is not None]), self._held)

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


def spots(house: House, support: HouseObject, obj: HouseObject) -> list[HouseObject]:
    """Return copies of an object, one at each free place on or in another."""
    occupied = [block_of(t) for t in house.objects if t.support == support.id]
    return [t for surface in surfaces_of(support) for t in _spots(support, surface, obj, occupied)]


def _spots(support: HouseObject, surface: Surface, obj: HouseObject, occupied: list[Block]) -> list[HouseObject]:
    inset_x, inset_y = obj.size[0] / 2, obj.size[1] / 2
    width, depth = surface.x1 - surface.x0 - 2 * inset_x, surface.y1 - surface.y0 - 2 * inset_y
    if width < 0 or depth < 0 or obj.size[2] > surface.clear:
        return []
    found = []
    for i in range(int(width / STEP_M) + 1):
        for j in range(int(depth / STEP_M) + 1):
            at = (surface.x0 + inset_x + i * STEP_M, surface.y0 + inset_y + j * STEP_M, surface.z)
            x, y, z = (round(float(v), 4) for v in placed_at(support, at))
            put = replace(obj, position=(x, y, z), yaw=support.yaw, room=support.room, support=support.id,
                          relation=surface.relation)
            if not any(block_of(put).meets(block) for block in occupied):
                found.append(put)
    return found


def made(kind: str, instance: int, dice: Dice, state: str = "") -> HouseObject:
    """Return a new object of a kind, at the origin."""
    known = KINDS[kind]
    depth, width, height = (dice.between(*span) for span in (known.depth, known.width, known.height))
    width = depth if known.depth == known.width else width
    colour, material = dice.pick(known.colours), dice.pick(known.materials)
    new = HouseObject(instance, kind, 0, (0.0, 0.0, 0.0), 0.0, (depth, width, height), colour, material, "",
                      paint=colour, tall_m=height, solid=known.solid)
    return rebuilt(new, state or known.states[0])


def rebuilt(obj: HouseObject, state: str) -> HouseObject:
    """Return the object in another state: the same body, opened or closed, on or off."""
    kind, look = KINDS[obj.kind], _look(obj, state)
    shift = (look.swing - (kind.swing if obj.state == "open" else 0.0)) / 2
    x, y, z = obj.position
    parts = marked(obj.kind, state, kind.build(look))
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
