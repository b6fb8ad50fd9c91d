"""Readers of question files, against the files themselves and against small broken ones."""

from __future__ import annotations

import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqa_nodes.bench.datasets import open_dataset, select
from eqa_nodes.bench.house import questions as house
from eqa_nodes.bench.readers.express import read_express
from eqa_nodes.bench.readers.options import ReaderOptions
from eqa_nodes.bench.samples import dataset_hash, read_samples, write_samples
from eqa_nodes.core.errors import BadPose, ConfigError, StorageError
from eqa_nodes.core.traits import ReaderTraits
from eqa_nodes.core.types.geometry import Pose2, pose_from_habitat, position_from_habitat, wrap, yaw_from_habitat
from eqa_nodes.core.types.samples import Sample
from sim_bridge.house.questions.grounding import SEEN_PIXELS, VIEW_PIXELS
from tests.fixtures.data import shared_data


def test_habitat_axes() -> None:
    assert position_from_habitat((1, 2, 3)) == (-3, -1, 2)  # right, up, back -> forward, left, up
    assert yaw_from_habitat((1, 0, 0, 0)) == 0  # looking along -z is looking forward
    assert yaw_from_habitat((math.sqrt(0.5), 0, math.sqrt(0.5), 0)) == pytest.approx(math.pi / 2)  # turned left


@given(st.floats(-math.pi, math.pi), st.floats(-1.4, 1.4))
def test_heading_survives_looking_up_or_down(yaw: float, pitch: float) -> None:
    cy, sy, cp, sp = math.cos(yaw / 2), math.sin(yaw / 2), math.cos(pitch / 2), math.sin(pitch / 2)
    assert abs(wrap(yaw_from_habitat((cy * cp, cy * sp, sy * cp, -sy * sp)) - yaw)) < 1e-6


@pytest.mark.parametrize("wxyz", [(1, 0, 0), (2, 0, 0, 0), (math.nan, 0, 0, 0), (math.sqrt(0.5), math.sqrt(0.5), 0, 0)])
def test_bad_rotations_are_refused(wxyz: tuple[float, ...]) -> None:
    with pytest.raises(BadPose):
        pose_from_habitat((0, 0, 0), wxyz)


def test_openeqa_with_starts_lengths_and_floors() -> None:
    folder = shared_data("openeqa-init-trajs.json").parent
    every = open_dataset("openeqa", folder=folder, split="aeqa-557")
    assert len(every) == 557 and every == open_dataset("openeqa", folder=folder, split="hm3d")
    assert all(s.start and s.reference_steps and s.reference_metres for s in every)
    assert {s.metadata["reference_steps_are"] for s in every} == {"frames - 1"}
    subset, whole = open_dataset("openeqa", folder=folder), {s.id: s for s in every}
    assert {s.id for s in subset} == set(json.loads((folder / "open-eqa-v0-184-questions.json").read_text()))
    assert all(s.start == whole[s.id].start and s.reference_metres == whole[s.id].reference_metres for s in subset)
    assert [sum(s.metadata["multi_floor"] is True for s in samples) for samples in (every, subset)] == [298, 93]
    first = next(s for s in subset if s.id == "f2e82760-5c3c-41b1-88b6-85921b9e7b32")
    assert (first.scene, first.answer) == ("habitat:hm3d/00826-BFRyYbPCCPE", "Air conditioning unit")
    assert first.start == pytest.approx((2.5579, 3.2461, 0.8656), abs=1e-3)
    positions = json.loads((folder / "openeqa-init-trajs.json").read_text())[
        str(first.metadata["episode_history"])]["full_traj_pos"]
    assert first.reference_steps == len(positions) - 1
    assert first.reference_metres == pytest.approx(sum(map(math.dist, positions, positions[1:])))
    assert [len(open_dataset("openeqa", folder=folder, split=name, limit=limit)) for name, limit in (
        ("aeqa-41", 0), ("all", 0), ("scannet", 7))] == [41, 1636, 7]
    with pytest.raises(ConfigError, match="aeqa-184"):
        open_dataset("openeqa", folder=folder, split="test")


def test_questions_of_openeqa_about_histories_need_one_file(tmp_path: Path) -> None:
    links(tmp_path, **{"open-eqa-v0.json": "open-eqa-v0.json"})
    asked = open_dataset("openeqa", folder=tmp_path, task="em")
    published = {r["question_id"]: r for r in json.loads((tmp_path / "open-eqa-v0.json").read_text())}
    assert len(asked) == 1636 and sum(bool(s.alternatives) for s in asked) == 263
    for sample in asked:  # the official prompt shows empty further answers, too
        extra = published[sample.id].get("extra_answers", [])
        assert list(sample.alternatives) == [answer for answer in extra if answer]
        assert (sample.metadata.get("extra_answers") or list(sample.alternatives)) == extra
    assert sum("extra_answers" in sample.metadata for sample in asked) == 1
    histories = {str(s.metadata["episode_history"]) for s in asked}
    assert (len(histories), sum(h.startswith("hm3d-v0/") for h in histories)) == (152, 63)
    assert len(open_dataset("openeqa", folder=tmp_path, task="em", split="scannet")) == 1079
    assert {(s.start, s.target, s.reference_steps, s.reference_metres, s.needs_exploration) for s in asked} == {
        (None, None, None, None, False)}


