"""Frontier-based exploration (FBE in EXPRESS-Bench; explore-eqa and Fine-EQA with their semantic terms off)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.errors import BadPose
from eqa_nodes.core.geometry import Pose2, wrap
from eqa_nodes.core.planning import SNAP_M, along, centre_of, distance_field, plan, snap
from eqa_nodes.core.types import Candidate, Decision, Frontier, GridMap, Question, ViewAssessment

SAME_PLACE_M = 0.5  # frontiers so near to each other, and looking the same way, are one
SAME_WAY_RAD = math.radians(60)
ARRIVED_M = 0.4  # the navigator's tolerance and the half cell that a goal is moved by
STUCK_M = 0.05
FAR_SNAP_M = 1.0  # a frontier stands for so much border that its middle may be out of reach where its ends are not


@dataclass(frozen=True)
class FrontierWeights:
    """Scales of the weight, lengths of the rays, and of a leg in metres; the defaults are the published values."""

    unexplored: float = 0.2
    unoccupied: float = 2.0
    distance_m: float = 10.0
    unexplored_ray_m: float = 3.0
    unoccupied_ray_m: float = 1.0
    leg_m: float = 3.0


class _Option(NamedTuple):
    frontier: Frontier
    place: Pose2  # reachable, facing the unknown
    distance_m: float
    weight: float


class FrontierPolicy:
    """Samples a frontier by weight and keeps it until it is reached, in legs of at most 3 m.

    w = exp(unexplored / 0.2) * exp(unoccupied / 2.0) * exp(-distance / 10 m)

    (Ren et al. 2024, "Explore until Confident", and EXPRESS-Bench eq. 7 without visem): unexplored is the share of
    unexplored cells on a ray of 3 m from the frontier into the unknown (here a wall ends the ray: what lies behind it
    is not to be seen from there), unoccupied the share of cells not occupied on a ray of 1 m, distance the length of
    the path on the map in metres (published code mixes cells and metres). The target is drawn with probability
    w / sum(w) (eq. 8). A target that was looked at, or that the robot does not get to, is not drawn again; so
    exploration ends.
    """

    def __init__(self, radius_m: float = 0.18, scales: FrontierWeights | None = None) -> None:
        self._radius_m, self._scales = radius_m, scales or FrontierWeights()
        self.reset(0)

    def reset(self, seed: int) -> None:
        """Begin a new question."""
        self._random = np.random.default_rng(seed)
        self._target: _Option | None = None
        self._left_from: Pose2 | None = None
        self._legs = 0
        self._done: list[Pose2] = []

    def decide(self, question: Question, pose: Pose2, grid: GridMap, frontiers: Sequence[Frontier],
               assessments: Sequence[ViewAssessment]) -> Decision:
        """Return the next leg, or no goal when no frontier is left that can be reached."""
        try:
            field = distance_field(grid, pose, self._radius_m)
        except BadPose as error:
            return Decision(None, f"nowhere to go: {error}")
        ended = self._review(pose)
        options = self._options(grid, field, frontiers, SNAP_M) or self._options(grid, field, frontiers, FAR_SNAP_M)
        candidates = tuple(Candidate(o.place.x, o.place.y, o.weight, "frontier") for o in options)
        if not options:
            self._target = None
            left = f"; {len(frontiers)} cannot be reached or were looked at" if frontiers else ""
            return Decision(None, f"no frontier is left to look at{left}", candidates)
        target, chosen = self._choose(options)
        self._legs -= 1
        self._target, self._left_from = target, pose
        reason = (f"{ended}{chosen} the frontier at ({target.place.x:.1f}, {target.place.y:.1f}), "
                  f"{target.distance_m:.1f} m away, out of {len(options)}")
        return Decision(self._leg(grid, pose, target), reason, candidates)

    def _choose(self, options: Sequence[_Option]) -> tuple[_Option, str]:
        """Return the target, and "keeping" while it is still one of the options, else "chose" for a newly drawn one."""
        kept = self._target and next((o for o in options if _same(o.place, self._target.place)), None)
        if kept:
            return kept, "keeping"
        shares = np.array([o.weight for o in options])
        drawn = options[int(self._random.choice(len(options), p=shares / shares.sum()))]
        self._legs = 3 + 2 * math.ceil(drawn.distance_m / self._scales.leg_m)
        return drawn, "chose"

    def _review(self, pose: Pose2) -> str:
        """Strike off the target when it was reached, or when driving there fails. Return what happened, or ""."""
        target, left_from = self._target, self._left_from
        if target is None or left_from is None:
            return ""
        place = target.place
        if pose.distance(place) <= ARRIVED_M and abs(wrap(pose.yaw - place.yaw)) < SAME_WAY_RAD:
            what = "reached the last target, "
        elif pose.distance(left_from) < STUCK_M and abs(wrap(pose.yaw - left_from.yaw)) < STUCK_M:
            what = "could not move to the last target, "
        elif self._legs <= 0:
            what = "gave the last target up, "
        else:
            return ""
        self._done.append(place)
        self._target = None
        return what

    def _options(self, grid: GridMap, field: np.ndarray, frontiers: Sequence[Frontier], snap_m: float) -> list[_Option]:
        """Return the frontiers with reachable floor within `snap_m` that are not struck off, with their weights."""
        options = []
        for frontier in frontiers:
            cell = snap(grid, field, frontier.x, frontier.y, snap_m)
            if cell is None:
                continue
            place = Pose2(*centre_of(grid, *cell), frontier.heading)
            if not any(_same(place, done) for done in self._done):
                distance_m = float(field[cell])
                options.append(_Option(frontier, place, distance_m, self._weight(grid, frontier, distance_m)))
        return options

    def _weight(self, grid: GridMap, frontier: Frontier, distance_m: float) -> float:
        s = self._scales
        occupied, unexplored = _ray(grid, frontier, s.unexplored_ray_m)
        unexplored &= ~np.logical_or.accumulate(occupied)
        near, _ = _ray(grid, frontier, s.unoccupied_ray_m)
        return math.exp(unexplored.mean() / s.unexplored + (~near).mean() / s.unoccupied - distance_m / s.distance_m)

    def _leg(self, grid: GridMap, pose: Pose2, target: _Option) -> Pose2:
        """Return the target, or the place leg_m metres along the path to it when it is farther."""
        path = plan(grid, pose, target.place, self._radius_m)
        if path is None or target.distance_m <= self._scales.leg_m:
            return target.place
        point, heading = along(path, self._scales.leg_m)
        return Pose2(*point, heading)


def _same(a: Pose2, b: Pose2) -> bool:
    return a.distance(b) <= SAME_PLACE_M and abs(wrap(a.yaw - b.yaw)) < SAME_WAY_RAD


def _ray(grid: GridMap, frontier: Frontier, length_m: float) -> tuple[np.ndarray, np.ndarray]:
    """Return which cells from a frontier along its heading are occupied, and which unexplored (beyond the map: all)."""
    n = max(1, round(length_m / grid.resolution_m))
    along_m = (np.arange(n) + 1) * grid.resolution_m
    ix = np.floor((frontier.x + along_m * math.cos(frontier.heading) - grid.origin[0]) / grid.resolution_m).astype(int)
    iy = np.floor((frontier.y + along_m * math.sin(frontier.heading) - grid.origin[1]) / grid.resolution_m).astype(int)
    on_map = (ix >= 0) & (iy >= 0) & (ix < grid.cells.shape[1]) & (iy < grid.cells.shape[0])
    occupied, unexplored = np.zeros(n, bool), np.ones(n, bool)
    occupied[on_map] = grid.cells[iy[on_map], ix[on_map]] == 100
    unexplored[on_map] = ~grid.explored[iy[on_map], ix[on_map]]
    return occupied, unexplored
