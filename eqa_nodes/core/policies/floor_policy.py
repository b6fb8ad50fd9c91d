"""One question over several floors: a policy decides on the floor that the robot is on, and stairs lead to others."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence

from eqa_nodes.core.driving.planning import index_of
from eqa_nodes.core.errors import BadPose
from eqa_nodes.core.mapping.area import fenced
from eqa_nodes.core.policies.steering import FAR_SNAP_M, Reach, ReachablePose
from eqa_nodes.core.protocols import Policy
from eqa_nodes.core.types.floor import Candidate, Decision, GridMap, Option, Staircase
from eqa_nodes.core.types.questions import Situation
from eqa_nodes.core.types.robot import RobotModel

Point3 = tuple[float, float, float]  # x, y and height, map frame, metres
_THIS_FLOOR_M = 1.0  # what was seen or begins so near to a floor's height is of this floor
_SAME_END_M, _TRIES = 0.5, 3  # an end of stairs is tried so often, also when it was first seen a little off


class FloorPolicy:
    """A policy that is asked for one question about the floor that the robot is on, within the question's area.

    Views of other floors are left out: their places are not on this map. Where the policy has nothing left on a floor,
    a robot that takes stairs goes to another one.
    """

    def __init__(self, policy: Policy, seed: int, robot: RobotModel = RobotModel()) -> None:
        self._policy, self._seed, self._robot = policy, seed, robot
        self._fresh = copy.deepcopy(policy) if robot.stairs else policy  # what it learns of one floor, it keeps there
        self._floors: list[tuple[float, Policy]] = []  # heights, metres, and what decides there
        self._explored: list[float] = []  # heights of the floors on which the policy has nothing left, metres
        self._climbed: list[Point3] = []  # where the robot was sent on stairs
        policy.reset(seed)

    def options(self, situation: Situation) -> list[Option] | None:
        """Return where the policy could go; None for one that lists no options."""
        listed: Callable[[Situation], list[Option]] | None = getattr(self._on(situation.grid), "options", None)
        return None if listed is None else listed(on_this_floor(situation))

    def decide(self, situation: Situation, staircases: Sequence[Staircase], confirm: bool) -> Decision:
        """Return where to look next; confirm: where to look again before an answer is given."""
        grid, here = situation.grid, on_this_floor(situation)
        decision = self._on(grid).confirm(here) if confirm else self._next(here)
        if decision.goal is None and not confirm:
            self._explored.append(grid.z)
            climb = self._climb(here, staircases) if self._robot.stairs else None
            decision = climb or _with_stairs(decision, grid, staircases, self._robot.stairs)
        return decision._replace(explored=grid.explored_share())

    def _next(self, situation: Situation) -> Decision:
        try:
            index_of(situation.grid, situation.pose.x, situation.pose.y)
        except BadPose as error:
            return Decision(None, f"nowhere to go: {error}")
        return self._on(situation.grid).decide(situation)


    def _on(self, grid: GridMap) -> Policy:
        """Return the policy of a floor: one of its own for each, where the robot takes stairs."""
        if not self._robot.stairs:
            return self._policy
        found = next((policy for z, policy in self._floors if abs(z - grid.z) <= _THIS_FLOOR_M), None)
        if found is None:
            found = copy.deepcopy(self._fresh) if self._floors else self._policy
            if self._floors:
                found.reset(self._seed)
            self._floors.append((grid.z, found))
        return found

    def _climb(self, situation: Situation, staircases: Sequence[Staircase]) -> Decision | None:
        """Return the end of the nearest stairs that lead to what is not explored; None where there are none."""
        grid, pose = situation.grid, situation.pose
        try:
            reach = Reach(grid, pose, self._robot.radius_m)
        except BadPose:
            return None
        found = list[tuple[ReachablePose, Point3]]()
        for near, far in _from_here(staircases, grid.z):
            heading = math.atan2(far[1] - near[1], far[0] - near[0])
            place = reach.place(far[0], far[1], heading, FAR_SNAP_M)
            tried = sum(math.dist(far, other) < _SAME_END_M for other in self._climbed)
            if place is not None and tried < _TRIES and not self._leads_to_explored(far, grid.z):
                found.append((place, far))
        if not found:
            return None
        place, far = min(found, key=lambda one: one[0].distance_m)
        self._climbed.append(far)
        rise = far[2] - grid.z
        way, side = ("up", "above") if rise > 0 else ("down", "below")
        return Decision(place.pose, f"nothing is left on this floor: takes the stairs {way} to ({far[0]:.1f}, "
                        f"{far[1]:.1f}), {abs(rise):.1f} m {side} it",
                        (Candidate(place.pose.x, place.pose.y, 1.0, "stairs"),))

    def _leads_to_explored(self, end: Point3, floor_m: float) -> bool:
        return abs(end[2] - floor_m) > _THIS_FLOOR_M and any(abs(end[2] - z) <= _THIS_FLOOR_M for z in self._explored)


def _from_here(staircases: Sequence[Staircase], floor_m: float) -> list[tuple[Point3, Point3]]:
    """Return both ends of the stairs of a floor: the end on it first."""
    return [(here, there) for j in staircases for here, there in (j, j[::-1])
            if abs(here[2] - floor_m) <= _THIS_FLOOR_M and abs(here[2] - floor_m) < abs(there[2] - floor_m)]


def on_this_floor(situation: Situation) -> Situation:
    """Return what a policy decides on: views of other floors are left out, and what lies outside the area is shut."""
    z = situation.grid.z
    return fenced(situation)._replace(assessments=[a for a in situation.assessments if abs(a.z - z) <= _THIS_FLOOR_M])


def _with_stairs(decision: Decision, grid: GridMap, staircases: Sequence[Staircase], climbs: bool) -> Decision:
    """Name the other floors in a decision without a goal, where the robot does not drive there on its own."""
    ends = [] if climbs else _from_here(staircases, grid.z)
    if not ends:
        return decision
    stairs = ", ".join(f"({x:.1f}, {y:.1f}) to the floor {abs(to[2] - grid.z):.1f} m "
                       f"{'above' if to[2] > grid.z else 'below'}" for (x, y, _), to in ends)
    return decision._replace(reason=f"{decision.reason}; what was asked about may be on another floor, and this robot "
                                    f"does not take stairs automatically: stairs at {stairs}")