def links(folder: Path, **files: str) -> Path:
    """Link files into a folder. files: the shared file -> its name there."""
    for source, name in files.items():
        (folder / name).symlink_to(shared_data(source))
    return folder


def test_the_files_of_3d_mem_are_enough_for_its_subsets(tmp_path: Path) -> None:
    whole = {s.id: s for s in open_dataset("openeqa", folder=shared_data("open-eqa-v0.json").parent)}
    links(tmp_path, **{"aeqa_questions-184.json": "aeqa_questions-184.json"})
    alone = open_dataset("openeqa", folder=tmp_path)
    assert [(s.id, s.scene, s.start, s.answer) for s in alone] == [
        (s.id, whole[s.id].scene, whole[s.id].start, whole[s.id].answer) for s in alone] and len(alone) == 184
    assert all(s.reference_metres is None and "multi_floor" not in s.metadata for s in alone)
    assert all(str(s.metadata["extra_answers_are"]).startswith("unknown") for s in alone)
    with pytest.raises(ConfigError, match="its questions: put open-eqa-v0.json, as it is published, into"):
        open_dataset("openeqa", folder=tmp_path, task="em", split="aeqa-184")  # it calls histories by their scene
    links(tmp_path, **{"open-eqa-v0.json": "open-eqa-v0.json"})
    beside = open_dataset("openeqa", folder=tmp_path)
    assert [s.alternatives for s in beside] == [whole[s.id].alternatives for s in beside]
    assert not any("extra_answers_are" in s.metadata for s in beside)
    with pytest.raises(ConfigError, match="where a robot begins .*put openeqa-init-trajs.json"):
        open_dataset("openeqa", folder=tmp_path, split="aeqa-557")


def test_the_list_of_ids_of_openeqa_chooses_its_184_questions(tmp_path: Path) -> None:
    links(tmp_path, **{name: name for name in ("open-eqa-v0.json", "open-eqa-v0-184-questions.json")})
    whole = open_dataset("openeqa", folder=shared_data("open-eqa-v0.json").parent)
    asked = open_dataset("openeqa", folder=tmp_path, task="em", split="aeqa-184")
    assert {s.id for s in asked} == {s.id for s in whole} and len(asked) == 184
    with pytest.raises(ConfigError, match="put openeqa-init-trajs.json"):
        open_dataset("openeqa", folder=tmp_path)
    with pytest.raises(ConfigError, match=r"of aeqa-41 \(beside open-eqa-v0.json\): put aeqa_questions-41.json"):
        open_dataset("openeqa", folder=tmp_path, split="aeqa-41")
    links(tmp_path, **{"openeqa-init-trajs.json": "openeqa-init-trajs.json"})
    placed = {s.id: s for s in open_dataset("openeqa", folder=tmp_path)}
    assert all(placed[s.id] == s for s in whole)
    (tmp_path / "open-eqa-v0-184-questions.json").unlink()
    (tmp_path / "open-eqa-v0-184-questions.json").write_text('{"ids": []}')
    with pytest.raises(ConfigError, match="must hold a list of question ids"):
        open_dataset("openeqa", folder=tmp_path)


def test_hm_eqa_under_either_names(tmp_path: Path) -> None:
    links(tmp_path, **{"hm-eqa-questions.csv": "questions.csv"})
    with pytest.raises(ConfigError, match="start poses of its scenes: put hm-eqa-scene_init_poses.csv or scene_init_"):
        open_dataset("hm-eqa", folder=tmp_path)
    links(tmp_path, **{"hm-eqa-scene_init_poses.csv": "scene_init_poses.csv"})
    samples = open_dataset("hm-eqa", folder=tmp_path)
    assert samples == open_dataset("hm-eqa", folder=shared_data("hm-eqa-questions.csv").parent)
    assert len(samples) == 500 and all(len(s.choices) == 4 and s.start for s in samples)
    assert samples[0].answer == "Yes, it is on"
    assert samples[0].start == pytest.approx((3.0018978, -1.551065, 0.09538), abs=1e-4)


