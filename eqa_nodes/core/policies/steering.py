"""Shared by policies: reachable and visible places on the map, a target that is kept until it was seen, and reasons."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.driving.planning import SNAP_M, along, centre_of, index_of, snap, walks
from eqa_nodes.core.types.floor import Candidate, Decision, Frontier, GridMap, Option, joined
from eqa_nodes.core.types.geometry import Pose2, wrap
from eqa_nodes.core.types.questions import Situation, ViewAssessment

SAME_PLACE_M = 0.5  # poses within this distance and with a similar heading are the same
SAME_WAY_RAD = math.radians(60)
TURNED_RAD = math.radians(10)
ARRIVED_M = 0.4  # tolerance of the navigator, plus the half cell by which a goal may be moved
STUCK_M = 0.05
FAR_SNAP_M = 1.0  # a frontier represents a long border: its middle may be unreachable although its ends are not
# How the drive to the last target ended: the prefix of a reason.
REACHED, NOT_REACHED, GIVEN_UP = ENDINGS = (
    "reached the last target, ", "did not get to the last target, ", "gave the last target up, ")
_SAME_M = 0.5  # smaller differences of path length are not mentioned
_OPEN_M, _BLOCKED_M = 4.0, 1.2  # how far a heading is looked along, and the least that must be open in the mean
_FAN = np.radians(np.arange(-60, 61, 15))
_SAMPLES = 24  # minimum number of points on a line of sight


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

    def leg(self, place: ReachablePose, leg_m: float) -> Pose2:
        """Return the pose of a place, or the pose leg_m metres along the path if it is farther away."""
        if place.distance_m <= leg_m:
            return place.pose
        cells = self._walks.path_to(index_of(self.grid, place.pose.x, place.pose.y))
        point, heading = along([centre_of(self.grid, iy, ix) for iy, ix in cells.tolist()], leg_m)
        return Pose2(*point, heading)


class ScoredPlace(NamedTuple):
    """A place where a policy could send the robot.

    what: description; value: chance to see the answer there, 0..1, if the policy estimates it; unseen: share of the
    floor in sight of it that is still unseen, 0..1.
    """

    place: ReachablePose
    score: float
    kind: str
    what: str
    value: float = 0.0
    unseen: float = 1.0


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
        self._legs: dict[Pose2, int] = {}  # target -> remaining number of legs to it

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
        elif self._legs.get(self._begun(target) or target, 0) <= 0:
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

    def aim(self, place: ReachablePose, reach: ReachableArea, leg_m: float) -> Pose2:
        """Return the goal of the next leg to a place; a leg on which the robot did not move before is not repeated.

        A new target gets a number of legs by its distance; each leg uses one, also if the target is resumed later.
        """
        target = self._begun(place.pose) or place.pose
        self._legs[target] = self._legs.get(target, 3 + 2 * math.ceil(place.distance_m / leg_m)) - 1
        goal = reach.leg(place, leg_m)
        if any(same(goal, failed) for failed in self._failed):
            goal = place.pose
        self.current, self._left_from, self._goal = place.pose, reach.pose, goal
        return goal

    def _begun(self, place: Pose2) -> Pose2 | None:
        """Return the target for which legs are counted that is the same place."""
        return next((target for target in self._legs if same(target, place)), None)

    def kept(self, options: Sequence[ScoredPlace]) -> ScoredPlace | None:
        """Return the option that is the current target, None if it is none of them."""
        current = self.current
        return next((option for option in options if current and same(option.place.pose, current)), None)

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


def cells_at(grid: GridMap, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the cells of points, map frame, metres: rows, columns and whether they are on the map."""
    ix = np.floor((x - grid.origin[0]) / grid.resolution_m).astype(int)
    iy = np.floor((y - grid.origin[1]) / grid.resolution_m).astype(int)
    return iy, ix, (ix >= 0) & (iy >= 0) & (ix < grid.cells.shape[1]) & (iy < grid.cells.shape[0])


def values_in(cells: np.ndarray, at: tuple[np.ndarray, np.ndarray, np.ndarray], beyond: float) -> np.ndarray:
    """Return the values of cells (rows, columns) at the places that `cells_at` returned; `beyond` off the map."""
    iy, ix, inside = at
    found: np.ndarray = np.where(inside, cells[np.where(inside, iy, 0), np.where(inside, ix, 0)], beyond)
    return found


