"""The perceiver: instances with attributes and a room from its outputs, and weights that are compared and checked."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eqa_nodes.bench.perception.measure import measure_detectors
from eqa_nodes.bench.perception.views import MeasuredViews, views_of
from eqa_nodes.config.run import PROCESS, RunConfig
from eqa_nodes.core.camera.privacy import PrivacyConfig, masked
from eqa_nodes.core.errors import ConfigError, ModelError
from eqa_nodes.core.perception.detection import Detection, Detector, DetectorConfig
from eqa_nodes.core.perception.tracking import Perceiver
from eqa_nodes.core.types.views import Label
from eqa_nodes.perception import open_detector, perceiver
from eqa_nodes.runners.opening import check_chain
from eqa_nodes.testing.contracts import detector_frames
from tests.fixtures.frames import scaled
from tests.fixtures.perceiver_weights import save_weights, save_words, seal


def opened(folder: Path, **settings: Any) -> Detector:
    return open_detector(DetectorConfig("perceiver", str(folder), **settings), ())


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    return save_weights(tmp_path / "weights")


@pytest.mark.parametrize(("width", "height", "fx"), [(320, 240, 277.0), (640, 480, 300.0), (200, 333, 90.0),
                                                     (1280, 96, 2000.0), (64, 48, 32.0)])
def test_objects_have_attributes_and_a_room_in_pictures_of_any_size(weights: Path, width: int, height: int,
                                                                    fx: float) -> None:
    cup, lamp = opened(weights).detect(scaled(detector_frames()[0], width, height, fx), {})
    assert (cup.name, cup.attributes, cup.room) == ("cup", {"colour": "red", "state": "full"}, "kitchen")
    assert (lamp.name, lamp.attributes, lamp.room) == ("lamp", {"colour": "blue", "state": "on"}, "kitchen")
    for found, box in ((cup, (8, 10, 20, 22)), (lamp, (30, 30, 50, 40))):
        wanted = np.array(box) * np.array([width / 64, height / 48] * 2)
        assert np.abs(np.array(found.box) - wanted).max() <= 1 + max(width / 160, height / 120)
        assert found.mask is not None and found.mask.shape == (height, width)
        assert found.vector is not None and np.linalg.norm(found.vector) == pytest.approx(1.0, abs=1e-4)
        assert 0.85 < found.score < 1.0


def test_it_does_not_read_labels_and_its_labels_are_detected(weights: Path) -> None:
    detector, shown = opened(weights), detector_frames()[0]
    assert not detector.privileged
    table = Perceiver(detector).take(scaled(shown, 320, 240, 160.0), {1: Label(1, "sofa", "", {})}).table
    assert all(label.detected and 0.4 < label.score < 0.6 for label in table.values()), "one sure look"
    looks = {i: {name: label.attributes[name] for name in ("colour", "state")} for i, label in table.items()}
    assert {i: label._replace(attributes=looks[i], score=1.0) for i, label in table.items()} == {
        1: Label(1, "cup", "kitchen", {"colour": "red", "state": "full"}, True),
        2: Label(2, "lamp", "kitchen", {"colour": "blue", "state": "on"}, True)}


def test_all_values_are_rounded_and_the_same_with_any_number_of_threads(weights: Path) -> None:
    shown = scaled(detector_frames()[2], 320, 240, 160.0)
    one, four = (opened(weights, threads=n).detect(shown, {}) for n in (1, 4))
    assert len(one) == len(four) > 9
    for a, b in zip(one, four, strict=True):
        assert a._replace(mask=None, vector=None) == b._replace(mask=None, vector=None)
        assert a.mask is not None and b.mask is not None and a.vector is not None and b.vector is not None
        assert np.array_equal(a.mask, b.mask) and np.array_equal(a.vector, b.vector)
        assert a.score == round(a.score, 5)
        assert np.array_equal(a.vector, np.round(a.vector.astype(float), 5).astype(np.float32))


def test_an_improbable_name_is_surroundings_and_improbable_attributes_are_left_out(weights: Path) -> None:
    shown = scaled(detector_frames()[0], 320, 240, 160.0)
    assert len(opened(weights, most=1).detect(shown, {})) == 1
    assert not opened(weights, threshold=0.99).detect(shown, {})
    assert not opened(save_weights(weights, heads={"kind": [(9, 0, 0), (0, 0, 0), (0, 0, 0)]})).detect(shown, {})
    plain = save_weights(weights, names={"states_of": {"lamp": ["off"]}})
    assert [d.attributes for d in opened(plain).detect(shown, {})] == [{"colour": "red"},
                                                                       {"colour": "blue", "state": "off"}]


def test_weights_of_scenes_with_kinds_alone_give_no_attributes(tmp_path: Path) -> None:
    nothing: dict[str, Any] = {name: [""] for name in ("colours", "materials", "states", "rooms")}
    heads = {name: [(0, 0, 0)] for name in ("colour", "material", "state", "room")}
    folder = save_weights(tmp_path, names={**nothing, "states_of": {}}, heads=heads)
    found = opened(folder).detect(scaled(detector_frames()[0], 320, 240, 160.0), {})
    assert [(d.name, d.attributes, d.room) for d in found] == [("cup", {}, ""), ("lamp", {}, "")]


def test_a_network_with_dynamic_shapes_finds_the_same(tmp_path: Path) -> None:
    shown = scaled(detector_frames()[0], 320, 240, 160.0)
    fixed, dynamic = (opened(save_weights(tmp_path / name, size=size)).detect(shown, {}) for name, size in (
        ("fixed", (240, 320)), ("dynamic", ("height", "width"))))
    assert [d._replace(mask=None, vector=None) for d in fixed] == [d._replace(mask=None, vector=None) for d in dynamic]


def test_depth_separates_two_objects_of_one_kind(weights: Path) -> None:
    shown = scaled(detector_frames()[0], 320, 240, 160.0)
    depth = shown.depth_m.copy()
    depth[:, 200:] = 3.0
    assert [d.name for d in opened(weights).detect(replace(shown, depth_m=depth), {})] == ["cup", "lamp", "lamp"]


@pytest.mark.parametrize(("output", "file"), [("confidence", "perceiver"), ("features", "perceiver"),
                                              ("vector", "heads"), ("room", "heads")])
def test_values_that_are_no_numbers_are_named(tmp_path: Path, output: str, file: str) -> None:
    with pytest.raises(ConfigError, match=f"do not run: {file}.onnx returned {output} with values that are not a numb"):
        opened(save_weights(tmp_path, spoiled=output))


def test_values_that_become_none_later_are_named_and_infinities_do_no_harm(weights: Path,
                                                                           monkeypatch: pytest.MonkeyPatch) -> None:
    detector, shown = opened(weights), scaled(detector_frames()[0], 320, 240, 160.0)
    with monkeypatch.context() as changed:
        changed.setattr(perceiver, "planes_of", lambda frame: np.full((6, 240, 320), np.nan, np.float32))
        with pytest.raises(ModelError, match="perceiver.onnx returned .* not a number"):
            detector.detect(shown, {})
    for value in (np.inf, -np.inf):
        for found in opened(save_weights(weights, spoiled="vector", value=value)).detect(shown, {}):
            assert found.vector is not None and np.isfinite(found.vector).all()


def error_of(folder: Path, **settings: Any) -> str:
    with pytest.raises(ConfigError) as error:
        opened(folder, **settings)
    return str(error.value)


def test_the_weights_of_the_package_are_small_and_find_the_objects_of_a_house() -> None:
    """Objects wider than 20 of 320 pixels within 4 m; the bounds are far below what eqa bench perception measures."""
    assert sum(file.stat().st_size for file in perceiver.WEIGHTS.glob("*.onnx")) < 6e6
    assert "How these weights were trained" in (perceiver.WEIGHTS / "report.md").read_text()
    found = measure_detectors(views_of("house:1003", MeasuredViews(8)),
                              {"perceiver": open_detector(DetectorConfig("perceiver"), ())})
    (wanted,) = (figures.wanted for figures, _ in found)
    assert wanted.recall.value is not None and wanted.recall.value > 0.5
    assert wanted.precision.value is not None and wanted.precision.value > 0.5


def test_a_package_without_weights_says_how_to_get_some(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(perceiver, "WEIGHTS", tmp_path)
    with pytest.raises(ConfigError, match="no weights for the detector perceiver: train them with `eqa learn perceiv"):
        open_detector(DetectorConfig("perceiver"), ())
    with pytest.raises(ConfigError, match="no weights"):  # before the robot's programs are started
        check_chain(RunConfig(detector=DetectorConfig("perceiver"), through=PROCESS), "toy:room")


@pytest.mark.parametrize("name", ["perceiver.onnx", "heads.onnx", "perceiver.json"])
def test_a_missing_file_is_named(weights: Path, name: str) -> None:
    (weights / name).unlink()
    assert f"has no {name}" in error_of(weights) and "eqa learn perceiver" in error_of(weights)


@pytest.mark.parametrize("name", ["perceiver.onnx", "heads.onnx"])
def test_a_changed_file_is_refused(weights: Path, name: str) -> None:
    file = weights / name
    file.write_bytes(file.read_bytes() + b"\0")
    assert name in error_of(weights) and "SHA-256" in error_of(weights) and "Copy the folder again" in error_of(weights)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"sha256": 3}', '{"sha256": ["a"]}'])
def test_a_report_without_hashes_is_refused(weights: Path, text: str) -> None:
    (weights / "perceiver.json").write_text(text)
    assert "does not state the SHA-256" in error_of(weights)


@pytest.mark.parametrize(("changes", "complaint"), [
    ({"without": "metadata"}, "has no metadata 'perceiver'"),
    ({"names": {"format": 2}}, "has the format 2, and this version of the package reads 1"),
    ({"without": "format"}, "has the format None"),
    ({"without": "rooms"}, "need kinds, colours, materials, states, rooms, states_of"),
    ({"names": {"kinds": ["cup", "lamp", "bed"]}}, 'with "" first'),
    ({"names": {"colours": ["", "red", " "]}}, 'with "" first'),
    ({"names": {"states_of": {"cup": ["wet"]}}}, "give 'cup' the states ['wet']"),
    ({"names": {"states_of": ["cup"]}}, "need kinds"), ({"names": {"kinds": [""]}}, "need kinds"),
    ({"names": {"rooms": ["", "attic"]}}, "has the output room (1, 3), and (1, 2) was expected"),
    ({"size": (120, 160)}, "the weights of the perceiver do not run: perceiver.onnx failed for an empty picture"),
    ({"opset": 99}, "cannot be loaded by onnxruntime")])
def test_weights_that_do_not_fit_are_refused(tmp_path: Path, changes: dict[str, Any], complaint: str) -> None:
    assert complaint in error_of(save_weights(tmp_path, **changes))


def test_files_that_are_no_models_and_metadata_that_are_no_json_are_refused(weights: Path) -> None:
    whole = (weights / "perceiver.onnx").read_bytes()
    (weights / "heads.onnx").write_bytes(whole)
    seal(weights)
    assert "do not run: heads.onnx failed for one object" in error_of(weights)
    (weights / "perceiver.onnx").write_bytes(whole[:99])
    seal(weights)
    assert "perceiver.onnx' cannot be loaded" in error_of(weights)
    with pytest.raises(ConfigError, match="are no JSON"):
        perceiver.names_in("{", weights)


@pytest.mark.parametrize("screen", ["television", "computer monitor", "laptop"])
def test_people_and_screens_are_masked_without_labels(tmp_path: Path, screen: str) -> None:
    """A kind that privacy hides is hidden where the detector finds it, in colour, depth and labels."""
    folder = save_weights(tmp_path, names={"kinds": ["", "person", screen], "states_of": {}})
    perceived = Perceiver(opened(folder)).take(scaled(detector_frames()[0], 320, 240, 160.0), {})
    for hidden, kept, there in (("person", screen, np.s_[55:105, 45:95]), (screen, "person", np.s_[155:195, 155:245])):
        frame, labels = masked(perceived.frame, perceived.table, PrivacyConfig(kinds=(hidden,)))
        assert not frame.rgb[there].any() and not frame.depth_m[there].any()
        ((number, label),) = labels.items()
        assert label.kind == kept and frame.labels is not None and set(np.unique(frame.labels)) == {0, number}


def test_hashes_are_those_of_the_files(weights: Path) -> None:
    assert perceiver.weights_folder(str(weights)) == weights
    said = json.loads((weights / "perceiver.json").read_text())
    assert set(said["sha256"]) == {perceiver.NETWORK, perceiver.HEADS}
    save_words(weights)
    assert perceiver.weights_folder(str(weights)) == weights
    (weights / "words.npz").write_bytes(b"other")
    assert "words.npz has the SHA-256" in error_of(weights)
    (weights / "words.npz").unlink()
    assert "words.npz is missing" in error_of(weights)
    assert Detection("cup", 0.5, (0, 0, 1, 1)).attributes == {}