def test_express_both_spellings_are_the_same_questions(tmp_path: Path) -> None:
    slim = shared_data("express-bench-slim.json")
    renamed = open_dataset("express", folder=slim.parent)
    assert len(renamed) == 2044
    assert all(s.start and s.target and s.reference_metres for s in renamed)
    own = [{**r, "episode_id": int(r["question_id"]), "type": r["category"], "start_position": r["position"],
            "start_rotation": r["rotation"], "scene_id": f"hm3d/train/{r['episode_history']}", "step_length": 40}
           for r in json.loads(slim.read_text())[:20]]
    for record in own:
        for name in ("question_id", "category", "position", "rotation", "episode_history"):
            del record[name]
    (tmp_path / "express-bench.json").write_text(json.dumps(own))
    read = read_express(tmp_path / "express-bench.json")
    assert [s.reference_steps for s in read] == [40] * 20
    assert [(s.id, s.scene, s.start, s.target, s.category) for s in read] == [
        (s.id, s.scene, s.start, s.target, s.category) for s in renamed[:20]]


def express(**changes: Any) -> dict[str, Any]:
    record = {"question_id": "7", "question": "Where?", "answer": "here", "category": "location",
              "position": [0, 0, 0], "rotation": [1, 0, 0, 0], "goal_position": [1, 0, 0], "geodesic_distance": 1.0,
              "episode_history": "00001-x", "trajectory_id": 0, "episode_path": "p"}
    return {k: v for k, v in {**record, **changes}.items() if v is not None}


@pytest.mark.parametrize(("changes", "why"), [
    ({"answer": None}, "field 'answer' is missing"), ({"rotation": [1, 1, 0, 0]}, "unit quaternion"),
    ({"position": [0, 0]}, "'position' must be 3 finite"), ({"geodesic_distance": math.inf}, "geodesic_distance"),
    ({"question": " "}, "'question' must be a text")])
def test_broken_records_are_named(tmp_path: Path, changes: dict[str, Any], why: str) -> None:
    records = [express(), express(**{"question_id": "8", **changes})]
    (tmp_path / "express-bench-slim.json").write_text(json.dumps(records))
    with pytest.raises(ConfigError, match=why) as caught:
        open_dataset("express", folder=tmp_path)
    assert "'8'" in str(caught.value)


def test_what_cannot_be_opened_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EQA_DATA", raising=False)
    with pytest.raises(ConfigError, match="embodied-eval, exploraqa, express, hm-eqa, house, house-floors, "
                                          "house-measure, house-multi, house-people, house-tasks, "
                                          "house-text, house-weeks, laeqa, openeqa"):
        open_dataset("openeq")
    with pytest.raises(ConfigError, match="EQA_DATA"):
        open_dataset("openeqa")
    with pytest.raises(ConfigError, match=r"open-eqa-v0\.json"):
        open_dataset("openeqa", folder=tmp_path)
    with pytest.raises(ConfigError, match="no splits"):
        open_dataset("hm-eqa", folder=tmp_path, split="test")
    (tmp_path / "express-bench.json").write_text("[{")
    with pytest.raises(ConfigError, match=r"express-bench\.json"):
        open_dataset("express", folder=tmp_path)


class FiveQuestions:
    """A published data set of five questions."""

    traits = ReaderTraits()

    def read(self, options: ReaderOptions) -> list[Sample]:
        """Return all of them."""
        return [Sample(f"{n}", "Is it on?", "yes", scene="house:3") for n in range(5)]


class EndlessQuestions:
    """A generated data set: as many questions as are wanted."""

    traits = ReaderTraits(files=False)

    def read(self, options: ReaderOptions) -> list[Sample]:
        """Return the first ones."""
        return [Sample(f"{n}", "Is it on?", "yes", scene="house:3") for n in range(options.limit)]


@pytest.mark.parametrize(("name", "questions", "asked", "whole", "words"), [
    (f"{__name__}:FiveQuestions", None, 5, 5, ""), (f"{__name__}:FiveQuestions", 0, 5, 5, ""),
    (f"{__name__}:FiveQuestions", 2, 2, 5, "2 of 5 questions; --questions 0 asks all"),
    (f"{__name__}:EndlessQuestions", None, 20, 0, ""), (f"{__name__}:EndlessQuestions", 3, 3, 0, "")])
def test_published_questions_are_all_asked_unless_a_number_is_named(
        name: str, questions: int | None, asked: int, whole: int, words: str) -> None:
    found = select(name, questions)
    assert (len(found.samples), found.whole, found.words) == (asked, whole, words)


def test_house() -> None:
    first, second = open_dataset("house", limit=2, seed=3)
    assert first.scene != second.scene and first.category != second.category
    one, = open_dataset("house", limit=1, seed=3)
    assert one == open_dataset("house", limit=1, seed=3)[0] != open_dataset("house", limit=1, seed=4)[0]
    assert one.start and one.target and one.reference_metres
    assert one.scene.startswith("house:") and one.metadata["split"] == "test"
    with pytest.raises(ConfigError, match="unknown split 'val': known are test, train, validation"):
        open_dataset("house", split="val")


