"""The published data sets in scanned scenes, through the ROS graph to a score: an HM3D-shaped folder and nothing else.

mesh runs everywhere; habitat where EQA_HABITAT_PYTHON names a Python that has habitat_sim.
"""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

import json
import math
import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from eqa_nodes.bench.metrics.scores import read_scores
from eqa_nodes.bench.report.traces import load_trace
from eqa_nodes.bench.running.predictions import read_predictions
from eqa_nodes.bench.running.runner import SAMPLES
from eqa_nodes.bench.samples import read_samples
from eqa_nodes.cli import main
from eqa_nodes.config.graph import SHARED
from eqa_nodes.core.components import SIMULATORS
from eqa_nodes.core.errors import ErrorCode
from eqa_nodes.testing.model_server import ServerReply, VlmServer, completion
from sim_bridge.robots import ROBOTS
from tests.fixtures.exploring_model import model as judged
from tests.fixtures.scans import SCENE, hm3d_folder, question_files, way

pytest.importorskip("openai", reason="openai is not installed: pip install 'eqa-nodes[vlm]'")

pytestmark = pytest.mark.timeout(600)  # what opens scans may be compiled first
DATA_SETS = {"openeqa": ["--split", "aeqa-41", "--through", "process"], "express": [],
             "hm-eqa": ["--through", "process"]}  # one of them through the graph: that way is the same for all


def model(request: dict[str, Any], looked: list[int]) -> ServerReply:
    """Judge views by their pictures; know the answer in the end, and not before having looked."""
    if '{"views"' in request["messages"][0]["content"]:
        looked.append(1)
    if looked and '{"answer"' in request["messages"][0]["content"]:
        return completion('{"answer": "Grey", "confidence": 0.9, "images": [1], "why": "seen", "abstain": false}')
    return judged(request)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The folder of scans, and that of the question files."""
    folder = tmp_path_factory.mktemp("published")
    return hm3d_folder(folder / "scenes"), question_files(folder / "data")


@pytest.fixture(params=["mesh", "habitat"])
def simulator(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A simulator of scans, where it is there."""
    name = str(request.param)
    if name not in SIMULATORS:
        pytest.skip(f"the simulator {name!r} is not built in")
    if name == "habitat" and not os.environ.get("EQA_HABITAT_PYTHON"):
        pytest.skip("EQA_HABITAT_PYTHON does not name a Python that has habitat_sim")
    monkeypatch.setenv("EQA_SCENES", "")  # what the command line sets is taken back
    return name


@pytest.mark.parametrize("dataset", DATA_SETS)
def test_a_published_question_is_asked_in_its_scene_and_scored(
        dataset: str, simulator: str, files: tuple[Path, Path], tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch) -> None:
    scenes, data = files
    words = ["bench", "run", "--dataset", dataset, *DATA_SETS[dataset], "--data", str(data), "--scenes", str(scenes),
             "--simulator", simulator, "--answerer", "vlm", "--policy", "frontier", "--image", "160x120", "--max-steps",
             "40", "--out", str(tmp_path)]
    looked: list[int] = []
    with VlmServer(lambda request: model(request, looked)) as server:
        for name, value in {"BASE_URL": server.url, "MODEL": "scripted", "API_KEY": "none"}.items():
            monkeypatch.setenv(f"EQA_VLM_{name}", value)
        assert main(words) == 0
    (prediction,), (sample,) = read_predictions(tmp_path).predictions.values(), read_samples(tmp_path / SAMPLES)
    assert sample.scene == f"{simulator}:hm3d/{SCENE}"
    assert prediction.answer.text == "Grey" and prediction.answer.receipt.metres > 0
    trace, (start, points) = load_trace(tmp_path / prediction.trace), way()
    assert math.dist(trace.poses[0][1][:2], start[:2]) < 0.05
    moved = {round(math.dist(p[:2], q[:2]), 3) for (_, p), (_, q) in pairwise(trace.poses)}
    assert max(moved) == pytest.approx(ROBOTS[dataset].move_m, abs=0.01)
    assert main(["bench", "score", str(tmp_path)]) == 0
    (score,) = read_scores(tmp_path).questions
    assert score.status == "answered" and score.sigma == 5 and not score.privileged
    if dataset == "express":
        assert score.reachable and score.final_m is not None and 0 <= score.final_m < 20
        assert score.reference_metres == pytest.approx(sum(
            math.dist(p, q) for p, q in pairwise(points)))
    nodes = json.loads((tmp_path / "manifest.json").read_text())["config"]["nodes"]
    assert nodes[SHARED]["robot.camera.height_m"] == ROBOTS[dataset].camera.height_m
    assert nodes[SHARED]["robot.height_m"] == ROBOTS[dataset].height_m


def test_questions_whose_scene_is_missing_have_failed_and_the_others_run(
        simulator: str, files: tuple[Path, Path], tmp_path: Path) -> None:
    scenes, data = files
    record = json.loads((data / "express-bench.json").read_text())[0]
    lost = {**record, "episode_id": "1", "scene_id": "hm3d/val/00899-58NLZxWBSpk"}
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "express-bench.json").write_text(json.dumps([lost, record]))
    words = ["bench", "run", "--dataset", "express", "--data", str(tmp_path / "data"), "--scenes", str(scenes),
             "--simulator", simulator, "--answerer", "blind", "--through", "process", "--policy", "random", "--image",
             "64x48", "--max-steps", "2", "--out", str(tmp_path / "run")]
    assert main(words) == 0
    predictions = read_predictions(tmp_path / "run").predictions
    assert predictions["1"].answer.error is ErrorCode.UNKNOWN_SCENE
    assert "hm3d/00899-58NLZxWBSpk" in predictions["1"].answer.message and not predictions["0"].failed
