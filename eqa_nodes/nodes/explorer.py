"""Chooses the next goal from map, frontiers and assessments, with a reason and markers for RViz and Foxglove."""

from __future__ import annotations

from functools import partial
from typing import Any

from eqa_nodes.config.nodes import ExplorerSettings
from eqa_nodes.config.policies import make_policy
from eqa_nodes.core.policies.floor_policy import FloorPolicy
from eqa_nodes.core.types.floor import Decision
from eqa_nodes.core.types.questions import Situation
from eqa_nodes.ros import convert
from eqa_nodes.ros.markers import decision_markers, semantic_map
from eqa_nodes.ros.node import EqaNode
from eqa_nodes.ros.process import run_node
from eqa_nodes.ros.subscriptions import LatestMessages
from eqa_nodes.wire import messages


class ExplorerNode(EqaNode[ExplorerSettings]):
    """Serves choose_goal with a policy."""

    row = "explorer"

    def configure(self) -> None:
        self.policy: FloorPolicy | None = None  # of the question; also None if the node restarted during one
        self.newest = LatestMessages(*self.spec.subscribes)
        for key in self.spec.subscribes:
            self.subscribe(key, partial(self.newest.put, key))
        for key in self.spec.publishes:
            self.out(key)  # subscribers discover the topics before the first decision
        self.serve("choose_goal", self._choose)

    def _choose(self, request: Any, response: Any) -> Any:
        # Too early: the caller retries. The request has the pose, because odometry is not latched for late subscribers.
        seen = self.newest.at(messages.ns_of(request.robot.header.stamp), deadline_s=0.0)
        if request.new_question or self.policy is None:
            policy = make_policy(self.config.policy, self.config.params, self.config.robot)
            self.policy = FloorPolicy(policy, request.question.seed, self.config.robot)
        grid = messages.grid_of(seen["map"], seen["explored"])
        situation = Situation(
            messages.question_of(request.question), messages.goal_of(request.robot), grid,
            messages.frontiers_of(seen["frontiers"]),
            [messages.assessment_of(a) for a in request.assessments],
            [messages.ranked_region_of(r) for r in request.regions], messages.weighed_of(request))
        staircases = messages.staircases_of(seen["stairs"])
        if request.list_options:
            options = self.policy.options(situation, staircases)
            response.has_options = options is not None
            response.options = [convert.option_msg(option) for option in options or ()]
            return response
        decision = self.policy.decide(situation, staircases, request.confirm)
        self._show(situation, decision)
        response.has_goal = decision.goal is not None
        if decision.goal is not None:
            response.goal = convert.goal_msg(decision.goal, grid.stamp_ns)
        response.look_around = decision.look_around
        response.reason, response.explored = decision.reason, decision.explored
        response.candidates = [convert.candidate_msg(c) for c in decision.candidates]
        response.marks = [convert.candidate_msg(m) for m in decision.marks]
        return response

    def _show(self, situation: Situation, decision: Decision) -> None:
        self.send("markers", decision_markers(situation, decision))
        self.send("semantic_map", semantic_map(situation.grid, decision.marks))


def main() -> int:
    """Run the node."""
    return run_node(ExplorerNode)
