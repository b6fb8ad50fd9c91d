"""The behaviour of the people of a house: they sit, stand and walk between rooms by a seeded schedule.

Their movement depends only on the seed, simulated time and the robot's pose: an episode in lock-step is the same on a
slow and on a fast machine. They never collide; if someone is in their way, they wait or choose another destination.
Nobody stays where they would cut off a part of the house.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy import ndimage

from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.robot import RobotModel
from eqa_nodes.core.types.views import Label
from sim_bridge.house.people.bodies import (
    FEET_M,
    HEIGHT_M,
    RADIUS_M,
    SIT,
    STAND,
    WALK,
    Looks,
    capsules,
    discs,
    looks_of,
)
from sim_bridge.house.physics import FreeSpace
from sim_bridge.house.scene import HouseObject
from sim_bridge.house.world import HouseWorld

BESIDE_M = 0.1  # distance that a passing robot keeps from people and furniture
_REST = 0.97  # minimum share of the floor that stays connected; the rest are corners behind a person


class Passing:
    """The floor on which a robot of one radius can move."""

    def __init__(self, space: FreeSpace, robot_radius_m: float) -> None:
        self._radius_m = robot_radius_m + BESIDE_M
        self._free, self._at = space.nodes(self._radius_m)
        pieces, count = ndimage.label(self._free, np.ones((3, 3)))
        sizes = np.bincount(pieces[self._free], minlength=count + 1)
        self._floor = self._free & (pieces == int(np.argmax(sizes)))

    def left_by(self, discs: Sequence[tuple[float, float, float]]) -> bool:
        """Return whether discs (x, y, radius in metres) leave the floor connected."""
        clear = np.ones(len(self._at), bool)
        for x, y, reach in discs:
            clear &= np.hypot(self._at[:, 0] - x, self._at[:, 1] - y) >= reach + self._radius_m
        left = self._floor.copy()
        left[self._free] &= clear
        pieces, count = ndimage.label(left, np.ones((3, 3)))
        return count == 0 or bool(np.bincount(pieces[left]).max() >= _REST * left.sum())


TICK_S = 0.1  # step of simulated time
SPEED_M_S, STRIDE_M = 0.8, 1.3  # walking speed; length of two steps
SEATS = {"sofa": 0.43, "armchair": 0.43, "chair": 0.46, "office chair": 0.46, "bench": 0.44, "bed": 0.5,
         "weight bench": 0.42, "ottoman": 0.4, "stool": 0.45}  # height of the seat, metres
_BODY = RobotModel(radius_m=RADIUS_M, height_m=HEIGHT_M)
_ROOM_M = 0.4  # clearance of a standing place
_APART_M = 0.12  # distance that people keep from the robot and from each other
_AWAY_M = 1.0  # distance from the robot at the start of an episode
_PATIENCE_S = 4.0  # waiting time before they choose another destination
_SITS, _STANDS = (60.0, 240.0), (8.0, 45.0)  # seconds
_TRIES = 30


@dataclass
class Inhabitant:
    """One person. path: remaining corners of the path; until_s: end of the current activity."""

    id: int
    looks: Looks
    pose: Pose2
    posture: str = STAND
    until_s: float = 0.0
    path: list[tuple[float, float]] = field(default_factory=list)
    seat: HouseObject | None = None  # where they sit or intend to sit
    rises: Pose2 | None = None  # pose of a sitting person before they sat down
    walked_m: float = 0.0
    waited_s: float = 0.0

    def solid(self) -> list[tuple[float, float, float]]:
        """Return the obstacle discs on the floor."""
        return discs(self.pose, self.posture)


class Inhabitants:
    """The people of one episode."""

    def __init__(self, world: HouseWorld, count: int, seed: int, robot: Pose2, robot_radius_m: float) -> None:
        """robot: start pose of the robot, near which nobody begins."""
        self._rng = np.random.default_rng((world.house.seed, seed, count))
        self._now_s = self._left_s = 0.0
        self._robot, self._robot_radius_m = robot, robot_radius_m
        self.people: list[Inhabitant] = []
        self.live_in(world)
        first = max((t.id for t in world.house.objects), default=0) + 1
        for number in range(count if len(self._spots) else 0):
            self.people.append(Inhabitant(first + number, looks_of(self._rng), self._spot(away_m=_AWAY_M)))
            self.people[-1].until_s = float(self._rng.uniform(0.0, _STANDS[0]))

    def live_in(self, world: HouseWorld) -> None:
        """Adopt a changed house: a closed door is no longer passable. People who were walking choose again.

        Occupied seats stay occupied.
        """
        self._world, self._space = world, world.space(_BODY)
        self._spots, self._passing = self._space.nodes(_ROOM_M)[1], Passing(self._space, self._robot_radius_m)
        self._seats = [obj for obj in world.house.objects if obj.kind in SEATS and obj.relation == "floor"]
        for person in self.people:
            if person.path:
                self._give_up(person)

    def fit(self, world: HouseWorld) -> bool:
        """Return whether no person would be in the way in this changed house."""
        places = [person.rises or person.pose for person in self.people]  # a sitting person needs room to rise
        return all(world.space(_BODY).clearance(*at[:2]) >= min(RADIUS_M, self._space.clearance(*at[:2]))
                   for at in places)

    def at(self, x: float, y: float, radius_m: float) -> bool:
        """Return whether a person overlaps a robot of this radius at a point."""
        return any(math.hypot(x - px, y - py) < reach + radius_m for p in self.people for px, py, reach in p.solid())

    def advance(self, seconds: float, robot: Pose2) -> None:
        """Advance the people's time beside a robot at this pose."""
        self._robot = robot
        self._left_s += seconds
        while self._left_s >= TICK_S - 1e-9:
            self._left_s -= TICK_S
            self._now_s += TICK_S
            for person in self.people:
                self._tick(person)

    def blocks(self, x: float, y: float, to_x: float, to_y: float, radius_m: float) -> bool:
        """Return whether a person blocks a robot that moves from one point to another. Moving away is never blocked.
        """
        for person in self.people:
            for px, py, reach in person.solid():
                there = math.hypot(to_x - px, to_y - py)
                if there < reach + radius_m and there < math.hypot(x - px, y - py):
                    return True
        return False

    def bodies(self) -> list[tuple[int, np.ndarray]]:
        """Return label and capsules of every person."""
        return [(p.id, capsules(p.pose, p.posture, 2 * math.pi * p.walked_m / STRIDE_M,
                                SEATS[p.seat.kind] if p.seat is not None else 0.0, p.looks)) for p in self.people]

    def labels(self) -> dict[int, Label]:
        """Return the label of every person: their room, activity, and shirt colour."""
        found = {}
        for p in self.people:
            room = self._world.house.room_at(p.pose.x, p.pose.y)
            found[p.id] = Label(p.id, "person", (room.name or room.kind) if room is not None else "",
                                {"colour": p.looks.shirt, "state": p.posture, "relation": "floor"})
        return found

    def _tick(self, p: Inhabitant) -> None:
        if p.path:
            self._walk(p)
        elif p.posture == WALK:
            self._arrive(p)
        elif self._now_s >= p.until_s:
            self._leave(p)

    def _walk(self, p: Inhabitant) -> None:
        left, (x, y), at = SPEED_M_S * TICK_S, p.path[0], p.pose
        length = math.hypot(x - at.x, y - at.y)
        share = min(1.0, left / length) if length > 0 else 1.0
        there = (at.x + share * (x - at.x), at.y + share * (y - at.y))
        if self._taken(p, (at.x, at.y), there, RADIUS_M):
            p.waited_s += TICK_S
            p.posture = STAND if p.waited_s > 2 * TICK_S else p.posture
            if p.waited_s > _PATIENCE_S:
                self._give_up(p)
            return
        p.waited_s, p.posture = 0.0, WALK
        p.walked_m += share * length
        p.pose = Pose2(*there, math.atan2(y - at.y, x - at.x) if length > 1e-6 else at.yaw)
        if share == 1.0:
            del p.path[0]

    def _give_up(self, p: Inhabitant) -> None:
        """Stand for a moment, then choose something else."""
        p.path, p.seat, p.posture, p.waited_s = [], None, STAND, 0.0
        p.until_s = self._now_s + float(self._rng.uniform(1.0, 4.0))

    def _arrive(self, p: Inhabitant) -> None:
        p.posture = STAND
        if p.seat is None:
            p.until_s = self._now_s + float(self._rng.uniform(*_STANDS))
            return
        seat = sits_at(p.seat, p.pose)
        here = (p.pose.x, p.pose.y)
        feet = seat.x + FEET_M * math.cos(seat.yaw), seat.y + FEET_M * math.sin(seat.yaw)
        if self._taken(p, here, (seat.x, seat.y), RADIUS_M) or self._taken(p, here, feet, 0.18):
            self._give_up(p)
            return
        p.rises, p.pose, p.posture = p.pose, seat, SIT
        p.until_s = self._now_s + float(self._rng.uniform(*_SITS))

    def _leave(self, p: Inhabitant) -> None:
        """Rise, and choose what to do next."""
        if p.posture == SIT and p.rises is not None:
            if self._taken(p, (p.pose.x, p.pose.y), (p.rises.x, p.rises.y), RADIUS_M):
                p.until_s = self._now_s + 1.0
                return
            p.pose, p.posture, p.rises = p.rises, STAND, None
        p.seat = None
        goal = self._seat(p) if self._seats and self._rng.random() < 0.45 else self._spot(person=p)
        path = self._space.shortest_path((p.pose.x, p.pose.y), (goal.x, goal.y), RADIUS_M)
        if len(path) < 2:
            self._give_up(p)
            return
        p.path = path[1:]

    def _spot(self, away_m: float = 0.0, person: Inhabitant | None = None) -> Pose2:
        """Draw a place to stand; if space is too narrow, return the spot farthest from all others."""
        others = np.array([(p.pose.x, p.pose.y) for p in self.people]).reshape(-1, 2)
        yaw = float(self._rng.uniform(-math.pi, math.pi))
        for _ in range(_TRIES):
            x, y = map(float, self._spots[int(self._rng.integers(len(self._spots)))])
            if (math.hypot(x - self._robot.x, y - self._robot.y) >= away_m
                    and (np.hypot(*(others - (x, y)).T) >= 3 * RADIUS_M).all()
                    and self._leaves_a_way(Pose2(x, y, yaw), STAND, person)):
                return Pose2(x, y, yaw)
        taken = np.vstack([others, (self._robot.x, self._robot.y)])
        apart = np.hypot(*(self._spots[:, None] - taken).T).min(axis=0)
        x, y = self._spots[int(np.argmax(apart))]
        return Pose2(float(x), float(y), yaw)

    def _seat(self, p: Inhabitant) -> Pose2:
        """Draw a free, reachable seat and return the pose in front of it; else any spot."""
        for _ in range(_TRIES):
            seat = self._seats[int(self._rng.integers(len(self._seats)))]
            ahead = seat.size[0] / 2 + RADIUS_M + 0.06
            before = Pose2(seat.position[0] + ahead * math.cos(seat.yaw), seat.position[1] + ahead * math.sin(seat.yaw),
                           seat.yaw)
            if (all(other.seat is not seat for other in self.people)
                    and self._space.free(before.x, before.y, RADIUS_M)
                    and self._leaves_a_way(sits_at(seat, before), SIT, p)):
                p.seat = seat
                return before
        return self._spot(person=p)

    def _leaves_a_way(self, pose: Pose2, posture: str, person: Inhabitant | None) -> bool:
        """Return whether a robot could still pass if a person stayed there, in addition to the others who stay."""
        staying = [disc for p in self.people if p is not person and p.posture != WALK for disc in p.solid()]
        return self._passing.left_by([*staying, *discs(pose, posture)])

    def _taken(self, p: Inhabitant, here: tuple[float, float], there: tuple[float, float], radius_m: float) -> bool:
        """Return whether the robot or another person is where this person goes; moves away from them are allowed."""
        taken = [(self._robot.x, self._robot.y, self._robot_radius_m)]
        for other in self.people:
            taken += other.solid() if other is not p else []
        for x, y, reach in taken:
            apart = math.hypot(there[0] - x, there[1] - y)
            if apart < reach + radius_m + _APART_M and apart < math.hypot(here[0] - x, here[1] - y):
                return True
        return False


def sits_at(seat: HouseObject, before: Pose2) -> Pose2:
    """Return the pose on a seat of a person who stood before it; on a wide seat, nearest to where they stood."""
    ahead = max(0.0, seat.size[0] / 2 - 0.28)
    c, s = math.cos(seat.yaw), math.sin(seat.yaw)
    aside = -(before.x - seat.position[0]) * s + (before.y - seat.position[1]) * c
    room = max(0.0, seat.size[1] / 2 - 0.3)
    aside = min(room, max(-room, aside))
    return Pose2(seat.position[0] + ahead * c - aside * s, seat.position[1] + ahead * s + aside * c, seat.yaw)
