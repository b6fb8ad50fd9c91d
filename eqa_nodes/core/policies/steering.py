"""Shared by policies: reachable poses on the map, and a target that is kept until it was seen."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.driving.planning import SNAP_M, along, centre_of, index_of, snap, walks
from eqa_nodes.core.types.floor import Candidate, Decision, Frontier, GridMap, joined
from eqa_nodes.core.types.geometry import Pose2, wrap
from eqa_nodes.core.types.questions import Situation

SAME_PLACE_M = 0.5  # poses within this distance and with a similar heading are the same
SAME_WAY_RAD = math.radians(60)
TURNED_RAD = math.radians(10)
ARRIVED_M = 0.4  # tolerance of the navigator, plus the half cell by which a goal may be moved
STUCK_M = 0.05
FAR_SNAP_M = 1.0  # a frontier represents a long border: its middle may be unreachable although its ends are not
LEG_M = 3.0
# How the drive to the last target ended: the prefix of a reason.
REACHED, NOT_REACHED, GIVEN_UP = ENDINGS = (
    "reached the last target, ", "did not get to the last target, ", "gave the last target up, ")
_SAME_M = 0.5  # smaller differences of path length are not mentioned


class AnswersAtOnce:
    """Base of policies that do not look again: the agent answers at once, facing the view that answers.

    The papers' agents judge every image when it is taken, and stop there. Here the views of a look round are judged
    together, so the robot turns back to the one that answers.
    """

    def confirm(self, situation: Situation) -> Decision:
        """Turn back to the view that answers if it was taken from here, else accept the answer."""
        pose = situation.pose
        view = max(situation.assessments, key=lambda a: (a.enough, a.keyframe_id), default=None)
        if (view is None or view.enough <= 0 or pose.distance(view.pose) > SAME_PLACE_M
                or abs(wrap(view.pose.yaw - pose.yaw)) < TURNED_RAD):
            return Decision(None, "the answer stands")
        return Decision(pose._replace(yaw=view.pose.yaw), "turns back to the view that answers")


class ReachablePose(NamedTuple):
    """A reachable pose, map frame, and the length of the path to it in metres."""

    pose: Pose2
    distance_m: float


class ReachableArea:
    """The area that the robot can reach on one map. Raises BadPose if the pose is not on the map."""

    def __init__(self, grid: GridMap, pose: Pose2, radius_m: float) -> None:
        self.grid, self.pose = grid, pose
        self._walks = walks(grid, pose, radius_m)
        # (rows, columns) path length in metres to free cells, inf = unreachable; unknown cells only to leave the start.
        self.field = np.where(grid.cells == 0, self._walks.metres, np.inf)

    def place(self, x: float, y: float, yaw: float, within_m: float = SNAP_M) -> ReachablePose | None:
        """Return the reachable pose nearest to a point, None if there is none within `within_m`."""
        cell = snap(self.grid, self.field, x, y, within_m)
        return None if cell is None else ReachablePose(Pose2(*centre_of(self.grid, *cell), yaw),
                                                       float(self.field[cell]))

    def leg(self, place: ReachablePose, leg_m: float = LEG_M) -> Pose2:
        """Return the pose of a place, or the pose leg_m metres along the path if it is farther away."""
        if place.distance_m <= leg_m:
            return place.pose
        cells = self._walks.path_to(index_of(self.grid, place.pose.x, place.pose.y))
        point, heading = along([centre_of(self.grid, iy, ix) for iy, ix in cells.tolist()], leg_m)
        return Pose2(*point, heading)


@dataclass
class _Begun:
    """A target, and the remaining number of legs to it."""

    target: Pose2
    legs: int


class GoalList:
    """Holds one target until it was looked at; targets that were looked at or are unreachable are never used again.

    So exploration terminates if its targets come from a bounded map.
    """

    def __init__(self) -> None:
        self.current: Pose2 | None = None
        self._done: list[Pose2] = []
        self._left_from: Pose2 | None = None
        self._goal: Pose2 | None = None  # goal of the current leg
        self._failed: list[Pose2] = []  # goals of legs on which the robot did not move
        self._begun: list[_Begun] = []

    def review(self, pose: Pose2) -> str:
        """Close the target if it was reached, or if driving there fails. Return what happened, or ""."""
        target, left_from = self.current, self._left_from
        if target is None or left_from is None:
            return ""
        if pose.distance(target) <= ARRIVED_M and abs(wrap(pose.yaw - target.yaw)) < SAME_WAY_RAD:
            what = REACHED
        elif pose.distance(left_from) < STUCK_M and (pose.distance(target) > ARRIVED_M
                                                     or abs(wrap(pose.yaw - left_from.yaw)) < STUCK_M):
            what = NOT_REACHED
            if self._goal is not None:
                self._failed.append(self._goal)
        elif (begun := self._of(target)) is None or begun.legs <= 0:
            what = GIVEN_UP
        else:
            return ""
        self.strike(target)
        return what

    def strike(self, target: Pose2) -> None:
        """Close a target, so that it is never proposed again."""
        self._done.append(target)
        self.current = None

    def open(self, place: Pose2) -> bool:
        """Return whether a place is still worth a drive."""
        return not any(same(place, other) for other in self.closed())

    def closed(self) -> tuple[Pose2, ...]:
        """Return the closed targets and the goals that the robot failed to reach."""
        return (*self._done, *self._failed)

    def aim(self, place: ReachablePose, reach: ReachableArea, leg_m: float = LEG_M) -> Pose2:
        """Return the goal of the next leg to a place; a leg on which the robot did not move before is not repeated.

        A new target gets a number of legs by its distance; each leg uses one, also if the target is resumed later.
        """
        begun = self._of(place.pose)
        if begun is None:
            begun = _Begun(place.pose, 3 + 2 * math.ceil(place.distance_m / leg_m))
            self._begun.append(begun)
        begun.legs -= 1
        goal = reach.leg(place, leg_m)
        if any(same(goal, failed) for failed in self._failed):
            goal = place.pose
        self.current, self._left_from, self._goal = place.pose, reach.pose, goal
        return goal

    def _of(self, target: Pose2) -> _Begun | None:
        return next((b for b in self._begun if same(b.target, target)), None)

    def drop(self) -> None:
        """Drop the target: nothing is left, or something else became more important."""
        self.current = None


def same(a: Pose2, b: Pose2, within_m: float = SAME_PLACE_M) -> bool:
    """Return whether two poses show about the same view."""
    return a.distance(b) <= within_m and abs(wrap(a.yaw - b.yaw)) < SAME_WAY_RAD


def reachable_frontiers(reach: ReachableArea, frontiers: Sequence[Frontier],
                        targets: GoalList) -> list[tuple[Frontier, ReachablePose]]:
    """Return the reachable open frontiers; those far from reachable floor only if there is no nearer one."""
    for within_m in (SNAP_M, FAR_SNAP_M):
        places = [(f, reach.place(f.x, f.y, f.heading, within_m)) for f in frontiers]
        if found := [(f, p) for f, p in places if p is not None and targets.open(p.pose)]:
            return found
    return []


def rays(grid: GridMap, frontiers: Sequence[Frontier], length_m: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the cells along each frontier's heading: rows, columns and whether they are on the map, (n, k)."""
    start = np.array([(f.x, f.y, f.heading) for f in frontiers]).reshape(-1, 3)
    along_m = (np.arange(max(1, round(length_m / grid.resolution_m))) + 1) * grid.resolution_m
    x = start[:, :1] + along_m * np.cos(start[:, 2:])
    y = start[:, 1:2] + along_m * np.sin(start[:, 2:])
    ix = np.floor((x - grid.origin[0]) / grid.resolution_m).astype(int)
    iy = np.floor((y - grid.origin[1]) / grid.resolution_m).astype(int)
    return iy, ix, (ix >= 0) & (iy >= 0) & (ix < grid.cells.shape[1]) & (iy < grid.cells.shape[0])


