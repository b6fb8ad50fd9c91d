"""Folders of tasks: tasks/tasks.json [{index, task_file}], and one JSON file for each task.

Without tasks.json all files of the folders FAMILIES are read in the order of their names. A file with `special_points`
is one of EmbodiedEval's own (published.py). The other files, which `write_tasks` writes, share most names with them:
scene_path, task_text, agent_position, agent_rotation (Unity's axes, see unity.py), and

    navigation_graph       {"points": [{id, position}], "edges": [[id, id]]}
    options                option_type "Answer", or "Interaction" with object (a number) and an action of
                           sim_bridge/house/actions.yaml
    predicates             predicate_type with the parameters in tasks.PARAMETERS
    expert_steps, expert   optional: number of steps, and option texts, of a solution

A scene_path "house:7" is a built-in house; a file (.glb) is a scan in the data folder.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from eqa_nodes.bench.embodied.graph import NavigationGraph, unreached
from eqa_nodes.bench.embodied.published import SceneFinder, is_published, published_task
from eqa_nodes.bench.embodied.tasks import (
    ANSWER,
    INTERACTION,
    MOVES,
    NAVIGATION,
    PARAMETERS,
    GraphPoint,
    Predicate,
    Task,
    TaskOption,
    sample_of,
    unreadable_sample,
)
from eqa_nodes.bench.embodied.unity import from_unity, heading_from_unity, heading_to_unity, side_of, to_unity
from eqa_nodes.bench.readers.options import ReaderOptions
from eqa_nodes.bench.readers.records import JsonRecord, load, questions
from eqa_nodes.core.errors import ConfigError, StorageError, unknown
from eqa_nodes.core.storage.codec import write_json
from eqa_nodes.core.storage.text import inside
from eqa_nodes.core.traits import ReaderTraits
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.samples import TASKS, Sample
from sim_bridge.registry import known_actions, simulator_of
from sim_bridge.scans import FILES, SCENES_VARIABLE

FAMILIES = ("AttributeQA", "SpatialQA", "Navigation", "ObjectInteraction", "SocialInteraction")
ATTRIBUTES = "AttrQA"  # the name of the first family in the paper's tables
LIST = "tasks.json"


class TaskFile(NamedTuple):
    """A file of a task: its number, its family (the folder), its name, and what reads it (raises ConfigError)."""

    number: int
    kind: str
    name: str
    read: Callable[[], Task]


def task_files(folder: Path) -> list[TaskFile]:
    """Return the files of a data folder, not yet read. Raises ConfigError if there are none, or for a bad list."""
    homes = [folder / "tasks", folder]
    scenes = SceneFinder(folder, os.environ.get(SCENES_VARIABLE))
    for home in homes:
        if (home / LIST).is_file():
            return [_listed(entry, home, scenes) for entry in questions(home / LIST, "index")]
    found = [(home, file) for home in homes for family in sorted(FAMILIES)
             for file in sorted((home / family).glob("*.json"))]
    if not found:
        raise ConfigError(f"there are no tasks in {folder}: it must hold {LIST}, tasks/{LIST}, or folders "
                          f"{', '.join(FAMILIES)} with one JSON file for each task")
    return [_file(index, f"{file.parent.name}/{file.name}", home, scenes) for index, (home, file) in enumerate(found)]


def _listed(entry: JsonRecord, home: Path, scenes: SceneFinder) -> TaskFile:
    return _file(entry.count("index"), entry.text("task_file"), home, scenes)


def _file(index: int, name: str, home: Path, scenes: SceneFinder) -> TaskFile:
    folder = Path(name).parts[0] if len(Path(name).parts) > 1 else ""
    kind = ATTRIBUTES if folder == FAMILIES[0] else folder

    def read() -> Task:
        try:
            file = inside(home, name)
        except StorageError as error:
            raise ConfigError(f"task {index} cannot be read: field 'task_file' must lie beside {LIST}: {error}"
                              ) from error
        return task_of(JsonRecord(load(file), f"task {name}"), index, kind, scenes)

    return TaskFile(index, kind, name, read)


def read_tasks(folder: Path) -> list[Task]:
    """Read all tasks of a data folder. Raises ConfigError for the first that cannot be read, naming file and field."""
    return [file.read() for file in task_files(folder)]


def task_of(record: JsonRecord, index: int, kind: str, scenes: SceneFinder | None = None) -> Task:
    """Parse the task of a file. Raises ConfigError that names record and field."""
    if is_published(record):
        return published_task(record, index, kind, scenes or SceneFinder())
    scene = _scene(record)
    side = side_of(scene)
    points, edges = _graph(record, side)
    options = tuple(_option(option) for option in record.records("options"))
    known, texts = {point.id for point in points}, [*MOVES, *(option.text for option in options)]
    if len(set(texts)) != len(texts):
        record.refuse("options", f"has a text twice: {next(t for t in texts if texts.count(t) > 1)!r}")
    predicates = tuple(_predicate(item, options, known) for item in record.records("predicates"))
    if not predicates:
        record.refuse("predicates", "is empty: nothing would say whether the task was done")
    x, y, z = from_unity(record.numbers("agent_position", 3), side)
    yaw = heading_from_unity(record.numbers("agent_rotation", 3)[1], side)
    steps = record.count("expert_steps") if "expert_steps" in record else None
    task = Task(index, kind, scene, record.text("task_text"), Pose2(x, y, yaw), options, predicates, points, edges,
                steps, record.texts("expert"), z)
    if (lost := unreached(task, NavigationGraph(task))) is not None:
        record.refuse("navigation_graph", f"does not lead from the start to point {lost.point}, which the predicate "
                      f"{lost.type} demands")
    return task


def _scene(record: JsonRecord) -> str:
    """Return the name of the scene; a file gets the prefix of its simulator."""
    scene = record.text("scene_path")
    if simulator_of(scene) or not scene.endswith(FILES):
        return scene
    if Path(scene).is_absolute() or ".." in Path(scene).parts:
        record.refuse("scene_path", f"must lie in the data folder, got {scene!r:.60}")
    return f"mesh:{scene}"


def _graph(record: JsonRecord, side: int) -> tuple[tuple[GraphPoint, ...], tuple[tuple[int, int], ...]]:
    graph = JsonRecord(record.get("navigation_graph"), f"{record.where}: navigation_graph")
    points = tuple(GraphPoint(p.count("id"), *from_unity(p.numbers("position", 3), side))
                   for p in graph.records("points"))
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
    if record.text("action") not in known_actions():
        record.refuse("action", unknown("action on an object", record.text("action"), known_actions()))
    return TaskOption(kind, text, record.text("action"), record.count("object"))


def _predicate(record: JsonRecord, options: Sequence[TaskOption], points: set[int]) -> Predicate:
    kind = record.text("predicate_type")
    if kind not in PARAMETERS:
        record.refuse("predicate_type", unknown("predicate", kind, PARAMETERS))
    takes: dict[str, Any] = {"point": record.count, "object": record.count, "support": record.count,
                             "other": record.count, "right_answer_content": record.text, "action_text": record.text}
    values = {name: takes[name](name) for name in PARAMETERS[kind]}
    if values.get("point", next(iter(points))) not in points:
        record.refuse("point", f"is not a point of the navigation graph: {values['point']}")
    for name, of in (("right_answer_content", ANSWER), ("action_text", INTERACTION)):
        if name in values and values[name] not in [o.text for o in options if o.type == of]:
            record.refuse(name, f"is not one of the options: {values[name]!r:.60}")
    return Predicate(kind, **values)


def write_tasks(folder: Path, tasks: Sequence[Task]) -> None:
    """Write <folder>/tasks/tasks.json and one file per task, in the format of read_tasks.

    Raises ConfigError for a published task, whose graph no file contains.
    """
    listed = []
    for task in tasks:
        if task.edges is None:
            raise ConfigError(f"task {task.index} is read from a published file, which can be copied: only tasks with "
                              "a navigation graph are written")
        name = f"{task.kind or 'Task'}/{task.index:04d}.json"
        listed.append({"index": task.index, "task_file": name})
        write_json(folder / "tasks" / name, record_of(task))
    write_json(folder / "tasks" / LIST, listed)


def record_of(task: Task) -> dict[str, Any]:
    """Return the content of a task's file; that of a published task lacks what the navigation graph has."""
    options = [{"option_type": o.type, "option_text": o.text,
                **({"action": o.action, "object": o.object} if o.type == INTERACTION else {})} for o in task.options]
    predicates = [{"predicate_type": p.type, **{name: getattr(p, name) for name in PARAMETERS[p.type]}}
                  for p in task.predicates]
    side = side_of(task.scene)
    points = [{"id": p.id, "position": to_unity((p.x, p.y, p.z), side)} for p in task.points if p.type == NAVIGATION]
    graph = {"points": points, "edges": [list(edge) for edge in task.edges or ()]}
    start = (task.start.x, task.start.y, task.start_height_m)
    scene = task.scene if side > 0 else task.scene.partition(":")[2]
    return {"scene_path": scene, "task_text": task.text, "agent_position": to_unity(start, side),
            "agent_rotation": [0.0, heading_to_unity(task.start.yaw, side), 0.0], "options": options,
            "predicates": predicates, **({} if task.edges is None else {"navigation_graph": graph}),
            **({} if task.expert_steps is None else {"expert_steps": task.expert_steps}),
            **({"expert": list(task.expert)} if task.expert else {})}


def _samples(files: Sequence[TaskFile]) -> Iterator[Sample | ConfigError]:
    for file in files:
        try:
            yield sample_of(file.read())
        except ConfigError as error:
            yield error


class EmbodiedEvalReader:
    """EmbodiedEval's tasks as a data set. A task that cannot be read becomes a sample that fails with the reason."""

    traits = ReaderTraits(robot="embodied-eval", splits=False, task=TASKS,
                          command="eqa bench tasks --dataset embodied-eval")

    def read(self, options: ReaderOptions) -> list[Sample]:
        """Return the samples. Raises ConfigError if no task can be read, with the reason of the first."""
        files = task_files(options.files())
        read = list(_samples(files))
        errors = [sample for sample in read if isinstance(sample, ConfigError)]
        if errors and len(errors) == len(read):
            raise errors[0]
        return [unreadable_sample(file.number, file.kind, file.name, str(one)) if isinstance(one, ConfigError) else one
                for file, one in zip(files, read, strict=True)]
