"""Exploration of Fine-EQA: semantic frontiers until a relevant region is found, then that region."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eqa_nodes.core.policies.belief import RoomBelief
from eqa_nodes.core.policies.frontier_policy import (
    FrontierConfig,
    SemanticValues,
    beside,
    choose,
    none_left,
    weighed,
)
from eqa_nodes.core.policies.goal_policy import Visits, highest, region_marks
from eqa_nodes.core.policies.semantic_map import (
    FunctionalRegion,
    SemanticConfig,
    SemanticMap,
    functional_regions,
    mask_of,
)
from eqa_nodes.core.policies.steering import AnswersAtOnce, Reach, ReachablePose, Targets, reachable_frontiers
from eqa_nodes.core.ranges import Count, Counted, NotNegative, Positive
from eqa_nodes.core.settings import setting
from eqa_nodes.core.traits import PolicyTraits
from eqa_nodes.core.types.floor import Candidate, Decision
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Situation
from eqa_nodes.core.types.robot import RobotModel


@dataclass(frozen=True)
class FineConfig:
    """Fine-EQA."""

    semantic: SemanticConfig = SemanticConfig()
    frontier: FrontierConfig = FrontierConfig()
    leg_m: Positive = setting(3.0, "Maximum length of one drive in metres.")
    value: Positive = setting(0.5, "Scale of the semantic terms.")
    value_ray_m: Positive = setting(3.0, "Length in metres of the ray of the semantic terms.")
    quiet: Count = setting(2, "Number of first decisions without the semantic terms.")
    visits: Counted = setting(3, "Maximum number of visits to one region.")
    visited_m: NotNegative = setting(0.5, "Radius in metres around a visit in which the value of the floor is ignored.")


class FinePolicy(AnswersAtOnce):
    """Hybrid of EXPRESS-Bench (Jiang et al. 2025), section 4: coarse search by frontiers, fine search in regions.

    Frontier mode samples by w = frontier_weights * exp(SV / 0.5) * exp(SV_dir / 0.5) (eq. 7, 8), the semantic terms off
    for the first two decisions. As soon as a region that the question ranks is identified (eq. 9), the highest-ranked
    one is searched: argmax of its masked semantic map (eq. 10), with a look round at each of at most three places;
    visited discs do not count. Then the next region by rank, or frontiers again.

    The published code handles two regions only, drops "dining room, kitchen" for its blank, compares metres with cells,
    has no threshold for a region's confidence, and jumps between waypoints; none of that is kept.
    """

    traits = PolicyTraits(config=FineConfig, calls=12.0, steps=175)

    def __init__(self, config: FineConfig | None = None, robot: RobotModel = RobotModel()) -> None:
        self._c, self._radius_m = config or FineConfig(), robot.radius_m
        self.reset(0)

    def reset(self, seed: int) -> None:
        """Begin a new question."""
        self._random = np.random.default_rng(seed)
        self._map, self._belief, self._targets = SemanticMap(self._c.semantic), RoomBelief(), Targets()
        self._visits, self._visited = Visits(), list[Pose2]()
        self._searched: FunctionalRegion | None = None  # whose place is the present target
        self._decisions = 0

    def decide(self, situation: Situation) -> Decision:
        """Return the next leg, or no goal when regions are searched and no frontier is left."""
        reach = Reach(situation.grid, situation.pose, self._radius_m)
        self._map.update(situation.assessments, situation.grid.resolution_m)
        self._belief.update(situation.assessments)
        self._decisions += 1
        ended = self._targets.review(situation.pose)
        self._visited.append(situation.pose)
        regions = functional_regions(self._belief, situation.regions, self._c.semantic)
        decision = self._in_region(reach, regions) or self._at_frontier(situation, reach)
        return decision._replace(reason=ended + decision.reason, marks=(*self._map.marks(), *region_marks(regions)))

    def _in_region(self, reach: Reach, regions: list[FunctionalRegion]) -> Decision | None:
        """Search the highest-ranked region that may be visited again; None while there is none."""
        kept = self._kept(reach, regions)
        if kept is not None:
            return self._go(reach, kept, "keeps searching the region")
        values = self._map.on(reach.grid) if regions else None
        for region in regions:
            if not self._visits.left(region, self._c.semantic.merge_m, self._c.visits):
                continue
            spots = list(dict.fromkeys((p.x, p.y) for p in (*self._visited, *self._targets.closed())))
            masked = values * mask_of(reach.grid, region.spots, self._c.semantic.disc_m)
            place = highest(reach, masked, mask_of(reach.grid, spots, self._c.visited_m))
            if place is not None:
                self._visits.count(region, place.pose)
                self._searched = region
                why = f"the {region.name} ranks {_nth(regions, region)} and was found: searches its most promising spot"
                return self._go(reach, place, why)
        return None

    def _kept(self, reach: Reach, regions: list[FunctionalRegion]) -> ReachablePose | None:
        """Return the target in the region that is searched, unless a region of higher rank was found meanwhile."""
        current, searched = self._targets.current, self._searched
        if current is None or searched is None:
            return None
        better = next((r for r in regions if r.rank > searched.rank
                       and self._visits.left(r, self._c.semantic.merge_m, self._c.visits)), None)
        return None if better else reach.place(*current, within_m=0.0)

    def _go(self, reach: Reach, place: ReachablePose, why: str) -> Decision:
        goal = self._targets.aim(place, reach, self._c.leg_m)
        return Decision(goal, f"{why}, {place.distance_m:.1f} m away",
                        (Candidate(place.pose.x, place.pose.y, 1.0, "region"),), look_around=goal == place.pose)

    def _at_frontier(self, situation: Situation, reach: Reach) -> Decision:
        """Sample a frontier by its semantic weight, as FrontierPolicy does."""
        self._searched = None
        values = SemanticValues(self._map.on(reach.grid), self._c.value, self._c.value_ray_m) if (
            self._decisions > self._c.quiet) else None
        options = weighed(reach.grid, reachable_frontiers(reach, situation.frontiers, self._targets), self._c.frontier,
                          values)
        if not options:
            self._targets.drop()
            return Decision(None, none_left(situation.frontiers))
        place, chosen = choose(options, self._targets, self._random)
        goal = self._targets.aim(place, reach, self._c.leg_m)
        reason = f"no region that matters is left to search: {chosen} a frontier {place.distance_m:.1f} m away"
        return Decision(goal, *beside(reason, options, place, chosen))


def _nth(regions: list[FunctionalRegion], region: FunctionalRegion) -> str:
    rank = sorted({r.rank for r in regions}, reverse=True).index(region.rank)
    return ("first", "second", "third")[rank] if rank < 3 else f"number {rank + 1}"