def on_rays(cells: np.ndarray, rays: tuple[np.ndarray, np.ndarray, np.ndarray], beyond: float) -> np.ndarray:
    """Return the values of cells (rows, columns) on rays, (n, k); `beyond` if a ray leaves the map."""
    iy, ix, inside = rays
    found: np.ndarray = np.where(inside, cells[np.where(inside, iy, 0), np.where(inside, ix, 0)], beyond)
    return found


class WeighedPlace(NamedTuple):
    """A candidate place. what: description; distance_m: path length; chance: probability to see the answer there, 0..1,
    None if the policy does not estimate it.
    """

    what: str
    pose: Pose2
    distance_m: float
    score: float
    kind: str
    chance: float | None = None


def ranked(chosen: WeighedPlace, rivals: Sequence[WeighedPlace]) -> list[WeighedPlace]:
    """Return the chosen place and then the others by score: the order of a decision's candidates."""
    others = [rival for rival in rivals if rival is not chosen]
    return [chosen, *sorted(others, key=lambda rival: -rival.score)]


def candidates_of(rivals: Sequence[WeighedPlace]) -> tuple[Candidate, ...]:
    """Return places as the candidates of a decision."""
    return tuple(Candidate(r.pose.x, r.pose.y, r.score, r.kind) for r in rivals)


