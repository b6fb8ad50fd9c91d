"""The preflight of scans: what is there for each question, what is missing and why, before anything is asked."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from eqa_nodes.bench.datasets import open_dataset
from eqa_nodes.bench.judges.offline import OfflineJudge
from eqa_nodes.bench.metrics.scores import score_run
from eqa_nodes.bench.running.predictions import read_predictions
from eqa_nodes.bench.running.preflight import scene_problems
from eqa_nodes.bench.running.runner import run_benchmark
from eqa_nodes.bench.samples import opened_by
from eqa_nodes.cli import main
from eqa_nodes.core.errors import ConfigError, ErrorCode, UnknownScene
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Answer
from eqa_nodes.core.types.samples import ACTIVE, EpisodeResult, Sample
from eqa_nodes.runners.sources import ScenePreflight
from sim_bridge import registry
from sim_bridge.registry import Truth
from sim_bridge.robots import DEFAULT, ROBOTS
from tests.fixtures.data import shared_data
from tests.fixtures.meshes import Glb
from tests.fixtures.scans import SCENE, HouseAsScan, put, question_files
from tests.fixtures.scripted_runner import ScriptedRunner

GLB = b"glTF" + (2).to_bytes(4, "little") + (12).to_bytes(4, "little")


def scanned(name: str, simulator: str = "habitat", number: int = 0) -> Sample:
    """Return a question in a scan."""
    return Sample(f"{name}-{number}", "What is it?", "a cup", scene=f"{simulator}:hm3d/{name}")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three scenes: A has everything, B Basis textures only, C is cut off."""
    put(tmp_path, *(f"hm3d/val/00800-A/A{end}" for end in (".basis.navmesh", ".semantic.glb", ".semantic.txt")))
    for file in ("00800-A/A.basis.glb", "00800-A/A.glb", "00801-B/B.basis.glb", "00802-C/C.basis.glb"):
        put(tmp_path, f"hm3d/val/{file}")
        (tmp_path / "hm3d/val" / file).write_bytes(GLB[:10] if "C" in file else GLB)
    monkeypatch.setenv("EQA_SCENES", str(tmp_path))
    return tmp_path


def test_each_scene_is_told_apart(folder: Path) -> None:
    asked = [*map(scanned, ("00800-A", "00801-B", "00802-C", "00899-D")), scanned("00899-D", number=1),
             Sample("h", "What is it?", "a cup", scene="house:3")]
    check = ScenePreflight()
    assert [check.state(s.scene).error is None for s in asked] == [True, True, False, False, False, True]
    assert check.state(asked[0].scene).without == ()
    assert check.state(asked[1].scene).without == ("a navmesh", "labels")
    (problem,) = check.problems(asked)
    assert (problem.kind, problem.questions) == ("scenes of hm3d (UnknownScene)", 3)
    assert problem.line.count("2 scenes, the first:") == 1 and "ends early: it has 10 of 12 bytes" in problem.line
    assert check.summary(asked) == ("6 questions, 3 can be asked; 4 scenes, 2 there, 1 of them without a navmesh, 1 of "
                                    "them without labels, 2 missing")
    rows = check.rows(asked)
    assert rows[0]["ready"] and rows[0]["files"]["basis_glb"] == str(folder / "hm3d/val/00800-A/A.basis.glb")  # type: ignore[index]
    assert "00899-D" in str(rows[3]["why_not"]) and "Matterport's terms" in str(rows[3]["why_not"])
    check(asked[0])
    with pytest.raises(UnknownScene, match="00899-D"):
        check(asked[3])
    assert ScenePreflight().summary(asked[-1:]) == ""


def test_questions_about_recordings_are_asked_in_no_scene(folder: Path) -> None:
    """OpenEQA's split `all` has 1079 questions of ScanNet, which a robot cannot drive in."""
    asked = [scanned("00800-A"), Sample("s", "?", "a", scene="002-scannet-scene0709_00")]
    check = ScenePreflight()
    assert check.summary(asked).startswith("2 questions, 1 can be asked; 1 scenes, 1 there")
    assert check.problems(asked) == []  # scene_problems names them, once
    told, = scene_problems(asked, ACTIVE)
    assert (told.kind, told.questions) == ("no simulator opens their scenes", 1) and "--task em" in told.line
    with pytest.raises(UnknownScene, match="'002-scannet-scene0709_00', which is recorded: --task em"):
        check(asked[1])


def test_a_mesh_needs_textures_that_it_can_read(folder: Path) -> None:
    check = ScenePreflight()
    check(scanned("00800-A", "mesh"))
    with pytest.raises(UnknownScene, match="has Basis-compressed textures only, which only Habitat opens"):
        check(scanned("00801-B", "mesh"))
    put(folder, "hssd-hab/scenes/102.scene_instance.json")
    composed = Sample("c", "?", "a", scene="mesh:hssd/102")
    with pytest.raises(UnknownScene, match="put together of a stage and objects, which only Habitat opens"):
        check(composed)
    check(replace(composed, scene="habitat:hssd/102"))


@pytest.mark.parametrize("simulator", ["habitat", "mesh"])
def test_answers_from_labels_need_labels(folder: Path, simulator: str) -> None:
    (folder / "hm3d/val/00801-B/B.glb").write_bytes(GLB)
    check = ScenePreflight(labels=True)
    check(scanned("00800-A", simulator))
    with pytest.raises(ConfigError, match="has no labels.*answerer vlm"):
        check(scanned("00801-B", simulator))


