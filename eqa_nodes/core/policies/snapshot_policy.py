"""Choice between snapshots and frontiers, as in 3D-Mem."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from eqa_nodes.core.policies.frontier_policy import none_left
from eqa_nodes.core.policies.steering import (
    AnswersAtOnce,
    GoalList,
    ReachableArea,
    ScoredPlace,
    all_facing,
    clear_lines,
    decision_for,
    lower_score,
    reachable_frontiers,
    viewpoint,
)
from eqa_nodes.core.ranges import Counted, NotNegative, Positive
from eqa_nodes.core.settings import setting
from eqa_nodes.core.traits import PolicyTraits
from eqa_nodes.core.types.floor import Decision, Frontier
from eqa_nodes.core.types.questions import Situation, ViewAssessment
from eqa_nodes.core.types.robot import RobotModel

_HALF_VIEW = math.radians(45)


@dataclass(frozen=True)
class SnapshotConfig:
    """Settings of the 3D-Mem policy."""

    leg_m: Positive = setting(1.0, "Maximum length of one drive in metres.")
    prefilter: Counted = setting(10, "Number of the most relevant views that compete.")
    together_m: Positive = setting(3.5, "Maximum distance in metres between targets that share one snapshot.")
    unseen: float = setting(0.2, "Score of a frontier that no view shows.")
    margin: NotNegative = setting(0.1,
        "Difference of scores by which another image must be better than the current target.")
    sight_m: Positive = setting(6.0, "Maximum distance in metres at which a view shows a frontier.")
    near_m: NotNegative = setting(1.0, "Minimum distance in metres from which an object is looked at.")


class SnapshotPolicy(AnswersAtOnce):
    """Picks the best among remembered views (snapshots) and views of frontiers (Yang et al. 2025, 3D-Mem).

    The paper shows a model all images at once and lets it pick one: a snapshot answers, a frontier is driven to. Here
    every image was judged in the batched assessment, and the best judgement wins: `enough` of a snapshot against the
    worth of the view towards a frontier. So the choice is deterministic on every machine; the agent itself answers once
    the picked snapshot is enough, and a snapshot picked before that is looked at again from closer.

    Snapshots are the ten most relevant views, one per shown object (targets within 3.5 m); a leg is at most 1 m. One
    view per metre and direction is kept, so the cost of a decision does not grow with the steps.
    """

    traits = PolicyTraits(config=SnapshotConfig, calls=28.1, steps=189)

    def __init__(self, config: SnapshotConfig | None = None, robot: RobotModel = RobotModel()) -> None:
        self._c, self._radius_m = config or SnapshotConfig(), robot.radius_m
        self.reset(0)

    def reset(self, seed: int) -> None:
        """Reset for a new question."""
        self._targets = GoalList()
        self._views: dict[tuple[int, int, int], ViewAssessment] = {}
        self._read: set[int] = set()

    def decide(self, situation: Situation) -> Decision:
        """Return a leg to the place of the picked image, or no goal if no snapshot or frontier is left."""
        reach = ReachableArea(situation.grid, situation.pose, self._radius_m)
        self._keep(situation.assessments)
        ended = self._targets.review(situation.pose)
        choices = [*self._snapshots(reach), *self._frontiers(situation, reach)]
        if not choices:
            self._targets.drop()
            return Decision(None, none_left(situation.frontiers))
        kept = self._targets.kept(choices)
        best = max(choices, key=lambda c: (c.score, -c.place.distance_m))
        picked = kept if kept and kept.score >= best.score - self._c.margin else best
        goal = self._targets.aim(picked.place, reach, self._c.leg_m)
        reason = (f"{ended}picks {picked.what} ({picked.score:.2f}), {picked.place.distance_m:.1f} m away, "
                  f"out of {len(choices)} images")
        return decision_for(goal, reason, picked, choices, lower_score)

    def _keep(self, assessments: Sequence[ViewAssessment]) -> None:
        for view in assessments:
            if view.keyframe_id not in self._read:
                self._read.add(view.keyframe_id)
                x, y, yaw = view.pose
                self._views[math.floor(x), math.floor(y), round(yaw / _HALF_VIEW) % 8] = view

    def _snapshots(self, reach: ReachableArea) -> list[ScoredPlace]:
        ranked = sorted((v for v in self._views.values() if v.target is not None and v.relevance > 0),
                        key=lambda v: (-v.enough, -v.relevance, v.keyframe_id))[:self._c.prefilter]
        choices: list[ScoredPlace] = []
        shown: list[tuple[float, float]] = []
        for view in ranked:
            assert view.target is not None
            if any(math.dist(view.target, s) <= self._c.together_m for s in shown):
                continue
            shown.append(view.target)
            place = viewpoint(reach, view, self._c.near_m, self._c.together_m)
            if place is not None and self._targets.open(place.pose):
                choices.append(ScoredPlace(place, view.enough, "snapshot", "a snapshot of the thing asked about"))
        return choices

    def _frontiers(self, situation: Situation, reach: ReachableArea) -> list[ScoredPlace]:
        choices = []
        views = list(self._views.values())
        poses = np.array([v.pose for v in views]).reshape(-1, 3)
        for frontier, place in reachable_frontiers(reach, situation.frontiers, self._targets):
            view = self._view_of(situation, frontier, views, poses)
            score = self._c.unseen if view is None else _promise(view, frontier)
            where = f"the view towards the {view.region}" if view and view.region else "the view of a frontier"
            choices.append(ScoredPlace(place, score, "frontier", where))
        return choices

    def _view_of(self, situation: Situation, frontier: Frontier, views: Sequence[ViewAssessment],
                 poses: np.ndarray) -> ViewAssessment | None:
        """Return the nearest view that sees a frontier; poses: (n, 3), those of the views."""
        off = np.hypot(poses[:, 0] - frontier.x, poses[:, 1] - frontier.y)
        facing_it = np.flatnonzero((off > 0.3) & (off <= self._c.sight_m)
                                   & (all_facing(poses, frontier.x, frontier.y) <= _HALF_VIEW))
        nearest = facing_it[np.argsort(off[facing_it], kind="stable")][:8]
        if not len(nearest):
            return None
        clear = clear_lines(situation.grid, (frontier.x, frontier.y), poses[nearest, :2])
        return views[nearest[int(clear.argmax())]] if clear.any() else None


def _promise(view: ViewAssessment, frontier: Frontier) -> float:
    """Return the value of a view, higher if the place nearest to the frontier has more than an even share."""
    if not view.places:
        return view.worth
    nearest = min(view.places, key=lambda p: math.hypot(p.x - frontier.x, p.y - frontier.y))
    return view.worth * (0.5 + 0.5 * min(1.0, nearest.weight * len(view.places)))
