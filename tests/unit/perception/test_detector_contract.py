"""Every detector keeps to the same contract. Those of transformers are checked in tests/models."""

from __future__ import annotations

from pathlib import Path

import pytest

from eqa_nodes.core.perception.detection import Detection, Detector, DetectorConfig
from eqa_nodes.perception import open_detector
from eqa_nodes.perception.oracle import ScriptedDetector
from tests.fixtures.detector_contract import check_contract, frames

LAYOUTS = ("yolo8", "yolo8-turned", "yolo8-masks", "yolo5", "selected", "selected-masks", "selected-detr",
           "joined-detr", "rtdetr", "detr", "sized", "scored-map", "numbered-map")


@pytest.mark.parametrize("masks", [True, False])
def test_labels(masks: bool) -> None:
    assert check_contract(lambda: open_detector(DetectorConfig("labels", masks=masks), ())) > 4


def test_a_script() -> None:
    def make() -> Detector:
        return ScriptedDetector([[Detection("cup", 0.5, (1, 2, 9, 9))]] * 3 * len(frames()))

    assert check_contract(make) == len(frames())


def test_ocr() -> None:
    pytest.importorskip("rapidocr", reason="RapidOCR is not installed: pip install 'eqa-nodes[ocr]'")
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: pip install 'eqa-nodes[onnx]'")
    check_contract(lambda: open_detector(DetectorConfig("ocr"), ()))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_onnx(layout: str, tmp_path: Path) -> None:
    from tests.fixtures import onnx_models

    file = onnx_models.save_onnx(tmp_path / "m.onnx", layout, (96, 128))
    assert set(LAYOUTS) == set(onnx_models.LAYOUTS)
    assert check_contract(lambda: open_detector(DetectorConfig("onnx", str(file)), ())) > 4
