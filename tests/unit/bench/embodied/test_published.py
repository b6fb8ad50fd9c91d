"""EmbodiedEval's task files as published: what is read, what is refused by name, and tasks done in a scan."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqa_nodes.bench.datasets import open_dataset
from eqa_nodes.bench.embodied.agents import ScriptedAgent
from eqa_nodes.bench.embodied.files import read_tasks, task_files, write_tasks
from eqa_nodes.bench.embodied.loop import run_task
from eqa_nodes.bench.embodied.survey import NO_PATH, NO_SCENE, OBJECTS, PEOPLE, READY, UNREADABLE, survey
from eqa_nodes.bench.embodied.tasks import FORWARD, LEFT, RIGHT, Task, check_doable, lacking, sample_of
from eqa_nodes.bench.embodied.world import SimulatedWorld
from eqa_nodes.bench.samples import opened_by
from eqa_nodes.cli import main
from eqa_nodes.core.errors import ConfigError, SimulatorError
from eqa_nodes.core.types.robot import CameraModel
from eqa_nodes.core.types.samples import TASKS
from eqa_nodes.runners.sources import ScenePreflight
from sim_bridge.scans import SCENES_VARIABLE
from sim_bridge.simulator import SceneEdit
from tests.fixtures.junk_records import FUZZ, JUNK, refusal
from tests.fixtures.published_tasks import (
    FLAT,
    POINTS,
    answer,
    option,
    person,
    predicate,
    published,
    write_flat,
    write_published,
)

TAKING = published(
    task_text="Put the mug on the table.",
    options=[option("PickUp", "pick up the mug", "flat/mugs/mug 1", "flat/mugs/mug 2"),
             option("PlaceTo", "place to the table", "SpecialPoint", within=0.0)],
    predicates=[predicate("grab_once", "flat/mugs/mug 1", "SpecialPoint"),
                predicate("at", "flat/mugs/mug 1", "SpecialPoint")])
ASKING = published(
    task_text="What does he point at?", humans=[person(pointing_to="SpecialPoint")],
    options=[option("SpecialAction", "ask the man", "Ch01_nonPBR", feedback="At the box.")],
    predicates=[predicate("special_action_success", action="ask the man")])
RINGING = published(
    task_text="Ring the bell.", options=[option("SpecialAction", "ring", "SpecialPoint", feedback="Come in.")],
    predicates=[predicate("special_action_success", action="ring")])


def read_one(folder: Path, **changed: Any) -> Task:
    write_published(folder, {"SpatialQA/a.json": published(**changed)})
    (task,) = read_tasks(folder)
    return task


def test_a_file_is_read_as_published(tmp_path: Path) -> None:
    task = read_one(tmp_path)
    assert (task.index, task.kind, task.scene, task.text) == (0, "SpatialQA", f"mesh:{FLAT}",
                                                              "Is the box in the other room red?")
    assert task.start == pytest.approx((1.1, 2.1, 0.0)) and task.edges is None
    assert [(p.name, p.type) for p in task.points[3:]] == [("NavigationPoint0-Target", "navigation-target"),
                                                           ("SpecialPoint", "special")]
    assert task.points[1][1:4] == pytest.approx((4.4, 2.0, 0.03))
    assert [o.shown for o in task.options] == ['answer "yes"', 'answer "no"', 'answer "no"']  # equal texts are allowed
    assert [(p.type, p.point, p.right_answer_content) for p in task.predicates] == [
        ("choose", -1, "yes"), ("agent_pass", 1, "")]
    assert task.edit == SceneEdit(("flat/doors/door",)) and lacking(task, task.scene) == ()
    sample = sample_of(task)
    assert (sample.answer, sample.choices) == ("yes", ("yes", "no"))
    check_doable(sample)
    (other,) = opened_by("habitat", [sample])
    with pytest.raises(ConfigError, match="which only the simulator mesh can do"):
        check_doable(other)
    with pytest.raises(ConfigError, match="is read from a published file"):
        write_tasks(tmp_path, [task])


def test_the_scene_file_is_found_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_flat(tmp_path / "elsewhere")
    assert read_one(tmp_path).scene == f"mesh:{FLAT}"
    for folder in ("elsewhere", "elsewhere/scenes"):
        monkeypatch.setenv(SCENES_VARIABLE, str(tmp_path / folder))
        assert read_one(tmp_path).scene == f"mesh:HSSD/{FLAT}"
        ScenePreflight()(sample_of(read_one(tmp_path)))


def test_scale_and_position_of_the_scene_are_kept(tmp_path: Path) -> None:
    task = read_one(tmp_path, scene_scale=[2.0, 3.0, 4.0], scene_position=[1.0, 2.0, 3.0])
    assert task.edit == SceneEdit(("flat/doors/door",), (4.0, 2.0, 3.0), (-3.0, 1.0, 2.0))


def test_what_handles_objects_or_meets_people_is_read_and_named(tmp_path: Path) -> None:
    write_published(tmp_path, {"ObjectInteraction/a.json": TAKING, "SocialInteraction/b.json": ASKING})
    taking, asking = read_tasks(tmp_path)
    pick, place = taking.options
    assert (pick.action, pick.objects, pick.points) == ("pick", (1, 2), ())
    assert (place.action, place.objects, place.points, place.within_m) == ("place", (), (4,), 1.0)
    assert taking.objects == ("flat/mugs/mug 1", "flat/mugs/mug 2")
    assert [(p.type, p.object, p.point) for p in taking.predicates] == [("grab_once", 1, -1), ("at", 1, 4)]
    assert lacking(taking, taking.scene) == ("at", "grab_once", "pick", "place")
    assert asking.options[0].reply == "At the box." and asking.objects == ("Ch01_nonPBR",)
    (man,) = asking.people
    assert (man.asset, man.pose, man.points_at) == ("Ch01_nonPBR", "sit", 4) and man[1:3] == pytest.approx((4.0, 1.0))
    assert man.yaw == pytest.approx(math.pi / 2)
    assert lacking(asking, asking.scene) == ("special", "people")


@pytest.mark.parametrize("kind", ["near", "not_near", "not_at", "closer", "further"])
def test_the_other_predicates_of_the_evaluator_are_read(tmp_path: Path, kind: str) -> None:
    task = read_one(tmp_path, predicates=[predicate(kind, "flat/mug", "SpecialPoint"),
                                          predicate(kind, "flat/mug", "flat/cup")])
    assert [(p.object, p.point, p.other) for p in task.predicates] == [(1, 4, 0), (1, -1, 2)]


def test_folders_are_read_in_the_order_of_names_unless_there_is_a_list(tmp_path: Path) -> None:
    names = ["SpatialQA/a.json", "AttributeQA/b.json", "AttributeQA/a.json"]
    write_published(tmp_path, {name: published() for name in names})
    assert [(f.number, f.name) for f in task_files(tmp_path)] == list(enumerate(sorted(names)))
    (tmp_path / "tasks" / "tasks.json").write_text(json.dumps([{"index": 7, "task_file": names[0]}]))
    assert [(f.number, f.kind, f.name) for f in task_files(tmp_path)] == [(7, "SpatialQA", names[0])]
    with pytest.raises(ConfigError, match="there are no tasks in .*: it must hold tasks.json"):
        task_files(tmp_path / "scenes")


@pytest.mark.parametrize(("changed", "why"), [
    ({"scene_path": "F:/scene.fbx"}, "'scene_path' must name a scene file"),
    ({"scene_scale": [1.0, 0.0, 1.0]}, "'scene_scale' must be three positive numbers"),
    ({"special_points": POINTS[3:]}, "no point of type 'navigation'"),
    ({"special_points": [POINTS[0]] * 2}, "a name twice: 'NavigationPoint0'"),
    ({"special_points": [{**POINTS[0], "type": "door"}]}, "unknown type of a point 'door'"),
    ({"predicates": []}, "'predicates' is empty"),
    ({"predicates": [predicate("fly")]}, "unknown predicate 'fly'"),
    ({"predicates": [predicate("choose", answer="maybe")]}, "'right_answer_content' is not one of the options"),
    ({"predicates": [predicate("special_action_success", action="x")]}, "'right_special_action' is not one of the opt"),
    ({"predicates": [predicate("agent_at", "NavPoints/NavigationPoint9")]}, "neither a point nor an object of"),
    ({"predicates": [predicate("grab", "house/mug")]}, "known are 5 points, and objects of flat"),
    ({"predicates": [predicate("grab", "SpecialPoint")]}, "must be an object for grab, not the point"),
    ({"predicates": [predicate("at", "flat/mug")]}, "'predicate_place' must be a text"),
    ({"options": [option("Eat", "eat")]}, "unknown type 'Eat'"), ({"options": [option("PickUp", "take")]}, "is empty"),
    ({"options": [answer("move forward"), answer("turn left"), option("SpecialAction", "turn left")]}, "text of a m"),
    ({"options": [option("PickUp", "take", "house/mug")]}, "neither a point nor an object of the scene: 'house/mug'"),
    ({"humans": [person(pose="fly")]}, "unknown pose of a person 'fly'"),
    ({"humans": [person(pointing_to="x")]}, "not a point of the task: 'x'")])
def test_bad_files_are_named(tmp_path: Path, changed: dict[str, Any], why: str) -> None:
    with pytest.raises(ConfigError, match=why) as caught:
        read_one(tmp_path, **changed)
    assert "task SpatialQA/a.json" in str(caught.value)


@given(st.dictionaries(st.sampled_from([*published(), "x"]), JUNK, min_size=1, max_size=3))
@FUZZ
def test_junk_is_named(tmp_path: Path, changed: dict[str, Any]) -> None:
    write_published(tmp_path, {"SpatialQA/a.json": {**TAKING, **changed}})
    why = refusal(lambda: [sample_of(task) for task in read_tasks(tmp_path)])
    assert not why or "task SpatialQA/a.json" in why


def test_a_bad_file_fails_and_the_others_are_read(tmp_path: Path) -> None:
    write_published(tmp_path, {"Navigation/a.json": published(predicates=[]), "Navigation/b.json": published()})
    bad, good = open_dataset("embodied-eval", folder=tmp_path, task=TASKS)
    assert (bad.id, good.id, good.question) == ("0000", "0001", "Is the box in the other room red?")
    with pytest.raises(ConfigError, match="task Navigation/a.json cannot be read: field 'predicates' is empty"):
        check_doable(bad)
    (tmp_path / "tasks" / "Navigation" / "b.json").unlink()
    with pytest.raises(ConfigError, match="task Navigation/a.json cannot be read"):
        open_dataset("embodied-eval", folder=tmp_path, task=TASKS)


@pytest.fixture
def flat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_flat(tmp_path)
    monkeypatch.setenv(SCENES_VARIABLE, str(tmp_path))
    return tmp_path


def test_a_task_is_done_in_its_scan(flat: Path) -> None:
    task, world = read_one(flat), SimulatedWorld(CameraModel(32, 32))
    outcome = run_task(task, world, ScriptedAgent({0: [FORWARD, LEFT, "yes"]}))
    assert [log.action for log in outcome.steps] == [FORWARD, LEFT, 'answer "yes"'] and outcome.done
    assert outcome.metres == pytest.approx(3.2)
    assert outcome.frames[1].pose[:2] == pytest.approx((4.4, 2.0))
    world.close()


def test_a_door_that_is_not_removed_cuts_the_goal_off(flat: Path) -> None:
    world = SimulatedWorld(CameraModel(32, 32))
    with pytest.raises(SimulatorError, match="from the start to 'NavigationPoint1', which the predicate agent_pass"):
        run_task(read_one(flat, removed_objects=[]), world, ScriptedAgent({0: [FORWARD]}))
    world.close()


def test_a_scene_in_other_units_is_scaled(flat: Path) -> None:
    write_flat(flat, scale=0.01)
    task, world = read_one(flat, scene_scale=[0.01, 0.01, 0.01]), SimulatedWorld(CameraModel(32, 32))
    assert run_task(task, world, ScriptedAgent({0: [FORWARD, "yes"]})).done
    world.close()


def test_a_special_action_needs_its_place(flat: Path) -> None:
    write_published(flat, {"ObjectInteraction/a.json": RINGING})
    (task,), world = read_tasks(flat), SimulatedWorld(CameraModel(32, 32))
    outcome = run_task(task, world, ScriptedAgent({0: ["ring", FORWARD, "ring"]}))
    assert [log.feedback for log in outcome.steps] == ["failed: it is too far away", "success", "success: Come in."]
    assert outcome.done and outcome.counts == (2, 1, 0, "")
    world.close()


def test_the_survey_counts_what_can_be_done(flat: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tasks = {"AttributeQA/a.json": published(), "AttributeQA/b.json": published(scene_path="D:/other.glb"),
             "Navigation/a.json": published(removed_objects=[]), "Navigation/b.json": published(predicates=[]),
             "ObjectInteraction/a.json": TAKING, "SocialInteraction/a.json": ASKING}
    write_published(flat, tasks)
    samples = open_dataset("embodied-eval", folder=flat, task=TASKS)
    world = SimulatedWorld(CameraModel(32, 32))
    assert [state.why for state in survey(samples, ScenePreflight(), world)] == [
        READY, NO_SCENE, NO_PATH, UNREADABLE, OBJECTS, PEOPLE]
    world.close()
    assert main(["bench", "tasks", "--dataset", "embodied-eval", "--data", str(flat), "--dry-run"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["AttrQA", "2", "2", "2", "1"] in rows and ["all", "6", "5", "3", "1"] in rows


def test_turns_go_on_to_the_next_direction(flat: Path) -> None:
    task, world = read_one(flat), SimulatedWorld(CameraModel(32, 32))
    outcome = run_task(task, world, ScriptedAgent({0: [LEFT, LEFT, RIGHT]}), max_steps=4)
    degrees = [round(math.degrees(pose.yaw)) for pose in outcome.poses]
    assert degrees[:4] == [0, 90, -135, 90]  # the other room, the object to look at, the middle of the gap
    world.close()