@pytest.mark.parametrize(("name", "scene", "metadata"), [
    ("house-people", "+3", {}), ("house-multi", "", {}), ("house-measure", "", {"measure", "metres"}),
    ("house-text", "+text", {"bears", "letter_px", "view"})])
def test_the_other_data_sets_of_the_house(name: str, scene: str, metadata: set[str]) -> None:
    sample, = open_dataset(name, split="train", limit=1, seed=2)
    assert sample.scene.startswith("house:") and sample.scene.endswith(scene)
    assert {"split", "targets", *metadata} == sample.metadata.keys() and sample.metadata["split"] == "train"
    assert (sample.target in sample.viewpoints) == (name in ("house-multi", "house-measure"))


def test_houses_are_drawn_in_the_order_of_the_questions() -> None:
    scenes = house.house_scenes(40)
    assert len(set(scenes)) == 40 and scenes[:2] == house.house_scenes(2) != house.house_scenes(2, seed=1)
    assert all(1000 <= int(scene.removeprefix("house:")) < 2000 for scene in scenes)
    for count in (0, 1001):
        with pytest.raises(ConfigError, match="choose 1 to 1000 of house:1000 to house:1999"):
            house.house_scenes(count)


def test_hash_and_file_hold_every_field(tmp_path: Path) -> None:
    sample = Sample("a", "What?", "x", ("y",), "c", "toy:s", Pose2(1.0, 2.0, 3.0), (4.0, 5.5), 6, 7.5, (), False, 8,
                    {"floor": 1, "é": None}, start_height_m=0.5)
    write_samples(tmp_path / "s.jsonl", [sample, Sample("b", "Who?", "z")])
    assert read_samples(tmp_path / "s.jsonl") == [sample, Sample("b", "Who?", "z")]
    assert dataset_hash([sample]) == dataset_hash(read_samples(tmp_path / "s.jsonl")[:1])
    assert dataset_hash([sample]) != dataset_hash([Sample("b", "Who?", "z")])
    (tmp_path / "s.jsonl").write_text('{"id": "a"}\n')
    with pytest.raises(StorageError, match="line 1"):
        read_samples(tmp_path / "s.jsonl")


def test_other_tasks_are_named(tmp_path: Path) -> None:
    (tmp_path / "express-bench-slim.json").write_text(json.dumps([express()]))
    with pytest.raises(ConfigError, match="field 'actions' is missing: the task em replays the recorded"):
        open_dataset("express", folder=tmp_path, task="em")
    with pytest.raises(ConfigError, match="unknown task 'mm': known are active, em, tasks"):
        open_dataset("house", task="mm")


@pytest.mark.parametrize(("pixels", "asked"), [
    ({1: SEEN_PIXELS, 2: VIEW_PIXELS}, True), ({1: SEEN_PIXELS - 1, 2: VIEW_PIXELS}, False),
    ({1: SEEN_PIXELS, 2: VIEW_PIXELS - 1}, False), ({2: VIEW_PIXELS}, False)])
def test_a_tour_shows_every_target_and_one_of_them_well(monkeypatch: pytest.MonkeyPatch, pixels: dict[int, int],
                                                        asked: bool) -> None:
    monkeypatch.setattr(house, "house_tour", lambda scene: scene)
    monkeypatch.setattr(house, "most_pixels", lambda tour: pixels)
    question: Any = SimpleNamespace(scene="house:3", targets=(1, 2))
    assert list(house._on_tour(iter([question]))) == [question] * asked


@pytest.mark.parametrize(("limit", "per_house"), [(1, 1), (3, 1), (4, 2), (21, 7), (30, 7)])
def test_few_questions_are_spread_over_three_houses(monkeypatch: pytest.MonkeyPatch, limit: int,
                                                    per_house: int) -> None:
    wanted: list[tuple[object, ...]] = []

    def house_questions(*given: object, include_seen: bool, per_house: int) -> list[object]:
        wanted.append((*given, per_house))
        return []

    monkeypatch.setattr(house, "house_questions", house_questions)
    assert house.HOUSE.read(ReaderOptions(limit=limit, seed=5)) == []
    assert wanted == [("test", limit, 5, per_house)]


def test_a_house_is_asked_about_what_its_tour_shows() -> None:
    from eqa_nodes.tours.tours import house_tour, most_pixels

    asked = open_dataset("house", split="train", limit=1, seed=1, task="em")
    assert len(asked) == 1
    for sample in asked:
        targets = sample.metadata["targets"]
        seen = most_pixels(house_tour(sample.scene))
        assert isinstance(targets, list) and targets and all(seen[target] >= SEEN_PIXELS for target in targets)
        assert sample.metadata["episode_history"] == f"house-v0/{sample.scene.replace(':', '-')}"
        assert sample.start is sample.target is sample.reference_steps is None
