"""Runs episodes without ROS: simulator, mapper, memory, policy and answerer as objects in one process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from eqa_nodes.config.graph import merged
from eqa_nodes.config.policies import make_policy
from eqa_nodes.core.agent.person import Replies
from eqa_nodes.core.agent.questions import Agent
from eqa_nodes.core.driving.atomic import ActOutcome, AtomicNavigator
from eqa_nodes.core.errors import ConfigError, StaleData
from eqa_nodes.core.ledger import paying
from eqa_nodes.core.mapping.floors import MultiFloorMapper
from eqa_nodes.core.mapping.map_picture import picture_of
from eqa_nodes.core.memory import MemoryStore
from eqa_nodes.core.memory.keyframes import jpeg_of_pixels, small_jpeg
from eqa_nodes.core.observing import EpisodicMemory, MapAndMemory
from eqa_nodes.core.perception.tracking import Perceiver
from eqa_nodes.core.policies.floor_policy import FloorPolicy
from eqa_nodes.core.protocols import NOBODY, Person, Policy, Ports
from eqa_nodes.core.types.floor import (
    FREE,
    Action,
    Allowance,
    Decision,
    NavResult,
    Option,
    Travelled,
    WeighedOption,
)
from eqa_nodes.core.types.geometry import Pose2, pose2_of
from eqa_nodes.core.types.progress import Progress
from eqa_nodes.core.types.questions import Answer, Limits, Question, RankedRegion, Situation, ViewAssessment
from eqa_nodes.core.types.robot import RobotModel
from eqa_nodes.core.types.samples import EpisodeResult, Sample
from eqa_nodes.core.types.trace import EpisodeTrace, Moment, TraceDecision
from eqa_nodes.core.types.views import Keyframe
from eqa_nodes.perception import open_perceiver, open_texts
from eqa_nodes.runners.answerers import answerer_of
from sim_bridge.registry import SimulatorPool
from sim_bridge.simulator import EpisodeSetup, Simulator, Step, begin_episode


def rounded_as_in_message(pose: Pose2) -> Pose2:
    """Return a pose with the rounding of a message of the graph, in which the heading is a quaternion."""
    return pose2_of(pose.transform())


class SimulatedRobot:
    """A simulated robot: executes actions, and maps and remembers every observation. Implements Odometry."""

    step: Step  # the last observation; set by `begin`

    def __init__(self, simulator: Simulator, floors: MultiFloorMapper, memory: EpisodicMemory) -> None:
        self._simulator, self.floors, self.memory = simulator, floors, memory
        self._observing = MapAndMemory(floors, memory)
        memory.stored = self._stored
        self.trace = EpisodeTrace()

    def begin(self, episode: EpisodeSetup, keep: bool = False) -> None:
        """Place the robot and process the first observation. Raises UnknownScene, BadPose.

        keep: go on with the memory of earlier episodes, in which the scene is one map.
        """
        start = episode.start and rounded_as_in_message(episode.start)
        step = begin_episode(self._simulator, replace(episode, start=start))
        self._observing.begin(episode.id, keep, episode.scene if keep else "")
        self._take(step)

    def act(self, action: Action) -> ActOutcome:
        """Execute one action and process its observation; OBSERVE gives no new observation."""
        if action is not Action.OBSERVE:
            self._take(self._simulator.act(action))
        return ActOutcome(self.step.frame.pose, self.step.collided)

    def now(self) -> float:
        """Return the stamp of the last observation in seconds."""
        return self.step.frame.stamp_ns / 1e9

    def travelled(self) -> Travelled:
        """Return steps and metres since the episode began."""
        return Travelled(self.step.steps, self.step.metres)

    def last(self) -> tuple[int, Pose2]:
        """Return stamp and pose of the last observation."""
        return self.step.frame.stamp_ns, self.step.frame.pose

    def refused(self) -> dict[str, int]:
        """Return the number of refused frames of this episode, by the part that refused them."""
        return self._observing.refused()

    def _take(self, step: Step) -> None:
        self.step, frame = step, step.frame
        self.trace.poses.append((frame.stamp_ns, frame.pose))
        self._observing.take(frame, self._simulator.labels() if self.memory.labels else {})

    def _stored(self, keyframe: Keyframe) -> None:
        self.trace.keyframes.append(keyframe)
        self._keep_moment(b"")

    def decides(self, decision: TraceDecision) -> None:
        """Store a decision in the trace, with the view and the map at that time."""
        self.trace.decisions.append(decision)
        if not self.trace.moments or self.trace.moments[-1].stamp_ns != decision.stamp_ns:
            self._keep_moment(small_jpeg(self.step.frame.rgb))

    def _keep_moment(self, view: bytes) -> None:
        try:
            known = picture_of(self.floors.grid())
        except StaleData:  # no frame could be mapped yet
            known = None
        self.trace.moments.append(Moment(self.step.frame.stamp_ns, view, known))


class LocalExplorer:
    """A policy on the robot's own map; stores every decision."""

    def __init__(self, policy: Policy, body: SimulatedRobot, robot: RobotModel = RobotModel()) -> None:
        self._policy, self._body, self._robot = policy, body, robot
        self._asked: Question | None = None

    def options(self, question: Question, assessments: Sequence[ViewAssessment]) -> list[Option] | None:
        """Return the policy's options on the map of the last observation."""
        situation = self._situation(question, assessments)
        return self._here.options(situation, self._body.floors.staircases)

    def decide(self, question: Question, assessments: Sequence[ViewAssessment], regions: Sequence[RankedRegion],
               advice: Sequence[WeighedOption] = ()) -> Decision:
        """Decide on the map of the last observation."""
        return self._ask(False, self._situation(question, assessments, regions, advice))

    def confirm(self, question: Question, assessments: Sequence[ViewAssessment],
                regions: Sequence[RankedRegion]) -> Decision:
        """Decide where to look again before an answer is given."""
        return self._ask(True, self._situation(question, assessments, regions))

    def _situation(self, question: Question, assessments: Sequence[ViewAssessment],
                   regions: Sequence[RankedRegion] = (), advice: Sequence[WeighedOption] = ()) -> Situation:
        if question is not self._asked:
            self._asked, self._here = question, FloorPolicy(self._policy, question.seed, self._robot)
        floors = self._body.floors
        return Situation(question, self._body.last()[1], floors.grid(), floors.frontiers(), assessments, regions,
                         advice)

    def _ask(self, confirm: bool, situation: Situation) -> Decision:
        decision = self._here.decide(situation, self._body.floors.staircases, confirm)
        if decision.goal is None:
            return decision
        goal = rounded_as_in_message(decision.goal)
        self._body.decides(TraceDecision(self._body.last()[0], situation.pose, goal, decision.reason,
                                         decision.candidates, tuple(situation.frontiers), decision.marks))
        return decision._replace(goal=goal)


