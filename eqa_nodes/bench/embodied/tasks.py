"""Tasks as EmbodiedEval sets them: a scene, a navigation graph, options to choose from, and goal predicates."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.storage.codec import decode, encode
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.samples import Sample
from sim_bridge.registry import is_scan, simulator_of
from sim_bridge.simulator import AS_STORED, SceneEdit

ANSWER, INTERACTION = "Answer", "Interaction"
SPECIAL = "special"  # action of an interaction that has no effect on the scene: what counts is where it is done
MOVES = FORWARD, LEFT, RIGHT, UP, DOWN = "move forward", "turn left", "turn right", "look up", "look down"
NAVIGATION, TARGET, PLACE = "navigation", "navigation-target", "special"  # types of points, as the files name them
PARAMETERS: dict[str, tuple[str, ...]] = {  # predicate -> its parameters
    "choose": ("right_answer_content",), "agent_at": ("point",), "agent_pass": ("point",), "agent_near": ("object",),
    "at": ("object", "point"), "near": ("object", "other"), "not_near": ("object", "other"),
    "not_at": ("object", "other"), "closer": ("object", "other"), "further": ("object", "other"),
    "grab_once": ("object",), "grab": ("object",), "special_action_success": ("action_text",),
    "looking_at": ("object",), "on": ("object", "support"), "in": ("object", "support"),
    "open": ("object",), "closed": ("object",), "switched_on": ("object",), "switched_off": ("object",)}
# Predicates that can be evaluated in any scene, as far as they name points and not objects.
_WITHOUT_OBJECTS = {"choose", "agent_at", "agent_pass", "agent_near", "looking_at", "special_action_success"}


class GraphPoint(NamedTuple):
    """A named place of a task; map frame, metres. z: height of the floor, or of the place itself.

    type: NAVIGATION for points of the graph; TARGET for a place to look at, from the point "N" if its name is
    "N-Target"; PLACE for places that predicates and options name.
    """

    id: int
    x: float
    y: float
    z: float = 0.0
    name: str = ""
    type: str = NAVIGATION


class TaskOption(NamedTuple):
    """An option other than a move. action, object: of an interaction; object 0 = none.

    objects: all objects that it may or must be done with; points: likewise; within_m: maximum distance of the agent;
    reply: what is said after it, "" = nothing.
    """

    type: str
    text: str
    action: str = ""
    object: int = 0
    objects: tuple[int, ...] = ()
    points: tuple[int, ...] = ()
    within_m: float = 1.0
    reply: str = ""

    @property
    def shown(self) -> str:
        """Return the text on the menu: that of an answer is quoted after "answer", as EmbodiedEval shows it."""
        return f'answer "{self.text}"' if self.type == ANSWER else self.text


class Predicate(NamedTuple):
    """A condition that must be true at the end. Its type decides which fields are used: PARAMETERS.

    A point stands in the place of an object, or of the other object, where a published task names one.
    """

    type: str
    right_answer_content: str = ""
    point: int = -1
    object: int = 0
    support: int = 0
    action_text: str = ""
    other: int = 0


class TaskPerson(NamedTuple):
    """A person in a scene; map frame, metres, radians. pose: stand, sit or lay; points_at: id of a point, -1 = none."""

    asset: str
    x: float
    y: float
    z: float
    yaw: float
    pose: str = "stand"
    points_at: int = -1


@dataclass(frozen=True)
class Task:
    """One task; map frame, metres, radians. expert_steps: None = unknown; expert: option texts of a solution.

    edges: None = they follow from the geometry of the scene (graph.scene_edges). objects: paths of the objects that
    options and predicates name by number, from 1, in a published task. edit: changes to the scene before the start.
    """

    index: int
    kind: str
    scene: str
    text: str
    start: Pose2
    options: tuple[TaskOption, ...]
    predicates: tuple[Predicate, ...]
    points: tuple[GraphPoint, ...]
    edges: tuple[tuple[int, int], ...] | None
    expert_steps: int | None = None
    expert: tuple[str, ...] = field(default_factory=tuple)
    start_height_m: float = 0.0
    objects: tuple[str, ...] = ()
    people: tuple[TaskPerson, ...] = ()
    edit: SceneEdit = AS_STORED


def sample_of(task: Task) -> Sample:
    """Return the task as a sample; its metadata contains the whole task, so a run directory is complete."""
    answers = tuple(dict.fromkeys(option.text for option in task.options if option.type == ANSWER))
    right = next((p.right_answer_content for p in task.predicates if p.type == "choose"), "")
    return Sample(f"{task.index:04d}", task.text, right, category=task.kind, scene=task.scene, start=task.start,
                  start_height_m=task.start_height_m, choices=answers if right else (),
                  reference_steps=task.expert_steps,
                  metadata={"task": encode(task), "predicates": [p.type for p in task.predicates]})


def unreadable_sample(index: int, kind: str, name: str, why: str) -> Sample:
    """Return a task that could not be read as a sample: it fails with this reason, and the others run."""
    return Sample(f"{index:04d}", name, "", category=kind, metadata={"unreadable": why, "predicates": []})


def task_in(sample: Sample) -> Task:
    """Return the task of a sample. Raises ConfigError if it is a question, or a task that could not be read."""
    if "unreadable" in sample.metadata:
        raise ConfigError(str(sample.metadata["unreadable"]))
    if "task" not in sample.metadata:
        raise ConfigError(f"question {sample.id!r} is not a task: use a data set of tasks (embodied-eval, house-tasks)")
    return replace(decode(Task, sample.metadata["task"]), scene=sample.scene)


def lacking(task: Task, scene: str) -> tuple[str, ...]:
    """Return what a task needs and its scene does not offer: predicates, actions and people of tasks in scans.

    Objects of a scan are fixed, their positions are not known, and people are not shown.
    """
    if not is_scan(scene):
        return ()
    predicates = {p.type for p in task.predicates if p.type not in _WITHOUT_OBJECTS
                  or (p.type.startswith("agent") and p.object)}
    actions = {o.action for o in task.options if o.type != ANSWER and (o.action != SPECIAL or o.objects)}
    return (*sorted(predicates | actions), *(("people",) if task.people else ()))


def check_doable(sample: Sample) -> None:
    """Raise ConfigError for a sample that is not a readable task, or a task that its scene cannot offer."""
    task = task_in(sample)
    if needs := lacking(task, sample.scene):
        raise ConfigError(f"task {sample.id!r} needs {', '.join(needs)}, and in the scan {sample.scene!r} nothing can "
                          "be handled, nor are objects and people known: only tasks of going, looking and answering "
                          "can be done")
    if task.edit != AS_STORED and simulator_of(sample.scene) != "mesh":
        raise ConfigError(f"task {sample.id!r} leaves out or moves parts of its scene, which only the simulator mesh "
                          f"can do, not {sample.scene!r}: use --simulator mesh")