@pytest.mark.parametrize(("name", "parts", "labelled"), [
    ("house.glb", ("sofa 12.0", "sofa 12.1", "building 0.0"), True), ("room.glb", ("sofa 12.0", "Cube.001"), False),
    ("room.glb", ("",), False), ("room.gltf", ("Cube",), False), ("room.obj", (), False), ("room.ply", (), False)])
def test_a_file_without_labels_is_refused_before_the_robot_moves(
        name: str, parts: tuple[str, ...], labelled: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    glb, path = Glb(), tmp_path / name
    for part in parts:
        glb.square(name=part)
    path.write_bytes(glb.bytes() if name.endswith(".glb") else json.dumps(glb.doc).encode())
    scene = f"mesh:{path}"
    state = ScenePreflight(labels=True).state(scene)
    assert (state.error is None) == labelled and ScenePreflight().state(scene).error is None
    for through in () if labelled else ("process", "graph", "isolated"):
        assert main(["ask", "Is there a cup?", "--scene", scene, "--through", through, "--out", str(tmp_path)]) == 2
        assert "has no labels, and answers are to be made from them: take the answerer vlm" in capsys.readouterr().err


@pytest.mark.parametrize(("dataset", "split", "questions", "scenes"), [
    ("openeqa", "aeqa-557", 557, 63), ("openeqa", "aeqa-41", 41, 5), ("express", "", 2044, 174),
    ("hm-eqa", "", 500, 266)])
def test_published_questions_lack_their_scene_files_and_nothing_else(
        tmp_path: Path, dataset: str, split: str, questions: int, scenes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    data = shared_data("open-eqa-v0.json").parent
    samples = opened_by("mesh", open_dataset(dataset, folder=data, split=split))
    monkeypatch.setenv("EQA_SCENES", str(tmp_path))
    assert ScenePreflight().summary(samples) == (
        f"{questions} questions, 0 can be asked; {scenes} scenes, 0 there, {scenes} missing")
    for scene in {s.scene for s in samples}:
        file = tmp_path / "hm3d" / "val" / scene.rsplit("/", 1)[-1] / f"{scene.rsplit('-', 1)[-1]}.glb"
        file.parent.mkdir(parents=True)
        file.write_bytes(GLB)
    assert ScenePreflight().summary(samples).startswith(
        f"{questions} questions, {questions} can be asked; {scenes} scenes, {scenes} there")


def test_a_dry_run_counts_and_lists_what_each_question_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                           capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(registry.SIMULATORS, "mesh", HouseAsScan)
    monkeypatch.setenv("EQA_SCENES", "")
    data, record = question_files(tmp_path / "data"), tmp_path / "data" / "express-bench.json"
    first = json.loads(record.read_text())[0]
    lost = {**first, "episode_id": "1", "scene_id": "hm3d/val/00899-58NLZxWBSpk"}
    record.write_text(json.dumps([first, lost]))
    scenes = put(tmp_path / "scenes", f"hm3d/val/{SCENE}/{SCENE[6:]}.glb")
    (scenes / f"hm3d/val/{SCENE}/{SCENE[6:]}.glb").write_bytes(GLB)  # the stand-in looks whether it is there
    words = ["bench", "run", "--dataset", "express", "--data", str(data), "--simulator", "mesh", "--scenes",
             str(scenes), "--answerer", "blind", "--through", "process", "--policy", "random",
             "--image", "64x48", "--max-steps", "2", "--out", str(tmp_path / "run")]
    assert main([*words, "--dry-run", "--json", str(tmp_path / "list.json")]) == 1
    said = capsys.readouterr().out
    assert "express: 2 questions, 1 can be asked; 2 scenes, 1 there" in said and "1 missing" in said
    assert [row["ready"] for row in json.loads((tmp_path / "list.json").read_text())] == [True, False]
    assert main(words) == 0
    there, away = (read_predictions(tmp_path / "run").predictions[name].answer for name in "01")
    assert not there.error and away.error is ErrorCode.UNKNOWN_SCENE and "hm3d_val_v0.2" in away.message
    assert main(["bench", "score", str(tmp_path / "run")]) == 0
    assert main([*words[:-1], str(tmp_path / "labels"), "--answerer", "label"]) == 2  # of its scenes none has labels
    assert "none of the 2 questions can be asked" in capsys.readouterr().err


def test_scoring_opens_each_scene_once_for_the_robot_of_the_run(tmp_path: Path,
                                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    class Counting(HouseAsScan):
        opened: list[tuple[str, float]]

        def reset(self, episode):  # type: ignore[no-untyped-def]
            self.opened.append((episode.scene, episode.robot.radius_m))
            return super().reset(episode)

    Counting.opened = []
    monkeypatch.setitem(registry.SIMULATORS, "mesh", Counting)
    monkeypatch.setattr("tests.fixtures.scans.find_scan", lambda place: None)
    samples = [replace(scanned(name, "mesh", n), target=(2.0, 2.0, 0.0), start=Pose2(5.0, -3.0, 0.0))
               for n in range(3) for name in (SCENE, "00800-A")]
    results = {s.id: EpisodeResult(s.id, Answer("a cup"), Pose2(5.0, -3.0, 0.0)) for s in samples}
    run_benchmark(samples, ScriptedRunner(results), tmp_path)
    scores = score_run(tmp_path, OfflineJudge(), Truth(replace(ROBOTS[DEFAULT], radius_m=0.1)))
    assert [q.id for q in scores.questions] == [s.id for s in samples]
    assert Counting.opened == [("mesh:hm3d/00800-A", 0.1), (f"mesh:hm3d/{SCENE}", 0.1)]
