"""Goal-oriented exploration (GOE in EXPRESS-Bench): to the floor of highest semantic value."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import ndimage

from eqa_nodes.core.driving.planning import centre_of
from eqa_nodes.core.policies.belief import RoomBelief
from eqa_nodes.core.policies.semantic_map import (
    FunctionalRegion,
    SemanticConfig,
    SemanticMap,
    functional_regions,
    mask_of,
)
from eqa_nodes.core.policies.steering import AnswersAtOnce, Reach, ReachablePose, Targets
from eqa_nodes.core.ranges import Counted, NotNegative, Positive
from eqa_nodes.core.settings import setting
from eqa_nodes.core.traits import PolicyTraits
from eqa_nodes.core.types.floor import Candidate, Decision, GridMap
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Situation
from eqa_nodes.core.types.robot import RobotModel


@dataclass(frozen=True)
class GoalConfig:
    """Goal-oriented exploration (EXPRESS-Bench)."""

    semantic: SemanticConfig = SemanticConfig()
    leg_m: Positive = setting(3.0, "Maximum length of one drive in metres.")
    visits: Counted = setting(3, "Maximum number of visits to one region.")
    visited_m: NotNegative = setting(0.5, "Radius in metres around a visit in which the value of the floor is ignored.")
    spread_m: NotNegative = setting(2.0,
        "Distance in metres from all visits at which floor is chosen next where nothing has a value.")


class GoalPolicy(AnswersAtOnce):
    """Drives to argmax(M_masked), M_masked = the semantic map inside the best region (EXPRESS-Bench eq. 10).

    While no region that the question ranks is identified, or all were visited often enough, the whole map counts.
    What was visited counts no more (the paper: less). Where nothing is valued the floor farthest from all visits is
    next, so that exploration goes on and ends.
    """

    traits = PolicyTraits(config=GoalConfig, calls=20.8, steps=186)

    def __init__(self, config: GoalConfig | None = None, robot: RobotModel = RobotModel()) -> None:
        self._c, self._radius_m = config or GoalConfig(), robot.radius_m
        self.reset(0)

    def reset(self, seed: int) -> None:
        """Begin a new question."""
        self._map, self._belief, self._targets = SemanticMap(self._c.semantic), RoomBelief(), Targets()
        self._visited: list[Pose2] = []
        self._visits = Visits()
        self._why = ""

    def decide(self, situation: Situation) -> Decision:
        """Return the next leg, or no goal when all floor that can be reached was visited."""
        grid, pose = situation.grid, situation.pose
        reach = Reach(grid, pose, self._radius_m)
        self._map.update(situation.assessments, grid.resolution_m)
        self._belief.update(situation.assessments)
        ended = self._targets.review(pose)
        self._visited.append(pose)
        regions = functional_regions(self._belief, situation.regions, self._c.semantic)
        place = self._kept(reach) or self._next(reach, regions)
        marks = (*self._map.marks(), *region_marks(regions))
        if place is None:
            return Decision(None, f"{ended}all floor that can be reached was visited", marks=marks)
        goal = self._targets.aim(place, reach, self._c.leg_m)
        candidate = Candidate(place.pose.x, place.pose.y, 1.0, "goal")
        return Decision(goal, f"{ended}{self._why}, {place.distance_m:.1f} m away", (candidate,), marks=marks)

    def _kept(self, reach: Reach) -> ReachablePose | None:
        current = self._targets.current
        return reach.place(*current, within_m=0.0) if current else None

    def _next(self, reach: Reach, regions: list[FunctionalRegion]) -> ReachablePose | None:
        values = self._map.on(reach.grid)
        for region in regions:
            if self._visits.left(region, self._c.semantic.merge_m, self._c.visits):
                place = highest(reach, values * mask_of(reach.grid, region.spots, 1.0), self._blocked(reach.grid))
                if place is not None:
                    self._visits.count(region, place.pose)
                    self._why = f"the {region.name} ranks first of what was found: goes where it looks most promising"
                    return place
        self._why = "goes to the most promising floor in sight"
        place = highest(reach, values, self._blocked(reach.grid))
        return place or self._farthest(reach)

    def _blocked(self, grid: GridMap) -> np.ndarray:
        """Return the cells near to what was visited, or cannot be got to."""
        spots = [(p.x, p.y) for p in (*self._visited, *self._targets.closed())]
        return mask_of(grid, list(dict.fromkeys(spots)), self._c.visited_m)

    def _farthest(self, reach: Reach) -> ReachablePose | None:
        self._why = "nothing is promising: goes to the floor farthest from all visits"
        gap = ndimage.distance_transform_edt(~self._blocked(reach.grid))
        return highest(reach, gap.astype(np.float32), gap * reach.grid.resolution_m < self._c.spread_m)


class Visits:
    """How often regions were visited: a limit keeps exploration from searching one for ever."""

    def __init__(self) -> None:
        self._places: list[tuple[str, Pose2]] = []

    def count(self, region: FunctionalRegion, place: Pose2) -> None:
        """Note a visit."""
        self._places.append((region.name, place))

    def left(self, region: FunctionalRegion, reach_m: float, most: int) -> bool:
        """Return whether a region, which may have grown since, may be visited again."""
        return sum(name == region.name and region.near(p.x, p.y, reach_m) for name, p in self._places) < most


def highest(reach: Reach, values: np.ndarray, blocked: np.ndarray) -> ReachablePose | None:
    """Return the reachable free place of the highest positive value, the nearer on a tie; None where there is none."""
    valued = np.where(np.isfinite(reach.field) & (reach.grid.cells == 0) & ~blocked, values, 0.0)
    best = float(valued.max(initial=0.0))
    if best <= 1e-6:
        return None
    rows, columns = np.nonzero(valued >= best)
    i = int(reach.field[rows, columns].argmin())
    iy, ix = int(rows[i]), int(columns[i])
    x, y = centre_of(reach.grid, iy, ix)
    yaw = np.arctan2(y - reach.pose.y, x - reach.pose.x)
    return ReachablePose(Pose2(x, y, float(yaw)), float(reach.field[iy, ix]))


def region_marks(regions: list[FunctionalRegion]) -> tuple[Candidate, ...]:
    """Return the squares of regions, to be shown."""
    return tuple(Candidate(x, y, r.rank, r.name) for r in regions for x, y in r.spots)
