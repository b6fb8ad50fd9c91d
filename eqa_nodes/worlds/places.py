"""A question in a simulated place as a graph of places: the robot chooses where to drive next, or to stop.

The robot is the one of the in-process chain (map, navigator, rules that assess views) without what only a record needs:
pictures, bags and the memory's file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np

from eqa_nodes.bench.judges.offline import OfflineJudge
from eqa_nodes.bench.metrics.formulas import SUCCESS_RADIUS_M, path_ratio
from eqa_nodes.core.agent.config import AgentConfig
from eqa_nodes.core.answerers.label.answerer import LabelAnswerer
from eqa_nodes.core.driving.atomic import ActOutcome, AtomicNavigator
from eqa_nodes.core.errors import BadFrame
from eqa_nodes.core.mapping.floors import MultiFloorMapper
from eqa_nodes.core.memory.keyframes import KeyframeCandidate, Novelty
from eqa_nodes.core.perception.instances import (
    NoiseConfig,
    PerceptionConfig,
    instances,
    region_of,
    sightings,
)
from eqa_nodes.core.perception.projection import places_of
from eqa_nodes.core.policies.keyframes import is_chosen, marks_of, places_in
from eqa_nodes.core.policies.planner import GraphPlanner, input_of
from eqa_nodes.core.policies.steering import GoalList, ReachableArea
from eqa_nodes.core.policies.topo_graph import Ghost, GraphBuilder, TopoGraph
from eqa_nodes.core.types.floor import Action, Allowance, Candidate, Travelled
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Answer, Recalled, Situation, ViewAssessment
from eqa_nodes.core.types.robot import RobotModel
from eqa_nodes.core.types.samples import Sample
from eqa_nodes.core.types.views import Frame, Keyframe, Label, ViewGeometry
from eqa_nodes.worlds.questions import viewpoints_of
from sim_bridge.simulator import EpisodeSetup, Simulator, begin_episode

_DRIVE_S = 600.0  # deadline of a drive, of simulated time; the steps end it before
_PERFECT = 5  # mark of an answer that is fully right


class SeenViews:
    """The views that a memory would keep, without their pictures."""

    def __init__(self, noise: NoiseConfig) -> None:
        self._perception, self._novelty = PerceptionConfig(noise=noise), Novelty()
        self._views: list[Keyframe] = []

    def take(self, frame: Frame, labels: Mapping[int, Label]) -> None:
        """Keep a frame if it is new."""
        counts = instances(frame, labels, self._perception)
        seen = cache(lambda: sightings(frame, labels, self._perception, counts))
        look = KeyframeCandidate(frame, [labels[i] for i in counts], seen)
        if not self._novelty.reason(look):
            return
        self._novelty.add(look.view())
        geometry = ViewGeometry(frame.intrinsics, frame.base_from_camera, b"")
        self._views.append(Keyframe(len(self._views) + 1, frame.stamp_ns, frame.map_from_base, b"", seen(),
                                    region=region_of(seen()), places=places_of(frame), geometry=geometry))

    def since(self, keyframe_id: int) -> list[Keyframe]:
        """Return the later views, oldest first."""
        return self._views[keyframe_id:]


class WorldQuestion:
    """A question with what the views say of it, and the graph of places that follows.

    graph: the places as they were known at the last look; distances are privileged.
    """

    graph: TopoGraph

    def __init__(self, sample: Sample, targets: GoalList, simulator: Simulator) -> None:
        """Raises BadQuestion."""
        self.sample, self.question = sample, sample.as_question()
        self._answerer, self._simulator = LabelAnswerer(), simulator
        self._regions = self._answerer.regions(self.question)
        self._assessments: list[ViewAssessment] = []
        self.builder = GraphBuilder(targets)
        self._known: dict[tuple[float, float], float] = {}

    def look(self, views: SeenViews, pose: Pose2, floors: MultiFloorMapper, reach: ReachableArea) -> None:
        """Assess the new views, and build the graph of what is known now."""
        new = views.since(len(self._assessments))
        self._assessments += self._answerer.assess(self.question, new) if new else []
        self.graph = self.builder.update(
            Situation(self.question, pose, reach.grid, floors.frontiers(), tuple(self._assessments), self._regions),
            reach)

    def answer(self, views: SeenViews, marks: Sequence[Candidate] = ()) -> Answer:
        """Return the answer from the views that the agent would choose: relevant ones, best first, and then the newest.

        marks: those of the policy, which may choose places.
        """
        agent, shown, places = AgentConfig(), views.since(0), places_in(marks)
        judged = sorted((a for a in self._assessments if a.relevance >= agent.relevant),
                        key=lambda a: (-a.enough, -a.relevance, a.keyframe_id))
        chosen = dict.fromkeys([*(a.keyframe_id for a in judged), *(view.id for view in reversed(shown))])
        items = [Recalled(shown[number - 1], 1.0, "") for number in chosen]
        kept = [item for item in items if is_chosen(item.keyframe.pose, places)] or items
        return self._answerer.answer(self.question, kept[:agent.recall_limit])

    def to_viewpoint(self, pose: Pose2) -> float:
        """Return the geodesic distance from a pose to the nearest viewpoint, metres."""
        spot = pose.x, pose.y
        if spot not in self._known:
            z = self.sample.start_height_m or 0.0
            self._known[spot] = min(self._simulator.geodesic((*spot, z), place) for place in viewpoints_of(self.sample))
        return self._known[spot]

    def shows_room(self, views: SeenViews) -> np.ndarray:
        """Return 1 for each visited node from which a thing in the answer's room was seen, (n,) float32.

        Privileged. All are 0 where the sample does not name its targets.
        """
        labels, targets = self._simulator.labels(), self.sample.metadata.get("targets", ())
        rooms = {labels[i].room for i in (targets if isinstance(targets, list | tuple) else ())
                 if isinstance(i, int) and i in labels}
        found, at = np.zeros(len(self.graph.open), np.float32), np.array(self.graph.visited)
        for view in views.since(0):
            if any(sighting.label.room in rooms - {""} for sighting in view.sightings):
                found[1 + int(np.hypot(*(at - view.pose[:2]).T).argmin())] = 1.0
        return found

    def to_go(self) -> list[float]:
        """Return for each ghost the metres to it and on to the nearest viewpoint."""
        return [ghost.place.distance_m + self.to_viewpoint(ghost.place.pose) for ghost in self.graph.ghosts]


class PlacesEpisode:
    """One question, at each moment with the graph of the places that can be chosen.

    asked: the question, and after it others about the same scene, for which the same views are assessed and the same
    places known; views: what was seen; steps, metres: since the start; ended: whether the last step was used, or no
    place is left.
    """

    def __init__(self, simulator: Simulator, sample: Sample, robot: RobotModel, max_steps: int = 300,
                 leg_m: float = 3.0, noise: NoiseConfig = NoiseConfig(), beside: Sequence[Sample] = ()) -> None:
        """Begin the episode and look round. beside: other questions about the scene.

        Raises BadPose, UnknownScene, BadQuestion.
        """
        self.sample, self._simulator, self._robot, self._leg_m = sample, simulator, robot, leg_m
        self._floors, self.views, self._targets = MultiFloorMapper(robot=robot), SeenViews(noise), GoalList()
        self._navigator = AtomicNavigator(self._act, self._floors.grid, robot=robot, now=self._now,
                                          pose=lambda: self.pose, travelled=self._travelled)
        self._step = begin_episode(simulator, EpisodeSetup.of(sample, robot))
        self.asked = [WorldQuestion(one, self._targets, simulator) for one in (sample, *beside)]
        self._begun, self._max_steps = self._step, max_steps
        self._take()
        self._least_m = self.distance_m if sample.reference_metres is None else sample.reference_metres
        self._navigator.look_around(_DRIVE_S, self._allowance())
        self._look()

    @property
    def graph(self) -> TopoGraph:
        """The places that can be chosen now."""
        return self.asked[0].graph

    @property
    def pose(self) -> Pose2:
        """Where the robot is."""
        return self._step.frame.pose

    @property
    def steps(self) -> int:
        """Number of actions since the start."""
        return self._step.steps - self._begun.steps

    @property
    def metres(self) -> float:
        """Distance driven since the start."""
        return self._step.metres - self._begun.metres

    @property
    def ended(self) -> bool:
        """Whether the robot must stop: its steps are used up, or no place is left."""
        return self.steps >= self._max_steps or not self.graph.ghosts

    @property
    def moves(self) -> int:
        """Number of places that were chosen."""
        return self.asked[0].builder.moves

    @property
    def distance_m(self) -> float:
        """Geodesic distance to the nearest viewpoint, metres (privileged)."""
        return self.asked[0].to_viewpoint(self.pose)

    @property
    def success(self) -> bool:
        """Whether the robot is within 3 m of a viewpoint."""
        return self.distance_m <= SUCCESS_RADIUS_M

    @property
    def spl(self) -> float:
        """Success weighted by the length of the path, if it stopped now."""
        return path_ratio(self._least_m, self.metres) if self.success else 0.0

    def right(self, planner: GraphPlanner) -> bool:
        """Return whether the answer from what was seen, or from the planner's keyframes of it, is fully right."""
        asked, marks = self.asked[0], tuple[Candidate, ...]()
        if planner.shape.keys:
            marks = marks_of(self.graph, planner.keyframes(input_of(self.graph, asked.question)))
        return OfflineJudge().judge(self.sample, asked.answer(self.views, marks).text).sigma == _PERFECT

    def drive(self, node: int) -> None:
        """Drive to a ghost, given by its node, until it was reached or cannot be, and look."""
        for asked in self.asked:
            asked.builder.moves += 1
        ghost: Ghost | None = self.graph.ghosts[node - self.graph.first]
        while ghost is not None and self.steps < self._max_steps:
            goal = self._targets.aim(ghost.place, self._reach, self._leg_m)
            self._navigator.go_to(goal, _DRIVE_S, self._allowance())
            self._look()
            ghost = self.asked[0].builder.kept(self.graph)

    def _look(self) -> None:
        """Learn for every question what the newest views say."""
        self._reach = ReachableArea(self._floors.grid(), self.pose, self._robot.radius_m)
        self._targets.review(self.pose)
        for asked in self.asked:
            asked.look(self.views, self.pose, self._floors, self._reach)

    def _act(self, action: Action) -> ActOutcome:
        if action is not Action.OBSERVE:
            self._step = self._simulator.act(action)
            self._take()
        return ActOutcome(self.pose, self._step.collided)

    def _take(self) -> None:
        try:
            self._floors.integrate(self._step.frame)
        except BadFrame:  # counted by the mapper, as in the chain
            return
        self.views.take(self._step.frame, self._simulator.labels())

    def _allowance(self) -> Allowance:
        return Allowance(steps=self._max_steps - self.steps)

    def _now(self) -> float:
        return self._step.frame.stamp_ns / 1e9

    def _travelled(self) -> Travelled:
        return Travelled(self._step.steps, self._step.metres)
