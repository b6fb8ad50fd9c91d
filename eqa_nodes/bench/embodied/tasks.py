"""Tasks in EmbodiedEval's files: data/tasks/tasks.json [{index, task_file}], and one JSON file per task.

Names from the paper and its files are used unchanged: scene_path, task_text, agent_position, agent_rotation,
options [{option_type, option_text}], predicates [{predicate_type, ...}] with right_answer_content of `choose`. The
published task files are not available to us; the other names are this project's own:

    navigation_graph       {"points": [{id, position}], "edges": [[id, id]]}
    options                option_type "Answer", or "Interaction" with action (one of VERBS) and object (a number)
    predicates             the parameters in PARAMETERS: point, object, support, action_text, right_answer_content
    expert_steps, expert   optional: number of steps, and option texts, of a solution

Positions are Unity's: x right, y up, z forward, metres; agent_rotation: Euler angles in degrees, the second about the
up axis, clockwise. A scene_path "house:7" is a built-in house; a file (.glb) is a scan in the data folder.
Unity mirrors the x axis of imported GLB files, so positions in such scenes are rotated by half a turn.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from eqa_nodes.bench.readers.options import ReaderOptions
from eqa_nodes.bench.readers.records import JsonRecord, load, questions
from eqa_nodes.core.errors import ConfigError, StorageError, unknown
from eqa_nodes.core.storage.codec import decode, encode, write_json
from eqa_nodes.core.storage.text import inside
from eqa_nodes.core.traits import ReaderTraits
from eqa_nodes.core.types.geometry import Pose2, wrap
from eqa_nodes.core.types.samples import TASKS, Sample
from sim_bridge.registry import is_scan, simulator_of
from sim_bridge.scans import FILES
from sim_bridge.simulator import VERBS

KINDS = ("AttrQA", "SpatialQA", "Navigation", "ObjectInteraction", "SocialInteraction")
ANSWER, INTERACTION = "Answer", "Interaction"
MOVES = FORWARD, LEFT, RIGHT, UP, DOWN = "move forward", "turn left", "turn right", "look up", "look down"
PARAMETERS: dict[str, tuple[str, ...]] = {  # predicate -> its parameters; the first seven are from the paper
    "choose": ("right_answer_content",), "agent_at": ("point",), "agent_pass": ("point",), "at": ("object", "point"),
    "grab_once": ("object",), "grab": ("object",), "special_action_success": ("action_text",),
    "agent_near": ("object",), "looking_at": ("object",), "on": ("object", "support"), "in": ("object", "support"),
    "open": ("object",), "closed": ("object",), "switched_on": ("object",), "switched_off": ("object",)}


_WITHOUT_THINGS = {"choose", "agent_at", "agent_pass", "looking_at"}  # can be evaluated in any scene


class GraphPoint(NamedTuple):
    """A point of the navigation graph; map frame, metres. z: height of the floor."""

    id: int
    x: float
    y: float
    z: float = 0.0


class TaskOption(NamedTuple):
    """An option other than a move. action, object: of an interaction."""

    type: str
    text: str
    action: str = ""
    object: int = 0


class Predicate(NamedTuple):
    """A condition that must be true at the end. Its type decides which fields are used: PARAMETERS."""

    type: str
    right_answer_content: str = ""
    point: int = -1
    object: int = 0
    support: int = 0
    action_text: str = ""


@dataclass(frozen=True)
class Task:
    """One task; map frame, metres, radians. expert_steps: None = unknown; expert: option texts of a solution."""

    index: int
    kind: str
    scene: str
    text: str
    start: Pose2
    options: tuple[TaskOption, ...]
    predicates: tuple[Predicate, ...]
    points: tuple[GraphPoint, ...]
    edges: tuple[tuple[int, int], ...]
    expert_steps: int | None = None
    expert: tuple[str, ...] = field(default_factory=tuple)
    start_height_m: float = 0.0


def read_tasks(folder: Path) -> list[Task]:
    """Read all tasks of <folder>/tasks/tasks.json or <folder>/tasks.json. Raises ConfigError naming file and field."""
    listed = folder / "tasks" / "tasks.json"
    listed = listed if listed.exists() else folder / "tasks.json"
    return [_listed(entry, listed.parent) for entry in questions(listed, "index")]


def _listed(entry: JsonRecord, folder: Path) -> Task:
    name = entry.text("task_file")
    try:
        file = inside(folder, name)
    except StorageError as error:
        entry.refuse("task_file", f"must lie beside tasks.json: {error}")
    kind = Path(name).parts[0] if len(Path(name).parts) > 1 else ""
    return task_of(JsonRecord(load(file), f"task {name}"), entry.count("index"), kind)


def task_of(record: JsonRecord, index: int, kind: str) -> Task:
    """Parse the task of a file. Raises ConfigError that names record and field."""
    scene = _scene(record)
    points, edges = _graph(record, _side(scene))
    options = tuple(_option(option) for option in record.records("options"))
    known, texts = {point.id for point in points}, [*MOVES, *(option.text for option in options)]
    if len(set(texts)) != len(texts):
        record.refuse("options", f"has a text twice: {next(t for t in texts if texts.count(t) > 1)!r}")
    predicates = tuple(_predicate(item, options, known) for item in record.records("predicates"))
    if not predicates:
        record.refuse("predicates", "is empty: nothing would say whether the task was done")
    x, y, z = _from_unity(record.numbers("agent_position", 3), _side(scene))
    yaw = _heading(record.numbers("agent_rotation", 3)[1], _side(scene))
    steps = record.count("expert_steps") if "expert_steps" in record else None
    return Task(index, kind, scene, record.text("task_text"), Pose2(x, y, yaw), options, predicates, points, edges,
                steps, record.texts("expert"), z)


def _scene(record: JsonRecord) -> str:
    """Return the name of the scene; a file gets the prefix of its simulator."""
    scene = record.text("scene_path")
    if simulator_of(scene) or not scene.endswith(FILES):
        return scene
    if Path(scene).is_absolute() or ".." in Path(scene).parts:
        record.refuse("scene_path", f"must lie in the data folder, got {scene!r:.60}")
    return f"mesh:{scene}"


def _side(scene: str) -> int:
    """Return -1 for a scene with a file that Unity mirrors, else 1."""
    return -1 if is_scan(scene) else 1


def _graph(record: JsonRecord, side: int) -> tuple[tuple[GraphPoint, ...], tuple[tuple[int, int], ...]]:
    graph = JsonRecord(record.get("navigation_graph"), "its navigation_graph")
    points = tuple(GraphPoint(p.count("id"),
                              *_from_unity(p.numbers("position", 3), side)) for p in graph.records("points"))
    known = {point.id for point in points}
    if not points or len(known) != len(points):
        record.refuse("navigation_graph", "needs points, each with an id of its own")
    edges = graph.get("edges")
    if not isinstance(edges, list) or not all(
            isinstance(e, list) and len(e) == 2 and e[0] != e[1] and all(type(i) is int and i in known for i in e)
            for e in edges):
        record.refuse("navigation_graph", f"needs edges between two of its points each, got {edges!r:.60}")
    return points, tuple((a, b) for a, b in edges)


def _option(record: JsonRecord) -> TaskOption:
    kind, text = record.text("option_type"), record.text("option_text")
    if kind not in (ANSWER, INTERACTION):
        record.refuse("option_type", f"is not supported: {unknown('type', kind, (ANSWER, INTERACTION))}")
    if kind == ANSWER:
        return TaskOption(kind, text)
    if record.text("action") not in VERBS:
        record.refuse("action", unknown("way to handle a thing", record.text("action"), VERBS))
    return TaskOption(kind, text, record.text("action"), record.count("object"))


def _predicate(record: JsonRecord, options: Sequence[TaskOption], points: set[int]) -> Predicate:
    kind = record.text("predicate_type")
    if kind not in PARAMETERS:
        record.refuse("predicate_type", unknown("predicate", kind, PARAMETERS))
    takes: dict[str, Any] = {"point": record.count, "object": record.count, "support": record.count,
                             "right_answer_content": record.text, "action_text": record.text}
    values = {name: takes[name](name) for name in PARAMETERS[kind]}
    if values.get("point", next(iter(points))) not in points:
        record.refuse("point", f"is not a point of the navigation graph: {values['point']}")
    for name, of in (("right_answer_content", ANSWER), ("action_text", INTERACTION)):
        if name in values and values[name] not in [o.text for o in options if o.type == of]:
            record.refuse(name, f"is not one of the options: {values[name]!r:.60}")
    return Predicate(kind, **values)


def write_tasks(folder: Path, tasks: Sequence[Task]) -> None:
    """Write <folder>/tasks/tasks.json and one file per task, in the format of read_tasks."""
    listed = []
    for task in tasks:
        name = f"{task.kind or 'Task'}/{task.index:04d}.json"
        listed.append({"index": task.index, "task_file": name})
        write_json(folder / "tasks" / name, record_of(task))
    write_json(folder / "tasks" / "tasks.json", listed)


def record_of(task: Task) -> dict[str, Any]:
    """Return the content of a task's file."""
    options = [{"option_type": o.type, "option_text": o.text,
                **({"action": o.action, "object": o.object} if o.type == INTERACTION else {})} for o in task.options]
    predicates = [{"predicate_type": p.type, **{name: getattr(p, name) for name in PARAMETERS[p.type]}}
                  for p in task.predicates]
    side = _side(task.scene)
    points = [{"id": p.id, "position": _to_unity((p.x, p.y, p.z), side)} for p in task.points]
    start = (task.start.x, task.start.y, task.start_height_m)
    scene = task.scene if side > 0 else task.scene.partition(":")[2]
    return {"scene_path": scene, "task_text": task.text, "agent_position": _to_unity(start, side),
            "agent_rotation": [0.0, math.degrees(_heading_in_unity(task.start.yaw, side)), 0.0], "options": options,
            "predicates": predicates,
            "navigation_graph": {"points": points, "edges": [list(edge) for edge in task.edges]},
            **({} if task.expert_steps is None else {"expert_steps": task.expert_steps}),
            **({"expert": list(task.expert)} if task.expert else {})}