def rays(grid: GridMap, frontiers: Sequence[Frontier], length_m: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the cells along each frontier's heading: rows, columns and whether they are on the map, (n, k)."""
    start = np.array([(f.x, f.y, f.heading) for f in frontiers]).reshape(-1, 3)
    along_m = (np.arange(max(1, round(length_m / grid.resolution_m))) + 1) * grid.resolution_m
    return cells_at(grid, start[:, :1] + along_m * np.cos(start[:, 2:]), start[:, 1:2] + along_m * np.sin(start[:, 2:]))


def clear_lines(grid: GridMap, start: tuple[float, float], ends: np.ndarray) -> np.ndarray:
    """Return (n,) bool: whether the line from start to each end (n, 2), map frame, metres, has no occupied cell."""
    if not len(ends):
        return np.zeros(0, bool)
    occupied, _ = _occupied(grid, start, ends)
    return np.logical_not(np.logical_or.reduce(occupied, axis=1))


def in_front_of(grid: GridMap, pose: Pose2, target: tuple[float, float]) -> tuple[float, float]:
    """Return the last point before an obstacle on the line from a pose to a target: the visible side of the target."""
    occupied, share = _occupied(grid, (pose.x, pose.y), np.array([target]))
    last = share[max(0, int(occupied[0].argmax()) - 1)] if occupied.any() else 1.0
    return pose.x + last * (target[0] - pose.x), pose.y + last * (target[1] - pose.y)


def _occupied(grid: GridMap, start: tuple[float, float], ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return occupied cells (n, k) bool at k even steps from start to each end, and the steps (k,), 0..1."""
    delta = ends - np.array(start)
    longest = float(np.hypot(delta[:, 0], delta[:, 1]).max())
    share = np.linspace(0.0, 1.0, max(_SAMPLES, math.ceil(longest / grid.resolution_m)))
    at = cells_at(grid, start[0] + share * delta[:, :1], start[1] + share * delta[:, 1:])
    return values_in(grid.cells, at, 0) == 100, share


def _window(grid: GridMap, middle: tuple[float, float], reach_m: float) -> tuple[slice, slice]:
    """Return the rows and columns within reach of a point."""
    low, high = ([math.floor((m + d - o) / grid.resolution_m) for m, o in zip(middle, grid.origin, strict=True)]
                 for d in (-reach_m, reach_m))
    return slice(max(0, low[1]), max(0, high[1] + 1)), slice(max(0, low[0]), max(0, high[0] + 1))


def all_facing(poses: np.ndarray, x: float, y: float) -> np.ndarray:
    """Return the angles in radians, 0..pi, between the headings of poses (n, 3) and a point, (n,)."""
    turn = np.arctan2(y - poses[:, 1], x - poses[:, 0]) - poses[:, 2]
    return np.abs((turn + math.pi) % math.tau - math.pi)


def facing(pose: Pose2, x: float, y: float) -> float:
    """Return the angle in radians, 0..pi, between the heading of a pose and a point."""
    return abs(math.remainder(math.atan2(y - pose.y, x - pose.x) - pose.yaw, math.tau))


def viewpoint(reach: ReachableArea, view: ViewAssessment, near_m: float, far_m: float) -> ReachablePose | None:
    """Return the nearest place by path, near_m to far_m from a view's target, that sees the side seen in the view.

    None if there is none.
    """
    grid, target = reach.grid, view.target
    assert target is not None
    front = in_front_of(grid, view.pose, target)
    window = _window(grid, target, far_m)
    rows, columns = np.nonzero(np.isfinite(reach.field[window]) & (grid.cells[window] == 0))
    rows, columns = rows + window[0].start, columns + window[1].start
    x, y = grid.origin[0] + (columns + 0.5) * grid.resolution_m, grid.origin[1] + (rows + 0.5) * grid.resolution_m
    off = np.hypot(x - target[0], y - target[1])
    ring = np.flatnonzero((off >= near_m) & (off <= far_m))
    ring = ring[np.argsort(reach.field[rows[ring], columns[ring]], kind="stable")]
    for part in np.array_split(ring, max(1, len(ring) // 64)):  # nearest first: usually one of the first is suitable
        sees = part[clear_lines(grid, front, np.stack([x[part], y[part]], 1))] if len(part) else part
        if len(sees):
            iy, ix = int(rows[sees[0]]), int(columns[sees[0]])
            px, py = centre_of(grid, iy, ix)
            yaw = math.atan2(target[1] - py, target[0] - px)
            return ReachablePose(Pose2(px, py, yaw), float(reach.field[iy, ix]))
    return None


def unexplored_area(grid: GridMap, frontier: Frontier, reach_m: float) -> float:
    """Return the unexplored floor in sight of a frontier, m2: a 120 degree fan around its heading, up to obstacles."""
    r = (np.arange(round(reach_m / grid.resolution_m)) + 1) * grid.resolution_m
    angle = frontier.heading + _FAN[:, None]
    at = cells_at(grid, frontier.x + r * np.cos(angle), frontier.y + r * np.sin(angle))
    unexplored = values_in(~grid.explored, at, 1) > 0
    unexplored &= ~np.logical_or.accumulate(values_in(grid.cells, at, 0) == 100, axis=1)
    return float((unexplored * r).sum() * grid.resolution_m * (_FAN[1] - _FAN[0]))


def open_heading(grid: GridMap, pose: Pose2) -> Pose2:
    """Return a pose that does not face a wall: with its own heading or, if less than _BLOCKED_M of a fan of 60 degrees
    is open, with the most open one of eight. Unknown space counts as open.
    """
    r = (np.arange(round(_OPEN_M / grid.resolution_m)) + 1) * grid.resolution_m
    turns = np.radians(np.arange(0, 360, 45))
    angle = (pose.yaw + turns[:, None] + _FAN[2:-2:2])[..., None]  # heading, direction within it, distance
    at = cells_at(grid, pose.x + r * np.cos(angle), pose.y + r * np.sin(angle))
    free_m = np.logical_and.accumulate(values_in(grid.cells, at, 0) != 100, axis=2).sum(2).mean(1) * grid.resolution_m
    return pose if free_m[0] >= _BLOCKED_M else pose._replace(yaw=wrap(pose.yaw + float(turns[free_m.argmax()])))


def decision_for(goal: Pose2, reason: str, chosen: ScoredPlace, options: Sequence[ScoredPlace],
                 why: Callable[[ScoredPlace, ScoredPlace], str], chances: bool = False,
                 shown: Mapping[ScoredPlace, Option] | None = None) -> Decision:
    """Return the decision to drive to the goal on the way to the chosen option.

    The chosen option is the first candidate; the others follow by score. The reason also names the best of them and why
    it lost. chances: whether the options have a `value`, which the reason then states. shown: where a model saw them,
    which may be beside where the robot would stop.
    """
    others = sorted((option for option in options if option is not chosen), key=lambda option: -option.score)
    candidates = tuple(Candidate(at.x, at.y, o.score, o.kind) for o in (chosen, *others)
                       for at in [(shown or {}).get(o, o.place.pose)])
    if others:
        second = others[0]
        what = f"another place like it ({second.what})" if second.what == chosen.what else second.what
        chance = f", {100 * second.value:.0f} % to see the answer" if chances else ""
        reason = joined(reason, f"{what}, {second.place.distance_m:.1f} m away{chance}: {why(chosen, second)}")
    return Decision(goal, reason, candidates)


def less_worth(chosen: ScoredPlace, second: ScoredPlace) -> str:
    """Say why a place lost if the chance to see the answer is weighed against the distance."""
    if second.score > chosen.score:
        return "it is better, but not by so much that the robot gives up the place that it is on its way to"
    chances = [round(100 * option.value) for option in (chosen, second)]
    longer_m = second.place.distance_m - chosen.place.distance_m
    farther, nearer = longer_m > _SAME_M, -longer_m > _SAME_M
    if chances[1] < chances[0]:
        return ("it is farther away, and the answer is less likely there" if farther else
                "it is nearer, but the answer is less likely there" if nearer else "the answer is less likely there")
    if chances[1] == chances[0] and not farther:
        return "there is hardly a difference between the two"
    likely = "the answer is more likely there" if chances[1] > chances[0] else "the answer is as likely there"
    return f"{likely}, but it is farther away" if farther else f"{likely}, but the robot would have to turn more"


def lower_score(chosen: ScoredPlace, second: ScoredPlace) -> str:
    """Say why a place lost if scores are compared."""
    if second.score > chosen.score:
        return (f"it scores {second.score:.2f}, but not so much more than {chosen.score:.2f} that the robot gives up "
                "the place that it is on its way to")
    return f"it scores {second.score:.2f}, the other {chosen.score:.2f}"


def lost_draw(options: Sequence[ScoredPlace], kept: bool) -> Callable[[ScoredPlace, ScoredPlace], str]:
    """Return a function that says why a place lost in a weighted draw."""
    total = sum(option.score for option in options)

    def why(chosen: ScoredPlace, second: ScoredPlace) -> str:
        if kept:
            return "the robot goes where it was going until it has arrived"
        shares = [100 * option.score / total for option in (second, chosen)] if total > 0 else [0.0, 0.0]
        return f"lots are drawn, and its chance was {shares[0]:.0f} %, that of the other {shares[1]:.0f} %"

    return why
