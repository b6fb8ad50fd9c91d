"""Explores several floors for one question: each floor has a policy, and stairs lead to other floors."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.driving.planning import index_of
from eqa_nodes.core.errors import BadPose
from eqa_nodes.core.mapping.area import fenced
from eqa_nodes.core.policies.belief import rank_of
from eqa_nodes.core.policies.directed import DirectedFrontiers
from eqa_nodes.core.policies.steering import FAR_SNAP_M, ReachableArea, ReachablePose
from eqa_nodes.core.protocols import Policy
from eqa_nodes.core.types.floor import (
    STAIRS,
    Candidate,
    Decision,
    GridMap,
    Option,
    Staircase,
    WeighedOption,
    shows_stairs,
)
from eqa_nodes.core.types.questions import RankedRegion, Situation, ViewAssessment
from eqa_nodes.core.types.robot import RobotModel

Point3 = tuple[float, float, float]  # x, y and height in the map frame, metres
_THIS_FLOOR_M = 1.0  # views and staircase ends within this of a floor's height belong to the floor
_SAME_END_M, _TRIES = 0.5, 3  # number of attempts at an end of stairs; ends this close are the same one
_SAME_FOOT_M = 2.0  # stairs that begin this close to where the robot entered are the same stairs
_LEAVE, _RETURN = 0.6, 0.75  # minimum probability of the answer for a drive to another floor; to one visited before
_SURE_M = 1.0  # minimum known rise of stairs for leaving an unfinished floor
_STAIRS_M = 0.5 - 1e-6  # a smaller known rise is only a few steps, which may not lead to a floor
_LOOKS, _LOOKED_M, _WELL_M = 3, 1.0, 1.5  # drives per floor to see stairs; radius of a seen place; size of a stairwell
_AT_END_M = 0.5  # distance from the supposed end of stairs at which the robot has arrived but is on no floor
_FIXED_M = 2.0  # fixed cost of a drive when a model weighs stairs against other places, metres
_EVEN = 0.5
# Probability that a room of a two-storey home is on the upper storey, by common sense; _EVEN for other rooms.
_ABOVE = {"bedroom": 0.85, "closet": 0.75, "nursery": 0.9, "living room": 0.1, "family room": 0.15, "kitchen": 0.05,
          "dining room": 0.05, "entryway": 0.05, "foyer": 0.05, "pantry": 0.05, "garage": 0.02, "porch": 0.05,
          "laundry room": 0.25}
_SECOND = 0.3  # factor of this probability once such a room was seen on the other floor: there may be two
_SEARCHED_M2 = 40.0  # exploring this much floor finds an answer that is there in 63 of 100 cases




@dataclass
class _Floor:
    """A floor that the robot has visited: its policy, and how far it is explored."""

    z: float
    policy: Policy
    explored_m2: float = 0.0
    finished: bool = False  # the policy has nothing left there
    entered: bool = False  # the robot has looked round on arrival
    looked: int = 0  # number of drives to see stairs


class _Way(NamedTuple):
    """Stairs that the robot can take now: where they begin, how far they are known, and chance of the answer."""

    near: Point3
    far: Point3
    place: ReachablePose
    chance: float
    known: bool  # the robot has been on the floor they lead to

    @property
    def up(self) -> bool:
        return self.far[2] > self.near[2]

    @property
    def rise_m(self) -> float:
        """Height over which the stairs are known, up or down, metres."""
        return abs(self.far[2] - self.near[2])

    @property
    def direction(self) -> str:
        return "up" if self.up else "down"


class FloorPolicy:
    """Lets a policy decide about the floor that the robot is on, within the area of the question.

    Views of other floors are ignored, because their places are not on this map. A robot that climbs stairs changes
    floors if the policy has nothing left, if the answer is more probable there (`chance_there`), or if a model that
    weighs the options prefers the stairs. It follows stairs to their end, which comes into view only on the way.
    """

    def __init__(self, policy: Policy, seed: int, robot: RobotModel = RobotModel()) -> None:
        self._policy, self._seed, self._robot = policy, seed, robot
        self._fresh = copy.deepcopy(policy) if robot.stairs else policy  # each floor learns on its own
        self._floors: list[_Floor] = []
        self._climbed: list[Point3] = []  # ends of stairs that the robot was sent to
        self._looking: tuple[float, float] | None = None  # where the robot drives to see stairs
        self._looked: list[tuple[float, float]] = []  # where the robot stood to see stairs
        self._begun: tuple[Point3, bool] | None = None  # foot of the robot's current stairs, and whether they go up
        self._directed = DirectedFrontiers()
        policy.reset(seed)

    def options(self, situation: Situation, staircases: Sequence[Staircase] = ()) -> list[Option] | None:
        """Return the options of the policy and the stairs; None if the policy lists no options."""
        floor = self._on(situation.grid)
        listed: Callable[[Situation], list[Option]] | None = getattr(floor.policy, "options", None)
        if listed is None:
            return None
        return [*listed(on_this_floor(situation)),
                *(_option(way) for way in self._ways(situation, staircases, floor) if way.rise_m >= _STAIRS_M)]

    def decide(self, situation: Situation, staircases: Sequence[Staircase], confirm: bool) -> Decision:
        """Return where to look next; confirm: return where to look again before an answer is given."""
        grid, floor = situation.grid, self._on(situation.grid)
        if confirm:
            decision = floor.policy.confirm(on_this_floor(situation))
        elif not situation.advice and getattr(floor.policy, "looking", False):
            decision = floor.policy.decide(on_this_floor(situation))  # the robot looks round before it goes on
        else:
            decision = self._elsewhere(situation, staircases, floor) or self._here(situation, staircases, floor)
        return decision._replace(explored=grid.explored_share())

    def _here(self, situation: Situation, staircases: Sequence[Staircase], floor: _Floor) -> Decision:
        """Return the decision of this floor's policy or, if it has nothing left, a drive to or towards stairs."""
        try:
            index_of(situation.grid, situation.pose.x, situation.pose.y)
        except BadPose as error:
            return Decision(None, f"nowhere to go: {error}")
        here = on_this_floor(situation)
        narrowed = self._directed.narrowed(here) if floor is self._floors[0] else None
        if narrowed is not None and (decision := floor.policy.decide(narrowed)).goal is not None:
            return decision
        decision = floor.policy.decide(here)
        if decision.goal is not None:
            return decision
        ways = self._ways(situation, staircases, floor)
        stairs = [way for way in ways if way.rise_m >= _STAIRS_M]
        if not stairs and (look := self._to_their_foot(ways, situation, floor)
                           or self._to_named_stairs(situation, staircases, floor)):
            return look
        floor.finished = True
        if not stairs:
            return _with_stairs(decision, situation.grid, staircases, self._robot.stairs)
        return self._take(min(stairs, key=lambda way: way.place.distance_m), "nothing is left on this floor")

    def _elsewhere(self, situation: Situation, staircases: Sequence[Staircase], floor: _Floor) -> Decision | None:
        """Return a drive over stairs, also those just begun, to see stairs, or a first look round; else None."""
        if not self._robot.stairs:
            return None
        if self._looking is not None and math.dist(situation.pose[:2], self._looking) <= _LOOKED_M:
            self._looked.append(self._looking)
        self._looking, floor.explored_m2 = None, _explored_m2(situation.grid)
        if not floor.entered:
            floor.entered, self._begun = True, None
            return Decision(situation.pose, "looks round on the floor that it came to", look_around=True)
        ways = self._ways(situation, staircases, floor)
        on = [way for way in ways if self._begun and way.up == self._begun[1]
              and math.dist(way.near[:2], self._begun[0][:2]) <= _SAME_FOOT_M]
        self._begun = None
        if on:
            return self._go_on(min(on, key=lambda way: way.place.distance_m), situation)
        if situation.advice:
            way = _advised(situation.advice, ways)
            return self._take(way, "best by the model's word") if way else None
        likely = [way for way in ways if way.chance >= (_RETURN if way.known else _LEAVE) and way.rise_m >= _STAIRS_M]
        sure = [way for way in likely if way.rise_m >= _SURE_M]
        if sure:
            best = max(sure, key=lambda way: way.chance)
            return self._take(best, f"with {100 * best.chance:.0f} % the answer is there")
        if look := self._to_their_foot(likely, situation, floor):
            return look
        chance = chance_elsewhere(situation.regions, _rooms(situation.assessments, floor.z), floor.explored_m2)
        return self._to_named_stairs(situation, staircases, floor) if chance >= _LEAVE else None

    def _to_their_foot(self, ways: Sequence[_Way], situation: Situation, floor: _Floor) -> Decision | None:
        """Return a drive to the foot of stairs of which only a few steps were seen, to see where they lead."""
        if not ways or floor.looked >= _LOOKS:
            return None
        reach = ReachableArea(situation.grid, situation.pose, self._robot.radius_m)
        found = [spot for way in ways if self._unseen_from(way.near[:2]) and (spot := reach.place(
            *way.near[:2], math.atan2(way.far[1] - way.near[1], way.far[0] - way.near[0]))) is not None]
        nearest = min(found, key=lambda one: one.distance_m, default=None)
        return nearest and self._look(nearest, floor, "where a few steps were seen", False)

    def _unseen_from(self, at: tuple[float, float]) -> bool:
        """Return whether the robot has not yet stood there to see stairs."""
        return all(math.dist(at, other) > _LOOKED_M for other in self._looked)

    def _to_named_stairs(self, situation: Situation, staircases: Sequence[Staircase], floor: _Floor) -> Decision | None:
        """Return a drive to the nearest place that views call stairs; None if the map already has stairs."""
        known = any(abs(near[2] - far[2]) >= _STAIRS_M for near, far in _from_here(staircases, floor.z))
        if not self._robot.stairs or floor.looked >= _LOOKS or known:
            return None
        try:
            reach = ReachableArea(situation.grid, situation.pose, self._robot.radius_m)
        except BadPose:
            return None
        named = [place for a in on_this_floor(situation).assessments for place in a.places if shows_stairs(place.label)]
        found = [spot for place in named if self._unseen_from((place.x, place.y))
                 and (spot := reach.place(place.x, place.y, situation.pose.yaw)) is not None]
        if not found:
            return None
        nearest = min(one.distance_m for one in found)
        spot = max((one for one in found if one.distance_m <= nearest + _WELL_M), key=lambda one: one.distance_m)
        return self._look(spot, floor, "where a view shows them", True)

    def _look(self, spot: ReachablePose, floor: _Floor, where: str, look_around: bool) -> Decision:
        floor.looked += 1
        self._looking = spot.pose[:2]
        return Decision(spot.pose, f"looks for stairs {spot.distance_m:.1f} m away, {where}",
                        (Candidate(spot.pose.x, spot.pose.y, 1.0, "stairs"),), look_around=look_around)

    def _take(self, way: _Way, why: str) -> Decision:
        self._climbed.append(way.far)
        self._begun = way.near, way.up
        rise, pose = way.far[2] - way.near[2], way.place.pose
        return Decision(pose, f"{why}: takes the stairs {way.direction} to ({way.far[0]:.1f}, {way.far[1]:.1f}), "
                        f"{abs(rise):.1f} m {'above' if rise > 0 else 'below'} it",
                        (Candidate(pose.x, pose.y, 1.0, "stairs"),))

    def _go_on(self, way: _Way, situation: Situation) -> Decision:
        """Return a drive to the end of the stairs that the robot is on or, if it stands there, a look round."""
        decision = self._take(way, "it has begun them")
        if way.place.distance_m > _AT_END_M:
            return decision
        return Decision(situation.pose, "looks round where the stairs seemed to end", look_around=True)

    def _on(self, grid: GridMap) -> _Floor:
        """Return the current floor; if the robot climbs stairs, each floor has its own policy."""
        if not self._floors:
            self._floors.append(_Floor(grid.z, self._policy, entered=True))
        near = (floor for floor in self._floors if not self._robot.stairs or abs(floor.z - grid.z) <= _THIS_FLOOR_M)
        found = next(near, None)
        if found is None:
            found = _Floor(grid.z, copy.deepcopy(self._fresh))
            found.policy.reset(self._seed)
            self._floors.append(found)
        return found

    def _ways(self, situation: Situation, staircases: Sequence[Staircase], floor: _Floor) -> list[_Way]:
        """Return the stairs from here that lead to floors that are not finished."""
        ends = _from_here(staircases, situation.grid.z) if self._robot.stairs else []
        if not ends:
            return []
        try:
            reach = ReachableArea(situation.grid, situation.pose, self._robot.radius_m)
        except BadPose:
            return []
        found = [self._way(situation, reach, floor, near, far) for near, far in ends]
        return [way for way in found if way is not None]

    def _way(self, situation: Situation, reach: ReachableArea, floor: _Floor, near: Point3, far: Point3) -> _Way | None:
        place = reach.place(far[0], far[1], math.atan2(far[1] - near[1], far[0] - near[0]), FAR_SNAP_M)
        tried = sum(math.dist(far, other) < _SAME_END_M for other in self._climbed)
        other = next((f for f in self._floors if f is not floor and abs(f.z - far[2]) <= _THIS_FLOOR_M), None)
        if place is None or tried >= _TRIES or (other is not None and other.finished):
            return None
        chance = chance_there(situation.regions, far[2] > near[2], _rooms(situation.assessments, near[2]),
                              _rooms(situation.assessments, far[2]), floor.explored_m2,
                              0.0 if other is None else other.explored_m2)
        return _Way(near, far, place, chance, other is not None)


