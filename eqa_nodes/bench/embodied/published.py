"""Reads the task files of EmbodiedEval as its authors published them (328 in data/tasks).

Such a file names the places of its navigation graph (special_points) but stores no edges: they follow from the geometry
of the scene. Options and predicates name objects and points by path: "NavPoints/NavigationPoint3" and "SpecialPoint"
are points, "FloorPlan7_physics/Objects/Mug_1" is a node of the scene, "Ch01_nonPBR" is a person. scene_path is absolute
on its author's computer, so only the file's name counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath

from eqa_nodes.bench.embodied.tasks import (
    ANSWER,
    INTERACTION,
    MOVES,
    NAVIGATION,
    PLACE,
    SPECIAL,
    TARGET,
    GraphPoint,
    Predicate,
    Task,
    TaskOption,
    TaskPerson,
)
from eqa_nodes.bench.embodied.unity import from_unity, heading_from_unity, side_of
from eqa_nodes.bench.readers.records import JsonRecord
from eqa_nodes.core.errors import unknown
from eqa_nodes.core.types.geometry import Pose2
from sim_bridge.scans import FILES
from sim_bridge.simulator import SceneEdit

COLLECTIONS = ("AI2THOR", "HSSD", "ObjaverseSynthetic", "Sketchfab")  # folders of the scenes
ACTIONS = {"PickUp": "pick", "PlaceTo": "place", "OpenDoor": "open", "OpenDrawer": "open", "CloseDoor": "close",
           "CloseDrawer": "close", "SpecialAction": SPECIAL}
POSES = ("stand", "sit", "lay")
_SUCCESS = "success"  # the feedback of an action after which nothing is said
_POINT_FOLDERS = ("NavPoints/", "TargetPoints/")
_OF_PLACE = ("agent_at", "agent_pass", "agent_near")
_OF_OBJECT = ("grab", "grab_once")
_OF_TWO = ("at", "near", "not_near", "not_at", "closer", "further")
_TYPES = ("choose", "special_action_success", *_OF_PLACE, *_OF_OBJECT, *_OF_TWO)


class SceneFinder:
    """Finds scene files by name: in scenes/COLLECTION of the data folder, or in the folder of scans."""

    def __init__(self, *folders: str | Path | None) -> None:
        """folders: each may hold the collections itself, or in a folder `scenes`."""
        self._homes = [home for folder in folders if folder for home in (Path(folder) / "scenes", Path(folder))]

    def place(self, name: str) -> str:
        """Return the path below its folder, "HSSD/102344049.glb"; the bare name if the file is not there."""
        return next((f"{each}/{name}" for home in self._homes for each in COLLECTIONS
                     if (home / each / name).is_file()), name)


def is_published(record: JsonRecord) -> bool:
    """Return whether a record has the form of the published files."""
    return "special_points" in record and "navigation_graph" not in record


def published_task(record: JsonRecord, index: int, kind: str, scenes: SceneFinder) -> Task:
    """Parse a published task. Raises ConfigError that names record and field."""
    scene = f"mesh:{scenes.place(_file_name(record))}"
    side = side_of(scene)
    points = _points(record, side)
    people = _people(record, points, side)
    names = _Names(record, points, people)
    options = tuple(_option(option, names) for option in record.records("options"))
    if any(option.text in MOVES for option in options):
        record.refuse("options", "has the text of a move")
    predicates = tuple(_predicate(item, options, names) for item in record.records("predicates"))
    if not predicates:
        record.refuse("predicates", "is empty: nothing would say whether the task was done")
    x, y, z = from_unity(record.numbers("agent_position", 3), side)
    yaw = heading_from_unity(record.numbers("agent_rotation", 3)[1], side)
    return Task(index, kind, scene, record.text("task_text").strip(), Pose2(x, y, yaw), options, predicates, points,
                None, None, (), z, tuple(names.objects), people, _edit(record, side))


def _file_name(record: JsonRecord) -> str:
    name = PurePosixPath(record.text("scene_path").replace("\\", "/")).name
    if not name.endswith(FILES):
        record.refuse("scene_path", f"must name a scene file ({', '.join(FILES)}), got {name!r:.60}")
    return name


def _edit(record: JsonRecord, side: int) -> SceneEdit:
    sx, sy, sz = record.numbers("scene_scale", 3) if "scene_scale" in record else (1.0, 1.0, 1.0)
    if not min(sx, sy, sz) > 0:
        record.refuse("scene_scale", f"must be three positive numbers, got {[sx, sy, sz]}")
    moved = record.numbers("scene_position", 3) if "scene_position" in record else (0.0, 0.0, 0.0)
    x, y, z = from_unity(moved, side)
    return SceneEdit(record.texts("removed_objects"), (sz, sx, sy), (x + 0.0, y + 0.0, z))  # + 0.0 turns -0 into 0


def _points(record: JsonRecord, side: int) -> tuple[GraphPoint, ...]:
    """Return all named places, numbered from 0."""
    points = []
    for number, item in enumerate(record.records("special_points")):
        kind = item.text("type")
        if kind not in (NAVIGATION, TARGET, PLACE):
            item.refuse("type", unknown("type of a point", kind, (NAVIGATION, TARGET, PLACE)))
        x, y, z = from_unity(item.numbers("position", 3), side)
        points.append(GraphPoint(number, x, y, z, item.text("name"), kind))
    names = [point.name for point in points]
    if len(set(names)) != len(names):
        record.refuse("special_points", f"has a name twice: {next(n for n in names if names.count(n) > 1)!r}")
    if not any(point.type == NAVIGATION for point in points):
        record.refuse("special_points", f"has no point of type {NAVIGATION!r}: the agent could stand nowhere")
    return tuple(points)


def _people(record: JsonRecord, points: Sequence[GraphPoint], side: int) -> tuple[TaskPerson, ...]:
    known = {point.name: point.id for point in points}
    people = []
    for item in record.records("humans") if "humans" in record else []:
        x, y, z = from_unity(item.numbers("human_position", 3), side)
        pose = item.text("pose") if "pose" in item else POSES[0]
        pointed = item.text("pointing_to") if item.data.get("pointing_to") != "" and "pointing_to" in item else ""
        if pose not in POSES:
            item.refuse("pose", unknown("pose of a person", pose, POSES))
        if pointed and pointed not in known:
            item.refuse("pointing_to", f"is not a point of the task: {pointed!r:.60}")
        yaw = heading_from_unity(item.numbers("human_rotation", 3)[1], side)
        people.append(TaskPerson(item.text("asset"), x, y, z, yaw, pose, known[pointed] if pointed else -1))
    return tuple(people)


class _Names:
    """Resolves the paths of a task to numbers; numbers the objects in the order in which they are named, from 1."""

    def __init__(self, record: JsonRecord, points: Sequence[GraphPoint], people: Sequence[TaskPerson]) -> None:
        self._points = {point.name: point.id for point in points}
        self._roots = {_file_name(record).rpartition(".")[0], *(person.asset for person in people)}
        self.objects: list[str] = []

    def point(self, path: str) -> int:
        """Return the id of a point, -1 if the path is not one of a point."""
        for folder in _POINT_FOLDERS:
            if path.startswith(folder):
                return self._points.get(path.removeprefix(folder), -1)
        return self._points.get(path, -1)

    def object(self, record: JsonRecord, field: str, path: str) -> int:
        """Return the number of an object. Raises ConfigError unless it belongs to the scene or is a person."""
        if path.partition("/")[0] not in self._roots:
            record.refuse(field, f"names neither a point nor an object of the scene: {path!r:.80}; known are "
                          f"{len(self._points)} points, and objects of {', '.join(sorted(self._roots))}")
        if path not in self.objects:
            self.objects.append(path)
        return self.objects.index(path) + 1

    def split(self, record: JsonRecord, field: str, paths: Sequence[str]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the objects and the points among paths."""
        objects = tuple(self.object(record, field, path) for path in paths if self.point(path) < 0)
        return objects, tuple(point for path in paths if (point := self.point(path)) >= 0)


