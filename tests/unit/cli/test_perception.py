"""`eqa bench perception`: detectors side by side, reports, tours, and refusals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from eqa_nodes.cli import main
from eqa_nodes.core.components import DETECTORS, SIMULATORS
from eqa_nodes.core.storage.codec import read_json
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.perception.oracle import ScriptedDetector
from sim_bridge.house.simulator import HouseSimulator
from sim_bridge.house.world import HouseWorld
from tests.fixtures.houses import two_rooms

pytest.importorskip("embreex", reason="the house needs embreex: pip install 'eqa-nodes[house]'")

PERCEPTION = ("bench", "perception", "--scenes", "rooms:2", "--views", "3", "--image", "80x60")


@pytest.fixture(scope="module", autouse=True)
def rooms() -> Iterator[None]:
    worlds = {"rooms:2": HouseWorld(replace(two_rooms(), start=Pose2(1.5, 2.0, 0.0)))}
    SIMULATORS["rooms"] = lambda: HouseSimulator(worlds)
    DETECTORS["eyes"] = lambda config, vocabulary: ScriptedDetector([[]])
    yield
    del SIMULATORS["rooms"], DETECTORS["eyes"]


def test_detectors_are_compared_and_the_report_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "report"
    assert main([*PERCEPTION, "--depth-noise", "0", "--detector", "labels", "--detector", "labels=severe", "--save",
                 str(out)]) == 0
    shown = capsys.readouterr().out
    assert "recall, wanted" in shown and "labels=severe" in shown and "report.md" in shown
    exact, noisy = read_json(out / "report.json")["detectors"]
    assert exact["all"]["recall"]["value"] == 1.0 and exact["all"]["recall"]["of"] >= 5
    assert noisy["all"]["recall"]["value"] < 1.0 and (out / "labels-severe-missed.png").exists()


def test_a_model_is_named_without_its_folder(capsys: pytest.CaptureFixture[str]) -> None:
    main([*PERCEPTION, "--detector", "eyes=folder/x.onnx", "eyes=other/y.onnx"])
    shown = capsys.readouterr().out
    assert "eyes=x.onnx" in shown and "eyes=y.onnx" in shown and "folder" not in shown
    main([*PERCEPTION, "--detector", "eyes=one/x.onnx", "eyes=two/x.onnx"])
    assert "eyes=one/x.onnx" in capsys.readouterr().out


def test_a_detector_that_fails_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*PERCEPTION, "--detector", "eyes"]) == 1
    shown = capsys.readouterr().out
    assert "eyes: errors" in shown and "script of detections ended" in shown


def test_a_tour_measures_positions_and_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "perception", "--tour", "--detector", "labels", "--scenes", "house:3", "--views", "6",
                 "--image", "160x120", "--kinds", "3"]) == 0
    kind, labelled, _, recall, _, off_m, stable = capsys.readouterr().out.split()[-7:]
    assert kind == "all" and int(labelled) > 5 and float(recall) > 0.9 and float(off_m) < 0.05 and float(stable) > 0.9


def test_recall_is_measured_by_descriptions_with_and_without_vectors(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "perception", "--recall", "4", "--detector", "labels", "perceiver", "--scenes", "house:1003",
                 "--views", "12"]) == 0
    shown = capsys.readouterr().out
    rows = {words[0]: list(map(float, words[1:])) for line in shown.splitlines() if (words := line.split())
            and words[0] in ("labels", "perceiver")}
    assert "4 descriptions of things in 1 scene" in shown and rows.keys() == {"labels", "perceiver"}
    assert all(by_names in (0, 25, 50, 75, 100) and 0 < at_random < 100 for by_names, _, at_random in rows.values())
    by_names, with_vectors, _ = rows["labels"]
    assert by_names == with_vectors, "labels have no vectors"


@pytest.mark.parametrize(("words", "error"), [
    (["--detector", "ears"], "unknown detector 'ears'"), (["--detector", "labels=harsh"], "unknown noise 'harsh'"),
    (["--detector", "labels", "--views", "0"], "views is 0"),
    (["--detector", "labels", "--seed", "-1"], "seed is -1"),
    (["--detector", "labels", "--recall", "-1"], "--recall is -1"),
    (["--detector", "labels", "--image", "4x4"], "--image is '4x4'"),
    (["--detector", "labels", "--depth-noise", "-1"], "depth_noise is -1"),
    (["--detector", "labels", "--iou", "0"], "least_iou is 0"),
    (["--detector", "labels", "--scenes", "toy:nowhere"], "unknown scene 'toy:nowhere'")])
def test_what_cannot_be_measured_is_refused(words: list[str], error: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*PERCEPTION, *words]) == 2
    assert error in " ".join(capsys.readouterr().err.split())


def test_there_have_to_be_test_houses(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "perception", "--detector", "labels", "--houses", "2000"]) == 2
    assert "2000 test houses cannot be drawn" in " ".join(capsys.readouterr().err.split())
