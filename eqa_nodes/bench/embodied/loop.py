"""The loop of one task: the agent gets an image and the options, picks one, and gets feedback.

EmbodiedEval (Cheng et al., 2025), algorithm 1: at most 24 steps; the task ends when all predicates are true (done),
with a wrong answer, or with the steps (not done). A reply that names no option ends it, too (strict), or wastes a step.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from eqa_nodes.bench.embodied.graph import GraphPose, NavigationGraph, unreached
from eqa_nodes.bench.embodied.predicates import EpisodeFacts, in_order
from eqa_nodes.bench.embodied.tasks import ANSWER, FORWARD, SPECIAL, Task, TaskOption
from eqa_nodes.bench.embodied.world import Done, SimulatedWorld
from eqa_nodes.core.errors import ConfigError, SimulatorError
from eqa_nodes.core.types.geometry import Pose2, wrap
from eqa_nodes.core.types.samples import TaskCounts
from eqa_nodes.core.types.views import Frame

MAX_STEPS = 24
SUCCESS, FAILED = "success", "failed"
NO_MATCH, OUT_OF_RANGE = -1, -2
ERRORS = {NO_MATCH: "no option match", OUT_OF_RANGE: "option out of range"}  # as EmbodiedEval names them


class Turn(NamedTuple):
    """Input of the agent. image: the current view; history: (option, feedback) of each step, oldest first.

    way: all frames so far, the current view last; with those between the points if the agent asks for them.
    """

    task: str
    options: tuple[str, ...]
    image: Frame
    history: tuple[tuple[str, str], ...]
    steps_left: int
    way: tuple[Frame, ...] = ()


class Pick(NamedTuple):
    """The chosen option, from 0; None if the reply names none. response: the agent's text; error: why it names none."""

    option: int | None
    response: str = ""
    thought: str = ""
    error: str = ""


class TaskAgent(Protocol):
    """Does tasks. Raises ModelError if its model fails.

    An agent with an attribute `between` gets that many frames from between the views before and after each move.
    """

    def begin(self, task: Task, seed: int) -> None:
        """Begin a task."""

    def act(self, turn: Turn) -> Pick:
        """Pick one of the options."""


@dataclass(frozen=True)
class StepLog:
    """One step. options: texts of the menu; action_choice: number of the chosen one, from 1, NO_MATCH or OUT_OF_RANGE.

    predicates_done: as of predicates.in_order; done_after_action: 1 done, -1 failed, 0 neither yet. interaction: the
    option was neither a move nor an answer. unusable: why the reply names no option, "" = it does.
    """

    step: int
    options: tuple[str, ...]
    action_choice: int
    action: str
    response: str
    thought: str
    feedback: str
    predicates_done: tuple[int, ...]
    done_after_action: int
    unusable: str = ""
    interaction: bool = False


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

    @property
    def counts(self) -> TaskCounts:
        """Return the counts of the episode's interactions and its unusable replies."""
        handled = [log for log in self.steps if log.interaction]
        last = self.steps[-1] if self.steps else None
        ended = "" if last is None else ERRORS.get(last.action_choice, "")
        return TaskCounts(len(handled), sum(not log.feedback.startswith(FAILED) for log in handled),
                          sum(bool(log.unusable) for log in self.steps), ended)


def run_task(task: Task, world: SimulatedWorld, agent: TaskAgent, seed: int = 0, max_steps: int = MAX_STEPS,
             listener: Callable[[StepLog], None] = lambda log: None, strict: bool = False) -> TaskOutcome:
    """Do one task. strict: a reply that names no option ends it. Raises EqaError for failures of world or agent."""
    if max_steps < 1:
        raise ConfigError(f"a task needs at least one step, got {max_steps}")
    episode = _Episode(task, world, int(getattr(agent, "between", 0)))
    agent.begin(task, seed)
    for step in range(max_steps):
        menu = episode.menu(max_steps - step)
        log = episode.take(step, menu, agent.act(episode.turn(menu, max_steps - step)))
        listener(log)
        if log.done_after_action or (strict and log.unusable):
            break
    return episode.outcome


def graph_of(task: Task, world: SimulatedWorld) -> NavigationGraph:
    """Return the graph of a task; for one without edges open its scene. Raises SimulatorError if a goal is cut off."""
    if task.edges is not None:
        return NavigationGraph(task)
    world.open(task.scene, task.edit)
    graph = NavigationGraph(task, world.straight)
    if (lost := unreached(task, graph)) is not None:
        raise SimulatorError(f"no path over the points of the task leads from the start to "
                             f"{task.points[lost.point].name!r}, which the predicate {lost.type} demands")
    return graph


Menu = list[tuple[str, GraphPose | TaskOption]]


