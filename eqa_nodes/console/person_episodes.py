"""What a person sees of an episode: the frames of a history, or the camera of a robot that they drive."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from eqa_nodes.console.values import RequestRefused
from eqa_nodes.core.errors import BadFrame
from eqa_nodes.core.mapping.floors import MultiFloorMapper
from eqa_nodes.core.types.floor import Action
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Evidence, Receipt
from eqa_nodes.core.types.robot import RobotModel
from eqa_nodes.core.types.samples import Sample
from eqa_nodes.core.types.trace import EpisodeTrace
from eqa_nodes.core.types.views import Keyframe
from eqa_nodes.recordings.history_views import HistoryViews, ViewSelection, keyframe_of
from sim_bridge.simulator import EpisodeSetup, Simulator, Step

MOVES = {"forward": Action.MOVE_FORWARD, "left": Action.TURN_LEFT, "right": Action.TURN_RIGHT, "up": Action.LOOK_UP,
         "down": Action.LOOK_DOWN}
_AS_SEEN = ViewSelection("uniform")  # images alone: no labels


class PersonEpisode(Protocol):
    """The episode of one question. views: the views that can be inspected and marked, oldest first."""

    kind: str  # "history" or "drive"

    @property
    def views(self) -> Sequence[Keyframe]:
        """The views so far."""

    def facts(self) -> Mapping[str, object]:
        """Return what the page shows next to the views, as plain JSON."""

    def act(self, asked: Mapping[str, object]) -> None:
        """Execute an action that the page requests. Raises RequestRefused if it is impossible."""

    def evidence(self, views: Sequence[Keyframe]) -> tuple[Evidence, ...]:
        """Return views as evidence."""

    def cost(self) -> Receipt:
        """Return steps and distance driven."""

    def trace(self, marked: Sequence[Keyframe]) -> EpisodeTrace:
        """Return the trace of the episode, with the marked views."""

    def end(self) -> Pose2 | None:
        """Return the robot's pose, None if nothing was driven."""


class HistoryEpisode:
    """The frames that an agent would be shown, with a slider."""

    kind = "history"

    def __init__(self, views: HistoryViews, sample: Sample) -> None:
        self._views, self._sample = views, sample
        self._kept = tuple(item.keyframe for item in views.items(sample.as_question()))

    @property
    def views(self) -> Sequence[Keyframe]:
        """The frames of the history, limited to the number that an agent is shown."""
        return self._kept

    def facts(self) -> Mapping[str, object]:
        """Return nothing: there are only the views."""
        return {}

    def act(self, asked: Mapping[str, object]) -> None:
        """Refuse: a recording cannot be driven."""
        raise RequestRefused("this is a recording: nothing can be driven in it")

    def evidence(self, views: Sequence[Keyframe]) -> tuple[Evidence, ...]:
        """Return views as evidence, with their places in the recording."""
        spots = self._views.kept.spots
        return tuple(Evidence(v.id, v.stamp_ns, v.pose)._replace(**spots[str(v.id)]._asdict()) for v in views)

    def cost(self) -> Receipt:
        """Return an empty receipt: nothing was driven."""
        return Receipt()

    def trace(self, marked: Sequence[Keyframe]) -> EpisodeTrace:
        """Return the path of the history."""
        kept = self._views.kept
        return EpisodeTrace(self._sample.question, list(kept.way), keyframes=list(marked),
                            refused={f"history: {why}": n for why, n in kept.dropped.items()})

    def end(self) -> Pose2 | None:
        """Return None: nothing was driven."""
        return None


class DriveEpisode:
    """A simulated robot driven by a person: atomic actions, counted like an agent's. Raises UnknownScene, BadPose."""

    kind = "drive"

    def __init__(self, simulator: Simulator, sample: Sample, robot: RobotModel, max_steps: int) -> None:
        """max_steps: maximum number of actions, 0 = no limit."""
        self._simulator, self._sample, self._max_steps = simulator, sample, max_steps
        self._mapper = MultiFloorMapper(robot=robot)
        self._poses: list[tuple[int, Pose2]] = []
        self._unmapped = 0
        self._kept: list[Keyframe] = []
        self._take(simulator.reset(EpisodeSetup.of(sample, robot)))

    @property
    def views(self) -> Sequence[Keyframe]:
        """The camera's view after each step."""
        return self._kept

    def facts(self) -> Mapping[str, object]:
        """Return steps, metres, the limit, whether the robot collided, and the URL of the map."""
        return {"steps": self._step.steps, "metres": round(self._step.metres, 2), "max_steps": self._max_steps,
                "collided": self._step.collided, "map": f"/map/{self._step.steps}.svg"}

    def act(self, asked: Mapping[str, object]) -> None:
        """Execute one atomic action. Its step number must be current, so keys repeated too fast are refused."""
        action, step = asked.get("action"), asked.get("step")
        if action not in MOVES:
            raise RequestRefused(f"unknown action {action!r}: known are {', '.join(MOVES)}", 400)
        if step != self._step.steps:
            raise RequestRefused(f"the robot has made {self._step.steps} steps, not {step!r}: look again, then drive")
        if self._max_steps and self._step.steps >= self._max_steps:
            raise RequestRefused(f"all {self._max_steps} steps are used: answer from what was seen")
        self._take(self._simulator.act(MOVES[str(action)]))

    def evidence(self, views: Sequence[Keyframe]) -> tuple[Evidence, ...]:
        """Return views as evidence."""
        return tuple(Evidence(view.id, view.stamp_ns, view.pose) for view in views)

    def cost(self) -> Receipt:
        """Return steps and distance driven."""
        return Receipt(steps=self._step.steps, metres=self._step.metres)

    def trace(self, marked: Sequence[Keyframe]) -> EpisodeTrace:
        """Return path, map and marked views."""
        refused = {"mapper": self._unmapped} if self._unmapped else {}
        return EpisodeTrace(self._sample.question, self._poses, keyframes=list(marked), grid=self._mapper.grid(),
                            refused=refused)

    def end(self) -> Pose2 | None:
        """Return the robot's pose."""
        return self._step.frame.pose

    def _take(self, step: Step) -> None:
        self._step, frame = step, step.frame
        self._poses.append((frame.stamp_ns, frame.pose))
        self._kept.append(keyframe_of(frame, step.steps + 1, {}, _AS_SEEN))
        try:
            self._mapper.integrate(frame)
        except BadFrame:
            self._unmapped += 1  # shown with the trace, as the mapper node counts it
