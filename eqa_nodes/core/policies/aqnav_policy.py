"""AQ-Nav (ExploraQA, 4): a trained planner chooses where to go on a topological map, and when to stop."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.policies.keyframes import BETA, marks_of
from eqa_nodes.core.policies.planner import GraphPlanner, best_of, input_of, softmax
from eqa_nodes.core.policies.steering import AnswersAtOnce, ReachableArea, ScoredPlace, decision_for, lower_score
from eqa_nodes.core.policies.topo_graph import GraphBuilder, TopoGraph
from eqa_nodes.core.ranges import Counted, Positive, Share, check_ranges
from eqa_nodes.core.settings import setting
from eqa_nodes.core.traits import PolicyTraits
from eqa_nodes.core.types.floor import Candidate, Decision
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Situation
from eqa_nodes.core.types.robot import RobotModel


@dataclass(frozen=True)
class AqNavConfig:
    """Settings of the trained AQ-Nav."""

    leg_m: Positive = setting(3.0, "Maximum length of one drive in metres.")
    moves: Counted = setting(15, "Number of places after which it stops where stopping scored best.")
    stop: float = setting(0.0, "Added to the score of stopping: the agent also ends a search when an answer is sure.")
    beta: Share = setting(BETA, "Score (0 to 1) from which the views of a visited place are keyframes, if the planner "
                          "scores them: the answerer then gets no others.")
    planner: str = setting("", "File of a planner that `eqa learn aqnav` wrote, empty for that of the package.")

    def __post_init__(self) -> None:
        check_ranges(self, "aqnav")


class StoppingPlace(NamedTuple):
    """A place where the robot decided, and how stopping there compared with the best place to go to."""

    pose: Pose2
    lead: float


class AqNavPolicy(AnswersAtOnce):
    """Drives to the ghost that the planner scores best, and decides again when it got there; stops if that scores best.

    Scores in reasons and candidates are shares of all choices, 0..1.

    A planner of the third stage also marks the places whose views the answerer gets (core/policies/keyframes.py).

    After `moves` places it goes back to where stopping scored best, as the paper's navigator does.
    """

    traits = PolicyTraits(config=AqNavConfig, calls=9.3, steps=86)

    def __init__(self, config: AqNavConfig | None = None, robot: RobotModel = RobotModel(),
                 planner: GraphPlanner | None = None) -> None:
        """planner: None = that of the configuration. Raises ConfigError if its file is missing or of another kind."""
        self._c, self._radius_m = config or AqNavConfig(), robot.radius_m
        self._planner = planner or (GraphPlanner.load(Path(self._c.planner)) if self._c.planner else
                                    GraphPlanner.load())
        self.reset(0)

    def reset(self, seed: int) -> None:
        """Reset for a new question."""
        self._builder, self._stops = GraphBuilder(), list[StoppingPlace]()
        self._returning = False

    def decide(self, situation: Situation) -> Decision:
        """Return a leg to the place that was chosen, or no goal if stopping scores best or nothing is left."""
        reach = ReachableArea(situation.grid, situation.pose, self._radius_m)
        ended = self._builder.targets.review(situation.pose)
        graph = self._builder.update(situation, reach)
        given = input_of(graph, situation.question)
        marks = marks_of(graph, self._planner.keyframes(given), self._c.beta) if self._planner.shape.keys else ()
        return self._decided(situation, reach, graph, self._planner.scores(given), ended)._replace(marks=marks)

    def _decided(self, situation: Situation, reach: ReachableArea, graph: TopoGraph, scores: np.ndarray, ended: str
                 ) -> Decision:
        scores[0] += self._c.stop
        shares = softmax(np.where(graph.open, scores, -np.inf)).round(3)
        options = [ScoredPlace(ghost.place, float(share), "frontier" if ghost.frontier else "floor", "a place")
                   for ghost, share in zip(graph.ghosts, shares[graph.first:], strict=True)]
        kept = self._builder.targets.kept(options)
        if kept is None:
            return self._chosen(situation, reach, best_of(scores, graph.open) - graph.first, float(shares[0]), options,
                                ended)
        goal = self._builder.targets.aim(kept.place, reach, self._c.leg_m)
        return decision_for(goal, f"keeps going to the place that it chose, {kept.place.distance_m:.1f} m away", kept,
                            options, lower_score)

    def _chosen(self, situation: Situation, reach: ReachableArea, number: int, stop: float,
                options: list[ScoredPlace], ended: str) -> Decision:
        """Return the first leg to an option, or no goal. number: of the option, below 0 to stop; stop: its score."""
        targets = self._builder.targets
        best = max((option.score for option in options), default=0.0)
        if not self._returning:
            self._stops.append(StoppingPlace(situation.pose, stop - best))
        if number < 0 or self._returning:
            targets.drop()
            why = ("no place is left to go to" if not options else "it is back where stopping scored best"
                   if self._returning else f"stopping scores {stop:.2f}, the best of {len(options)} places "
                                           f"{best:.2f}")
            return Decision(None, f"{ended}{why}", _candidates(options))
        if self._builder.moves >= self._c.moves:
            return self._back(reach, options, ended)
        self._builder.moves += 1
        option = options[number]
        goal = targets.aim(option.place, reach, self._c.leg_m)
        reason = (f"{ended}chose the place that scores {option.score:.2f}, {option.place.distance_m:.1f} m away, out "
                  f"of {len(options)}; stopping scores {stop:.2f}")
        return decision_for(goal, reason, option, options, lower_score)

    def _back(self, reach: ReachableArea, options: list[ScoredPlace], ended: str) -> Decision:
        """Return the drive to the place where stopping scored best."""
        self._returning = True
        best = max(self._stops, key=lambda stop: stop.lead)
        place = reach.place(*best.pose)
        if place is None:
            return Decision(None, f"{ended}{self._c.moves} places were tried", _candidates(options))
        return Decision(place.pose, f"{ended}{self._c.moves} places were tried: goes back to where stopping scored "
                        "best", _candidates(options))


def _candidates(options: list[ScoredPlace]) -> tuple[Candidate, ...]:
    return tuple(Candidate(o.place.pose.x, o.place.pose.y, o.score, o.kind) for o in options)