class _Episode:
    """A task in progress."""

    def __init__(self, task: Task, world: SimulatedWorld, between: int) -> None:
        self._task, self._world, self._between = task, world, between
        self._graph = graph_of(task, world)
        self._at: GraphPose = self._graph.start
        self._so_far = EpisodeFacts(self._graph.spots, self._at.point)
        first = world.begin(task.scene, *self._pose()) if task.edges is not None else self._stand()
        self.outcome = TaskOutcome(frames=[first], poses=[self._graph.pose(self._at)])
        self.way = [first]
        self._so_far.begin(task.predicates, world)
        self._judge()

    def turn(self, menu: Menu, steps_left: int) -> Turn:
        """Return the input of the agent."""
        return Turn(self._task.text, tuple(text for text, _ in menu), self.outcome.frames[-1],
                    tuple((log.action, log.feedback) for log in self.outcome.steps), steps_left, tuple(self.way))

    def menu(self, steps_left: int) -> Menu:
        """Return this step's options: moves, interactions, answers; only answers at a question's last step."""
        answers: Menu = [(option.shown, option) for option in self._task.options if option.type == ANSWER]
        if steps_left == 1 and answers and self._task.kind.endswith("QA"):
            return answers
        others: Menu = [(option.shown, option) for option in self._task.options if option.type != ANSWER]
        return [*self._graph.moves(self._at).items(), *others, *answers]

    def take(self, step: int, menu: Menu, pick: Pick) -> StepLog:
        """Execute the chosen option."""
        texts, number, error = tuple(text for text, _ in menu), _number_of(pick, len(menu)), pick.error
        if number == OUT_OF_RANGE:
            error = error or f"there is no option {(pick.option or 0) + 1} among {len(texts)}"
        chosen, option = menu[number - 1] if number > 0 else ("", None)
        self._so_far.chosen = ""
        feedback = self._carry_out(chosen, option) if option is not None else f"{FAILED}: no option was picked"
        if option is not None:
            self._so_far.passed.add(self._at.point)
            self._judge()
        done = 1 if self.outcome.done else -1 if -1 in self.outcome.predicates_done else 0
        handled = isinstance(option, TaskOption) and option.type != ANSWER
        log = StepLog(step, texts, number, chosen, pick.response, pick.thought, feedback, self.outcome.predicates_done,
                      done, (error or ERRORS[number]) if number < 0 else "", handled)
        self.outcome.steps.append(log)
        self.outcome.poses.append(self._graph.pose(self._at))
        self.outcome.frames.append(self._world.see())
        self.way.append(self.outcome.frames[-1])
        return log

    def _carry_out(self, text: str, option: GraphPose | TaskOption) -> str:
        if isinstance(option, GraphPose):
            return self._move(text, option)
        if option.type == ANSWER:
            self._so_far.answer = self._so_far.chosen = self.outcome.answer = option.text
            return SUCCESS
        done = self._special(option) if option.action == SPECIAL else self._handle(option)
        if not done.done:
            return f"{FAILED}: {done.message}"
        self._so_far.succeeded.add(option.text)
        said = done.message or option.reply
        return f"{SUCCESS}: {said}" if said else SUCCESS

    def _special(self, option: TaskOption) -> Done:
        why = self._obstacle(option)
        return Done(not why, why)

    def _handle(self, option: TaskOption) -> Done:
        """Handle an object, any of several."""
        done = Done(False)
        for obj in option.objects or (option.object,):
            done = self._world.handle(option.action, obj)
            if done.done:
                self._so_far.grabbed |= {obj} if option.action == "pick" else set()
                break
        return done

    def _obstacle(self, option: TaskOption) -> str:
        """Return why a special action cannot be done here: too far from a place, or from an object not in the hand."""
        here = self._graph.spot(self._at.point)[:2]
        places = [self._graph.spot(point) for point in option.points]
        places += [self._world.position(obj) for obj in option.objects if obj != self._world.held()]
        return "it is too far away" if any(math.dist(here, at[:2]) > option.within_m for at in places) else ""

    def _move(self, text: str, to: GraphPose) -> str:
        ends = [self._graph.spot(at.point) for at in (self._at, to)]
        measure = math.dist if self._task.edges is None else self._world.path_length
        metres = measure(ends[0], ends[1]) if text == FORWARD else 0.0
        if not math.isfinite(metres):
            return f"{FAILED}: something is in the way"
        self._film(self._at, to)
        self._at = to
        self._stand()
        self.outcome.metres += metres
        self._so_far.point = to.point
        return SUCCESS

    def _film(self, begin: GraphPose, end: GraphPose) -> None:
        """Add the frames between two poses to the way."""
        (x, y, z), (u, v, w) = self._graph.spot(begin.point), self._graph.spot(end.point)
        for k in range(1, self._between + 1):
            t = k / (self._between + 1)
            pose = Pose2(x + t * (u - x), y + t * (v - y), wrap(begin.yaw + t * wrap(end.yaw - begin.yaw)))
            look_deg = begin.look_deg + t * (end.look_deg - begin.look_deg)
            self.way.append(self._world.stand(pose, look_deg, z + t * (w - z)))

    def _stand(self) -> Frame:
        """Place the agent where it is on the graph."""
        pose, height_m = self._pose()
        return self._world.stand(pose, self._at.look_deg, height_m)

    def _pose(self) -> tuple[Pose2, float]:
        """Return the agent's pose and the height of the floor there."""
        return self._graph.pose(self._at), self._graph.spot(self._at.point)[2]

    def _judge(self) -> None:
        self.outcome.predicates_done = in_order(self._task.predicates, self._world, self._so_far)


def _number_of(pick: Pick, options: int) -> int:
    """Return the number of the chosen option, from 1, NO_MATCH or OUT_OF_RANGE."""
    if pick.option is None:
        return NO_MATCH
    return pick.option + 1 if 0 <= pick.option < options else OUT_OF_RANGE


def texts_of(turn: Turn) -> Sequence[str]:
    """Return the menu as numbered lines, from 1."""
    return [f"[{number}] {text}" for number, text in enumerate(turn.options, start=1)]
