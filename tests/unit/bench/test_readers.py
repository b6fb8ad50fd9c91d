"""Readers of published question files: counts, lengths, floors, viewpoints, and what they say to broken records."""

from __future__ import annotations

import csv
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqa_nodes.bench.datasets import open_dataset
from eqa_nodes.bench.judges.offline import OfflineJudge
from eqa_nodes.bench.metrics.question_score import question_score
from eqa_nodes.bench.metrics.values import value_of
from eqa_nodes.bench.readers.explora import explora_file, read_explora, write_explora
from eqa_nodes.bench.readers.express import read_express
from eqa_nodes.bench.readers.hm_eqa import allowed_steps
from eqa_nodes.bench.readers.openeqa import read_openeqa
from eqa_nodes.bench.report.traces import save_trace
from eqa_nodes.bench.running.predictions import Prediction
from eqa_nodes.bench.samples import check_samples
from eqa_nodes.core.errors import ConfigError, EqaError
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Answer, Receipt
from eqa_nodes.core.types.samples import Sample
from eqa_nodes.core.types.trace import EpisodeTrace, TraceDecision
from tests.fixtures.data import shared_data
from tests.fixtures.junk_records import FUZZ, JUNK, NAMES, refusal
from tests.fixtures.paths import DATA


@pytest.mark.parametrize(("height_m", "floors"), [(0.75, False), (0.76, True)])
def test_a_history_that_climbs_changes_its_floor(tmp_path: Path, height_m: float, floors: bool) -> None:
    (tmp_path / "open-eqa-v0.json").write_text(json.dumps([{
        "question_id": "7", "question": "Where?", "answer": "here", "category": "c", "episode_history": "hm3d-v0/0"}]))
    (tmp_path / "openeqa-init-trajs.json").write_text(json.dumps({"hm3d-v0/0": {
        "scene_id": "00001-x/x.glb", "init_pos": [0, 0, 0], "quat_wxyz": [1, 0, 0, 0],
        "full_traj_pos": [[0, 0, 0], [0, height_m, 0], [3, height_m, 4]]}}))
    one, = read_openeqa(tmp_path, "hm3d")
    assert one.metadata["multi_floor"] is floors and one.scene == "habitat:hm3d/00001-x"
    assert (one.reference_steps, one.reference_metres) == (2, pytest.approx(height_m + 5))


def test_hm_eqa_takes_the_area_of_the_navigation_mesh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "questions.csv").write_text("scene,floor,question,choices,question_formatted,answer,label\n" + "".join(
        f"{scene},0,Is it?,\"['a', 'b', 'c', 'd']\",,A,state\n" for scene in ("00001-Rooms", "00002-None")))
    (tmp_path / "scene_init_poses.csv").write_text("scene_floor,init_x,init_y,init_z,init_angle\n" + "".join(
        f"{scene}_0,0,0,0,0\n" for scene in ("00001-Rooms", "00002-None")))
    for scene in ("00001-Rooms", "00002-None"):
        home = tmp_path / "hm3d" / "val" / scene
        home.mkdir(parents=True)
        (home / f"{scene[6:]}.basis.glb").write_bytes(b"glTF")
    mesh = tmp_path / "hm3d" / "val" / "00001-Rooms" / "Rooms.basis.navmesh"
    mesh.write_bytes((DATA / "two_rooms.navmesh").read_bytes())
    monkeypatch.setenv("EQA_SCENES", str(tmp_path))
    with_mesh, without = open_dataset("hm-eqa", folder=tmp_path)
    assert with_mesh.metadata["allowed_steps"] == allowed_steps(8.12 * 4.12) == 17
    assert "allowed_steps" not in without.metadata
    mesh.write_bytes(b"nothing")
    with pytest.raises(ConfigError, match="the area of the scene 00001-Rooms"):
        open_dataset("hm-eqa", folder=tmp_path)
    monkeypatch.delenv("EQA_SCENES")
    assert all("allowed_steps" not in s.metadata for s in open_dataset("hm-eqa", folder=tmp_path))


