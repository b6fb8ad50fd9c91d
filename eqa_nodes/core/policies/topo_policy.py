"""Exploration on a topological map, as in AQ-Nav (ExploraQA), with a score by hand; `aqnav` is the trained one."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from eqa_nodes.core.policies.belief import RoomBelief
from eqa_nodes.core.policies.steering import (
    AnswersAtOnce,
    GoalList,
    ReachableArea,
    ReachablePose,
    ScoredPlace,
    decision_for,
    lower_score,
    reachable_frontiers,
    same,
)
from eqa_nodes.core.policies.topo_graph import NodeViews, VisitedPlaces, room_rank
from eqa_nodes.core.ranges import Positive, Share
from eqa_nodes.core.settings import setting
from eqa_nodes.core.traits import PolicyTraits
from eqa_nodes.core.types.floor import Candidate, Decision
from eqa_nodes.core.types.questions import Situation, ViewAssessment
from eqa_nodes.core.types.robot import RobotModel


class NodeFeatures(NamedTuple):
    """Features of an unvisited node: the input of a scorer made by hand. All but distance_m in 0..1.

    worth: value of the best view from a visited node towards it; share: share of that value on the node's floor;
    room: rank of its probable room for the question; unseen: 1 if no view looks at it; distance_m: path length to it,
    metres.
    """

    worth: float
    share: float
    room: float
    unseen: float
    distance_m: float


@dataclass(frozen=True)
class TopoConfig:
    """Settings of AQ-Nav; worth, room, unseen and distance are the weights of `linear_score`."""

    leg_m: Positive = setting(3.0, "Maximum length of one drive in metres.")
    merge_m: Positive = setting(1.0, "Distance in metres below which two nodes of the topological graph are merged.")
    sight_m: Positive = setting(6.0, "Maximum distance in metres between a view and a node that it can show.")
    votes_m: Positive = setting(2.5, "Radius in metres around a node in which votes for its room are counted.")
    beta: Share = setting(0.5, "Relevance (0 to 1) from which a view is a keyframe for the answer, as published.")
    stop: float = setting(-4.0, "Score of the decision to stop.")
    worth: float = setting(1.0, "Weight of what the views promise.")
    room: float = setting(1.0, "Weight of the name of the room.")
    unseen: float = setting(0.2, "Weight of floor that has not been seen.")
    distance: float = setting(0.1, "Cost of one metre of the path to a node.")


def linear_score(config: TopoConfig, node: NodeFeatures) -> float:
    """Return the weighted sum of a node's features: a score without training."""
    c = config
    return (c.worth * node.worth * (0.5 + 0.5 * node.share) + c.room * node.room + c.unseen * node.unseen
            - c.distance * node.distance_m)


class TopoPolicy(AnswersAtOnce):
    """Drives to the unvisited node of the online topological map with the best score, or stops if that scores higher.

    Visited nodes (ExploraQA, 4.2: with 12 directional views) are past positions of the robot, one per `merge_m`;
    unvisited nodes are the frontiers at the edge of the seen area, merged likewise. The paper does not describe the
    merging; this is the one of ETPNav, on which it builds. Returning to a far node costs only its path on the own map.
    """

    traits = PolicyTraits(config=TopoConfig, calls=13.6, steps=180)

    def __init__(self, config: TopoConfig | None = None, robot: RobotModel = RobotModel(),
                 score: Callable[[NodeFeatures], float] | None = None) -> None:
        """score: scores driving to a node, and the highest score wins if it exceeds the score of stopping; None:
        `linear_score`."""
        self._c, self._radius_m = config or TopoConfig(), robot.radius_m
        self._score = score or partial(linear_score, self._c)
        self.reset(0)

    def reset(self, seed: int) -> None:
        """Reset for a new question."""
        self._targets, self._belief = GoalList(), RoomBelief()
        self._visited = VisitedPlaces(self._c.merge_m)

    def decide(self, situation: Situation) -> Decision:
        """Return a leg to the best node, or no goal if none is left or stopping scores higher."""
        reach = ReachableArea(situation.grid, situation.pose, self._radius_m)
        self._belief.update(situation.assessments)
        self._visited.visit(situation)
        ended = self._targets.review(situation.pose)
        views = self._visited.views()
        nodes = [ScoredPlace(place, self._score(self._features(situation, place, views)), "unvisited", "a node")
                 for place in self._unvisited(situation, reach)]
        marks = tuple(Candidate(n.x, n.y, 1.0, "visited") for n in self._visited.nodes)
        kept = self._targets.kept(nodes)
        chosen = kept or max(nodes, key=lambda node: node.score, default=None)
        keyframes = f"{len(keyframes_for(situation.assessments, self._c.beta))} keyframes bear on the question"
        if chosen is None or chosen.score <= self._c.stop:
            self._targets.drop()
            why = "no unvisited node is left" if chosen is None else f"stopping beats all {len(nodes)} nodes"
            candidates = tuple(Candidate(n.place.pose.x, n.place.pose.y, n.score, n.kind) for n in nodes)
            return Decision(None, f"{ended}{why}; {keyframes}", candidates, marks=marks)
        goal = self._targets.aim(chosen.place, reach, self._c.leg_m)
        reason = (f"{ended}{'keeps going to' if kept else 'chose'} the unvisited node that scores {chosen.score:.2f}, "
                  f"{chosen.place.distance_m:.1f} m away, out of {len(nodes)}; {keyframes}")
        return decision_for(goal, reason, chosen, nodes, lower_score)._replace(marks=marks)

    def _unvisited(self, situation: Situation, reach: ReachableArea) -> list[ReachablePose]:
        """Return the places of frontiers, one per `merge_m`, the nearest to the robot first."""
        found = sorted((p for _, p in reachable_frontiers(reach, situation.frontiers, self._targets)),
                       key=lambda p: (p.distance_m, p.pose))
        nodes: list[ReachablePose] = []
        for place in found:
            if not any(same(place.pose, n.pose, self._c.merge_m) for n in nodes):
                nodes.append(place)
        return nodes

    def _features(self, situation: Situation, place: ReachablePose, views: NodeViews) -> NodeFeatures:
        x, y, _ = place.pose
        towards = views.towards(x, y, self._c.sight_m)
        best = max(towards, key=lambda v: (v.worth, -v.keyframe_id), default=None)
        room = room_rank(situation.regions, self._belief.at(situation.grid, x, y, self._c.votes_m))
        if best is None:
            return NodeFeatures(0.0, 0.0, room, 1.0, place.distance_m)
        nearest = min(best.places, key=lambda p: math.hypot(p.x - x, p.y - y), default=None)
        return NodeFeatures(best.worth, nearest.weight if nearest else 0.0, room, 0.0, place.distance_m)


def keyframes_for(assessments: Sequence[ViewAssessment], beta: float = 0.5) -> list[int]:
    """Return the keyframes of visited nodes that are relevant to the question: scores above beta (ExploraQA, 4.3).

    The paper's module predicts the score from the map; here the score is the relevance that the answerer gave the view.
    """
    return [view.keyframe_id for view in assessments if view.relevance > beta]