def sample_of(task: Task) -> Sample:
    """Return the task as a sample; its metadata contains the whole task, so a run directory is complete."""
    answers = tuple(option.text for option in task.options if option.type == ANSWER)
    right = next((p.right_answer_content for p in task.predicates if p.type == "choose"), "")
    return Sample(f"{task.index:04d}", task.text, right, category=task.kind, scene=task.scene, start=task.start,
                  start_height_m=task.start_height_m, choices=answers if right else (),
                  reference_steps=task.expert_steps,
                  metadata={"task": encode(task), "predicates": [p.type for p in task.predicates]})


def task_in(sample: Sample) -> Task:
    """Return the task of a sample. Raises ConfigError if it is a question."""
    if "task" not in sample.metadata:
        raise ConfigError(f"question {sample.id!r} is not a task: use a data set of tasks (embodied-eval, house-tasks)")
    return replace(decode(Task, sample.metadata["task"]), scene=sample.scene)


def check_doable(sample: Sample) -> None:
    """Raise ConfigError for a task in a scan that needs more than moving and seeing: objects there are fixed.

    Also raises ConfigError for a sample that is not a task.
    """
    needs = sorted({p.type for p in task_in(sample).predicates} - _WITHOUT_THINGS)
    if needs and is_scan(sample.scene):
        raise ConfigError(f"task {sample.id!r} needs {', '.join(needs)}, and in the scan {sample.scene!r} nothing can "
                          "be handled, nor are their positions known: only tasks of going, looking and answering "
                          "can be done")


def _from_unity(xyz: Sequence[float], side: int) -> tuple[float, float, float]:
    x, y, z = xyz
    return side * z, -side * x, y


def _to_unity(xyz: tuple[float, float, float], side: int) -> list[float]:
    x, y, z = xyz
    return [-side * y, z, side * x]


def _heading(degrees: float, side: int) -> float:
    """Convert a rotation about Unity's up axis, degrees, to a heading in the map frame, radians."""
    return wrap(-math.radians(degrees) + (0.0 if side > 0 else math.pi))


def _heading_in_unity(yaw: float, side: int) -> float:
    """Convert a heading in the map frame to a rotation about Unity's up axis, radians."""
    return -yaw if side > 0 else wrap(math.pi - yaw)


class EmbodiedEvalReader:
    """EmbodiedEval's tasks as a data set."""

    traits = ReaderTraits(robot="embodied-eval", splits=False, task=TASKS,
                          command="eqa bench tasks --dataset embodied-eval")

    def read(self, options: ReaderOptions) -> list[Sample]:
        """Return the samples. Raises ConfigError."""
        return [sample_of(task) for task in read_tasks(options.files())]