def test_hm_eqa_allows_steps_by_area(tmp_path: Path) -> None:
    questions = shared_data("hm-eqa-questions.csv")
    for name in ("hm-eqa-questions.csv", "hm-eqa-scene_init_poses.csv"):
        (tmp_path / name).symlink_to(questions.parent / name)
    with questions.open(newline="") as stream:
        row = next(csv.DictReader(stream))
    (tmp_path / "hm-eqa-areas.json").write_text(json.dumps({f"{row['scene']}_{row['floor']}": 50.0}))
    first = open_dataset("hm-eqa", folder=tmp_path)[0]
    assert first.metadata["allowed_steps"] == allowed_steps(50.0) == 21
    path = [(n, Pose2(float(n), 0, 0)) for n in range(9)]  # 8 m: 4 m to the second decision, 1 m to the third, 3 m
    decisions = [TraceDecision(stamp, Pose2(0, 0, 0), None, "") for stamp in (0, 4, 5)]
    save_trace(tmp_path / "t.zip", EpisodeTrace(first.question, path, decisions))
    prediction = Prediction(first.id, Answer(first.answer, receipt=Receipt(40)), trace="t.zip")
    score = question_score(first, prediction, OfflineJudge(), out=tmp_path)
    assert score.poses == 1 + 2 + 1 + 1
    assert value_of(score, "hm_eqa_normalised_steps") == pytest.approx(5 / 21)
    lost = question_score(first, prediction, OfflineJudge(), out=tmp_path / "elsewhere")
    assert lost.poses is None and "no normalised steps" in lost.note


def test_the_recorded_way_of_express_counts_its_actions(tmp_path: Path) -> None:
    record = {"episode_id": 7, "trajectory_id": 0, "scene_id": "hm3d/train/00006-x", "episode_path": "p",
              "type": "state", "question": "Is it on?", "answer": "yes", "start_position": [0, 0, 0],
              "start_rotation": [1, 0, 0, 0], "goal_position": [1, 0, 0], "goal_rotation": [1, 0, 0, 0],
              "geodesic_distance": 1.0, "actions": {f"step_{i}": {"action": 1} for i in range(5)}}
    file = tmp_path / "express-bench.json"
    file.write_text(json.dumps([record]))
    assert [(s.id, s.reference_steps, s.scene) for s in read_express(file)] == [("7", 5, "habitat:hm3d/00006-x")]
    file.write_text(json.dumps([{**record, "actions": "many"}]))
    with pytest.raises(ConfigError, match="question '7' of express-bench.json.*'actions'"):
        read_express(file)


@pytest.mark.parametrize(("column", "value", "why"), [
    ("choices", "['a', 'b']", "list of four texts"), ("choices", "__import__('os')", "list of four texts"),
    ("choices", "['x', 'x', 'c', 'd']", "more than once"), ("answer", "E", "options A..D"), ("answer", "", "answer"),
    ("floor", "9", "no start pose"), ("floor", "one", "'floor' must be a finite number"), ("question", " ", "question"),
    ("label", "", "label")])
def test_broken_rows_of_hm_eqa_are_named(tmp_path: Path, column: str, value: str, why: str) -> None:
    row = {"scene": "s", "floor": "0", "question": "Is it?", "choices": "['x', 'b', 'c', 'd']", "answer": "A",
           "label": "state"} | {column: value}
    pose = {"scene_floor": "s_0", "init_x": "1", "init_y": "2", "init_z": "3", "init_angle": "0.5"}
    for name, record in (("hm-eqa-questions.csv", row), ("hm-eqa-scene_init_poses.csv", pose)):
        with (tmp_path / name).open("w", newline="") as stream:
            writer = csv.DictWriter(stream, record.keys())
            writer.writeheader()
            writer.writerow(record)
    with pytest.raises(ConfigError, match=why) as caught:
        open_dataset("hm-eqa", folder=tmp_path)
    assert "row 0 of hm-eqa-questions.csv" in str(caught.value)