class LocalNavigator(AtomicNavigator):
    """The atomic navigator, with goals rounded as in a message."""

    def go_to(self, goal: Pose2, deadline_s: float, allowance: Allowance = FREE) -> NavResult:
        """Drive to the goal."""
        return super().go_to(rounded_as_in_message(goal), deadline_s, allowance)


class InProcessRunner:
    """Runs episodes without ROS; gives the same poses, goals and answers as the graph with the same parameters."""

    def __init__(self, parameters: Mapping[str, Mapping[str, Any]], limits: Limits = Limits(),
                 force_guess: bool = False, listener: Callable[[Progress], None] = lambda progress: None,
                 pool: SimulatorPool | None = None, show: bool = False, replies: Replies | None = None) -> None:
        """show: the robot drives to the evidence after each answer. replies: replies of a person to inquiries, None =
        no person.
        """
        self._person: Person = NOBODY if replies is None else replies
        self._settings = merged(None, parameters).settings
        self._limits, self._force_guess, self._listener, self._show = limits, force_guess, listener, show
        self._answerer = answerer_of(self._settings.answerer)
        self._perceiver = self._make_perceiver()
        self._texts = open_texts(self._settings.memory.text)
        self._pool = pool or SimulatorPool()

    def run(self, sample: Sample) -> EpisodeResult:
        """Run one episode."""
        own = self._settings
        simulator = self._pool.get(sample.scene)
        memory = MemoryStore(own.memory.path_of(sample.id), own.memory.memory, texts=self._texts)
        try:
            body = SimulatedRobot(simulator, MultiFloorMapper(own.mapper.map, own.mapper.robot),
                        EpisodicMemory(memory, own.memory.labels, self._perceiver))
            body.begin(EpisodeSetup.of(sample, own.bridge.robot, self._clock_ns(memory)), bool(own.memory.file))
            if own.memory.reads_simulator and body.step.frame.labels is None:
                raise ConfigError(f"the scene {sample.scene!r} has no labels, and answers are to be made from them: "
                                  "take the answerer vlm, or label what is seen with a detector")

            def listen(progress: Progress) -> None:
                if progress.weighed is not None:
                    body.trace.weighed.append((body.last()[0], progress.weighed))
                if progress.call is not None:
                    body.trace.calls.append(progress.call)
                body.trace.judged += [a._replace(places=()) for a in progress.judged]
                if not progress.judged:
                    self._listener(progress)

            agent = Agent(self._ports(body), own.agent.agent, listen, own.agent.node.drive)
            answer = agent.ask(sample.as_question(self._limits, self._force_guess)._replace(show=self._show))
            body.trace.question, body.trace.answer, body.trace.grid = sample.question, answer, body.floors.grid()
            body.trace.refused, body.trace.view = body.refused(), jpeg_of_pixels(body.step.frame.rgb)
            return EpisodeResult(sample.id, answer, body.last()[1], body.trace)
        finally:
            memory.close()

    def _clock_ns(self, memory: MemoryStore) -> int:
        """Return the time at which an episode begins: the configured one, but after the newest view that is kept."""
        kept_ns = memory.newest_ns + 1 if self._settings.memory.file and len(memory) else 0
        return max(self._settings.bridge.clock_start_ns, kept_ns)

    def blind(self, sample: Sample) -> Answer:
        """Answer without any view."""
        with paying(sample.as_question(self._limits, force_guess=True)) as question:
            return self._answerer.answer(question, ())

    def reply(self, inquiry: str, option: int) -> None:
        """Reply to an inquiry of the agent. Raises ConfigError if this runner has no person to ask."""
        if not isinstance(self._person, Replies):
            raise ConfigError("this runner has no person to ask, so nothing waits for a reply")
        self._person.reply(inquiry, option)

    def close(self) -> None:
        """Release the simulators."""
        self._pool.close()

    def _make_perceiver(self) -> Perceiver | None:
        own, memory = self._settings.perception, self._settings.memory
        detected = memory.labels and memory.labels_from == "detector"
        return open_perceiver(own.detector, own.perceiver) if detected else None

    def _ports(self, body: SimulatedRobot) -> Ports:
        own = self._settings.navigator
        navigator = LocalNavigator(body.act, body.floors.grid, own.navigator, own.robot, now=body.now,
                                   pose=lambda: body.last()[1], travelled=body.travelled,
                                   drive=self._settings.navigator.node.drive)
        explores = self._settings.explorer
        explorer = LocalExplorer(make_policy(explores.policy, explores.params, explores.robot), body, explores.robot)
        return Ports(navigator, explorer, body.memory, self._answerer, body, self._person)