def _explored_m2(grid: GridMap) -> float:
    return int(np.count_nonzero(grid.explored & (grid.cells == 0))) * grid.resolution_m ** 2


def _rooms(assessments: Sequence[ViewAssessment], floor_m: float) -> set[str]:
    """Return the names of rooms in views from a floor."""
    here = [a for a in assessments if abs(a.z - floor_m) <= _THIS_FLOOR_M]
    return {name for a in here for name in (a.region, *(place.label for place in a.places)) if name}


def _option(way: _Way) -> Option:
    """Return stairs as an option, located where they begin."""
    (x, y, _), (end_x, end_y, _) = way.near, way.far
    return Option(x, y, math.atan2(end_y - y, end_x - x), f"{STAIRS} {way.direction} to another floor",
                  way.place.distance_m, "", way.chance)


def _advised(advice: Sequence[WeighedOption], ways: Sequence[_Way]) -> _Way | None:
    """Return the stairs if they have the highest model weight per metre of all options; else None."""
    best = max(advice, key=lambda one: one.weight / (one.option.distance_m + _FIXED_M))
    if not best.option.kind.startswith(STAIRS) or best.weight <= 0:
        return None
    return next((way for way in ways if _option(way)[:2] == best.option[:2]), None)


def _from_here(staircases: Sequence[Staircase], floor_m: float) -> list[tuple[Point3, Point3]]:
    """Return the ends of all stairs of a floor; the end on this floor comes first."""
    return [(here, there) for j in staircases for here, there in (j, j[::-1])
            if abs(here[2] - floor_m) <= _THIS_FLOOR_M and abs(here[2] - floor_m) < abs(there[2] - floor_m)]