def explora(**changes: Any) -> dict[str, Any]:
    record = {"question_id": "q", "scene_id": "17DRP5sb8fy", "category": "object", "instruction": "Go to the bed.",
              "question": "What is on it?", "answer": "a cat", "start_position": [1.0, 0.5, -2.0],
              "start_rotation": [1, 0, 0, 0], "geodesic_distance": 10.4,
              "viewpoints": [{"position": [4.0, 0.5, -2.0], "rotation": [1, 0, 0, 0]},
                             {"position": [1.0, 0.5, -9.0], "rotation": [math.sqrt(0.5), 0, math.sqrt(0.5), 0]}]}
    return {k: v for k, v in {**record, **changes}.items() if v is not None}


def test_exploraqa_tells_instruction_and_question_and_keeps_all_viewpoints(tmp_path: Path) -> None:
    explora_file(tmp_path, "train").write_text(json.dumps([explora()]))
    one, = open_dataset("exploraqa", folder=tmp_path, split="train")
    assert (one.instruction, one.question) == ("Go to the bed.", "What is on it?")
    assert one.as_question().instruction == one.instruction
    assert one.viewpoints == ((2.0, -4.0, 0.5), (9.0, -1.0, 0.5)) and one.target == (2.0, -4.0, 0.5)
    assert one.metadata["viewpoint_yaws"] == pytest.approx([0, math.pi / 2])
    assert one.reference_metres == 10.4 and one.reference_steps is None
    with pytest.raises(ConfigError, match="test-seen"):
        open_dataset("exploraqa", folder=tmp_path, split="val")


@given(st.lists(st.tuples(*[st.floats(-50, 50)] * 3, st.floats(-3.1, 3.1)), min_size=1, max_size=4),
       st.floats(-3.1, 3.1), st.floats(0, 99), st.none() | st.integers(0, 500), st.lists(st.just("too"), max_size=2))
@FUZZ
def test_exploraqa_round_trip(tmp_path: Path, views: list[tuple[float, float, float, float]], yaw: float,
                              metres: float, steps: int | None, also: list[str]) -> None:
    sample = Sample("q", "What?", "x", tuple(also), "spatial", "habitat:mp3d/s", Pose2(1.5, -2.0, yaw),
                    views[0][:3], steps, metres, start_height_m=0.25, viewpoints=tuple(v[:3] for v in views),
                    instruction="Go.", metadata={"viewpoint_yaws": [v[3] for v in views]})
    file = tmp_path / "exploraqa-train.json"
    write_explora(file, [sample])
    back, = read_explora(file)
    assert back.start == pytest.approx(sample.start, abs=1e-6)
    assert back.metadata["viewpoint_yaws"] == pytest.approx(sample.metadata["viewpoint_yaws"], abs=1e-6)
    same = {"viewpoint_yaws": sample.metadata["viewpoint_yaws"]}
    assert replace(back, start=sample.start, metadata={**back.metadata, **same}) == sample


def test_what_lacks_a_field_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="'a' cannot be written as ExploraQA: it has no start, .*viewpoints"):
        write_explora(tmp_path / "x.json", [Sample("a", "What?", "b")])


class Line:
    """Facts of a world without walls; what lies at x > 100 cannot be reached."""

    def geodesic(self, scene: str, a: tuple[float, ...], b: tuple[float, ...]) -> float:
        return math.inf if b[0] > 100 else math.dist(a[:2], b[:2])

    def grounding(self, scene: str, targets: object, pose: Pose2) -> None:
        return None


@pytest.mark.parametrize(("viewpoints", "final", "sr"), [
    (((10.0, 0.0), (5.0, 0.0)), 1.0, 1.0), (((10.0, 0.0),), 6.0, 0.0), (((200.0, 0.0), (10.0, 0.0)), 6.0, 0.0),
    (((200.0, 0.0),), None, None)])
