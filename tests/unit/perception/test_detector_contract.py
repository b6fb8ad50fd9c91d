"""Every detector keeps to the same contract. Those of transformers are checked in tests/models."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from eqa_nodes.core.errors import ModelError
from eqa_nodes.core.perception.detection import Detection, Detector, DetectorConfig
from eqa_nodes.core.types.views import Frame, Label
from eqa_nodes.perception import open_detector
from eqa_nodes.perception.oracle import ScriptedDetector
from eqa_nodes.perception.received import ReceivedDetector, ReceivedMessage
from eqa_nodes.testing.contracts import check_detector, detector_frames
from eqa_nodes.wire.graph import RECEIVED
from tests.fixtures import detection_messages as sent

IN_IMAGE, IN_SPACE, YOLO, LABEL_IMAGES = RECEIVED
LAYOUTS = ("yolo8", "yolo8-turned", "yolo8-masks", "yolo5", "selected", "selected-masks", "selected-detr",
           "joined-detr", "rtdetr", "detr", "sized", "scored-map", "numbered-map")


@pytest.mark.parametrize("masks", [True, False])
def test_labels(masks: bool) -> None:
    assert check_detector(lambda: open_detector(DetectorConfig("labels", masks=masks), ())) > 4


def test_a_script() -> None:
    def make() -> Detector:
        return ScriptedDetector([[Detection("cup", 0.5, (1, 2, 9, 9))]] * 3 * len(detector_frames()))

    assert check_detector(make) == len(detector_frames())


def test_ocr() -> None:
    pytest.importorskip("rapidocr", reason="RapidOCR is not installed: pip install 'eqa-nodes[ocr]'")
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: pip install 'eqa-nodes[onnx]'")
    check_detector(lambda: open_detector(DetectorConfig("ocr"), ()))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_onnx(layout: str, tmp_path: Path) -> None:
    from tests.fixtures import onnx_models

    file = onnx_models.save_onnx(tmp_path / "m.onnx", layout, (96, 128))
    assert set(LAYOUTS) == set(onnx_models.LAYOUTS)
    assert check_detector(lambda: open_detector(DetectorConfig("onnx", str(file)), ())) > 4


def test_perceiver(tmp_path: Path) -> None:
    from tests.fixtures.perceiver_weights import save_weights

    folder = str(save_weights(tmp_path))
    assert check_detector(lambda: open_detector(DetectorConfig("perceiver", folder), ())) > 4


class Told(ReceivedDetector):
    """Gets a message about each image before it is asked for its detections."""

    def __init__(self, kind: str) -> None:
        super().__init__(DetectorConfig("topic"), ())
        self.names, self._kind = {0: "cup", 1: "bed"}, kind

    def detect(self, frame: Frame, labels: Mapping[int, Label]) -> list[Detection]:
        kinds = np.full(frame.depth_m.shape, 9)
        kinds[10:20, 20:30], kinds[30:40, 30:50] = 0, 1
        message = {
            IN_IMAGE: sent.array(sent.box_2d((1, 2, 9, 9), ("cup", 0.5)), sent.box_2d((-3, 4, 99, 9), ("1", 0.75))),
            IN_SPACE: sent.array(sent.box_3d((2, 0, 1.2), (1, 1, 1), ("cup", 0.5))),
            YOLO: sent.array(sent.yolo((5, 5, 20, 20), "cup", 0.5, polygon=[(5, 5), (50, 5), (5, 50)])),
            LABEL_IMAGES: sent.label_image(kinds)}[self._kind]
        self.put(frame.stamp_ns, ReceivedMessage(self._kind, message, np.eye(4)))
        return super().detect(frame, labels)


@pytest.mark.parametrize("kind", RECEIVED)
def test_received_messages(kind: str) -> None:
    assert check_detector(lambda: Told(kind)) > 4


def test_without_a_message_the_error_names_the_node() -> None:
    detector = open_detector(DetectorConfig("topic"), ())
    with pytest.raises(ModelError, match="works in the perception node, with perception.detections_topic"):
        detector.detect(detector_frames()[0], {})