def with_runner_up(reason: str, order: Sequence[WeighedPlace], why: Callable[[WeighedPlace, WeighedPlace], str]) -> str:
    """Return a reason that also names the second of `ranked` and why it lost; unchanged if there is no second."""
    if len(order) < 2:
        return reason
    chosen, second = order[:2]
    what = f"another place like it ({second.what})" if second.what == chosen.what else second.what
    chance = f", {100 * second.chance:.0f} % to see the answer" if second.chance is not None else ""
    return joined(reason, f"{what}, {second.distance_m:.1f} m away{chance}: {why(chosen, second)}")


def less_worth(chosen: WeighedPlace, second: WeighedPlace) -> str:
    """Say why a place lost if the chance to see the answer is weighed against the distance."""
    if second.score > chosen.score:
        return "it is better, but not by so much that the robot gives up the place that it is on its way to"
    chances = [round(100 * (rival.chance or 0.0)) for rival in (chosen, second)]
    farther, nearer = (sign * (second.distance_m - chosen.distance_m) > _SAME_M for sign in (1, -1))
    if chances[1] < chances[0]:
        return ("it is farther away, and the answer is less likely there" if farther else
                "it is nearer, but the answer is less likely there" if nearer else "the answer is less likely there")
    if chances[1] == chances[0] and not farther:
        return "there is hardly a difference between the two"
    likely = "the answer is more likely there" if chances[1] > chances[0] else "the answer is as likely there"
    return f"{likely}, but it is farther away" if farther else f"{likely}, but the robot would have to turn more"


def lower_score(chosen: WeighedPlace, second: WeighedPlace) -> str:
    """Say why a place lost if scores are compared."""
    if second.score > chosen.score:
        return (f"it scores {second.score:.2f}, but not so much more than {chosen.score:.2f} that the robot gives up "
                "the place that it is on its way to")
    return f"it scores {second.score:.2f}, the other {chosen.score:.2f}"


def lost_draw(order: Sequence[WeighedPlace], kept: bool) -> Callable[[WeighedPlace, WeighedPlace], str]:
    """Return a function that says why a place lost in a weighted draw."""
    total = sum(rival.score for rival in order)

    def why(chosen: WeighedPlace, second: WeighedPlace) -> str:
        if kept:
            return "the robot goes where it was going until it has arrived"
        shares = [100 * rival.score / total for rival in (second, chosen)] if total > 0 else [0.0, 0.0]
        return f"lots are drawn, and its chance was {shares[0]:.0f} %, that of the other {shares[1]:.0f} %"

    return why