def test_distances_count_to_the_nearest_viewpoint(viewpoints: Any, final: float | None, sr: float | None) -> None:
    sample = Sample("a", "What?", "x", scene="s", start=Pose2(0, 0, 0), target=viewpoints[0], reference_metres=8.0,
                    viewpoints=viewpoints)
    prediction = Prediction("a", Answer("x", receipt=Receipt(9, 4.0)), Pose2(4.0, 0.0, 0.0))
    score = question_score(sample, prediction, OfflineJudge(), Line())
    assert (score.final_m, value_of(score, "sr"), score.reachable) == (final, sr, final is not None)


@given(st.dictionaries(NAMES, JUNK, min_size=1, max_size=4))
@FUZZ
def test_junk_in_records_is_named(tmp_path: Path, changes: dict[str, Any]) -> None:
    slim = {"question_id": "7", "question": "Where?", "answer": "here", "category": "c", "position": [0, 0, 0],
            "rotation": [1, 0, 0, 0], "goal_position": [1, 0, 0], "geodesic_distance": 1.0,
            "episode_history": "hm3d-v0/0", "trajectory_id": 0, "episode_path": "p"}
    for name, base in (("express.json", slim), ("open-eqa-v0.json", slim), ("explora.json", explora())):
        (tmp_path / name).write_text(json.dumps([{**base, **changes}]))
    (tmp_path / "openeqa-init-trajs.json").write_text(json.dumps({"hm3d-v0/0": changes}))
    for read in (lambda: read_express(tmp_path / "express.json"), lambda: read_explora(tmp_path / "explora.json"),
                 lambda: read_openeqa(tmp_path, "all"), lambda: read_openeqa(tmp_path, "scannet", starts=False)):
        why = refusal(read)
        assert not why or "question" in why or "history" in why


@pytest.mark.parametrize(("name", "task"), [
    ("house-tasks", "active"), ("embodied-eval", "em"), ("house-multi", "em"),
    ("house-measure", "em"), ("house-floors", "em"), ("house-weeks", "active")])
def test_a_data_set_for_another_task_says_which(tmp_path: Path, name: str, task: str) -> None:
    with pytest.raises(ConfigError, match=f"{name!r} is for the task .*, not {task!r}: eqa bench"):
        open_dataset(name, folder=tmp_path, task=task)


@pytest.mark.parametrize("text", ["[{", "7", "null", '{"a": 1}', "[7]", "[[]]", "\x00", "[" * 5000])
def test_files_of_another_shape_are_named(tmp_path: Path, text: str) -> None:
    for name in ("express-bench.json", "exploraqa-test-unseen.json", "open-eqa-v0.json", "tasks.json"):
        (tmp_path / name).write_text(text)
    for dataset, task in (("express", "active"), ("exploraqa", "active"), ("openeqa", "em"),
                          ("embodied-eval", "tasks")):
        with pytest.raises(ConfigError):
            open_dataset(dataset, folder=tmp_path, task=task)


@pytest.mark.parametrize(("changes", "why"), [
    ({"id": " "}, "id is empty"), ({"answer": ""}, "neither an answer nor predicates"),
    ({"start": Pose2(math.nan, 0, 0)}, "finite"), ({"viewpoints": ((1.0,),)}, "viewpoint"),
    ({"reference_metres": -1.0}, "reference_metres -1.0"), ({"reference_steps": -1}, "reference_steps"),
    ({"choices": ("y", "z")}, "not one of"), ({"question": " "}, "has no text"),
    ({"answer": "a\0"}, "invalid character"), ({"target": (1.0, 2.0, 3.0, 4.0)}, "x, y and optionally a height")])
def test_samples_that_contradict_themselves_are_refused(changes: dict[str, Any], why: str) -> None:
    good = Sample("a", "What?", "x")
    check_samples([good])
    with pytest.raises(EqaError, match=why):
        check_samples([replace(good, **changes)])
    with pytest.raises(ConfigError, match="twice"):
        check_samples([good, good])
    with pytest.raises(ConfigError, match="empty"):
        check_samples([])
