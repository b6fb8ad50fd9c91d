"""The people of a house with chores: they have a name and a role, know where something is, and want something.

They stay where they are unless the robot asks them to follow it, and what they do depends on the house and on the
robot's actions only, so an episode is the same on every machine.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import NamedTuple

import numpy as np
import yaml

from eqa_nodes.core.types.geometry import Pose2, wrap
from eqa_nodes.core.types.views import Label
from sim_bridge.house.actions import (
    ASLEEP,
    AWAKE,
    FOLLOW,
    FOLLOWING,
    GIVE,
    POINT,
    STAY,
    WAKE,
    WANTED,
    ActionRule,
)
from sim_bridge.house.handling import liftable
from sim_bridge.house.people.bodies import LIE, SIT, STAND, capsules, carried
from sim_bridge.house.people.inhabitants import SEATS, Inhabitant, Inhabitants, sits_at
from sim_bridge.house.questions.facts import HouseFacts
from sim_bridge.house.scene import HouseObject
from sim_bridge.house.world import HouseWorld

TALK_M = 1.6  # maximum distance of the robot's centre from a person to whom it speaks
_BEHIND_M = 0.85  # distance of a person who follows the robot
_SITS, _SLEEPS = 0.4, 0.35  # probabilities


@dataclass
class Resident(Inhabitant):
    """One person. known, wanted: ids of the object whose place they know, and of the one they would like to have."""

    name: str = ""
    role: str = ""
    known: int = 0
    place: str = ""
    wanted: int = 0
    asleep: bool = False
    follows: bool = False
    points_at: int = 0
    holds: HouseObject | None = None

    @property
    def state(self) -> str:
        """Return awake, asleep or following."""
        return ASLEEP if self.asleep else FOLLOWING if self.follows else AWAKE


class SocialResult(NamedTuple):
    """What came of an action on a person: whether it was done, what was said or why not, and what the robot holds."""

    done: bool
    message: str
    held: HouseObject | None


class Residents(Inhabitants):
    """The people of a house with chores."""

    people: list[Resident]  # type: ignore[assignment]

    def __init__(self, world: HouseWorld, count: int, robot_radius_m: float) -> None:
        super().__init__(world, count, 0, world.house.start, robot_radius_m)
        women, men = ([pairs[int(i)] for i in self._rng.permutation(len(pairs))] for pairs in _who())
        who = [pair for both in zip(women, men, strict=False) for pair in both][:count]
        self.people = [Resident(p.id, p.looks, p.pose, name=str(name), role=str(role))
                       for p, (name, role) in zip(self.people, who)]
        for person in self.people:
            self._settle(person)
        self._kinds = {t.id: t.kind for t in world.house.objects}
        self._informed(HouseFacts(world.house))

    def by_id(self, instance: int) -> Resident | None:
        """Return the person with this instance id, None if it is nobody's."""
        return next((p for p in self.people if p.id == instance), None)

    def advance(self, seconds: float, robot: Pose2) -> None:
        """Let those who follow the robot catch up with it; the others stay where they are."""
        dx, dy = self._robot.x - robot.x, self._robot.y - robot.y
        metres = math.hypot(dx, dy)
        if metres > 1e-6:
            share = min(_BEHIND_M, metres) / metres
            for person in self.people:
                if person.follows:
                    person.pose = Pose2(robot.x + share * dx, robot.y + share * dy, math.atan2(-dy, -dx))
                    person.posture, person.seat, person.rises = STAND, None, None
        self._robot = robot

    def at(self, x: float, y: float, radius_m: float) -> bool:
        """Return whether a person who does not follow it overlaps a robot of this radius at a point."""
        return any(math.hypot(x - px, y - py) < reach + radius_m
                   for p in self.people if not p.follows for px, py, reach in p.solid())

    def blocks(self, x: float, y: float, to_x: float, to_y: float, radius_m: float) -> bool:
        """Return whether a person who does not follow it is in the way of a robot."""
        return self.at(to_x, to_y, radius_m) and not self.at(x, y, radius_m)

    def bodies(self) -> list[tuple[int, np.ndarray]]:
        """Return label and capsules of every person, and of what they hold."""
        found = []
        for p in self.people:
            seat_m = SEATS[p.seat.kind] if p.seat is not None else 0.0
            found.append((p.id, capsules(p.pose, p.posture, 0.0, seat_m, p.looks, self._pointing(p))))
            if p.holds is not None:
                held = carried(p.pose, p.posture, seat_m, p.holds.size, p.holds.colour or p.holds.paint)
                found.append((p.holds.id, held))
        return found

    def labels(self) -> dict[int, Label]:
        """Return the label of every person, and of what they hold."""
        found = {}
        for label, p in zip(super().labels().values(), self.people, strict=True):
            found[p.id] = label._replace(attributes={**label.attributes, "name": p.name, "role": p.role,
                                                     "awake": "no" if p.asleep else "yes"})
            if p.holds is not None:
                found[p.holds.id] = Label(p.holds.id, p.holds.kind, label.room,
                                          {"relation": "held", "support": p.name, "state": p.holds.state})
        return found

    def approach(self, rule: ActionRule, person: Resident, held: HouseObject | None, unmet: str) -> SocialResult:
        """Carry out an action on a person. unmet: what the robot's hand lacks, "" = nothing."""
        why = self._refusal(rule, person, held) or unmet
        if why:
            return SocialResult(False, why, held)
        said = rule.reply.format(object=person.name, name=person.name, role=person.role, place=person.place,
                                 known=self._kind(person.known), wanted=self._kind(person.wanted),
                                 held=held.kind if held is not None else "")
        if rule.person in (FOLLOW, STAY):
            person.follows = rule.person == FOLLOW
        if rule.person == WAKE:
            person.asleep, person.posture = False, SIT
            if person.seat is not None and person.rises is not None:
                person.pose = sits_at(person.seat, person.rises)
        if rule.person == POINT:
            person.points_at = person.known
        if rule.hand == GIVE and held is not None:
            person.holds, held = replace(held, relation="held", support=person.id), None
        return SocialResult(True, said, held)

    def _refusal(self, rule: ActionRule, person: Resident, held: HouseObject | None) -> str:
        if math.hypot(person.pose.x - self._robot.x, person.pose.y - self._robot.y) > TALK_M:
            return f"{person.name} is too far away"
        states = rule.state or (AWAKE, FOLLOWING)
        if person.state not in states:
            return f"{person.name} is {person.state}"
        if rule.held == (WANTED,) and held is not None and held.id != person.wanted:
            return f"{person.name} does not need the {held.kind}"
        return ""

    def _settle(self, p: Resident) -> None:
        """Let a person sit, sleep or stand where they were put."""
        draw = float(self._rng.random())
        beds = [t for t in self._seats if t.kind == "bed"]
        seats = beds if draw < _SLEEPS else self._seats if draw < _SLEEPS + _SITS else []
        every, self._seats = self._seats, seats
        before = self._seat(p) if seats else None
        self._seats = every
        if before is None or p.seat is None:
            return
        p.rises, p.posture, p.pose = before, SIT, sits_at(p.seat, before)
        if draw < _SLEEPS:
            p.asleep, p.posture = True, LIE
            p.pose = Pose2(p.seat.position[0], p.seat.position[1], p.seat.yaw)

    def _informed(self, facts: HouseFacts) -> None:
        """Tell each person where something is, and let them want something else."""
        things = [t for t in facts.objects if liftable(t) and facts.alone(t, facts.objects) and facts.place(t)]
        order = [things[int(i)] for i in self._rng.permutation(len(things))]
        for number, p in enumerate(self.people):
            mine = order[2 * number:2 * number + 2]
            if len(mine) == 2:
                p.known, p.place, p.wanted = mine[0].id, facts.place(mine[0]) or "", mine[1].id

    def _kind(self, instance: int) -> str:
        """Return the kind of an object that a person speaks about."""
        return self._kinds.get(instance, "thing")

    def _pointing(self, p: Resident) -> float | None:
        """Return the direction in which a person points, from straight ahead, radians; None if they do not."""
        target = next((t for t in self._world.house.objects if t.id == p.points_at), None)
        if target is None:
            return None
        return wrap(math.atan2(target.position[1] - p.pose.y, target.position[0] - p.pose.x) - p.pose.yaw)


@cache
def _who() -> tuple[list[tuple[str, str]], ...]:
    """Return pairs of a name and a role, of women and of men."""
    content = yaml.safe_load(resources.files(__package__).joinpath("residents.yaml").read_text(encoding="utf-8"))
    return tuple([(name, group["roles"][i % len(group["roles"])]) for i, name in enumerate(group["names"])]
                 for group in content.values())