def on_this_floor(situation: Situation) -> Situation:
    """Return the situation for a policy: without views of other floors, and closed outside the area."""
    z = situation.grid.z
    return fenced(situation)._replace(assessments=[a for a in situation.assessments if abs(a.z - z) <= _THIS_FLOOR_M])


def _with_stairs(decision: Decision, grid: GridMap, staircases: Sequence[Staircase], climbs: bool) -> Decision:
    """Mention stairs in a decision without a goal if the robot does not climb them itself."""
    ends = [] if climbs else _from_here(staircases, grid.z)
    if not ends:
        return decision
    stairs = ", ".join(f"({x:.1f}, {y:.1f}) to the floor {abs(to[2] - grid.z):.1f} m "
                       f"{'above' if to[2] > grid.z else 'below'}" for (x, y, _), to in ends)
    return decision._replace(reason=f"{decision.reason}; what was asked about may be on another floor, and this robot "
                                    f"does not take stairs automatically: stairs at {stairs}")


def chance_elsewhere(regions: Sequence[RankedRegion], here: Collection[str], here_m2: float) -> float:
    """Return the probability that the answer is on another floor if it is unknown whether stairs lead up or down.

    The rooms seen on this floor indicate which of two storeys it is. See chance_there.
    """
    odds = math.prod(above / (1.0 - above) for kind, above in _ABOVE.items() if _seen(RankedRegion(kind, 1.0), here))
    lower = 1.0 / (1.0 + odds)
    up, down = (chance_there(regions, way, here, (), here_m2, 0.0) for way in (True, False))
    return lower * up + (1.0 - lower) * down