def _option(record: JsonRecord, names: _Names) -> TaskOption:
    kind, text = record.text("option_type"), record.text("option_text").strip()
    if kind == ANSWER:
        return TaskOption(ANSWER, text)
    if kind not in ACTIONS:
        record.refuse("option_type", f"is not supported: {unknown('type', kind, (ANSWER, *ACTIONS))}")
    paths, field, reply = record.texts("objects"), "objects", ""
    if ACTIONS[kind] == SPECIAL:
        paths, field, reply = _special(record)
    elif not paths:
        record.refuse("objects", f"is empty: {kind} needs an object or a point")
    objects, points = names.split(record, field, paths)
    within = record.length("interaction_distance") if "interaction_distance" in record else 0.0
    return TaskOption(INTERACTION, text, ACTIONS[kind], objects[0] if objects else 0, objects, points, within or 1.0,
                      reply)


def _special(record: JsonRecord) -> tuple[tuple[str, ...], str, str]:
    """Return what a special action requires, the field that says so, and what is said after it."""
    held = JsonRecord(record.get("specialActionFeedbacks"), f"{record.where}: specialActionFeedbacks")
    outcomes = held.records("list")
    if len(outcomes) != 1:
        record.refuse("specialActionFeedbacks", f"must hold one outcome, got {len(outcomes)}")
    said = outcomes[0].text("feedback").strip()
    return outcomes[0].texts("required_objects"), "required_objects", "" if said == _SUCCESS else said


def _predicate(record: JsonRecord, options: Sequence[TaskOption], names: _Names) -> Predicate:
    kind = record.text("predicate_type")
    if kind not in _TYPES:
        record.refuse("predicate_type", unknown("predicate", kind, _TYPES))
    if kind == "choose":
        answer = _one_of(record, "right_answer_content", options, lambda o: o.type == ANSWER)
        return Predicate(kind, right_answer_content=answer)
    if kind == "special_action_success":
        action = _one_of(record, "right_special_action", options, lambda o: o.action == SPECIAL)
        return Predicate(kind, action_text=action)
    path = record.text("predicate_object")
    point = names.point(path)
    if kind in _OF_PLACE:
        if point >= 0:
            return Predicate(kind, point=point)
        return Predicate(kind, object=names.object(record, "predicate_object", path))
    if point >= 0:
        record.refuse("predicate_object", f"must be an object for {kind}, not the point {path!r:.60}")
    first = names.object(record, "predicate_object", path)
    if kind in _OF_OBJECT:
        return Predicate(kind, object=first)
    place = record.text("predicate_place")
    if (point := names.point(place)) >= 0:
        return Predicate(kind, object=first, point=point)
    return Predicate(kind, object=first, other=names.object(record, "predicate_place", place))


def _one_of(record: JsonRecord, field: str, options: Sequence[TaskOption],
            fits: Callable[[TaskOption], bool]) -> str:
    text = record.text(field).strip()
    if text not in [option.text for option in options if fits(option)]:
        record.refuse(field, f"is not one of the options: {text!r:.60}")
    return text
