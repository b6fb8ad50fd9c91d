"""The loop of one task: the agent gets an image and the options, picks one, and gets feedback.

EmbodiedEval (Cheng et al., 2025), algorithm 1: at most 24 steps; the task ends when all predicates are true (done), or
with an answer that does not make them so, or with the steps (not done).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from eqa_nodes.bench.embodied.graph import GraphPose, NavigationGraph
from eqa_nodes.bench.embodied.predicates import EpisodeFacts, in_order
from eqa_nodes.bench.embodied.tasks import ANSWER, FORWARD, Task, TaskOption
from eqa_nodes.bench.embodied.world import SimulatedWorld
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.views import Frame

MAX_STEPS = 24
SUCCESS, FAILED = "success", "failed"


class Turn(NamedTuple):
    """Input of the agent. image: the current view; history: (option, feedback) of each step, oldest first."""

    task: str
    options: tuple[str, ...]
    image: Frame
    history: tuple[tuple[str, str], ...]
    steps_left: int


class Pick(NamedTuple):
    """The chosen option, None for an unknown one (a wasted step). response: the agent's text."""

    option: int | None
    response: str = ""
    thought: str = ""
    error: str = ""


class TaskAgent(Protocol):
    """Does tasks. Raises ModelError if its model fails."""

    def begin(self, task: Task, seed: int) -> None:
        """Begin a task."""

    def act(self, turn: Turn) -> Pick:
        """Pick one of the options."""


@dataclass(frozen=True)
class StepLog:
    """One step, in the format of the result file NNNNa.json. done_after_action: 1 done, -1 failed, 0 neither yet."""

    step: int
    options: tuple[str, ...]
    action_choice: int
    action: str
    response: str
    thought: str
    feedback: str
    predicates_done: tuple[int, ...]
    done_after_action: int
    action_error: str = ""


@dataclass
class TaskOutcome:
    """How a task ended. poses: poses before the first and after each step; metres: length of the path.

    predicates_done: result of predicates.in_order.
    """

    predicates_done: tuple[int, ...] = ()
    answer: str = ""
    metres: float = 0.0
    steps: list[StepLog] = field(default_factory=list)
    poses: list[Pose2] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)

    @property
    def predicates(self) -> tuple[bool, ...]:
        """Return which predicates are true, up to the first one that can no longer become true."""
        return tuple(done == 1 for done in self.predicates_done)

    @property
    def done(self) -> bool:
        """Return whether all predicates are true."""
        return bool(self.predicates_done) and all(self.predicates)


def run_task(task: Task, world: SimulatedWorld, agent: TaskAgent, seed: int = 0, max_steps: int = MAX_STEPS,
             listener: Callable[[StepLog], None] = lambda log: None) -> TaskOutcome:
    """Do one task. Raises EqaError for failures of world or agent."""
    if max_steps < 1:
        raise ConfigError(f"a task needs at least one step, got {max_steps}")
    episode = _Episode(task, world)
    agent.begin(task, seed)
    for step in range(max_steps):
        menu = episode.menu(max_steps - step)
        pick = agent.act(Turn(task.text, tuple(menu), episode.outcome.frames[-1],
                              tuple((log.action, log.feedback) for log in episode.outcome.steps), max_steps - step))
        log = episode.take(step, menu, pick)
        listener(log)
        if log.done_after_action:
            break
    return episode.outcome


class _Episode:
    """A task in progress."""

    def __init__(self, task: Task, world: SimulatedWorld) -> None:
        self._task, self._world, self._graph = task, world, NavigationGraph(task)
        self._at: GraphPose = self._graph.start
        self._so_far = EpisodeFacts(self._graph.places, self._at.point)
        self.outcome = TaskOutcome(frames=[world.begin(task.scene, *self._pose())],
                                   poses=[self._graph.pose(self._at)])
        self._judge()

    def menu(self, steps_left: int) -> dict[str, GraphPose | TaskOption]:
        """Return this step's options by text: moves, interactions, answers; only answers at a question's last step."""
        answers = {option.text: option for option in self._task.options if option.type == ANSWER}
        if steps_left == 1 and answers and self._task.kind.endswith("QA"):
            return {**answers}
        others = {option.text: option for option in self._task.options if option.type != ANSWER}
        return {**self._graph.moves(self._at), **others, **answers}

    def take(self, step: int, menu: Mapping[str, GraphPose | TaskOption], pick: Pick) -> StepLog:
        """Execute the chosen option."""
        texts, error = tuple(menu), pick.error
        if pick.option is not None and not 0 <= pick.option < len(texts):
            error = error or f"option {pick.option + 1} is not on the menu of {len(texts)}"
        chosen = None if error or pick.option is None else texts[pick.option]
        option = menu[chosen] if chosen is not None else None
        feedback = self._carry_out(chosen or "", option) if option is not None else f"{FAILED}: no option was picked"
        self._judge()
        done = 1 if self.outcome.done else -1 if self._so_far.answer else 0
        log = StepLog(step, texts, -1 if chosen is None or pick.option is None else pick.option, chosen or "",
                      pick.response, pick.thought, feedback, self.outcome.predicates_done, done,
                      error or ("" if chosen else "no option match"))
        self.outcome.steps.append(log)
        self.outcome.poses.append(self._graph.pose(self._at))
        self.outcome.frames.append(self._world.see())
        return log

    def _carry_out(self, text: str, option: GraphPose | TaskOption) -> str:
        if isinstance(option, GraphPose):
            return self._move(text, option)
        if option.type == ANSWER:
            self._so_far.answer = self.outcome.answer = option.text
            return SUCCESS
        done = self._world.handle(option.action, option.object)
        if not done.done:
            return f"{FAILED}: {done.why}"
        self._so_far.succeeded.add(option.text)
        if option.action == "pick":
            self._so_far.grabbed.add(option.object)
        return SUCCESS

    def _move(self, text: str, to: GraphPose) -> str:
        ends = [self._graph.spot(at.point) for at in (self._at, to)]
        metres = self._world.path_length(ends[0], ends[1]) if text == FORWARD else 0.0
        if not math.isfinite(metres):
            return f"{FAILED}: something is in the way"
        self._at = to
        pose, height_m = self._pose()
        self._world.stand(pose, to.look_deg, height_m)
        self.outcome.metres += metres
        self._so_far.point = to.point
        return SUCCESS

    def _pose(self) -> tuple[Pose2, float]:
        """Return the agent's pose and the height of the floor there."""
        return self._graph.pose(self._at), self._graph.spot(self._at.point)[2]

    def _judge(self) -> None:
        self._so_far.passed.add(self._at.point)
        self.outcome.predicates_done = in_order(self._task.predicates, self._world, self._so_far)


def texts_of(turn: Turn) -> Sequence[str]:
    """Return the menu as numbered lines, from 1."""
    return [f"[{number}] {text}" for number, text in enumerate(turn.options, start=1)]