def chance_there(regions: Sequence[RankedRegion], up: bool, here: Collection[str], there: Collection[str],
                 here_m2: float, there_m2: float) -> float:
    """Return the probability that an answer not found yet is on the floor at the other end of stairs.

    regions: rooms where the answer may be; here, there: names of rooms seen on this floor and on the other one;
    here_m2, there_m2: explored floor in square metres. Bayes' rule: floor explored without an answer is evidence for
    the other floor.
    """
    total = sum(r.weight for r in regions)
    prior = _EVEN if total <= 0 else sum(r.weight * _prior(r, up, here, there) for r in regions) / total
    missed_there, missed_here = math.exp(-there_m2 / _SEARCHED_M2), math.exp(-here_m2 / _SEARCHED_M2)
    return prior * missed_there / (prior * missed_there + (1.0 - prior) * missed_here)


def _prior(region: RankedRegion, up: bool, here: Collection[str], there: Collection[str]) -> float:
    """Return the probability that a kind of room is at the other end of the stairs rather than on this floor."""
    above = next((share for kind, share in _ABOVE.items() if rank_of(region.name, [RankedRegion(kind, 1.0)])), _EVEN)
    chance = above if up else 1.0 - above
    seen_here, seen_there = _seen(region, here), _seen(region, there)
    if seen_here == seen_there:
        return chance
    return _SECOND * chance if seen_here else 1.0 - _SECOND * (1.0 - chance)


def _seen(region: RankedRegion, names: Collection[str]) -> bool:
    return any(rank_of(name, [region._replace(weight=1.0)]) > 0 for name in names)
