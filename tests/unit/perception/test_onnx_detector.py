"""Detection models in ONNX files: each layout finds the same two rectangles, and a file that does not fit is named."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eqa_nodes.core.errors import ConfigError, MissingExtra, ModelError
from eqa_nodes.core.perception.detection import Detector, DetectorConfig
from eqa_nodes.core.perception.tracking import Perceiver
from eqa_nodes.core.types.views import Frame, Intrinsics
from eqa_nodes.perception import open_detector
from eqa_nodes.perception.onnx_detector import suppressed
from tests.fixtures.frames import frame
from tests.fixtures.onnx_models import BOXES, CLASSES, LAYOUTS, MAPS, TensorProto, helper, onnx, save_onnx

CUP, LAMP = (8, 10, 20, 22), (30, 30, 50, 40)
GREEN = (20, 200, 20)


def shown(times: float = 1.0) -> Frame:
    """Return a view of a red cup and a blue lamp before a wall, as many times larger than 64x48."""
    width, height = round(64 * times), round(48 * times)
    seen = frame(1)
    k = seen.intrinsics
    rgb, depth = np.full((height, width, 3), 90, np.uint8), np.full((height, width), 3.0, np.float32)
    for box, colour in ((CUP, (250, 10, 10)), (LAMP, (10, 10, 240))):
        left, top, right, bottom = (round(edge * times) for edge in box)
        rgb[top:bottom, left:right], depth[top:bottom, left:right] = colour, 1.5
    intrinsics = Intrinsics(width, height, k.fx * times, k.fy * times, width / 2, height / 2)
    return replace(seen, rgb=rgb, depth_m=depth, intrinsics=intrinsics)


def opened(file: Path, **settings: Any) -> Detector:
    return open_detector(DetectorConfig("onnx", str(file), **settings), ())


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("size", [(64, 64), (64, 96)])
def test_every_layout_is_recognised_and_its_boxes_are_those_of_the_picture(layout: str, size: tuple[int, int],
                                                                           tmp_path: Path) -> None:
    found = opened(save_onnx(tmp_path / "m.onnx", layout, size)).detect(shown(), {})
    assert sorted(d.name for d in found) == list(CLASSES)
    for d in found:
        wanted = CUP if d.name == "cup" else LAMP
        assert max(abs(one - other) for one, other in zip(d.box, wanted, strict=True)) <= (size != (64, 64))
        assert (d.mask is not None) == (layout in MAPS or "masks" in layout)
        if d.mask is not None:
            left, top, right, bottom = wanted
            assert d.mask[top:bottom, left:right].mean() > 0.95 and d.mask.sum() < 1.2 * (right - left) * (bottom - top)
        if layout in BOXES:
            assert d.score == pytest.approx({"cup": 0.875, "lamp": 0.75}[d.name], abs=1e-5)


@pytest.mark.parametrize("layout", ["yolo8", "sized", "scored-map", "yolo8-masks"])
@pytest.mark.parametrize("times", [0.5, 4.0, 10.0])
def test_a_picture_of_another_size_is_fitted_into_the_input(layout: str, times: float, tmp_path: Path) -> None:
    detector = opened(save_onnx(tmp_path / "m.onnx", layout, (192, 192)))
    for again in (shown(times), shown(), shown(times)):
        scale = again.rgb.shape[1] / 64
        for d in detector.detect(again, {}):
            wanted = [edge * scale for edge in (CUP if d.name == "cup" else LAMP)]
            assert max(abs(one - other) for one, other in zip(d.box, wanted, strict=True)) <= max(1.0, 0.5 * scale)
            assert d.mask is None or d.mask.shape == again.depth_m.shape


@pytest.mark.parametrize("layout", ["selected", "rtdetr", "numbered-map"])
def test_dynamic_shapes_take_the_size_of_settings_metadata_or_640(layout: str, tmp_path: Path) -> None:
    file = save_onnx(tmp_path / "m.onnx", layout, dynamic=True)
    for settings in ({}, {"input_px": 128}):
        assert {d.name for d in opened(file, **settings).detect(shown(2), {})} == set(CLASSES)
    named = save_onnx(tmp_path / "n.onnx", layout, dynamic=True,
                      metadata={"names": ["cup", "lamp"] + ["wall"] * (layout in MAPS), "imgsz": [96, 160]})
    assert {d.box for d in opened(named).detect(shown(), {})} == {CUP, LAMP}


def test_a_folder_of_transformers_has_names_and_pixel_values_beside_the_model(tmp_path: Path) -> None:
    save_onnx(tmp_path / "model.onnx", "detr", dynamic=True, metadata={})
    (tmp_path / "config.json").write_text(json.dumps({"id2label": {"0": "mug", "1": "light"}}))
    (tmp_path / "preprocessor_config.json").write_text(json.dumps({
        "do_normalize": False, "do_rescale": True, "rescale_factor": 1 / 255,
        "size": {"shortest_edge": 96, "longest_edge": 120}}))
    assert [(d.name, d.box) for d in opened(tmp_path).detect(shown(), {})] == [("mug", CUP), ("light", LAMP)]
    assert {d.name for d in opened(tmp_path, input_px=64).detect(shown(), {})} == {"mug", "light"}
    (tmp_path / "preprocessor_config.json").write_text("{")
    with pytest.raises(ConfigError, match="cannot be read"):
        opened(tmp_path)


def test_pixel_values_are_those_of_settings_or_of_the_file_beside(tmp_path: Path) -> None:
    """A map whose logits are the pixel values: the class is the colour with the highest value."""
    box = helper.make_tensor_value_info("images", 1, [1, 3, 8, 8]), helper.make_tensor_value_info("out", 1, None)
    graph = helper.make_graph([helper.make_node("Identity", ["images"], ["out"])], "g", [box[0]], [box[1]])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    model.metadata_props.add(key="names", value="['red', 'green', 'blue']")
    onnx.save(model, tmp_path / "m.onnx")
    seen = frame(1)
    seen.rgb[:] = (120, 118, 100)  # normalised, green is the highest, since its mean is lower than that of red
    for pixels, name in (("", "red"), ("unit", "red"), ("bytes", "red"), ("imagenet", "green")):
        (found,) = opened(tmp_path / "m.onnx", pixels=pixels).detect(seen, {})
        assert found.name == name
    (tmp_path / "preprocessor_config.json").write_text(json.dumps({"do_normalize": True, "size": 8}))
    (found,) = opened(tmp_path / "m.onnx").detect(seen, {})
    assert found.name == "green"
    with pytest.raises(ConfigError, match="unknown pixels 'log'.*imagenet"):
        DetectorConfig("onnx", pixels="log")


@pytest.mark.parametrize("kind", [2, 10])  # uint8, float16
def test_inputs_of_bytes_and_of_half_precision(kind: int, tmp_path: Path) -> None:
    boxes = np.tile(np.array([8, 10, 20, 22, 0.9, 0], np.float32), (300, 1))[None]
    nodes = [helper.make_node("Constant", [], ["output0"], value=helper.make_tensor(
        "c", TensorProto.FLOAT, boxes.shape, boxes.ravel()))]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("images", kind, [1, 3, 48, 64])],
                              [helper.make_tensor_value_info("output0", 1, [1, 300, 6])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    model.metadata_props.add(key="names", value=str({0: "cup"}))
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    assert {(d.name, d.box) for d in opened(tmp_path / "m.onnx").detect(shown(), {})} == {("cup", CUP)}


def test_results_are_the_same_with_any_number_of_threads_and_in_every_session(tmp_path: Path) -> None:
    file = save_onnx(tmp_path / "m.onnx", "yolo8-masks", (320, 320))
    first, *others = [opened(file, threads=n).detect(shown(10), {}) for n in (1, 1, 2, 3)]
    for other in others:
        assert [d._replace(mask=None) for d in first] == [d._replace(mask=None) for d in other]
        assert all(np.array_equal(a.mask, b.mask) for a, b in zip(first, other, strict=True))


def test_without_objects_nothing_is_found(tmp_path: Path) -> None:
    empty = replace(shown(), rgb=np.full((48, 64, 3), GREEN, np.uint8))
    for layout in LAYOUTS:
        assert opened(save_onnx(tmp_path / "m.onnx", layout)).detect(empty, {}) == []


@pytest.mark.parametrize("layout", ["yolo8", "selected", "rtdetr", "scored-map", "yolo5"])
def test_a_model_that_returns_nan_is_named(layout: str, tmp_path: Path) -> None:
    detector = opened(save_onnx(tmp_path / "nan.onnx", layout, spoiled=float("nan")))
    with pytest.raises(ModelError, match=r"nan\.onnx returned \w+ with values that are not a number"):
        detector.detect(shown(), {})


def test_boxes_outside_the_picture_are_clipped_and_those_without_area_left_out(tmp_path: Path) -> None:
    """All values of an output are raised, the scores too: boxes leave the picture on its right and lower side."""
    file = save_onnx(tmp_path / "m.onnx", "rtdetr", spoiled=0.5)  # centre and size as shares: 32 and 24 pixels more
    found = opened(file, threshold=0.6).detect(shown(), {})
    assert {d.box for d in found} == {(24, 22, 64, 48), (46, 42, 64, 48)}
    assert opened(save_onnx(tmp_path / "n.onnx", "rtdetr", spoiled=40.0)).detect(shown(), {}) == []


def error_of(file: Path, **settings: Any) -> str:
    with pytest.raises(ConfigError) as error:
        opened(file, **settings)
    return str(error.value)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    assert "--detector-model" in error_of(tmp_path) and "'a-model'" in error_of(Path("a-model"))
    with pytest.raises(ConfigError, match="needs the file of a model, and '' is none"):
        open_detector(DetectorConfig("onnx"), ())
    (tmp_path / "m.onnx").write_bytes(b"no model at all")
    assert "m.onnx' cannot be loaded by onnxruntime" in error_of(tmp_path / "m.onnx")
    whole = save_onnx(tmp_path / "w.onnx", "yolo8").read_bytes()
    (tmp_path / "w.onnx").write_bytes(whole[:len(whole) // 2])
    assert "w.onnx' cannot be loaded" in error_of(tmp_path / "w.onnx")


def test_an_opset_that_the_library_does_not_know_is_named(tmp_path: Path) -> None:
    said = error_of(save_onnx(tmp_path / "new.onnx", "yolo8", opset=999))
    assert "new.onnx' cannot be loaded" in said and "Opset 999" in said and "upgrade onnxruntime" in said
    assert "std::" not in said and "ONNXRuntimeError" not in said


def test_classes_need_names_and_numbers_that_fit(tmp_path: Path) -> None:
    file = save_onnx(tmp_path / "m.onnx", "yolo8", metadata={})
    assert "m.onnx has no class names in its metadata: give detector.names (--detector-names)" in error_of(file)
    names = tmp_path / "names.txt"
    names.write_text("mug\nlight\n")
    assert {d.name for d in opened(file, names=str(names)).detect(shown(), {})} == {"mug", "light"}
    names.write_text("mug\nlight\nbed\n")
    said = error_of(file, names=str(names))
    assert "unknown layout of outputs: output0 (1, 6, 84) float32, for 3 class names" in said
    assert "YOLO from version 8: (1, 4 + classes, n)" in said and "segmentation map" in said
    names.write_text("mug\n")
    with pytest.raises(ModelError, match="found class 1, and there are 1 names up to class 0"):
        opened(save_onnx(tmp_path / "s.onnx", "selected"), names=str(names)).detect(shown(), {})


def test_what_is_no_detector_of_one_colour_image_is_refused(tmp_path: Path) -> None:
    pose = save_onnx(tmp_path / "pose.onnx", "yolo8", metadata={"task": "pose", "names": ["person"]})
    assert "is a model for the task 'pose': choose one for detect, segment, semantic" in error_of(pose)
    for shapes, word in (({"x": [8, 3, 64, 64]}, "a batch of 1"), ({"x": [1, 64, 64, 3]}, "colour images"),
                         ({"x": [1, 3, 8, 8], "im_shape": [1, 2]}, "unknown input im_shape (1, 2)")):
        inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()]
        graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "g", inputs,
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        (tmp_path / "x.onnx").write_bytes(model.SerializeToString())
        assert word in error_of(tmp_path / "x.onnx")
    for device in ("cuda", "cuda:x", "mps"):
        assert f"detector.device is {device!r}, and this onnxruntime has" in error_of(
            save_onnx(tmp_path / "m.onnx", "yolo8"), device=device)


def test_without_the_library_the_error_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = save_onnx(tmp_path / "m.onnx", "yolo8")
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingExtra, match=r"pip install 'eqa-nodes\[onnx\]'"):
        opened(file)


def test_suppression_keeps_the_best_of_each_class() -> None:
    """Against plain loops over random boxes."""
    rng = np.random.default_rng(3)
    corner, side = rng.uniform(0, 40, (60, 2)), rng.uniform(5, 30, (60, 2))
    boxes, classes = np.concatenate([corner, corner + side], axis=1), rng.integers(0, 3, 60)
    kept: list[int] = []
    for i, a in enumerate(boxes):
        for j in kept:
            b = boxes[j]
            common = (max(0.0, min(a[2], b[2]) - max(a[0], b[0])) * max(0.0, min(a[3], b[3]) - max(a[1], b[1])))
            union = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - common
            if classes[i] == classes[j] and common / union > 0.5:
                break
        else:
            kept.append(i)
    assert suppressed(boxes, classes, 0.5).tolist() == kept and suppressed(boxes[:0], classes[:0], 0.5).size == 0


def test_the_whole_step_follows_what_a_model_found(tmp_path: Path) -> None:
    perceiver = Perceiver(opened(save_onnx(tmp_path / "m.onnx", "yolo8", (64, 64))))
    for stamp in (1, 2):
        perceived = perceiver.take(replace(shown(), stamp_ns=stamp), {})
        assert {n: label.kind for n, label in perceived.table.items()} == {1: "cup", 2: "lamp"}
        assert all(label.detected for label in perceived.table.values())
        labels = perceived.frame.labels
        assert labels is not None and (labels[10:22, 8:20] == 1).all() and (labels[30:40, 30:50] == 2).all()
