"""Exploration of the agents of EXPRESS-Bench, by its paper and code: RE, FBE, GOE and Fine-EQA.

The policies `frontier` and `random` are this project's versions of FBE and RE; this one follows the published steps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from eqa_nodes.core.driving.planning import cell_at, centre_of
from eqa_nodes.core.errors import ConfigError, unknown
from eqa_nodes.core.ledger import limit_in_words
from eqa_nodes.core.policies.frontier_policy import FrontierConfig, drawn, frontier_weights
from eqa_nodes.core.policies.semantic_map import (
    SEEN_M,
    RegionMap,
    RegionSearch,
    SemanticConfig,
    SemanticMap,
    Spot,
    mask_of,
    masked_values,
    representative,
)
from eqa_nodes.core.policies.steering import (
    FAR_SNAP_M,
    ReachableArea,
    ReachablePose,
    ScoredPlace,
    decision_for,
    lost_draw,
    rays,
    values_in,
)
from eqa_nodes.core.ranges import Count, Counted, NotNegative, Positive, check_ranges
from eqa_nodes.core.settings import setting
from eqa_nodes.core.traits import PolicyTraits
from eqa_nodes.core.types.floor import Candidate, Decision, Frontier, GridMap
from eqa_nodes.core.types.geometry import Pose2, wrap
from eqa_nodes.core.types.questions import Situation, ViewAssessment
from eqa_nodes.core.types.robot import RobotModel

RANDOM, FRONTIER, SEMANTIC = COARSE = ("random", "frontier", "semantic")
_ANYWHERE_M = 1000.0
_PLACES = 2  # views with fewer places are not used in the semantic map or the region map
_AHEAD = math.radians(30)  # a frontier within this angle of the robot's heading is already in view
_LOOKED_AT = 1e-3  # factor of the weight of such a frontier nearby


@dataclass(frozen=True)
class ExpressConfig:
    """Settings of the exploring agents of EXPRESS-Bench. Defaults: those of Fine-EQA, from its paper and code."""

    coarse: str = setting(SEMANTIC,
        "Exploration until a region is found: random (RE, GOE) | frontier (FBE) | semantic (frontiers with semantic "
        "weights, Fine-EQA).")
    regions: Count = setting(2,
        "Number of the question's first ranked regions that are searched when they are found; 0 searches none.")
    visits: Counted = setting(3, "Maximum number of visits to one region in a row.")
    turns: Count = setting(3, "Number of turns on the spot after each drive in a region; each is a decision.")
    left_deg: Positive = setting(30.0, "Size in degrees of such a turn, to the left.")
    semantic: SemanticConfig = SemanticConfig()
    frontier: FrontierConfig = FrontierConfig()
    value: Positive = setting(0.5, "Scale of the semantic terms.")
    value_ray_m: Positive = setting(3.0, "Length in metres of the ray of the semantic terms.")
    quiet: Count = setting(2, "Number of first decisions without the semantic terms.")
    back_m: NotNegative = setting(1.5, "Distance in metres from which the robot looks at a frontier, where it can.")
    near_m: NotNegative = setting(5.0,
        "Distance in metres up to which a frontier straight ahead is nearly ignored. The code says 0.5, but compares "
        "it with cells of 0.1 m.")
    least_m: NotNegative = setting(0.5, "Minimum length in metres of a random move.")
    leg_m: Positive = setting(3.0, "Maximum length in metres of a random move, and of one drive to a frontier.")
    decisions: Count = setting(0,
        "Maximum number of views that are judged, the first included; 0 computes int(sides * sqrt(A)).")
    sides: Positive = setting(3.0, "Factor of the square root of the area A in that limit.")
    area_m2: NotNegative = setting(0.0,
        "Area A of the scene in square metres; 0 measures the rectangle round the free floor of the map at each "
        "decision.")

    def __post_init__(self) -> None:
        check_ranges(self, "express")
        if self.coarse not in COARSE:
            raise ConfigError("express: " + unknown("coarse exploration", self.coarse, COARSE))


class ExpressPolicy:
    """Explores like the agents of EXPRESS-Bench (Jiang et al. 2025, sections 4 and 5.1), one view per decision.

    Explores coarsely until a region that the question ranks is found; then drives to its representative point of the
    highest masked semantic value (eq. 10), with turns at each, for some visits; then the next region or coarse again.
    Random: uniform distance and direction, and the reachable floor nearest to that point (RE; distances in the range of
    the frontier planner, since the paper gives none). Frontiers: drawn with weight
    exp(unexplored / 0.2) exp(unoccupied / 2) exp(-distance / 10 m), semantic ones also by exp(SV / 0.5) exp(SV_dir /
    0.5) after the first two decisions, and kept until reached in drives of 3 m. Without a frontier the robot turns to
    a random direction. Only the limit of decisions ends exploration.

    Differences from the published code: the map uses all images on the way, drives are real drives and not jumps, goals
    are reachable floor only, and the area A of the limit is measured on the robot's own map.
    """

    traits = PolicyTraits(config=ExpressConfig, calls=30.0, steps=200.0)

    def __init__(self, config: ExpressConfig | None = None, robot: RobotModel = RobotModel()) -> None:
        self._c, self._radius_m = config or ExpressConfig(), robot.radius_m
        self.reset(0)

    def reset(self, seed: int) -> None:
        """Reset for a new question."""
        self._random = np.random.default_rng(seed)
        self._map, self._regions = SemanticMap(self._c.semantic), RegionMap()
        self._search = RegionSearch(self._c.regions, self._c.visits, self._c.turns)
        self._read: set[int] = set()
        self._target: ReachablePose | None = None  # a frontier farther away than one drive
        self._decisions = 0

    def confirm(self, situation: Situation) -> Decision:
        """Accept the answer without another look."""
        return Decision(None, "the answer stands")

    def decide(self, situation: Situation) -> Decision:
        """Return the next drive or turn, or no goal at the limit of decisions."""
        self._decisions += 1
        most = self._limit(situation.grid)
        if self._decisions >= most:
            return Decision(None, limit_in_words(f"{most} decisions"), marks=self._map.marks())
        reach = ReachableArea(situation.grid, situation.pose, self._radius_m)
        self._learn(situation)
        found = self._search.advance()
        decision = None if found is None else self._in_region(reach, situation, found)
        return (decision or self._coarse(reach, situation))._replace(marks=self._map.marks())

    def _limit(self, grid: GridMap) -> int:
        area = self._c.area_m2 or _rectangle_m2(grid)
        return self._c.decisions or max(1, int(self._c.sides * math.sqrt(area)))

    def _learn(self, situation: Situation) -> None:
        """Add the new views to both maps; views with fewer than _PLACES places are ignored."""
        new = [view for view in situation.assessments if view.keyframe_id not in self._read]
        self._read.update(view.keyframe_id for view in new)
        telling = [view for view in new if len(view.places) >= _PLACES]
        self._map.update(telling, situation.grid.resolution_m)
        for view in telling:
            self._learn_region(view, situation)

    def _learn_region(self, view: ViewAssessment, situation: Situation) -> None:
        point = representative(view)
        if point is not None:
            self._regions.add(view.region, point)
            self._search.note(view.region, point, situation.regions)

    def _in_region(self, reach: ReachableArea, situation: Situation, rank: int) -> Decision | None:
        """Turn, or drive to the region's most promising point; None if nothing in it is reachable."""
        pose, name = situation.pose, situation.regions[rank].name
        if self._search.turning:
            left = pose._replace(yaw=wrap(pose.yaw + math.radians(self._c.left_deg)))
            return Decision(left, f"looks about in the {name}")
        masked = masked_values(self._map.on(reach.grid), self._regions.mask(reach.grid, name),
                               self._c.semantic.sigma_cells)
        points = sorted(self._search.points, key=lambda spot: -_value_at(masked, reach.grid, spot))
        place = self._reachable(reach, points)
        if place is None:
            seen = mask_of(reach.grid, self._search.gone_to, SEEN_M)
            place = highest(reach, masked, seen)
            if place is None:
                return None
            self._search.go(place.pose[:2])
        self._target = None
        goal = place.pose._replace(yaw=pose.yaw)
        return Decision(goal, f"the {name} was found: goes where it promises most, {place.distance_m:.1f} m away",
                        (Candidate(goal.x, goal.y, 1.0, "region"),))

    def _reachable(self, reach: ReachableArea, points: Sequence[Spot]) -> ReachablePose | None:
        """Return the first reachable point; points that were tried are not tried again."""
        for spot in points:
            self._search.go(spot)
            place = reach.place(*spot, 0.0, FAR_SNAP_M)
            if place is not None:
                return place
        return None

    def _coarse(self, reach: ReachableArea, situation: Situation) -> Decision:
        return self._drawn(reach) if self._c.coarse == RANDOM else self._at_frontier(reach, situation)

    def _drawn(self, reach: ReachableArea) -> Decision:
        """Draw a distance and a direction, and drive to the nearest reachable floor."""
        distance_m = float(self._random.uniform(self._c.least_m, self._c.leg_m))
        heading = float(self._random.uniform(-math.pi, math.pi))
        x, y = reach.pose.x + distance_m * math.cos(heading), reach.pose.y + distance_m * math.sin(heading)
        place = reach.place(x, y, heading, _ANYWHERE_M) or ReachablePose(reach.pose._replace(yaw=heading), 0.0)
        return Decision(place.pose, f"drew {distance_m:.1f} m towards {math.degrees(heading):.0f} degrees",
                        (Candidate(x, y, 1.0, "random"),))

    def _at_frontier(self, reach: ReachableArea, situation: Situation) -> Decision:
        """Keep the current frontier, else draw one by weight; if there is none, turn to a random direction."""
        kept = self._target
        place = None if kept is None else reach.place(kept.pose.x, kept.pose.y, kept.pose.yaw)
        options = [] if place is not None else self._weighed(reach, situation)
        chosen = drawn(options, self._random) if options else None
        place = chosen.place if chosen is not None else place
        if place is None:
            yaw = float(self._random.uniform(-math.pi, math.pi))
            return Decision(reach.pose._replace(yaw=yaw), "no frontier can be reached: turns to a random direction")
        near = reach.pose.distance(place.pose) <= self._c.leg_m or place.distance_m <= self._c.leg_m
        self._target = None if near else place
        goal = place.pose if near else reach.leg(place, self._c.leg_m)
        reason = (f"{'keeps' if chosen is None else 'drew'} the frontier at ({place.pose.x:.1f}, {place.pose.y:.1f}), "
                  f"{place.distance_m:.1f} m away")
        if chosen is None:
            return Decision(goal, reason)
        return decision_for(goal, reason, chosen, options, lost_draw(options, kept=False))

    def _weighed(self, reach: ReachableArea, situation: Situation) -> list[ScoredPlace]:
        """Return a pose that looks at each reachable frontier, with its weight. EXPRESS-Bench eq. 7, 8."""
        grid, pose = situation.grid, situation.pose
        found = [(f, place) for f in situation.frontiers if (place := self._before(reach, f)) is not None]
        frontiers = [f for f, _ in found]
        off_m = [math.dist((f.x, f.y), pose[:2]) for f in frontiers]
        weights = np.array(frontier_weights(grid, frontiers, off_m, self._c.frontier))
        if self._c.coarse == SEMANTIC and self._decisions > self._c.quiet and frontiers:
            weights *= np.exp(self._semantic(grid, frontiers) / self._c.value)
        ahead = [d < self._c.near_m and abs(wrap(f.heading - pose.yaw)) < _AHEAD
                 for f, d in zip(frontiers, off_m, strict=True)]
        weights = np.where(ahead, weights * _LOOKED_AT, weights) if frontiers else weights
        return [ScoredPlace(place, float(weight), "frontier", "a frontier")
                for (_, place), weight in zip(found, weights, strict=True)]

    def _semantic(self, grid: GridMap, frontiers: Sequence[Frontier]) -> np.ndarray:
        """Return SV + SV_dir, (n,): the value at a frontier, and the mean of positive values on a ray beyond it."""
        values = self._map.on(grid)
        here = np.array([_value_at(values, grid, (f.x, f.y)) for f in frontiers])
        beyond = values_in(values, rays(grid, frontiers, self._c.value_ray_m), 0.0)
        total: np.ndarray = here + beyond.sum(axis=1) / np.maximum((beyond > 0).sum(axis=1), 1)
        return total

    def _before(self, reach: ReachableArea, frontier: Frontier) -> ReachablePose | None:
        """Return the pose to look at a frontier from: back from it up to `back_m` while the floor is reachable."""
        best = reach.place(frontier.x, frontier.y, frontier.heading, FAR_SNAP_M)
        step = reach.grid.resolution_m
        for i in range(1, round(self._c.back_m / step) + 1):
            x = frontier.x - i * step * math.cos(frontier.heading)
            y = frontier.y - i * step * math.sin(frontier.heading)
            back = reach.place(x, y, frontier.heading, 0.0)
            if back is None and i > 2:
                break
            best = back or best
        return best


def _value_at(values: np.ndarray, grid: GridMap, spot: Spot) -> float:
    cell = cell_at(grid, *spot)
    return float(values[cell]) if cell else 0.0


def _rectangle_m2(grid: GridMap) -> float:
    """Return the area of the axis-aligned bounding rectangle of the free floor, m2."""
    rows, columns = np.nonzero(grid.cells == 0)
    if not len(rows):
        return 0.0
    return float((np.ptp(rows) + 1) * (np.ptp(columns) + 1)) * grid.resolution_m ** 2


def highest(reach: ReachableArea, values: np.ndarray, blocked: np.ndarray) -> ReachablePose | None:
    """Return the reachable free place of highest positive value (ties: the nearest); None if there is none."""
    valued = np.where(np.isfinite(reach.field) & (reach.grid.cells == 0) & ~blocked, values, 0.0)
    best = float(valued.max(initial=0.0))
    if best <= 1e-6:
        return None
    rows, columns = np.nonzero(valued >= best)
    i = int(reach.field[rows, columns].argmin())
    iy, ix = int(rows[i]), int(columns[i])
    return ReachablePose(Pose2(*centre_of(reach.grid, iy, ix), reach.pose.yaw), float(reach.field[iy, ix]))
